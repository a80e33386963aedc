"""Kernels of whole passes over a junction tree, made of the visits of :mod:`bntk.inference.exact.program_kernels`.

All arrays are trusted. ``data`` is one buffer with all tables.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.dense_kernels import DENSE_ENTRIES
from bntk.inference.exact.program_kernels import INNER, Messages, Visits, room_for, scratch_for, visit

INWARD, OUTWARD, SINGLE = 0, 1, 2

#: A sum of products that is smaller may have lost some of them to underflow. A larger one has not lost anything to
#: speak of, since no factor is above one.
FAINT = 1e-290
#: What a pass finds: findings that are impossible or possible, or numbers that are too small to tell.
IMPOSSIBLE, POSSIBLE, LOST = 0, 1, -1
# The lines of ``ranges``, by clique: what its message up was divided by; a bound from below on the products at it that
# are not zero (in the pass outwards with the message down); the smallest entries, not zero, of both messages.
TOP, FLOOR, LOW_UP, LOW_DOWN = 0, 1, 2, 3


# ---- observed variables take no room in messages and outputs ---------------------------------------------------------


@njit(cache=True, nogil=True, steps=lambda collecting, distributing, *rest: 2 * distributing.strides.size)
def bind(collecting, distributing, messages, begin, cards, observed):
    """The visits and messages with observed variables left out, where each slot begins, and the room for copies.

    The slots follow each other from ``begin`` on.
    """
    slot_start, slot_axes = messages.slot_start, messages.slot_axes
    n_slots, n_cliques = slot_start.size - 1, messages.up.size
    places = np.empty(n_slots + 1, np.int64)
    places[0] = begin
    for slot in range(n_slots):
        size = 1
        for a in range(slot_start[slot], slot_start[slot + 1]):
            if observed[slot_axes[a]] < 0:
                size *= cards[slot_axes[a]]
        places[slot + 1] = places[slot] + size
    sizes = places[1 : n_cliques + 1] - places[:n_cliques]
    up, down = places[:n_cliques].copy(), places[n_cliques : 2 * n_cliques].copy()
    inward = bound(collecting, messages, places, cards, observed)
    outward = bound(distributing, messages, places, cards, observed)
    room = max(room_for(inward, cards, observed), room_for(outward, cards, observed))
    bound_messages = Messages(up, down, sizes, messages.child_start, messages.children, slot_start, slot_axes)
    return inward, outward, bound_messages, places, room


@njit(cache=True, nogil=True, steps=lambda visits, *rest: 2 * visits.strides.size)
def bound(visits, messages, places, cards, observed):
    """The visits with each slot where ``places`` has it, and with the strides that open variables leave."""
    offsets, strides = visits.offsets.copy(), visits.strides.copy()
    open_strides = np.empty(cards.size, np.int64)
    for s in range(visits.n_reads.size):
        begin, end = visits.axis_start[s], visits.axis_start[s + 1]
        row = visits.stride_start[s]
        for t in range(visits.table_start[s], visits.table_start[s + 1]):
            slot = visits.slots[t]
            if slot >= 0:
                offsets[t] = places[slot]
                if _write_open_strides(messages, slot, cards, observed, open_strides):
                    for a in range(end - begin):
                        if strides[row + a] > 0:
                            strides[row + a] = open_strides[visits.axes[begin + a]]
            row += end - begin
    return Visits(
        visits.axis_start,
        visits.axes,
        visits.places,
        visits.table_start,
        visits.n_reads,
        offsets,
        visits.gates,
        visits.slots,
        visits.stride_start,
        strides,
    )


@njit(**INNER)
def _write_open_strides(messages, slot, cards, observed, open_strides):
    """The strides of a slot's axes when only open variables have states, 0 for observed ones; whether there are any."""
    stride, any_observed = 1, False
    for a in range(messages.slot_start[slot + 1] - 1, messages.slot_start[slot] - 1, -1):
        variable = messages.slot_axes[a]
        if observed[variable] < 0:
            open_strides[variable] = stride
            stride *= cards[variable]
        else:
            open_strides[variable] = 0
            any_observed = True
    return any_observed


# ---- passes ----------------------------------------------------------------------------------------------------------


@njit(**INNER)
def _range_of(data, at, size):
    """The largest entry of a table, the smallest that is not zero, and the smallest."""
    top, low, least = 0.0, np.inf, np.inf
    for i in range(at, at + size):
        value = data[i]
        top, least = max(top, value), min(least, value)
        low = min(low, value if value > 0.0 else np.inf)
    return top, low, least


@njit(**INNER)
def _has_lost(low, least, floor):
    """Whether a table may have lost numbers to underflow: entries that are too small, or zeros that need not be."""
    return low < FAINT or (least == 0.0 and floor < FAINT)


