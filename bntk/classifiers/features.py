"""From the columns of X to the features of a classifier, and from y to its class.

What is learned on training rows once is applied to any rows.

A column of text, truth values or categories is a discrete feature with its values as states. A column of numbers is cut
into intervals, is taken as it is (its distinct numbers are the states), or stays a number, for classifiers that have a
density for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bntk._warnings import warn
from bntk.data.class_order import label_column
from bntk.data.coding import (
    CodedColumn,
    check_column_names,
    codes_in_use,
    declared_order,
    has_states,
    left_out,
)
from bntk.data.columns import code_column, columns_of, n_rows_of, numbers_of
from bntk.data.cuts import checked_cuts
from bntk.data.numbers import (
    CONTINUOUS,
    DRAWN,
    SMOOTH,
    WAYS,
    assembled,
    columns_of_numbers,
    columns_without_value,
    cut_points,
    smooth_way,
    variables_of,
    ways_of,
)
from bntk.data.table import Table, Unseen, code_dtype
from bntk.data.variable import State, Variable, format_states, is_missing, plain_state, plain_states
from bntk.errors import DataError

Floats = NDArray[np.float64]
Codes = NDArray[Any]

#: The largest float.
LARGEST = sys.float_info.max


class Places(NamedTuple):
    """Where numbers lie among the centres of their intervals.

    Attributes
    ----------
    features : ndarray of int
        Which of the discrete features are interpolated.
    among : ndarray of shape (n_interpolated, n_rows)
        1.25 is a quarter of the way from the centre of state 1 to that of state 2; NaN where the number is missing.
    """

    features: NDArray[np.intp]
    among: Floats


class Rows(NamedTuple):
    """Rows of X, read.

    Attributes
    ----------
    table : Table
        The discrete features.
    numbers : ndarray of shape (n_continuous, n_rows)
        The continuous ones.
    places : Places, optional
        For the discrete ones that are interpolated; None where none is.
    """

    table: Table
    numbers: Floats
    places: Places | None = None

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        places = None if self.places is None else self.places._replace(among=self.places.among[:, rows])
        return Rows(self.table.take(rows), np.ascontiguousarray(self.numbers[:, rows]), places)


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
    unused : tuple of str
        Columns that are left out: those that identify rows, dates and times, and those without a value.
    centres : dict of str to ndarray
        For the cut features that are interpolated: the median of the training rows in each interval.
    """

    names: tuple[str, ...]
    seen: tuple[Variable, ...]
    open: frozenset[str]
    cuts: dict[str, Floats]
    continuous: dict[str, str]
    unused: tuple[str, ...] = ()
    centres: dict[str, Floats] = field(default_factory=dict)

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
        others = [name for name in self.names if name not in discrete and name not in self.unused]
        if others != list(self.continuous) or not {*self.unused} <= {*self.names} - {*discrete}:
            raise DataError("each column must be a discrete feature, a continuous one, or unused")
        if not {*self.continuous.values()} <= {*CONTINUOUS, DRAWN}:
            raise DataError(f"continuous features are {', '.join(CONTINUOUS)}, not {[*self.continuous.values()][:8]}")
        if not {*self.open, *self.cuts} <= {*discrete}:
            raise DataError("there are cut points or open states for what is no discrete feature")
        for name, points in self.cuts.items():
            if points.shape != (discrete[name].n_states - 1,) or not np.array_equal(checked_cuts(points), points):
                raise DataError(f"the cut points of {name!r} do not give its {discrete[name].n_states} states")
        for name, centres in self.centres.items():
            if name not in self.cuts or centres.shape != (len(self.cuts[name]) + 1,) or len(centres) < 2:
                raise DataError(f"there is not one centre for each of the intervals of {name!r}, two or more")
            if not np.isfinite(centres).all() or (centres[1:] <= centres[:-1]).any():
                raise DataError(f"the centres of the intervals of {name!r} do not increase")

    @classmethod
    def learn(
        cls,
        X: Any,
        classes: NDArray[np.int64],
        n_classes: int,
        weights: Floats | None = None,
        numeric: str | Mapping[str, Any] = "auto",
        n_bins: int = 10,
        missing_is_state: bool = False,
        identifiers: str = "drop",
        cutting: str = SMOOTH,
    ) -> tuple[Features, Rows]:
        """The features of training rows, and these rows, read.

        A missing class has the number of classes as its code: such a row has no part in cuts by the class, but in
        everything else. With ``missing_is_state``, being missing is one more state of each feature with a missing cell.
        Columns that nothing can be learned from are left out, see :func:`bntk.data.coding.left_out`. ``cutting`` is
        what the rule for numbers does with those that are not states; it leaves the states of a table as they are.
        """
        columns = columns_of(X)
        as_labels = isinstance(numeric, str) and (numeric == "category" or leaves_states(X, numeric))
        numbers = {} if as_labels else columns_of_numbers(columns)
        known_ways = (*WAYS, DRAWN) if cutting == DRAWN else WAYS
        ways = ways_of(numeric, columns, numbers, cutting, known_ways, weights)
        empty = columns_without_value(numbers)
        ways = {name: way for name, way in ways.items() if name not in empty}
        continuous = {name: way for name, way in ways.items() if isinstance(way, str) and way in (*CONTINUOUS, DRAWN)}
        as_numbers = {*empty, *(name for name, way in ways.items() if not (isinstance(way, str) and way == "category"))}
        coded = [code_column(name, own) for name, own in columns if name not in as_numbers]
        unused = tuple(left_out(coded, identifiers, empty, weights))
        labels = _table_of([column for column in coded if column.name not in unused])
        known = {name: own for name, own in numbers.items() if name not in empty}
        cuts = cut_points(ways, known, classes, n_classes, weights, n_bins, labels)
        centres = {
            name: centres_of(numbers[name], own, weights)
            for name, own in cuts.items()
            if len(own) and smooth_way(ways[name])
        }
        names = tuple([name for name, _ in columns])
        features = cls(names, variables_of(names, labels, cuts), frozenset(), cuts, continuous, unused, centres)
        rows = features._rows(labels, numbers, len(classes))
        if not missing_is_state:
            return features, rows
        incomplete = zip(rows.table.names, rows.table.has_missing, strict=True)
        features = replace(features, open=frozenset(name for name, has_missing in incomplete if has_missing))
        return features, rows._replace(table=features._as_table(rows.table.codes))

    def read(self, X: Any, unseen: Unseen = "missing") -> Rows:
        """Other rows, coded as the training rows were; a value that was not seen there is missing, or refused."""
        columns = dict(columns_of(X, self.names))
        n_rows = n_rows_of(next(iter(columns.values())))
        numbers = {name: numbers_of(columns[name]) for name in (*self.cuts, *self.continuous)}
        for name, column in numbers.items():
            constant = not len(self.cuts.get(name, (0,)))  # whatever it holds
            if column is None and (constant or not has_states(code_column(name, columns[name]), seen=True)):
                numbers[name] = np.full(n_rows, np.nan)
            elif column is None:
                raise DataError(f"column {name!r} held numbers when the classifier was fitted, but does not now")
        known = [v for v in self.seen if v.name not in self.cuts]
        labels = _table_of([code_column(v.name, columns[v.name]) for v in known], known, unseen)
        return self._rows(labels, numbers, n_rows)

    def _rows(self, labels: Table | None, numbers: Mapping[str, Any], n_rows: int) -> Rows:
        kept = np.array([numbers[name] for name in self.continuous], dtype=np.float64)
        kept = kept.reshape(len(self.continuous), n_rows)
        table = self._as_table(assembled(self.variables, labels, numbers, self.cuts, n_rows))
        return Rows(table, kept, self._places(table, numbers) if self.centres else None)

    def _places(self, table: Table, numbers: Mapping[str, Any]) -> Places:
        among = [places_among(numbers[name], own) for name, own in self.centres.items()]
        return Places(np.array([table.names.index(name) for name in self.centres], dtype=np.intp), np.array(among))

    def _as_table(self, codes: NDArray[Any]) -> Table:
        """A table of codes. The code of a missing cell, one past the last state, is that of the state after it."""
        return Table._make(codes.astype(code_dtype(self.variables), copy=False), self.variables)


