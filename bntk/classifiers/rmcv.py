"""Risk minimisation by cross-validation: any network, learned by the labels that it gives to rows it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bntk._checking import Check, is_whole, wrong
from bntk._interrupts import raising_interrupts
from bntk.classifiers.base import CountedRows, NetworkClassifier, _rows_of
from bntk.classifiers.parameters import given_splits
from bntk.data.weights import copies_of
from bntk.errors import ArgumentError, DataError, UnseenStateWarning
from bntk.graph.dag import DAG, as_dag
from bntk.learning import confusion
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.priors import Prior
from bntk.learning.scores import IM, ConfusionScore, Score, by_name
from bntk.learning.scores.leaving_out import stratified
from bntk.learning.search import Search, SearchResult
from bntk.learning.space import Space
from bntk.learning.space import named as spaces

Floats = NDArray[np.float64]

#: One of so many parts of the rows is held out to choose alpha.
PARTS = 5
#: Measures that differ by less are equal.
EQUAL = 1e-12


def _check_alpha(name: str, value: Any) -> None:
    if isinstance(value, str) and value != "auto":
        raise wrong(name, "a number above 0 or 'auto'", value)
    if not isinstance(value, str):
        confusion.checked_alpha(value)


@dataclass(kw_only=True, eq=False, repr=False)
class RMCV(NetworkClassifier):
    """Risk minimisation by cross-validation: any network, by a measure of its confusions (Kelner and Lerner 2012).

    The class may have parents and children. Each step adds, deletes or reverses the arc that improves a measure of the
    cross-validated confusion matrix most, and the search ends where no change improves it. Changes that cannot change
    a prediction, such as arcs between features outside the Markov blanket of the class, are never made. The
    information measure is for classes with an order, which also may be unbalanced (Halbersberg and Lerner 2016).

    From the empty structure, which gives all rows the label of the largest class, the search only goes on if some
    single arc changes labels. If one class has most of the rows, often none does; then use ``start="naive"``.

    Parameters
    ----------
    criterion : str or ConfusionScore
        The measure of the confusion matrix: ``"im"`` (the information measure), ``"accuracy"``, ``"mi"``, ``"mae"``,
        ``"mcc"``, ``"cen"``, or another score that derives from :class:`bntk.scores.ConfusionScore`. For ``"im"`` and
        ``"mae"``, more than two classes must be numbers or have a declared order, such as that of ordered categories.
        An object is used as it is, with folds, seed, pseudo-count and alpha of its own.
    alpha : float or "auto"
        The parameter of the information measure: the larger, the closer it is to accuracy. ``"auto"`` chooses among
        2, ..., M, M² and M³, for M classes: a fifth of the training rows is held out, a network is learned from the
        others with each of these, and the one with the best normalised measure on the rows held out is used for all
        rows. For other criteria and for objects it must be 1.
    cv : int, "loo", ndarray of int, splitter or iterable of splits
        The number of folds, which are stratified; with so few rows, or for ``"loo"``, each row is left out by itself.
        Or the fold of each row, or a splitter of scikit-learn, or what its ``split`` returns; each row must be left out
        once. Rows of whole weights are divided one by one: a row of weight 2 is two rows, which may be in different
        folds, unless folds are given; a row of any other weight is in one fold.
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
    >>> rmcv = bntk.RMCV(max_parents=2).fit(X, y)
    >>> [step.what for step in rmcv.search_.trace]
    ['add bronc -> dysp', 'add either -> dysp']
    >>> rmcv.features_in_use_
    ['bronc', 'either']
    """

    name = "rmcv"
    _in_passes: ClassVar[bool | str] = "TAN"
    prior: Prior | str | float = 0.1
    criterion: str | Score = "im"
    alpha: float | str = 1
    cv: Any = 5
    start: DAG | str = "empty"
    max_parents: int | None = None
    search: str | Search = "hc"

    _checks: ClassVar[Mapping[str, Check]] = {"alpha": _check_alpha}
    _state: ClassVar[dict[str, Any]] = {"alpha_": float | None}

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.general((*features, target), target, max_parents=self.max_parents)

    def _fit_rows(self, counted: CountedRows, y: Any, classes: ArrayLike | None) -> Self:
        counted = _one_by_one(counted)
        folds = _folds(self.cv, counted)
        self.alpha_: float | None = self._given_alpha()
        judged = np.flatnonzero(counted.labels.known)
        if self.alpha == "auto":
            with raising_interrupts():
                self.alpha_ = self._best_alpha(counted, y, judged, folds, classes)
        # The structure is judged by the labelled rows; if there are none, by the labels that all of them are given.
        folds = folds[judged] if isinstance(folds, np.ndarray) and judged.size else folds
        self._held_folds = folds
        try:
            return super()._fit_rows(counted, y, classes)
        finally:
            del self._held_folds

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        *features, target = counter.names
        seed = self._seed
        score = self._measure(self._held_folds, counter.n_rows, seed).with_target(target)
        space, start = self._space(tuple(features), target), self._start_structure(counter.names, target)
        return learn_structure(counter, score, space, self.search, start=start, seed=seed)

    def _start_structure(self, names: tuple[str, ...], target: str) -> DAG:
        """The structure to begin with, over all variables."""
        if isinstance(self.start, str) and self.start in ("empty", "naive"):
            return DAG(names, [(target, x) for x in names if x != target] if self.start == "naive" else [])
        given = as_dag(self.start, "start")
        unknown = [name for name in given.nodes if name not in names]
        if unknown:
            raise DataError(
                f"start has {unknown}, which are neither features nor the class: {list(names)}; or 'empty', 'naive'"
            )
        return DAG(names, given.arcs)

    def _measure(self, folds: Any, n_rows: int, seed: int) -> ConfusionScore:
        """The criterion; one that is given by its name has the parameters of the classifier."""
        score = self._criterion()
        if not isinstance(self.criterion, str):
            return score
        too_few = isinstance(folds, int) and n_rows <= folds
        score = replace(score, folds="loo" if too_few else folds, prior=self._alpha, seed=seed)
        return replace(score, alpha=self.alpha_) if isinstance(score, IM) and self.alpha_ is not None else score

    def _criterion(self) -> ConfusionScore:
        score = by_name(self.criterion)
        if not isinstance(score, ConfusionScore):
            raise ArgumentError(
                f"RMCV needs a criterion that is a measure of the confusion matrix, not {score!r}; "
                "BayesNetClassifier(criterion=..., search='hc') takes any score"
            )
        return score

    # ---------------------------------------------------------------- alpha

    def _given_alpha(self) -> float | None:
        """The parameter of the information measure as it is given; where it would be ignored it is refused."""
        score = self._criterion()
        if isinstance(self.criterion, str) and isinstance(score, IM):
            return None if self.alpha == "auto" else confusion.checked_alpha(self.alpha)  # type: ignore[arg-type]
        if self.alpha != 1:
            raise ValueError(f"alpha={self.alpha!r} is for criterion='im', not for {self.criterion!r}; leave it out")
        return float(score.alpha) if isinstance(score, IM) else None

    def _best_alpha(
        self, counted: CountedRows, y: Any, judged: NDArray[np.intp], folds: Any, classes: ArrayLike | None
    ) -> float:
        """The best alpha by the rows that have a label."""
        if not judged.size:
            raise ValueError("alpha='auto' is chosen by the labels of rows, but no row has one; give a number")
        known = counted.labels.labels if classes is None else np.unique(np.asarray(classes))
        if len(judged) < len(counted.labels):
            counted = counted.take(judged)
            folds = folds[judged] if isinstance(folds, np.ndarray) else folds
        split = Split(counted.labels.among(known), known, counted.weights, folds, self._seed)
        return self._chosen_alpha(counted, y, split)

    def _chosen_alpha(self, counted: CountedRows, y: Any, split: Split) -> float:
        """The candidate with the best normalised measure on rows that were not learned from; of equals the least."""
        M = len(split.classes)
        if M == 1:
            return 1.0
        held, learned = split.rows()
        rows, others = counted.take(learned), _rows_of(counted.X, held)
        best, chosen = -np.inf, 1.0
        for alpha in sorted({*range(2, M + 1), M**2, M**3}):
            folds = split.folds[learned] if isinstance(split.folds, np.ndarray) else split.folds
            model = clone(self).set_params(alpha=alpha, cv=folds, random_state=split.seed, unseen="missing")
            model._checked_rows(rows.X, reset=True)
            model._fit_rows(rows, y, split.classes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenStateWarning)  # of states that only rows held out have
                found = np.argmax(model.predict_log_proba(others), axis=1)
            value = split.normalized_measure(held, found, model._sorted_states, alpha)
            best, chosen = (value, float(alpha)) if value > best + EQUAL else (best, chosen)
        return chosen


class Split(NamedTuple):
    """Rows, by their classes, of which a fifth is held out.

    Attributes
    ----------
    codes : ndarray of int
        The class of each row.
    classes : ndarray
        All classes, sorted.
    weights : ndarray, optional
        The weight of each row.
    folds : int, str or ndarray
        How the rows are divided into folds.
    seed : int
    """

    codes: NDArray[np.int64]
    classes: NDArray[Any]
    weights: Floats | None
    folds: Any
    seed: int

    def rows(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows that are held out, a fifth of each class, and the others."""
        if len(self.codes) < PARTS:
            raise DataError(
                f"alpha='auto' holds out a fifth of the rows, and needs {PARTS} or more, not {len(self.codes)}"
            )
        part = stratified(self.codes, PARTS, 1, self.seed)[0]
        return np.flatnonzero(part == 0), np.flatnonzero(part)

    def weights_of(self, rows: NDArray[np.intp]) -> Floats | None:
        """The weights of some of the rows."""
        return None if self.weights is None else self.weights[rows]

    def normalized_measure(
        self, rows: NDArray[np.intp], found: NDArray[np.intp], place: NDArray[np.intp], alpha: float
    ) -> float:
        """(max - IM_alpha) / (max - min) of the classes ``found`` for some of the rows: 1 is best.

        ``place`` is that of each of the sorted classes in their order.
        """
        M, weights = len(self.classes), self.weights_of(rows)
        counts = np.zeros((M, M))
        np.add.at(counts, (place[self.codes[rows]], place[found]), 1.0 if weights is None else weights)
        least, most = confusion.information_measure_bounds(M, alpha)
        value = confusion.information_measure(counts / counts.sum(), alpha)
        return float((most - value) / (most - least))


