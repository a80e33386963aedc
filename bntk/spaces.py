"""``bntk.spaces``, which is :mod:`bntk.learning.space.named`, as a module that can be imported from."""

import sys
from typing import TYPE_CHECKING, Any

from bntk.learning.space import named as _this

if TYPE_CHECKING:
    from bntk.learning.space.named import *  # noqa: F403

sys.modules[__name__] = _this


def __getattr__(name: str) -> Any:
    """For whoever imports this file by its path."""
    return getattr(_this, name)
