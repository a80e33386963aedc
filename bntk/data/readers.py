"""Reading tables from files: CSV, ARFF and Parquet, gzipped or not."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bntk.data.coding import CodedColumn, check_column_names, lacking_columns
from bntk.data.label_types import Kind, typed_labels
from bntk.data.table import Table, Unseen
from bntk.data.text_files import next_line, read_bytes
from bntk.data.variable import State, Variable, natural_order
from bntk.errors import DataError, ParseError

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class _Request:
    """The arguments of :func:`read_table`."""

    path: Path
    sep: str | None
    missing: frozenset[str]
    wanted: list[str] | None
    types: Mapping[str, Kind] | Kind | None
    most: int | None = None  # distinct values of a column; by default as many as a variable may have states

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


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sep: str | None = None,
    missing: Iterable[str] = ("",),
    columns: Iterable[str] | None = None,
    types: Mapping[str, Kind] | Kind | None = None,
    variables: Iterable[Variable] | None = None,
    unseen: Unseen = "missing",
) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    path : path
        The file. Its suffix determines the format: ``.csv``, ``.tsv``, ``.txt`` (delimited text with a header line,
        UTF-8), ``.arff``, ``.parquet`` or ``.pq``. Text may be gzipped, as in ``.csv.gz``.
    format : {"csv", "arff", "parquet"}, optional
        The format, whatever the suffix.
    sep : str, optional
        One character between the fields of a CSV file. By default a tab for ``.tsv``; otherwise the first of
        comma, semicolon, tab and bar that is in the header line.
    missing : iterable of str
        How missing values are written in a CSV file. By default only the empty cell is one, because ``NA`` or ``None``
        may be names of states; ``missing=("", "NA", "?")`` adds two others. ARFF always has ``?``.
    columns : iterable of str, optional
        Read these columns only, in this order.
    types : type or mapping from column to type, optional
        For CSV: ``str``, ``int``, ``float`` or ``bool``, instead of a guess from the labels. ``types=str`` keeps
        all labels as they are written. By default, labels that are all whole numbers become ``int`` (but not if one
        has leading zeros, as ``007``), all true or false ``bool``, all numbers ``float``, and ``str`` otherwise.
    variables : iterable of Variable, optional
        Code against these variables, in this order; other columns are not read.
    unseen : {"missing", "error"}
        Whether a value that is none of the states of ``variables`` is taken as missing, with one warning, or refused.

    Returns
    -------
    Table
        States are in natural order, or as declared (ARFF nominal, Parquet dictionary of a categorical column).

    Examples
    --------
    >>> import bntk, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "lawn.csv")
    ...     _ = path.write_text("rain,grass\\nno,dry\\nyes,wet\\nno,\\n")
    ...     bntk.read_table(path)
    Table: 3 rows x 2 variables, 16.7% of the cells missing
      rain   ['no', 'yes']
      grass  ['dry', 'wet']
    """
    known = None if variables is None else tuple(variables)
    wanted = None if columns is None else list(columns)
    if known is not None:
        wanted = [variable.name for variable in known]
    missing = frozenset([missing] if isinstance(missing, str) else missing)
    return Table._from_coded(_read(_Request(Path(path), sep, missing, wanted, types), format), known, unseen)


def read_columns(
    path: str | os.PathLike[str], *, format: str | None = None, sep: str | None = None, missing: Iterable[str] = ("",)
) -> list[CodedColumn]:
    """The columns of a file with their labels, as :func:`read_table` reads them, but with any number of labels.

    So columns of measurements can be read, which are too many numbers for the states of a variable.
    """
    any_number = 1 << 31
    return list(_read(_Request(Path(path), sep, frozenset(missing), None, None, any_number), format))