def _one_by_one(counted: CountedRows) -> CountedRows:
    """The rows that folds divide: one of weight 2 is two rows, where weights are whole."""
    copies = None if counted.weights is None else copies_of(counted.weights)
    if copies is None:
        return counted
    places = copies if counted.places is None else counted.places[copies]
    return counted.take(copies)._replace(weights=None, places=places, n_given=counted.n_given)


def _folds(cv: Any, counted: CountedRows) -> Any:
    """The number of folds, ``"loo"``, or the fold of each row that counts.

    A splitter divides the rows that count; folds and splits that are given are of all rows.
    """
    if is_whole(cv) or isinstance(cv, str):
        return cv
    n_given, places = counted.n_given, counted.places
    if isinstance(cv, np.ndarray) and cv.ndim == 1:
        if len(cv) != n_given:
            raise ValueError(f"cv has the fold of {len(cv):,} rows, but there are {n_given:,}")
        return cv if places is None else cv[places]
    if hasattr(cv, "split"):
        return _left_out(cv, counted.labels.codes)
    every = _left_out(cv, np.zeros(n_given, dtype=np.int64))
    return every if places is None else every[places]


def _left_out(cv: Any, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The fold in which each row is left out by a splitter or a list of splits."""
    folds, n_rows = np.full(len(codes), -1), len(codes)
    for fold, (learned, left_out) in enumerate(given_splits(cv, n_rows, codes)):
        if len(learned) + len(left_out) != n_rows or (folds[left_out] >= 0).any():
            raise ValueError("cv must leave out each row once, and learn from all rows that are not left out")
        folds[left_out] = fold
    if (folds < 0).any():
        raise ValueError(f"cv must leave out each row once, but row {np.argmin(folds)} is never left out")
    return folds
