"""Kernels of scores that are differences of functions of sets: sums over the cells of the tables of many sets.

They trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

_ONE = np.uint64(1)


@part
def _split(column, cards, before, begins, n_cells, members, new_begins, weights, settled, counts, places):
    """Split the cells of a table by one more variable; rows alone in a cell go to ``settled``, by their weight."""
    n_new, end = 0, 0
    for a in range(n_cells):
        first, last = begins[a], begins[a + 1]
        for k in range(cards):
            counts[k] = 0
        for i in range(first, last):
            counts[column[before[i]]] += 1
        for k in range(cards):
            places[k] = -1
            if counts[k] > 1:
                places[k] = end
                new_begins[n_new] = end
                n_new += 1
                end += counts[k]
        for i in range(first, last):
            row = before[i]
            k = column[row]
            if places[k] >= 0:
                members[places[k]] = row
                places[k] += 1
            elif weights[row] < settled.size:
                settled[weights[row]] += 1
            else:  # too heavy for the list: a cell of its own
                new_begins[n_new] = end
                members[end] = row
                n_new += 1
                end += 1
    new_begins[n_new] = end
    return n_new


@njit(cache=True, nogil=True)
def sum_over_cells(
    codes, weights, cards, columns, column_cards, sets, last, n_log_n, alphas, group, log_gammas,
    likelihoods, dirichlets, cells,
):  # fmt: skip
    """For the table of each set of variables, sums over its cells, N being the rows in a cell.

    - ``likelihoods``: the sum of N log N;
    - ``dirichlets``: the sum of log G(N + a) - log G(a), with a = ``alphas[group]``; nothing when there are no alphas;
    - ``cells``: how many cells have rows.

    ``codes`` are distinct rows, one line a variable, and ``weights`` how often each was seen. The variables of a table
    are those of a bit mask of ``sets`` and one line of ``columns`` more, ``last``. The masks have one size; where
    neighbours share their highest variables, rows are sorted into cells by these once. Cells with one distinct row need
    no more than a list of weights. Long because the stack of partitions is shared.
    """
    n, n_rows = codes.shape
    size = 0
    for v in range(n):
        size += sets.size > 0 and (sets[0] >> np.uint64(v)) & _ONE != 0
    depth, widest = size + 1, 1
    for k in range(column_cards.size):
        widest = max(widest, column_cards[k])
    members = np.empty((depth, n_rows), np.int32)
    begins = np.empty((depth, n_rows + 1), np.int32)
    n_cells = np.zeros(depth, np.int64)
    settled = np.zeros((depth, log_gammas.shape[1]), np.int64)
    counts, places = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    for i in range(n_rows):
        members[0, i] = i
    begins[0, 0], begins[0, 1], n_cells[0] = 0, n_rows, 1
    variables, held = np.full(depth, -1), np.full(depth, -1)
    with_gammas = alphas.size > 0
    for s in range(sets.size):
        k = 0
        for v in range(n - 1, -1, -1):
            if (sets[s] >> np.uint64(v)) & _ONE:
                variables[k] = v
                k += 1
        d = 0
        while d < size and variables[d] == held[d]:
            d += 1
        while d < size:
            v = variables[d]
            for c in range(settled.shape[1]):
                settled[d + 1, c] = settled[d, c]
            n_cells[d + 1] = _split(
                codes[v], cards[v], members[d], begins[d], n_cells[d], members[d + 1], begins[d + 1], weights,
                settled[d + 1], counts, places,
            )  # fmt: skip
            held[d] = v
            held[d + 1] = -1
            d += 1
        column, r = columns[last[s]], column_cards[last[s]]
        g = group[s] if with_gammas else 0
        alpha = alphas[g] if with_gammas else 0.0
        zero = math.lgamma(alpha) if with_gammas else 0.0
        fit, gammas, n_seen = 0.0, 0.0, 0
        for c in range(1, settled.shape[1]):
            if settled[d, c]:
                fit += settled[d, c] * n_log_n[c]
                gammas += settled[d, c] * log_gammas[g, c]
                n_seen += settled[d, c]
        for a in range(n_cells[d]):
            first, end = begins[d, a], begins[d, a + 1]
            if r <= 8:
                for k in range(r):
                    counts[k] = 0
            else:
                for i in range(first, end):
                    counts[column[members[d, i]]] = 0
            for i in range(first, end):
                counts[column[members[d, i]]] += weights[members[d, i]]
            for i in range(r if r <= 8 else end - first):
                k = i if r <= 8 else column[members[d, first + i]]
                c = counts[k]
                counts[k] = 0
                if c:
                    n_seen += 1
                    fit += n_log_n[c]
                    if c < log_gammas.shape[1]:
                        gammas += log_gammas[g, c]
                    elif with_gammas:
                        gammas += math.lgamma(c + alpha) - zero
        likelihoods[s], dirichlets[s], cells[s] = fit, gammas, n_seen


@njit(cache=True, nogil=True)
def reaches(codes, weights, cards, columns, column_cards, sets, children, last, n_log_n, alpha, narrowest, out):
    """The BDeu score that a child can reach with the parents of a set and at least one of the variables of a column.

    ``last`` is the column in which all variables that may join are one, ``narrowest`` the fewest states of any of them.
    Neighbours with the same set share its cells. The bounds are told in :mod:`bntk.learning.search.levels`: the
    configurations of set and column, here atoms, are the finest that there may be, and each configuration of the set
    pays for at least one of them. Long because the stack of partitions is shared.
    """
    n, n_rows = codes.shape
    widest, states = 1, 1
    for k in range(column_cards.size):
        widest = max(widest, column_cards[k])
    for v in range(n):
        states = max(states, cards[v])
    members = np.empty((n + 1, n_rows), np.int32)
    begins = np.empty((n + 1, n_rows + 1), np.int32)
    n_cells = np.zeros(n + 1, np.int64)
    settled = np.zeros((n + 1, 256), np.int64)
    n_settled = np.zeros(n + 1, np.int64)
    split_counts, places = np.zeros(states, np.int64), np.zeros(states, np.int64)
    counts, seen = np.zeros(widest * states, np.int64), np.zeros(states, np.bool_)
    atoms, totals = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    for i in range(n_rows):
        members[0, i] = i
    begins[0, 0], begins[0, 1], n_cells[0] = 0, n_rows, 1
    variables, held = np.full(n + 1, -1), np.full(n + 1, -1)
    log_rows = 1 + math.log(max(n_log_n.size - 1, 1))
    for s in range(sets.size):
        size, entries = 0, 1.0
        for v in range(n - 1, -1, -1):
            if (sets[s] >> np.uint64(v)) & _ONE:
                variables[size] = v
                size += 1
                entries *= cards[v]
        d = 0
        while d < size and variables[d] == held[d]:
            d += 1
        while d < size:
            v = variables[d]
            settled[d + 1] = 0
            n_cells[d + 1] = _split(
                codes[v], cards[v], members[d], begins[d], n_cells[d], members[d + 1], begins[d + 1], weights,
                settled[d + 1], split_counts, places,
            )  # fmt: skip
            n_settled[d + 1] = n_settled[d]
            for c in range(settled.shape[1]):
                n_settled[d + 1] += settled[d + 1, c]
            held[d] = v
            held[d + 1] = -1
            d += 1
        held[size] = -1
        child, column = codes[children[s]], columns[last[s]]
        r = cards[children[s]]
        a = alpha / (entries * narrowest[s] * r)
        pays = 4 * a <= 1 and a * r * log_rows <= 1
        two_states = math.log(r * (1 + r * a) / (4 * a)) if pays else 0.0
        zero, zero_all = (math.lgamma(a), math.lgamma(r * a)) if pays else (0.0, 0.0)
        log_r = math.log(r)
        reach = -log_r * n_settled[d] if pays else 0.0
        for cell in range(n_cells[d]):
            n_atoms = 0
            for i in range(begins[d, cell], begins[d, cell + 1]):
                row = members[d, i]
                at = column[row]
                if totals[at] == 0:
                    atoms[n_atoms] = at
                    n_atoms += 1
                    for k in range(r):
                        counts[at * r + k] = 0
                totals[at] += weights[row]
                counts[at * r + child[row]] += weights[row]
            most, largest = 0, 0
            for k in range(r):
                seen[k] = False
            for i in range(n_atoms):
                at, kinds = atoms[i], 0
                total, totals[at] = totals[at], 0
                for k in range(r):
                    c = counts[at * r + k]
                    if c:
                        seen[k] = True
                        kinds += 1
                        if c < total:
                            reach += n_log_n[c]
                if kinds > 1:
                    reach -= n_log_n[total]
                    if total > most:
                        most, largest = total, at * r
            if not pays:
                continue
            if most:
                regret = math.lgamma(r * a + most) - zero_all - n_log_n[most]
                for k in range(r):
                    c = counts[largest + k]
                    if c:
                        regret += n_log_n[c] - math.lgamma(a + c) + zero
                reach -= regret
            else:
                kinds = 0
                for k in range(r):
                    kinds += seen[k]
                reach -= log_r if kinds == 1 else min(kinds * log_r, two_states)
        out[s] = reach + 1e-11 * (1 + abs(reach))
