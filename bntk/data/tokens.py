"""From bytes of delimited text to distinct labels and codes: the driver of the kernels.

The text is cut into spans at newlines, each coded with dictionaries of its own, and the dictionaries are merged in
order. Spans depend on the text alone, so the result is the same for every number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bntk import _threads
from bntk.data import kernels
from bntk.data.coding import MOST_STATES, too_many_numbers, too_many_states
from bntk.data.label_types import guess_kind
from bntk.data.text_files import line_at
from bntk.errors import BntkError, ParseError

SPAN = 8 << 20  # bytes
MOST_LABELS = MOST_STATES + 16  # distinct fields of a column; a few more than states, as some may mean "missing"
_LINE_FEED = 10


class TokenError(Exception):
    """A text that cannot be split: what is wrong, at which byte, and the number of fields or the column."""

    def __init__(self, kind: int, where: int, count: int, coded: Coded) -> None:
        super().__init__(kind, where, count)
        self.kind, self.where, self.count, self.coded = kind, where, count, coded


@dataclass
class Coded:
    """One span of text, coded: ``block[column, row]`` counts the labels of a column in order of appearance."""

    block: np.ndarray
    n_rows: int
    labels: np.ndarray  # (n, 4): column, start, length, escaped

    @cached_property
    def _by_column(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels sorted by column, in order of appearance within each, and where each column starts."""
        by_column = self.labels[np.argsort(self.labels[:, 0], kind="stable")]
        return by_column, np.searchsorted(by_column[:, 0], np.arange(len(self.block) + 1))

    def places(self, column: int) -> np.ndarray:
        """Start, length, and whether it holds doubled quotes, of each label of a column."""
        by_column, starts = self._by_column
        return by_column[starts[column] : starts[column + 1], 1:]

    def label_bytes(self, data: np.ndarray, column: int, quote: bytes) -> list[bytes]:
        """The distinct fields of a column, in order of appearance."""
        texts = []
        for start, length, escaped in self.places(column).tolist():
            text = data[start : start + length].tobytes()
            texts.append(text.replace(quote * 2, quote) if escaped else text)
        return texts


