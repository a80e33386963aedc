"""Reading tables from files: CSV, ARFF and Parquet, gzipped or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk.data.coding import CodedColumn, without_index
from bntk.data.csv_files import Request, read_csv
from bntk.data.label_types import Kind
from bntk.data.table import Table, Unseen
from bntk.data.text_files import Unpacking
from bntk.data.variable import Variable, checked_variables
from bntk.errors import DataError, ParseError

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_READ_LESS = "read fewer columns (columns=[...]), or a file with fewer rows"
_BYTES_A_CELL = 4  # of a Parquet file as it is read: a code, or a small number


@says_what_to_do(_READ_LESS)
def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sep: str | None = None,
    missing: Iterable[str] = ("",),
    encoding: str = "utf-8",
    decimal: str = ".",
    columns: Iterable[str] | None = None,
    types: Mapping[str, Kind] | Kind | None = None,
    variables: Iterable[Variable] | None = None,
    unseen: Unseen = "missing",
    max_unpacked: float | None = None,
) -> Table:
    """Read a table from a file.

    Parameters
    ----------
    path : path
        The file. Its suffix determines the format: ``.csv``, ``.tsv``, ``.txt`` (delimited text with a header line),
        ``.arff``, ``.parquet`` or ``.pq``. Text may be gzipped, as in ``.csv.gz``. A first column without a name that
        numbers the rows, as pandas and R write it, is left out, with a warning; the index without a name that pandas
        writes to Parquet is no column either.
    format : {"csv", "arff", "parquet"}, optional
        The format, whatever the suffix.
    sep : str, optional
        One character between the fields of a CSV file. By default a tab for ``.tsv``; otherwise the first of
        comma, semicolon, tab and bar that is in the header line.
    missing : iterable of str
        How missing values are written in a CSV file. By default only the empty cell is one, because ``NA`` or ``None``
        may be names of states; ``missing=("", "NA", "?")`` adds two others. ARFF always has ``?``.
    encoding : str
        Of a CSV file, as Python names it; ``"latin-1"`` is common for files of older programs.
    decimal : {".", ","}
        The decimal mark of numbers in a CSV file.
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
    max_unpacked : float, optional
        How many bytes a packed file (gzip, Parquet, sparse ARFF) may become before it is refused. By default 64 MiB, or
        200 times the size of the file where that is more; ``math.inf`` allows any number.

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
    known = None if variables is None else checked_variables(variables)
    wanted = None if columns is None else _checking.names("columns", columns, "names of columns", DataError)
    if known is not None:
        wanted = [variable.name for variable in known]
    missing = frozenset(_checking.text("each of missing", text) for text in _checking.names("missing", missing))
    file = _checking.path("path", path)
    request = Request(file, sep, missing, wanted, types, encoding, decimal, max_unpacked=max_unpacked)
    return Table._from_coded(_read(request, format), known, unseen)


@says_what_to_do(_READ_LESS)
def read_columns(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    sep: str | None = None,
    missing: Iterable[str] = ("",),
    encoding: str = "utf-8",
    decimal: str = ".",
    max_unpacked: float | None = None,
) -> list[CodedColumn]:
    """The columns of a file with their labels, as :func:`read_table` reads them, but with any number of labels.

    So columns of measurements can be read, which are too many numbers for the states of a variable.
    """
    any_number = 1 << 31
    request = Request(Path(path), sep, frozenset(missing), None, None, encoding, decimal, any_number, max_unpacked)
    return list(_read(request, format))


def _read(request: Request, format: str | None) -> Iterable[CodedColumn]:
    format = _format_of(request.path) if format is None else format
    readers: dict[str, Callable[[Request], Iterable[CodedColumn]]]
    readers = {"csv": read_csv, "arff": _read_arff, "parquet": _read_parquet}
    _checking.one_of("format", format, readers)
    if format != "csv" and not request.fits_any_format:
        raise ValueError(f"sep=, types=, encoding= and decimal= are for CSV files, not for {format}")
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


# -------------------------------------------------------------------- ARFF and Parquet


def _read_arff(request: Request) -> Iterable[CodedColumn]:
    from bntk.data.arff import read_arff

    arff = read_arff(request.path, request.most, request.max_unpacked)
    by_name = {column.name: column for column in arff.columns}
    return [by_name[name] for name in request.choose(list(by_name))]


def _read_parquet(request: Request) -> Iterable[CodedColumn]:
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
        wanted = request.choose(schema.names if request.wanted else without_index(schema.names))
        with parquet.ParquetFile(request.path, read_dictionary=texts) as file:
            n_rows, unpacking = file.metadata.num_rows, Unpacking(request.path, request.max_unpacked)
            unpacking.check(n_rows * len(wanted) * _BYTES_A_CELL, f"{n_rows:,} rows of {len(wanted):,} columns have")
            table = file.read(columns=wanted)
        table.validate(full=True)  # a damaged file may have codes of labels that it has not
    except (pa.ArrowException, OSError, IndexError, UnicodeDecodeError) as error:
        raise ParseError(f"not a Parquet file that can be read: {error}", source=str(request.path)) from error
    plain = set(texts)
    try:
        return [code_arrow(name, table.column(name), declared=name not in plain) for name in wanted]
    except UnicodeDecodeError as error:
        raise ParseError(f"a label is not UTF-8 text: {error}", source=str(request.path)) from error
