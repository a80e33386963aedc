"""How the columns of X become the features of a classifier: learned on training rows once, applied to any rows.

A column of text, truth values or categories is a discrete feature with its values as states. A column of numbers is cut
into intervals, is taken as it is (its distinct numbers are the states), or stays a number, for classifiers that have a
density for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.data.coding import check_column_names
from bntk.data.columns import code_column, columns_of_frame, numbers_of
from bntk.data.cuts import checked_cuts, code_columns, interval_names, learn_cuts
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.variable import Variable
from bntk.errors import DataError

#: Ways to cut numbers into intervals.
CUTTING = ("mdl", "width", "frequency")
#: Ways to leave numbers what they are.
CONTINUOUS = ("gaussian", "kde", "multinomial")

Column = tuple[str, Any]
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """Rows of X, read: a table of the discrete features, and the numbers (a row each) of the continuous ones."""

    table: Table
    numbers: Floats


@dataclass(frozen=True)
class Features:
    """The features of a fitted classifier.

    Attributes
    ----------
    names : tuple of str
        The columns of X, in order.
    seen : tuple of Variable
        The discrete features, in order, with the states that were seen.
    open : frozenset of str
        Those of them for which being missing is one more state.
    cuts : dict of str to ndarray
        The cut points of those that were numbers.
    continuous : dict of str to str
        The features that stay numbers, and how they are modelled.
    """

    names: tuple[str, ...]
    seen: tuple[Variable, ...]
    open: frozenset[str]
    cuts: dict[str, Floats]
    continuous: dict[str, str]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The discrete features, in order."""
        if not self.open:
            return self.seen
        return tuple(_with_missing_state(v) if v.name in self.open else v for v in self.seen)

    def _check(self) -> None:
        """Refuse what was read from a file if its parts do not fit together."""
        check_column_names(self.names)
        discrete = {v.name: v for v in self.seen}
        if [name for name in self.names if name in discrete] != [v.name for v in self.seen]:
            raise DataError("the discrete features are not among the columns, or in another order")
        if [name for name in self.names if name not in discrete] != list(self.continuous):
            raise DataError("each column must be either a discrete or a continuous feature")
        if not {*self.continuous.values()} <= {*CONTINUOUS}:
            raise DataError(f"continuous features are {', '.join(CONTINUOUS)}, not {[*self.continuous.values()][:8]}")
        if not {*self.open, *self.cuts} <= {*discrete}:
            raise DataError("there are cut points or open states for what is no discrete feature")
        for name, points in self.cuts.items():
            if points.shape != (discrete[name].n_states - 1,) or not np.array_equal(checked_cuts(points), points):
                raise DataError(f"the cut points of {name!r} do not give its {discrete[name].n_states} states")

    @classmethod
    def learn(
        cls,
        X: Any,
        classes: NDArray[np.int64],
        n_classes: int,
        weights: Floats | None = None,
        numeric: str | Mapping[str, Any] = "mdl",
        n_bins: int = 10,
        missing_is_state: bool = False,
    ) -> tuple[Features, Rows]:
        """The features of training rows, and these rows, read.

        With ``missing_is_state``, being missing is one more state of each feature with a missing cell.
        """
        columns = columns_of(X)
        as_labels = isinstance(X, Table) or (isinstance(numeric, str) and numeric == "category")
        numbers = {} if as_labels else _columns_of_numbers(columns)
        ways = _ways(numeric, [name for name, _ in columns], numbers)
        cuts = _cut_points(ways, numbers, classes, n_classes, weights, n_bins)
        continuous = {name: way for name, way in ways.items() if isinstance(way, str) and way in CONTINUOUS}
        labels = _labelled(columns, cuts, continuous)
        states = dict(zip(labels.names, labels.variables, strict=True)) if labels is not None else {}
        for name, points in cuts.items():
            states[name] = Variable(name, interval_names(points), ordered=True)
        names = tuple([name for name, _ in columns])
        seen = tuple([states[name] for name in names if name in states])
        features = cls(names, seen, frozenset(), cuts, continuous)
        rows = features._rows(labels, numbers, len(classes))
        if not missing_is_state:
            return features, rows
        incomplete = zip(rows.table.names, rows.table.has_missing, strict=True)
        features = replace(features, open=frozenset(name for name, has_missing in incomplete if has_missing))
        return features, Rows(features._as_table(rows.table.codes), rows.numbers)

    def read(self, X: Any, unseen: Unseen = "missing") -> Rows:
        """Other rows, coded as the training rows were; a value that was not seen there is missing, or refused."""
        columns = dict(columns_of(X, self.names))
        numbers = {name: numbers_of(columns[name]) for name in (*self.cuts, *self.continuous)}
        for name, column in numbers.items():
            if column is None and not len(self.cuts.get(name, (0,))):  # constant, whatever it holds
                numbers[name] = np.full(len(columns[name]), np.nan)
            elif column is None:
                raise DataError(f"column {name!r} held numbers when the classifier was fitted, but does not now")
        known = [v for v in self.seen if v.name not in self.cuts]
        labels = _coded([(v.name, columns[v.name]) for v in known], known, unseen)
        n_rows = labels.n_rows if labels is not None else len(next(iter(numbers.values())))  # type: ignore[arg-type]
        return self._rows(labels, numbers, n_rows)

    def _rows(self, labels: Table | None, numbers: Mapping[str, Any], n_rows: int) -> Rows:
        kept = np.array([numbers[name] for name in self.continuous], dtype=np.float64)
        kept = kept.reshape(len(self.continuous), n_rows)
        if labels is not None and not self.cuts:
            return Rows(self._as_table(labels.codes), kept)
        codes = np.empty((len(self.variables), n_rows), dtype=code_dtype(self.variables))
        at = {v.name: i for i, v in enumerate(self.variables)}
        if self.cuts:
            cut = code_columns([numbers[name] for name in self.cuts], list(self.cuts.values()), codes.dtype)
            codes[[at[name] for name in self.cuts]] = cut
        for name in labels.names if labels is not None else ():
            codes[at[name]] = labels.column(name)  # type: ignore[union-attr]
        return Rows(self._as_table(codes), kept)

    def _as_table(self, codes: NDArray[Any]) -> Table:
        """A table of codes. The code of a missing cell, one past the last state, is that of the state after it."""
        return Table._make(codes.astype(code_dtype(self.variables), copy=False), self.variables)


