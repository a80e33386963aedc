"""Reading CSV files: their header, separator, encoding and decimal mark, and the numbers of rows that programs add."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bntk import _checking
from bntk._warnings import warn
from bntk.data.coding import CodedColumn, check_column_names, lacking_columns
from bntk.data.label_types import Kind, has_decimal_commas, typed_labels
from bntk.data.text_files import line_at, next_line, read_bytes
from bntk.data.variable import State, format_states, natural_order
from bntk.errors import ColumnWarning, DataError, ParseError

_SEPARATORS = ",;\t|"
_LINE_FEED, _QUOTE = 10, 34
_OTHER_ENCODING = '; if it is of an older program, read it with encoding="latin-1"'


@dataclass(frozen=True)
class Request:
    """The arguments of :func:`bntk.read_table`."""

    path: Path
    sep: str | None
    missing: frozenset[str]
    wanted: list[str] | None
    types: Mapping[str, Kind] | Kind | None
    encoding: str = "utf-8"
    decimal: str = "."
    most: int | None = None  # distinct values of a column; by default as many as a variable may have states
    max_unpacked: float | None = None  # bytes

    def __post_init__(self) -> None:
        _checking.one_of("decimal", self.decimal, (".", ","))
        _checking.text("encoding", self.encoding, "a string such as 'utf-8'")
        if self.sep is not None:
            _check_separator(self.sep)
            if self.sep == self.decimal:
                raise ValueError(f"sep and decimal are both {self.sep!r}; they must differ")

    @property
    def fits_any_format(self) -> bool:
        """Whether nothing is said about a CSV file."""
        return self.sep is None and self.types is None and (self.encoding, self.decimal) == ("utf-8", ".")

    def choose(self, names: Sequence[str]) -> list[str]:
        """The columns to read, of those that the file has."""
        check_column_names(names)
        if self.wanted is None:
            return list(names)
        if not self.wanted:
            raise DataError("the list of columns is empty; name at least one")
        check_column_names(self.wanted)
        known = set(names)
        lacking = [name for name in self.wanted if name not in known]
        if lacking:
            raise lacking_columns(lacking, names)
        return self.wanted


def read_csv(request: Request) -> list[CodedColumn]:
    """The columns of a CSV file; labels in natural order."""
    from bntk.data.tokens import MOST_LABELS, label_texts, tokenize

    source = str(request.path)
    data = _as_utf8(read_bytes(request.path, request.max_unpacked), request)
    start = 3 if data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    header, sep, start = _read_header(data, start, request)
    names = _without_row_numbers(header, data, start, sep, request)
    wanted = request.choose(names)
    _check_types(request.types, names)
    place = {name: position for position, name in enumerate(wanted)}
    column_of = np.array([place.get(name, -1) for name in header], dtype=np.int64)
    tokens = tokenize(data, start, ord(sep), _QUOTE, column_of, request.most or MOST_LABELS, wanted, source)
    texts = [label_texts(data, tokens, column, source, advice=_OTHER_ENCODING) for column in range(len(wanted))]
    _warn_of_commas(wanted, texts, request)
    parts = [
        _ordered(own, typed_labels(name, own, request.missing, _type_for(name, request.types), request.decimal))
        for name, own in zip(wanted, texts, strict=True)
    ]
    dtype = np.min_scalar_type(max((len(states) for states, _, _ in parts), default=0))
    codes = tokens.codes([order for _, order, _ in parts], dtype)
    return [
        CodedColumn(name, [*states, None], row, all_used=True, texts=[*written, ""])
        for name, row, (states, _, written) in zip(wanted, codes, parts, strict=True)
    ]


def _as_utf8(data: np.ndarray, request: Request) -> np.ndarray:
    """The bytes of the file in UTF-8."""
    try:
        if codecs.lookup(request.encoding).name == "utf-8":
            return data
        return np.frombuffer(data.tobytes().decode(request.encoding).encode(), dtype=np.uint8)
    except LookupError:
        raise ValueError(f"encoding={request.encoding!r} is not known to Python; try 'utf-8' or 'latin-1'") from None
    except UnicodeDecodeError as error:
        where = line_at(data, error.start)
        raise ParseError(f"not {request.encoding} text: {error.reason}", source=str(request.path), line=where) from None


# ---- numbers of rows -------------------------------------------------------------------------------------------------


def _without_row_numbers(header: list[str], data: np.ndarray, start: int, sep: str, request: Request) -> list[str]:
    """The names of the columns but a first one without a name, which pandas and R write to number the rows."""
    if header[0].strip() or len(header) == 1:
        return header
    if request.wanted is None:
        if not _numbers_rows(data, start, sep):
            raise DataError(
                "column 1 has no name, and does not number the rows; name it in the header line, or "
                "name the columns to read (columns=[...])"
            )
        warn("the first column has no name and numbers the rows; it is left out", ColumnWarning)
    return header[1:]


def _numbers_rows(data: np.ndarray, start: int, sep: str) -> bool:
    """Whether the first fields of the records are 0, 1, 2 ... or 1, 2, 3 ..., quoted or not."""
    ends = start + np.flatnonzero(data[start:] == _LINE_FEED)
    starts = np.concatenate([[start], ends + 1])
    starts = starts[starts < len(data)]
    if not starts.size:
        return True
    quoted = int(data[starts[0]] == _QUOTE)
    if starts[0] + quoted >= len(data):
        return False
    first = int(data[starts[0] + quoted]) - ord("0")
    if first not in (0, 1):
        return False
    if _counts_from(first, data, starts + quoted, _QUOTE if quoted else ord(sep)):
        return True
    if not (data[start:] == _QUOTE).any():
        return False
    # A quoted field may hold line ends, so that lines are not records.
    records = csv.reader(io.StringIO(data[start:].tobytes().decode(errors="replace"), newline=""), delimiter=sep)
    numbers = (record[0] for record in records if record)
    try:
        return all(text == str(place) for place, text in enumerate(numbers, start=first))
    except csv.Error:
        return False


def _counts_from(first: int, data: np.ndarray, starts: np.ndarray, behind: int) -> bool:
    """Whether the n-th place has the digits of ``first`` + n and then the character ``behind``."""
    numbers = first + np.arange(len(starts))
    for n_digits in range(1, len(str(numbers[-1])) + 1):
        mine = (numbers >= 10 ** (n_digits - 1) * (n_digits > 1)) & (numbers < 10**n_digits)
        at, rest = starts[mine], numbers[mine]
        if at.size and at[-1] + n_digits >= len(data):
            return False
        if not (data[at + n_digits] == behind).all():
            return False
        for place in range(n_digits - 1, -1, -1):
            rest, digit = np.divmod(rest, 10)
            if not (data[at + place] == digit + ord("0")).all():
                return False
    return True


def _warn_of_commas(names: Sequence[str], texts: Sequence[Sequence[str]], request: Request) -> None:
    """Name the columns that look like numbers with decimal commas, which are read as labels."""
    if request.decimal == "," or request.types is not None:
        return
    commas = [name for name, own in zip(names, texts, strict=True) if has_decimal_commas(own, request.missing)]
    if commas:
        warn(
            f"the columns {format_states(commas)} look like numbers with decimal commas, and are read as labels; "
            'read them with decimal=","',
            ColumnWarning,
        )


# ---- header and labels -----------------------------------------------------------------------------------------------


def _check_types(types: Mapping[str, Kind] | Kind | None, names: Sequence[str]) -> None:
    if isinstance(types, Mapping) and not set(types) <= set(names):
        raise lacking_columns([name for name in types if name not in set(names)], names)
    for kind in types.values() if isinstance(types, Mapping) else [types]:
        if not any(kind is known for known in (None, str, int, float, bool)):
            raise ValueError(f"types must be str, int, float or bool, not {kind!r}")


def _type_for(name: str, types: Mapping[str, Kind] | Kind | None) -> Kind | None:
    return types.get(name) if isinstance(types, Mapping) else types


def _ordered(texts: Sequence[str], labels: Sequence[State]) -> tuple[list[State], np.ndarray, list[str]]:
    """States in natural order, the code of each label (missing ones last), and how each state is written."""
    written = {label: text for text, label in zip(texts, labels, strict=True) if label is not None}
    states = natural_order(written)
    code = {state: i for i, state in enumerate(states)}
    order = np.array([len(states) if label is None else code[label] for label in labels], dtype=np.int64)
    return states, order, [written[state] for state in states]


def _read_header(data: np.ndarray, start: int, request: Request) -> tuple[list[str], str, int]:
    """Names, the separator, and where the first record starts."""
    source, number, end = str(request.path), 0, start
    line = b"\n"
    while not line.strip(b"\r\n"):
        if end >= len(data):
            raise ParseError("the file is empty; the first line must name the columns", source=source)
        line, end = next_line(data, end)
        number += 1
    sep = _guess_separator(request.path, line) if request.sep is None else request.sep
    _check_separator(sep)
    try:
        try:
            names = _split_header(line, sep)
        except csv.Error:  # perhaps a line end inside quotes, which are closed where their number is even
            lines, quotes = [line], line.count(b'"')
            while quotes % 2 and end < len(data):
                line, end = next_line(data, end)
                lines.append(line)
                quotes += line.count(b'"')
            names = _split_header(b"".join(lines), sep)
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8 text{_OTHER_ENCODING}", source=source, line=number) from error
    except csv.Error as error:
        what = "lines must end with a line feed" if "new-line" in str(error) else str(error)
        raise ParseError(f"the header cannot be read: {what}", source=source, line=number) from error
    return names, sep, end


def _split_header(line: bytes, sep: str) -> list[str]:
    # Without the line end: the csv module would take a carriage return in a field for one.
    [names] = csv.reader([line.decode().rstrip("\r\n")], delimiter=sep, strict=True)
    return names


def _guess_separator(path: Path, header: bytes) -> str:
    if ".tsv" in [suffix.lower() for suffix in path.suffixes[-2:]]:
        return "\t"
    return next((sep for sep in _SEPARATORS if sep.encode() in header), ",")


def _check_separator(sep: str) -> None:
    if not isinstance(sep, str) or len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0':
        raise ValueError(f"sep must be one ASCII character, and no quote or line end; got {sep!r}")
