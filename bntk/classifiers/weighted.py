"""Naive Bayes whose features count for more or less: weights from trees or from the likelihood, and averaged arcs.

All three are for discrete features; numbers are cut into intervals first.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit, logsumexp
from sklearn.exceptions import ConvergenceWarning

from bntk._threads import run_parallel
from bntk.classifiers.naive import LogTables, NaiveBayes, log_tables
from bntk.cpt import CPT
from bntk.errors import DataError
from bntk.learning.completion import merged_rows
from bntk.learning.counts import TableCounter
from bntk.learning.priors import Prior, posterior_mean
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class _DiscreteNaiveBayes(NaiveBayes):
    """Naive Bayes without densities, from labelled rows."""

    n_classes: ClassVar[None] = None  # type: ignore[misc]  # for rows without a label, which it does not take
    _takes_unlabelled: ClassVar[bool] = False

    def _learn(self, counter: TableCounter) -> None:
        for name, kind in self.features_.continuous.items():
            raise ValueError(
                f"{type(self).__name__} is for discrete features, and the column {name!r} has numeric={kind!r}; cut it "
                "into intervals (numeric='mdl') or use NaiveBayes"
            )
        super()._learn(counter)

    def _restore(self) -> None:
        super()._restore()
        names = [v.name for v in self.features_.variables]
        if self.features_.continuous or any(
            vars(self)[name].index.tolist() != names for name in ("weights_", "arc_posteriors_") if name in vars(self)
        ):
            raise DataError("there is not one number for each of the features, which are discrete")

    def _by_feature(self, values: Floats) -> pd.Series:
        import pandas as pd

        return pd.Series(values, index=[v.name for v in self.features_.variables], dtype=np.float64)


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
    arc_prior: float | Mapping[str, float] | ArrayLike = 0.5

    _state: ClassVar[dict[str, Any]] = {"arc_posteriors_": Any}  # a Series

    def _hold(self, network: BayesianNetwork) -> None:
        *features, target = network.cpts
        arcs = _for_each([cpt.name for cpt in features], self.arc_prior, "arc_prior")
        if not ((arcs >= 0) & (arcs <= 1)).all():
            raise ValueError(f"arc_prior={self.arc_prior!r} must be probabilities from 0 to 1")
        averaged = [_average(cpt, arc, self._prior) for cpt, arc in zip(features, arcs, strict=True)]
        self.arc_posteriors_ = self._by_feature(np.array([posterior for _, posterior in averaged]))
        super()._hold(network._with_cpts([*(cpt for cpt, _ in averaged), target]))


def _average(cpt: CPT, arc_prior: float, prior: Prior) -> tuple[CPT, float]:
    """The table of a feature averaged over the models with and without an arc to it, and the arc's probability."""
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
class _WeightedNaiveBayes(_DiscreteNaiveBayes):
    """Naive Bayes with one weight per feature; the weights are found once, from the first rows."""

    _state: ClassVar[dict[str, Any]] = {"weights_": Any}  # a Series

    @abstractmethod
    def _find_weights(self, counter: TableCounter) -> Floats:
        """The weights of the features."""

    @property
    def features_in_use_(self) -> list[str]:
        """The features with a weight other than 0."""
        used: list[str] = self.weights_.index[self.weights_ != 0].tolist()
        return used