def _read(request: _Request, format: str | None) -> Iterable[CodedColumn]:
    format = format or _format_of(request.path)
    readers: dict[str, Callable[[_Request], Iterable[CodedColumn]]]
    readers = {"csv": _read_csv, "arff": _read_arff, "parquet": _read_parquet}
    if format not in readers:
        raise ValueError(f"format must be one of {', '.join(map(repr, readers))}, not {format!r}")
    if format != "csv" and (request.sep is not None or request.types is not None):
        raise ValueError(f"sep= and types= are for CSV files, not for {format}")
    return readers[format](request)


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = suffixes[-1] if suffixes else ""
    if suffix == ".gz" and len(suffixes) > 1 and _FORMATS.get(suffixes[-2]) != "parquet":
        suffix = suffixes[-2]
    if suffix not in _FORMATS:
        raise DataError(
            f"cannot tell the format of {str(path)!r} from its suffix; the known ones are {', '.join(_FORMATS)}, and "
            ".gz after those of text; or say format="
        )
    return _FORMATS[suffix]


# -------------------------------------------------------------------- CSV


def _read_csv(request: _Request) -> list[CodedColumn]:
    from bntk.data.tokens import MOST_LABELS, label_texts, tokenize

    source = str(request.path)
    data = read_bytes(request.path)
    start = 3 if data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    names, sep, start = _read_header(data, start, request)
    wanted = request.choose(names)
    _check_types(request.types, names)
    place = {name: position for position, name in enumerate(wanted)}
    column_of = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    tokens = tokenize(data, start, ord(sep), ord('"'), column_of, request.most or MOST_LABELS, wanted, source)
    parts = []
    for column, name in enumerate(wanted):
        texts = label_texts(data, tokens, column, source)
        parts.append(_ordered(texts, typed_labels(name, texts, request.missing, _type_for(name, request.types))))
    dtype = np.min_scalar_type(max((len(states) for states, _, _ in parts), default=0))
    codes = tokens.codes([order for _, order, _ in parts], dtype)
    return [
        CodedColumn(name, [*states, None], row, all_used=True, texts=[*written, ""])
        for name, row, (states, _, written) in zip(wanted, codes, parts, strict=True)
    ]


def _check_types(types: Mapping[str, Kind] | Kind | None, names: Sequence[str]) -> None:
    if isinstance(types, Mapping) and not set(types) <= set(names):
        raise lacking_columns([name for name in types if name not in set(names)], names)
    for kind in types.values() if isinstance(types, Mapping) else [types]:
        if kind not in (None, str, int, float, bool):
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


def _read_header(data: np.ndarray, start: int, request: _Request) -> tuple[list[str], str, int]:
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
        raise ParseError("not UTF-8 text", source=source, line=number) from error
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
    if len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0':
        raise ValueError(f"sep must be one ASCII character, and no quote or line end; got {sep!r}")


# -------------------------------------------------------------------- ARFF and Parquet


def _read_arff(request: _Request) -> Iterable[CodedColumn]:
    from bntk.data.arff import read_arff

    arff = read_arff(request.path, request.most)
    by_name = {column.name: column for column in arff.columns}
    return [by_name[name] for name in request.choose(list(by_name))]


def _read_parquet(request: _Request) -> Iterable[CodedColumn]:
    from bntk.data.columns import code_arrow

    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('reading Parquet needs pyarrow: pip install "bntk[arrow]"') from error
    with open(request.path, "rb"):
        pass  # a file that is not there is an error of its own
    try:
        schema = parquet.read_schema(request.path)
        # Text comes as codes and labels from the file itself; only categorical columns declare their states.
        texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        wanted = request.choose(schema.names)
        with parquet.ParquetFile(request.path, read_dictionary=texts) as file:
            table = file.read(columns=wanted)
    except (pa.ArrowException, OSError) as error:
        raise ParseError(f"not a Parquet file that can be read: {error}", source=str(request.path)) from error
    plain = set(texts)
    return [code_arrow(name, table.column(name), declared=name not in plain) for name in wanted]
