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


@njit(cache=True, nogil=True)
def _mix(z):
    """The output function of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def forward_sample(codes, order, starts, members, strides, offsets, cards, cumulative, keys, begin, end):
    """Fill rows begin..end of ``codes``, parents before children.

    The number behind a cell depends on its variable's key and its row alone, so that rows can be drawn in any
    order and by any number of threads. The tables hold cumulative probabilities over the child's states, the
    innermost axis.
    """
    index = np.empty(BLOCK, dtype=np.int64)
    golden = np.uint64(0x9E3779B97F4A7C15)
    for row in range(begin, end, BLOCK):
        n = min(BLOCK, end - row)
        for f in order:
            first, last = starts[f], starts[f + 1] - 1  # the last member is the child itself
            last_state = cards[f] - 1
            if last > first:
                _table_index(codes, members, strides, first, last, row, n, index)
            else:
                for k in range(n):
                    index[k] = 0
            key, offset, column = keys[f], offsets[f], codes[members[last]]
            for k in range(n):
                z = _mix(key + np.uint64(row + k + 1) * golden)
                u = np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                base = offset + index[k]
                state = 0
                while state < last_state and u >= cumulative[base + state]:
                    state += 1
                column[row + k] = state