def leaves_states(X: Any, numeric: str | Mapping[str, Any], default: str | Mapping[str, Any] = "auto") -> bool:
    """Whether X is a table whose states stay what they are, because ``numeric`` does not ask for anything else."""
    return isinstance(X, Table) and isinstance(numeric, str) and numeric in ("auto", "category", default)


def _with_missing_state(variable: Variable) -> Variable:
    label = "missing"
    while label in variable.states:
        label += "_"
    return Variable(variable.name, (*variable.states, label), cuts=variable.cuts)


def centres_of(numbers: Floats, cuts: Floats, weights: Floats | None = None) -> Floats:
    """The median of the numbers in each interval, of one without numbers its middle; these increase.

    Infinite numbers are as large as a float can be, and what would be the same float then is the next to it.

    >>> centres_of(np.array([1.0, 2, 3, 7, 9, np.nan]), np.array([5.0]), np.array([1.0, 1, 1, 3, 1, 1]))
    array([2., 7.])
    >>> centres_of(np.array([1.0, 9]), np.array([3.0, 5.0]))
    array([1., 4., 9.])
    """
    rows = np.flatnonzero(~np.isnan(numbers) if weights is None else ~np.isnan(numbers) & (weights > 0))
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    ordered = np.clip(numbers[rows], -LARGEST, LARGEST)
    below = np.cumsum(np.ones(len(rows)) if weights is None else weights[rows])
    ends = np.searchsorted(numbers[rows], cuts, side="right")
    starts, stops = np.append(0, ends), np.append(ends, len(rows))
    half = (np.where(starts > 0, below[starts - 1], 0.0) + below[stops - 1]) / 2
    last = np.maximum(starts, stops - 1)  # of an interval without numbers, any place
    lower = ordered[np.minimum(np.clip(np.searchsorted(below, half), starts, last), len(rows) - 1)]
    upper = ordered[np.minimum(np.clip(np.searchsorted(below, half, side="right"), starts, last), len(rows) - 1)]
    medians = np.where(lower == upper, lower, lower / 2 + upper / 2)  # halved first: their sum may be no float
    return _increasing(np.where(starts < stops, medians, _middles(cuts)))


