"""CSV files in blocks of whole lines, split and coded by the kernels that read whole files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bntk.data.csv_files import _QUOTE, Request, _read_header, _without_row_numbers
from bntk.data.summaries import TextColumn
from bntk.data.tokens import _LINE_FEED, label_texts, tokenize
from bntk.errors import ParseError
from bntk.learning.streams.sources import Batch, Files

#: Bytes of a block.
BLOCK = 16 << 20
_MOST = 1 << 31
_START = b"\xef\xbb\xbf"


class CSVFiles(Files):
    """CSV files with the same columns.

    Parameters
    ----------
    paths : sequence of Path
    sep, missing, decimal
        As for :func:`bntk.read_table`.
    """

    def __init__(self, paths: Sequence[Path], sep: str | None, missing: frozenset[str], decimal: str) -> None:
        super().__init__(paths)
        self._sep, self._missing, self._decimal = sep, missing, decimal
        self.names = tuple(name for name in self._header(self.paths[0])[0] if name is not None)

    def _request(self, path: Path) -> Request:
        return Request(path, self._sep, self._missing, None, None, decimal=self._decimal)

    def _header(self, path: Path) -> tuple[list[str | None], str, int, np.ndarray]:
        """The names (None for a column that numbers the rows), the separator, and the first block behind them."""
        with _opened(path) as file:
            data = _as_array(_whole_lines(file.read(BLOCK), file, path))
        start = 3 if data[:3].tobytes() == _START else 0
        header, sep, start = _read_header(data, start, self._request(path))
        names = _without_row_numbers(header, data, start, sep, self._request(path))
        numbered: list[str | None] = [None] * (len(header) - len(names))
        return [*numbered, *names], sep, start, data

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Blocks of about 16 MB."""
        for path in self.paths:
            names, sep, start, _ = self._header(path)
            self._same_columns(path, [name for name in names if name is not None])
            place = {name: position for position, name in enumerate(columns)}
            column_of = np.array([-1 if name is None else place.get(name, -1) for name in names], dtype=np.int64)
            yield from self._blocks(path, list(columns), column_of, sep, start)

    def _blocks(self, path: Path, columns: list[str], column_of: np.ndarray, sep: str, start: int) -> Iterator[Batch]:
        with _opened(path) as file:
            line = _read(file, start, path).count(b"\n") + 1
            rest = b""
            while block := _read(file, BLOCK, path):
                data = _as_array(_whole_lines(rest + block, file, path))
                rest = b""
                while True:
                    try:
                        tokens = tokenize(data, 0, ord(sep), _QUOTE, column_of, _MOST, columns, str(path), line)
                        break
                    except ParseError as error:  # a quoted line end may be the last of the block
                        more = _read(file, BLOCK, path) if "never ends" in str(error) else b""
                        if not more:
                            raise
                        data = _as_array(data.tobytes() + _whole_lines(more, file, path))
                found = {
                    name: self._column(name, data, tokens, place, path, line) for place, name in enumerate(columns)
                }
                yield Batch(found, f"{path}, lines {line:,} to {line + tokens.n_rows - 1:,}", tokens.n_rows)
                line += int(np.count_nonzero(data == _LINE_FEED))

    def _column(self, name: str, data: np.ndarray, tokens: Any, place: int, path: Path, line: int) -> TextColumn:
        texts = label_texts(data, tokens, place, str(path), line)
        labels = [None if text in self._missing else text for text in texts]
        order = np.arange(len(texts), dtype=np.int64)
        one = type(tokens)(
            tokens.spans, [tokens.labels[place]], [[lookups[place]] for lookups in tokens.lookups]
        )  # only this column
        codes = _codes_of(one, place, order)
        return TextColumn(name, labels, codes, all_used=True, texts=texts, decimal=self._decimal)


def _codes_of(tokens: Any, column: int, order: np.ndarray) -> np.ndarray:
    """The codes of one column of a text."""
    parts = []
    for span, lookups in zip(tokens.spans, tokens.lookups, strict=True):
        parts.append(order[lookups[0]][span.block[column, : span.n_rows].astype(np.int64)])
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")


def _read(file: Any, n_bytes: int, path: Path) -> bytes:
    try:
        found: bytes = file.read(n_bytes)
    except (EOFError, OSError) as error:
        raise ParseError(f"the file cannot be read to its end: {error}", source=str(path)) from error
    return found


def _whole_lines(block: bytes, file: Any, path: Path) -> bytes:
    """A block and what follows it up to the end of its line."""
    if not block.endswith(b"\n"):
        block += file.readline()
    return block


def _as_array(block: bytes) -> np.ndarray:
    return np.frombuffer(block, dtype=np.uint8)
