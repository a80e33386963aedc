# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
"""Numba kernels of loopy belief propagation. Arrays are trusted: callers have checked them.

An edge joins a factor and one of its variables; the edges of a factor lie side by side, in the order of its axes. A
message has one number per state of its edge's variable. ``to_variable`` holds the messages of the factors,
``to_factor`` those of the variables, both at the places of ``message_start``.

Messages are logs, so that neither thousands of factors at one variable nor a table whose entries differ by more than a
plain number can hold make anything underflow. Inside a factor sums are of plain numbers wherever their range allows it:
two multiplications per entry, where a sum of logs takes several exponentials.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk._kernels import njit

#: The log of a product of a table's lowest entry and the lowest messages above which plain numbers do not underflow.
SAFE = -600.0
#: Numbers below this change unseen beside those near one.
TINY = 1e-12
#: Schedules, by their places in ``loopy.SCHEDULES``.
RESIDUAL, FLOODING = 0, 1

part = njit(nogil=True, no_cpython_wrapper=True, error_model="numpy")


class Graph(NamedTuple):
    """A factor graph as flat arrays."""

    cards: np.ndarray  # states of each variable
    state_start: np.ndarray  # where each variable begins in an array with one entry per state
    edge_start: np.ndarray  # the edges of factor f are edge_start[f]:edge_start[f + 1]
    edge_variable: np.ndarray
    edge_factor: np.ndarray
    edge_stride: np.ndarray  # of the variable in the factor's table
    message_start: np.ndarray
    near_start: np.ndarray  # the edges of variable v are near[near_start[v]:near_start[v + 1]]
    near: np.ndarray
    table_start: np.ndarray


class Tables(NamedTuple):
    """The tables of all factors, one line for all rows or one per row."""

    logs: np.ndarray  # largest entry of each table 0
    plain: np.ndarray
    low: np.ndarray  # the lowest log of each table that is not that of zero


class Room(NamedTuple):
    """What one run leaves behind, and the room that it works in."""

    to_variable: np.ndarray  # logs of numbers that sum to one
    value: np.ndarray  # these numbers
    to_factor: np.ndarray  # logs, the largest 0
    weight: np.ndarray  # their numbers, for one factor
    belief: np.ndarray  # one log per state
    log_sum: np.ndarray  # of each variable, before its beliefs were made to sum to one
    observed: np.ndarray  # the state of variables with a single possible one, else -1
    new: np.ndarray  # log messages of one factor, one row per axis
    new_value: np.ndarray  # their numbers, which sum to one
    prefix: np.ndarray  # products over the outer axes of a factor, or sums over messages to a variable
    position: np.ndarray  # a place in the outer axes of a factor


def room_for(graph: Graph) -> Room:
    """Fresh arrays for one thread."""
    n_messages, n_axes = int(graph.message_start[-1]), int(np.diff(graph.edge_start).max(initial=0))
    degree, most_states = int(np.diff(graph.near_start).max(initial=0)), int(graph.cards.max(initial=2))
    to_variable, value, to_factor, weight = np.empty((4, n_messages))
    new, new_value = np.empty((2, n_axes, most_states))
    return Room(
        to_variable, value, to_factor, weight, np.empty(int(graph.cards.sum())), np.empty(graph.cards.size),
        np.empty(graph.cards.size, np.int64), new, new_value, np.empty((max(n_axes, degree) + 1, most_states)),
        np.empty(n_axes, np.int64),
    )  # fmt: skip


@part
def _shift(logs, begin, end):
    """Make the largest log 0; what it was."""
    top = -np.inf
    for i in range(begin, end):
        top = max(top, logs[i])
    if top > -np.inf:
        for i in range(begin, end):
            logs[i] -= top
    return top


@part
def _normalise(logs, begin, end):
    """Make numbers sum to one; the log of the sum that they had."""
    top, total = -np.inf, 0.0
    for i in range(begin, end):
        top = max(top, logs[i])
    if top > -np.inf:
        for i in range(begin, end):
            total += np.exp(logs[i] - top)
        top += np.log(total)
        for i in range(begin, end):
            logs[i] -= top
    return top


@part
def _send_to_factor(graph, edge, likelihood, b):
    """The message of a variable to one factor: its likelihood times the messages of all other factors.

    Returns the log of its scale.

    Not the belief divided by the factor's own message: that quotient would depend on it, if only by rounding.
    """
    v = graph.edge_variable[edge]
    card, at, first = graph.cards[v], graph.message_start[edge], graph.state_start[v]
    for s in range(card):
        b.to_factor[at + s] = likelihood[first + s]
    for i in range(graph.near_start[v], graph.near_start[v + 1]):
        if graph.near[i] != edge:
            start = graph.message_start[graph.near[i]]
            for s in range(card):
                b.to_factor[at + s] += b.to_variable[start + s]
    return _shift(b.to_factor, at, at + card)


@part
def _believe(graph, v, likelihood, b):
    """b.belief of a variable: its likelihood times what all its factors say."""
    first, card = graph.state_start[v], graph.cards[v]
    for s in range(card):
        b.belief[first + s] = likelihood[first + s]
    for i in range(graph.near_start[v], graph.near_start[v + 1]):
        start = graph.message_start[graph.near[i]]
        for s in range(card):
            b.belief[first + s] += b.to_variable[start + s]


@part
def _send_from_belief(graph, edge, likelihood, log_scale, b):
    """As :func:`_send_to_factor`, by taking what the factor says from the belief: quick however many factors there are.

    ``log_scale`` is the log of what the belief was divided by. Where the factor says that a state is impossible,
    nothing can be taken away, and the sum is made anew.
    """
    v = graph.edge_variable[edge]
    card, at, first = graph.cards[v], graph.message_start[edge], graph.state_start[v]
    for s in range(card):
        said = b.to_variable[at + s]
        if said > -np.inf:
            b.to_factor[at + s] = b.belief[first + s] - said
        else:
            b.to_factor[at + s] = likelihood[first + s] - log_scale
            for i in range(graph.near_start[v], graph.near_start[v + 1]):
                if graph.near[i] != edge:
                    b.to_factor[at + s] += b.to_variable[graph.message_start[graph.near[i]] + s]
    return _shift(b.to_factor, at, at + card)


@part
def _send_to_all_factors(graph, v, likelihood, b):
    """The messages of a variable to all its factors, by sums of those before and after each. Whether none is zero."""
    card, first = graph.cards[v], graph.state_start[v]
    begin, degree = graph.near_start[v], graph.near_start[v + 1] - graph.near_start[v]
    for s in range(card):
        b.prefix[0, s] = likelihood[first + s]
        b.belief[first + s] = 0.0  # for now: the sum of the messages after the present one
    for i in range(degree):
        start = graph.message_start[graph.near[begin + i]]
        for s in range(card):
            b.prefix[i + 1, s] = b.prefix[i, s] + b.to_variable[start + s]
    possible = True
    for i in range(degree - 1, -1, -1):
        start = graph.message_start[graph.near[begin + i]]
        for s in range(card):
            b.to_factor[start + s] = b.prefix[i, s] + b.belief[first + s]
            b.belief[first + s] += b.to_variable[start + s]
        possible = _shift(b.to_factor, start, start + card) > -np.inf and possible
    return possible


@part
def _factor_messages(graph, f, tables, row, maximise, b):
    """b.new[a] = the log message of a factor to its axis a, from those in b.to_factor; the log of the first's scale."""
    lowest = tables.low[row, f]
    for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
        least = 0.0
        for i in range(graph.message_start[edge], graph.message_start[edge + 1]):
            b.weight[i] = np.exp(b.to_factor[i]) if b.to_factor[i] < 0.0 else 1.0
            if b.to_factor[i] > -np.inf:
                least = min(least, b.to_factor[i])
        lowest += least
    if lowest > SAFE:
        return np.log(_messages_by_numbers(graph, f, tables.plain, row, maximise, b))
    return _messages_by_logs(graph, f, tables.logs, row, maximise, b)


