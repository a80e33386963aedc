"""The tables of a pass for one evidence set: in messages and outputs, observed variables take no room."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from bntk.inference.exact.program_kernels import Messages, Visits, room_for


@njit(cache=True, nogil=True)
def bind(collecting, distributing, messages, slot_start, slot_axes, begin, cards, observed):
    """The visits and messages with observed variables left out, where each slot begins, and the room for copies.

    Slots are the messages up, the messages down and the outputs, which follow each other from ``begin`` on.
    """
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
    inward = bound(collecting, places, cards, observed)
    outward = bound(distributing, places, cards, observed)
    room = max(room_for(inward, cards, observed), room_for(outward, cards, observed))
    return inward, outward, Messages(up, down, sizes, messages.child_start, messages.children), places, room


@njit(cache=True, nogil=True)
def bound(visits, places, cards, observed):
    """The visits with each slot where ``places`` has it, and with the strides that open variables leave."""
    offsets, strides = visits.offsets.copy(), visits.strides.copy()
    for s in range(visits.n_reads.size):
        begin, end = visits.axis_start[s], visits.axis_start[s + 1]
        row = visits.stride_start[s]
        for t in range(visits.table_start[s], visits.table_start[s + 1]):
            if visits.slots[t] >= 0:
                offsets[t] = places[visits.slots[t]]
                for a in range(end - begin):
                    if visits.strides[row + a] > 0:
                        strides[row + a] = _open_stride(visits, begin, end, row, a, cards, observed)
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


@njit(cache=True, nogil=True)
def _open_stride(visits, begin, end, row, a, cards, observed):
    """The stride of an axis when only open variables have states: the product over those with a smaller stride."""
    if observed[visits.axes[begin + a]] >= 0:
        return 0
    stride = 1
    for b in range(end - begin):
        variable = visits.axes[begin + b]
        if 0 < visits.strides[row + b] < visits.strides[row + a] and observed[variable] < 0:
            stride *= cards[variable]
    return stride
