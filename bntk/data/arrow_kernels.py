"""Loops over the cells of Arrow columns: from the codes of a dictionary, or whole numbers, to codes of states."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from bntk._kernels import njit


@njit(cache=True, nogil=True, steps=lambda indices, *rest: indices.size / 4)
def translate(indices, valid, start, lookup, low, missing, unknown, out):
    """``lookup[index - low]`` of each cell, ``missing`` where its bit in ``valid`` is 0.

    ``valid`` has a bit for each cell from ``start`` on, the lowest of a byte first; it is empty where no cell is
    missing. Returns how many cells have an index beyond the lookup, or one whose entry is ``unknown``.
    """
    n_unknown = 0
    for i in range(indices.size):
        if valid.size:
            bit = start + i
            if not (valid[bit >> 3] >> (bit & 7)) & 1:
                out[i] = missing
                continue
        place = indices[i] - low
        if place < 0 or place >= lookup.size:
            n_unknown += 1
            out[i] = missing
            continue
        code = lookup[place]
        if code == unknown:
            n_unknown += 1
            out[i] = missing
        else:
            out[i] = code
    return n_unknown


@njit(cache=True, nogil=True, steps=lambda indices, *rest: indices.size / 4)
def count(indices, valid, start, low, counts):
    """Add the number of cells with each index, from ``low`` on, to ``counts``; missing cells are not counted."""
    for i in range(indices.size):
        if valid.size:
            bit = start + i
            if not (valid[bit >> 3] >> (bit & 7)) & 1:
                continue
        counts[indices[i] - low] += 1


@njit(cache=True, nogil=True, steps=lambda values, *rest: values.size / 4)
def extent(values, valid, start):
    """The least and the largest of the values that are not missing; 1 and 0 when all are."""
    low, high, found = 1, 0, False
    for i in range(values.size):
        if valid.size:
            bit = start + i
            if not (valid[bit >> 3] >> (bit & 7)) & 1:
                continue
        value = values[i]
        if not found:
            low, high, found = value, value, True
        low, high = min(low, value), max(high, value)
    return low, high