def _middles(cuts: Floats) -> Floats:
    """The middle of each interval; of the outer ones, their only end."""
    ends = np.clip(np.concatenate([cuts[:1], cuts, cuts[-1:]]), -LARGEST, LARGEST)
    return np.asarray(np.maximum(ends[:-1] / 2 + ends[1:] / 2, ends[:-1]))


def _increasing(centres: Floats) -> Floats:
    """Centres that are equal, as those of infinite numbers and of the largest ones, moved to the next floats."""
    found = centres.tolist()
    for k in range(1, len(found)):
        found[k] = max(found[k], math.nextafter(found[k - 1], math.inf))
    found[-1] = min(found[-1], LARGEST)
    for k in range(len(found) - 2, -1, -1):
        found[k] = min(found[k], math.nextafter(found[k + 1], -math.inf))
    return np.array(found)


def places_among(numbers: Floats, centres: Floats) -> Floats:
    """Where numbers are among centres, see :class:`Places`, for any floats; those beyond the outer ones are at these.

    >>> places_among(np.array([-np.inf, 2.5, 3.0, np.nan, 9]), np.array([2.0, 3.0, 7.0]))
    array([0. , 0.5, 1. , nan, 2. ])
    """
    missing = np.isnan(numbers)
    inside = np.where(missing, centres[0], np.clip(numbers, centres[0], centres[-1]))
    lower = np.clip(np.searchsorted(centres, inside, side="right") - 1, 0, len(centres) - 2)
    # Between large floats, differences may be no floats; between small ones, halves are not exact.
    low, high = centres[lower], centres[lower + 1]
    scale = np.where(np.maximum(np.abs(low), np.abs(high)) > 1.0, 0.5, 1.0)
    low, high = scale * low, scale * high
    return np.where(missing, np.nan, lower + (scale * inside - low) / (high - low))


