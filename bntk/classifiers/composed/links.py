"""P(class variable | features, other class variables): classifiers of one class variable as the links of a chain."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.composed.inputs import Codes, Floats, Inputs
from bntk.classifiers.naive import NaiveBayes
from bntk.cpt import CPT
from bntk.data.labels import Labels, pair_counts
from bntk.data.numbers import looks_at_others
from bntk.data.variable import Variable, plain_state
from bntk.data.weights import copies_of, scale_of
from bntk.errors import ArgumentError, DataError
from bntk.graph.dag import DAG
from bntk.learning.priors import Prior, as_prior, posterior_mean
from bntk.network import BayesianNetwork

#: Rows that are given to a classifier at once.
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class ChainLink(ABC):
    """A fitted classifier of one class variable.

    Attributes
    ----------
    target : int
        Which class variable.
    parents : tuple of int
        The class variables that it takes as features.
    """

    target: int
    parents: tuple[int, ...]

    @abstractmethod
    def estimator(self) -> Any:
        """The classifier."""

    @abstractmethod
    def log_proba(self, inputs: Inputs, codes: Codes, rows: NDArray[np.intp] | None = None) -> Floats:
        """log P(label | row, labels of the parents), shape (n, n_classes).

        ``codes`` has the shape (n_parents, n): a column for each row of the inputs, or for each of ``rows``, in which
        a row may come more than once.
        """

    def best(self, inputs: Inputs, codes: Codes) -> Codes:
        """The label that the classifier gives to each row."""
        return np.argmax(self.log_proba(inputs, codes), axis=1)

    def check(self, labels: Labels, variables: Sequence[Variable], names: tuple[str, ...]) -> None:
        """Refuse a link that was read from a file if it does not fit the class variables and the columns of X."""
        among = range(len(variables))
        if self.target not in among or not {*self.parents} <= {*among} - {self.target}:
            raise DataError(f"a link of {self.target} given {self.parents}: there are {len(variables)} class variables")
        if len({*self.parents}) < len(self.parents):
            raise DataError(f"a link has a parent twice: {self.parents}")
        if not self._fits(labels, [variables[j] for j in self.parents], names):
            raise DataError(f"the classifier of {labels.names[self.target]!r} is about other features or labels")

    @abstractmethod
    def _fits(self, labels: Labels, parents: list[Variable], names: tuple[str, ...]) -> bool:
        """Whether it is about these features and labels."""


@dataclass(frozen=True)
class ConstantLink(ChainLink):
    """A class variable with one label, which many classifiers refuse, as there is nothing to tell it from."""

    label: Any

    def estimator(self) -> Any:
        """A classifier that always says the same."""
        from sklearn.dummy import DummyClassifier  # slow to import, and seldom needed

        return DummyClassifier(strategy="most_frequent").fit([[0]], [self.label])

    def log_proba(self, inputs: Inputs, codes: Codes, rows: NDArray[np.intp] | None = None) -> Floats:
        """log 1."""
        return np.zeros((inputs.n_rows if rows is None else len(rows), 1))

    def _fits(self, labels: Labels, parents: list[Variable], names: tuple[str, ...]) -> bool:
        return labels.classes[self.target].tolist() == [plain_state(self.label)]


# ---- any classifier --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EstimatorLink(ChainLink):
    """A classifier for which labels are columns behind those of X."""

    model: Any

    def estimator(self) -> Any:
        """The classifier."""
        return self.model

    def log_proba(self, inputs: Inputs, codes: Codes, rows: NDArray[np.intp] | None = None) -> Floats:
        """log P(label | row, labels of the parents)."""
        n = inputs.n_rows if rows is None else len(rows)
        if rows is None and n <= ROWS_AT_ONCE:
            return self._log_proba(inputs.given(self.parents, codes))
        rows = np.arange(n) if rows is None else rows
        pieces = [slice(start, start + ROWS_AT_ONCE) for start in range(0, n, ROWS_AT_ONCE)]
        return np.concatenate([self._log_proba(inputs.take(rows[p]).given(self.parents, codes[:, p])) for p in pieces])

    def _log_proba(self, data: Any) -> Floats:
        if isinstance(self.model, BayesClassifier):
            return self.model.predict_log_proba(data)
        if not hasattr(self.model, "predict_proba"):
            raise AttributeError(
                f"the estimator {type(self.model).__name__} has no predict_proba, so it can only be used to "
                "predict labels one after the other"
            )
        with np.errstate(divide="ignore"):
            return np.log(self.model.predict_proba(data))

    def best(self, inputs: Inputs, codes: Codes) -> Codes:
        """The label that the classifier gives to each row."""
        if isinstance(self.model, BayesClassifier):
            return super().best(inputs, codes)
        labels = self.model.predict(inputs.given(self.parents, codes))
        return np.searchsorted(self.model.classes_, labels)

    def _fits(self, labels: Labels, parents: list[Variable], names: tuple[str, ...]) -> bool:
        return _is_about(self.model, labels.classes[self.target], (*names, *(v.name for v in parents)))


# ---- naive Bayes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NaiveLink(ChainLink):
    """Naive Bayes, in which labels as features only add their terms to those of X.

    So one classifier of X, without labels, serves all chains, whatever comes before the class variable in them, and X
    is read once for all combinations of labels.

    Attributes
    ----------
    features_only : NaiveBayes
        The classifier of X, without labels as features.
    variables : tuple of Variable
        The parents.
    counts : tuple of ndarray
        Of the classes with the labels of each parent, shape (n_classes, n_labels).
    terms : tuple of ndarray
        log P(parent | target), shape (n_labels, n_classes).
    """

    features_only: NaiveBayes
    variables: tuple[Variable, ...]
    counts: tuple[Floats, ...]
    terms: tuple[Floats, ...]

    def estimator(self) -> NaiveBayes:
        """The classifier with the labels as features."""
        if not self.parents:
            return self.features_only
        part = self.features_only
        whole, features, network = copy.copy(part), part.features_, part.network_
        whole.features_ = replace(
            features,
            names=(*features.names, *(v.name for v in self.variables)),
            seen=(*features.seen, *self.variables),
        )
        whole.n_features_in_ = len(whole.features_.names)
        whole.feature_names_in_ = np.array(whole.features_.names, dtype=object)
        *cpts, last = network.cpts
        prior = part._prior
        for v, counts in zip(self.variables, self.counts, strict=True):
            cpts.append(CPT._trusted(v, _given_class(v, counts, prior), (last.child,), counts))
        names = [cpt.child.name for cpt in (*cpts, last)]
        dag = DAG(names, [(names[-1], name) for name in names[:-1]])
        whole.network_ = BayesianNetwork(dag, [*cpts, last], prior=network.prior)
        whole.search_ = replace(part.search_, dag=dag)
        return whole

    def log_proba(self, inputs: Inputs, codes: Codes, rows: NDArray[np.intp] | None = None) -> Floats:
        """log P(label | row, labels of the parents)."""
        more = sum((terms[labels] for terms, labels in zip(self.terms, codes, strict=True)), start=np.zeros(1))
        model = self.features_only
        if self.terms and model.features_.centres:  # the mean over codings is not a sum of terms
            read = inputs.read(model)
            with using_threads(model.n_jobs):
                return normalised(model._row_scores_with(read if rows is None else read.take(rows), more))
        scores = inputs.log_joint(model)
        return normalised((scores if rows is None else scores[rows]) + more)

    def _fits(self, labels: Labels, parents: list[Variable], names: tuple[str, ...]) -> bool:
        k = len(labels.classes[self.target])
        shapes = [(k, v.n_states) for v in parents]
        return (
            _is_about(self.features_only, labels.classes[self.target], names)
            and self.variables == tuple(parents)
            and [counts.shape for counts in self.counts] == shapes
            and [terms.T.shape for terms in self.terms] == shapes
        )


def _given_class(variable: Variable, counts: Floats, prior: Prior) -> Floats:
    """P(variable | class) as naive Bayes estimates it from counts, shape (n_classes, n_states)."""
    return posterior_mean(counts, prior.pseudo_count(variable, len(counts)))


def normalised(scores: Floats) -> Floats:
    """Log scores less the log of their sum, in place; a row in which all are -inf says nothing."""
    top = scores.max(axis=1, keepdims=True)
    impossible = ~np.isfinite(top[:, 0])
    if impossible.any():
        scores[impossible], top[impossible] = 0.0, 0.0
    scores -= top
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def _is_about(model: Any, classes: NDArray[Any], names: tuple[str, ...]) -> bool:
    """Whether a fitted classifier of this package has these classes and features."""
    if not isinstance(model, BayesClassifier) or not hasattr(model, "classes_") or model.features_.names != names:
        return False
    if model.classes_.dtype.kind in "mM":  # numpy compares nanoseconds with objects as if they were numbers
        import pandas as pd

        return bool(pd.Index(model.classes_).equals(pd.Index(classes)))
    return np.array_equal(model.classes_, classes)


# ---- fitting ---------------------------------------------------------------------------------------------------------


class LinkMaker:
    """Fits links to training rows; what several of them share is worked out once.

    A row counts for a class variable whose label it has. Where it lacks the label of a parent, that is a missing cell;
    and for classifiers of other packages that refuse these, the row does not count.

    Parameters
    ----------
    prototype : classifier
    inputs : Inputs
    labels : Labels
    codes : ndarray of shape (n_targets, n_rows)
    weights : ndarray, optional
        How often each row counts, above 0.
    places : ndarray of int, optional
        Where the rows are among those that the user gave, if these are more.
    n_given : int, optional
        How many rows the user gave; by default these.
    """

    def __init__(
        self, prototype: Any, inputs: Inputs, labels: Labels, codes: Codes, weights: Floats | None = None,
        places: NDArray[np.intp] | None = None, n_given: int | None = None,
    ) -> None:  # fmt: skip
        if weights is not None and not has_fit_parameter(prototype, "sample_weight"):
            raise ArgumentError(
                f"the estimator {type(prototype).__name__} takes no sample_weight in fit; leave the weights out, or "
                "choose an estimator that takes them"
            )
        self.prototype, self.inputs, self.labels, self.codes = prototype, inputs, labels, codes
        self.weights, self.places = weights, places
        self.n_given = codes.shape[1] if n_given is None else n_given
        self._features_only: dict[int, Any] = {}
        self._pairs: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        self._starts = np.cumsum([0, *labels.cards])

    def one_by_one(self) -> LinkMaker:
        """The same for rows that are divided: a row of weight 2 is two rows, where weights are whole."""
        copies = None if self.weights is None else copies_of(self.weights)
        if copies is None:
            return self
        inputs, codes = self.inputs.take(copies), self.codes[:, copies]
        places = copies if self.places is None else self.places[copies]
        return LinkMaker(self.prototype, inputs, self.labels, codes, None, places, self.n_given)

    def make(self, target: int, parents: Sequence[int] = ()) -> ChainLink:
        """The classifier of a class variable given X and its parents."""
        parents = tuple(parents)
        if self.labels.cards[target] == 1:
            return ConstantLink(target, parents, self.labels.classes[target][0])
        if self._adds_terms:
            variables = tuple(self.inputs.targets[parent] for parent in parents)
            pairs = [self._pair(target, parent) for parent in parents]
            counts, terms = zip(*pairs, strict=True) if pairs else ((), ())
            return NaiveLink(target, parents, self._alone(target), variables, counts, terms)
        return EstimatorLink(target, parents, self._fitted(target, parents))

    def _alone(self, target: int) -> Any:
        """The classifier of a class variable given X only, fitted once."""
        if target not in self._features_only:
            self._features_only[target] = self._fitted(target, ())
        return self._features_only[target]

    def _fitted(self, target: int, parents: tuple[int, ...]) -> Any:
        import pandas as pd

        codes, inputs = self.codes, self.inputs
        known = np.flatnonzero(self._usable(target, parents))
        if not len(known):
            names = ", ".join(repr(inputs.targets[j].name) for j in (target, *parents))
            raise DataError(f"no row has all the labels of {names}, which the estimator needs")
        if len(known) < codes.shape[1]:
            inputs, codes = inputs.take(known), codes[:, known]
        y = pd.Series(self.labels.classes[target][codes[target]], name=inputs.targets[target].name)
        weighted = {} if self.weights is None else {"sample_weight": self.weights[known]}
        return clone(self.prototype).fit(inputs.given(parents, codes[list(parents)]), y, **weighted)

    def _usable(self, target: int, parents: tuple[int, ...]) -> NDArray[np.bool_]:
        """The rows that have the label, and those of the parents, if the classifier refuses missing values."""
        needed = (
            [target] if self.inputs.discrete or get_tags(self.prototype).input_tags.allow_nan else [target, *parents]
        )
        return np.all([self.codes[j] < self.labels.cards[j] for j in needed], axis=0)

    @property
    def _adds_terms(self) -> bool:
        """Whether labels only add terms to naive Bayes of X.

        Not where labels would have a part in the cuts of numbers. Weights of classes are those of each class variable
        by itself, which the counts of pairs do not have.
        """
        prototype = self.prototype
        if type(prototype) is not NaiveBayes or prototype.missing == "state" or prototype.class_weight is not None:
            return False
        numeric = prototype.numeric
        ways = numeric.values() if isinstance(numeric, Mapping) else [numeric]
        return not any(looks_at_others(way) for way in ways)

    @cached_property
    def _prior(self) -> Prior:
        """That of naive Bayes."""
        return as_prior(self.prototype.prior)

    @cached_property
    def _counts(self) -> Floats:
        """Of all pairs of labels; a missing one counts for none."""
        return pair_counts(self.codes, self.labels.cards, self.weights)

    def _pair(self, target: int, parent: int) -> tuple[Floats, Floats]:
        """Counts of the labels of two class variables, and log P(parent | target) for naive Bayes."""
        if (target, parent) not in self._pairs:
            of_target, of_parent = (slice(self._starts[j], self._starts[j + 1]) for j in (target, parent))
            counts = self._counts[of_target, of_parent]
            if self.weights is not None:  # as the classifier of the target does with the rows that have its label
                counts = counts * scale_of(self.weights[self._usable(target, ())])
            with np.errstate(divide="ignore"):
                prior = self._prior.given_class((self.inputs.targets[target],))
                logs = np.log(_given_class(self.inputs.targets[parent], counts, prior))
            self._pairs[target, parent] = counts, np.ascontiguousarray(logs.T)
        return self._pairs[target, parent]
