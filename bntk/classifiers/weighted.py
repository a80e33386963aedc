"""Features that count for more or less: weights from trees or from the likelihood, and averaged arcs.

All three classifiers are for discrete features; numbers are cut into intervals first.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit, logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bntk import _checking
from bntk._threads import using_threads
from bntk._warnings import warn
from bntk.classifiers.base import CountedRows, NetworkClassifier
from bntk.classifiers.family_terms import FamilyTerms
from bntk.classifiers.features import Features, Rows
from bntk.classifiers.naive import LogTables, NaiveBayes, log_tables
from bntk.classifiers.tree_weights import depths_in_trees, weights_from_depths
from bntk.cpt import CPT
from bntk.data.numbers import averaged_ways
from bntk.data.table import Table
from bntk.errors import ArgumentError, DataError
from bntk.graph.dag import DAG
from bntk.learning.completion import merged_rows
from bntk.learning.counts import TableCounter
from bntk.learning.priors import Prior, posterior_mean
from bntk.learning.space import Space
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: The largest weight of a feature, and more trees than anybody waits for.
MOST_WEIGHT, MOST_TREES = 1e6, 1_000_000
#: Parameters that an estimator has itself: how rows are read and tables estimated.
OF_ESTIMATOR = ("prior", "class_prior", "numeric", "n_bins", "missing", "identifiers", "unseen")
#: What a classifier with an estimator takes over from it.
FOUND_BY_ESTIMATOR = ("classes_", "features_", "densities_", "search_", "_class_variable")


@dataclass(kw_only=True, eq=False, repr=False)
class _DiscreteNaiveBayes(NaiveBayes):
    """Naive Bayes without densities, from labelled rows."""

    n_classes: ClassVar[None] = None  # type: ignore[misc]  # for rows without a label, which it does not take
    _takes_unlabelled: ClassVar[bool] = False
    _for_sparse: ClassVar[bool] = False

    def _learn(self, counter: TableCounter) -> None:
        _refuse_densities(self, self.features_)
        super()._learn(counter)

    def _restore(self) -> None:
        super()._restore()
        for name in ("weights_", "arc_posteriors_"):
            if name in vars(self):
                _check_by_feature(self.features_, vars(self)[name])


def _refuse_densities(classifier: NetworkClassifier, features: Features) -> None:
    for name, kind in features.continuous.items():
        raise ValueError(
            f"{type(classifier).__name__} is for discrete features, and the column {name!r} has numeric={kind!r}; cut "
            "it into intervals (numeric='mdl') or use NaiveBayes"
        )


def _by_feature(features: Features, values: Floats) -> pd.Series:
    import pandas as pd

    return pd.Series(values, index=[v.name for v in features.variables], dtype=np.float64)


def _check_by_feature(features: Features, values: pd.Series) -> None:
    """Refuse numbers, read from a file, that are not one for each feature."""
    if features.continuous or values.index.tolist() != [v.name for v in features.variables]:
        raise DataError("there is not one number for each of the features, which are discrete")
    if not (np.abs(values.to_numpy()) < 1e300).all():  # times a logarithm, and summed over features
        raise DataError("the numbers of the features must be finite, and below 1e300")


# ---- averaged ------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class MANB(_DiscreteNaiveBayes):
    """Model averaged naive Bayes: the exact mean of the 2^n naive Bayes models on subsets of the features.

    Each model has arcs from the class to some features; its weight is its posterior probability. Since the posterior of
    the arcs factorises, the mean is again a naive Bayes network (Dash and Cooper 2002), with the tables

        theta_ijk = p_i (N_ijk + alpha) / (N_ij + r_i alpha) + (1 - p_i) (N_ik + alpha) / (N_i + r_i alpha),

    where p_i is the posterior probability of the arc to feature i. More rows are added exactly by ``partial_fit``.

    Parameters
    ----------
    prior : float or Prior
        The prior of the conditional probability tables: a number is added to every count. It must be positive.
    arc_prior : float, mapping, or array_like
        The prior probability of an arc from the class to a feature; a mapping or an array gives one for each feature.

    Attributes
    ----------
    arc_posteriors_ : Series
        The probability p_i of an arc from the class to each feature.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> manb = bntk.MANB().fit(rows[["asia", "smoke", "xray"]], rows["lung"])
    >>> manb.arc_posteriors_.round(2).to_dict()
    {'asia': 0.04, 'smoke': 1.0, 'xray': 1.0}
    """

    name = "manb"
    prior: Prior | str | float = 1.0
    _in_passes: ClassVar[bool | str] = "NaiveBayes"
    arc_prior: float | Mapping[str, float] | ArrayLike = 0.5

    _state: ClassVar[dict[str, Any]] = {"arc_posteriors_": Any}  # a Series

    def _hold(self, network: BayesianNetwork) -> None:
        *features, target = network.cpts
        arcs = _for_each([cpt.name for cpt in features], self.arc_prior, "arc_prior")
        if not ((arcs >= 0) & (arcs <= 1)).all():
            raise ValueError(f"arc_prior={self.arc_prior!r} must be probabilities from 0 to 1")
        averaged = [_average(cpt, arc, self._prior) for cpt, arc in zip(features, arcs, strict=True)]
        self.arc_posteriors_ = _by_feature(self.features_, np.array([posterior for _, posterior in averaged]))
        super()._hold(network._with_cpts([*(cpt for cpt, _ in averaged), target]))


def _average(cpt: CPT, arc_prior: float, prior: Prior) -> tuple[CPT, float]:
    """The table of a feature averaged over the models with and without an arc to it, and the arc's probability."""
    if not cpt.parents:  # a constant feature: the data say nothing about an arc to it
        return cpt, arc_prior
    counts = np.asarray(cpt.counts)
    with_arc, without = prior.pseudo_count(cpt.child, len(counts)), prior.pseudo_count(cpt.child, 1)
    if np.any(np.asarray(with_arc) <= 0) or np.any(np.asarray(without) <= 0):
        raise ValueError(f"MANB needs a positive Dirichlet prior for {cpt.name!r}, such as prior=1, to weigh the arcs")
    together = counts.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore"):
        prior_odds = logit(arc_prior)
    odds = prior_odds + _log_marginal(counts, with_arc) - _log_marginal(together, without)
    values = expit(odds) * posterior_mean(counts, with_arc) + expit(-odds) * posterior_mean(together, without)
    return CPT._trusted(cpt.child, values, cpt.parents, cpt.counts), float(expit(odds))