def _table_of(
    columns: Sequence[CodedColumn], variables: Sequence[Variable] | None = None, unseen: Unseen = "missing"
) -> Table | None:
    """A table of columns, or None when there are none."""
    return Table._from_coded(columns, variables, unseen) if columns else None


# ---- the class -------------------------------------------------------------------------------------------------------


class ClassColumn:
    """The labels of rows: the distinct ones, and which of them each row has.

    Attributes
    ----------
    labels : ndarray
        Sorted and distinct; each occurs in some row.
    codes : ndarray of int
        The position of each row's label; the number of labels where it is missing.
    order : list, optional
        The order of the labels that the column declares, with those that do not occur; None where it declares none.
    declared : ndarray, optional
        All labels that the column declares, sorted, if none occurs; None where it declares none.
    """

    def __init__(
        self,
        labels: NDArray[Any],
        codes: Codes,
        order: list[State] | None = None,
        declared: NDArray[Any] | None = None,
    ) -> None:
        self.labels, self.codes, self.order, self.declared = labels, codes, order, declared

    @classmethod
    def read(cls, y: Any) -> ClassColumn:
        """Read ``y``: a list, an array, a series of pandas, polars or pyarrow, or a table of one column.

        Labels may be missing. Ordered categories, a polars Enum and an ordered variable declare an order.

        Examples
        --------
        >>> column = ClassColumn.read(["yes", "no", None, "yes"])
        >>> column.labels.tolist(), column.codes.tolist()
        (['no', 'yes'], [1, 0, 2, 1])
        """
        coded, row = _coded_labels(y)
        used = [code for code in codes_in_use(coded, seen=True) if not is_missing(coded.labels[code])]
        missing = _missing_labels(coded, used)
        labels = _label_array([coded.labels[code] for code in used], row, missing)
        labels, places = np.unique(_checked(labels), return_inverse=True)
        lookup = np.full(len(coded.labels) + 1, len(labels), dtype=np.int64)
        lookup[used] = places
        n_labelled = len(coded.codes) if missing is None else int(np.count_nonzero(~missing))
        _warn_of_many(len(labels), n_labelled)
        declared = None if used else _declared_labels(coded)
        return cls(labels, np.take(lookup, coded.codes, mode="wrap"), declared_order(coded), declared)

    @classmethod
    def unlabelled(cls, n_rows: int) -> ClassColumn:
        """Rows without a label."""
        return cls(np.empty(0, dtype=np.int64), np.zeros(n_rows, dtype=np.int64))

    @property
    def known(self) -> NDArray[np.bool_]:
        """The rows that have a label."""
        return np.asarray(self.codes < len(self.labels))

    @cached_property
    def is_complete(self) -> bool:
        """Whether every row has a label."""
        return bool(self.known.all())

    def take(self, rows: NDArray[np.intp]) -> ClassColumn:
        """The labels of some of the rows."""
        used, codes = np.unique(np.append(self.codes[rows], len(self.labels)), return_inverse=True)
        return ClassColumn(self.labels[used[:-1]], codes[:-1], self.order, self.declared)

    def among(self, classes: NDArray[Any]) -> Codes:
        """The position of each row's label in a sorted array of labels; a label that it lacks is refused."""
        if classes is self.labels or np.array_equal(classes, self.labels):
            return self.codes
        places = np.minimum(np.searchsorted(classes, self.labels), len(classes) - 1)
        strange = np.flatnonzero(classes[places] != self.labels)
        if strange.size:
            rows = np.flatnonzero(np.isin(self.codes, strange))
            label = plain_state(self.labels[self.codes[rows[0]]])
            raise ValueError(f"the class {label!r} in row {rows[0]} is none of the known ones: {classes.tolist()}")
        return np.append(places, len(classes))[self.codes]

    def __len__(self) -> int:
        return len(self.codes)


def _coded_labels(y: Any) -> tuple[CodedColumn, Callable[[int], Any]]:
    """``y`` as labels and codes, and a function that gives one row of it, which has the type of the column."""
    if isinstance(y, Table):
        return label_column("y", y), lambda row: y.take([row]).to_pandas()
    column = y if _is_series(y) else column_or_1d(y, warn=True)
    if isinstance(y, (list, tuple)) and _is_changed_by_numpy(y, column):
        column = _as_objects(list(y))
    by_place = column.iloc if hasattr(column, "iloc") else column
    return code_column("y", column), lambda row: by_place[row : row + 1]


