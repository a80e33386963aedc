"""Mutual information of two variables, from a table of counts or probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def conditional_information(table: ArrayLike, x: Sequence[int], y: Sequence[int], given: Sequence[int] = ()) -> float:
    """The mutual information I(X; Y | Z) of axes of a table of counts or probabilities, in nats.

    Parameters
    ----------
    table : array_like
    x, y, given : sequences of int
        The axes of X, Y and Z, each of them in one place; the others are summed out.

    Examples
    --------
    The exclusive or of two coins tells about one of them only given the other:

    >>> table = np.zeros((2, 2, 2))
    >>> table[0, 0, 0] = table[0, 1, 1] = table[1, 0, 1] = table[1, 1, 0] = 1
    >>> conditional_information(table, [2], [0]), round(conditional_information(table, [2], [0], [1]), 4)
    (0.0, 0.6931)
    """
    values = np.asarray(table, dtype=np.float64)
    kept = [*given, *x, *y]
    others = [axis for axis in range(values.ndim) if axis not in kept]
    values = values.transpose([*others, *kept]).sum(axis=tuple(range(len(others))))
    n_z, n_x = len(given), len(x)
    sizes = [math.prod(part) for part in (values.shape[:n_z], values.shape[n_z : n_z + n_x], values.shape[n_z + n_x :])]
    values = values.reshape(sizes)
    total = values.sum()
    if not total:
        return 0.0
    seen = values > 0
    expected = values.sum(axis=2, keepdims=True) * values.sum(axis=1, keepdims=True)
    expected = np.divide(expected, values.sum(axis=(1, 2), keepdims=True), out=np.zeros_like(values), where=seen)
    return max(0.0, float((values[seen] * np.log(values[seen] / expected[seen])).sum() / total))
