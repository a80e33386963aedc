"""How a visit of a large clique gets contiguous columns: which variables they are, and copies of tables in that order.

A visit's inner loop runs over the joint states of its *columns*, the innermost variables. Here they are chosen so that
every table that has one of them can be read and written with stride one. A table that lacks some of the columns is
expanded in its copy; one that is written is summed up again when it is brought home.

All arrays are trusted; ``w`` is the working memory of a visit, filled for its open axes (see
:mod:`bntk.inference.exact.program_kernels`).
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit
from bntk.inference.exact.vector_kernels import INNER

# Visits with fewer entries are not worth the choice, nor are those of more tables than a word has bits.
DENSE_ENTRIES = 1 << 13
MOST_TABLES = 62
# The most joint states of several columns.
WIDEST = 512
# Costs in the time of one multiplication of a vector's entry: of a row, of each table in it, and of an entry copied.
ROW, ROW_TABLE, COPY = 60.0, 15.0, 8.0


@njit(**INNER)
def choose_columns(n_reads, n, n_open, room, w):
    """The columns as the bits of a word; 0 when strided loops serve as well."""
    entries = 1.0
    for j in range(n_open):
        entries *= w.sizes[j]
    if entries < DENSE_ENTRIES or n > MOST_TABLES:
        return np.int64(0)
    tables_of, table_sizes = np.zeros(n_open, np.int64), np.ones(n, np.int64)
    for j in range(n_open):
        for t in range(n):
            if w.steps[t, j] != 0:
                tables_of[j] |= 1 << t
                table_sizes[t] *= w.sizes[j]
    best, chosen = np.inf, np.int64(0)
    for j in range(n_open):  # to begin with: variables that are in the same tables
        columns = np.int64(0)
        for i in range(n_open):
            if tables_of[i] == tables_of[j]:
                columns |= 1 << i
        cost = _cost(columns, entries, n_reads, n, n_open, room, tables_of, table_sizes, w)
        if cost < best:
            best, chosen = cost, columns
    grown = np.int64(0)
    while grown != chosen:
        grown = chosen
        for j in range(n_open):
            cost = _cost(grown | 1 << j, entries, n_reads, n, n_open, room, tables_of, table_sizes, w)
            if cost < best:
                best, chosen = cost, grown | 1 << j
    return chosen


@njit(**INNER)
def _cost(columns, entries, n_reads, n, n_open, room, tables_of, table_sizes, w):
    """What a visit costs with these columns; infinite when the copies might not find room."""
    width, n_axes, some, every = 1.0, 0, np.int64(0), np.int64(-1)
    for j in range(n_open):
        if columns >> j & 1:
            width *= w.sizes[j]
            n_axes += 1
            some |= tables_of[j]
            every &= tables_of[j]
    if width > WIDEST and n_axes > 1:
        return np.inf
    streams, copied, touched = 0.0, 0.0, 0
    for t in range(n):
        if not some >> t & 1:
            continue
        streams += 1.0 if t < n_reads else 2.0
        touched += 1
        if not every >> t & 1:
            size = float(table_sizes[t])
            for j in range(n_open):
                if columns >> j & 1 and w.steps[t, j] == 0:
                    size *= w.sizes[j]
            copied += size if t < n_reads else 2.0 * size
        elif not _in_place(columns, t, n_open, w):
            copied += table_sizes[t]
    if copied > room:
        return np.inf
    return entries * streams + entries / width * (ROW + ROW_TABLE * touched) + COPY * copied


@njit(**INNER)
def _in_place(columns, t, n_open, w):
    """Whether a table has the columns side by side in memory, in the order of the axes."""
    expected = 1
    for j in range(n_open - 1, -1, -1):
        if columns >> j & 1:
            if w.steps[t, j] != expected:
                return False
            expected *= w.sizes[j]
    return True


@njit(**INNER)
def move_columns(chosen, n, n_open, w):
    """Bring the columns behind the other axes; returns the first column and the number of their joint states."""
    first, columns = 0, 1
    for j in range(n_open):
        if not chosen >> j & 1:
            w.order[first] = j
            first += 1
    inner = first
    for j in range(n_open):
        if chosen >> j & 1:
            w.order[inner] = j
            inner += 1
            columns *= w.sizes[j]
    for t in range(n):
        for j in range(n_open):
            w.aside[j] = w.steps[t, w.order[j]]
        w.depth[t] = -1
        for j in range(n_open):
            w.steps[t, j] = w.aside[j]
            if w.aside[j] != 0:
                w.depth[t] = j
    for j in range(n_open):
        w.aside[j] = w.sizes[w.order[j]]
    for j in range(n_open):
        w.sizes[j] = w.aside[j]
    return first, columns


@njit(**INNER)
def bring_copies(data, n_reads, n, n_open, first, columns, room_at, w):
    """Copy the tables in which the columns are not contiguous, those to be written as zeros, to ``room_at`` onwards."""
    for t in range(n):
        w.home[t] = -1
        if w.depth[t] < first:
            continue
        if _in_place(-1 << first, t, n_open, w):
            continue
        w.home[t] = w.at[t]
        for j in range(n_open):
            w.home_steps[t, j] = w.steps[t, j]
        size = columns
        for j in range(n_open - 1, -1, -1):
            if j >= first:
                w.steps[t, j] = size // columns  # not zero; columns are walked by their index alone
            elif w.steps[t, j] != 0:
                w.steps[t, j] = size
                size *= w.sizes[j]
        w.at[t] = room_at
        w.depth[t] = n_open - 1
        if t < n_reads:
            _copy(data, t, n_open, first, columns, w.home[t] < 0, w)
        else:
            for i in range(room_at, room_at + size):
                data[i] = 0.0
        room_at += size


@njit(**INNER)
def take_home(data, n_reads, n, n_open, first, columns, w):
    """Add the copies of the tables written to the tables themselves."""
    for t in range(n_reads, n):
        back = w.home[t] >= 0
        if back:
            _copy(data, t, n_open, first, columns, back, w)


@njit(**INNER)
def _copy(data, t, n_open, first, columns, back, w):
    """Fill a copy from its table, or add it back to that."""
    filled = 1
    w.aside[0] = 0
    steps = w.home_steps[t]
    for j in range(n_open - 1, first - 1, -1):
        for c in range(1, w.sizes[j]):
            for b in range(filled):
                w.aside[c * filled + b] = w.aside[b] + c * steps[j]
        filled *= w.sizes[j]
    n_axes = 0
    for j in range(first):
        if steps[j] != 0:
            w.order[n_axes] = j
            w.counters[n_axes] = 0
            n_axes += 1
    copy, home = w.at[t], w.home[t]
    while True:
        if back:
            for b in range(columns):
                data[home + w.aside[b]] += data[copy + b]
        else:
            for b in range(columns):
                data[copy + b] = data[home + w.aside[b]]
        copy += columns
        level = n_axes - 1
        while level >= 0:
            j = w.order[level]
            w.counters[level] += 1
            home += steps[j]
            if w.counters[level] < w.sizes[j]:
                break
            home -= w.sizes[j] * steps[j]
            w.counters[level] = 0
            level -= 1
        if level < 0:
            break