def _is_changed_by_numpy(y: Sequence[Any], column: NDArray[Any]) -> bool:
    """Whether an array has made the text "nan" of a missing label, or the number 1 of True."""
    kinds = {*map(type, y)}
    if column.dtype.kind == "U":
        return kinds != {str} and any(map(is_missing, y))
    return column.dtype.kind in "iuf" and bool in kinds and len(kinds) > 1


def _is_series(y: Any) -> bool:
    """Whether ``y`` is one column of a library that has a quicker way to code it than to make an array of it."""
    import narwhals as nw

    if nw.dependencies.is_into_series(y) or type(y).__name__ == "Categorical":
        return True
    return type(y).__module__.partition(".")[0] == "pyarrow" and hasattr(y, "dictionary_encode")


def _label_array(labels: list[Any], row: Callable[[int], Any], missing: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Labels as an array of the type that the whole column would have if no label were missing."""
    if not labels:
        return np.empty(0, dtype=np.int64)
    first = 0 if missing is None else int(np.argmin(missing))
    dtype = np.asarray(row(first)).dtype
    if dtype.kind in "US":  # one row of a series is as wide as its own text
        return np.array(labels, dtype=np.result_type(dtype, np.array(labels, dtype=dtype.kind)))
    if dtype.kind in "mM":  # numpy drops the nanoseconds of pandas' timestamps
        import pandas as pd

        return pd.Series(labels).to_numpy(dtype=dtype)
    if dtype.kind != "O":
        return np.array(labels, dtype=dtype)
    if missing is not None and {*map(type, labels)} in ({int}, {float}, {bool}):
        return np.array(labels)  # only None, which is no number, made objects of them
    return _as_objects(labels)


def _as_objects(labels: list[Any]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _declared_labels(coded: CodedColumn) -> NDArray[Any] | None:
    """All labels that a column declares, sorted."""
    states = plain_states([label for label in coded.labels if not is_missing(label)]) if coded.declared else []
    if not states:
        return None
    kinds = {*map(type, states)}
    return np.unique(_checked(np.array(states) if len(kinds) == 1 else _as_objects(states)))


def _checked(labels: NDArray[Any]) -> NDArray[Any]:
    """Distinct labels, once it is sure that they are classes."""
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("Input y contains infinity")
    if labels.size and labels.dtype.kind not in "biuU":
        _check_kind(labels)
    return labels


def _missing_labels(coded: CodedColumn, used: list[int]) -> NDArray[np.bool_] | None:
    """The rows without a label; None where every row has one, which most columns tell without a look at the rows."""
    known = np.zeros(len(coded.labels) + 1, dtype=bool)  # a negative code reads the last
    known[used] = True
    if known[:-1].all() and (coded.codes.dtype.kind == "u" or coded.codes.min(initial=0) >= 0):
        return None
    missing = ~np.take(known, coded.codes, mode="wrap")
    return missing if missing.any() else None


def _warn_of_many(n_labels: int, n_rows: int) -> None:
    if n_rows > 20 and n_labels > round(n_rows / 2):
        warn(
            f"The number of unique classes is greater than 50% of the number of samples: y has {n_labels:,} labels in "
            f"{n_rows:,} rows. It could be a regression problem, or y an identifier.",
            UserWarning,
            ["classes"],
        )


def _check_kind(labels: NDArray[Any]) -> None:
    """scikit-learn's check that labels are discrete; what it checks about rows does not matter for distinct labels."""
    try:
        check_classification_targets(labels[:20])
        if labels.dtype.kind == "f":
            check_classification_targets(labels[labels != np.floor(labels)][:20])
        elif labels.dtype.kind == "O":
            sorted(labels.tolist())
    except TypeError as error:
        if "bytes" in str(error):
            raise
        raise ValueError(
            f"the labels of y are of kinds that have no order: {format_states(labels.tolist())}; make them all text, "
            "or all numbers"
        ) from None
