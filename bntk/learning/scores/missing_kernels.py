"""Loops over rows for predictive scores that sum missing cells out exactly; see :mod:`.missing_sums`.

The tables of all families are in one array, each with the states of the child innermost, and the probabilities of the
same cells at the beginning of ``room.data``. What is left out is subtracted from the counts of families that are
complete in it; only the lines that change are normalised anew. The sums themselves are those of exact inference.

Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit
from bntk.inference.elimination.component_kernels import SEEN, SIZES, TOO_LARGE, sum_component
from bntk.inference.elimination.lookup_kernels import INNER, MISSING, OUTER, load_block
from bntk.learning.scores.predictive_kernels import FOLDS, RUNNING

# The sums of classes that are less probable than another by more than this factor may underflow; their logarithms stay
# finite, at -691.
LEAST = 1e-300


@njit(**OUTER)
def sum_missing_cells(
    scheme, starts, n_rows, codes, weights, flat, counted, alpha, counts, families, seeds, target, budget, block, room,
    wanted, alike, too_large, out,
):  # fmt: skip
    """out[class, row] = log sum_m prod_f theta_f over the families of the row with missing cells m, for wanted rows.

    Only families in ``counted`` can have missing cells. A row with the same cells as an earlier one, ``alike``, has its
    sums. Rows whose sums would cost more than the budget are marked in ``too_large``.
    """
    prune, one = True, np.int64(1)
    n_folds = starts.size - 1 if scheme == FOLDS else 1
    if scheme != RUNNING:
        for i in range(n_rows):
            count_row(i, weights[i], False, codes, flat, counted, alpha, counts, families.cards, room.data)
        for k in range(counted.size):
            f = counted[k]
            end = counts.size if f == flat.offsets.size - 1 else flat.offsets[f + 1]
            for first in range(flat.offsets[f], end, flat.cards[f]):
                normalise(first, flat.cards[f], alpha, counts, room.data)
    for g in range(n_folds):
        first, end = (starts[g], starts[g + 1]) if scheme == FOLDS else (0, weights.size)
        if scheme == FOLDS:
            for i in range(first, end):
                count_row(i, -weights[i], True, codes, flat, counted, alpha, counts, families.cards, room.data)
        for i in range(first, end):
            if wanted[i] and alike[i] < i:
                too_large[i] = too_large[alike[i]]
                for c in range(out.shape[0]):
                    out[c, i] = out[c, alike[i]]
            elif wanted[i]:
                load_block(codes, i, one, families, target, prune, block)
                too_large[i] = not sum_row(i, families, seeds, target, budget, block, room, out)
            if scheme == RUNNING:
                count_row(i, weights[i], True, codes, flat, counted, alpha, counts, families.cards, room.data)
        if scheme == FOLDS:
            for i in range(first, end):
                count_row(i, weights[i], True, codes, flat, counted, alpha, counts, families.cards, room.data)


@njit(**INNER)
def count_row(i, weight, anew, codes, flat, counted, alpha, counts, cards, tables):
    """Add a weight to the cell of row i in each family in which it is complete; ``anew`` normalises the cell's line."""
    for k in range(counted.size):
        f = counted[k]
        at, complete = flat.offsets[f], True
        for m in range(flat.starts[f], flat.starts[f + 1]):
            v = flat.members[m]
            complete &= codes[v, i] < cards[v]
            at += np.int64(codes[v, i]) * flat.strides[m]
        if complete:
            counts[at] += weight
            if anew:
                normalise(at - np.int64(codes[f, i]), flat.cards[f], alpha, counts, tables)


@njit(**INNER)
def normalise(first, r, alpha, counts, tables):
    """theta = (N + alpha) / (N_pa + r alpha) of a line. Weights that were removed may leave a rounding error."""
    total = 0.0
    for k in range(r):
        tables[first + k] = max(counts[first + k], 0.0) + alpha
        total += tables[first + k]
    for k in range(r):
        tables[first + k] /= total


@njit(**INNER)
def sum_row(i, families, seeds, target, budget, block, room, out):
    """Sum out the missing cells of the row in the block on which its class depends; False when they are too large."""
    product, K = room.product, out.shape[0]
    room.ints[SIZES, 4] = 0
    for c in range(K):
        out[c, i] = 0.0
    row = np.int64(0)
    for k in range(seeds.size):
        if block.state[seeds[k], row] != MISSING or room.ints[SEEN, seeds[k]] == i:
            continue
        done, _ = sum_component(row, i, seeds[k], families, target, budget, block.state, block.live, room)
        if done == TOO_LARGE:
            return False
        top = 0.0  # what the component left is behind the product over components, which is not used here
        for c in range(K):
            top = max(top, product[K + c])
        for c in range(K):
            out[c, i] += math.log(max(product[K + c] / max(top, LEAST), LEAST))
    return True
