"""Arrays as kernels take them."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """The array, contiguous and not to be written to.

    To numba, an array that may be written to is another type, for which a kernel would be compiled once more.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
