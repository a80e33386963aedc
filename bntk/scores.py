"""``bntk.scores``, which is :mod:`bntk.learning.scores`, as a module that can be imported from."""

import sys
from typing import TYPE_CHECKING, Any

from bntk.learning import scores as _this

if TYPE_CHECKING:
    from bntk.learning.scores import *  # noqa: F403

sys.modules[__name__] = _this


def __getattr__(name: str) -> Any:
    """For whoever imports this file by its path."""
    return getattr(_this, name)