def _log_marginal(counts: NDArray[Any], alpha: float | Floats) -> float:
    """log P(D | G) of a family: sum_j log G(a_j) / G(N_j + a_j) + sum_jk log G(N_jk + a_jk) / G(a_jk), G for Gamma."""
    cells = np.broadcast_to(np.asarray(alpha, dtype=np.float64), counts.shape)
    rows = cells.sum(axis=1)
    by_row = gammaln(rows) - gammaln(counts.sum(axis=1) + rows)
    return float(by_row.sum() + (gammaln(counts + cells) - gammaln(cells)).sum())


# ---- weighted ------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class AWNB(NetworkClassifier):
    """Attribute-weighted naive Bayes: features that decision trees test early count for more (Hall 2007).

    A feature's weight is the mean of 1 / sqrt(d) over trees on bootstrap samples, with d the least depth at which the
    tree tests it (the root is 1), and 0 for a tree that does not. The network has the tables

        theta_ijk ^ w_i / sum_k theta_ijk ^ w_i,

    as in R's bnclassify, with theta_ijk those of naive Bayes, or of any other classifier that is one network
    (``estimator``). The table of the class is not changed, nor that of a feature of weight 1; one of weight 0 becomes
    uniform: such a feature is independent of its parents, and is ignored where it is not a parent itself. (With Hall's
    plain exponents, without the sum, the class probabilities differ: the sums depend on the class.)

    Parameters
    ----------
    estimator : NetworkClassifier, optional
        The classifier whose tables are weighted, such as ``bntk.TAN()``; it finds the structure and estimates the
        tables, without weights. By default naive Bayes, with the parameters ``prior``, ``class_prior``, ``numeric``,
        ``n_bins``, ``missing``, ``identifiers`` and ``unseen`` of this classifier. An estimator has these parameters
        itself; beside one, they are refused here. Either of the two may have a ``class_weight``.
    prior : float, "mle", "backoff" or Prior
        The prior of the conditional probability tables of naive Bayes: a number is added to every count, ``"mle"`` adds
        nothing.
    n_trees : int
        The number of bootstrap samples, each with an unpruned tree: scikit-learn's, by entropy, on one indicator per
        state. R's bnclassify uses rpart, whose trees split sets of states and stop earlier, so that weights differ.
    weights : float, mapping or array_like, optional
        The weights themselves, one number for all features or one for each, instead of those from trees.

    Attributes
    ----------
    weights_ : Series
        The weight of each feature. ``partial_fit`` keeps those of its first call, and adds to the counts exactly.
    network_ : BayesianNetwork
        The network with the weighted tables, which is the one that predicts.
    features_in_use_ : list of str
        The features on which the class depends when all others are known.

    Notes
    -----
    All weighted tables sum to one, so that the weighted model is a Bayesian network: P(class | observed features) is
    defined for rows with missing values, and these are summed out exactly, with the weighted tables.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> X, y = rows[["asia", "smoke", "either", "xray"]], rows["lung"]
    >>> awnb = bntk.AWNB().fit(X, y)
    >>> awnb.weights_.idxmax()
    'either'

    Weights in a tree-augmented network:

    >>> tree = bntk.AWNB(bntk.TAN(root="smoke")).fit(X, y)
    >>> tree.dag_.parents("xray"), tree.weights_.equals(awnb.weights_)
    (('smoke', 'lung'), True)
    """

    name = "awnb"
    _in_passes: ClassVar[bool | str] = "NaiveBayes"
    estimator: NetworkClassifier | None = field(default=None, kw_only=False)
    prior: Prior | str | float = 0.25
    n_trees: int = 10
    weights: float | Mapping[str, float] | ArrayLike | None = None

    _checks: ClassVar[Mapping[str, _checking.Check]] = {
        "n_trees": partial(_checking.whole_number, least=1, most=MOST_TREES)
    }

    n_classes: ClassVar[None] = None  # type: ignore[misc]  # for rows without a label, which it does not take
    _takes_unlabelled: ClassVar[bool] = False
    _state: ClassVar[dict[str, Any]] = {"weights_": Any}  # a Series
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("estimator",)

    # ---------------------------------------------------------------- the estimator

    def _unfitted(self) -> NetworkClassifier:
        """The classifier whose tables are weighted, without what it learns."""
        given = self.estimator
        if given is None:
            return NaiveBayes(**{name: getattr(self, name) for name in OF_ESTIMATOR})
        if not isinstance(given, NetworkClassifier):
            raise ArgumentError(
                f"estimator must be a classifier that is one network, such as bntk.TAN(), not {given!r}"
            )
        if isinstance(given, AWNB) or not given._is_additive:
            raise ArgumentError(
                f"estimator={given!r} has weights of its own; give a classifier without, such as bntk.TAN()"
            )
        if averaged_ways(given.numeric):
            raise ArgumentError(
                f"estimator={given!r} is several networks (numeric='averaged'); give one, such as with numeric='smooth'"
            )
        for f in fields(self):
            if f.name in OF_ESTIMATOR and not _is_plainly(getattr(self, f.name), f.default):
                name = f"{f.name}={getattr(self, f.name)!r}"
                raise ValueError(f"{name} is not for AWNB with an estimator; give it to {type(given).__name__}({name})")
        unfitted: NetworkClassifier = clone(given)
        return unfitted

    @property
    def _class_weight(self) -> str | Mapping[Any, float] | None:
        inside = None if self.estimator is None else self._unfitted().class_weight
        if inside is not None and self.class_weight is not None:
            raise ArgumentError("both AWNB and its estimator have a class_weight, which would count twice; give one")
        return self.class_weight if inside is None else inside

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return self._unfitted()._space(features, target)

    def _hold_weighted(self, estimator: NetworkClassifier) -> None:
        """Weigh the tables of a fitted estimator, which then predicts with them."""
        estimator.network_ = self.network_ = _with_powers(estimator.network_, self.weights_)
        self._estimator = estimator

    # ---------------------------------------------------------------- learning and predicting

    def _fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: ArrayLike | None, for_more: bool = False
    ) -> Self:
        X = self._checked_rows(X, reset=True)
        counted = self._counted(X, y, sample_weight, classes, for_more)
        estimator = self._unfitted()
        estimator._checked_rows(X, reset=True)
        with using_threads(estimator.n_jobs):
            estimator._fit_rows(counted, y, classes)
        _refuse_densities(self, estimator.features_)
        self.__dict__.update({name: getattr(estimator, name) for name in FOUND_BY_ESTIMATOR})
        self._estimator = estimator
        self.weights_: pd.Series = _by_feature(self.features_, self._find_weights(counted))
        self._hold_weighted(estimator)
        return self

    def _find_weights(self, counted: CountedRows) -> Floats:
        if self.weights is not None:
            return _checked_weights([v.name for v in self.features_.variables], self.weights)
        codes = self._sorted_states[counted.labels.among(self.classes_)]
        counter = self._counter(self._rows(counted.X), codes, counted.weights)
        ranks = np.argsort(self._sorted_states)  # so that samples do not depend on the declared order of the classes
        return weights_from_depths(depths_in_trees(counter, self.n_trees, self._seed, ranks))

    def _add(self, counter: TableCounter) -> None:
        estimator = copy(self._estimator)
        estimator._add(counter)  # from the counts, so that it is as if there had been no weights
        self._hold_weighted(estimator)

    def _restore(self) -> None:
        super()._restore()
        _check_by_feature(self.features_, self.weights_)
        estimator = self._unfitted()
        kept = (*FOUND_BY_ESTIMATOR, "network_", "n_features_in_", "feature_names_in_")
        estimator.__dict__.update({name: vars(self)[name] for name in kept if name in vars(self)})
        estimator._restore()
        self._estimator = estimator

    def _rows(self, X: Any) -> Rows:
        return self._estimator._rows(X)

    def _log_scores(self, table: Table) -> Floats:
        return self._estimator._log_scores(table)

    def _family_terms(self) -> FamilyTerms | None:
        return self._estimator._family_terms()

    @property
    def features_in_use_(self) -> list[str]:
        """The features on which the class depends when all others are known."""
        ignored = self.weights_.index[self.weights_ == 0]  # they are independent of their parents
        arcs = [(tail, head) for tail, head in self.dag_.arcs if head not in ignored]
        blanket = DAG(self.dag_.nodes, arcs).markov_blanket(self._class_variable.name)
        return [name for name in self.features_.names if name in blanket]


