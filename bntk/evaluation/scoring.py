"""From ``scoring`` to what is computed: measures of the table, scorers of scikit-learn, callables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bntk import _checking
from bntk.data.variable import state_text
from bntk.errors import ArgumentError, DataError, did_you_mean
from bntk.evaluation.measure_table import MEASURES, Measure, canonical, find, named
from bntk.evaluation.predictions import Predictions, SeveralPredictions
from bntk.evaluation.targets import Target

_METHODS = {"probabilities": "predict_proba", "joint": "log_joint"}


@dataclass(frozen=True)
class Scoring:
    """One thing to compute in each split: a measure of the table, or a callable ``scorer(estimator, X, y)``."""

    name: str
    measure: Measure | None = None
    scorer: Callable[[Any, Any, Any], float] | None = None

    @property
    def greater_is_better(self) -> bool:
        """Whether larger values are better; those of scorers are, as scikit-learn has it."""
        return self.measure is None or self.measure.greater_is_better

    def columns(self, target: Target) -> list[str]:
        """The columns that it fills: one, or one per class."""
        if self.measure is None or not self.measure.by_class:
            return [self.name]
        return [f"{self.name.removesuffix('_by_class')}[{state_text(label)}]" for label in target.classes]

    def values(
        self, of: Predictions | SeveralPredictions, estimator: Any, X: Any, y: Any, target: Target
    ) -> dict[str, float]:
        """The values of its columns."""
        found = self.scorer(estimator, X, y) if self.scorer is not None else self.measure.function(of)  # type: ignore[union-attr]
        numbers = np.atleast_1d(np.asarray(found, dtype=np.float64)).tolist()
        return dict(zip(self.columns(target), numbers, strict=True))


def resolve(scoring: Any, target: Target, estimators: Mapping[str, Any]) -> list[Scoring]:
    """What is to be computed; refused where an estimator or the classes lack what a measure needs."""
    if scoring is None:
        return _default(target, estimators)
    if isinstance(scoring, str) and scoring == "all":
        return [Scoring(m.name, m) for m in named(target.several) if _lacking(m, target, estimators) is None]
    if isinstance(scoring, Mapping):
        items: Iterable[tuple[str | None, Any]] = scoring.items()
    else:
        several = _checking.several if not isinstance(scoring, str) and not callable(scoring) else None
        listed = several("scoring", scoring, "names of measures or callables") if several else [scoring]
        items = [(None, item) for item in listed]
    found = [_one(name, item, target, estimators) for name, item in items]
    if not found:
        raise ValueError("scoring is empty; give one measure or more, such as 'accuracy'")
    unique = {each.name: each for each in found}
    if len(unique) < len(found) and any(unique[each.name] != each for each in found):
        raise ValueError("two scorers have the same name; give a mapping of name to scorer")
    return list(unique.values())


def _default(target: Target, estimators: Mapping[str, Any]) -> list[Scoring]:
    names = ("global_accuracy", "mean_accuracy") if target.several else ("accuracy", "log_loss")
    chosen = [m for name in names if (m := find(name)) and _lacking(m, target, estimators) is None]
    return [Scoring(m.name, m) for m in chosen]


def _one(name: str | None, item: Any, target: Target, estimators: Mapping[str, Any]) -> Scoring:
    if callable(item):
        return Scoring(name or _name_of(item), scorer=item)
    if not isinstance(item, str):
        raise ArgumentError(f"scoring must be names of measures or callables (estimator, X, y), not {item!r}")
    measure = find(item)
    if measure is None:
        return Scoring(name or canonical(item), scorer=_of_sklearn(item, target))
    lacking = _lacking(measure, target, estimators)
    if lacking is not None:
        raise lacking
    return Scoring(name or measure.name, measure)


def _lacking(measure: Measure, target: Target, estimators: Mapping[str, Any]) -> Exception | None:
    """Why a measure cannot be computed; None if it can."""
    if measure.several != target.several:
        number = "several class variables" if target.several else "one class variable"
        others = ", ".join(m.name for m in named(target.several))
        return DataError(f"the measure {measure.name} is not for {number}; for that: {others}")
    if measure.needs_order:
        try:
            target.require_order(measure.name)
        except DataError as error:
            return error
    method = _METHODS.get(measure.needs)
    for name, estimator in estimators.items() if method else ():
        if not hasattr(estimator, str(method)):
            return DataError(f"the measure {measure.name} needs {method}, which {name} does not have; leave one out")
    return None


def _of_sklearn(name: str, target: Target) -> Callable[[Any, Any, Any], float]:
    """The scorer of scikit-learn of that name."""
    from sklearn.metrics import get_scorer

    try:
        scorer: Callable[[Any, Any, Any], float] = get_scorer(name.replace("-", "_"))
    except ValueError:
        known = ", ".join(m.name for m in named(target.several))
        raise ValueError(
            f"there is no measure {name!r}{did_you_mean(canonical(name), MEASURES)}"
            f" (the measures are {known}, or those of "
            "sklearn.metrics.get_scorer_names())"
        ) from None
    return scorer


def _name_of(scorer: Any) -> str:
    """The name of a callable: its own, or that of the function that a scorer of scikit-learn was made of."""
    function = getattr(scorer, "_score_func", scorer)
    return str(getattr(function, "__name__", type(scorer).__name__))
