"""Kernels of a program for one evidence set at a time: strided loops over cliques of any size.

A clique's table is never stored. Its entries are products of the tables that a visit reads, made on the way down
through nested loops, one level per variable: a table is multiplied in at the level of its innermost variable, so
everything that does not depend on the inner variables is computed once. On the way up the loops hand back sums, and a
table that is written takes its sum at the level of its innermost variable. A product that is zero ends its branch, so
that deterministic tables cost little; an observed variable is no level at all, only an offset.

Loops over two or three states would spend their time on counters. So the innermost variables form a *block* with index
maps of its own: its rows are the joint states of some variables, its columns those of the variables inside them. Every
table that is written has all of the column variables or none of them; then no two columns of a row add to the same
place, and a processor need not wait for what it has just stored.

In a large clique the columns are to be contiguous in every table, so that the processor works on vectors. Which
variables serve best depends on the evidence, and is decided for each visit; tables that do not have them side by side
in memory are copied so, which costs little as tables are much smaller than cliques. See
:mod:`bntk.inference.exact.dense_kernels`.

All arrays are trusted. ``data`` is one buffer with all tables.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact import vector_kernels as dense
from bntk.inference.exact.dense_kernels import (
    DENSE_ENTRIES,
    WIDEST,
    bring_copies,
    choose_columns,
    move_columns,
    take_home,
)
from bntk.inference.exact.vector_kernels import FAST, INNER

ROWS = COLUMNS = 128


class Visits(NamedTuple):
    """The visits of a pass, flat: visit s has the variables ``axes[axis_start[s]:axis_start[s + 1]]``, outermost first.

    Its tables are ``table_start[s]`` to ``table_start[s + 1]``, the first ``n_reads[s]`` of them read, the others
    written. A table begins at ``offsets``, is skipped unless its variable ``gates`` has soft evidence (-1: never), is
    a message or an output by the number ``slots`` (-1: neither), and has a stride for each axis in ``strides``, from
    ``stride_start[s]`` on. ``places`` are the strides of the index of an entry in the clique with its variables
    ascending.
    """

    axis_start: np.ndarray
    axes: np.ndarray
    places: np.ndarray
    table_start: np.ndarray
    n_reads: np.ndarray
    offsets: np.ndarray
    gates: np.ndarray
    slots: np.ndarray
    stride_start: np.ndarray
    strides: np.ndarray


class Messages(NamedTuple):
    """Where the messages of each clique are, and its children ``children[child_start[k]:child_start[k + 1]]``.

    Slots are the messages up, the messages down and the outputs; they have the axes
    ``slot_axes[slot_start[k]:slot_start[k + 1]]``.
    """

    up: np.ndarray
    down: np.ndarray
    sizes: np.ndarray
    child_start: np.ndarray
    children: np.ndarray
    slot_start: np.ndarray
    slot_axes: np.ndarray


class Scratch(NamedTuple):
    """Working memory of a visit, as large as the largest visit needs it: by axis, by table, and by joint state."""

    opened: np.ndarray
    sizes: np.ndarray
    counters: np.ndarray
    best: np.ndarray
    order: np.ndarray
    products: np.ndarray
    sums: np.ndarray
    starts: np.ndarray
    movers: np.ndarray
    at: np.ndarray
    depth: np.ndarray
    home: np.ndarray
    steps: np.ndarray
    home_steps: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    aside: np.ndarray
    weights: np.ndarray


@njit(**INNER)
def scratch_for(visits, cards):
    """Working memory for any of the visits."""
    n_axes, n_tables = 1, 2
    for s in range(visits.n_reads.size):
        n_axes = max(n_axes, visits.axis_start[s + 1] - visits.axis_start[s])
        n_tables = max(n_tables, visits.table_start[s + 1] - visits.table_start[s] + 1)
    widest = max(ROWS, COLUMNS, WIDEST, n_axes)
    for card in cards:
        widest = max(widest, card)
    by_axis, numbers = np.empty((5, n_axes + 2), np.int64), np.empty((2, n_axes + 2), np.float64)
    starts, movers = np.empty((3, n_axes + 4), np.int64), np.empty((3, (n_axes + 1) * n_tables), np.int64)
    by_table, steps = np.empty((3, n_tables), np.int64), np.empty((2, n_tables, n_axes), np.int64)
    rows, columns = np.empty((n_tables, widest), np.int64), np.empty((n_tables, widest), np.uint32)
    return Scratch(
        by_axis[0], by_axis[1], by_axis[2], by_axis[3], by_axis[4], numbers[0], numbers[1], starts, movers,
        by_table[0], by_table[1], by_table[2], steps[0], steps[1], rows, columns, np.empty(widest, np.int64),
        np.empty(widest, np.float64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def room_for(visits, cards, observed):
    """Entries that any of the visits may want for copies of its tables."""
    most, widest = 0, WIDEST  # the widest is also the longest product of a row
    for card in cards:
        widest = max(widest, card)
    for s in range(visits.n_reads.size):
        n_axes = visits.axis_start[s + 1] - visits.axis_start[s]
        entries, copies = 1, 0
        for a in range(visits.axis_start[s], visits.axis_start[s + 1]):
            if observed[visits.axes[a]] < 0:
                entries *= cards[visits.axes[a]]
        if entries < DENSE_ENTRIES:
            continue
        for i in range(visits.table_start[s + 1] - visits.table_start[s]):
            size = 1
            for a in range(n_axes):
                variable = visits.axes[visits.axis_start[s] + a]
                if visits.strides[visits.stride_start[s] + i * n_axes + a] != 0 and observed[variable] < 0:
                    size *= cards[variable]
            copies += size
        most = max(most, copies)
    return 2 * most + widest if most > 0 else 0


@njit(**INNER)
def _open_axes(visits, s, cards, observed, w):
    """The axes that are not observed."""
    begin = visits.axis_start[s]
    n_open = 0
    for a in range(visits.axis_start[s + 1] - begin):
        variable = visits.axes[begin + a]
        if observed[variable] < 0 and cards[variable] > 1:
            w.opened[n_open] = a
            w.sizes[n_open] = cards[variable]
            n_open += 1
    return n_open


@njit(**INNER)
def _place_tables(visits, s, observed, soft, shifts, n_open, w):
    """Where each table in use begins, and how far it moves along each open axis; returns how many are read and all."""
    begin, end = visits.table_start[s], visits.table_start[s + 1]
    first_axis, n_axes = visits.axis_start[s], visits.axis_start[s + 1] - visits.axis_start[s]
    written = begin + visits.n_reads[s]
    n, n_reads = 0, 0
    for t in range(begin, end):
        gate = visits.gates[t]
        if gate >= 0 and not soft[gate]:
            continue
        row = visits.stride_start[s] + (t - begin) * n_axes
        at, depth = visits.offsets[t], -1
        for a in range(n_axes):
            state = observed[visits.axes[first_axis + a]]
            if state > 0:
                at += state * visits.strides[row + a]
        for j in range(n_open):
            step = visits.strides[row + w.opened[j]]
            w.steps[n, j] = step
            if step != 0:
                depth = j
        if t >= written:
            at += shifts[t - written]
        else:
            n_reads += 1
        w.at[n], w.depth[n] = at, depth
        n += 1
    # One table more for the index of an entry within the clique.
    w.at[n], w.depth[n] = 0, n_open
    for a in range(n_axes):
        state = observed[visits.axes[first_axis + a]]
        if state > 0:
            w.at[n] += state * visits.places[first_axis + a]
    for j in range(n_open):
        w.steps[n, j] = visits.places[first_axis + w.opened[j]]
    return n_reads, n


@njit(**INNER)
def _strided_columns(n_reads, n, n_open, w):
    """The first axis of the columns, with the number of their joint states."""
    first, columns = n_open, 1
    while first > 0 and (columns == 1 or columns * w.sizes[first - 1] <= COLUMNS):
        if first < n_open:
            alike = True
            for t in range(n_reads, n):
                alike &= (w.steps[t, first - 1] != 0) == (w.steps[t, first] != 0)
            if not alike:
                break
        first -= 1
        columns *= w.sizes[first]
    return first, columns


@njit(**INNER)
def _choose_rows(first, w):
    """The first axis of the rows, with the number of their joint states."""
    outer, rows = first, 1
    while outer > 0 and rows * w.sizes[outer - 1] <= ROWS:
        outer -= 1
        rows *= w.sizes[outer]
    return outer, rows


@njit(**INNER)
def _list_levels(n_reads, n, n_moving, n_outer, first_column, w):
    """The tables to multiply in, those to add to and those that move: for each outer level, the rows, the columns."""
    reads, writes, moves = 0, 0, 0
    for j in range(n_outer + 2):
        w.starts[0, j], w.starts[1, j], w.starts[2, j] = reads, writes, moves
        for t in range(n_moving):
            if j < n_outer and w.steps[t, j] != 0:
                w.movers[2, moves] = t
                moves += 1
            level = w.depth[t]
            if level >= n_outer:
                level = n_outer if level < first_column else n_outer + 1
            if level == j and t < n_reads:
                w.movers[0, reads] = t
                reads += 1
            elif level == j and t < n:
                w.movers[1, writes] = t
                writes += 1
    w.starts[0, n_outer + 2], w.starts[1, n_outer + 2] = reads, writes


@njit(**INNER)
def _map_axes(maps, t, begin, end, w):
    """maps[t, b] = how far the b-th joint state of the axes begin..end is from the first in table t."""
    filled = 1
    maps[t, 0] = 0
    for j in range(end - 1, begin - 1, -1):
        step = w.steps[t, j]
        for c in range(1, w.sizes[j]):
            for b in range(filled):
                maps[t, c * filled + b] = maps[t, b] + c * step
        filled *= w.sizes[j]


@njit(**INNER)
def _sum_block(data, p, n_rows, n_columns, level, w):
    """Multiply and add the entries of a block; p is the product of everything outside it.

    One long function, since a call for each row would cost as much as a row.
    """
    movers, at, rows, columns, weights = w.movers, w.at, w.rows, w.columns, w.weights
    row_read, first, last = w.starts[0, level], w.starts[0, level + 1], w.starts[0, level + 2]
    row_write, out, out_end = w.starts[1, level], w.starts[1, level + 1], w.starts[1, level + 2]
    only_sum = out == out_end and first < last <= first + 2
    t, u = movers[0, first], movers[0, last - 1]
    sum_all = 0.0
    for row in range(n_rows):
        q = p
        for i in range(row_read, first):
            q *= data[at[movers[0, i]] + rows[movers[0, i], row]]
        if q == 0.0:
            continue
        total = 0.0
        if only_sum:
            table = np.uint64(at[t] + rows[t, row])
            if t == u:
                for b in range(n_columns):
                    total += data[table + np.uint64(columns[t, b])]
            else:
                other = np.uint64(at[u] + rows[u, row])
                for b in range(n_columns):
                    total += data[table + np.uint64(columns[t, b])] * data[other + np.uint64(columns[u, b])]
            total *= q
        else:
            for b in range(n_columns):
                weights[b] = q
            for i in range(first, last):
                v = movers[0, i]
                table = np.uint64(at[v] + rows[v, row])
                for b in range(n_columns):
                    weights[b] *= data[table + np.uint64(columns[v, b])]
            for b in range(n_columns):
                total += weights[b]
            for i in range(out, out_end):
                v = movers[1, i]
                table = np.uint64(at[v] + rows[v, row])
                for b in range(n_columns):
                    data[table + np.uint64(columns[v, b])] += weights[b]
        for i in range(row_write, out):
            data[at[movers[1, i]] + rows[movers[1, i], row]] += total
        sum_all += total
    return sum_all


@njit(fastmath=FAST, **INNER)
def _sum_dense(data, p, n_rows, n_columns, level, spot, w):
    """As :func:`_sum_block` for contiguous columns; the buffer has room for a product at ``spot``."""
    movers, at, rows = w.movers, w.at, w.rows
    row_read, first, last = w.starts[0, level], w.starts[0, level + 1], w.starts[0, level + 2]
    row_write, out, out_end = w.starts[1, level], w.starts[1, level + 1], w.starts[1, level + 2]
    t, u, v = movers[0, first], movers[0, min(first + 1, last - 1)], movers[1, out]
    n_reads, n_writes = last - first, out_end - out
    sum_all = 0.0
    for row in range(n_rows):
        q = p
        for i in range(row_read, first):
            q *= data[at[movers[0, i]] + rows[movers[0, i], row]]
        if q == 0.0:
            continue
        total = 0.0
        one = at[t] + rows[t, row]
        if n_reads == 2 and n_writes < 3:
            two = at[u] + rows[u, row]
            if n_writes == 0:
                total = dense.dot(data, one, two, n_columns)
            elif n_writes == 2:
                other = movers[1, out + 1]
                target = at[v] + rows[v, row]
                total = dense.add_product_twice(data, target, at[other] + rows[other, row], one, two, n_columns, q) / q
            else:
                total = dense.add_product(data, at[v] + rows[v, row], one, two, n_columns, q)
        else:
            if n_reads > 1:
                dense.multiply(data, spot, one, at[u] + rows[u, row], n_columns)
                for i in range(first + 2, last):
                    dense.multiply(data, spot, spot, at[movers[0, i]] + rows[movers[0, i], row], n_columns)
                one = spot
            elif n_reads == 0:
                for b in range(n_columns):
                    data[spot + b] = 1.0
                one = spot
            total = dense.add_up(data, one, n_columns)
            for i in range(out, out_end):
                dense.add(data, at[movers[1, i]] + rows[movers[1, i], row], one, n_columns, q)
        total *= q
        for i in range(row_write, out):
            data[at[movers[1, i]] + rows[movers[1, i], row]] += total
        sum_all += total
    return sum_all


@njit(**INNER)
def _max_block(data, chosen, p, n_rows, n_columns, level, index_table, w):
    """As :func:`_sum_block` with the maximum for the sum; returns it with the lowest index of an entry that has it."""
    top, best = 0.0, np.int64(0)
    for row in range(n_rows):
        for b in range(n_columns):
            q = p
            for i in range(w.starts[0, level], w.starts[0, level + 2]):
                t = w.movers[0, i]
                q *= data[w.at[t] + w.rows[t, row] + w.columns[t, b]]
            entry = w.at[index_table] + w.rows[index_table, row] + w.columns[index_table, b]
            for i in range(w.starts[1, level], w.starts[1, level + 2]):
                t = w.movers[1, i]
                _improve(data, chosen, w.at[t] + w.rows[t, row] + w.columns[t, b], q, entry)
            if q > top or (q == top and entry < best):
                top, best = q, entry
    return top, best


@njit(**INNER)
def _improve(data, chosen, at, value, entry):
    """Keep the larger value, and of equal ones that of the lowest entry."""
    if value > data[at] or (value == data[at] and value > 0.0 and entry < chosen[at]):
        data[at] = value
        chosen[at] = entry


@njit(**INNER)
def visit(data, chosen, visits, s, cards, observed, soft, room_at, room_end, shifts, w, maximise):
    """Run one visit; the buffer is free from ``room_at`` to ``room_end``.

    With ``maximise``, tables written take the largest product instead of the sum, and ``chosen`` its entry. The loops
    are one function because their counters live in registers; the stages before them are functions of their own.
    """
    n_open = _open_axes(visits, s, cards, observed, w)
    n_reads, n = _place_tables(visits, s, observed, soft, shifts, n_open, w)
    if n == n_reads:
        return
    n_moving = n + 1 if maximise else n
    spot, room_at = room_at, room_at + w.weights.size  # a row's product, copies of tables
    chosen_columns = choose_columns(n_reads, n, n_open, room_end - room_at, w) if not maximise else np.int64(0)
    is_dense = chosen_columns != 0
    if is_dense:
        first_column, columns = move_columns(chosen_columns, n, n_open, w)
        bring_copies(data, n_reads, n, n_open, first_column, columns, room_at, w)
    else:
        first_column, columns = _strided_columns(n_reads, n, n_open, w)
    n_outer, rows = _choose_rows(first_column, w)
    _list_levels(n_reads, n, n_moving, n_outer, first_column, w)
    for t in range(n_moving):
        if w.depth[t] >= n_outer:
            _map_axes(w.rows, t, n_outer, first_column, w)
            if not is_dense:
                _map_axes(w.columns, t, first_column, n_open, w)
    p = 1.0
    for t in range(n_reads):
        if w.depth[t] == -1:
            p *= data[w.at[t]]
    w.products[0], w.sums[0], w.best[0] = p, 0.0, 0
    for j in range(n_outer):
        w.counters[j] = 0
    level = 0
    while p > 0.0:
        while level < n_outer:
            q = w.products[level]
            for i in range(w.starts[0, level], w.starts[0, level + 1]):
                q *= data[w.at[w.movers[0, i]]]
            if q == 0.0:
                break
            level += 1
            w.products[level], w.sums[level], w.best[level] = q, 0.0, 0
        total, best = 0.0, np.int64(0)
        if level == n_outer:
            if maximise:
                total, best = _max_block(data, chosen, w.products[level], rows, columns, level, n, w)
            elif is_dense:
                total = _sum_dense(data, w.products[level], rows, columns, level, spot, w)
            else:
                total = _sum_block(data, w.products[level], rows, columns, level, w)
            level -= 1
        while level >= 0:
            if total > 0.0:
                if maximise:
                    for i in range(w.starts[1, level], w.starts[1, level + 1]):
                        _improve(data, chosen, w.at[w.movers[1, i]], total, best)
                    if total > w.sums[level] or (total == w.sums[level] and best < w.best[level]):
                        w.sums[level], w.best[level] = total, best
                else:
                    for i in range(w.starts[1, level], w.starts[1, level + 1]):
                        data[w.at[w.movers[1, i]]] += total
                    w.sums[level] += total
            w.counters[level] += 1
            if w.counters[level] < w.sizes[level]:
                for i in range(w.starts[2, level], w.starts[2, level + 1]):
                    t = w.movers[2, i]
                    w.at[t] += w.steps[t, level]
                break
            back = w.sizes[level] - 1
            for i in range(w.starts[2, level], w.starts[2, level + 1]):
                t = w.movers[2, i]
                w.at[t] -= back * w.steps[t, level]
            w.counters[level] = 0
            total, best = w.sums[level], w.best[level]
            level -= 1
        if level < 0:
            for t in range(n_reads, n):
                if w.depth[t] == -1:
                    if maximise:
                        _improve(data, chosen, w.at[t], total, best)
                    else:
                        data[w.at[t]] += total
            break
    if is_dense:
        take_home(data, n_reads, n, n_open, first_column, columns, w)
