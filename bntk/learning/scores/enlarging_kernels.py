"""The kernel of families that are enlarged by each of many variables, whose tables may be larger than the data.

It trusts its arguments and releases the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.scores.base import MOST_CONFIGURATIONS
from bntk.learning.scores.kernels import ALL_CELLS, DIRICHLET

# A table is counted as a whole when it has at most a row for each so many entries; else group by group.
ROWS_AN_ENTRY = 2
LARGEST_Q = float(MOST_CONFIGURATIONS)


@part
def cell_term(count, a, known):
    """The term of a count: n log n, or log G(a + n) / G(a) for a pseudo-count; looked up when it was met before.

    Scores that are sums of such terms over cells, less one over parent configurations, need no empty cell.
    """
    if count < known.size and not math.isnan(known[count]):
        return known[count]
    if a > 0:
        value = math.lgamma(a + count) - math.lgamma(a)
    else:
        value = count * math.log(count) if count > 0 else 0.0
    if count < known.size:
        known[count] = value
    return value


@part
def note(count, seen, distinct, n_distinct):
    """Note that there is such a count; how many different ones there are now."""
    if seen[count] == 0:
        distinct[n_distinct] = count
        n_distinct += 1
    seen[count] += 1
    return n_distinct


@part
def sum_of_terms(seen, distinct, n_distinct, a, known):
    """The sum of the terms of all counts, the smallest first, which does not depend on the order of rows.

    Nothing is noted afterwards.
    """
    for i in range(1, n_distinct):
        count, k = distinct[i], i
        while k > 0 and distinct[k - 1] > count:
            distinct[k] = distinct[k - 1]
            k -= 1
        distinct[k] = count
    result = 0.0
    for i in range(n_distinct):
        count = distinct[i]
        result += seen[count] * cell_term(count, a, known)
        seen[count] = 0
    return result


@part
def number_groups(codes, cards, parents, child, rows, groups):
    """Number the parent configurations that were seen in complete rows, in the order of the first row of each.

    Writes down these rows and the number of each; returns how many there are of both.
    """
    n_rows = 0
    for k in range(codes.shape[1]):
        complete = codes[child, k] < cards[child]
        for p in parents:
            complete &= codes[p, k] < cards[p]
        rows[n_rows] = k
        n_rows += complete
    found = 1
    for k in range(n_rows):
        groups[k] = 0
    for p in parents:
        slots = np.full(found * cards[p], -1, np.int64)
        found = 0
        for k in range(n_rows):
            slot = groups[k] * cards[p] + codes[p, rows[k]]
            if slots[slot] < 0:
                slots[slot] = found
                found += 1
            groups[k] = slots[slot]
    return n_rows, found


@part
def sort_by_group(rows, groups, n_groups, begins):
    """The rows of each group, one group after the other."""
    for k in range(rows.size):
        begins[groups[k] + 1] += 1
    for g in range(n_groups):
        begins[g + 1] += begins[g]
    at, in_turn = begins.copy(), np.empty(rows.size, np.int64)
    for k in range(rows.size):
        in_turn[at[groups[k]]] = rows[k]
        at[groups[k]] += 1
    return in_turn


@part
def note_whole_table(
    rows, groups, n_groups, own, r, column, r_other, table, cells, different_cells, sums, different_sums
):
    """Note the counts of cells and of parent configurations, by the table of (group, child, other).

    The table is empty before and after. Returns how many different counts there are of both.
    """
    for k in range(rows.size):
        x = np.int64(column[rows[k]])
        if x < r_other:
            table[(groups[k] * r + own[rows[k]]) * r_other + x] += 1
    n_cells, n_sums = 0, 0
    for g in range(n_groups):
        for x in range(r_other):
            at, total = g * r * r_other + x, 0
            for c in range(r):
                count = table[at + c * r_other]
                if count > 0:
                    total += count
                    table[at + c * r_other] = 0
                    n_cells = note(count, cells, different_cells, n_cells)
            if total > 0:
                n_sums = note(total, sums, different_sums, n_sums)
    return n_cells, n_sums


@part
def note_by_groups(
    begins, n_groups, in_turn, own, r, column, r_other, table, touched, totals, cells, different_cells, sums,
    different_sums,
):  # fmt: skip
    """The same by a table of (child, other) that is used for one group after the other, with no empty cell."""
    n_cells, n_sums = 0, 0
    for g in range(n_groups):
        n_touched, n_totals = 0, 0
        for k in range(begins[g], begins[g + 1]):
            row = in_turn[k]
            x = np.int64(column[row])
            if x < r_other:
                cell = own[row] * r_other + x
                if table[cell] == 0:
                    touched[n_touched] = cell
                    n_touched += 1
                table[cell] += 1
        for c in range(n_touched):
            cell = touched[c]
            n_cells = note(table[cell], cells, different_cells, n_cells)
            if totals[cell % r_other] == 0:
                touched[n_totals] = cell % r_other
                n_totals += 1
            totals[cell % r_other] += table[cell]
            table[cell] = 0
        for c in range(n_totals):
            n_sums = note(totals[touched[c]], sums, different_sums, n_sums)
            totals[touched[c]] = 0
    return n_cells, n_sums


@njit(
    cache=True, nogil=True,
    steps=lambda codes, cards, parents, child, others, *rest: codes.shape[1] * (2 + parents.size + others.size),
)  # fmt: skip
def score_enlarged(codes, cards, parents, child, others, q, formula, spread, alpha, penalty, out):
    """The score of a family with each of some other variables as one more parent, by the rows that are complete in it.

    For the log-likelihood without pseudo-counts, less a penalty per parameter, and Dirichlet scores whose pseudo-counts
    do not depend on the data. ``q`` is the number of configurations of the parents, seen or not.
    """
    r = cards[child]
    rows, groups = np.empty(codes.shape[1] + 1, np.int64), np.empty(codes.shape[1], np.int64)
    n, n_groups = number_groups(codes, cards, parents, child, rows, groups)
    rows, groups = rows[:n], groups[:n]
    widest, room, by_groups = 1, 1, False
    for x in others:
        widest = max(widest, cards[x])
        if ROWS_AN_ENTRY * n_groups * r * cards[x] <= n:
            room = max(room, n_groups * r * cards[x])
        else:
            by_groups = True
    own, table = codes[child], np.zeros(max(room, r * widest), np.int64)
    begins = np.zeros(n_groups + 1, np.int64)
    touched, totals = np.empty(r * widest, np.int64), np.zeros(widest, np.int64)
    in_turn = sort_by_group(rows, groups, n_groups, begins) if by_groups else rows
    of_cells, of_sums = np.empty(min(n, 1 << 14) + 1), np.empty(min(n, 1 << 14) + 1)
    cells, sums = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    most = np.int64(math.sqrt(2.0 * n)) + 2  # different counts, which sum to n at the most
    different_cells, different_sums = np.empty(most, np.int64), np.empty(most, np.int64)
    last_a = -1.0
    for f in range(others.size):
        r_other = cards[others[f]]
        q_all = min(q * r_other, LARGEST_Q)
        a = 0.0
        if formula == DIRICHLET:
            a = alpha / (q_all * r) if spread == ALL_CELLS else alpha
        if a != last_a:
            of_cells[:] = np.nan
            of_sums[:] = np.nan
            last_a = a
        column = codes[others[f]]
        if ROWS_AN_ENTRY * n_groups * r * r_other <= n:
            n_cells, n_sums = note_whole_table(
                rows, groups, n_groups, own, r, column, r_other, table, cells, different_cells, sums, different_sums
            )
        else:
            n_cells, n_sums = note_by_groups(
                begins, n_groups, in_turn, own, r, column, r_other, table, touched, totals, cells, different_cells,
                sums, different_sums,
            )  # fmt: skip
        fit = sum_of_terms(cells, different_cells, n_cells, a, of_cells)
        fit -= sum_of_terms(sums, different_sums, n_sums, r * a, of_sums)
        out[f] = fit if formula == DIRICHLET else fit - penalty * (r - 1) * q_all
