"""The tables of one member of an ensemble: each feature has a chain of parents, and is shrunk along it.

See :mod:`bntk.classifiers.ensemble_kernels` for the formula, and for how tables are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers import ensemble_kernels as kernels
from bntk.cpt import CPT, check_table_size
from bntk.data.cut_kernels import code_kernel
from bntk.data.cuts import checked_cuts
from bntk.data.variable import Variable
from bntk.errors import ArgumentError, DataError, TooLargeError
from bntk.graph.dag import DAG
from bntk.learning.hdp import estimate_trees
from bntk.learning.priors import HDP, Backoff, Dirichlet, MaximumLikelihood, Prior, posterior_mean
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint16]

#: Nodes with at most so many rows have no counts of their own; at least so many times the classes.
FEW_ROWS, FEW_ROWS_A_CLASS = 16, 4
#: Codes are of 16 bits; one is for missing cells.
MOST_STATES = 2**16 - 2


@dataclass(frozen=True)
class Member:
    """What distinguishes a member of an ensemble; features are places among the columns.

    Attributes
    ----------
    cuts : tuple of ndarray
        The cut points of each column of numbers, in the order of columns.
    features : ndarray of int
        The features in use, in the order in which they were drawn.
    parents : tuple of ndarray of int
        The chain of parents of each of them, without the class.
    copies : ndarray of int
        How often each training row was drawn; rows beyond its end count once, as all do where none were drawn.
    """

    cuts: tuple[NDArray[np.float64], ...]
    features: NDArray[np.int64]
    parents: tuple[NDArray[np.int64], ...]
    copies: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def weights(self, training: TrainingRows) -> Floats:
        """How often each training row counts."""
        found = training.weights
        if len(self.copies):
            found = found.copy()
            found[: len(self.copies)] *= self.copies
        return found

    def check(self, columns: Sequence[Variable | str], n_rows: int) -> None:
        """Refuse what was read from a file if it does not fit the columns and the training rows."""
        if self.copies.ndim != 1 or len(self.copies) > n_rows or (self.copies < 0).any():
            raise DataError("a member has not one number of copies, from 0, for each training row")
        if len(self.cuts) != sum(isinstance(column, str) for column in columns):
            raise DataError("a member has not one list of cut points for each column of numbers")
        for points in self.cuts:
            if points.ndim != 1 or len(points) >= MOST_STATES or not np.array_equal(checked_cuts(points), points):
                raise DataError("the cut points of a member do not increase")
        if self.features.ndim != 1 or len(self.parents) != len(self.features):
            raise DataError("a member has not one chain of parents for each of its features")
        before: list[int] = []
        for feature, chain in zip(self.features.tolist(), self.parents, strict=True):
            wanted = chain.tolist()
            if chain.ndim != 1 or not 0 <= feature < len(columns) or feature in before:
                raise DataError(f"a member has the feature {feature}, which is none of the columns, or twice")
            if len({*wanted}) < len(wanted) or not {*wanted} <= {*before}:
                raise DataError(f"the parents of feature {feature} are not among the features before it")
            before.append(feature)


@dataclass(frozen=True)
class TrainingRows:
    """The rows that an ensemble was fitted to.

    Attributes
    ----------
    codes : ndarray of uint16, of shape (n_discrete, n_rows)
    numbers : ndarray of shape (n_numbers, n_rows)
    classes : ndarray of int64
    weights : ndarray of float64
    """

    codes: NDArray[np.uint16]
    numbers: NDArray[np.float64]
    classes: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def make(cls, codes: Codes, numbers: Floats, classes: NDArray[Any], weights: Floats | None) -> TrainingRows:
        """The rows; without weights each counts once."""
        own = np.ones(len(classes)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(codes, np.ascontiguousarray(numbers), np.ascontiguousarray(classes, dtype=np.int64), own)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.classes)

    def __add__(self, more: TrainingRows) -> TrainingRows:
        return TrainingRows(
            np.concatenate([self.codes, more.codes], axis=1),
            np.concatenate([self.numbers, more.numbers], axis=1),
            np.concatenate([self.classes, more.classes]),
            np.concatenate([self.weights, more.weights]),
        )

    def check(self, columns: Sequence[Variable | str], n_classes: int) -> None:
        """Refuse what was read from a file if its parts do not fit together."""
        cards = [column.n_states for column in columns if isinstance(column, Variable)]
        n = self.n_rows
        shapes = self.codes.shape, self.numbers.shape, self.classes.shape, self.weights.shape
        if shapes != ((len(cards), n), (len(columns) - len(cards), n), (n,), (n,)):
            raise DataError("the training rows have not one value for each feature, a class and a weight")
        types = [str(array.dtype) for array in (self.codes, self.numbers, self.classes, self.weights)]
        if types != ["uint16", "float64", "int64", "float64"]:
            raise DataError(f"the training rows are of other types: {types}")
        if (self.codes > np.array(cards, dtype=np.int64).reshape(-1, 1)).any():
            raise DataError("a training row has a state that its feature has not")
        if n and not (self.classes.min() >= 0 and self.classes.max() < n_classes):
            raise DataError("a training row has a class that is none of the classes")
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise DataError("a training row has a weight that is no number from 0")


def smoothing_of(prior: Prior) -> Floats:
    """The numbers alpha, rows and deep of the formula in :mod:`bntk.classifiers.ensemble_kernels`."""
    match prior:
        case Backoff():
            return np.array([prior.alpha, prior.rows, 0.0])
        case HDP():  # for leave-one-out
            return smoothing_of(Backoff())
        case MaximumLikelihood():
            return np.zeros(3)
        case Dirichlet(value=float(alpha) | int(alpha)):
            return np.array([alpha, 0.0, alpha], dtype=np.float64)
    raise ArgumentError(
        f"prior={prior!r}: EnsembleKDB smooths tables along a chain of parents; give 'backoff', bntk.priors.Backoff, "
        "bntk.priors.HDP, or a number that is added to every cell"
    )


def coded(columns: Sequence[Variable | str], cuts: Sequence[Floats], codes: Codes, numbers: Floats) -> Codes:
    """The states of all columns in their order, with the columns of numbers cut."""
    found = np.empty((len(columns), codes.shape[1]), dtype=np.uint16)
    n_discrete, n_drawn = 0, 0
    for place, column in enumerate(columns):
        if isinstance(column, Variable):
            found[place] = codes[n_discrete]
            n_discrete += 1
        else:
            code_kernel(np.ascontiguousarray(numbers[n_drawn]), cuts[n_drawn], found[place])
            n_drawn += 1
    return found


def class_table(classes: Ints, weights: Floats, n_classes: int, alpha: float, given: Floats | None) -> Floats:
    """P(class): as given, or as counted with a pseudo-count."""
    if given is not None:
        return given
    return posterior_mean(np.bincount(classes, weights, n_classes).astype(np.float64), alpha)


class Trees(NamedTuple):
    """The tables of all families of a member, as flat arrays.

    Attributes
    ----------
    nodes : int64 array of shape (n_nodes, 4)
        The first row and that after the last in ``rows``, where its children are in ``children``, and where its counts
        begin; -1 for a node without children, or without counts. Those of a family are in the order of levels.
    children : int64 array
        The node of each state of the next parent; -1 if no row has it.
    counts : float64 array
        For each state the counts of all classes, then those of all states together.
    rows : int32 array
        The training rows of each family, sorted such that those of a node are side by side.
    roots : int64 array
        The first node of each family.
    """

    nodes: Ints
    children: Ints
    counts: Floats
    rows: NDArray[np.int32]
    roots: Ints


@dataclass(frozen=True)
class ChainTables:
    """A member with its tables, ready to predict."""

    member: Member
    columns: Sequence[Variable | str]
    cards: Ints
    train: Codes
    classes: Ints
    weights: Floats
    parents: Ints
    depths: Ints
    trees: Trees
    most_rows: int
    smoothing: Floats
    estimated: bool
    log_prior: Floats

    @classmethod
    def make(
        cls, member: Member, training: TrainingRows, columns: Sequence[Variable | str], n_classes: int,
        smoothing: Floats, given: Floats | None, hdp: HDP | None = None,
    ) -> ChainTables:  # fmt: skip
        """Count the tables of a member; with ``hdp``, they are the estimates of a hierarchical Dirichlet process."""
        cards = cards_of(columns, member.cuts)
        train, weights = coded(columns, member.cuts, training.codes, training.numbers), member.weights(training)
        depths = np.array([len(chain) for chain in member.parents], dtype=np.int64)
        parents = np.zeros((len(depths), max(1, depths.max(initial=0))), dtype=np.int64)
        for f, chain in enumerate(member.parents):
            parents[f, : len(chain)] = chain
        few = 0 if hdp is not None else max(FEW_ROWS, FEW_ROWS_A_CLASS * n_classes)
        trees = Trees(*kernels.build_tables(
            train, cards, training.classes, weights, n_classes, member.features, parents, depths, few
        ))  # fmt: skip
        if hdp is not None:
            trees = _estimated(trees, member, cards, n_classes, hdp)
        prior = class_table(training.classes, weights, n_classes, float(smoothing[0]), given)
        with np.errstate(divide="ignore"):
            log_prior = np.log(prior)
        return cls(
            member, columns, cards, train, training.classes, weights, parents, depths, trees, few, smoothing,
            hdp is not None, log_prior,
        )  # fmt: skip

    def predict(self, codes: Codes, numbers: Floats) -> tuple[Floats, Floats]:
        """P(class | features) of rows, shape (n_rows, n_classes), and log P(features in use)."""
        return self._predict(coded(self.columns, self.member.cuts, codes, numbers))

    def _predict(self, states: Codes) -> tuple[Floats, Floats]:
        proba, evidence = np.empty((states.shape[1], len(self.log_prior))), np.empty(states.shape[1])
        kernels.predict_rows(
            states, self.cards, self.member.features, self.parents, self.depths, *self.trees, self.most_rows,
            self.train, self.classes, self.weights, self.smoothing, self.estimated, self.log_prior, proba, evidence,
        )  # fmt: skip
        return proba, evidence

    def informations(self, rows: Ints) -> Floats:
        """What each feature in use tells about the class, given its parents: I(X; C | parents), in nats.

        The parents are distributed as in some of the training rows; the class given the parents is what the member says
        when it sees them alone.
        """
        train, weights = self.train[:, rows], self.weights[rows] / max(self.weights[rows].sum(), 1e-300)
        found = np.zeros(len(self.depths))
        for f, (own, chain) in enumerate(zip(self.member.features.tolist(), self.member.parents, strict=True)):
            seen = np.repeat(self.cards[:, None], len(rows), axis=1).astype(train.dtype)  # nothing but the parents
            seen[chain] = train[chain]
            proba, n_states = self._predict(seen)[0], int(self.cards[own])
            states = np.empty(
                (len(train), len(rows) * n_states), dtype=train.dtype
            )  # only those of the family are read
            states[chain] = np.repeat(train[chain], n_states, axis=1)
            states[own] = np.tile(np.arange(n_states), len(rows))
            table = self._theta(f, own, states).reshape(len(rows), n_states, -1)
            table /= np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
            mixed = np.einsum("rxk,rk->rx", table, proba)[:, :, None]
            ratio = np.divide(table, mixed, out=np.ones_like(table), where=(table > 0) & (mixed > 0))
            found[f] = max(0.0, float(np.einsum("r,rk,rxk->", weights, proba, table * np.log(ratio))))
        return found

    def network(self, target: Variable) -> BayesianNetwork:
        """The member as a network, with full tables."""
        cuts = iter(self.member.cuts)
        variables = [
            column if isinstance(column, Variable) else Variable.of_intervals(column, next(cuts).tolist())
            for column in self.columns
        ]
        family = {feature: f for f, feature in enumerate(self.member.features.tolist())}
        cpts = []
        for place, child in enumerate(variables):
            parents = sorted(self.member.parents[family[place]].tolist()) if place in family else []
            above = (*(variables[p] for p in parents), target) if place in family else ()
            check_table_size(child, above)
            if place in family:
                values = self._table(family[place], place, parents)
            else:
                seen = np.bincount(self.train[place], self.weights, child.n_states + 1)[:-1]
                values = posterior_mean(seen, float(self.smoothing[0]))
            cpts.append(CPT._trusted(child, values, above, None))
        cpts.append(CPT._trusted(target, np.exp(self.log_prior), (), None))
        arcs = [(parent.name, cpt.child.name) for cpt in cpts for parent in cpt.parents]
        return BayesianNetwork(DAG([*(v.name for v in variables), target.name], arcs), cpts)

    def _table(self, f: int, place: int, parents: list[int]) -> Floats:
        """P(child | parents, class), the parents in the order of columns."""
        axes = [*parents, place]
        shape = tuple(self.cards[axes].tolist())
        states = np.zeros((len(self.columns), math.prod(shape)), dtype=np.uint16)
        states[axes] = np.indices(shape).reshape(len(axes), -1)
        table = np.moveaxis(self._theta(f, place, states).reshape(*shape, -1), -1, -2)
        return posterior_mean(table, 0.0)

    def _theta(self, f: int, place: int, states: Codes) -> Floats:
        """P(child | parents, class) up to a factor for configurations of features, shape (configurations, classes)."""
        table = np.empty((states.shape[1], len(self.log_prior)))
        kernels.family_table(
            states, self.cards, f, place, self.parents, self.depths, *self.trees, self.most_rows, self.train,
            self.classes, self.weights, self.smoothing, self.estimated, table,
        )  # fmt: skip
        return table


def cards_of(columns: Sequence[Variable | str], cuts: Sequence[Floats]) -> Ints:
    """The number of states of each column."""
    own = iter(cuts)
    cards = [column.n_states if isinstance(column, Variable) else len(next(own)) + 1 for column in columns]
    if max(cards, default=0) > MOST_STATES:
        column = columns[int(np.argmax(cards))]
        name = column.name if isinstance(column, Variable) else column
        raise TooLargeError(
            f"column {name!r} has {max(cards):,} states; EnsembleKDB takes up to {MOST_STATES:,}: join rare states, or "
            "leave the column out"
        )
    return np.array(cards, dtype=np.int64)


def _estimated(trees: Trees, member: Member, cards: Ints, n_classes: int, hdp: HDP) -> Trees:
    """The same trees with probabilities in place of the counts, by a hierarchical Dirichlet process for each family.

    Its levels are P(x), P(x | class), and the levels of the tree. A row with a missing parent is counted at the node
    before it.
    """
    counts = trees.counts.copy()
    ends = np.append(trees.roots, len(trees.nodes))[1:]  # none for a member without features
    for f, (root, end) in enumerate(zip(trees.roots.tolist(), ends.tolist(), strict=True)):
        r, n = int(cards[member.features[f]]), end - root
        above, depth = _places(trees, root, n, cards[member.parents[f]])
        places = trees.nodes[root:end, 3].tolist()
        tables = np.stack([trees.counts[at : at + n_classes * r].reshape(r, n_classes).T for at in places])
        own = tables.copy()
        np.subtract.at(own, above[1:], tables[1:])
        # Node 0 is P(x); the class c of node i of the tree is 1 + i * n_classes + c.
        parent = 1 + above[:, None] * n_classes + np.arange(n_classes)
        parent[0] = 0
        parents = np.append(-1, parent.ravel())
        levels = np.append(0, np.repeat(depth + 1, n_classes))
        rows = np.concatenate([np.zeros((1, r)), np.maximum(own, 0.0).reshape(-1, r)])
        theta = estimate_trees(parents, levels, rows, hdp).theta[1:].reshape(n, n_classes, r)
        for at, table in zip(places, theta, strict=True):
            counts[at : at + n_classes * r] = table.T.ravel()
    return trees._replace(counts=counts)


def _places(trees: Trees, root: int, n_nodes: int, cards: Ints) -> tuple[Ints, Ints]:
    """The node above each node of a family, from 0 for the root, which has -1, and the depth of each."""
    above, depth = np.full(n_nodes, -1), np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes):
        first = trees.nodes[root + node, 2]
        if first >= 0:
            below = trees.children[first : first + cards[depth[node]]]
            below = below[below >= 0] - root
            above[below], depth[below] = node, depth[node] + 1
    return above, depth