@njit(**INNER)
def _send_down(data, up, down, size):
    """Turn the belief over a separator into the message down: divide by the message up, 0 / 0 = 0, and by the largest.

    Returns the smallest entry that is not zero.
    """
    for i in range(size):
        data[down + i] /= data[up + i] if data[up + i] > 0.0 else 1.0
    top, low, _ = _range_of(data, down, size)
    factor = 1.0 / top
    for i in range(size):
        data[down + i] *= factor
    return low * factor


@njit(cache=True, nogil=True)
def finish(data, messages, k, phase, ranges):
    """What follows the visit of clique k: ``INWARD`` the message up is divided by its largest entry.

    ``OUTWARD`` the beliefs over the separators of its children become messages down. Returns what was found.
    """
    if phase == SINGLE:
        return POSSIBLE
    floor = ranges[FLOOR, k] * (ranges[LOW_DOWN, k] if phase == OUTWARD else 1.0)
    for i in range(messages.child_start[k], messages.child_start[k + 1]):
        floor *= ranges[LOW_UP, messages.children[i]]
    if phase == INWARD:
        at, size = messages.up[k], messages.sizes[k]
        top, low, least = _range_of(data, at, size)
        if _has_lost(low, least, floor):
            return LOST
        ranges[TOP, k] = top
        if top == 0.0:
            return IMPOSSIBLE
        factor = 1.0 / top
        for i in range(at, at + size):
            data[i] *= factor
        ranges[LOW_UP, k] = low * factor
        return POSSIBLE
    ranges[FLOOR, k] = floor
    for i in range(messages.child_start[k], messages.child_start[k + 1]):
        child = messages.children[i]
        _, low, least = _range_of(data, messages.down[child], messages.sizes[child])
        if _has_lost(low, least, floor):
            return LOST
        low = _send_down(data, messages.up[child], messages.down[child], messages.sizes[child])
        if low < FAINT:
            return LOST
        ranges[LOW_DOWN, child] = low
    return POSSIBLE


def _steps_of_pass(data, chosen, visits, messages, span, state, room, shifts, ranges, maximise):
    """About how many microseconds Python takes; large cliques are for sums that the compiler may reorder."""
    cards, observed, _ = state
    begin, end, _ = span
    lengths = np.where(observed < 0, cards, 1)[visits.axes[: visits.axis_start[end]]]
    entries = np.multiply.reduceat(np.append(lengths, 1.0), visits.axis_start[begin:end])
    if not maximise and (entries >= DENSE_ENTRIES).any():
        return np.inf
    return 2 * visits.strides.size + 2 * (entries * np.diff(visits.table_start[begin : end + 1])).sum()


@njit(cache=True, nogil=True, steps=_steps_of_pass)
def run_pass(data, chosen, visits, messages, span, state, room, shifts, ranges, maximise):
    """Visit the cliques end - 1 down to begin of the span in its phase ``INWARD``, or begin to end - 1 in the others.

    Ends as soon as a message is not ``POSSIBLE``, and returns what was found. ``SINGLE`` visits cliques without sending
    messages: what they write is left as it is, and may be written elsewhere (``shifts``).
    """
    begin, end, phase = span
    cards, observed, soft = state
    w = scratch_for(visits, cards)
    for step in range(end - begin):
        k = end - 1 - step if phase == INWARD else begin + step
        visit(data, chosen, visits, k, cards, observed, soft, room[0], room[1], shifts, w, maximise)
        found = finish(data, messages, k, phase, ranges)
        if found != POSSIBLE:
            return found
    return POSSIBLE


class Sources(NamedTuple):
    """What tables are read off: the slot ``first``, or its product with the slot ``second`` (-1: none).

    They are an output, or messages, of the clique ``cliques``; -1 for the message of the root.
    Table k has the entries ``starts[k]`` to ``starts[k + 1]``. Its slots have the axes
    ``axes[axis_start[k]:axis_start[k + 1]]``, along which the table has the strides ``steps``; 0 where it is a sum.
    """

    first: np.ndarray
    second: np.ndarray
    starts: np.ndarray
    axis_start: np.ndarray
    axes: np.ndarray
    steps: np.ndarray
    cliques: np.ndarray


