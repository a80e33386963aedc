"""Kernels that split text into fields and code every field through a dictionary of its column.

A field is never copied: a label is the place and length of its first occurrence in the text. Each column has a small
open-addressing table of distinct fields in one shared pool. Fields of up to seven bytes are their own key, so that for
most data one load, one multiplication and one comparison code a cell. Bytes are read eight at a time; only the last
few bytes of the text are read one by one, so nothing beyond the end is touched.
"""

from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part

# What `code_fields` returns.
DONE = 0
POOL_FULL = 1  # enlarge `slots` and call again
LABELS_FULL = 2  # enlarge `labels` and call again
CODES_FULL = 3  # more distinct fields in a column than the type of `codes` can tell apart
ROWS_FULL = 4  # enlarge `codes` and call again
RAGGED = 5
UNCLOSED_QUOTE = 6
AFTER_QUOTE = 7

# Places in `cursor`.
POSITION, ROW, POOL_USED, LABELS_USED, WHERE, COUNT = range(6)

MOST_CODES = (1 << 24) - 2  # of a column; see _CODE_BITS
FIRST_SLOTS = 32  # slots of a new column; a power of two

_1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(i) for i in range(1, 9))
_16, _24, _32, _40, _48, _56 = (np.uint64(i) for i in (16, 24, 32, 40, 48, 56))
_BYTE = np.uint64(0xFF)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_BYTE_INDEX = np.uint64(0x0001020304050607)  # (1 << 8k) * this has k in its highest byte
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LONG = np.uint64(0xFF00000000000000)  # highest byte of the key of a long field; of a short one it is its length
_CODE_BITS = np.uint64(24)
_CODE_MASK = np.uint64((1 << 24) - 1)
_NEWLINE, _RETURN = 10, 13


@part
def _word(data, at, stop):
    """Eight bytes from ``at`` on, the first one lowest; zeros stand for those beyond ``stop``."""
    word = np.uint64(0)
    if at + 8 <= stop:
        u = np.uint64(at)  # unsigned: no test for negative indices, so that the loads become one
        word = (
            np.uint64(data[u])
            | np.uint64(data[u + _1]) << _8
            | np.uint64(data[u + _2]) << _16
            | np.uint64(data[u + _3]) << _24
            | np.uint64(data[u + _4]) << _32
            | np.uint64(data[u + _5]) << _40
            | np.uint64(data[u + _6]) << _48
            | np.uint64(data[u + _7]) << _56
        )
    else:
        for i in range(stop - at):
            word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@part
def _zeros(word):
    """A word whose lowest set bit marks the first zero byte; zero when there is none."""
    return (word - _LOW_BITS) & ~word & _HIGH_BITS


@part
def _first_byte(marks):
    """Index of the byte with the lowest mark."""
    lowest = marks & (~marks + _1)
    return np.int64(((lowest >> _7) * _BYTE_INDEX) >> _56)


@part
def _find(data, at, stop, one, other):
    """First place from ``at`` on of either byte (each repeated eight times in a word), or ``stop``."""
    while at < stop:
        word = _word(data, at, stop)
        marks = _zeros(word ^ one) | _zeros(word ^ other)
        if marks != 0:
            return min(at + _first_byte(marks), stop)  # the zeros beyond the end may match a zero byte
        at += 8
    return stop


@part
def _short_key(word, length):
    kept = word & ((_1 << np.uint64(8 * length)) - _1)
    return kept | (np.uint64(length) << _56)


@part
def _long_key(data, at, length, escaped, stop):
    key = np.uint64(length) ^ (np.uint64(escaped) << _32)
    while length > 0:
        word = _word(data, at, stop)
        if length < 8:
            word &= (_1 << np.uint64(8 * length)) - _1
        key = (key ^ word) * _SPREAD
        key ^= key >> _32
        at += 8
        length -= 8
    return key | _LONG


@part
def _same_field(data, labels, label, at, length, escaped):
    if labels[label, 2] != length or labels[label, 3] != escaped:
        return False
    first = labels[label, 1]
    for i in range(length):  # noqa: SIM110 (numba has no generators)
        if data[first + i] != data[at + i]:
            return False
    return True


