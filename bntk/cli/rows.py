"""The rows that a command reads: a file of columns, as variables, as a data frame, or cell by cell."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk.cli.command import UsageError
from bntk.cli.inputs import DATA_SUFFIXES, check_names, spreadsheet_advice
from bntk.cli.output import note, shortened, suffix_of
from bntk.data.coding import CodedColumn
from bntk.data.label_types import typed_labels
from bntk.data.readers import read_columns
from bntk.data.table import Table
from bntk.data.variable import is_missing, natural_order
from bntk.errors import DataError, ParseError
from bntk.io.files import naming

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bntk.data.numbers import Reading
    from bntk.network import BayesianNetwork


@dataclass(frozen=True)
class Data:
    """Rows from a file; a column may hold measurements, which are no states of a variable."""

    source: str
    columns: dict[str, CodedColumn]
    _states: dict[str, list[Any]] = field(default_factory=dict, repr=False)  # sorting many numbers takes a while

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.columns)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())).codes)

    def require(self, names: Iterable[str], what: str = "column") -> None:
        """Refuse names of columns that the file does not have."""
        check_names(names, self.names, f"{self.source} has no {what}")

    def states(self, name: str) -> list[Any]:
        """The different values of a column, in order."""
        if name not in self._states:
            column = self.columns[name]
            values = dict.fromkeys(label for label in column.labels if not is_missing(label))
            self._states[name] = list(values) if column.declared else natural_order(values)
        return self._states[name]

    def is_numeric(self, name: str) -> bool:
        """Whether a column holds numbers; so does one in which every cell is missing."""
        return are_numbers(self.states(name))

    def is_known(self, name: str) -> NDArray[np.bool_]:
        """Which cells of a column are there."""
        return ~np.append([is_missing(label) for label in self.columns[name].labels], True)[self._codes(name)]

    def table(self, names: Sequence[str] | None = None, *, reading: Reading) -> Table:
        """These columns as variables."""
        return reading.table([(name, self.columns[name]) for name in names or self.names])

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """These columns as a data frame: numbers as numbers, and labels as they are."""
        import pandas as pd

        return pd.DataFrame({name: self._values(name) for name in names}, index=pd.RangeIndex(self.n_rows))

    def cells(self, name: str) -> NDArray[Any]:
        """A column cell by cell, None where one is missing."""
        labels = [None if is_missing(label) else label for label in self.columns[name].labels]
        values = np.empty(len(labels) + 1, dtype=object)
        values[:] = [*labels, None]
        return values[self._codes(name)]

    def _codes(self, name: str) -> NDArray[np.intp]:
        """Places among the labels; -1, that of the last one, where a cell is missing."""
        return self.columns[name].codes.astype(np.intp)

    def _values(self, name: str) -> Any:
        import pandas as pd

        column, codes = self.columns[name], self._codes(name)
        labels = [None if is_missing(label) else label for label in column.labels]
        if self.is_numeric(name):
            numbers = np.array([np.nan if label is None else label for label in (*labels, None)], dtype=np.float64)
            whole = all(label is None or isinstance(label, int) for label in labels) and self.is_known(name).all()
            return numbers[codes].astype(np.int64) if whole else numbers[codes]
        if column.declared:
            states = self.states(name)
            place = {state: k for k, state in enumerate(states)}
            at = np.array([-1 if label is None else place[label] for label in (*labels, None)])
            return pd.Categorical.from_codes(at[codes], categories=pd.Index(states), ordered=column.ordered)
        return self.cells(name)


def read_data(options: Namespace) -> Data:
    """The file of rows that the options name."""
    source, columns = "standard input" if options.data == "-" else options.data, _read_all(options)
    data = Data(source, {column.name: column for column in columns})
    data.require(options.ignore)
    data = Data(source, {name: column for name, column in data.columns.items() if name not in options.ignore})
    if not data.columns:
        raise DataError(f"{source}: --ignore leaves no columns")
    if data.n_rows == 0:
        raise DataError(f"{source} has a header but no rows; at least one row is needed")
    return data


def _read_all(options: Namespace) -> list[CodedColumn]:
    """The columns of the file, or of several files one below the other."""
    files = getattr(options, "files", None) or [options.data]
    parts = [_read(options, str(file)) for file in files]
    if len(parts) == 1:
        return parts[0]
    names = [column.name for column in parts[0]]
    for file, part in zip(files, parts, strict=True):
        check_names(names, [column.name for column in part], f"{file} has no column")
    by_name = [{column.name: column for column in part} for part in parts]
    return [_below([part[name] for part in by_name]) for name in names]


def _below(parts: Sequence[CodedColumn]) -> CodedColumn:
    """One column below the other; columns of text files have the type that all their labels fit."""
    first = parts[0]
    kinds = {type(label) for part in parts for label in part.labels if not is_missing(label)}
    as_text = len(kinds) > 1 and all(part.texts is not None for part in parts)
    place: dict[Any, int] = {}
    codes = []
    for part in parts:
        labels: Sequence[Any] = part.labels
        if as_text:
            labels = [None if is_missing(v) else text for v, text in zip(part.labels, part.texts or ())]
        at = [len(place) if is_missing(v) else place.setdefault(v, len(place)) for v in labels]
        missing = [is_missing(v) for v in labels]
        lookup = np.array([-1 if gone else k for gone, k in zip(missing, at)] + [-1], dtype=np.int64)
        codes.append(np.take(lookup, part.codes.astype(np.int64), mode="wrap"))
    found: list[Any] = [*place]
    if as_text:
        found = typed_labels(first.name, found, ())
    return CodedColumn(first.name, found, np.concatenate(codes), first.declared, first.ordered)


def _read(options: Namespace, source: str) -> list[CodedColumn]:
    settings: dict[str, Any] = {"missing": ("", *options.na)}
    if options.sep is not None:
        settings["sep"] = {"\\t": "\t", "tab": "\t"}.get(options.sep, options.sep)
    given = {name: getattr(options, name) for name in ("encoding", "decimal", "max_unpacked")}
    settings |= {name: value for name, value in given.items() if value is not None}
    try:
        if source == "-":
            return _read_standard_input(settings)
        if suffix_of(source) not in DATA_SUFFIXES:
            raise DataError(
                f"the suffix is no format of rows; the known ones are {', '.join(DATA_SUFFIXES)}, and - is CSV from "
                f"standard input{spreadsheet_advice(source)}"
            )
        return read_columns(source, **settings)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    except ParseError:
        raise
    except ValueError as error:  # of a setting
        raise UsageError(str(error)) from None


def _read_standard_input(settings: dict[str, Any]) -> list[CodedColumn]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        with naming(folder):
            path.write_bytes(sys.stdin.buffer.read())
        try:
            return read_columns(path, **settings)
        except ParseError as error:
            raise ParseError(error.message, source="standard input", line=error.line, column=error.column) from None


def reading(options: Namespace) -> Reading:
    """How columns become variables where there is no class."""
    from bntk.data.numbers import N_BINS, WITHOUT_CLASS, Reading

    if options.numeric not in (None, "auto", *WITHOUT_CLASS):
        raise UsageError(f"--numeric {options.numeric} needs a --target; without one: auto, {', '.join(WITHOUT_CLASS)}")
    identifiers = (options.identifiers or "drop") if hasattr(options, "identifiers") else None  # bntk fit has none
    return Reading(options.numeric or "auto", options.bins or N_BINS, identifiers, _ADVICE)


_ADVICE = (
    "--numeric category makes each number a state, --numeric frequency or width with --bins other intervals, --ignore "
    "leaves a column out"
)


def are_numbers(states: Iterable[Any]) -> bool:
    """Whether all states are numbers, not labels or truth values."""
    return all(isinstance(state, (int, float)) and not isinstance(state, bool) for state in states)


def rows_for(network: BayesianNetwork, data: Data, names: Sequence[str]) -> Table:
    """Columns of the data for a network; numbers are cut where its states are intervals."""
    variables = [network.variable(name) for name in names]
    return Table._from_coded([data.columns[name] for name in names], variables, "missing")


def shared_columns(data: Data, wanted: Sequence[str], of: str) -> list[str]:
    """The columns that a model wants and the data have; a note tells which are not there."""
    there = [name for name in wanted if name in data.columns]
    lacking = [name for name in wanted if name not in data.columns]
    if not there and wanted:
        raise DataError(f"{data.source} has none of the columns of {of}: {shortened(wanted, 12)}")
    if lacking:
        note(f"{data.source} has no column {shortened([repr(n) for n in lacking])}: taken as missing in every row")
    return there


def features_frame(data: Data, features: Sequence[str], of: str) -> pd.DataFrame:
    """The columns that a classifier wants, in its order; those that the data do not have are missing in every row."""
    there = shared_columns(data, features, of)
    frame = data.frame(there)
    for name in features:
        if name not in there:
            frame[name] = np.nan
    return frame[list(features)]