@njit(cache=True, nogil=True, steps=lambda data, places, *rest: data.size)
def read_tables(data, places, sources, cards, observed, ranges, out):
    """Write the tables of the sources, normalised; zeros for a table of an open variable that has no source.

    Returns whether they are ``POSSIBLE`` or some may be ``LOST``.
    """
    found = POSSIBLE
    most_axes = sources.axes.size + 1
    lengths, steps = np.empty(most_axes, np.int64), np.empty(most_axes, np.int64)
    counters = np.zeros(most_axes, np.int64)
    for k in range(sources.first.size):
        begin, end, n, is_open = sources.starts[k], sources.starts[k + 1], np.int64(0), False
        at = begin
        for a in range(sources.axis_start[k], sources.axis_start[k + 1]):
            v, step = sources.axes[a], sources.steps[a]
            if observed[v] >= 0:
                at += observed[v] * step
            elif n > 0 and step == 0 and steps[n - 1] == 0:
                lengths[n - 1] *= cards[v]
            else:
                lengths[n], steps[n] = cards[v], step
                is_open |= step > 0
                n += 1
        out[begin:end] = 0.0
        if not is_open:
            out[at] = 1.0
        elif sources.first[k] >= 0:
            one, two = places[sources.first[k]], places[max(sources.second[k], 0)]
            _add_entries(data, one, two, sources.second[k] >= 0, n, lengths, steps, counters, at, out)
            k_clique, floor = sources.cliques[k], 1.0
            if k_clique >= 0:
                by_output = sources.second[k] < 0
                floor = ranges[FLOOR, k_clique] if by_output else ranges[LOW_UP, k_clique] * ranges[LOW_DOWN, k_clique]
            _, low, least = _range_of(out, begin, end - begin)
            if _has_lost(low, least, floor):
                found = LOST
            total = 0.0
            for i in range(begin, end):
                total += out[i]
            for i in range(begin, end):
                out[i] /= total if total > 0.0 else 1.0
    return found


@njit(**INNER)
def _add_entries(data, one, two, is_product, n, lengths, steps, counters, at, out):
    """Add the entries of a table, or of the product of two, to where n loops lead in ``out`` from ``at`` on."""
    inner, step, level = lengths[n - 1], steps[n - 1], 0
    while level >= 0:
        total = 0.0
        for x in range(inner):
            value = data[one + x] * data[two + x] if is_product else data[one + x]
            total += value
            if step > 0:
                out[at + x * step] += value
        if step == 0:
            out[at] += total
        one, two, level = one + inner, two + inner, n - 2
        while level >= 0:
            counters[level] += 1
            at += steps[level]
            if counters[level] < lengths[level]:
                break
            at -= lengths[level] * steps[level]
            counters[level] = 0
            level -= 1


@njit(cache=True, nogil=True)
def run_rows(observed, passes, sources, fixed, tables, floors, cards, out, log_z):
    """All evidence sets (rows of ``observed``), one after another: their tables, and the log of their probabilities.

    ``passes`` are the visits of both passes and the messages, unbound; the slots begin at ``fixed``, behind the factors
    in ``tables``. Without visits outwards only the message up from the root is read. Impossible rows get NaN and -inf,
    rows whose numbers are too small to tell a log of NaN.
    """
    # Not literals: the compiler would make a version for these alone.
    n, zero, maximise = passes[2].up.size, fixed - fixed, fixed < 0
    n_passes = 2 if passes[1].n_reads.size else 1
    soft, ranges, nothing_chosen = np.zeros(cards.size, np.bool_), np.ones((4, n)), np.zeros(1, np.int64)
    shifts = np.zeros(max(passes[0].offsets.size, passes[1].offsets.size) + 1, np.int64)
    data = np.empty(0)
    for row in range(observed.shape[0]):
        state = (cards, observed[row], soft)
        inward, outward, messages, places, room = bind(passes[0], passes[1], passes[2], fixed, cards, observed[row])
        end = places[-1]
        if data.size < end + room:
            data = np.empty(end + room)
            for i in range(tables.size):  # not by a slice, for which the compiler takes a second
                data[i] = tables[i]
        data[fixed:end] = 0.0
        found = POSSIBLE
        ranges[FLOOR] = floors
        for phase in range(n_passes):  # one call in a loop, since the compiler copies the callee to each
            visits, spare = inward if phase == INWARD else outward, (end, end + room)
            if found == POSSIBLE:
                found = run_pass(
                    data, nothing_chosen, visits, messages, (zero, n, phase), state, spare, shifts, ranges, maximise
                )
        if found == POSSIBLE:
            root = data[messages.up[0] : messages.up[0] + messages.sizes[0]]
            log_z[row] = np.log(ranges[TOP]).sum() + np.log(root.sum())
            found = read_tables(data, places, sources, cards, observed[row], ranges, out[row])
        if found != POSSIBLE:
            log_z[row], out[row] = -np.inf if found == IMPOSSIBLE else np.nan, np.nan


@njit(cache=True, nogil=True, steps=lambda chosen, visits, *rest: 2 * visits.axes.size)
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