@part
def _grow(column, slots, home, size, cursor):
    """Move the table of a column to one twice as large at the end of the pool; False when there is no room."""
    old, n = home[column], size[column]
    new = cursor[POOL_USED]
    if new + 2 * n > len(slots):
        return False
    cursor[POOL_USED] = new + 2 * n
    home[column], size[column] = new, 2 * n
    for i in range(new, new + 2 * n):
        slots[i, 1] = np.uint64(0)
    for i in range(old, old + n):
        if slots[i, 1] != 0:
            j = _slot(slots[i, 0], 2 * n)
            while slots[new + j, 1] != 0:
                j = (j + 1) & (2 * n - 1)
            slots[new + j, 0], slots[new + j, 1] = slots[i, 0], slots[i, 1]
    return True


@part
def _slot(key, n):
    return np.int64((key * _SPREAD) >> _32) & (n - 1)


@part
def _add(column, key, at, length, escaped, slots, home, size, n_labels, labels, cursor, most):
    """Code of a field that is new in its column, or minus what has to be enlarged first."""
    if n_labels[column] >= most:
        return -CODES_FULL
    if cursor[LABELS_USED] >= len(labels):
        return -LABELS_FULL
    if 2 * (n_labels[column] + 1) > size[column] and not _grow(column, slots, home, size, cursor):
        return -POOL_FULL
    start, n = home[column], size[column]
    j = _slot(key, n)
    while slots[start + j, 1] != 0:
        j = (j + 1) & (n - 1)
    code, label = n_labels[column], cursor[LABELS_USED]
    n_labels[column] += 1
    cursor[LABELS_USED] += 1
    labels[label, 0], labels[label, 1], labels[label, 2], labels[label, 3] = column, at, length, escaped
    slots[start + j, 0] = key
    slots[start + j, 1] = (np.uint64(label) << _CODE_BITS) | np.uint64(code + 1)
    return code


def _steps_of_coding(data, stop, sep, quote, column_of, codes, slots, home, size, n_labels, labels, cursor, most):
    """About how many microseconds Python takes; fields have a few bytes."""
    return 4 * (stop - cursor[POSITION])


