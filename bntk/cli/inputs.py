"""The inputs of the command: rows, networks, classifiers, structures, evidence. Unknown names are refused by name."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import bntk
from bntk.cli.command import UsageError
from bntk.cli.output import note, shortened, suffix_of
from bntk.data.coding import CodedColumn
from bntk.data.readers import read_columns
from bntk.data.table import Table
from bntk.data.variable import is_missing, natural_order
from bntk.errors import DataError, ParseError, UnknownNameError, did_you_mean
from bntk.io.files import naming

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bntk.data.numbers import Reading
    from bntk.data.variable import Variable
    from bntk.graph.dag import DAG
    from bntk.network import BayesianNetwork

NO_VARIABLE = "the network has no variable"
DATA_SUFFIXES = (".csv", ".tsv", ".txt", ".arff", ".parquet", ".pq")


# ---- rows ----------------------------------------------------------------------------------------------------------


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
    source, columns = "standard input" if options.data == "-" else options.data, _read(options)
    data = Data(source, {column.name: column for column in columns})
    data.require(options.ignore)
    data = Data(source, {name: column for name, column in data.columns.items() if name not in options.ignore})
    if not data.columns:
        raise DataError(f"{source}: --ignore leaves no columns")
    if data.n_rows == 0:
        raise DataError(f"{source} has a header but no rows; at least one row is needed")
    return data


def _read(options: Namespace) -> list[CodedColumn]:
    source = options.data
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


def spreadsheet_advice(source: str) -> str:
    """What to do with the file of a spreadsheet program; empty for other files."""
    is_sheet = suffix_of(source) in (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
    return "; save the sheet as CSV in the spreadsheet program, and give that file" if is_sheet else ""


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


# ---- networks, classifiers, structures -----------------------------------------------------------------------------


def embedded() -> tuple[str, ...]:
    """The names of the networks that come with the package."""
    from bntk import datasets

    return tuple(datasets.names())


def load_model(source: str) -> Any:
    """A network or a classifier from a file, or an embedded network; a file goes before an embedded name."""
    if not Path(source).exists():
        if source in embedded():
            from bntk import datasets

            return datasets.network(source)
        if not Path(source).suffix:
            raise DataError(
                f"{source!r} is neither a file nor an embedded network ({shortened(embedded(), 20)})"
                + did_you_mean(source, embedded())
            )
    return bntk.load(source)


def is_network(model: Any) -> bool:
    """Whether it is a network, and no classifier."""
    from bntk.network import BayesianNetwork

    return isinstance(model, BayesianNetwork)


def load_network(source: str) -> BayesianNetwork:
    """A network; of a classifier, the network that it has learned."""
    model = load_model(source)
    if is_network(model):
        return model
    network = getattr(model, "network_", None)
    if network is None:
        raise DataError(f"{source} is a classifier ({type(model).__name__}) that is not a single network")
    return network


def load_structure(source: str) -> tuple[DAG, BayesianNetwork | None]:
    """A structure from a network, which comes along, or from text such as ``a -> b <- c``."""
    if ("->" in source or "<-" in source or source.lstrip().startswith("[")) and not Path(source).exists():
        from bntk.graph.dag import DAG

        return DAG.parse(source), None
    network = load_network(source)
    return network.dag, network


# ---- evidence ------------------------------------------------------------------------------------------------------


def check_names(names: Iterable[str], known: Sequence[str], no_such: str) -> None:
    """Refuse names that are not known."""
    for name in names:
        if name not in known:
            raise unknown_name(name, known, no_such)


def unknown_name(name: str, known: Sequence[Any], no_such: str) -> UnknownNameError:
    """The error for a name that is not known, in the words given, with the one that may be meant."""
    return UnknownNameError(f"{no_such} {name!r}{did_you_mean(name, known)} (it has {shortened(known, 12)})")


def given(network: BayesianNetwork, words: Sequence[str]) -> dict[str, Any]:
    """Findings such as ``xray=yes``; ``size=small,middle`` is one of the two."""
    found: dict[str, Any] = {}
    for name, value in _named(network, "--given", words, "STATE"):
        variable = network.variable(name)
        if variable.find(value) is not None:
            found[name] = variable.states[variable.code(value)]
        else:
            found[name] = [_state(variable, part.strip()) for part in value.split(",")]
            found[name] = found[name][0] if len(found[name]) == 1 else found[name]
    return found


def soft(network: BayesianNetwork, words: Sequence[str]) -> dict[str, list[float]]:
    """Likelihoods such as ``xray=0.2,0.8``."""
    found: dict[str, list[float]] = {}
    for name, value in _named(network, "--soft", words, "NUMBERS"):
        variable = network.variable(name)
        try:
            found[name] = [float(part) for part in value.split(",")]
        except ValueError:
            found[name] = []
        if len(found[name]) != variable.n_states:
            raise DataError(
                f"--soft {name}={value}: give a number for each state of {name!r}, in the order "
                f"{shortened(variable.states, 12)}"
            )
    return found


def _named(network: BayesianNetwork, option: str, words: Sequence[str], value: str) -> Iterable[tuple[str, str]]:
    """The name and value of each word; a name that is there twice is refused."""
    found: dict[str, str] = {}
    for word in words:
        name, text = _split(network, word, value)
        if name in found:
            raise UsageError(
                f"{option} has {name!r} twice, {name}={found[name]} and {name}={text}; give one finding per variable "
                f"({name}=A,B means one of the two)"
            )
        found[name] = text
    return found.items()


def _split(network: BayesianNetwork, word: str, value: str) -> tuple[str, str]:
    """Name and value; a name may itself have an equals sign in it."""
    if "=" not in word:
        raise DataError(f"expected NAME={value}, got {word!r}")
    pieces = word.split("=")
    for k in range(1, len(pieces)):
        if "=".join(pieces[:k]) in network.names:
            return "=".join(pieces[:k]), "=".join(pieces[k:])
    raise unknown_name(pieces[0], network.names, NO_VARIABLE)


def _state(variable: Variable, text: str) -> Any:
    code = variable.find(text)
    if code is None:
        raise unknown_name(text, variable.states, f"{variable.name!r} has no state")
    return variable.states[code]
