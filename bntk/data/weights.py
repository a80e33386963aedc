"""Weights of rows: how often each row counts.

A row of weight 2 is the row twice, and a row of weight 0 is not there. So weights are counts, which a prior is added to
and which a score compares with the number of parameters: weights that sum to one would be a single row. Estimators,
which scikit-learn hands weights of any scale, scale small ones up, see :func:`scaled_up`; functions that take counts
(:func:`bntk.fit`, :func:`bntk.learn`) do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bntk import _checking
from bntk.errors import DataError

#: Rows up to which weighted rows are written out one by one, for what divides or draws single rows.
MOST_COPIES = 1 << 22
#: The smallest and the largest weight, and sum of weights; also of pseudo-counts. Sums of squares stay within floats,
#: and so do more rows that are added later.
LEAST, MOST = 1e-300, 1e100
#: Relative differences up to this are rounding.
ROUNDING = 1e-12


def checked_weights(weights: Any, n_rows: int, what: str = "weights") -> np.ndarray:
    """The weights of rows as an array of floats: one for each row, 0 or from 1e-300, with a sum of up to 1e100."""
    checked = _checking.numbers(what, weights, "numbers, one for each row", DataError)
    if checked.shape != (n_rows,):
        raise DataError(f"{what} must give one weight for each of the {n_rows:,} rows; got the shape {checked.shape}")
    wrong = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))
    if wrong.size:
        raise DataError(
            f"{what}: the weight of row {wrong[0]} is {checked[wrong[0]]}; weights must be finite and not negative"
        )
    with np.errstate(over="ignore"):
        total = checked.sum()
    if total > MOST:
        raise DataError(
            f"the sum of {what} is {total:g}, above {MOST:g}, where counts would overflow; weights are numbers of "
            "rows: divide all of them by the same number"
        )
    small = np.flatnonzero((checked > 0) & (checked < LEAST))
    if small.size:
        raise DataError(
            f"{what}: the weight of row {small[0]} is {checked[small[0]]:g}, and the sum of all is {total:g}; weights "
            f"below {LEAST:g} cannot be counted exactly: give 0 to leave a row out, or multiply all weights by the "
            "same number"
        )
    return checked


def scale_of(weights: np.ndarray) -> float:
    """The factor by which an estimator multiplies checked weights; 1 unless they sum to less than their number.

    Where weights sum to less than the number of rows with a positive weight, they are scaled up to that number. So
    weights that sum to one, as those of boosting do, only say which rows count for more, and equal weights are as good
    as none; whole numbers stay what they are. A sum that falls short by rounding alone is not changed.

    Examples
    --------
    >>> scale_of(np.array([0.25, 0.25, 0.5, 0])), scale_of(np.array([1.0, 2.0]))
    (3.0, 1.0)
    """
    total, n_rows = float(weights.sum()), int(np.count_nonzero(weights))
    return n_rows / total if 0 < total < n_rows * (1 - ROUNDING) else 1.0


def scaled_up(weights: np.ndarray) -> np.ndarray:
    """Checked weights as an estimator counts with them: times :func:`scale_of`, equal ones exactly 1."""
    factor = scale_of(weights)
    if factor == 1:
        return weights
    scaled = weights * factor
    whole = np.rint(scaled)
    return np.where(np.abs(scaled - whole) <= ROUNDING * whole, whole, scaled)


def copies_of(weights: np.ndarray) -> np.ndarray | None:
    """The positions of rows, each as often as its weight says; None unless weights are whole and the rows not too many.

    What divides rows into folds, or draws some, does so with these: then weights are repetitions there, too.

    Examples
    --------
    >>> copies_of(np.array([2.0, 0.0, 1.0])), copies_of(np.array([0.5, 1.0]))
    (array([0, 0, 2]), None)
    """
    if (weights % 1).any() or weights.sum() > MOST_COPIES:
        return None
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))