@njit(cache=True, nogil=True, steps=_steps_of_coding)
def code_fields(data, stop, sep, quote, column_of, codes, slots, home, size, n_labels, labels, cursor, most):
    """Code the records of ``data[cursor[POSITION]:stop]``, which starts at the start of a record.

    One function, though long: a record is a loop over its fields, and what a field is depends on where it ends.
    When something is full, ``cursor`` stays at the start of the record, and the call can be repeated.

    Parameters
    ----------
    data : uint8 array
    sep, quote : int
        Bytes; a quote of -1 means that there is none.
    column_of : int64 array
        For each field of a record, the column that it belongs to, or -1 to skip it.
    codes : unsigned array (n_columns, room for rows)
        The result, from ``cursor[ROW]`` on.
    slots : uint64 array (n, 2)
        The pool of tables: key, and ``label << 24 | code + 1``, or 0 when free.
    home, size, n_labels : int64 arrays (n_columns,)
        Where the table of a column starts, its number of slots, and how many labels the column has.
    labels : int64 array (n, 4)
        Column, start, length, and 1 when the field holds doubled quotes.
    cursor : int64 array
        See the places above. After an error, ``WHERE`` is its place in the text and ``COUNT`` the number of fields.
    most : int
        Codes that the type of ``codes`` can tell apart.
    """
    n_fields = len(column_of)
    seps, newlines = np.uint64(sep) * _LOW_BITS, np.uint64(_NEWLINE) * _LOW_BITS
    quotes = np.uint64(quote & 0xFF) * _LOW_BITS
    at, row = cursor[POSITION], cursor[ROW]
    while at < stop:
        first = data[at]
        if first == _NEWLINE:
            at += 1
            continue
        if first == _RETURN and (at + 1 == stop or data[at + 1] == _NEWLINE):
            at += 2
            continue
        cursor[POSITION], cursor[ROW] = at, row
        if row >= codes.shape[1]:
            return ROWS_FULL
        field = 0
        while True:
            begin, escaped = at, 0
            if begin + 8 <= stop:  # as in _word, written out: a call for each field would cost more than all the rest
                u = np.uint64(begin)
                word = (
                    np.uint64(data[u])
                    | np.uint64(data[u + _1]) << _8
                    | np.uint64(data[u + _2]) << _16
                    | np.uint64(data[u + _3]) << _24
                    | np.uint64(data[u + _4]) << _32
                    | np.uint64(data[u + _5]) << _40
                    | np.uint64(data[u + _6]) << _48
                    | np.uint64(data[u + _7]) << _56
                )
            else:
                word = _word(data, begin, stop)
            if np.int64(word & _BYTE) == quote and begin < stop:
                begin += 1
                end = _find(data, begin, stop, quotes, quotes)
                while end + 1 < stop and data[end + 1] == quote:
                    escaped = 1
                    end = _find(data, end + 2, stop, quotes, quotes)
                if end >= stop:
                    cursor[WHERE] = at
                    return UNCLOSED_QUOTE
                length = end - begin
                word = _word(data, begin, stop)
                end += 1
                if end < stop and data[end] == _RETURN and (end + 1 == stop or data[end + 1] == _NEWLINE):
                    end += 1
                if end < stop and data[end] != sep and data[end] != _NEWLINE:
                    cursor[WHERE] = end
                    return AFTER_QUOTE
            else:
                marks = _zeros(word ^ seps) | _zeros(word ^ newlines)
                if marks != 0:
                    end = min(begin + _first_byte(marks), stop)
                else:
                    end = _find(data, min(begin + 8, stop), stop, seps, newlines)
                length = end - begin
                if length > 0 and (end == stop or data[end] == _NEWLINE) and data[end - 1] == _RETURN:
                    length -= 1
            if field < n_fields and column_of[field] >= 0:
                column = column_of[field]
                short = length < 8 and escaped == 0
                if short:
                    key = _short_key(word, length)
                else:
                    key = _long_key(data, begin, length, escaped, stop)
                start, last = home[column], size[column] - 1
                slot = np.int64((key * _SPREAD) >> _32) & last
                code = -1
                while slots[start + slot, 1] != 0:
                    if slots[start + slot, 0] == key:
                        entry = slots[start + slot, 1]
                        if short or _same_field(data, labels, np.int64(entry >> _CODE_BITS), begin, length, escaped):
                            code = np.int64(entry & _CODE_MASK) - 1
                            break
                    slot = (slot + 1) & last
                if code < 0:
                    code = _add(column, key, begin, length, escaped, slots, home, size, n_labels, labels, cursor, most)
                if code < 0:
                    cursor[WHERE] = begin
                    cursor[COUNT] = column
                    return -code
                codes[column, row] = code
            field += 1
            at = end + 1
            if end >= stop or data[end] == _NEWLINE:
                break
        if field != n_fields:
            cursor[WHERE], cursor[COUNT] = cursor[POSITION], field
            return RAGGED
        row += 1
    cursor[POSITION], cursor[ROW] = at, row
    return DONE


def translate_plainly(block, n_rows, lookup, first, codes, row):
    """:func:`translate` by numpy."""
    for column, start in enumerate(first.tolist()):
        codes[column, row : row + n_rows] = lookup[start:][block[column, :n_rows]]


@njit(cache=True, nogil=True, steps=lambda block, *rest: block.size / 100, plain=translate_plainly)
def translate(block, n_rows, lookup, first, codes, row):
    """Write ``lookup[first[column]:][block[column]]`` to the rows of ``codes`` from ``row`` on."""
    for column in range(len(first)):
        source, table, target = block[column], lookup[first[column] :], codes[column, row : row + n_rows]
        for i in range(n_rows):
            target[i] = table[source[i]]
