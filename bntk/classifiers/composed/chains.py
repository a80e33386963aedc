"""Chains: classifiers of one class variable, each with other class variables among its features."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from bntk import _checking
from bntk._warnings import warn
from bntk.classifiers.composed import chain_search
from bntk.classifiers.composed.base import ComposedClassifier, marginals
from bntk.classifiers.composed.dependence import gains_of_labels, splits_of
from bntk.classifiers.composed.inputs import Codes, Floats, Inputs
from bntk.classifiers.composed.links import ChainLink, LinkMaker
from bntk.classifiers.multidim.base import MOST_JOINT_STATES
from bntk.classifiers.random_state import RandomState, seed_of
from bntk.data.table import Table
from bntk.data.weights import scaled_up
from bntk.errors import DataError, TooLargeError
from bntk.graph.dag import DAG, as_dag
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import Score
from bntk.learning.search.spanning import maximum_spanning_tree
from bntk.learning.space import named as spaces

#: With at most so many combinations of labels, their probabilities are added up, not estimated from samples.
FEW_COMBINATIONS = 1024

#: What the options of all chains may be.
_POSITIVE = partial(_checking.whole_number, least=1, most=_checking.MOST)
OPTIONS: dict[str, _checking.Check] = {
    "search": partial(_checking.one_of, choices=("greedy", "beam", "exact")),
    "proba": partial(_checking.one_of, choices=("auto", "path", "exact", "sampling")),
    "beam": _POSITIVE,
    "n_samples": _POSITIVE,
}


@dataclass(kw_only=True, eq=False, repr=False)
class Chain(ComposedClassifier):
    """The base of chains whose links give a joint distribution of the labels: P(y | x) = prod_j P(y_j | x, pa(y_j)).

    Parameters
    ----------
    search : {"greedy", "beam", "exact"}
        How the labels of a row are found. ``"greedy"``: one after the other, each the most probable given those before
        it. ``"exact"``: the most probable combination, of which the most probable beginnings are tried first; in the
        worst case all combinations are. ``"beam"``: as greedy, with the ``beam`` most probable combinations so far.
    beam : int
        How many combinations the beam keeps.
    proba : {"auto", "path", "exact", "sampling"}
        What ``predict_proba`` gives. ``"path"``: the probabilities of each label given the labels that the greedy
        search found for its parents, as scikit-learn's chains do. ``"exact"``: its marginal probability, which adds up
        all combinations (but none, where each class variable has at most one parent). ``"sampling"``: the same,
        estimated from ``n_samples`` combinations drawn for each row. By default the path for a greedy search, which
        then agrees with it, and otherwise the exact ones where there are at most 1,024 combinations, else samples.
    n_samples : int
        How many combinations of labels are drawn for each row with ``proba="sampling"``.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of a random order and of samples. The same integer gives the same classifier, and None is the same as 0.

    Attributes
    ----------
    order_ : list of str
        The class variables in the order of the chain.
    proba_ : str
        What ``predict_proba`` gives: path, exact or sampling.
    """

    search: str = "greedy"
    beam: int = 5
    proba: str = "auto"
    n_samples: int = 100
    random_state: RandomState = 0

    _state: ClassVar[dict[str, Any]] = {"_links": list[ChainLink]}

    @abstractmethod
    def _parents(self, maker: LinkMaker) -> list[tuple[int, tuple[int, ...]]]:
        """The class variables in an order in which parents come first, each with its parents."""

    def _learn(self, maker: LinkMaker) -> None:
        self._check_options()
        self._links: list[ChainLink] = [maker.make(target, parents) for target, parents in self._parents(maker)]
        self._look_at_links()

    def _restore(self) -> None:
        super()._restore()
        self._check_options()
        self._check_links(self._links)
        self._look_at_links()

    def _look_at_links(self) -> None:
        self.order_ = [self.labels_.names[link.target] for link in self._links]
        self._is_forest = all(len(link.parents) <= 1 for link in self._links)
        self.proba_ = self._way_of_probabilities()

    def _check_options(self) -> None:
        _checking.fields(self, OPTIONS)

    def _way_of_probabilities(self) -> str:
        n_combinations = math.prod(self.labels_.cards)
        if self.proba == "exact" and not self._is_forest and n_combinations > MOST_JOINT_STATES:
            raise TooLargeError(
                f"proba='exact' would add up {n_combinations:,} combinations of labels, more than "
                f"{MOST_JOINT_STATES:,}; choose 'sampling' or 'path'"
            )
        if self.proba != "auto":
            return self.proba
        if self.search == "greedy":
            return "path"
        return "exact" if self._is_forest or n_combinations <= FEW_COMBINATIONS else "sampling"

    @property
    def estimators_(self) -> list[Any]:
        """The classifier of each class variable, in the order of ``classes_``."""
        return [link.estimator() for link in sorted(self._links, key=lambda link: link.target)]

    def _predict(self, inputs: Inputs) -> Codes:
        if self.search == "greedy":
            return chain_search.greedy(self._links, inputs)
        if self.search == "beam":
            return chain_search.beam(self._links, inputs, self.beam)
        return chain_search.mode(self._links, inputs, self.labels_.cards)

    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        if self.proba_ == "path":
            return chain_search.along_path(self._links, inputs)
        if self.proba_ == "sampling":
            return chain_search.sampled_marginals(self._links, inputs, self.n_samples, seed_of(self.random_state))
        if self._is_forest:
            return chain_search.marginals_of_forest(self._links, inputs, self.labels_.cards)
        return marginals(self._joint(inputs), self.labels_.cards)

    def _joint(self, inputs: Inputs) -> Floats:
        return chain_search.joint(self._links, inputs, self.labels_.cards)


@dataclass(kw_only=True, eq=False, repr=False)
class ClassifierChain(Chain):
    """A chain in which each class variable has all those before it among its features (Read et al. 2011).

    With ``search="exact"`` or ``"beam"`` it is a probabilistic classifier chain (Dembczynski, Cheng and Hüllermeier
    2010): it looks for the most probable combination of labels.

    Parameters
    ----------
    order : None, "random", or sequence
        The order of the chain: that of the columns of Y, a random one, or all class variables by name or position.

    Attributes
    ----------
    estimators_ : list
        The classifier of each class variable, in the order of ``classes_``.
    order_ : list of str
        The class variables in the order of the chain.
    proba_ : str
        What ``predict_proba`` gives: path, exact or sampling.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "tub", "bronc"]]
    >>> X = rows.drop(columns=Y.columns)
    >>> chain = bntk.ClassifierChain(order=["bronc", "lung", "tub"], search="exact").fit(X, Y)
    >>> chain.predict(X.iloc[:2])
      lung tub bronc
    0   no  no   yes
    1   no  no    no
    >>> chain.predict_joint_proba(X.iloc[:2]).shape
    (2, 8)
    """

    name = "cc"
    order: str | Sequence[str | int] | None = None

    def _parents(self, maker: LinkMaker) -> list[tuple[int, tuple[int, ...]]]:
        order = _chosen_order(self.order, self.labels_.names, seed_of(self.random_state))
        return [(target, tuple(order[:place])) for place, target in enumerate(order)]


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianChain(Chain):
    """A chain that follows a network of the class variables: each has its parents in it among its features.

    The network is learned from the labels alone (Sucar et al. 2014), or given the features, as the assumption behind
    the chain is about P(y | x). In a tree, exact search and exact probabilities take no longer than the others.

    Parameters
    ----------
    structure : {"tree", "dag"}, DAG or str
        ``"tree"``: the maximum spanning tree by mutual information, directed away from ``root``. ``"dag"``: the best
        network that the search finds. Or a DAG of the class variables; a string is read by :meth:`DAG.parse`.
    given : {"features"}, optional
        By default the weights of the tree are the mutual information of the labels, I(Y_i; Y_j). With ``"features"``
        they are I(Y_i; Y_j | X): class variables that depend on each other only through the features are not joined.
        It is estimated by the mean gain of log p(y_i | x, y_j) over log p(y_i | x) on held-out rows, with the
        ``estimator``, which needs ``predict_proba``; the gains of Y_i and of Y_j, which estimate the same, are
        averaged. Pairs without a gain count as independent and are not joined, so that the tree may fall into parts.
        For m class variables, m² classifiers are learned in each fold; of naive Bayes only m.
    cv : int, splitter or list of splits
        For ``given="features"``: the number of folds, which are shuffled by ``random_state`` and the same for all
        pairs; or a splitter of scikit-learn, or what its ``split`` returns. A row of weight 2 is two rows, which may be
        in different folds, unless splits are given; a row whose weight is not whole is in one fold.
    root : str, optional
        The root of the tree; by default the first class variable. In other parts of a tree that falls into parts, it is
        the first class variable of each.
    criterion : str or Score
        What the network maximises with ``structure="dag"``.
    max_parents : int, optional
        The most parents a class variable may have in a network that is learned.

    Attributes
    ----------
    dag_ : DAG
        The network of the class variables.
    gains_ : ndarray of shape (n_targets, n_targets), or None
        With ``given="features"``, in row i and column j the mean gain of log p(y_i | x, y_j) over log p(y_i | x) on
        held-out rows, in nats.
    estimators_ : list
        The classifier of each class variable, in the order of ``classes_``.
    order_ : list of str
        The class variables in the order of the chain.
    proba_ : str
        What ``predict_proba`` gives: path, exact or sampling.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "either", "tub"]]
    >>> X = rows.drop(columns=Y.columns)
    >>> chain = bntk.BayesianChain(search="exact").fit(X, Y)
    >>> chain.dag_.arcs
    (('lung', 'either'), ('either', 'tub'))

    Lung cancer and bronchitis depend on each other only because smoking, which is a feature, causes both:

    >>> X, Y = rows[["asia", "smoke", "xray"]], rows[["lung", "bronc", "either"]]
    >>> bntk.BayesianChain().fit(X, Y).dag_.arcs
    (('lung', 'bronc'), ('lung', 'either'))
    >>> bntk.BayesianChain(given="features").fit(X, Y).dag_.arcs
    (('lung', 'either'),)
    """

    name = "bcc"
    structure: str | DAG = "tree"
    given: str | None = None
    cv: Any = 5
    root: str | None = None
    criterion: str | Score = "bic"
    max_parents: int | None = 3

    _state: ClassVar[dict[str, Any]] = {"dag_": DAG, "gains_": NDArray[np.float64] | None}

    def _parents(self, maker: LinkMaker) -> list[tuple[int, tuple[int, ...]]]:
        self.dag_ = self._network(maker)
        at = {name: j for j, name in enumerate(self.labels_.names)}
        parents = {name: tuple(sorted(at[p] for p in self.dag_.parents(name))) for name in self.labels_.names}
        return [(at[name], parents[name]) for name in self.dag_.topological_order]

    def _network(self, maker: LinkMaker) -> DAG:
        names, structure = self.labels_.names, self.structure
        learned = structure if isinstance(structure, str) and structure in ("tree", "dag") else None
        self.gains_ = self._gains(maker, learned)
        if learned == "tree" and self.gains_ is not None:
            return self._tree(self.gains_)
        if learned is not None:
            weights = None if maker.weights is None else scaled_up(maker.weights)
            table = TableCounter(Table.from_codes(maker.codes, self.labels_.variables()), weights)
            if structure == "tree":
                root = names[0] if self.root is None else self.root
                return learn_structure(table, "loglik", spaces.tree(names, root), seed=seed_of(self.random_state)).dag
            space = spaces.dag(names, max_parents=self.max_parents)
            return learn_structure(table, self.criterion, space, seed=seed_of(self.random_state)).dag
        dag = as_dag(structure, "structure")
        if set(dag.nodes) != set(names):
            raise DataError(f"structure has the nodes {list(dag.nodes)}, but the class variables are {list(names)}")
        return dag

    def _gains(self, maker: LinkMaker, learned: str | None) -> Floats | None:
        """The gains of log p(y_i | x, y_j) over log p(y_i | x); None if the network is not given the features."""
        if self.given is None:
            return None
        _checking.one_of("given", self.given, (None, "features"))
        if learned != "tree":
            raise ValueError(f"given='features' is for structure='tree', not for structure={self.structure!r}")
        maker = maker.one_by_one()
        return gains_of_labels(maker, splits_of(self.cv, maker, seed_of(self.random_state)))

    def _tree(self, gains: Floats) -> DAG:
        """The spanning tree by the mean gain of each pair, without pairs that gain nothing."""
        names = self.labels_.names
        if self.root is not None and self.root not in names:
            raise DataError(f"root={self.root!r} is no class variable; there are {list(names)}")
        root = None if self.root is None else names.index(self.root)
        tails = maximum_spanning_tree(gains, root=root, forest=True)
        return DAG(names, [(names[tail], names[head]) for head, tail in enumerate(tails.tolist()) if tail >= 0])


class ChainConvergence(NamedTuple):
    """The convergence of a circular chain: for each row the number of cycles, and whether the last changed nothing."""

    cycles: NDArray[np.int64]
    converged: NDArray[np.bool_]


@dataclass(kw_only=True, eq=False, repr=False)
class CircularChain(ComposedClassifier):
    """A chain that goes round: each class variable has all others among its features (Rivas et al. 2018).

    The first cycle is that of a :class:`ClassifierChain`. In every further one, each class variable in turn gets the
    most probable label given those that all others have at that time, until a cycle changes nothing.

    Parameters
    ----------
    order : None, "random", or sequence
        The order of the chain: that of the columns of Y, a random one, or all class variables by name or position.
    max_iter : int
        The most cycles, the first one included. Rows that still change then are predicted as they are, with a
        ``ConvergenceWarning``; :meth:`convergence` tells which.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seed of a random order. The same integer gives the same classifier, and None is the same as 0.

    Attributes
    ----------
    estimators_ : list
        The classifier of each class variable given all others, in the order of ``classes_``.
    order_ : list of str
        The class variables in the order of the chain.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "tub", "bronc"]]
    >>> X = rows.drop(columns=Y.columns)
    >>> chain = bntk.CircularChain().fit(X, Y)
    >>> chain.convergence(X).converged.all()
    np.True_
    """

    name = "circular"
    order: str | Sequence[str | int] | None = None
    max_iter: int = 20
    random_state: RandomState = 0

    _state: ClassVar[dict[str, Any]] = {"_first": list[ChainLink], "_links": list[ChainLink]}

    def _learn(self, maker: LinkMaker) -> None:
        self._check_options()
        order = _chosen_order(self.order, self.labels_.names, seed_of(self.random_state))
        self._first: list[ChainLink] = [maker.make(j, order[:place]) for place, j in enumerate(order)]
        self._links: list[ChainLink] = [maker.make(j, [i for i in sorted(order) if i != j]) for j in order]

    def _check_options(self) -> None:
        _checking.whole_number("max_iter", self.max_iter, least=1)

    def _restore(self) -> None:
        super()._restore()
        self._check_options()
        self._check_links(self._first)
        self._check_links(self._links, ordered=False)

    @property
    def order_(self) -> list[str]:
        """The class variables in the order of the chain."""
        check_is_fitted(self)
        return [self.labels_.names[link.target] for link in self._first]

    @property
    def estimators_(self) -> list[Any]:
        """The classifier of each class variable given all others, in the order of ``classes_``."""
        return [link.estimator() for link in sorted(self._links, key=lambda link: link.target)]

    def convergence(self, X: Any) -> ChainConvergence:
        """The number of cycles of each row, and whether its labels have converged."""
        return self._settle(self._read(X))[1]

    def _predict(self, inputs: Inputs) -> Codes:
        codes, (_, converged) = self._settle(inputs)
        if not converged.all():
            warn(
                f"the labels of {(~converged).sum():,} of {len(converged):,} rows still change after max_iter="
                f"{self.max_iter} cycles",
                ConvergenceWarning,
                [self.max_iter],
            )
        return codes

    def _settle(self, inputs: Inputs) -> tuple[Codes, ChainConvergence]:
        codes = chain_search.greedy(self._first, inputs)
        cycles = np.ones(inputs.n_rows, dtype=np.int64)
        moving = np.ones(inputs.n_rows, dtype=bool)
        for _ in range(1, self.max_iter):
            rows = np.flatnonzero(moving)
            if not rows.size:
                break
            here, before = inputs if moving.all() else inputs.take(rows), codes[:, rows]
            now = before.copy()
            for link in self._links:
                now[link.target] = link.best(here, now[list(link.parents)])
            codes[:, rows] = now
            cycles[rows] += 1
            moving[rows] = (now != before).any(axis=0)
        return codes, ChainConvergence(cycles, ~moving)

    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        """The probabilities of each label given the labels that all others have at the end."""
        codes = self._predict(inputs)
        links = sorted(self._links, key=lambda link: link.target)
        return [np.exp(link.log_proba(inputs, codes[list(link.parents)])) for link in links]


def _chosen_order(order: str | Sequence[str | int] | None, names: tuple[str, ...], seed: int) -> list[int]:
    """The positions of the class variables in the order of a chain."""
    if order is None:
        return list(range(len(names)))
    if isinstance(order, str):
        if order != "random":
            raise ValueError(f"order must be None, 'random' or a list of all class variables, not {order!r}")
        return np.random.default_rng(seed).permutation(len(names)).tolist()
    known: dict[Any, int] = {**{name: j for j, name in enumerate(names)}, **{j: j for j in range(len(names))}}
    order = _checking.several("order", order, "all class variables, 'random' or None", DataError)
    unknown = [item for item in order if not isinstance(item, Hashable) or isinstance(item, bool) or item not in known]
    if unknown:
        raise DataError(f"order names {unknown[0]!r}, which is no class variable; there are {list(names)}")
    places = [known[item] for item in order]
    if sorted(places) != list(range(len(names))):
        raise DataError(f"order must name each of the class variables {list(names)} once; got {list(order)}")
    return places
