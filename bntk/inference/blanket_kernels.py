"""Numba kernel for the posterior of one variable in rows where its whole Markov blanket is observed."""

from __future__ import annotations

import numpy as np
from numba import njit

from bntk.inference.kernels import BLOCK, _table_index


@njit(cache=True, nogil=True)
def blanket_posterior(codes, starts, members, strides, offsets, log_tables, begin, end, out):
    """out[row] = the normalised product of the tables that the row selects, for rows begin..end; NaN if all are zero.

    Table f begins at ``offsets[f]`` with the target's states innermost; its other variables are the rows
    ``members[starts[f]:starts[f + 1]]`` of ``codes``.
    """
    r = out.shape[1]
    index = np.empty(BLOCK, dtype=np.int64)
    for row in range(begin, end, BLOCK):
        n = min(BLOCK, end - row)
        for k in range(n):
            out[row + k] = 0.0
        for f in range(starts.size - 1):
            if starts[f + 1] > starts[f]:
                _table_index(codes, members, strides, starts[f], starts[f + 1], row, n, index)
            else:
                for k in range(n):
                    index[k] = 0
            for k in range(n):
                base = offsets[f] + index[k]
                for s in range(r):
                    out[row + k, s] += log_tables[base + s]
        for k in range(n):
            _normalise(out[row + k])


@njit(cache=True, nogil=True)
def _normalise(scores):
    top = scores.max()
    if top == -np.inf:
        scores[:] = np.nan
        return
    total = 0.0
    for s in range(scores.size):
        scores[s] = np.exp(scores[s] - top)
        total += scores[s]
    for s in range(scores.size):
        scores[s] /= total
