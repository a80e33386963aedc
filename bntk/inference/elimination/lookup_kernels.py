"""Kernels for rows in blocks: families without missing values are look-ups in log tables, several rows side by side.

Rows whose cells are all observed, as far as an answer depends on them, need nothing else. The functions of the second
part find what a block of rows with missing values can look up and what is left; see
:mod:`bntk.inference.elimination.elimination_kernels`. All arrays are trusted.

A place that is not known to be positive is made unsigned: an index that may be negative keeps the compiler from working
on several rows at once.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.vector_kernels import INNER as INNER_OPTIONS

# Without reference counts, which two threads would fight over: nothing is allocated here.
OUTER = {"cache": True, "nogil": True, "_nrt": False}
INNER = {**INNER_OPTIONS, "_nrt": False}

BLOCK = 64

#: In the place of a code: missing, and missing without telling anything about other cells.
MISSING, LEFT_OUT = -1, -2
#: What a family with zeros says of a row, its missing values summed out: nothing is possible, something, everything.
NOTHING, SOMETHING, EVERYTHING = 0, 1, 2
#: What is left to do for a row: components that its answer depends on, families that could exclude each other.
OPEN, DOUBTFUL = 1, 2


# ---- complete rows ---------------------------------------------------------------------------------------------------


@njit(**INNER)
def has_missing(codes, first, n, members, cards):
    """Whether a cell of some variables is missing in n rows from ``first`` on."""
    for m in range(members.size):
        v = members[m]
        absent, some = codes.dtype.type(cards[v]), False
        for i in range(n):
            some |= codes[v, np.uint64(first) + np.uint64(i)] >= absent
        if some:
            return True
    return False


@njit(**INNER)
def find_entries(columns, first, n, offset, begin, end, members, strides, entry):
    """Where n rows, from ``first`` on in ``columns``, are in the table of ``members[begin:end]``."""
    for i in range(n):
        entry[i] = offset
    for m in range(begin, end):
        v, stride = members[m], strides[m]
        for i in range(n):
            entry[i] += columns[v, np.uint64(first) + np.uint64(i)] * stride


@njit(**INNER)
def add_entries(first, n, has_target, entry, tables, scores, rest):
    """Add one entry for each row to its rest, or one for each state of the target to its scores."""
    width = scores.shape[1]
    if not has_target:
        for i in range(n):
            rest[i] += tables[entry[i]]
    elif width == 2:
        for i in range(n):
            scores[first + i, 0] += tables[entry[i]]
            scores[first + i, 1] += tables[entry[i] + 1]
    else:
        for i in range(n):
            for s in range(width):
                scores[first + i, s] += tables[entry[i] + s]


@njit(**INNER)
def finish_rows(n, begin, scores, rest, normalise, first, out):
    """The answers to n rows, from ``first`` on in ``out``, from their scores from ``begin`` on."""
    width = out.shape[1]
    for i in range(n):
        top = -np.inf
        for s in range(width):
            top = max(top, scores[begin + i, s])
        if not normalise:
            for s in range(width):
                out[first + i, s] = scores[begin + i, s] + rest[i]
        elif top == -np.inf or rest[i] == -np.inf:
            for s in range(width):
                out[first + i, s] = np.nan
        else:
            total = 0.0
            for s in range(width):
                out[first + i, s] = np.exp(scores[begin + i, s] - top)
                total += out[first + i, s]
            for s in range(width):
                out[first + i, s] /= total


# ---- rows with missing values ----------------------------------------------------------------------------------------


@njit(**INNER)
def load_block(codes, first, n, families, target, prune, block):
    """Read n rows from ``first`` on, and find what is left out."""
    cells, missing, live, state = block.cells, block.missing, block.live, block.state
    for v in range(families.cards.size):
        r = families.cards[v]
        some = np.uint8(0)
        for i in range(n):
            cells[v, i] = codes[v, first + i]
            missing[v, i] = codes[v, first + i] >= r
            some |= missing[v, i]
        block.incomplete[v] = some != 0 and v != target
    if target >= 0:
        for i in range(n):
            missing[target, i] = 0
    for k in range(families.order.size - 1, -1, -1):
        v = families.order[k]
        if not block.incomplete[v] or not prune:
            for i in range(n):
                live[v, i] = 1
            continue
        for i in range(n):
            live[v, i] = 1 - missing[v, i]
        a = families.starts[v]
        a += 3 + 2 * families.around[a + 2]
        while a < families.starts[v + 1]:
            child = families.around[a]
            for i in range(n):
                live[v, i] |= live[child, i]
            a += 3 + 2 * families.around[a + 2]
    for v in range(families.cards.size):
        for i in range(n):
            state[v, i] = cells[v, i] if not missing[v, i] else MISSING if live[v, i] else LEFT_OUT


@njit(**INNER)
def look_up(n, lookups, block):
    """Add up the log tables of all families without missing values, and mark the rows that have others."""
    for i in range(n):
        block.rest[i] = 0.0
        block.is_open[i] = 0
        for s in range(block.scores.shape[1]):
            block.scores[i, s] = 0.0
    at = np.int64(0)  # a constant would be compiled for itself
    for k in range(lookups.children.size):
        child, begin, end = lookups.children[k], lookups.starts[k], lookups.starts[k + 1]
        find_entries(block.cells, at, n, lookups.offsets[k], begin, end, lookups.members, lookups.strides, block.entry)
        complete = not block.incomplete[child]
        for m in range(begin, end):
            complete &= not block.incomplete[lookups.members[m]]
        if not complete:
            _leave_out(n, child, begin, end, lookups.members, block)
        add_entries(at, n, lookups.has_target[k], block.entry, lookups.tables, block.scores, block.rest)


@njit(**INNER)
def _leave_out(n, child, begin, end, members, block):
    """Let the rows that have a missing value in the family, or do not depend on it, look up a zero."""
    entry, used, live, missing = block.entry, block.used, block.live, block.missing
    for i in range(n):
        used[i] = live[child, i]
    for m in range(begin, end):
        for i in range(n):
            used[i] &= 1 - missing[members[m], i]
    for i in range(n):
        block.is_open[i] |= live[child, i] & (1 - used[i])
        entry[i] *= used[i]


@njit(**INNER)
def look_for_zeros(n, families, supports, block):
    """Find the rows that a single family makes impossible, and those in which two could exclude each other."""
    entry, rest, n_doubtful, doubtful = block.entry, block.rest, block.used, block.doubtful
    at = np.int64(0)
    for i in range(n):
        n_doubtful[i] = 0
    for k in range(supports.children.size):
        v, begin, end = supports.children[k], supports.starts[k], supports.starts[k + 1]
        find_entries(block.cells, at, n, supports.offsets[k], begin, end, supports.members, supports.strides, entry)
        for i in range(n):
            says = supports.tables[entry[i]]
            if says == NOTHING:
                rest[i] = -np.inf
            doubtful[v, i] = says == SOMETHING
        if block.incomplete[v]:
            _without_free_children(n, v, families, block)
        for i in range(n):
            n_doubtful[i] += doubtful[v, i] & (n_doubtful[i] < 2)
    for i in range(n):
        if n_doubtful[i] == 2:
            block.is_open[i] |= DOUBTFUL


@njit(**INNER)
def _without_free_children(n, v, families, block):
    """A missing child has some possible state whatever its parents are; unless another family is in doubt over it."""
    keep, doubtful = block.keep, block.doubtful
    for i in range(n):
        keep[i] = 1 - block.missing[v, i]
    a = families.starts[v]
    a += 3 + 2 * families.around[a + 2]
    while a < families.starts[v + 1]:
        below = families.around[a]
        for i in range(n):
            keep[i] |= doubtful[below, i]
        a += 3 + 2 * families.around[a + 2]
    for i in range(n):
        doubtful[v, i] &= keep[i]
