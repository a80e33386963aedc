"""Kernels of a program for many rows: the same visits for ``LANES`` rows side by side.

Here every entry of a clique is listed, with the product of its factors and the place of each table's entry that belongs
to it; entries whose product is zero are left out. A place has ``LANES`` numbers, one per row, so that the innermost
loop runs over rows and is the same work for each of them. Rows are independent: no sum runs over lanes.

All arrays are trusted. ``data`` has the shape (places, LANES).
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.pass_kernels import FAINT, trace_back
from bntk.inference.exact.program_kernels import INNER

# Of 16, 32 and 64 the quickest; shorter loops of known length seem to be unrolled instead of vectorised.
LANES = 64

# The product of the scales is kept as a number until it leaves this range; logarithms are slow.
SMALLEST, LARGEST = 1e-120, 1e120


class LaneVisits(NamedTuple):
    """Visit s has the entries ``entry_start[s]`` to ``entry_start[s + 1]`` with their ``values``.

    ``entries`` are their places in the clique with its variables ascending.

    Its tables are ``table_start[s]`` to ``table_start[s + 1]``, the first ``n_reads[s]`` of them read. Table t has the
    place ``places[place_start[t] + e]`` for the e-th entry of the visit; it is skipped when no row of the block has
    evidence on its variable ``gates[t]`` (-1: never).
    """

    entry_start: np.ndarray
    values: np.ndarray
    entries: np.ndarray
    table_start: np.ndarray
    n_reads: np.ndarray
    gates: np.ndarray
    place_start: np.ndarray
    places: np.ndarray


class Ranges(NamedTuple):
    """How large and small numbers are, by lane: of the last table; products at a clique at least; what was lost.

    By clique and lane the smallest entries, not zero, of the messages up and down, and the bounds of products outwards.
    """

    top: np.ndarray
    low: np.ndarray
    least: np.ndarray
    floor: np.ndarray
    lost: np.ndarray
    low_up: np.ndarray
    low_down: np.ndarray
    floors: np.ndarray


def load_rows_plainly(codes, first, end, vector, cards, data, active):
    """:func:`load_rows` by numpy."""
    rows = codes[:, np.minimum(np.arange(first, first + LANES), end - 1)]
    for v, r in enumerate(cards.tolist()):
        missing = rows[v] >= r
        active[v] = not missing.all()
        data[vector[v] : vector[v] + r] = missing | (rows[v] == np.arange(r)[:, None])


@njit(plain=load_rows_plainly, **INNER)
def load_rows(codes, first, end, vector, cards, data, active):
    """Put the evidence of LANES rows from ``first`` on into the vectors: 1 for possible states, else 0.

    Lanes from ``end`` on repeat the last row.
    """
    for v in range(cards.size):
        r, begin = cards[v], vector[v]
        active[v] = False
        for lane in range(LANES):
            code = codes[v, min(first + lane, end - 1)]
            missing = code >= r
            active[v] |= not missing
            for x in range(r):
                data[begin + x, lane] = 1.0 if missing or code == x else 0.0


def visit_lanes_plainly(data, chosen, visits, s, active, used, weights, maximise):
    """:func:`visit_lanes` by numpy."""
    begin, split, end = visits.table_start[s], visits.table_start[s] + visits.n_reads[s], visits.table_start[s + 1]
    if split == end:
        return
    first, last = visits.entry_start[s], visits.entry_start[s + 1]

    def places(t):
        start = visits.place_start[t]
        return visits.places[start : start + last - first]

    products = np.repeat(visits.values[first:last, None], LANES, axis=1)
    for t in range(begin, split):
        if visits.gates[t] < 0 or active[visits.gates[t]]:
            products *= data[places(t)]
    if maximise:
        for a, entry, product in zip(places(split).tolist(), visits.entries[first:last], products, strict=True):
            better = product > data[a]
            data[a][better], chosen[a][better] = product[better], entry
        return
    for t in range(split, end):
        for a, product in zip(places(t).tolist(), products, strict=True):
            data[a] += product


@njit(plain=visit_lanes_plainly, **INNER)
def visit_lanes(data, chosen, visits, s, active, used, weights, maximise):
    """Run one visit: the products of the tables read are added to the tables written (or their maximum is kept)."""
    begin, split = visits.table_start[s], visits.table_start[s] + visits.n_reads[s]
    if split == visits.table_start[s + 1]:
        return
    n_reads = 0
    for t in range(begin, split):
        if visits.gates[t] < 0 or active[visits.gates[t]]:
            used[n_reads] = visits.place_start[t]
            n_reads += 1
    places, first_entry = visits.places, visits.entry_start[s]
    first_write, last_write = visits.place_start[split], visits.table_start[s + 1]
    for e in range(visits.entry_start[s + 1] - first_entry):
        value = visits.values[first_entry + e]
        if n_reads == 0:
            for lane in range(LANES):
                weights[lane] = value
        elif n_reads == 1:
            a = places[used[0] + e]
            for lane in range(LANES):
                weights[lane] = value * data[a, lane]
        else:
            a, b = places[used[0] + e], places[used[1] + e]
            for lane in range(LANES):
                weights[lane] = value * data[a, lane] * data[b, lane]
            for i in range(2, n_reads):
                a = places[used[i] + e]
                for lane in range(LANES):
                    weights[lane] *= data[a, lane]
        if maximise:
            a, entry = places[first_write + e], visits.entries[first_entry + e]
            for lane in range(LANES):
                if weights[lane] > data[a, lane]:
                    data[a, lane] = weights[lane]
                    chosen[a, lane] = entry
            continue
        for t in range(split, last_write):
            a = places[visits.place_start[t] + e]
            for lane in range(LANES):
                data[a, lane] += weights[lane]


def _note_losses_plainly(data, begin, size, r):
    """:func:`_note_losses` by numpy."""
    table = data[begin : begin + size]
    r.top[:], r.least[:] = table.max(axis=0, initial=0.0), table.min(axis=0, initial=np.inf)
    r.low[:] = np.where(table > 0.0, table, np.inf).min(axis=0, initial=np.inf)
    r.lost[:] |= (r.low < FAINT) | ((r.least == 0.0) & (r.floor < FAINT))


@njit(plain=_note_losses_plainly, **INNER)
def _note_losses(data, begin, size, r):
    """Find the lanes in which a table may have lost numbers to underflow: too small, or zeros that need not be.

    Leaves the largest entry of each lane in ``r.top``, and in ``r.low`` the smallest that is not zero.
    """
    top, low, least, floor, lost = r.top, r.low, r.least, r.floor, r.lost
    for lane in range(LANES):
        top[lane], low[lane], least[lane] = 0.0, np.inf, np.inf
    for i in range(begin, begin + size):
        for lane in range(LANES):
            value = data[i, lane]
            top[lane] = max(top[lane], value)
            least[lane] = min(least[lane], value)
            low[lane] = min(low[lane], value if value > 0.0 else np.inf)
    for lane in range(LANES):
        lost[lane] |= (low[lane] < FAINT) | ((least[lane] == 0.0) & (floor[lane] < FAINT))


def _set_floor_plainly(messages, k, floors, r):
    """:func:`_set_floor` by numpy."""
    r.floor[:] = floors[k] * r.low_down[k]
    for child in messages.children[messages.child_start[k] : messages.child_start[k + 1]].tolist():
        r.floor[:] *= r.low_up[child]


@njit(plain=_set_floor_plainly, **INNER)
def _set_floor(messages, k, floors, r):
    """Bound the products at a clique that are not zero from below, in each lane."""
    for lane in range(LANES):
        r.floor[lane] = floors[k] * r.low_down[k, lane]
    for i in range(messages.child_start[k], messages.child_start[k + 1]):
        child = messages.children[i]
        for lane in range(LANES):
            r.floor[lane] *= r.low_up[child, lane]


@njit(**INNER)
def _rescale(data, begin, size, low_up, product, logs, r):
    """Divide a message by its largest entry in each lane, and take note of the divisors."""
    top = r.top
    for lane in range(LANES):
        z = top[lane]
        if z < SMALLEST or z > LARGEST:  # also where the evidence is impossible: log 0
            logs[lane] += np.log(z) if z > 0.0 else -np.inf
        else:
            product[lane] *= z
            if product[lane] < SMALLEST or product[lane] > LARGEST:
                logs[lane] += np.log(product[lane])
                product[lane] = 1.0
        top[lane] = 1.0 / z if z > 0.0 else 0.0
        low_up[lane] = r.low[lane] * top[lane] if z > 0.0 else 1.0
    _scale(data, begin, size, top)


def _scale_plainly(data, begin, size, factors):
    """:func:`_scale` by numpy."""
    data[begin : begin + size] *= factors


@njit(plain=_scale_plainly, **INNER)
def _scale(data, begin, size, factors):
    """Multiply a table by a factor in each lane."""
    for i in range(begin, begin + size):
        for lane in range(LANES):
            data[i, lane] *= factors[lane]


def _send_down_plainly(data, up, down, size, low_down, r):
    """:func:`_send_down` by numpy."""
    beliefs, above = data[down : down + size], data[up : up + size]
    r.least[:] = beliefs.min(axis=0, initial=np.inf)
    r.low[:] = np.where(beliefs > 0.0, beliefs, np.inf).min(axis=0, initial=np.inf)
    beliefs[:] = np.divide(beliefs, above, out=np.zeros_like(beliefs), where=above > 0.0)
    top = beliefs.max(axis=0, initial=0.0)
    r.top[:] = np.divide(1.0, top, out=np.ones_like(top), where=top > 0.0)
    low_down[:] = np.where(beliefs > 0.0, beliefs, np.inf).min(axis=0, initial=np.inf) * r.top
    r.lost[:] |= (np.minimum(r.low, low_down) < FAINT) | ((r.least == 0.0) & (r.floor < FAINT))
    beliefs *= r.top


@njit(plain=_send_down_plainly, **INNER)
def _send_down(data, up, down, size, low_down, r):
    """Turn the beliefs over a separator into the messages down: divide by the messages up, 0 / 0 = 0, and rescale.

    Finds the lanes that have lost numbers, as :func:`_note_losses` does.
    """
    top, low, least, floor, lost = r.top, r.low, r.least, r.floor, r.lost
    for lane in range(LANES):
        top[lane], low[lane], least[lane], low_down[lane] = 0.0, np.inf, np.inf, np.inf
    for i in range(size):
        for lane in range(LANES):
            belief, above = data[down + i, lane], data[up + i, lane]
            value = belief / above if above > 0.0 else 0.0
            data[down + i, lane] = value
            top[lane] = max(top[lane], value)
            least[lane] = min(least[lane], belief)
            low[lane] = min(low[lane], belief if belief > 0.0 else np.inf)
            low_down[lane] = min(low_down[lane], value if value > 0.0 else np.inf)
    for lane in range(LANES):
        factor = 1.0 / top[lane] if top[lane] > 0.0 else 1.0
        top[lane], low_down[lane] = factor, low_down[lane] * factor
        lost[lane] |= (min(low[lane], low_down[lane]) < FAINT) | ((least[lane] == 0.0) & (floor[lane] < FAINT))
    _scale(data, down, size, top)


@njit(**INNER)
def _copy(numbers, to):
    """Copy the numbers of all lanes; by a slice, the compiler would take a second for it."""
    for lane in range(LANES):
        to[lane] = numbers[lane]


@njit(**INNER)
def run_lanes(codes, first, end, passes, outward, maximise, work):
    """Both passes (or with ``outward`` false the one to the root) for one block of rows; logs are left in ``work``.

    The log of a row whose numbers are too small for that is NaN.
    """
    cards, vector, collecting, distributing, messages, floors = passes
    data, chosen, active, used, weights, product, logs, r = work
    load_rows(codes, first, end, vector, cards, data, active)
    data[vector[-1] :] = 0.0  # messages and outputs come after the vectors
    product[:] = 1.0
    logs[:] = 0.0
    r.lost[:] = False
    r.low_down[:] = 1.0  # until there are messages down
    n_cliques = messages.up.size
    for k in range(n_cliques - 1, -1, -1):
        visit_lanes(data, chosen, collecting, k, active, used, weights, maximise)
        _set_floor(messages, k, floors, r)
        _note_losses(data, messages.up[k], messages.sizes[k], r)
        _rescale(data, messages.up[k], messages.sizes[k], r.low_up[k], product, logs, r)
    for lane in range(LANES):
        logs[lane] += np.log(product[lane])
        if r.lost[lane]:
            logs[lane] = np.nan
    if not outward:
        return
    for k in range(n_cliques):
        visit_lanes(data, chosen, distributing, k, active, used, weights, maximise)
        _set_floor(messages, k, floors, r)
        _copy(r.floor, r.floors[k])
        for i in range(messages.child_start[k], messages.child_start[k + 1]):
            child = messages.children[i]
            _send_down(data, messages.up[child], messages.down[child], messages.sizes[child], r.low_down[child], r)


def _steps(codes, begin, end, passes, *rest):
    """About how many microseconds Python takes; a block of lanes takes as long for one row as for all."""
    return 12 * -(-(end - begin) // LANES) * passes[2].values.size


@njit(cache=True, nogil=True, steps=_steps)
def run_block(codes, begin, end, passes, outward, maximise, tables, out, log_z, work):
    """All rows begin..end: normalised tables (place, size, column of ``out``, clique) and log probabilities.

    A row without probability has NaN in its tables and -inf for its log, one whose numbers are too small a log of NaN.
    """
    data, logs, r, messages = work[0], work[6], work[7], passes[4]
    for first in range(begin, end, LANES):
        run_lanes(codes, first, end, passes, outward, maximise, work)
        for k in range(tables.shape[0]):
            place, size, column = tables[k, 0], tables[k, 1], tables[k, 2]
            if outward:
                _copy(r.floors[tables[k, 3]], r.floor)
                _note_losses(data, place, size, r)
            _write_table(data, place, size, min(LANES, end - first), first, column, out)
        for lane in range(min(LANES, end - first)):
            log_z[first + lane] = np.nan if r.lost[lane] else _log_total(data, messages, lane, logs)


def _write_table_plainly(data, place, size, n, first, column, out):
    """:func:`_write_table` by numpy."""
    table = data[place : place + size, :n]
    total = np.zeros(n)
    for row in table:
        total += row
    scale = np.divide(1.0, total, out=np.full(n, np.nan), where=total > 0.0)
    out[first : first + n, column : column + size] = (table * scale).T


@njit(plain=_write_table_plainly, **INNER)
def _write_table(data, place, size, n, first, column, out):
    """Write a table of the first n lanes into the columns of n rows, normalised; NaN where it is empty."""
    for lane in range(n):
        total = 0.0
        for i in range(size):
            total += data[place + i, lane]
        scale = 1.0 / total if total > 0.0 else np.nan
        for i in range(size):
            out[first + lane, column + i] = data[place + i, lane] * scale


@njit(**INNER)
def _log_total(data, messages, lane, logs):
    total = 0.0
    for i in range(messages.up[0], messages.up[0] + messages.sizes[0]):
        total += data[i, lane]
    return logs[lane] + np.log(total) if total > 0.0 else -np.inf


@njit(cache=True, nogil=True, steps=_steps)
def explain_block(codes, begin, end, passes, outward, maximise, visits, log_top, work):
    """Fill in the most probable completion of each row, traced back through the choices made at every clique."""
    chosen, logs, cards, messages = work[1], work[6], passes[0], passes[4]
    states = np.empty(cards.size, np.int64)
    for first in range(begin, end, LANES):
        run_lanes(codes, first, end, passes, outward, maximise, work)
        for lane in range(min(LANES, end - first)):
            log_top[first + lane] = logs[lane]
            if not logs[lane] > -np.inf:
                continue
            states[:] = -1
            trace_back(chosen[:, lane], visits, messages, cards, states)
            for v in range(cards.size):
                if states[v] >= 0:
                    codes[v, first + lane] = states[v]