def _is_plainly(value: Any, default: Any) -> bool:
    return isinstance(value, (str, int, float)) and value == default


def _with_powers(network: BayesianNetwork, weights: pd.Series) -> BayesianNetwork:
    """The network with the table of each feature to the power of its weight."""
    *features, target = network.cpts
    powered = [_powered(cpt, weight) for cpt, weight in zip(features, weights, strict=True)]
    return network._with_cpts([*powered, target])


def _powered(cpt: CPT, weight: float) -> CPT:
    """The table with its entries to the power of a weight, normalised again."""
    values = cpt.values**weight
    return CPT._trusted(cpt.child, values / values.sum(axis=-1, keepdims=True), cpt.parents, cpt.counts)


# ---- weights of the greatest conditional likelihood ------------------------------------------------------------------


def _check_bounds(name: str, value: Any) -> None:
    if value is None:
        return
    both = isinstance(value, (tuple, list, np.ndarray)) and len(value) == 2
    if not both or not all(map(_checking.is_number, value)) or not value[0] <= value[1]:
        raise _checking.wrong(name, "the least and the greatest weight, or None", value)


@dataclass(kw_only=True, eq=False, repr=False)
class WANBIA(_DiscreteNaiveBayes):
    """Naive Bayes with the weights that maximise the conditional likelihood of the classes (Zaidi et al. 2013).

    The class log scores are log P(c) + sum_i w_i log P(x_i | c), and the weights maximise

        sum over rows of log P(c | x; w)  -  regularization / 2 sum_i (w_i - 1)^2.

    The sum is concave in w, so that L-BFGS-B finds its only maximum. A missing value is ignored.

    Parameters
    ----------
    prior : float or Prior
        The prior of the conditional probability tables: a number is added to every count. It must be positive.
    numeric : str or mapping
        How columns of numbers are modelled, see :class:`NaiveBayes`. By default they are cut into ten intervals, which
        are interpolated: finer cuts than those of other classifiers serve here, as weights take back what these
        overstate. Weights are found with each row in its own intervals.
    bounds : tuple of two floats, or None
        The least and the greatest weight; None for no bounds. Without bounds, give a ``regularization``: where classes
        can be told apart without error there is no finite maximum.
    regularization : float
        How strongly weights are shrunk towards 1, which is naive Bayes.

    Attributes
    ----------
    weights_ : Series
        The weight of each feature. ``partial_fit`` keeps those of its first call, and adds to the counts exactly.
    conditional_log_likelihood_ : float
        That of the rows of ``fit``, with these weights.
    network_ : BayesianNetwork
        Naive Bayes *without* weights. Tables to a power do not sum to one, and normalised as in :class:`AWNB` they give
        other class probabilities, because the sums depend on the class. ``predict_proba``, ``log_joint`` and
        ``explain`` use the weights.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> rows["again"] = rows["xray"]
    >>> wanbia = bntk.WANBIA().fit(rows[["xray", "again"]], rows["lung"])
    >>> wanbia.weights_.round(2).to_dict()  # a copy does not count twice
    {'xray': 0.51, 'again': 0.51}
    """

    name = "wanbia"
    _in_passes: ClassVar[bool | str] = "NaiveBayes"
    numeric: str | Mapping[str, Any] = "smooth:10"
    bounds: tuple[float, float] | None = (0.0, 1.0)
    regularization: float = 0.0

    _checks: ClassVar[Mapping[str, _checking.Check]] = {
        "bounds": _check_bounds,
        "regularization": partial(_checking.number, least=0, most=1e12),
    }
    _state: ClassVar[dict[str, Any]] = {"weights_": Any, "conditional_log_likelihood_": float}  # a Series, and a number
    _is_additive: ClassVar[bool] = False

    def _learn(self, counter: TableCounter) -> None:
        super()._learn(counter)
        self.weights_ = _by_feature(self.features_, self._find_weights(counter))

    def _find_weights(self, counter: TableCounter) -> Floats:
        from scipy.optimize import Bounds, minimize

        for cpt in self.network_.cpts[:-1]:
            if not (cpt.values > 0).all():
                raise ValueError(
                    f"WANBIA needs positive probabilities, and {cpt.heading} has a zero: give a prior above 0"
                )
        low, high = (-np.inf, np.inf) if self.bounds is None else self.bounds
        goal = ConditionalLikelihood.of(counter, log_tables(self.network_), self.regularization)
        start = np.clip(np.ones(len(counter.names) - 1), low, high)
        if not len(start):
            self.conditional_log_likelihood_ = goal.log_likelihood(start)
            return start
        total = max(goal.rows.sum(), 1e-300)
        found = minimize(
            lambda w: tuple(-part / total for part in goal.value_and_gradient(w)),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": 2000, "maxfun": 10000, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-10},
        )
        self._warn_if_far(found.x, found.jac, low, high)
        self.conditional_log_likelihood_ = goal.log_likelihood(found.x)
        weights: Floats = found.x
        return weights

    def _warn_if_far(self, weights: Floats, gradient: Floats, low: float, high: float) -> None:
        """A message if the weights could still be improved by moving them within their bounds."""
        left = np.abs(np.clip(weights - gradient, low, high) - weights).max()
        if left > 1e-4:
            warn(
                f"the weights of WANBIA have not converged (a gradient of {left:.1g} a row is left); give bounds or a "
                "regularization",
                ConvergenceWarning,
                [type(self).__name__],
            )

    def _informing_network(self) -> BayesianNetwork:
        return _with_powers(self.network_, self.weights_)

    def _log_tables(self) -> LogTables:
        return super()._log_tables().weighted(self.weights_.to_numpy())

    def _family_terms(self) -> FamilyTerms | None:
        terms = super()._family_terms()
        return None if terms is None else terms.weighted(self.weights_.to_numpy())

    @property
    def features_in_use_(self) -> list[str]:
        """The features with a weight other than 0."""
        used: list[str] = self.weights_.index[self.weights_ != 0].tolist()
        return used


