# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
"""Numba kernels of loopy belief propagation. Arrays are trusted: callers have checked them.

An edge joins a factor and one of its variables; the edges of a factor lie side by side, in the order of its axes. A
message has one number for each state of its edge's variable. ``to_variable`` holds the messages of the factors,
``to_factor`` those of the variables, both at the places of ``message_start``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

#: Positive products of messages are kept above this. A state that oscillating messages make ever less likely would
#: otherwise underflow to zero, which means impossible; and four such messages can be multiplied without underflow.
TINY = 1e-75


class Graph(NamedTuple):
    """A factor graph as flat arrays."""

    cards: np.ndarray  # states of each variable
    state_start: np.ndarray  # where each variable begins in an array with one entry a state
    edge_start: np.ndarray  # the edges of factor f are edge_start[f]:edge_start[f + 1]
    edge_variable: np.ndarray
    edge_factor: np.ndarray
    edge_stride: np.ndarray  # of the variable in the factor's table
    message_start: np.ndarray
    near_start: np.ndarray  # the edges of variable v are near[near_start[v]:near_start[v + 1]]
    near: np.ndarray
    table_start: np.ndarray
    tables: np.ndarray  # largest entry of each table 1


class Beliefs(NamedTuple):
    """What one run leaves behind, and the room that it works in."""

    to_variable: np.ndarray
    to_factor: np.ndarray
    belief: np.ndarray  # one entry a state, normalised
    new: np.ndarray  # messages of one factor, one row an axis
    prefix: np.ndarray  # products over the outer axes of a factor, or over messages to a variable
    position: np.ndarray  # a place in the outer axes of a factor


def beliefs_for(graph: Graph) -> Beliefs:
    """Fresh arrays for one thread."""
    n_messages = int(graph.message_start[-1])
    n_axes = int(np.diff(graph.edge_start).max(initial=0))
    degree = int(np.diff(graph.near_start).max(initial=0))
    most_states = int(graph.cards.max(initial=1))
    return Beliefs(
        np.empty(n_messages),
        np.empty(n_messages),
        np.empty(int(graph.cards.sum())),
        np.empty((n_axes, most_states)),
        np.empty((max(n_axes, degree) + 1, max(most_states, 2))),
        np.empty(n_axes, np.int64),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _normalise(values, begin, end):
    """Make the values sum to one; the sum that they had."""
    total = 0.0
    for i in range(begin, end):
        total += values[i]
    if total > 0.0:
        for i in range(begin, end):
            if values[i] > 0.0:
                values[i] = max(values[i] / total, TINY)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _send_to_factor(graph, edge, likelihood, b):
    """The message of a variable to one factor: its likelihood times what all other factors say."""
    v = graph.edge_variable[edge]
    card, at, first = graph.cards[v], graph.message_start[edge], graph.state_start[v]
    for s in range(card):
        b.to_factor[at + s] = likelihood[first + s]
    for other in graph.near[graph.near_start[v] : graph.near_start[v + 1]]:
        if other != edge:
            start = graph.message_start[other]
            for s in range(card):
                b.to_factor[at + s] *= b.to_variable[start + s]
            _normalise(b.to_factor, at, at + card)
    return _normalise(b.to_factor, at, at + card)


@njit(cache=True, nogil=True, error_model="numpy")
def _send_to_all_factors(graph, v, likelihood, b):
    """The messages of a variable to all its factors, by products of those before and those after each.

    False when one of them is zero.
    """
    card, first = graph.cards[v], graph.state_start[v]
    begin, degree = graph.near_start[v], graph.near_start[v + 1] - graph.near_start[v]
    for s in range(card):
        b.prefix[0, s] = likelihood[first + s]
    for i in range(degree):
        start = graph.message_start[graph.near[begin + i]]
        for s in range(card):
            b.prefix[i + 1, s] = b.prefix[i, s] * b.to_variable[start + s]
        _normalise(b.prefix[i + 1], 0, card)
    possible = True
    for s in range(card):
        b.belief[first + s] = 1.0  # for now: the product of the messages after the present one
    for i in range(degree - 1, -1, -1):
        start = graph.message_start[graph.near[begin + i]]
        for s in range(card):
            b.to_factor[start + s] = b.prefix[i, s] * b.belief[first + s]
            b.belief[first + s] *= b.to_variable[start + s]
        _normalise(b.belief, first, first + card)
        if _normalise(b.to_factor, start, start + card) == 0.0:
            possible = False
    return possible


@njit(cache=True, nogil=True, error_model="numpy")
def _factor_messages(graph, f, observed, maximise, b):
    """b.new[a] = the message of a factor to its axis a, from those in b.to_factor; returns their common total.

    The loop over the innermost axis does two multiplications an entry, whatever the number of axes; the outer axes
    are an odometer whose products are kept. Observed variables have one place only.
    """
    first = graph.edge_start[f]
    n_axes = graph.edge_start[f + 1] - first
    inner_edge = first + n_axes - 1
    inner_variable = graph.edge_variable[inner_edge]
    low, high = 0, graph.cards[inner_variable]
    if observed[inner_variable] >= 0:
        low = observed[inner_variable]
        high = low + 1
    inner_message, n_outer, base = graph.message_start[inner_edge], n_axes - 1, graph.table_start[f]
    for a in range(n_axes):
        v = graph.edge_variable[first + a]
        b.position[a] = max(observed[v], 0)
        base += b.position[a] * graph.edge_stride[first + a]
        for s in range(graph.cards[v]):
            b.new[a, s] = 0.0
    base -= b.position[n_outer] * graph.edge_stride[inner_edge]
    b.prefix[0, 0] = 1.0
    whole, changed = 0.0, 0
    while changed >= 0:
        for a in range(changed, n_outer):
            b.prefix[a + 1, 0] = b.prefix[a, 0] * b.to_factor[graph.message_start[first + a] + b.position[a]]
        weight, inner = b.prefix[n_outer, 0], 0.0
        if maximise:
            for s in range(low, high):
                entry = graph.tables[base + s]
                inner = max(inner, entry * b.to_factor[inner_message + s])
                b.new[n_outer, s] = max(b.new[n_outer, s], entry * weight)
            whole = max(whole, weight * inner)
        else:
            for s in range(low, high):
                entry = graph.tables[base + s]
                inner += entry * b.to_factor[inner_message + s]
                b.new[n_outer, s] += entry * weight
            whole += weight * inner
        if inner > 0.0:
            for a in range(n_outer - 1, -1, -1):  # inner gathers the product of the axes behind a
                here, s = inner * b.prefix[a, 0], b.position[a]
                b.new[a, s] = max(b.new[a, s], here) if maximise else b.new[a, s] + here
                inner *= b.to_factor[graph.message_start[first + a] + s]
        changed = n_outer - 1
        while changed >= 0:
            v = graph.edge_variable[first + changed]
            if observed[v] < 0:
                b.position[changed] += 1
                base += graph.edge_stride[first + changed]
                if b.position[changed] < graph.cards[v]:
                    break
                base -= graph.cards[v] * graph.edge_stride[first + changed]
                b.position[changed] = 0
            changed -= 1
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def _commit(graph, edge, new, damping, b):
    """Take over a factor's message, damped; the largest change, or -1 when the message is zero.

    A state that has become impossible stays so, whatever the damping.
    """
    v = graph.edge_variable[edge]
    card, at = graph.cards[v], graph.message_start[edge]
    if _normalise(new, 0, card) == 0.0:
        return -1.0
    change = 0.0
    total = 0.0
    for s in range(card):
        if damping > 0.0 and new[s] > 0.0:
            new[s] += damping * (b.to_variable[at + s] - new[s])
        total += new[s]
    for s in range(card):
        value = max(new[s] / total, TINY) if new[s] > 0.0 else 0.0
        change = max(change, abs(value - b.to_variable[at + s]))
        b.to_variable[at + s] = value
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def _flood(graph, likelihood, observed, maximise, damping, max_iter, tolerance, b):
    """All messages in every round; the number of rounds and the largest change in the last, -1: impossible."""
    change = 0.0
    for iteration in range(max_iter):
        for v in range(graph.cards.size):
            if not _send_to_all_factors(graph, v, likelihood, b):
                return iteration + 1, -1.0
        change = 0.0
        for f in range(graph.edge_start.size - 1):
            _factor_messages(graph, f, observed, maximise, b)
            for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
                moved = _commit(graph, edge, b.new[edge - graph.edge_start[f]], damping, b)
                if moved < 0.0:
                    return iteration + 1, -1.0
                change = max(change, moved)
        if change <= tolerance:
            return iteration + 1, change
    return max_iter, change


# ---- residual schedule: a heap of factors ----------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _sift_up(heap, place, priority, i):
    item = heap[i]
    while i > 0:
        above = (i - 1) // 2
        if priority[heap[above]] >= priority[item]:
            break
        heap[i] = heap[above]
        place[heap[i]] = i
        i = above
    heap[i] = item
    place[item] = i


@njit(cache=True, nogil=True, error_model="numpy")
def _sift_down(heap, place, priority, i):
    item, n = heap[i], heap.size
    while 2 * i + 1 < n:
        below = 2 * i + 1
        if below + 1 < n and priority[heap[below + 1]] > priority[heap[below]]:
            below += 1
        if priority[heap[below]] <= priority[item]:
            break
        heap[i] = heap[below]
        place[heap[i]] = i
        i = below
    heap[i] = item
    place[item] = i


@njit(cache=True, nogil=True, error_model="numpy")
def _by_residual(graph, likelihood, observed, maximise, damping, max_iter, tolerance, b):
    """The factor whose messages are most out of date first; the number of rounds (as many updates as factors), and the
    largest residual left, -1: impossible.

    A factor's priority is the sum of the changes of the messages that reached its variables since it was last updated,
    which bounds how much its own messages can change without computing them (Sutton and McCallum 2007).
    """
    n = graph.edge_start.size - 1
    heap, place = np.arange(n), np.arange(n)
    priority = np.full(n, 1e300)  # each is updated once, in order, before any second update
    for update in range(max_iter * n):
        f = heap[0]
        if priority[f] <= tolerance:
            return 1 + update // n, priority[f]
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            if _send_to_factor(graph, edge, likelihood, b) == 0.0:
                return 1 + update // n, -1.0
        _factor_messages(graph, f, observed, maximise, b)
        still = 0.0  # what damping has held back
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            moved = _commit(graph, edge, b.new[edge - graph.edge_start[f]], damping, b)
            if moved < 0.0:
                return 1 + update // n, -1.0
            still = max(still, moved * damping / (1.0 - damping))
            v = graph.edge_variable[edge]
            for other in graph.near[graph.near_start[v] : graph.near_start[v + 1]]:
                g = graph.edge_factor[other]
                if g != f and moved > 0.0:
                    priority[g] += moved
                    _sift_up(heap, place, priority, place[g])
        priority[f] = still
        _sift_down(heap, place, priority, place[f])
    return max_iter, priority[heap[0]] if n else 0.0


# ---- one run, many rows ----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _variable_beliefs(graph, likelihood, b):
    """Fill b.belief; the sum over variables of log Z_v, and -inf when a variable has no possible state."""
    log_sum = 0.0
    for v in range(graph.cards.size):
        first, end = graph.state_start[v], graph.state_start[v] + graph.cards[v]
        b.belief[first:end] = likelihood[first:end]
        for edge in graph.near[graph.near_start[v] : graph.near_start[v + 1]]:
            for s in range(graph.cards[v]):
                b.belief[first + s] *= b.to_variable[graph.message_start[edge] + s]
            log_sum += np.log(_normalise(b.belief, first, end))
        if graph.near_start[v] == graph.near_start[v + 1]:
            log_sum += np.log(_normalise(b.belief, first, end))
    return log_sum


@njit(cache=True, nogil=True, error_model="numpy")
def _bethe(graph, likelihood, observed, b):
    """The Bethe estimate of log Z: the sum of log Z_f and log Z_v less that of log Z_e over the edges.

    Each message occurs once in a Z that is added and once in one that is subtracted, so their scale does not matter.
    """
    log_z = _variable_beliefs(graph, likelihood, b)
    for f in range(graph.edge_start.size - 1):
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            _send_to_factor(graph, edge, likelihood, b)
        log_z += np.log(_factor_messages(graph, f, observed, False, b))
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            at, total = graph.message_start[edge], 0.0
            for s in range(graph.cards[graph.edge_variable[edge]]):
                total += b.to_variable[at + s] * b.to_factor[at + s]
            log_z -= np.log(total)
    return log_z


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    graph, likelihood, observed, maximise, residual, damping, max_iter, tolerance, b, beliefs, rounds, changes, log_z
):  # fmt: skip
    """Propagate from uniform messages, once for each row of ``likelihood`` (one number a state) and ``observed``.

    Rows of ``beliefs``, the number of rounds, the largest change and the Bethe log Z of each are filled in. Impossible
    evidence gives beliefs of NaN, the change -1 and -inf. One entry point serves one evidence set and many, as each
    would be compiled for itself.
    """
    for row in range(observed.shape[0]):
        given, known = likelihood[row], observed[row]
        for edge in range(graph.edge_variable.size):
            card = graph.cards[graph.edge_variable[edge]]
            for s in range(card):
                b.to_variable[graph.message_start[edge] + s] = 1.0 / card
        if residual:
            count, change = _by_residual(graph, given, known, maximise, damping, max_iter, tolerance, b)
        else:
            count, change = _flood(graph, given, known, maximise, damping, max_iter, tolerance, b)
        total = -np.inf
        if change >= 0.0:
            total = _bethe(graph, given, known, b)  # fills in the beliefs, and finds variables without a possible state
        if total == -np.inf or np.isnan(total):
            change, total = -1.0, -np.inf
            b.belief[:] = np.nan
        rounds[row], changes[row], log_z[row] = count, change, total
        beliefs[row] = b.belief
