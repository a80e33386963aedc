"""Loops over rows for the predictive scores.

The rows are in the order of a :class:`~.leaving_out.HoldoutPlan`; a matrix over rows has a line for each class: (K, M).
A family is seen through three numbers of each row: the configuration of its feature parents (``pa``), the cell of its
table, ``cell = pa * slots + child``, and whether the row is counted in it (no cell of the family is missing). A table
has a line of cells for each class: N[c, cell] rows have this cell and the class c. Where a variable of the family has
missing values its axis has one slot more, after its states: for a parent it holds the sum over the states, so that a
row without the parent finds what it needs in the same way as all others; for the child it is not used.

The term of a family is theta = (N + alpha) / (N_pa + r alpha), or its logarithm, for each class and row. In the family
of the class itself (``slots`` is 1, ``r`` is 0) the divisor is the same for all classes and left out.

Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

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


@part
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


@part
def add_child(column, missing, slots, pa, cell, counted):
    """From the configurations of parents to cells."""
    for i in range(pa.size):
        cell[i] = pa[i] * slots + column[i]
        counted[i] &= column[i] != missing


@part
def lifted(chosen, i, codes, incomplete, lifts, missing):
    """The distance from a row's cell to the sum that contains it over a ``chosen`` set of ``incomplete`` parents.

    Incomplete parents are those with missing values.
    """
    steps = 0
    for a in range(incomplete.size):
        if chosen >> a & 1:
            steps += (missing[a] - codes[incomplete[a], i]) * lifts[a]
    return steps


@part
def put(N, N_pa, slots, c, pa, cell, weight, i, codes, incomplete, lifts, missing):
    """Add a row's weight to its cell, and to the sums over each set of ``incomplete`` parents that contain the cell.

    ``N_pa`` is kept as well, unless it is empty.
    """
    N[c, cell] += weight
    if N_pa.size:
        N_pa[c, pa] += weight
    for chosen in range(1, 1 << incomplete.size):
        at = np.int64(cell) + lifted(chosen, i, codes, incomplete, lifts, missing)
        N[c, at] += weight
        if N_pa.size:
            N_pa[c, at // slots] += weight


@part
def theta(n, n_pa, r, alpha, logs):
    """One entry of a term. Weights that were added and removed may leave a rounding error below zero."""
    value = max(n, 0.0) + alpha
    if r > 0:
        value /= max(n_pa, 0.0) + r * alpha
    return math.log(value) if logs else value


@part
def tabulate(N, slots, r, alpha, log_counts, taken, logs, table):
    """theta of each cell when ``taken`` rows of the cell are left out (used only where there are as many).

    ``log_counts`` has log(n + alpha) for whole numbers n; it is empty when rows have weights.
    """
    for c in range(N.shape[0]):
        for pa in range(N.shape[1] // slots):
            first = pa * slots
            n_pa = -taken
            for k in range(r):
                n_pa += N[c, first + k]
            if logs and log_counts.size:
                below = math.log(max(n_pa, 0.0) + r * alpha) if r > 0 else 0.0
                for k in range(slots):
                    table[c, first + k] = log_counts[int(max(N[c, first + k] - taken, 0.0))] - below
            else:
                for k in range(slots):
                    table[c, first + k] = theta(N[c, first + k] - taken, n_pa, r, alpha, logs)
            if 0 < r < slots:
                table[c, first + r] = 0.0 if logs else 1.0


@part
def count_rows(first, end, y, weights, weighted, pa, cell, counted, slots, codes, incomplete, lifts, missing, N):
    """N of the rows from ``first`` to ``end``."""
    N[:] = 0.0
    if weighted or incomplete.size or N.size > SMALL:
        none = np.empty((0, 0))
        for i in range(first, end):
            if counted[i]:
                put(N, none, slots, y[i], pa[i], cell[i], weights[i], i, codes, incomplete, lifts, missing)
        return
    # Neighbours are often in the same cell, and adding to it would wait for the last addition: so they take turns.
    n_cells = np.uint32(N.shape[1])
    parts = np.zeros((4, N.size), dtype=np.int32)
    at = np.empty(ROWS_AT_ONCE, dtype=np.uint32)
    for start in range(first, end, ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, end - start)
        classes, cells, there = y[start : start + size], cell[start : start + size], counted[start : start + size]
        for j in range(size):
            at[j] = classes[j] * n_cells + cells[j]
        for j in range(size):
            parts[j & 3, at[j]] += there[j]
    flat = N.reshape(N.size)
    for j in range(N.size):
        flat[j] = parts[0, j] + parts[1, j] + parts[2, j] + parts[3, j]


@part
def fill_terms(
    scheme, starts, n_rows, y, weights, weighted, pa, cell, counted, n_pa, slots, r, alpha, log_counts, logs, codes,
    incomplete, lifts, missing, out,
):  # fmt: skip
    """The term of a family, for each class and row, with the counts of the rows that are left out subtracted."""
    K = out.shape[0]
    if scheme == RUNNING:
        above, below = np.empty((n_pa * slots, K)), np.empty((n_pa, K))
        fill_running(
            y, weights, pa, cell, counted, slots, r, alpha, logs, codes, incomplete, lifts, missing, above, below, out
        )  # fmt: skip
        return
    N = np.zeros((K, n_pa * slots))
    n_folds = starts.size - 1
    if scheme == FOLDS and n_folds * N.shape[1] <= y.size:
        rest = np.empty((n_folds, *N.shape))
        for g in range(n_folds):
            count_rows(
                starts[g], starts[g + 1], y, weights, weighted, pa, cell, counted, slots, codes, incomplete, lifts,
                missing, rest[g],
            )  # fmt: skip
            if starts[g] < n_rows:
                N += rest[g]
        table = np.empty_like(N)
        for g in range(n_folds):
            tabulate(N - rest[g], slots, r, alpha, log_counts, 0.0, logs, table)
            look_up(table, cell, starts[g], starts[g + 1], out)
        return
    count_rows(0, n_rows, y, weights, weighted, pa, cell, counted, slots, codes, incomplete, lifts, missing, N)
    if scheme == LEAVE_ONE:
        fill_leave_one(y, weights, weighted, pa, cell, counted, N, slots, r, alpha, log_counts, logs, out)
        return
    N_pa = sum_children(N, slots, r)
    for g in range(n_folds):
        first, end = starts[g], starts[g + 1]
        for i in range(first, end):
            if counted[i]:
                put(N, N_pa, slots, y[i], pa[i], cell[i], -weights[i], i, codes, incomplete, lifts, missing)
        for i in range(first, end):
            fill_row(N, N_pa, pa, cell, slots, r, alpha, logs, i, out)
        for i in range(first, end):
            if counted[i]:
                put(N, N_pa, slots, y[i], pa[i], cell[i], weights[i], i, codes, incomplete, lifts, missing)


@part
def look_up(table, cell, first, end, out):
    """The entry of its cell, for each class and each row from ``first`` to ``end``."""
    for c in range(out.shape[0]):
        line, target = table[c], out[c]
        for i in range(first, end):
            target[i] = line[cell[i]]


@part
def fill_leave_one(y, weights, weighted, pa, cell, counted, N, slots, r, alpha, log_counts, logs, out):
    """A row is missing only from the counts of its own class, so two tables serve all rows unless rows have weights."""
    M = out.shape[1]
    table = np.empty_like(N)
    tabulate(N, slots, r, alpha, log_counts, 0.0, logs, table)
    look_up(table, cell, 0, M, out)
    if weighted:
        N_pa = sum_children(N, slots, r)
        for i in range(M):
            if counted[i]:
                c, w = y[i], min(weights[i], 1.0)  # one of the rows that it stands for
                out[c, i] = theta(N[c, cell[i]] - w, N_pa[c, pa[i]] - w, r, alpha, logs)
    else:
        tabulate(N, slots, r, alpha, log_counts, 1.0, logs, table)
        for i in range(M):
            if counted[i]:
                out[y[i], i] = table[y[i], cell[i]]


@part
def fill_running(
    y, weights, pa, cell, counted, slots, r, alpha, logs, codes, incomplete, lifts, missing, above, below, out
):  # fmt: skip
    """Each row is predicted from the counts of the rows before it, and then counted.

    A row changes the counts of its own class alone. So numerators and divisors are kept as they are needed, as
    logarithms or divided into one, and only those of the row's own cells are computed anew: theta of the other classes
    costs one operation.
    """
    K = out.shape[0]
    N, N_pa = np.zeros((above.shape[0], K)), np.zeros((below.shape[0], K))
    above[:] = math.log(alpha) if logs else alpha
    if r > 0:
        below[:] = -math.log(r * alpha) if logs else 1.0 / (r * alpha)
    else:
        below[:] = 0.0 if logs else 1.0
    for i in range(out.shape[1]):
        if r > 0 and cell[i] - pa[i] * slots == r:
            for c in range(K):
                out[c, i] = 0.0 if logs else 1.0
        elif logs:
            for c in range(K):
                out[c, i] = above[cell[i], c] + below[pa[i], c]
        else:
            for c in range(K):
                out[c, i] = above[cell[i], c] * below[pa[i], c]
        if not counted[i]:
            continue
        c = y[i]
        for chosen in range(1 << incomplete.size):
            at = np.int64(cell[i]) + lifted(chosen, i, codes, incomplete, lifts, missing)
            N[at, c] += weights[i]
            above[at, c] = math.log(N[at, c] + alpha) if logs else N[at, c] + alpha
            if r > 0:
                at //= slots
                N_pa[at, c] += weights[i]
                n_pa = N_pa[at, c] + r * alpha
                below[at, c] = -math.log(n_pa) if logs else 1.0 / n_pa


@part
def fill_row(N, N_pa, pa, cell, slots, r, alpha, logs, i, out):
    """The term of one row straight from the counts: where a table would have more entries than are looked up."""
    for c in range(out.shape[0]):
        if r > 0 and cell[i] - pa[i] * slots == r:
            out[c, i] = 0.0 if logs else 1.0
        else:
            out[c, i] = theta(N[c, cell[i]], N_pa[c, pa[i]], r, alpha, logs)


@part
def sum_children(N, slots, r):
    """N_pa: for each class and configuration of the parents, the sum over the states of the child."""
    sums = np.zeros((N.shape[0], N.shape[1] // slots))
    for c in range(N.shape[0]):
        for pa in range(sums.shape[1]):
            for k in range(r):
                sums[c, pa] += N[c, pa * slots + k]
    return sums


@njit(cache=True, nogil=True)
def fill_family(
    scheme, starts, n_rows, y, weights, weighted, codes, cards, has_missing, target, alpha, log_counts, child, features,
    strides, missing, n_pa, logs, pa, cell, counted, out,
):  # fmt: skip
    """The term of a family whose parents have been located."""
    fill_located(
        scheme, starts, n_rows, y, weights, weighted, codes, cards, has_missing, target, alpha, log_counts, child,
        features, strides, missing, n_pa, logs, pa, cell, counted, out,
    )  # fmt: skip


@part
def fill_located(
    scheme, starts, n_rows, y, weights, weighted, codes, cards, has_missing, target, alpha, log_counts, child, features,
    strides, missing, n_pa, logs, pa, cell, counted, out,
):  # fmt: skip
    """:func:`fill_family`, for kernels."""
    r, slots = 0, 1
    if child == target:
        cell = pa
    else:
        r = cards[child]
        slots = r + has_missing[child]
        add_child(codes[child], r, slots, pa, cell, counted)
    incomplete = missing >= 0
    fill_terms(
        scheme, starts, n_rows, y, weights, weighted, pa, cell, counted, n_pa, slots, r, alpha, log_counts, logs, codes,
        features[incomplete], strides[incomplete] * slots, missing[incomplete], out,
    )  # fmt: skip


@njit(cache=True, nogil=True, steps=lambda *given: 10 * given[3].size * (given[-2] - given[-3]))
def fill_pool(
    scheme, starts, n_rows, y, weights, weighted, codes, cards, has_missing, target, alpha, log_counts, children,
    features, feature_starts, logs, places, first, end, pool,
):  # fmt: skip
    """The terms of some families into their places of the pool; ``features`` are the feature parents of each."""
    pa, cell = np.empty(y.size, dtype=np.uint32), np.empty(y.size, dtype=np.uint32)
    counted = np.empty(y.size, dtype=np.bool_)
    for f in range(first, end):
        parents = features[feature_starts[f] : feature_starts[f + 1]]
        strides, missing = np.empty_like(parents), np.full_like(parents, -1)
        n_pa = 1
        for a in range(parents.size - 1, -1, -1):
            v = parents[a]
            strides[a] = n_pa
            n_pa *= cards[v] + has_missing[v]
            if has_missing[v]:
                missing[a] = cards[v]
        locate(codes, parents, strides, missing, pa, counted)
        fill_located(
            scheme, starts, n_rows, y, weights, weighted, codes, cards, has_missing, target, alpha, log_counts,
            children[f], parents, strides, missing, n_pa, logs[f], pa, cell, counted, pool[places[f]],
        )  # fmt: skip


@njit(
    cache=True, nogil=True, steps=lambda pool, places, signs, first, size, base: places.size * base.shape[0] * size
)  # fmt: skip
def add_terms(pool, places, signs, first, size, base):
    """Add the terms at some places of the pool, or take them away: ``size`` rows from ``first``, to those of base."""
    for k in range(places.size):
        for c in range(base.shape[0]):
            line, term = base[c], pool[places[k], c, first : first + size]
            if signs[k] > 0:
                for j in range(size):
                    line[j] += term[j]
            else:
                for j in range(size):
                    line[j] -= term[j]


def _steps_of_tasks(scores, pool, anew, common, signs, common_starts, last, *rest):
    """About how many microseconds Python takes for the rows and structures of some tasks."""
    first, end, tasks_from, tasks_to, _ = rest[-5:]
    return scores.shape[0] * (end - first) * (tasks_to - tasks_from) * (2 + 2 * last.size / max(1, anew.size))


@part
def begin(scores, anew, pool, places, signs, first, size, base):
    """The class log scores that the structures of a task have in common."""
    for c in range(base.shape[0]):
        for j in range(size):
            base[c, j] = 0.0 if anew else scores[c, first + j]
    add_terms(pool, places, signs, first, size, base)


@njit(cache=True, nogil=True, steps=_steps_of_tasks)
def log_scores(
    scores, pool, anew, common, signs, common_starts, last, last_starts, y, weights, weighted, first, end, tasks_from,
    tasks_to, out,
):  # fmt: skip
    """sum_i w_i log p(y_i | row i) over rows from ``first`` to ``end``, for each structure of some tasks."""
    base = np.empty((scores.shape[0], ROWS_AT_ONCE))
    for t in range(tasks_from, tasks_to):
        places, plus = common[common_starts[t] : common_starts[t + 1]], signs[common_starts[t] : common_starts[t + 1]]
        for start in range(first, end, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, end - start)
            begin(scores, anew[t], pool, places, plus, start, size, base)
            taken = exponentiate(base, y, weights, start, size)
            for k in range(last_starts[t], last_starts[t + 1]):
                out[k] += taken + log_score(base, pool, last[k], y, weights, weighted, start, size)


@part
def exponentiate(base, y, weights, first, size):
    """Replace log scores by their exponentials, relative to the largest of the row; and what that takes away in all.

    The sum over rows of w (base[y] - max_c base[c]) is returned, for :func:`log_score`.
    """
    K = base.shape[0]
    total = 0.0
    for j in range(size):
        largest = base[0, j]
        for c in range(1, K):
            largest = max(largest, base[c, j])
        total += weights[first + j] * (base[y[first + j], j] - largest)
        for c in range(K):
            ratio = base[c, j] - largest
            base[c, j] = math.exp(ratio) if ratio > NEGLIGIBLE else 0.0
    return total


@part
def log_score(base, pool, place, y, weights, weighted, first, size):
    """sum_i w_i log p(y_i | row i), where p is proportional to base * the last term, which is 1 when there is none.

    No exponential is needed, and logarithms only of products of many rows (of each row when rows have weights).
    """
    sums = np.zeros(ROWS_AT_ONCE)
    for c in range(base.shape[0]):
        line = base[c]
        if place < 0:
            for j in range(size):
                sums[j] += line[j]
        else:
            term = pool[place, c, first : first + size]
            for j in range(size):
                sums[j] += line[j] * term[j]
    for j in range(size):
        sums[j] = (1.0 if place < 0 else pool[place, y[first + j], first + j]) / sums[j]
    total, product = 0.0, 1.0
    if weighted:
        for j in range(size):
            total += weights[first + j] * math.log(sums[j])
        return total
    sums[size:] = 1.0
    for j in range(0, size, 4):
        product *= (sums[j] * sums[j + 1]) * (sums[j + 2] * sums[j + 3])
        if product < 1e-100 or product > 1e100:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True, nogil=True, steps=_steps_of_tasks)
def count_labels(
    scores, pool, anew, common, signs, common_starts, last, last_starts, y, weights, first, end, tasks_from, tasks_to,
    out,
):  # fmt: skip
    """Add the weight of each row from ``first`` to ``end`` to out[structure, its class, its label].

    The label is the first class with the largest sum.
    """
    K = scores.shape[0]
    base, sums = np.empty((K, ROWS_AT_ONCE)), np.empty((K, ROWS_AT_ONCE))
    largest, label = np.empty(ROWS_AT_ONCE), np.zeros(ROWS_AT_ONCE, dtype=np.int32)
    # Neighbours often have the same class and label, and adding would wait for the last addition: so they take turns.
    turns = 4 if K <= 8 else 1
    parts = np.zeros((turns, K * K))
    for t in range(tasks_from, tasks_to):
        places, plus = common[common_starts[t] : common_starts[t + 1]], signs[common_starts[t] : common_starts[t + 1]]
        for start in range(first, end, ROWS_AT_ONCE):
            size = min(ROWS_AT_ONCE, end - start)
            begin(scores, anew[t], pool, places, plus, start, size, base)
            for k in range(last_starts[t], last_starts[t + 1]):
                find_labels(base, pool, last[k], start, size, sums, largest, label)
                for j in range(size):
                    parts[j & (turns - 1), y[start + j] * K + label[j]] += weights[start + j]
                for turn in range(turns):
                    for cell in range(K * K):
                        out[k, cell] += parts[turn, cell]
                        parts[turn, cell] = 0.0


@part
def find_labels(base, pool, place, first, size, sums, largest, label):
    """The first class of each row whose sum is the largest, but for TIE."""
    K = base.shape[0]
    largest[:size] = -np.inf
    for c in range(K):
        line, total = base[c], sums[c]
        if place < 0:
            for j in range(size):
                total[j] = line[j]
                largest[j] = total[j] if total[j] > largest[j] else largest[j]
        else:
            term = pool[place, c, first : first + size]
            for j in range(size):
                total[j] = line[j] + term[j]
                largest[j] = total[j] if total[j] > largest[j] else largest[j]
    for j in range(size):
        largest[j] -= TIE
    for c in range(K - 1, -1, -1):
        total = sums[c]
        for j in range(size):
            label[j] = c if total[j] >= largest[j] else label[j]
