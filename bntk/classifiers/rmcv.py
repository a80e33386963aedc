"""Risk minimisation by cross-validation: any network, learned by the labels that it gives to rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bntk._declared import SCORES
from bntk.classifiers.base import NetworkClassifier, _rows_of
from bntk.classifiers.features import ClassColumn
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.priors import Prior
from bntk.learning.scores import Accuracy, ConfusionScore, Score, by_name
from bntk.learning.scores.leaving_out import stratified
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import Space
from bntk.learning.space import named as spaces

Floats = NDArray[np.float64]

#: One of so many parts of the rows is held out to choose alpha.
PARTS = 5


@dataclass(kw_only=True, eq=False, repr=False)
class RMCV(NetworkClassifier):
    """Risk minimisation by cross-validation: any network, found by hill climbing on its confusion matrix (Kelner 2012).

    The class may have parents and children. Each step adds, deletes or reverses the arc that improves a measure of the
    cross-validated confusion matrix most, and the search ends where no change improves it. Changes that cannot change
    a prediction, such as arcs between features outside the Markov blanket of the class, are never made. The
    information measure is meant for ordered and for unbalanced classes (Halbersberg and Lerner 2016).

    Parameters
    ----------
    criterion : str or ConfusionScore
        The measure of the confusion matrix: ``"im"`` (the information measure), ``"accuracy"``, or another score that
        derives from :class:`bntk.scores.ConfusionScore`. An object is used as it is, with folds, seed and pseudo-count
        of its own.
    alpha : float or "auto"
        The parameter of the information measure: the larger, the closer it is to accuracy. ``"auto"`` chooses among
        2, ..., M, M² and M³, for M classes: a fifth of the training rows is held out, a network is learned from the
        others with each of these, and the one with the best normalised measure on the rows held out is used for all
        rows; an interrupt (Ctrl-C) ends the choice among those that have been tried. For other criteria and for
        objects it must be 1.
    cv : int or "loo"
        The number of folds, which are stratified; with so few rows, or for ``"loo"``, each row is left out by itself.
    start : {"empty", "naive"}, DAG or str
        The structure that the search begins with: without arcs, naive Bayes, or one of your own, such as
        ``"a -> class -> b"``. The class has the name of ``y``, or ``class``.
    max_parents : int, optional
        The largest number of parents of a variable; by default there is no limit.
    search : str or Search
        Hill climbing by default; another search for any score, such as ``bntk.search.Tabu()``.
    prior : float, "mle", "backoff" or Prior
        The prior of the conditional probability tables. A number is added to every count, also in the
        cross-validation, which then judges exactly the estimates that predictions use. With any other prior,
        1 is added there (with ``"backoff"``, its own pseudo-count).

    Attributes
    ----------
    alpha_ : float or None
        The parameter of the information measure that was used; None for other criteria.

    References
    ----------
    R. Kelner and B. Lerner (2012). Learning Bayesian network classifiers by risk minimization. International Journal
    of Approximate Reasoning 53, 248-272.

    D. Halbersberg and B. Lerner (2016). Learning a Bayesian network classifier by jointly maximizing accuracy and
    information. ECAI 2016, 1638-1639.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
    >>> rmcv = bntk.RMCV(criterion="accuracy").fit(X, y)
    >>> [step.what for step in rmcv.search_.trace]
    """

    name = "rmcv"
    prior: Prior | str | float = 1.0
    criterion: str | Score = "im"
    alpha: float | str = 1
    cv: int | str = 5
    start: DAG | str = "empty"
    max_parents: int | None = None
    search: str | Search = "hc"

    _state: ClassVar[dict[str, Any]] = {"alpha_": float | None}

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.general((*features, target), target, max_parents=self.max_parents)

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        *features, target = counter.names
        seed = self._seed
        measure = self._measure(self.alpha_, counter.n_rows, seed).with_target(target)
        space, start = self._space(tuple(features), target), self._start_structure(counter.names, target)
        return learn_structure(counter, measure, space, self.search, start=start, seed=seed)

    def _start_structure(self, names: tuple[str, ...], target: str) -> DAG:
        """The structure to begin with, over all variables."""
        if isinstance(self.start, str) and self.start in ("empty", "naive"):
            return DAG(names, [(target, x) for x in names if x != target] if self.start == "naive" else [])
        given = DAG.parse(self.start) if isinstance(self.start, str) else self.start
        unknown = [name for name in given.nodes if name not in names]
        if unknown:
            raise DataError(
                f"start has {unknown}, which are neither features nor the class: {list(names)}; or 'empty', 'naive'"
            )
        return DAG(names, given.arcs)

    # ---------------------------------------------------------------- the measure

    def _measure(self, alpha: float | None, n_rows: int, seed: int) -> ConfusionScore:
        """The criterion, in folds of these rows."""
        if not isinstance(self.criterion, str):
            return self._checked(self.criterion)
        measure = self._checked(_by_name(self.criterion))
        folds = "loo" if isinstance(self.cv, int) and n_rows <= self.cv else self.cv
        own: dict[str, Any] = {_pseudo_count_field(measure): self._alpha}
        if alpha is not None:
            own[_alpha_field(measure) or ""] = alpha
        return replace(measure, folds=folds, seed=seed, **own)  # type: ignore[type-var]

    def _checked(self, criterion: Any) -> ConfusionScore:
        if not isinstance(criterion, ConfusionScore):
            raise TypeError(
                f"RMCV needs a criterion that is a measure of the confusion matrix, not {criterion!r}; "
                "BayesNetClassifier(criterion=..., search='hc') takes any score"
            )
        return criterion

    def _with_alpha(self) -> bool:
        """Whether ``alpha`` is for the criterion to use; it is refused where it would be ignored."""
        given = self.criterion
        if isinstance(given, str) and _alpha_field(self._checked(_by_name(given))):
            return True
        if self.alpha != 1:
            raise ValueError(f"alpha={self.alpha!r} is for criterion='im', not for {given!r}; leave it out")
        return False

    # ---------------------------------------------------------------- alpha

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None) -> Self:
        X = self._checked_rows(X, reset=True)
        labels, weights = self._checked_labels(X, y, sample_weight)
        self.alpha_: float | None = None
        if self._with_alpha():
            self.alpha_ = self._chosen_alpha(X, y, labels, weights) if self.alpha == "auto" else _number(self.alpha)
        return super()._fit(X, y, sample_weight, classes)

    def _chosen_alpha(self, X: Any, y: Any, labels: ClassColumn, weights: Floats | None) -> float:
        """The candidate with the best normalised measure on rows that were not learned from; of equals the least."""
        M, seed = len(labels.labels), self._seed
        if M == 1:
            return 1.0
        weights = np.ones(len(labels)) if weights is None else weights
        there = np.flatnonzero(weights)
        if len(there) < PARTS:
            raise DataError(f"alpha='auto' holds out a fifth of the rows, and needs {PARTS} or more, not {len(there)}")
        parts = stratified(labels.codes[there], PARTS, 1, seed)[0]
        held, learned = there[parts == 0], there[parts != 0]
        best, chosen = -np.inf, 1.0
        for alpha in sorted({*range(2, M + 1), M**2, M**3}):
            model = clone(self).set_params(alpha=alpha, random_state=seed)
            model._fit(_rows_of(X, learned), _rows_of(y, learned), weights[learned], labels.labels)
            found = np.argmax(model.predict_log_proba(_rows_of(X, held)), axis=1)
            confusion = np.zeros((M, M))
            np.add.at(confusion, (labels.codes[held], found), weights[held])
            value = _normalized_information(confusion, alpha)
            best, chosen = (value, float(alpha)) if value > best + 1e-12 else (best, chosen)
            if model.search_.interrupted:
                break
        return chosen


def _number(alpha: Any) -> float:
    if isinstance(alpha, (bool, str)) or not np.isscalar(alpha) or not 0 < float(alpha) < np.inf:
        raise ValueError(f"alpha must be a number above 0 or 'auto', not {alpha!r}")
    return float(alpha)


# ---- what is replaced once the information measure is among the scores -----------------------------------------------


@dataclass(frozen=True)
class _InformationMeasure(Accuracy):
    """The information measure with the sign changed, so that more is better."""

    weight: float = 1.0

    def values(self, confusions: Floats) -> Floats:
        """-IM of each confusion matrix."""
        return -_information(confusions, self.weight)


def _by_name(name: str) -> Score:
    return _InformationMeasure() if name == "im" and "im" not in SCORES else by_name(name)


def _alpha_field(measure: ConfusionScore) -> str | None:
    """The field with the parameter of the information measure."""
    names = {field.name for field in fields(measure)}  # type: ignore[arg-type]
    if isinstance(measure, _InformationMeasure):
        return "weight"
    return "alpha" if {"alpha", "prior"} <= names else None


def _pseudo_count_field(measure: ConfusionScore) -> str:
    names = {field.name for field in fields(measure)}  # type: ignore[arg-type]
    return "prior" if "prior" in names else "alpha"


def _information(confusions: Floats, alpha: float) -> Floats:
    """IM_alpha = sum_xy P(x, y) (-log(alpha P(x, y) / (P(x) P(y))) + log(1 + alpha |x - y|)) of each matrix (eq. 1)."""
    P = confusions / confusions.sum(axis=(-2, -1), keepdims=True)
    independent = P.sum(axis=-1, keepdims=True) * P.sum(axis=-2, keepdims=True)
    ratio = np.divide(P, independent, out=np.ones_like(P), where=P > 0)
    place = np.arange(P.shape[-1])
    severity = np.log1p(alpha * np.abs(place[:, None] - place))
    value: Floats = (P * (severity - np.log(alpha * ratio))).sum(axis=(-2, -1))
    return value


def _normalized_information(confusion: Floats, alpha: float) -> float:
    """(max - IM_alpha) / (max - min), with min = -log(alpha M) and max = log((1 + alpha (M - 1)) / alpha)."""
    M = len(confusion)
    least, most = -np.log(alpha * M), np.log((1 + alpha * (M - 1)) / alpha)
    return float((most - _information(confusion, alpha)) / (most - least))