@dataclass(kw_only=True, eq=False, repr=False)
class AWNB(_WeightedNaiveBayes):
    """Attribute-weighted naive Bayes: features that decision trees test early count for more (Hall 2007).

    A feature's weight is the mean of 1 / sqrt(d) over trees on bootstrap samples, with d the least depth at which the
    tree tests it (the root is 1), and 0 for a tree that does not. The network has the tables

        theta_ijk ^ w_i / sum_k theta_ijk ^ w_i,

    as in R's bnclassify; a feature of weight 0 is ignored, and the table of one of weight 1 is not changed. (With
    Hall's plain exponents, without the sum, the class probabilities differ: the sums depend on the class.)

    Parameters
    ----------
    n_trees : int
        The number of bootstrap samples, each with an unpruned tree: scikit-learn's, by entropy, on one indicator per
        state. R's bnclassify uses rpart, whose trees split sets of states and stop earlier, so that weights differ.
    weights : mapping or array_like, optional
        The weights themselves, one for each feature, instead of those from trees.

    Attributes
    ----------
    weights_ : Series
        The weight of each feature. ``partial_fit`` keeps those of its first call, and adds to the counts exactly.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> awnb = bntk.AWNB().fit(rows[["asia", "smoke", "either", "xray"]], rows["lung"])
    >>> awnb.weights_.idxmax()
    'either'
    """

    name = "awnb"
    n_trees: int = 10
    weights: Mapping[str, float] | ArrayLike | None = None

    def _learn(self, counter: TableCounter) -> None:
        self.weights_ = self._by_feature(self._find_weights(counter))
        super()._learn(counter)

    def _find_weights(self, counter: TableCounter) -> Floats:
        names = list(counter.names[:-1])
        if self.weights is not None:
            return _checked_weights(names, self.weights)
        if self.n_trees < 1:
            raise ValueError(f"n_trees={self.n_trees!r}: at least one tree is needed to find weights")
        ranks = np.argsort(
            self._sorted_states
        )  # of the states among ``classes_``: samples do not depend on their order
        return weights_from_depths(_depths_in_trees(counter, self.n_trees, self._seed, ranks))

    def _hold(self, network: BayesianNetwork) -> None:
        *features, target = network.cpts
        weighted = [_powered(cpt, weight) for cpt, weight in zip(features, self.weights_, strict=True)]
        super()._hold(network._with_cpts([*weighted, target]))


def weights_from_depths(depths: ArrayLike) -> Floats:
    """The weights of Hall (2007): the mean over trees of 1 / sqrt(d).

    Parameters
    ----------
    depths : array_like of shape (n_trees, n_features)
        The least depth at which each tree tests each feature, counted from 1; 0 where it does not.

    Examples
    --------
    >>> weights_from_depths([[1, 4, 0], [1, 0, 0]])
    array([1.  , 0.25, 0.  ])
    """
    depths = np.asarray(depths, dtype=np.float64)
    return np.divide(1.0, np.sqrt(depths), out=np.zeros_like(depths), where=depths > 0).mean(axis=0)


def _depths_in_trees(counter: TableCounter, n_trees: int, seed: int, ranks: NDArray[np.intp]) -> NDArray[np.int64]:
    """The least depth of each feature in trees on bootstrap samples; they do not depend on the order of the rows.

    ``ranks`` are the numbers by which the classes are sorted.
    """
    from sklearn.tree import DecisionTreeClassifier

    codes, repeats = merged_rows(counter.table.codes, counter.weights)
    codes = np.concatenate([codes[:-1], ranks[codes[-1:]].astype(codes.dtype)])
    order = np.lexsort(codes)
    codes, repeats = codes[:, order], repeats[order]
    cards = counter.table.cards[:-1].tolist()
    states = [codes[f] == state for f, card in enumerate(cards) for state in range(card)]
    indicators = np.array(states, dtype=np.float32).reshape(sum(cards), len(repeats)).T
    owners = np.repeat(np.arange(len(cards)), cards)
    if not sum(cards):
        return np.zeros((n_trees, 0), dtype=np.int64)
    rng = np.random.default_rng(seed)
    size, shares = max(1, round(repeats.sum())), repeats / repeats.sum()
    samples = [(rng.multinomial(size, shares), int(rng.integers(2**31))) for _ in range(n_trees)]

    def depths_of(sample: tuple[NDArray[np.int64], int]) -> NDArray[np.int64]:
        drawn, seed_of_tree = sample
        there = np.flatnonzero(drawn)
        kept, classes, weights = indicators[there], codes[-1, there], drawn[there].astype(np.float64)
        useful = np.unique(owners[kept.min(axis=0) < kept.max(axis=0)])
        limit = 4  # a tree is grown until it has tested every feature, or is whole: below, depths do not matter
        while True:
            grower = DecisionTreeClassifier(criterion="entropy", max_depth=limit, random_state=seed_of_tree)
            tree = grower.fit(kept, classes, sample_weight=weights).tree_
            depths = _least_depths(tree, owners, len(cards))
            if depths[useful].all() or tree.max_depth < limit:
                return depths
            limit *= 2

    return np.array(run_parallel(depths_of, samples))


