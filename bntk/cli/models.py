"""Classifiers from their names and options on the command line, and their descriptions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS, Declared
from bntk.cli.command import UsageError
from bntk.cli.options import DEFAULT, SHARED, ModelSpec, made
from bntk.cli.output import note
from bntk.cli.rows import Data, are_numbers
from bntk.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bntk.cli.streamed import StreamedTraining

#: With more different numbers a target looks like a measurement.
MANY_CLASSES = 20


class Training:
    """Rows for classifiers: features X, class labels Y, the rows without a class left out."""

    def __init__(self, data: Data, targets: Sequence[str], options: Namespace) -> None:
        data.require(targets, "column for the target")
        if len(set(targets)) < len(targets):
            raise UsageError(f"--target names a column twice: {', '.join(targets)}")
        data = _with_cut_targets(data, targets, options)
        for name in targets:
            _refuse_numbers_as_classes(data, name)
        known = _rows_with_classes(data, targets)
        self.data, self.targets = data, tuple(targets)
        self.features = tuple(name for name in data.names if name not in targets)
        if not self.features:
            raise DataError(f"{data.source} has no columns but the target; a classifier needs features")
        self.X: pd.DataFrame = data.frame(self.features)[known].reset_index(drop=True)
        labels = data.frame(targets)[known].reset_index(drop=True)
        truths = [name for name in targets if all(isinstance(state, bool) for state in data.states(name))]
        labels = labels.astype(dict.fromkeys(truths, bool))  # scikit-learn takes no truth values that are objects
        self.Y: Any = labels if len(targets) > 1 else labels[targets[0]]
        if not len(self.X):
            raise DataError(f"no row of {data.source} has a class in {', '.join(targets)}")
        for name in targets:
            if labels[name].nunique() < 2:
                raise DataError(f"the target {name!r} has one class only in {data.source}; there is nothing to learn")

    @property
    def several(self) -> bool:
        """Whether there are several class variables."""
        return len(self.targets) > 1


def _rows_with_classes(data: Data, targets: Sequence[str]) -> NDArray[np.bool_]:
    """A mask of the rows that have every class."""
    known: NDArray[np.bool_] = np.logical_and.reduce([data.is_known(name) for name in targets])
    lost = int((~known).sum())
    if lost:
        note(f"{lost:,} rows without a class in {', '.join(targets)} are left out")
    return known


def _with_cut_targets(data: Data, targets: Sequence[str], options: Namespace) -> Data:
    """The data with targets of numbers as intervals, if the options say so."""
    bins, cuts = options.target_bins, options.target_cuts
    if bins is None and cuts is None:
        return data
    given = [name for name in targets if data.is_numeric(name)]
    if not given:
        option = "--target-bins" if cuts is None else "--target-cuts"
        raise UsageError(f"{option} is for numbers, and {', '.join(targets)} holds labels")
    from bntk.data.numbers import N_BINS, Reading

    ways = dict.fromkeys(given, "frequency" if cuts is None else list(cuts))
    table = data.table(given, reading=Reading(ways, bins or N_BINS))
    return Data(data.source, {**data.columns, **dict(table.coded_columns())})


def _refuse_numbers_as_classes(data: Data, name: str) -> None:
    states = data.states(name)
    if not are_numbers(states):
        return
    fractions = [s for s in states if isinstance(s, float) and not s.is_integer()]
    if fractions:
        raise DataError(
            f"the target {name!r} holds numbers such as {fractions[0]:g}; a classifier needs classes: --target-bins 3 "
            "makes three of about equal size, --target-cuts 18,65 those between the numbers given"
        )
    if len(states) > MANY_CLASSES:
        note(
            f"the target {name!r} has {len(states):,} different numbers, each a class; --target-bins 3 makes three "
            "classes of about equal size, --target-cuts 18,65 those between the numbers given"
        )


# ---- making classifiers ----------------------------------------------------------------------------------------------


def classifiers(specs: Sequence[ModelSpec], options: Namespace, training: Training | StreamedTraining) -> list[Any]:
    """An estimator for each name. Every shared option must be one of at least one model."""
    given = {parameter: getattr(options, option) for option, parameter in SHARED.items()}
    shared = {parameter: made(value) for parameter, value in given.items() if value is not None}
    constraints = {k: v for k in ("required", "forbidden", "tiers") if (v := getattr(options, k, None))}
    used: set[str] = set()
    models = [_classifier(spec, shared, constraints, options.seed, training, used) for spec in specs]
    for parameter in [*shared, *constraints]:
        if parameter not in used:
            option = next((o for o, p in SHARED.items() if p == parameter), parameter).replace("_", "-")
            raise UsageError(f"--{option} is no option of {', '.join(spec.name for spec in specs)}")
    return models


def _classifier(
    spec: ModelSpec,
    shared: dict[str, Any],
    constraints: dict[str, Any],
    seed: int,
    training: Training | StreamedTraining,
    used: set[str],
) -> Any:
    kind = _kind(spec, MULTI_CLASSIFIERS if training.several else CLASSIFIERS)
    known = set(kind().get_params(deep=False))
    composed = "estimator" in known and (training.several or "estimator" in shared)
    # What both have is for the model within, but for models of several classes, whose search is another one.
    kept = known if training.several or not composed else {"estimator"}
    parameters = _parameters(spec, kind, {name: shared[name] for name in shared if name in kept}, seed, used)
    if composed:
        base = shared.get("estimator") or ModelSpec(DEFAULT)
        one_class, rest = _kind(base, CLASSIFIERS), {name: shared[name] for name in shared if name not in kept}
        parameters["estimator"] = one_class(**_parameters(base, one_class, rest, seed, used))
    if "space" in known and (constraints or "max_parents" in shared):
        from bntk.learning.space import named as spaces

        rules = {**constraints, **({"max_parents": shared["max_parents"]} if "max_parents" in shared else {})}
        used.update(rules)
        target = training.targets[0]
        parameters["space"] = spaces.general((*training.features, target), target, **rules)
    return kind(**parameters)


def _parameters(spec: ModelSpec, kind: Any, shared: dict[str, Any], seed: int, used: set[str]) -> dict[str, Any]:
    """The parameters given for a classifier."""
    known = set(kind().get_params(deep=False))
    given = {SHARED.get(name, name): value for name, value in spec.options.items()}  # fan:score=bic is its criterion
    if len(given) < len(spec.options):
        raise UsageError(f"{spec} gives an option twice, by two of its names; it can have one value only")
    for name in given:
        if name not in known:
            raise UsageError(f"{spec.name} has no option {name!r}{did_you_mean(name, known)}")
    chosen = {name: value for name, value in shared.items() if name in known}
    used.update(chosen)
    drawing = {"random_state": seed} if "random_state" in known else {}
    return {**chosen, **drawing, **given}


def _kind(spec: ModelSpec, choices: Declared) -> Any:
    if spec.name in choices:
        return choices[spec.name]
    if choices is MULTI_CLASSIFIERS:
        raise UsageError(f"{spec.name} is for one class; for several: {', '.join(choices)}")
    if spec.name in MULTI_CLASSIFIERS:
        raise UsageError(f"{spec.name} is for several classes, --target a,b; for one: {', '.join(choices)}")
    raise UsageError(f"{spec.name} is for networks without a target; with one: {', '.join(choices)}")


# ---- describing them -------------------------------------------------------------------------------------------------


def targets_of(classifier: Any) -> dict[str, list[Any]]:
    """The class variables of a fitted classifier, and their labels, of one class variable in their declared order."""
    labels = getattr(classifier, "labels_", None)
    if labels is not None:
        return {name: list(of) for name, of in zip(labels.names, (c.tolist() for c in labels.classes), strict=True)}
    return {classifier.target_name_: classifier.class_order_.tolist()}


def features_of(classifier: Any) -> list[str]:
    """The columns that a fitted classifier takes, in order."""
    names = getattr(classifier, "feature_names_in_", None)
    return [str(name) for name in (classifier.features_.names if names is None else names)]


def describe(classifier: Any) -> dict[str, Any]:
    """A description of a fitted classifier: the keys that ``info`` and ``learn`` share."""
    network = getattr(classifier, "network_", None)
    in_use = getattr(classifier, "features_in_use_", None)
    return {
        "kind": "classifier",
        "model": type(classifier).__name__,
        "targets": targets_of(classifier),
        "features": features_of(classifier),
        "features_in_use": None if in_use is None else list(in_use),
        "arcs": None if network is None else [list(arc) for arc in network.dag.arcs],
        "structure": None if network is None else str(network.dag),
        "parameters": None if network is None else network.n_parameters,
    }
