"""Numba kernels of inference over complete rows. Arrays are trusted: callers have checked them.

The families of a network are laid out flat: family f reads the variables ``members[starts[f]:starts[f + 1]]``
with the mixed-radix ``strides`` beside them, and its table begins at ``offsets[f]`` of one flat buffer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 2048  # rows whose indices stay in the first-level cache


@njit(cache=True, nogil=True)
def _table_index(codes, members, strides, first, last, row, n, index):
    """index[k] = position in a family's table of row + k, for k < n."""
    column, stride = codes[members[first]], strides[first]
    for k in range(n):
        index[k] = column[row + k] * stride
    for m in range(first + 1, last):
        column, stride = codes[members[m]], strides[m]
        for k in range(n):
            index[k] += column[row + k] * stride


@njit(cache=True, nogil=True)
def sum_log_tables(codes, starts, members, strides, offsets, log_tables, begin, end, out):
    """out[row] = sum over the families of the log table entry that the row selects, for rows begin..end."""
    index = np.empty(BLOCK, dtype=np.int64)
    for row in range(begin, end, BLOCK):
        n = min(BLOCK, end - row)
        for k in range(n):
            out[row + k] = 0.0
        for f in range(starts.size - 1):
            _table_index(codes, members, strides, starts[f], starts[f + 1], row, n, index)
            offset = offsets[f]
            for k in range(n):
                out[row + k] += log_tables[offset + index[k]]
