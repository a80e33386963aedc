"""Mutual information of two variables, from a table of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def mutual_information(counts: ArrayLike) -> float:
    """The mutual information of the row and the column of a contingency table, in nats.

        I(X; Y) = sum_xy N_xy / N log(N N_xy / (N_x N_y)),

    with N_xy the counts, N_x and N_y their sums over columns and rows, and N the sum of all. It is 0 for a table
    without counts.

    Parameters
    ----------
    counts : array_like of shape (n_rows, n_columns)

    Examples
    --------
    >>> round(mutual_information([[2, 0], [0, 2]]), 4), mutual_information([[1, 1], [2, 2]])
    (0.6931, 0.0)
    """
    table = np.asarray(counts, dtype=np.float64)
    total = table.sum()
    if not total:
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / total
    seen = table > 0
    return max(0.0, float((table[seen] * np.log(table[seen] / expected[seen])).sum() / total))