@part
def _messages_by_numbers(graph, f, table, row, maximise, b):
    """The loop over the innermost axis does two multiplications per entry, whatever the number of axes; the outer axes
    are an odometer whose products are kept. Observed variables have one place only.
    """
    first = graph.edge_start[f]
    n_axes = graph.edge_start[f + 1] - first
    inner_edge = first + n_axes - 1
    inner_variable = graph.edge_variable[inner_edge]
    low, high = 0, graph.cards[inner_variable]
    if b.observed[inner_variable] >= 0:
        low = b.observed[inner_variable]
        high = low + 1
    inner_message, n_outer, base = graph.message_start[inner_edge], n_axes - 1, graph.table_start[f]
    for a in range(n_axes):
        v = graph.edge_variable[first + a]
        b.position[a] = max(b.observed[v], 0)
        base += b.position[a] * graph.edge_stride[first + a]
        for s in range(graph.cards[v]):
            b.new_value[a, s] = 0.0
    base -= b.position[n_outer] * graph.edge_stride[inner_edge]
    b.prefix[0, 0] = 1.0
    changed = 0
    while changed >= 0:
        for a in range(changed, n_outer):
            b.prefix[a + 1, 0] = b.prefix[a, 0] * b.weight[graph.message_start[first + a] + b.position[a]]
        weight, inner = b.prefix[n_outer, 0], 0.0
        for s in range(low, high):
            entry = table[row, base + s]
            here, there = entry * b.weight[inner_message + s], entry * weight
            inner = max(inner, here) if maximise else inner + here
            b.new_value[n_outer, s] = (
                max(b.new_value[n_outer, s], there) if maximise else b.new_value[n_outer, s] + there
            )
        if inner > 0.0:
            for a in range(n_outer - 1, -1, -1):  # inner gathers the product of the axes behind a
                here, s = inner * b.prefix[a, 0], b.position[a]
                b.new_value[a, s] = max(b.new_value[a, s], here) if maximise else b.new_value[a, s] + here
                inner *= b.weight[graph.message_start[first + a] + s]
        changed = n_outer - 1
        while changed >= 0:
            v = graph.edge_variable[first + changed]
            if b.observed[v] < 0:
                b.position[changed] += 1
                base += graph.edge_stride[first + changed]
                if b.position[changed] < graph.cards[v]:
                    break
                base -= graph.cards[v] * graph.edge_stride[first + changed]
                b.position[changed] = 0
            changed -= 1
    scale = 0.0
    for a in range(n_axes - 1, -1, -1):
        card = graph.cards[graph.edge_variable[first + a]]
        scale = 0.0
        for s in range(card):
            scale += b.new_value[a, s]
        for s in range(card):
            b.new_value[a, s] /= scale if scale > 0.0 else 1.0
            b.new[a, s] = np.log(b.new_value[a, s])
    return scale


