"""Which structures are legal, and the moves between them."""

from bntk.learning.space.rules import Group, Link
from bntk.learning.space.space import Space

__all__ = ["Group", "Link", "Space"]
