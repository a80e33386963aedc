"""Loops over rows for the predictive scores.

The rows are in the order of a :class:`~.leaving_out.Plan`, and a matrix over rows has a line for each class: (K, M).
A family is seen through three numbers of each row: the configuration of its feature parents (``pa``), the cell of its
table, ``cell = pa * slots + child``, and whether the row is counted in it (no cell of the family is missing). A table
has a line of cells for each class: N[c, cell] rows have this cell and the class c. Where a variable of the family has
missing cells its axis has one slot more, after its states: for a parent it holds the sum over the states, so that a
row without the parent finds what it needs in the same way as all others; for the child it is not used.

The term of a family is theta = (N + alpha) / (N_pa + r alpha), or its logarithm, for each class and row. In the family
of the class itself (``slots`` is 1, ``r`` is 0) the divisor is the same for all classes and left out.

Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np
from numba import njit

# Which rows are left out when a row is predicted: itself, its fold, or itself and all that follow it.
LEAVE_ONE, FOLDS, RUNNING = 0, 1, 2
# Classes whose log scores differ by less are equally probable; the first of them is the label. Rounding moves a log
# score by some 1e-13.
TIE = 1e-9
# Below this log ratio to the most probable class, a class no longer changes a sum; its exponential may underflow.
NEGLIGIBLE = -600.0
ROWS_AT_ONCE = 512  # a multiple of four
# Up to this many entries, a table is counted in four parts.
SMALL = 1 << 12


@njit(cache=True, nogil=True)
def locate(codes, parents, strides, missing, pa, counted):
    """The configuration of the feature parents of each row; ``missing`` has their codes of a missing cell, or -1."""
    pa[:] = 0
    counted[:] = True
    for a in range(parents.size):
        column, stride = codes[parents[a]], strides[a]
        for i in range(pa.size):
            pa[i] += stride * column[i]
        if missing[a] >= 0:
            for i in range(pa.size):
                counted[i] &= column[i] != missing[a]


@njit(cache=True, nogil=True)
def add_child(column, missing, slots, pa, cell, counted):
    """From the configurations of parents to cells."""
    for i in range(pa.size):
        cell[i] = pa[i] * slots + column[i]
        counted[i] &= column[i] != missing


@njit(cache=True, nogil=True, inline="always")
def put(N, N_pa, slots, c, pa, cell, weight, i, codes, holed, lifts, missing):
    """Add a row's weight to its cell, and to the sums over each set of ``holed`` parents that contain the cell.

    ``N_pa`` is kept as well, unless it is empty.
    """
    N[c, cell] += weight
    if N_pa.size:
        N_pa[c, pa] += weight
    for chosen in range(1, 1 << holed.size):
        at = np.int64(cell)
        for a in range(holed.size):
            if chosen >> a & 1:
                at += (missing[a] - codes[holed[a], i]) * lifts[a]
        N[c, at] += weight
        if N_pa.size:
            N_pa[c, at // slots] += weight


@njit(cache=True, nogil=True)
def theta(n, n_pa, r, alpha, logs):
    """One entry of a term. Weights that were added and removed may leave a rounding error below zero."""
    value = max(n, 0.0) + alpha
    if r > 0:
        value /= max(n_pa, 0.0) + r * alpha
    return math.log(value) if logs else value


@njit(cache=True, nogil=True)
def tabulate(N, slots, r, alpha, taken, logs, table):
    """theta of each cell when ``taken`` rows of the cell are left out (used only where there are as many)."""
    for c in range(N.shape[0]):
        for pa in range(N.shape[1] // slots):
            n_pa = -taken
            for k in range(r):
                n_pa += N[c, pa * slots + k]
            for k in range(slots):
                if r > 0 and k == r:
                    table[c, pa * slots + k] = 0.0 if logs else 1.0
                else:
                    table[c, pa * slots + k] = theta(N[c, pa * slots + k] - taken, n_pa, r, alpha, logs)


@njit(cache=True, nogil=True)
def count_rows(first, end, y, weights, weighted, pa, cell, counted, slots, codes, holed, lifts, missing, N):
    """N of the rows from ``first`` to ``end``."""
    N[:] = 0.0
    if weighted or holed.size or N.size > SMALL:
        none = np.empty((0, 0))
        for i in range(first, end):
            if counted[i]:
                put(N, none, slots, y[i], pa[i], cell[i], weights[i], i, codes, holed, lifts, missing)
        return
    # Neighbours are often in the same cell, and adding to it would wait for the last addition: so they take turns.
    n_cells = np.uint32(N.shape[1])
    parts = np.zeros((4, N.size), dtype=np.int32)
    for i in range(first, end):
        parts[i & 3, y[i] * n_cells + cell[i]] += counted[i]
    flat = N.reshape(N.size)
    for j in range(N.size):
        flat[j] = parts[0, j] + parts[1, j] + parts[2, j] + parts[3, j]


@njit(cache=True, nogil=True)
def fill_terms(
    scheme, starts, n_rows, y, weights, weighted, pa, cell, counted, n_pa, slots, r, alpha, logs, codes, holed, lifts,
    missing, out,
):  # fmt: skip
    """The term of a family, for each class and row, with the counts of the rows that are left out subtracted."""
    K = out.shape[0]
    N = np.zeros((K, n_pa * slots))
    if scheme == RUNNING:
        fill_running(y, weights, pa, cell, counted, N, slots, r, alpha, logs, codes, holed, lifts, missing, out)
        return
    count_rows(0, n_rows, y, weights, weighted, pa, cell, counted, slots, codes, holed, lifts, missing, N)
    if scheme == LEAVE_ONE:
        fill_leave_one(y, weights, weighted, pa, cell, counted, N, slots, r, alpha, logs, out)
        return
    rest, table = np.empty_like(N), np.empty_like(N)
    N_pa = np.empty((0, 0))
    for g in range(starts.size - 1):
        first, end = starts[g], starts[g + 1]
        if N.shape[1] <= end - first:
            count_rows(first, end, y, weights, weighted, pa, cell, counted, slots, codes, holed, lifts, missing, rest)
            for c in range(K):
                for j in range(N.shape[1]):
                    rest[c, j] = N[c, j] - rest[c, j]
            tabulate(rest, slots, r, alpha, 0.0, logs, table)
            look_up(table, cell, first, end, out)
            continue
        if N_pa.size == 0:
            N_pa = sum_children(N, slots, r)
        for i in range(first, end):
            if counted[i]:
                put(N, N_pa, slots, y[i], pa[i], cell[i], -weights[i], i, codes, holed, lifts, missing)
        for i in range(first, end):
            fill_row(N, N_pa, pa, cell, slots, r, alpha, logs, i, out)
        for i in range(first, end):
            if counted[i]:
                put(N, N_pa, slots, y[i], pa[i], cell[i], weights[i], i, codes, holed, lifts, missing)


@njit(cache=True, nogil=True)
def look_up(table, cell, first, end, out):
    """The entry of its cell, for each class and each row from ``first`` to ``end``."""
    for c in range(out.shape[0]):
        line, target = table[c], out[c]
        for i in range(first, end):
            target[i] = line[cell[i]]


@njit(cache=True, nogil=True)
def fill_leave_one(y, weights, weighted, pa, cell, counted, N, slots, r, alpha, logs, out):
    """A row is missing only from the counts of its own class, so two tables serve all rows unless rows have weights."""
    M = out.shape[1]
    table = np.empty_like(N)
    tabulate(N, slots, r, alpha, 0.0, logs, table)
    look_up(table, cell, 0, M, out)
    if weighted:
        N_pa = sum_children(N, slots, r)
        for i in range(M):
            if counted[i]:
                c, w = y[i], weights[i]
                out[c, i] = theta(N[c, cell[i]] - w, N_pa[c, pa[i]] - w, r, alpha, logs)
    else:
        tabulate(N, slots, r, alpha, 1.0, logs, table)
        for i in range(M):
            if counted[i]:
                out[y[i], i] = table[y[i], cell[i]]


@njit(cache=True, nogil=True)
def fill_running(y, weights, pa, cell, counted, N, slots, r, alpha, logs, codes, holed, lifts, missing, out):
    """Each row is predicted from the counts of the rows before it, and then counted."""
    N_pa = np.zeros((N.shape[0], N.shape[1] // slots))
    for i in range(out.shape[1]):
        fill_row(N, N_pa, pa, cell, slots, r, alpha, logs, i, out)
        if counted[i]:
            put(N, N_pa, slots, y[i], pa[i], cell[i], weights[i], i, codes, holed, lifts, missing)


@njit(cache=True, nogil=True, inline="always")
def fill_row(N, N_pa, pa, cell, slots, r, alpha, logs, i, out):
    """The term of one row straight from the counts: where a table would have more entries than are looked up."""
    for c in range(out.shape[0]):
        if r > 0 and cell[i] - pa[i] * slots == r:
            out[c, i] = 0.0 if logs else 1.0
        else:
            out[c, i] = theta(N[c, cell[i]], N_pa[c, pa[i]], r, alpha, logs)


@njit(cache=True, nogil=True)
def sum_children(N, slots, r):
    """N_pa: for each class and configuration of the parents, the sum over the states of the child."""
    sums = np.zeros((N.shape[0], N.shape[1] // slots))
    for c in range(N.shape[0]):
        for pa in range(sums.shape[1]):
            for k in range(r):
                sums[c, pa] += N[c, pa * slots + k]
    return sums


@njit(cache=True, nogil=True)
def add_terms(base, terms, sign):
    """base += sign * terms, in place."""
    for c in range(base.shape[0]):
        for i in range(base.shape[1]):
            base[c, i] += sign * terms[c, i]


@njit(cache=True, nogil=True)
def exponentiate(base, y, weights):
    """Replace log scores by their exponentials, relative to the largest of the row; and what that takes away in all.

    The sum over rows of w (base[y] - max_c base[c]) is returned, for :func:`log_score`.
    """
    K, M = base.shape
    total = 0.0
    for i in range(M):
        largest = base[0, i]
        for c in range(1, K):
            largest = max(largest, base[c, i])
        total += weights[i] * (base[y[i], i] - largest)
        for c in range(K):
            ratio = base[c, i] - largest
            base[c, i] = math.exp(ratio) if ratio > NEGLIGIBLE else 0.0
    return total


@njit(cache=True, nogil=True)
def log_score(base, taken, terms, y, weights, weighted):
    """sum_i w_i log p(y_i | row i), where p is proportional to base * terms.

    No exponential is needed, and logarithms only of products of many rows (of each row when rows have weights).
    """
    K, M = base.shape
    sums = np.empty(ROWS_AT_ONCE)
    total, product = taken, 1.0
    for first in range(0, M, ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, M - first)
        for j in range(size):
            sums[j] = base[0, first + j] * terms[0, first + j]
        for c in range(1, K):
            for j in range(size):
                sums[j] += base[c, first + j] * terms[c, first + j]
        for j in range(size):
            sums[j] = terms[y[first + j], first + j] / sums[j]
        if weighted:
            for j in range(size):
                total += weights[first + j] * math.log(sums[j])
            continue
        sums[size:] = 1.0
        for j in range(0, size, 4):
            product *= (sums[j] * sums[j + 1]) * (sums[j + 2] * sums[j + 3])
            if product < 1e-100 or product > 1e100:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@njit(cache=True, nogil=True)
def count_labels(base, terms, y, weights, out):
    """Add the weight of each row to out[its class, its label], the label being the first class with the largest sum."""
    K, M = base.shape
    for i in range(M):
        largest = base[0, i] + terms[0, i]
        for c in range(1, K):
            largest = max(largest, base[c, i] + terms[c, i])
        label = 0
        while base[label, i] + terms[label, i] < largest - TIE:
            label += 1
        out[y[i], label] += weights[i]
