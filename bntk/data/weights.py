"""Weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bntk import _checking
from bntk.errors import DataError


def checked_weights(weights: Any, n_rows: int) -> np.ndarray:
    """The weights of rows as an array of floats: one for each row, finite and not negative."""
    checked = _checking.numbers("weights", weights, "numbers, one for each row", DataError)
    if checked.shape != (n_rows,):
        raise DataError(f"weights must give one weight for each of the {n_rows:,} rows; got the shape {checked.shape}")
    wrong = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))
    if wrong.size:
        raise DataError(f"the weight of row {wrong[0]} is {checked[wrong[0]]}; weights must be finite and not negative")
    return checked