def _with_missing_state(variable: Variable) -> Variable:
    label = "missing"
    while label in variable.states:
        label += "_"
    return Variable(variable.name, (*variable.states, label))


def columns_of(X: Any, names: Sequence[str] | None = None) -> list[Column]:
    """The names and native columns of X; those of an array are ``x0``, ``x1`` ..., or as given."""
    if isinstance(X, Table):
        columns = X.coded_columns()
    elif isinstance(X, Mapping):
        columns = [(str(name), column) for name, column in X.items()]
    elif isinstance(X, np.ndarray):
        columns = list(zip(names or [f"x{i}" for i in range(X.shape[1])], X.T, strict=True))
    else:
        columns = columns_of_frame(X)
    check_column_names([name for name, _ in columns])
    return columns


def _columns_of_numbers(columns: Sequence[Column]) -> dict[str, Floats]:
    found = {name: numbers_of(column) for name, column in columns}
    return {name: column for name, column in found.items() if column is not None}


def _ways(numeric: str | Mapping[str, Any], names: Sequence[str], numbers: Mapping[str, Floats]) -> dict[str, Any]:
    """What to do with each column of numbers: a word, or its cut points."""
    if isinstance(numeric, Mapping):
        unknown = [name for name in numeric if name not in names]
        if unknown:
            raise DataError(f"numeric names the column {unknown[0]!r}, which X does not have; it has {list(names)}")
        labelled = [name for name in numeric if name not in numbers]
        if labelled:
            raise DataError(f"numeric names the column {labelled[0]!r}, which does not hold numbers")
        ways = {name: numeric.get(name, "mdl") for name in numbers}
    else:
        ways = dict.fromkeys(numbers, numeric)
    known = (*CUTTING, *CONTINUOUS, "bernoulli", "category")
    for name, way in ways.items():
        if isinstance(way, str) and way not in known:
            raise ValueError(
                f"numeric={way!r} (column {name!r}) is not known; the choices are {', '.join(known)}, or a mapping of "
                "column to one of these or to cut points"
            )
    return ways


def _cut_points(
    ways: Mapping[str, Any], numbers: Mapping[str, Floats], classes: NDArray[np.int64], n_classes: int,
    weights: Floats | None, n_bins: int,
) -> dict[str, Floats]:  # fmt: skip
    cuts: dict[str, Floats] = {}
    for way in CUTTING:
        chosen = [name for name in ways if isinstance(ways[name], str) and ways[name] == way]
        if chosen:
            columns = [numbers[name] for name in chosen]
            points = learn_cuts(columns, way, classes=classes, weights=weights, n_bins=n_bins, n_classes=n_classes)
            cuts.update(zip(chosen, points, strict=True))
    for name, way in ways.items():
        if isinstance(way, str) and way == "bernoulli":
            cuts[name] = np.zeros(1)  # present or absent
        elif not isinstance(way, str):
            cuts[name] = np.unique(np.asarray(way, dtype=np.float64))
    return {name: cuts[name] for name in numbers if name in cuts}


def _labelled(columns: Sequence[Column], cuts: Mapping[str, Any], continuous: Mapping[str, Any]) -> Table | None:
    return _coded([(name, column) for name, column in columns if name not in cuts and name not in continuous])


def _coded(
    columns: Sequence[Column], variables: Sequence[Variable] | None = None, unseen: Unseen = "missing"
) -> Table | None:
    """A table of columns, or None when there are none."""
    if not columns:
        return None
    return Table._from_coded([code_column(name, column) for name, column in columns], variables, unseen)