@part
def _messages_by_logs(graph, f, table, row, maximise, b):
    """The same where plain numbers would underflow: the log of each sum is kept up with its largest term."""
    first, n_axes = graph.edge_start[f], graph.edge_start[f + 1] - graph.edge_start[f]
    b.new[:n_axes], b.new_value[:n_axes] = -np.inf, 0.0
    for e in range(graph.table_start[f + 1] - graph.table_start[f]):
        for a in range(n_axes):
            v = graph.edge_variable[first + a]
            s = (e // graph.edge_stride[first + a]) % graph.cards[v]
            if b.observed[v] >= 0 and b.observed[v] != s:
                continue
            term = table[row, graph.table_start[f] + e]
            for edge in range(first, first + n_axes):
                if edge != first + a:
                    state = (e // graph.edge_stride[edge]) % graph.cards[graph.edge_variable[edge]]
                    term += b.to_factor[graph.message_start[edge] + state]
            if term > b.new[a, s]:
                b.new_value[a, s] = 1.0 + b.new_value[a, s] * np.exp(b.new[a, s] - term)
                b.new[a, s] = term
            elif term > -np.inf:
                b.new_value[a, s] += np.exp(term - b.new[a, s])
    scale = -np.inf
    for a in range(n_axes - 1, -1, -1):
        card = graph.cards[graph.edge_variable[first + a]]
        # State by state: to write an array into another, numba would compile its error messages.
        if not maximise:
            for s in range(card):
                b.new[a, s] += np.log(b.new_value[a, s])
        scale = _normalise(b.new[a], 0, card)
        for s in range(card):
            b.new_value[a, s] = np.exp(b.new[a, s])
    return scale


@part
def _damp(graph, f, damping, b):
    """Mix the new messages of a factor with those before; a state that has become impossible stays so.

    Not a part of :func:`_commit`: there, references to all arrays would be counted for each message.
    """
    for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
        at, card = graph.message_start[edge], graph.cards[graph.edge_variable[edge]]
        new, new_value = b.new[edge - graph.edge_start[f]], b.new_value[edge - graph.edge_start[f]]
        for s in range(card):
            if new[s] > -np.inf:
                mixed = (1.0 - damping) * new_value[s] + damping * b.value[at + s]
                new[s] = max(np.log(mixed), new[s] + np.log(1.0 - damping))
        _normalise(new, 0, card)
        for s in range(card):
            new_value[s] = np.exp(new[s])


@part
def _commit(graph, edge, axis, b):
    """Take over a factor's message; the largest change of its numbers, or -1 when all are zero.

    Of a number that is too small to be seen changing the log counts, as another factor may outweigh it.
    """
    card, at = graph.cards[graph.edge_variable[edge]], graph.message_start[edge]
    change, possible = 0.0, False
    for s in range(card):
        possible = possible or b.new[axis, s] > -np.inf
        change = max(change, abs(b.new_value[axis, s] - b.value[at + s]))
        if b.value[at + s] < TINY and b.to_variable[at + s] > -np.inf:
            change = max(change, min(1.0, abs(b.new[axis, s] - b.to_variable[at + s])))
        b.to_variable[at + s], b.value[at + s] = b.new[axis, s], b.new_value[axis, s]
    return change if possible else -1.0


@part
def _in_turn(graph, tables, row, likelihood, maximise, flooding, damping, max_iter, tolerance, b):
    """All factors in every round; the number of rounds and the largest change in the last, -1: impossible.

    Flooding, all messages to factors are sent first; otherwise those to one factor at a time, forwards and backwards.
    """
    n, change, possible = graph.edge_start.size - 1, 0.0, True
    for iteration in range(max_iter):
        for v in range(graph.cards.size):
            if flooding:
                possible = _send_to_all_factors(graph, v, likelihood, b) and possible
            else:  # made anew in every round, so that rounding does not add up
                _believe(graph, v, likelihood, b)
        change = 0.0
        for i in range(n):
            f = i if flooding or iteration % 2 == 0 else n - 1 - i
            if not flooding:
                for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
                    v = graph.edge_variable[edge]
                    b.log_sum[v] = _send_from_belief(graph, edge, likelihood, 0.0, b)
                    possible = b.log_sum[v] > -np.inf and possible
            if not possible:
                return iteration + 1, -1.0
            _factor_messages(graph, f, tables, row, maximise, b)
            if damping > 0.0:
                _damp(graph, f, damping, b)
            for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
                moved = _commit(graph, edge, edge - graph.edge_start[f], b)
                possible = moved >= 0.0 and possible
                change = max(change, moved)
                if not flooding:
                    v, at = graph.edge_variable[edge], graph.message_start[edge]
                    for s in range(graph.cards[v]):
                        known = b.to_factor[at + s] + b.log_sum[v]
                        b.belief[graph.state_start[v] + s] = known + b.to_variable[at + s]
        if not possible:
            return iteration + 1, -1.0
        if change <= tolerance:
            return iteration + 1, change
    return max_iter, change


# ---- residual schedule: a heap of factors ----------------------------------------------------------------------------


@part
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


@part
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


@part
def _by_residual(graph, tables, row, likelihood, maximise, damping, max_iter, tolerance, b):
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
            if _send_to_factor(graph, edge, likelihood, b) == -np.inf:
                return 1 + update // n, -1.0
        _factor_messages(graph, f, tables, row, maximise, b)
        if damping > 0.0:
            _damp(graph, f, damping, b)
        still = 0.0  # what damping has held back
        for edge in range(graph.edge_start[f], graph.edge_start[f + 1]):
            moved = _commit(graph, edge, edge - graph.edge_start[f], b)
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


@part
def _begin(graph, likelihood, afresh, b):
    """Uniform messages, or those of the run before where they leave all states possible; observed states."""
    for edge in range(graph.edge_variable.size):
        begin, end = graph.message_start[edge], graph.message_start[edge + 1]
        again = afresh
        for i in range(begin, end):
            again = again or b.to_variable[i] == -np.inf
        if again:
            b.value[begin:end] = 1.0 / (end - begin)
            b.to_variable[begin:end] = -np.log(end - begin)
    for v in range(graph.cards.size):
        n_possible, first = 0, graph.state_start[v]
        for s in range(graph.cards[v]):
            if likelihood[first + s] > -np.inf:
                n_possible += 1
                b.observed[v] = s
        if n_possible != 1:
            b.observed[v] = -1


@part
def _bethe(graph, tables, row, likelihood, b):
    """Fill b.belief; the Bethe estimate of log Z: the sum of log Z_f less that of log Z_v for all its edges but one.

    Z_v is taken from each log Z_f edge by edge, as the sums alone may be too large to subtract. The messages of
    variables count with their scales, those of factors are in both and may have any.
    """
    log_z = 0.0
    for v in range(graph.cards.size):
        _believe(graph, v, likelihood, b)
        b.log_sum[v] = _normalise(b.belief, graph.state_start[v], graph.state_start[v] + graph.cards[v])
        log_z += b.log_sum[v]
    for f in range(graph.edge_start.size - 1):
        first = graph.edge_start[f]
        for edge in range(first, graph.edge_start[f + 1]):
            log_z += _send_from_belief(graph, edge, likelihood, b.log_sum[graph.edge_variable[edge]], b)
        summing = np.bool_(False)  # no constant, for which what is called would be compiled once more
        log_z += _factor_messages(graph, f, tables, row, summing, b)
        for s in range(graph.cards[graph.edge_variable[first]]):  # the sum over the first axis closes that over all
            b.new[0, s] += b.to_factor[graph.message_start[first] + s]
        log_z += _normalise(b.new[0], 0, graph.cards[graph.edge_variable[first]])
    return log_z


def _steps(graph, tables, likelihood, *rest):
    """About how many microseconds Python takes for ten rounds."""
    return 30 * likelihood.shape[0] * likelihood.shape[1] * int(2 * graph.table_start[-1] + 8 * graph.message_start[-1])


@njit(cache=True, nogil=True, error_model="numpy", steps=_steps)
def run(
    graph, tables, likelihood, maximise, schedule, damping, max_iter, tolerance, b, beliefs, rounds, changes, log_z
):
    """Propagate once for each row and component of ``likelihood`` (rows, components, states), which are logs.

    Log beliefs, the number of rounds, the largest change and the Bethe log Z of each are filled in. Impossible evidence
    gives beliefs and a log Z of -inf, and the change -1. Components of a row differ little, so that each run but the
    first begins with the messages of the one before. One entry point serves one evidence set and many, as each would be
    compiled for itself.
    """
    for row in range(likelihood.shape[0]):
        line = min(row, tables.logs.shape[0] - 1)
        for j in range(likelihood.shape[1]):
            given = likelihood[row, j]
            _begin(graph, given, j == 0, b)
            if schedule == RESIDUAL:
                count, change = _by_residual(graph, tables, line, given, maximise, damping, max_iter, tolerance, b)
            else:
                flooding = schedule == FLOODING
                count, change = _in_turn(
                    graph, tables, line, given, maximise, flooding, damping, max_iter, tolerance, b
                )
            total = -np.inf
            if change >= 0.0:
                total = _bethe(graph, tables, line, given, b)  # finds variables without a possible state, too
            if total == -np.inf or np.isnan(total):
                change, total = -1.0, -np.inf
                b.belief[:] = -np.inf
            rounds[row, j], changes[row, j], log_z[row, j] = count, change, total
            for i in range(b.belief.size):
                beliefs[row, j, i] = b.belief[i]
