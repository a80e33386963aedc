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
    codes, weights, cards, sets, n_log_n, alphas, group, log_gammas, likelihoods, dirichlets, cells,
):  # fmt: skip
    """For the table of each set of variables, sums over its cells, N being the rows in a cell.

    - ``likelihoods``: the sum of N log N;
    - ``dirichlets``: the sum of log G(N + a) - log G(a), with a = ``alphas[group]``; nothing when there are no alphas;
    - ``cells``: how many cells have rows.

    ``codes`` are distinct rows, one line a variable, and ``weights`` how often each was seen. The bit masks of ``sets``
    have one size, which is not 0; where neighbours share their highest variables, rows are sorted into cells by these
    once. Cells with one distinct row need no more than a list of weights. Long because the stack of partitions is
    shared.
    """
    n, n_rows = codes.shape
    depth, widest = 0, 1
    for v in range(n):
        depth += sets.size > 0 and (sets[0] >> np.uint64(v)) & _ONE != 0
        widest = max(widest, cards[v])
    size = depth - 1  # of these the rows are sorted; the lowest is counted
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
        k, v = 0, n
        while k < depth:
            v -= 1
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
        column, r = codes[variables[size]], cards[variables[size]]
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
