# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
"""Loopy belief propagation in log space, where every row has its own tables. Arrays are trusted: callers have checked.

The graph is that of :mod:`bntk.inference.approximate.loopy_kernels`, whose messages are plain numbers: two
multiplications per entry, for tables that all rows share. Here a row's table is itself the product of what hundreds of
observed variables say, and its entries differ by more than a plain number can hold, so that every sum is one of logs.

Each variable keeps the sum of its messages, so that what it says to one factor is a difference, and an update takes
time in proportion to the factor's table alone, however many factors the variable has.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Stands for the log of zero, so that what was added can be taken away again; less than half of it means impossible.
IMPOSSIBLE = -1e9


@njit(cache=True, nogil=True, error_model="numpy")
def propagate(graph, tables, likelihood, maximise, max_iter, tolerance, beliefs, changes, log_z):
    """For each row of ``tables`` and each component of ``likelihood`` (rows, components, states), one run.

    Sweeps over all factors, forwards and backwards by turns, until no message changes. Components of a row differ
    little, so that each run but the first begins with the messages of the one before. Filled in are the log beliefs
    (rows, components, states), the largest change of a message in the last sweep, and the Bethe estimate of log Z.
    """
    n_factors = graph.edge_start.size - 1
    n_axes, largest = 1, 1
    for f in range(n_factors):
        n_axes = max(n_axes, graph.edge_start[f + 1] - graph.edge_start[f])
        largest = max(largest, graph.table_start[f + 1] - graph.table_start[f])
    top, total = np.empty((n_axes, graph.cards.max())), np.empty((n_axes, graph.cards.max()))
    products, messages = np.empty(largest), np.empty(graph.message_start[-1])
    for row in range(tables.shape[0]):
        messages[:] = 0.0
        for j in range(likelihood.shape[1]):
            belief = beliefs[row, j]
            for sweep in range(max_iter):
                _sum_messages(graph, likelihood[row, j], messages, belief)
                change = 0.0
                for i in range(n_factors):
                    f = n_factors - 1 - i if sweep % 2 else i
                    _multiply(graph, f, tables[row], belief, messages, products)
                    moved = _update(graph, f, products, maximise, belief, messages, top, total)
                    change = max(change, moved)
                if change <= tolerance:
                    break
            _sum_messages(graph, likelihood[row, j], messages, belief)
            changes[row, j] = change
            log_z[row, j] = _bethe(graph, tables[row], belief, messages, products)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_messages(graph, likelihood, messages, belief):
    """The log beliefs of all variables; sums are made anew, so that rounding does not add up."""
    belief[:] = likelihood
    for edge in range(graph.edge_variable.size):
        v, at = graph.edge_variable[edge], graph.message_start[edge]
        for s in range(graph.cards[v]):
            belief[graph.state_start[v] + s] += messages[at + s]


@njit(cache=True, nogil=True, error_model="numpy")
def _multiply(graph, f, table, belief, messages, products):
    """The table of a factor times what its variables know from elsewhere."""
    first, n = graph.table_start[f], graph.table_start[f + 1] - graph.table_start[f]
    for e in range(n):
        product = table[first + e]
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            v = graph.edge_variable[edge]
            s = (e // graph.edge_stride[edge]) % graph.cards[v]
            product += belief[graph.state_start[v] + s] - messages[graph.message_start[edge] + s]
        products[e] = product


@njit(cache=True, nogil=True, error_model="numpy")
def _update(graph, f, products, maximise, belief, messages, top, total):
    """Send new messages, the largest number of each 1; the largest change, of numbers and not of their logs."""
    first, n = graph.edge_start[f], graph.table_start[f + 1] - graph.table_start[f]
    change = 0.0
    for edge in range(first, graph.edge_start[f + 1]):
        v, axis = graph.edge_variable[edge], edge - first
        card, stride = graph.cards[v], graph.edge_stride[edge]
        best, sums = top[axis], total[axis]
        for s in range(card):
            best[s], sums[s] = -np.inf, 0.0
        for e in range(n):
            s = (e // stride) % card
            best[s] = max(best[s], products[e])
        if not maximise:
            for e in range(n):
                s = (e // stride) % card
                sums[s] += np.exp(products[e] - best[s])
        largest = -np.inf
        at, start = graph.message_start[edge], graph.state_start[v]
        for s in range(card):
            known = belief[start + s] - messages[at + s]
            best[s] += (0.0 if maximise else np.log(sums[s])) - known
            largest = max(largest, best[s])
        for s in range(card):
            new = max(best[s] - largest, IMPOSSIBLE)
            change = max(change, abs(np.exp(new) - np.exp(messages[at + s])))
            sums[s] = new
    # Only now, as the products were made with the old messages to all variables.
    for edge in range(first, graph.edge_start[f + 1]):
        v, at = graph.edge_variable[edge], graph.message_start[edge]
        for s in range(graph.cards[v]):
            new = total[edge - first, s]
            belief[graph.state_start[v] + s] += new - messages[at + s]
            messages[at + s] = new
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def _bethe(graph, table, belief, messages, products):
    """The sum of log Z_f over factors and of (1 - degree) log Z_v over variables; the beliefs become probabilities."""
    log_z = 0.0
    for f in range(graph.edge_start.size - 1):
        _multiply(graph, f, table, belief, messages, products)
        log_z += _log_sum(products[: graph.table_start[f + 1] - graph.table_start[f]])
    for v in range(graph.cards.size):
        mine = belief[graph.state_start[v] : graph.state_start[v] + graph.cards[v]]
        of_variable = _log_sum(mine)
        if of_variable < IMPOSSIBLE / 2:
            return -np.inf
        log_z += (1 - (graph.near_start[v + 1] - graph.near_start[v])) * of_variable
        for s in range(graph.cards[v]):
            mine[s] = mine[s] - of_variable if mine[s] - of_variable > IMPOSSIBLE / 2 else -np.inf
    return log_z if log_z > IMPOSSIBLE / 2 else -np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def _log_sum(logs):
    best = -np.inf
    for x in logs:
        best = max(best, x)
    total = 0.0
    for x in logs:
        total += np.exp(x - best)
    return best + np.log(total)
