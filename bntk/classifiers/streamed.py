"""Classifiers of rows that are read in passes: states, cuts and classes from a summary, and the rest from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.classifiers.base import BayesClassifier, NetworkClassifier, _telling_once
from bntk.classifiers.features import ClassColumn, Features, _warn_of_many, centres_of
from bntk.classifiers.multidim.base import MultiBayesClassifier, refuse_ways_of_one_class
from bntk.classifiers.parameters import check_parameters
from bntk.data.coding import lacking_columns, too_many_states
from bntk.data.found_states import FoundStates, find_states
from bntk.data.labels import Labels, read_labels
from bntk.data.numbers import WAYS, WITHOUT_CLASS, averaged_ways, smooth_way
from bntk.data.summaries import LabelSummary, NumberSummary, Summary
from bntk.data.variable import Variable, format_states
from bntk.data.weights import ROUNDING
from bntk.errors import ArgumentError, DataError
from bntk.learning.counts import Coding, PartitionCounter, Partitions
from bntk.learning.scores import PredictiveScore, by_name
from bntk.learning.search.in_passes import needs_rows
from bntk.learning.search.stepwise import StepwiseSearch

C = TypeVar("C", bound=BayesClassifier)
M = TypeVar("M", bound=MultiBayesClassifier)

#: Scores to take where predictions of single rows are not to be had.
SUMS = "a score that is a sum over families, as criterion='bic', 'bdeu' or 'loglik'"


def fit_one(classifier: C, rows: Partitions, y: Any, sample_weight: Any) -> C:
    """Learn a classifier of one class variable, whose column ``y`` names."""
    check_parameters(classifier)
    target = _class_names(rows, y, 1, sample_weight)[0]
    _refuse_what_needs_rows(classifier)
    names = tuple(name for name in rows.names if name not in (target, rows.weights))
    classifier.__dict__.pop("members_", None)
    classifier.n_features_in_, classifier.feature_names_in_ = len(names), np.array(names, dtype=object)
    summary, scale = _scaled(rows.summary((*names, target) if rows.variables is None else (target,), target))
    labels, known = _labels(summary, target, rows.variables)
    _refuse_missing(classifier, target, summary, known)
    classifier.classes_ = labels.labels
    states = labels.labels.tolist() if labels.order is None else classifier._ordered_classes(labels.order)
    classifier._class_variable = Variable(target, states, ordered=labels.order is not None)
    if rows.variables is not None:
        declared = {variable.name: variable for variable in rows.variables}
        seen = tuple(declared[name] for name in names if name in declared)
        found = FoundStates({variable.name: variable for variable in seen})
    else:
        place = {label: k for k, label in enumerate(labels.labels.tolist())}
        order = [place.get(label, -1) for label in summary.classes]
        numeric, cutting = classifier.numeric, classifier._cutting
        found = find_states(
            summary, numeric, cutting, WAYS, classifier.n_bins, classifier.identifiers, class_order=order, names=names
        )
        _refuse_densities(classifier, found)
    classifier.features_ = _features(names, found, summary, classifier.missing == "state")
    counter = _counter(rows, classifier.features_, (classifier._class_variable,), scale, target)
    classifier._learn(counter)  # type: ignore[arg-type]
    classifier.densities_ = ()
    return classifier


def fit_several(classifier: M, rows: Partitions, Y: Any, sample_weight: Any) -> M:
    """Learn a classifier of several class variables, whose columns ``Y`` names."""
    check_parameters(classifier)
    targets = _class_names(rows, Y, None, sample_weight)
    _refuse_predictive(classifier)
    names = tuple(name for name in rows.names if name not in (*targets, rows.weights))
    classifier.n_features_in_, classifier.feature_names_in_ = len(names), np.array(names, dtype=object)
    read = (*names, *targets) if rows.variables is None else tuple(targets)
    summary, scale = _scaled(rows.summary(read, targets[0]))
    classifier.labels_ = _several_labels(summary, targets, rows.variables)
    classifier.classes_ = list(classifier.labels_.classes)
    if rows.variables is not None:
        declared = {variable.name: variable for variable in rows.variables}
        found = FoundStates({name: declared[name] for name in names if name in declared})
    else:
        found = _with_joint_cuts(classifier, rows, summary, names, targets)
    classifier.features_ = _features(names, found, summary, classifier.missing == "state")
    classifier._class_variables = classifier.labels_.variables(classifier.features_.names)
    counter = _counter(rows, classifier.features_, classifier._class_variables, scale, None)
    classifier._learn(counter, len(classifier.features_.variables))  # type: ignore[arg-type]
    classifier._make_ready()
    return classifier


# ---- what is given ---------------------------------------------------------------------------------------------------


def _class_names(rows: Partitions, y: Any, n: int | None, sample_weight: Any) -> list[str]:
    if sample_weight is not None:
        raise DataError('weights of rows that are read in passes are a column: bntk.scan(source, weights="column")')
    if n == 1 and not isinstance(y, str):
        raise ArgumentError(
            f"of a scan, y is the name of the column of classes, one of {format_states(rows.names)}; "
            f"got {_checking.shown(y)}"
        )
    names = [y] if isinstance(y, str) else _checking.names("Y", y, "names of the columns of classes", ArgumentError)
    lacking = [name for name in names if name not in rows.names]
    if lacking:
        raise lacking_columns(lacking, rows.names)
    if not names or len({*names}) < len(names):
        raise ArgumentError(f"Y names the columns of classes, each once; got {names}")
    return names


def _refuse_what_needs_rows(classifier: BayesClassifier) -> None:
    """Refuse, before a row is read, a classifier that looks at single rows."""
    if classifier.class_weight is not None:
        raise ArgumentError(
            f"class_weight={_checking.shown(classifier.class_weight)}: weights of rows that are read in passes are a "
            'column, with the weight of the class of each row: bntk.scan(source, weights="column"), or of a Dask '
            'DataFrame sample_weight="column"'
        )
    able = type(classifier)._in_passes
    if able is not True:
        raise needs_rows(type(classifier).__name__, able if isinstance(able, str) else "NaiveBayes, TAN, KDB or AODE")
    if isinstance(classifier.numeric, (str, Mapping)) and averaged_ways(classifier.numeric):
        raise needs_rows("numeric='averaged', with its joint cuts,", "numeric='auto', 'mdl', 'frequency' or 'smooth'")
    if isinstance(classifier, NetworkClassifier):
        _refuse_predictive(classifier)
        if getattr(classifier, "criterion", None) is None and isinstance(classifier._chosen_search(), StepwiseSearch):
            name = type(classifier).__name__
            raise needs_rows(f"the search {classifier._chosen_search()!r} of {name}, with its accuracy in folds,", SUMS)


def _refuse_predictive(classifier: Any) -> None:
    criterion = getattr(classifier, "criterion", None)
    if criterion is not None and isinstance(by_name(criterion, "criterion"), PredictiveScore):
        raise needs_rows(f"{type(classifier).__name__} with criterion={criterion!r}", SUMS)


def _refuse_densities(classifier: BayesClassifier, found: FoundStates) -> None:
    for name, way in found.ways.items():
        if isinstance(way, str) and name not in found.cuts and way != "category":
            raise needs_rows(
                f"numeric={way!r} (column {name!r})", "numeric='auto', 'mdl', 'width', 'frequency' or 'smooth'"
            )


def _refuse_missing(classifier: BayesClassifier, target: str, summary: Summary, known: float) -> None:
    missing = summary.total_weight - known
    if missing > 1e-9 * summary.total_weight:
        raise ValueError(
            f"Input y contains NaN or None: {missing:,.0f} rows have no class in the column {target!r}; "
            f"{type(classifier).__name__} learns in passes from labelled rows only: leave such rows out, or read the "
            "rows into memory, where network classifiers learn from them by EM"
        )


# ---- classes and features --------------------------------------------------------------------------------------------


def _column_of(summary: LabelSummary | NumberSummary, name: str) -> tuple[Any, float]:
    """The distinct labels that occur, as a column of their type, and the weight of the rows that have one."""
    import pandas as pd

    if isinstance(summary, NumberSummary):
        if summary.shift:
            raise too_many_states(name, summary.states()[0])
        return summary.low[summary.totals > 0], summary.known
    if summary.hashes is not None:
        raise too_many_states(name, summary.example)
    used = [label for label, weight in zip(summary.labels, summary.weights.tolist(), strict=True) if weight > 0]
    if summary.declared:
        return pd.Series(pd.Categorical(used, summary.labels, ordered=summary.ordered)), summary.known
    return (np.array(used) if {*map(type, used)} == {bool} else pd.Series(used, dtype=None)), summary.known


def _labels(summary: Summary, target: str, variables: Sequence[Variable] | None) -> tuple[ClassColumn, float]:
    """The classes, and the weight of the rows that have one."""
    column, known = _column_of(_settled(summary, target), target)
    if not len(column):
        raise ValueError(f"Input y contains NaN or None in every row: the column {target!r} has no class")
    with _telling_once(quiet=True):  # that there are many labels for so few distinct ones
        found = ClassColumn.read(column)
    _warn_of_many(len(found.labels), round(known))
    own = next((v for v in variables or () if v.name == target), None)
    if own is not None and own.ordered:
        found.order = list(own.states)
    return found, known


def _settled(summary: Summary, name: str) -> LabelSummary | NumberSummary:
    column = summary.columns[name]
    assert isinstance(column, (LabelSummary, NumberSummary))
    return column


def _several_labels(summary: Summary, targets: Sequence[str], variables: Sequence[Variable] | None) -> Labels:
    classes: list[Any] = []
    for target in targets:
        column, _ = _column_of(_settled(summary, target), target)
        if not len(column):
            raise DataError(f"the class variable {target!r} has no label: every row is missing it; leave it out")
        classes += read_labels({target: column})[0].classes
    return Labels(tuple(targets), tuple(classes), "pandas")


def _features(names: tuple[str, ...], found: FoundStates, summary: Summary, missing_is_state: bool) -> Features:
    seen = tuple(found.variables.values())
    centres = {}
    for name, points in found.cuts.items():
        if len(points) and smooth_way(found.ways[name]):
            column = summary.columns[name]
            assert isinstance(column, NumberSummary)
            centres[name] = centres_of(column.low.astype(np.float64), points, column.totals)
    open_: list[str] = []
    if missing_is_state:
        for variable in seen:
            own: Any = summary.columns.get(variable.name)
            if own is not None and own.known < summary.total_weight * (1 - 1e-12):
                open_.append(variable.name)
    return Features(names, seen, frozenset(open_), found.cuts, {}, found.unused, centres)


def _counter(
    rows: Partitions, features: Features, classes: tuple[Variable, ...], scale: float, target: str | None
) -> PartitionCounter:
    variables = (*features.variables, *classes)
    coding = Coding(
        variables, rows.weights, "error" if rows.variables is None else "missing", scale, features.open,
        drops_empty=rows.weights is not None,
    )  # fmt: skip
    return PartitionCounter(rows, coding, target)


# ---- weights ---------------------------------------------------------------------------------------------------------


def _scale(summary: Summary) -> float:
    """What weights are multiplied by, see :func:`bntk.data.weights.scale_of`."""
    total, n_rows = summary.total_weight, summary.n_positive
    if not summary.weighted:
        return 1.0
    if not total > 0:
        raise ValueError("Sample weights must contain at least one non-zero number: a row of weight 0 is not there.")
    return n_rows / total if total < n_rows * (1 - ROUNDING) else 1.0


def _scaled(summary: Summary) -> tuple[Summary, float]:
    """The summary of rows with scaled weights, and the factor."""
    factor = _scale(summary)
    if factor == 1:
        return summary, 1.0
    columns: dict[str, Any] = {}
    for name, column in summary.columns.items():
        if isinstance(column, NumberSummary):
            columns[name] = replace(
                column, weights=_rounded(column.weights * factor), n_missing=column.n_missing * factor
            )
        elif isinstance(column, LabelSummary):
            columns[name] = replace(column, weights=column.weights * factor, known=column.known * factor)
    return replace(summary, columns=columns, total_weight=summary.total_weight * factor), factor


def _rounded(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    whole = np.rint(weights)
    return np.where(np.abs(weights - whole) <= ROUNDING * whole, whole, weights)


# ---- several classes -------------------------------------------------------------------------------------------------


def _with_joint_cuts(
    classifier: MultiBayesClassifier, rows: Partitions, summary: Summary, names: Sequence[str], targets: Sequence[str]
) -> FoundStates:
    """The states of the features; cuts are those for all class variables together, a pass for each."""
    numeric = classifier.numeric
    refuse_ways_of_one_class(numeric)
    if isinstance(numeric, str) and numeric not in ("auto", "mdl"):
        return find_states(
            summary, numeric, numeric, WITHOUT_CLASS, classifier.n_bins, classifier.identifiers, names=names
        )
    joint: dict[str, Any] = {}
    found = FoundStates()
    for number, target in enumerate(targets):
        own = summary if number == 0 else _scaled(rows.summary((*joint, target), target))[0]
        place = {label: k for k, label in enumerate(classifier.labels_.classes[number].tolist())}
        order = [place.get(label, -1) for label in own.classes]
        chosen = names if number == 0 else [*joint]
        ways: Any = numeric if number == 0 else dict.fromkeys(joint, "mdl")
        with _telling_once(quiet=number > 0):
            cut = find_states(
                own, ways, "mdl", WAYS, classifier.n_bins, classifier.identifiers, class_order=order, names=chosen
            )
        if number == 0:
            found = cut
            joint = {name: cut.cuts[name] for name, way in cut.ways.items() if isinstance(way, str) and way == "mdl"}
            if not joint:
                return found
        else:
            joint = {name: np.union1d(points, cut.cuts[name]) for name, points in joint.items()}
    found.cuts.update(joint)
    for name, points in joint.items():
        found.variables[name] = Variable.of_intervals(name, points.tolist())
    return found
