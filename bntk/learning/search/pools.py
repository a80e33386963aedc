"""For many pairs of neighbours at once: the other neighbours that may separate the two, in the order of trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bntk.learning.independence.separating import Pairs

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Entries of the pools that are made at a time (16 MB).
_POOL_ENTRIES = 1 << 20


def pairs_between(
    adjacent: Sequence[set[int]], affinity: Floats, pairs: Sequence[tuple[int, int]], level: int
) -> Iterator[Pairs]:
    """Pairs of neighbours, with the sets of so many other neighbours of the one that has fewer, then of the other.

    In the order of :func:`bntk.learning.search.by_tests.smaller_first`; in a pool, neighbours that depend most on both
    variables come first, of equal ones the first.
    """
    width = max(map(len, adjacent))
    rows = np.full((len(adjacent), width), len(adjacent))  # which is no variable, and greater than all
    for v, row in enumerate(adjacent):
        rows[v, : len(row)] = sorted(row)
    degrees = np.array([len(row) for row in adjacent])
    ends = np.array(pairs, dtype=np.int64).T
    step = max(1, _POOL_ENTRIES // width)
    for begin in range(0, len(pairs), step):
        x, y = ends[:, begin : begin + step]
        first, strengths_of_first = _ranked(rows[x], affinity, x, y)
        second, strengths_of_second = _ranked(rows[y], affinity, x, y)
        lengths = np.column_stack((degrees[x], degrees[y])) - 1  # without the other of the two
        swapped = np.where(
            lengths[:, 0] == lengths[:, 1],
            _comes_before((strengths_of_second, np.sort(second)), (strengths_of_first, np.sort(first))),
            lengths[:, 0] > lengths[:, 1],
        )
        pools = np.stack((first, second), axis=1)
        pools[swapped], lengths[swapped] = pools[swapped, ::-1], lengths[swapped, ::-1]
        size = np.full(len(x), level)
        yield Pairs(x, y, pools, lengths, size, size)


def _ranked(rows: Integers, affinity: Floats, x: Integers, y: Integers) -> tuple[Integers, Floats]:
    """The members of each row but x and y, by how strongly they depend on both, and minus that; what fills is last."""
    n = len(affinity)
    absent = (rows == x[:, None]) | (rows == y[:, None]) | (rows == n)
    safe = np.where(absent, 0, rows)
    minus = -np.minimum(affinity[x[:, None], safe], affinity[y[:, None], safe])
    minus[absent] = np.nan  # which is sorted after infinity
    order = np.argsort(minus, axis=1, kind="stable")
    ranked = np.take_along_axis(np.where(absent, n, rows), order, axis=1)
    return ranked, np.nan_to_num(np.take_along_axis(minus, order, axis=1), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _comes_before(one: tuple[NDArray[np.generic], ...], other: tuple[NDArray[np.generic], ...]) -> NDArray[np.bool_]:
    """For each row: whether one sequence comes before the other; where they are the same, the next ones decide."""
    decided = np.zeros(len(one[0]), dtype=np.bool_)
    before = decided.copy()
    for mine, theirs in zip(one, other, strict=True):
        differs = mine != theirs
        place = differs.argmax(axis=1)[:, None]
        less = np.take_along_axis(mine < theirs, place, axis=1)[:, 0]  # type: ignore[operator]
        before |= less & ~decided
        decided |= differs.any(axis=1)
    return before