@dataclass(frozen=True, eq=False)
class ConditionalLikelihood:
    """log P(class | features) of training rows as a function of the weights; equal rows are one, with a weight."""

    tables: LogTables
    codes: NDArray[Any]
    classes: NDArray[np.intp]
    rows: Floats
    regularization: float = 0.0

    @classmethod
    def of(cls, counter: TableCounter, tables: LogTables, regularization: float = 0.0) -> ConditionalLikelihood:
        """Of the rows of a counter, the class last; those of a class that the prior excludes do not matter."""
        codes, rows = merged_rows(counter.table.codes, counter.weights)
        possible = np.isfinite(tables.log_prior)[codes[-1]]
        codes, rows = codes[:, possible], rows[possible]
        return cls(tables, np.ascontiguousarray(codes[:-1]), codes[-1].astype(np.intp), rows, regularization)

    def log_likelihood(self, weights: Floats) -> float:
        """The sum over rows of log P(class | features), without the penalty."""
        return float(self.rows @ self._log_posteriors(weights)[np.arange(len(self.rows)), self.classes])

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The penalised likelihood, and dL/dw_i = sum_n v_n (L_i(x, c_n) - sum_k P(k | x) L_i(x, k)) - penalty."""
        log_p, own = self._log_posteriors(weights), np.arange(len(self.rows))
        value = float(self.rows @ log_p[own, self.classes])
        factors = -self.rows[:, None] * np.exp(log_p)
        factors[own, self.classes] += self.rows
        from_one = weights - 1.0
        gradient = self.tables.sums(self.codes, factors) - self.regularization * from_one
        return value - 0.5 * self.regularization * float(from_one @ from_one), gradient

    def _log_posteriors(self, weights: Floats) -> Floats:
        scores = self.tables.weighted(weights).scores(self.codes)
        normalised: Floats = scores - logsumexp(scores, axis=1, keepdims=True)
        return normalised


# ---- what users give -------------------------------------------------------------------------------------------------


def _for_each(names: list[str], given: Any, what: str) -> Floats:
    """One number for each feature, from a number, a mapping or an array."""
    if isinstance(given, Mapping):
        absent, extra = [n for n in names if n not in given], [n for n in given if n not in names]
        if absent or extra:
            raise ValueError(
                f"{what} must have a number for each feature; "
                + (f"there is none for {absent[0]!r}" if absent else f"there is no feature {extra[0]!r}")
            )
        given = [given[name] for name in names]
    numbers = _checking.numbers(what, given, "one number, or one for each feature")
    if numbers.shape not in ((), (len(names),)):
        raise ValueError(f"{what} must be one number, or one for each of the {len(names)} features {names}")
    return np.array(np.broadcast_to(numbers, len(names)))


def _checked_weights(names: list[str], given: Any) -> Floats:
    weights = _for_each(names, given, "weights")
    if not ((weights >= 0) & (weights <= MOST_WEIGHT)).all():
        raise _checking.wrong("weights", f"numbers from 0 to {MOST_WEIGHT:g}", given)
    return weights
