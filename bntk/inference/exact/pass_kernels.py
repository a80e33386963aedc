"""Kernels of whole passes over a junction tree, made of the visits of :mod:`bntk.inference.exact.program_kernels`.

All arrays are trusted. ``data`` is one buffer with all tables.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from bntk.inference.exact.program_kernels import FAST, INNER, room_for, scratch_for, visit

INWARD, OUTWARD, SINGLE = 0, 1, 2


@njit(cache=True, nogil=True)
def rescale(data, at, size):
    """Divide a message by its largest entry, and return that; 0 when there is none."""
    top = 0.0
    for i in range(at, at + size):
        top = max(top, data[i])
    if top > 0.0 and top != 1.0:
        factor = 1.0 / top
        for i in range(at, at + size):
            data[i] *= factor
    return top


@njit(fastmath=FAST, **INNER)
def send_down(data, up, down, size):
    """Turn the belief over a separator into the message down: normalise, and divide by the message up, 0 / 0 = 0."""
    total = 0.0
    for i in range(size):
        total += data[down + i]
    factor = 1.0 / total
    sent, belief = data[up : up + size], data[down : down + size]
    for i in range(size):
        belief[i] *= factor / (sent[i] if sent[i] > 0.0 else 1.0)


@njit(cache=True, nogil=True)
def finish_down(data, messages, k):
    """The messages down to the children of clique k, from the beliefs over their separators."""
    for i in range(messages.child_start[k], messages.child_start[k + 1]):
        child = messages.children[i]
        send_down(data, messages.up[child], messages.down[child], messages.sizes[child])


@njit(cache=True, nogil=True)
def run_pass(data, chosen, visits, messages, span, state, room, shifts, scales, maximise):
    """Visit the cliques end - 1 down to begin of the span in its phase ``INWARD``, or begin to end - 1 in the others.

    Inwards, what each sends is rescaled; returns False as soon as the evidence turns out to be impossible. ``OUTWARD``
    makes the messages down. ``SINGLE`` visits cliques without sending messages: what they write is left as it is, and
    may be written elsewhere (``shifts``).
    """
    begin, end, phase = span
    cards, observed, soft = state
    w = scratch_for(visits, cards)
    for step in range(end - begin):
        k = end - 1 - step if phase == INWARD else begin + step
        visit(data, chosen, visits, k, cards, observed, soft, room[0], room[1], shifts, w, maximise)
        if phase == INWARD:
            scales[k] = rescale(data, messages.up[k], messages.sizes[k])
            if scales[k] == 0.0:
                return False
        elif phase == OUTWARD:
            finish_down(data, messages, k)
    return True


@njit(cache=True, nogil=True)
def add_up(data, target, source, size):
    """Add one stretch of the buffer to another."""
    for i in range(size):
        data[target + i] += data[source + i]


@njit(cache=True, nogil=True)
def read_marginals(data, first, second, slot_start, slot_axes, places, cards, starts, observed, out):
    """The marginal of every variable, from the slot ``first`` or its product with the slot ``second`` (>= 0).

    A negative ``first`` means that there is none.
    """
    for v in range(cards.size):
        begin, r = starts[v], cards[v]
        for x in range(r):
            out[begin + x] = 0.0
        if observed[v] >= 0:
            out[begin + observed[v]] = 1.0
            continue
        if first[v] < 0:
            continue
        size, inner = 1, 1
        for a in range(slot_start[first[v] + 1] - 1, slot_start[first[v]] - 1, -1):
            if slot_axes[a] == v:
                inner = size
            if observed[slot_axes[a]] < 0:
                size *= cards[slot_axes[a]]
        i, one = 0, places[first[v]]
        two = places[second[v]] if second[v] >= 0 else one
        while i < size:
            for x in range(r):
                total = 0.0
                if one == two:
                    for j in range(i, i + inner):
                        total += data[one + j]
                else:
                    for j in range(i, i + inner):
                        total += data[one + j] * data[two + j]
                out[begin + x] += total
                i += inner
        total = 0.0
        for x in range(r):
            total += out[begin + x]
        for x in range(r):
            out[begin + x] /= total


@njit(cache=True, nogil=True)
def trace_back(chosen, visits, messages, cards, states):
    """Fill in the states of a most probable entry, clique by clique from the root."""
    for k in range(messages.up.size):
        at = messages.up[k]
        begin, end = visits.axis_start[k], visits.axis_start[k + 1]
        # The message up is the one table that the visit writes.
        t = visits.table_start[k + 1] - 1
        row = visits.stride_start[k] + (t - visits.table_start[k]) * (end - begin)
        for a in range(end - begin):
            state = states[visits.axes[begin + a]]
            if state > 0:
                at += state * visits.strides[row + a]
        entry = chosen[at]
        for a in range(begin, end):
            variable = visits.axes[a]
            if visits.places[a] > 0:  # else it is known
                states[variable] = (entry // visits.places[a]) % cards[variable]


@njit(cache=True, nogil=True)
def run_rows(codes, begin, end, passes, outward, maximise, tables, out, log_z, data):
    """The rows begin..end one by one: normalised tables (place, size, column) of each, and log probabilities.

    With ``maximise`` the most probable states are written to ``codes`` instead. Impossible rows have NaN tables.
    """
    cards, collecting, distributing, messages = passes
    room_at = data.size
    room_end = room_at
    if not maximise:
        nothing = np.full(cards.size, -1)
        room_end += max(room_for(collecting, cards, nothing), room_for(distributing, cards, nothing))
        data = np.concatenate((data, np.empty(room_end - room_at)))
    fixed = room_at  # everything behind the factors is written by each row anew
    for k in range(messages.up.size):
        fixed = min(fixed, messages.up[k])
    chosen = np.zeros(data.size if maximise else 1, np.int64)
    observed = np.empty(cards.size, np.int64)
    soft = np.zeros(cards.size, np.bool_)
    scales = np.empty(messages.up.size)
    shifts = np.zeros(collecting.offsets.size + distributing.offsets.size, np.int64)
    n, zero = messages.up.size, begin - begin  # not the literal: the compiler would make a version for that alone
    for row in range(begin, end):
        for variable in range(cards.size):
            code = np.int64(codes[variable, row])
            observed[variable] = code if code < cards[variable] else -1
        data[fixed:room_at] = 0.0
        log_z[row] = -np.inf
        possible = True
        for phase in range(2 if outward else 1):  # one call in a loop, since the compiler copies the callee to each
            visits = collecting if phase == INWARD else distributing
            span, state, room = (zero, n, phase), (cards, observed, soft), (room_at, room_end)
            possible = possible and run_pass(
                data, chosen, visits, messages, span, state, room, shifts, scales, maximise
            )
            if phase == INWARD and possible:
                total = 1.0
                if not maximise:
                    total = 0.0
                    for i in range(messages.sizes[0]):
                        total += data[messages.up[0] + i]
                log_z[row] = np.log(total)
                for scale in scales:
                    log_z[row] += np.log(scale)
        if maximise and possible:
            trace_back(chosen, collecting, messages, cards, observed)
            for variable in range(cards.size):
                if observed[variable] >= 0:
                    codes[variable, row] = observed[variable]
        for k in range(tables.shape[0]):
            place, size, column = tables[k, 0], tables[k, 1], tables[k, 2]
            total = 0.0
            for i in range(size):
                total += data[place + i]
            factor = 1.0 / total if possible else np.nan
            for i in range(size):
                out[row, column + i] = data[place + i] * factor