def _least_depths(tree: Any, owners: NDArray[np.int64], n_features: int) -> NDArray[np.int64]:
    """The least depth, from 1, at which a tree tests an indicator of each feature; 0 where it does not."""
    depths = np.zeros(n_features, dtype=np.int64)
    level, depth = [0], 1
    while level:
        inner = [node for node in level if tree.children_left[node] >= 0]
        tested = owners[tree.feature[inner]]
        depths[tested[depths[tested] == 0]] = depth
        level, depth = [*tree.children_left[inner], *tree.children_right[inner]], depth + 1
    return depths


def _powered(cpt: CPT, weight: float) -> CPT:
    """The table with its entries to the power of a weight, normalised again."""
    values = cpt.values**weight
    return CPT._trusted(cpt.child, values / values.sum(axis=-1, keepdims=True), cpt.parents, cpt.counts)


# ---- weights of the greatest conditional likelihood ------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class WANBIA(_WeightedNaiveBayes):
    """Naive Bayes with the weights that maximise the conditional likelihood of the classes (Zaidi et al. 2013).

    The class log scores are log P(c) + sum_i w_i log P(x_i | c), and the weights maximise

        sum over rows of log P(c | x; w)  -  regularization / 2 sum_i (w_i - 1)^2.

    The sum is concave in w, so that L-BFGS-B finds its only maximum. A missing value is ignored.

    Parameters
    ----------
    prior : float or Prior
        The prior of the conditional probability tables: a number is added to every count. It must be positive.
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
    {'xray': 0.52, 'again': 0.52}
    """

    name = "wanbia"
    bounds: tuple[float, float] | None = (0.0, 1.0)
    regularization: float = 0.0

    _state: ClassVar[dict[str, Any]] = {"conditional_log_likelihood_": float}
    _is_additive: ClassVar[bool] = False

    def _learn(self, counter: TableCounter) -> None:
        super()._learn(counter)
        self.weights_ = self._by_feature(self._find_weights(counter))

    def _find_weights(self, counter: TableCounter) -> Floats:
        from scipy.optimize import Bounds, minimize

        for cpt in self.network_.cpts[:-1]:
            if not (cpt.values > 0).all():
                raise ValueError(f"WANBIA needs positive probabilities, and {cpt!s} has a zero: give a prior above 0")
        low, high = (-np.inf, np.inf) if self.bounds is None else self.bounds
        if not low <= high:
            raise ValueError(f"bounds={self.bounds!r} must be the least and the greatest weight, or None")
        if not self.regularization >= 0:
            raise ValueError(f"regularization={self.regularization!r} must not be negative")
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
            warnings.warn(
                f"the weights of WANBIA have not converged (a gradient of {left:.1g} a row is left); give bounds or a "
                "regularization",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _log_tables(self) -> LogTables:
        return super()._log_tables().weighted(self.weights_.to_numpy())


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
    numbers = np.asarray(given, dtype=np.float64)
    if numbers.shape not in ((), (len(names),)):
        raise ValueError(f"{what} must be one number, or one for each of the {len(names)} features {names}")
    return np.array(np.broadcast_to(numbers, len(names)))


def _checked_weights(names: list[str], given: Any) -> Floats:
    weights = _for_each(names, given, "weights")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"weights={given!r} must be finite numbers from 0")
    return weights