@dataclass
class Tokens:
    """A whole text, coded. ``labels[column]`` are the distinct fields, in order of appearance."""

    spans: list[Coded]
    labels: list[list[bytes]]
    lookups: list[list[np.ndarray]] = field(repr=False)  # [span][column]: codes of the span -> places in labels

    def where(self, data: np.ndarray, column: int, label: bytes) -> int:
        """Place in the text of the first field with this label."""
        for span in self.spans:
            texts = span.label_bytes(data, column, b'"')
            if label in texts:
                return int(span.places(column)[texts.index(label), 0])
        return 0

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return sum(span.n_rows for span in self.spans)

    def codes(self, orders: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
        """Codes of all columns, label ``i`` of a column coded as ``orders[column][i]``; shape (n_columns, n_rows)."""
        codes = np.empty((len(self.labels), self.n_rows), dtype=dtype)
        starts = np.cumsum([0, *(span.n_rows for span in self.spans)])

        def fill(i: int) -> None:
            lookups = [order[part] for order, part in zip(orders, self.lookups[i], strict=True)]
            first = np.cumsum([0, *(len(lookup) for lookup in lookups[:-1])], dtype=np.int64)
            lookup = np.concatenate(lookups).astype(dtype) if lookups else np.empty(0, dtype)
            span = self.spans[i]
            kernels.translate(span.block, span.n_rows, lookup, first, codes, int(starts[i]))

        _threads.run_parallel(fill, range(len(self.spans)))
        return codes


def tokenize(
    data: np.ndarray,
    start: int,
    sep: int,
    quote: int,
    column_of: np.ndarray,
    most: int,
    names: Sequence[str],
    source: str,
    first_line: int = 1,
) -> Tokens:
    """Split and code ``data[start:]``.

    Parameters
    ----------
    column_of : int64 array
        For each field of a record, the column that it belongs to, or -1 to skip it.
    most : int
        Distinct fields of a column that are allowed.
    names : list of str
        Of the columns, for errors; as are ``source`` and ``first_line``, the number of the first line of ``data``.
    """
    try:
        return _tokenize(data, start, sep, quote, column_of, most)
    except TokenError as error:
        raise _explained(error, data, names, len(column_of), source, first_line) from None


def _tokenize(data: np.ndarray, start: int, sep: int, quote: int, column_of: np.ndarray, most: int) -> Tokens:
    pieces = _cut(data, start, SPAN)
    results = _threads.run_parallel(lambda piece: _attempt(data, *piece, sep, quote, column_of, most), pieces)
    for i, result in enumerate(results[:-1]):
        if isinstance(result, TokenError) and result.kind == kernels.UNCLOSED_QUOTE:
            # The newline after this span is inside a field: all that follows was cut at the wrong places.
            results[i:] = [_attempt(data, pieces[i][0], len(data), sep, quote, column_of, most)]
            break
    return _merge(data, results, n_columns(column_of), bytes([max(0, quote)]), most)


def _attempt(
    data: np.ndarray, start: int, stop: int, sep: int, quote: int, column_of: np.ndarray, most: int
) -> Coded | TokenError:
    try:
        return code_span(data, start, stop, sep, quote, column_of, most)
    except TokenError as error:  # another span may have an earlier one
        return error


def n_columns(column_of: np.ndarray) -> int:
    """Number of columns among the fields of a record."""
    return int(column_of.max(initial=-1)) + 1


def _cut(data: np.ndarray, start: int, span: int) -> list[tuple[int, int]]:
    """Spans of about the same size, each ending after a newline."""
    cuts = [start]
    while len(data) - cuts[-1] > span:
        at = cuts[-1] + span
        while at < len(data):  # looked for in steps, as the text may be long and without newlines
            found = np.flatnonzero(data[at : at + 4096] == _LINE_FEED)
            if found.size:
                at += int(found[0]) + 1
                break
            at += 4096
        if at >= len(data):
            break
        cuts.append(at)
    return list(zip(cuts, [*cuts[1:], len(data)], strict=True))


def code_span(data: np.ndarray, start: int, stop: int, sep: int, quote: int, column_of: np.ndarray, most: int) -> Coded:
    """Run the kernel over one span, enlarging what is full."""
    n = n_columns(column_of)
    most = min(most, kernels.MOST_CODES)
    most_rows = (stop - start) // len(column_of) + 1  # a record has at least one byte for each field
    block = _block(n, min(_guess_rows(data, start, stop), most_rows), np.uint8)
    slots = np.zeros((max(4, 2 * n) * kernels.FIRST_SLOTS, 2), dtype=np.uint64)
    home = np.arange(n, dtype=np.int64) * kernels.FIRST_SLOTS
    size = np.full(n, kernels.FIRST_SLOTS, dtype=np.int64)
    n_labels = np.zeros(n, dtype=np.int64)
    labels = np.zeros((max(64, 16 * n), 4), dtype=np.int64)
    cursor = np.zeros(6, dtype=np.int64)
    cursor[kernels.POSITION], cursor[kernels.POOL_USED] = start, n * kernels.FIRST_SLOTS
    while True:
        room = min(most, 1 << (8 * block.itemsize))
        outcome = kernels.code_fields(
            data, stop, sep, quote, column_of, block, slots, home, size, n_labels, labels, cursor, room
        )
        if outcome == kernels.POOL_FULL:
            slots = _enlarged(slots)
        elif outcome == kernels.LABELS_FULL:
            labels = _enlarged(labels)
        elif outcome == kernels.ROWS_FULL:
            block = _copied(block, 2 * block.shape[1], block.dtype)
        elif outcome == kernels.CODES_FULL and room < most:
            block = _copied(block, block.shape[1], np.dtype(f"u{2 * block.itemsize}"))
        else:
            break
    coded = Coded(block, int(cursor[kernels.ROW]), labels[: cursor[kernels.LABELS_USED]])
    if outcome != kernels.DONE:
        raise TokenError(outcome, int(cursor[kernels.WHERE]), int(cursor[kernels.COUNT]), coded)
    return coded


def _block(n: int, n_rows: int, dtype: type | np.dtype) -> np.ndarray:
    """Room for codes; columns an odd number of cache lines apart, so that they do not compete for the same ones."""
    lines = n_rows * np.dtype(dtype).itemsize // 64 + 1
    return np.empty((n, (lines | 1) * 64 // np.dtype(dtype).itemsize), dtype=dtype)


def _copied(block: np.ndarray, n_rows: int, dtype: np.dtype) -> np.ndarray:
    larger = _block(len(block), n_rows, dtype)
    larger[:, : block.shape[1]] = block
    return larger


def _guess_rows(data: np.ndarray, start: int, stop: int) -> int:
    """About how many rows there will be, from the first few."""
    sample = data[start : min(start + (1 << 16), stop)]
    lines = int(np.count_nonzero(sample == _LINE_FEED)) + 1
    return int(1.1 * lines * (stop - start) / max(1, len(sample))) + 16


def _enlarged(array: np.ndarray) -> np.ndarray:
    larger = np.zeros((2 * len(array), array.shape[1]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _merge(data: np.ndarray, results: Sequence[Coded | TokenError], n: int, quote: bytes, most: int) -> Tokens:
    places: list[dict[bytes, int]] = [{} for _ in range(n)]
    spans: list[Coded] = []
    lookups: list[list[np.ndarray]] = []
    for result in results:
        coded = result.coded if isinstance(result, TokenError) else result
        spans.append(coded)
        lookups.append([])
        for column, place in enumerate(places):
            texts = coded.label_bytes(data, column, quote)
            lookups[-1].append(np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int64))
            if len(place) > most:
                raise TokenError(kernels.CODES_FULL, 0, column, coded)
        if isinstance(result, TokenError):
            raise result
    return Tokens(spans, [list(place) for place in places], lookups)


def label_texts(
    data: np.ndarray, tokens: Tokens, column: int, source: str, first_line: int = 1, advice: str = ""
) -> list[str]:
    """The distinct fields of a column as text; bytes that are not UTF-8 are an error that names the line."""
    texts = []
    for label in tokens.labels[column]:
        try:
            texts.append(label.decode())
        except UnicodeDecodeError as error:
            line = line_at(data, tokens.where(data, column, label)) + first_line - 1
            raise ParseError(f"not UTF-8 text: {label!r}{advice}", source=source, line=line) from error
    return texts


def _explained(
    error: TokenError, data: np.ndarray, names: Sequence[str], n_fields: int, source: str, first_line: int
) -> BntkError:
    line = line_at(data, error.where) + first_line - 1
    if error.kind == kernels.RAGGED:
        fields = "1 field" if error.count == 1 else f"{error.count} fields"
        return ParseError(f"{fields} in this record, but {n_fields} columns", source=source, line=line)
    if error.kind == kernels.UNCLOSED_QUOTE:
        return ParseError("a quoted field starts here and never ends", source=source, line=line)
    if error.kind == kernels.AFTER_QUOTE:
        message = "text after the closing quote of a field; a quote inside a quoted field is written twice"
        return ParseError(message, source=source, line=line)
    name = names[error.count]
    texts = [t.decode(errors="replace") for t in error.coded.label_bytes(data, error.count, b'"')[:1000]]
    if guess_kind([text for text in texts if text]) is float:
        return too_many_numbers(name, MOST_STATES + 1)
    return too_many_states(name, next(text for text in texts if text))
