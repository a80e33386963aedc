"""``bntk.priors``, which is :mod:`bntk.learning.priors`, as a module that can be imported from."""

import sys
from typing import TYPE_CHECKING, Any

from bntk.learning import priors as _this

if TYPE_CHECKING:
    from bntk.learning.priors import *  # noqa: F403

sys.modules[__name__] = _this


def __getattr__(name: str) -> Any:
    """For whoever imports this file by its path."""
    return getattr(_this, name)
