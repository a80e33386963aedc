"""Averaged n-dependence classifiers: every network of a simple kind takes part, so that no structure has to be chosen.

A member has n superparents: each feature depends on them and on the class, and on nothing else. AODE averages the
members with one superparent, A2DE those with two; naive Bayes is the member with none.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bntk import _checking
from bntk._threads import run_parallel, spans
from bntk.classifiers import averaged_kernels as kernels
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.importances import in_densities
from bntk.classifiers.shares import shared
from bntk.cpt import CPT
from bntk.data.table import Table, code_dtype
from bntk.data.variable import Variable, names_of
from bntk.errors import DataError, TooLargeError
from bntk.graph.dag import DAG
from bntk.learning.counts import MAX_ENTRIES, PairTables, TableCounter
from bntk.learning.information import conditional_information, mutual_information
from bntk.learning.priors import Tables, posterior_mean
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Rows that are predicted at once; fixed, so that answers do not depend on the number of threads.
ROWS = 1 << 15
# What stands for the probability of a context that does not occur, to divide by.
TINY = 1e-300
# Features are looked up in groups with at most so many configurations; their tables then stay in the first-level cache.
MOST_SLOTS = 256
# Tables with more entries are made for a file only if it has counts in proportion.
MOST_ENTRIES_READ = 1 << 24


@dataclass(frozen=True)
class Counts:
    """The counts behind an ensemble: of pairs given the class and, for A2DE, of triples.

    ``triples[i]`` are the pairs of the features after the i-th, given the class and the i-th together.
    """

    pairs: PairTables
    triples: tuple[PairTables, ...] = ()

    def __add__(self, other: Counts) -> Counts:
        triples = tuple(one + more for one, more in zip(self.triples, other.triples, strict=True))
        return Counts(self.pairs + other.pairs, triples)

    def joint(self, superparents: tuple[int, ...]) -> NDArray[np.float64]:
        """The table of the class and the superparents, the class first."""
        if not superparents:
            return self.pairs.class_counts
        return self.pairs.single(*superparents) if len(superparents) == 1 else self.pairs.table(*superparents)

    def family(self, superparents: tuple[int, ...], child: int) -> NDArray[np.float64]:
        """The table of (superparents, class, child)."""
        if len(superparents) < 2:
            return np.moveaxis(self.joint((*superparents, child)), 0, -2)
        order = sorted((*superparents, child))
        i, j, k = order
        r_i = self.pairs.variables[i].n_states
        table = self.triples[i].table(j - i - 1, k - i - 1)
        table = table.reshape(-1, r_i, *table.shape[1:])  # (class, i, j, k)
        return table.transpose([*(1 + order.index(v) for v in superparents), 0, 1 + order.index(child)])


@dataclass(frozen=True)
class Ensemble:
    """All members with n superparents, as flat arrays; see :mod:`bntk.classifiers.averaged_kernels`.

    Attributes
    ----------
    cards : ndarray of shape (n_features,)
    superparents : ndarray of shape (n_members, n)
    first_contexts : ndarray of shape (n_members + 1,)
        Where the contexts of each member begin.
    weights : ndarray of shape (n_members,)
    open_contexts : ndarray of bool, of shape (n_contexts, n_classes)
        Which contexts take part in which classes: those seen often enough.
    sum_out : bool
        Whether members with a missing superparent take part.
    heads : ndarray of shape (n_contexts, n_classes)
    lines : ndarray of shape (n_contexts, n_classes, n_states)
    """

    cards: Ints
    superparents: Ints
    first_contexts: Ints
    weights: Floats
    open_contexts: NDArray[np.bool_]
    sum_out: bool
    heads: Floats
    lines: Floats

    def log_joints(self, table: Table) -> tuple[Floats, Floats]:
        """The log of the members' weighted joint probabilities, summed, and the weight of those that took part.

        Both have the shape (N, K); the log is minus infinity where none did. How the sum of a row is bracketed depends
        on that row alone, on whether it is complete, so that its last bits do not depend on the rows beside it.
        """
        incomplete = (table.codes == self.cards[:, None].astype(table.codes.dtype)).any(axis=0)
        if not incomplete.any() or incomplete.all():
            return self._log_joints(table, bool(incomplete.any()))
        found, weight = np.empty((2, table.n_rows, self.heads.shape[1]))
        for some in (~incomplete, incomplete):
            found[some], weight[some] = self._log_joints(table.take(np.flatnonzero(some)), some is incomplete)
        return found, weight

    def _log_joints(self, table: Table, incomplete: bool) -> tuple[Floats, Floats]:
        """The same for rows that are all complete, or all incomplete."""
        n_classes = self.heads.shape[1]
        tops, sums = np.full((n_classes, table.n_rows), -np.inf), np.zeros((n_classes, table.n_rows))
        weight = np.zeros((n_classes, table.n_rows))
        columns = _columns(self.cards)
        widths = self.cards + incomplete
        groups = _groups(widths, ROWS * max(1, len(self.weights)) // (4 * len(self.heads) or 1))
        sizes = [math.prod(widths[a:b].tolist()) for a, b in pairwise(groups.tolist())]
        offsets = _columns(sizes)
        slot_type = np.uint16 if max(sizes, default=0) <= 2**16 else np.uint32

        def add(span: tuple[int, int]) -> None:
            start, stop = span
            slots = np.empty((stop - start, len(sizes)), dtype=slot_type)
            kernels.group_rows(table.codes, start, groups, widths, slots)
            kernels.add_members(
                table.codes, start, self.cards, columns, self.superparents, self.first_contexts, self.weights,
                self.open_contexts, self.sum_out, self.heads, self.lines, groups, widths, offsets, slots,
                tops[:, start:stop], sums[:, start:stop], weight[:, start:stop],
            )  # fmt: skip

        run_parallel(add, spans(table.n_rows, -(-table.n_rows // ROWS)))
        with np.errstate(divide="ignore"):
            return (tops + np.log(sums)).T, weight.T

    def informations(self) -> Floats:
        """What each feature tells about the class in each member, given the superparents, (n_members, n_features).

        The superparents share what they tell together.
        """
        found = np.zeros((len(self.superparents), len(self.cards)))
        starts = _columns(self.cards)[:-1]

        def add(m: int) -> None:
            contexts = slice(*self.first_contexts[m : m + 2].tolist())
            joint, lines = np.exp(self.heads[contexts]), np.exp(self.lines[contexts])
            told = np.einsum("sk,skx->x", joint, _log_ratios(joint, lines))
            found[m] = np.maximum(np.add.reduceat(told, starts), 0.0)
            own = self.superparents[m].tolist()
            found[m, own] = _shares(joint.reshape(*self.cards[own].tolist(), -1))

        run_parallel(add, range(len(found) if len(starts) else 0))
        return found


def _log_ratios(joint: Floats, lines: Floats) -> Floats:
    """P(x | context, class) log( P(x | context, class) / P(x | context) ), with the joint of contexts and classes."""
    total = np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    mixed = np.einsum("sk,skx->sx", joint / total, lines)[:, None]
    ratio = np.divide(lines, mixed, out=np.ones_like(lines), where=(lines > 0) & (mixed > 0))
    return np.asarray(lines * np.log(ratio))


def _shares(joint: Floats) -> list[float]:
    """What each axis of a table tells about the last one, shared where they tell it together."""
    last = joint.ndim - 1
    told = shared(range(last), lambda sets: np.array([conditional_information(joint, some, [last]) for some in sets]))
    return [max(0.0, float(told[axis])) for axis in range(last)]


@dataclass(kw_only=True, eq=False, repr=False)
class AveragedClassifier(BayesClassifier):
    """The base of AODE and A2DE.

    Attributes
    ----------
    superparents_ : list of tuple of str
        The superparents of each member.
    weights_ : ndarray
        The weight of each member.
    """

    m: float = 1
    count: str = "state"
    weights: str | None = None
    max_entries: int = MAX_ENTRIES

    _checks: ClassVar[Mapping[str, _checking.Check]] = {
        "m": partial(_checking.number, least=0, finite=False),
        "count": partial(_checking.one_of, choices=("state", "class")),
        "weights": partial(_checking.one_of, choices=(None, "mi")),
    }

    _state: ClassVar[dict[str, Any]] = {"_counts": Counts}
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("prior", "class_prior")
    _n_superparents: ClassVar[int]

    @abstractmethod
    def member(self, *superparents: str) -> BayesianNetwork:
        """One of the networks that are averaged."""

    @property
    def superparents_(self) -> list[tuple[str, ...]]:
        """The superparents of each member."""
        check_is_fitted(self)
        names = self._counts.pairs.names
        return [tuple(names[v] for v in chosen) for chosen in self._ensembles[0].superparents.tolist()]

    @property
    def weights_(self) -> Floats:
        """The weight of each member."""
        check_is_fitted(self)
        return self._ensembles[0].weights

    # ---------------------------------------------------------------- learning

    def _learn(self, counter: TableCounter) -> None:
        self._prior.for_variables(counter.variables)
        self._check_size(counter)
        self._take(self._count(counter))

    def _add(self, counter: TableCounter) -> None:
        self._take(self._counts + self._count(counter))

    def _check_size(self, counter: TableCounter) -> None:
        """Refuse tables that would be too large, before anything is counted."""
        *features, target = counter.variables
        entries, total = self._n_entries(features, target), sum(v.n_states for v in features)
        if entries > self.max_entries:
            raise TooLargeError(
                f"the tables of {type(self).__name__} for {len(features)} features with {total:,} states together and "
                f"{target.n_states} classes would have {entries:,} entries ({8 * entries:,} bytes); the limit is "
                f"max_entries = {self.max_entries:,}. Take fewer features, join rare states, or raise it"
                + (", or use AODE" if self._n_superparents > 1 else "")
            )

    def _n_entries(self, features: Sequence[Variable], target: Variable) -> int:
        cards = [v.n_states for v in features]
        total, squares = sum(cards), sum(card**2 for card in cards)
        contexts = total if self._n_superparents == 1 else (total**2 - squares) // 2
        return contexts * total * target.n_states

    def _count(self, counter: TableCounter) -> Counts:
        pairs = counter.pairs(len(counter.names) - 1, max_entries=self.max_entries)
        if self._n_superparents == 1:
            return Counts(pairs)
        triples = (_pairs_after(counter, i, self.max_entries) for i in range(len(pairs.variables)))
        return Counts(pairs, tuple(triples))

    def _take(self, counts: Counts) -> None:
        """Take counts, and make of them the tables of the ensemble and of those that stand in for it."""
        self._counts = counts
        class_table = posterior_mean(counts.pairs.class_counts, self._prior.pseudo_count(self._class_variable, 1))
        class_cpt = CPT._trusted(self._class_variable, class_table, (), counts.pairs.class_counts)
        self._class_cpt = self._with_class_prior(class_cpt)
        self._ensembles = tuple(self._ensemble(n) for n in range(self._n_superparents, -1, -1))

    def _ensemble(self, n: int) -> Ensemble:
        features = self._counts.pairs.variables
        cards = np.array([v.n_states for v in features], dtype=np.int64)
        members = list(combinations(range(len(features)), n))
        sizes = [math.prod(cards[list(member)].tolist()) for member in members]
        first_contexts = _columns(sizes)
        joints = [self._counts.joint(member).reshape(-1, size) for member, size in zip(members, sizes, strict=True)]
        contexts = np.concatenate([np.zeros((len(self.classes_), 0)), *joints], axis=1)
        seen = np.ones(len(members)) if self.weights is None or not n else [mutual_information(t) for t in joints]
        with np.errstate(divide="ignore"):
            heads = [np.log(self._class_cpt.values[:, None] * self._given_class(member)).T for member in members]
        return Ensemble(
            cards=cards,
            superparents=np.array(members, dtype=np.int64).reshape(len(members), n),
            first_contexts=first_contexts,
            weights=np.array(seen, dtype=np.float64),
            open_contexts=self._often_enough(contexts) if n else np.ones((1, len(self.classes_)), dtype=bool),
            sum_out=self.m == 0,
            heads=np.concatenate([np.zeros((0, len(self.classes_))), *heads]),
            lines=_lines(self._counts, members, first_contexts, self._alpha),
        )

    def _often_enough(self, contexts: Floats) -> NDArray[np.bool_]:
        """Which contexts take part in which classes, (n_contexts, K), by their counts, (K, n_contexts)."""
        if self.count == "class":
            return np.ascontiguousarray(self.m < contexts.T)  # N[a_i, c] exceeds the threshold, as in Mauá's notes
        enough = contexts.sum(axis=0) >= self.m
        return np.repeat(enough[:, None], len(contexts), axis=1)

    def _given_class(self, member: tuple[int, ...]) -> Floats:
        """P(superparents | class), with the superparents' configurations as one axis."""
        features, k = self._counts.pairs.variables, len(self.classes_)
        if not member:
            return np.ones((k, 1))
        alpha: Floats | float = 0.0
        for position, v in enumerate(member):  # a mean, as which superparent comes first does not matter
            q = k * math.prod(features[other].n_states for other in member if other != v)
            shape = [1] * len(member)
            shape[position] = features[v].n_states
            cells = np.broadcast_to(self._prior.pseudo_count(features[v], q), shape[position])
            alpha = alpha + cells.reshape(shape) / len(member)
        counts = self._counts.joint(member)
        return posterior_mean(counts.reshape(k, -1), np.broadcast_to(alpha, counts.shape[1:]).ravel())

    def _alpha(self, feature: int, q: int) -> Floats:
        """The pseudo-counts of a feature's table with q parent configurations, shape (n_classes, n_states)."""
        child, target = self._counts.pairs.variables[feature], self._class_variable
        n_contexts = q // target.n_states
        superparents = (Variable("superparents", range(n_contexts)),) if n_contexts > 1 else ()
        family = (*superparents, target, child)
        given_class: Tables = {(target.name, child.name): self._counts.joint((feature,))}
        if any(names_of(smaller) not in given_class for smaller in self._prior.needed([family])):
            raise ValueError(
                f"{type(self).__name__} shrinks tables towards those given the class alone, which {self.prior!r} does "
                "not: leave its given= empty"
            )
        (alpha,) = self._prior.pseudo_counts([family], given_class)
        return np.broadcast_to(np.asarray(alpha, float), (1, target.n_states, child.n_states))[0]

    def _restore(self) -> None:
        super()._restore()
        pairs, features, target = self._counts.pairs, self.features_.variables, self._class_variable
        if (pairs.variables, pairs.target) != (features, target):
            raise DataError("the counts are not about the features and the class")
        later = [(features[i + 1 :], _joined(target, feature)) for i, feature in enumerate(features)]
        expected = later if self._n_superparents > 1 else []
        if [(tables.variables, tables.target) for tables in self._counts.triples] != expected:
            raise DataError("the counts of triples are not about the features and the class")
        entries, counted = self._n_entries(features, target), pairs.counts.size
        counted += sum(tables.counts.size for tables in self._counts.triples)
        if entries > max(MOST_ENTRIES_READ, 16 * counted):
            raise TooLargeError(f"the tables would have {entries:,} entries, many more than the {counted:,} counts")
        self._take(self._counts)

    # ---------------------------------------------------------------- predicting

    def _log_scores(self, table: Table) -> Floats:
        """Where no member takes part in a class of a row, the next simpler ensemble stands in."""
        scores = np.empty((table.n_rows, len(self.classes_)))
        unknown = np.ones(scores.shape, dtype=bool)
        for ensemble in self._ensembles:
            left = np.flatnonzero(unknown.any(axis=1))
            if not len(left):
                break
            rows = table if len(left) == table.n_rows else table.take(left)
            log_joints, weight = ensemble.log_joints(rows)
            some = unknown[left] & (weight > 0)
            places, classes = np.nonzero(some)
            scores[left[places], classes] = log_joints[some] - np.log(weight[some])
            unknown[left[places], classes] = False
        return scores

    # ---------------------------------------------------------------- looking inside

    def _information(self) -> dict[str, float]:
        """The mean over the members, by their weights."""
        ensemble = next(some for some in self._ensembles if some.weights.sum() > 0)
        found = ensemble.weights @ ensemble.informations() / ensemble.weights.sum()
        densities = in_densities(self.densities_, self._class_cpt.values)
        return dict(zip(self._counts.pairs.names, found.tolist(), strict=True)) | densities

    def _member(self, superparents: Sequence[str]) -> BayesianNetwork:
        """One member as a network; its own counts are kept where its tables are what they give."""
        check_is_fitted(self)
        pairs, target = self._counts.pairs, self._class_variable
        chosen = tuple(sorted(pairs.index(name) for name in superparents))
        if len(set(chosen)) < len(chosen):
            raise DataError(f"the superparents {', '.join(superparents)} must be two different features")
        features = pairs.variables
        names = [v.name for v in features]
        arcs = [(target.name, name) for name in names]
        arcs += [(names[p], names[v]) for p in chosen for v in range(len(names)) if v not in chosen]
        arcs += [(names[a], names[b]) for a, b in combinations(chosen, 2)]
        cpts = []
        for v, feature in enumerate(features):
            if v in chosen:
                cpts.append(self._superparent_cpt(chosen, chosen.index(v)))
                continue
            counts = self._counts.family(chosen, v)
            alpha = self._alpha(v, counts.size // feature.n_states)
            parents = (*(features[p] for p in chosen), target)
            cpts.append(CPT._trusted(feature, posterior_mean(counts, alpha), parents, counts))
        network = BayesianNetwork(DAG([*names, target.name], arcs), [*cpts, self._class_cpt])
        if len(chosen) > 1:  # the superparents' tables are not what the prior gives
            return network
        needed = self._prior.needed([cpt.family for cpt in network.cpts])
        beside = {names_of(family): pairs.single(family[-1].name) for family in needed}
        return BayesianNetwork._trusted(network.dag, network.cpts, prior=self._prior, prior_counts=beside)

    def _superparent_cpt(self, chosen: tuple[int, ...], position: int) -> CPT:
        """P(superparent | class, superparents before it)."""
        features = [self._counts.pairs.variables[v] for v in chosen]
        joint = self._given_class(chosen).reshape(-1, *(v.n_states for v in features))
        values = np.moveaxis(joint.sum(axis=tuple(range(position + 2, joint.ndim))), 0, -2)
        counts = self._counts.joint(chosen) if len(chosen) == 1 else None
        parents = (*features[:position], self._class_variable)
        return CPT._trusted(features[position], posterior_mean(values, 0.0), parents, counts)


@dataclass(kw_only=True, eq=False, repr=False)
class AODE(AveragedClassifier):
    """Averaged one-dependence estimators: the mean of all networks with one superparent (Webb, Boughton, Wang 2005).

    In each network, the class and one feature, the superparent, are the parents of all other features. Their joint
    probabilities are averaged over those superparents whose value in the row occurred at least ``m`` times in the
    training rows; where there is none, naive Bayes is used:

        P(c, x) = sum_i w_i P(c) P(x_i | c) prod_j P(x_j | x_i, c) / sum_i w_i.

    With ``count="class"`` the superparents are chosen for each class (Mauá, section 4): those of the class c are S_c,
    whose values occurred more than ``m`` times in rows of that class, N[x_i, c] > m. The joint probability of c is the
    mean over S_c, and that of naive Bayes, P(c) prod_i P(x_i | c), where S_c is empty.

    Every member is a network with tables smoothed by ``prior``, see :meth:`member`. Missing values are summed out
    exactly with ``m=0``; with a larger ``m``, networks whose superparent is missing in the row are left out. This holds
    for both counts: a missing value has no count, so that with ``m=0`` its network takes part in every class.

    Parameters
    ----------
    m : float
        How often the superparent's value must occur in the training rows. With ``count="state"`` at least so often, and
        with 0 all networks are averaged in all rows; with ``count="class"`` more often than this.
    count : {"state", "class"}
        The rows in which the superparent's value is counted: all rows, as in Webb et al. and Weka, or those of each
        class, as in Mauá.
    weights : {None, "mi"}
        The weights of the networks: equal, or the mutual information of the superparent and the class (weighted AODE,
        Jiang and Zhang 2006).
    max_entries : int
        The largest number of entries of all tables together; more are refused before they are allocated.

    Attributes
    ----------
    superparents_ : list of tuple of str
        The superparent of each member.
    weights_ : ndarray
        The weight of each member.

    References
    ----------
    G. I. Webb, J. R. Boughton and Z. Wang (2005). Not so naive Bayes: aggregating one-dependence estimators. Machine
    Learning 58, 5-24.

    D. D. Mauá (2016). MAC6916, lecture 10: Bayesian network classifiers, section 4.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> aode = bntk.AODE().fit(rows.drop(columns="lung"), rows["lung"])
    >>> aode.predict_proba(rows.drop(columns="lung").iloc[:2]).shape
    (2, 2)
    >>> aode.member("smoke").dag.parents("bronc")
    ('smoke', 'lung')
    >>> by_class = bntk.AODE(count="class", m=30).fit(rows.drop(columns="lung"), rows["lung"])
    >>> bool((by_class.predict(rows.drop(columns="lung")) == aode.predict(rows.drop(columns="lung"))).mean() > 0.9)
    True
    """

    name = "aode"
    _in_passes: ClassVar[bool | str] = True
    _n_superparents: ClassVar[int] = 1

    def member(self, superparent: str) -> BayesianNetwork:  # type: ignore[override]
        """The one-dependence network of a superparent."""
        return self._member([superparent])


@dataclass(kw_only=True, eq=False, repr=False)
class A2DE(AveragedClassifier):
    """Averaged two-dependence estimators: as :class:`AODE`, with two superparents in each network (Webb et al. 2012).

        P(c, x) = sum_ij w_ij P(c) P(x_i, x_j | c) prod_k P(x_k | x_i, x_j, c) / sum_ij w_ij.

    The average is over the pairs whose two values occurred together at least ``m`` times; where there is none, AODE is
    used. With ``count="class"`` the pairs are chosen for each class, N[x_i, x_j, c] > m, and a class without pairs has
    the joint probability of AODE with the same ``count`` and ``m``. Missing values are treated as in AODE. The two
    superparents of a network are treated alike: ``prior`` smooths their joint table.

    Parameters
    ----------
    m : float
        How often the two values must occur together in the training rows. With ``count="state"`` at least so often, and
        with 0 all networks are averaged in all rows; with ``count="class"`` more often than this.
    count : {"state", "class"}
        The rows in which the two values are counted: all rows, or those of each class.
    weights : {None, "mi"}
        The weights of the networks: equal, or the mutual information of the pair and the class.
    max_entries : int
        The largest number of entries of all tables together; more are refused before they are allocated.

    Attributes
    ----------
    superparents_ : list of tuple of str
        The superparents of each member.
    weights_ : ndarray
        The weight of each member.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(2000, seed=1).to_pandas()
    >>> a2de = bntk.A2DE(m=30).fit(rows.drop(columns="lung"), rows["lung"])
    >>> a2de.member("smoke", "xray").dag.parents("bronc")
    ('smoke', 'xray', 'lung')
    """

    name = "a2de"
    _in_passes: ClassVar[bool | str] = "AODE"
    _n_superparents: ClassVar[int] = 2

    def member(self, one: str, other: str) -> BayesianNetwork:  # type: ignore[override]
        """The two-dependence network of a pair of superparents."""
        return self._member([one, other])


# ---- tables ----------------------------------------------------------------------------------------------------------


def _lines(
    counts: Counts,
    members: Sequence[tuple[int, ...]],
    first_contexts: Ints,
    alpha: Callable[[int, int], Floats],
) -> Floats:
    """log P(feature | superparents, class) for each context, class, and state of each feature."""
    pairs = counts.pairs
    layout, n = pairs.layout, len(pairs.variables)
    columns, n_classes = layout.columns, layout.n_classes
    lines = np.zeros((int(first_contexts[-1]), n_classes, int(columns[-1])))
    order = len(members[0]) if members else 0
    if order == 0 and members:
        for v in range(n):
            lines[0, :, columns[v] : columns[v + 1]] = pairs.single(v)
    elif order == 1:
        run_parallel(lambda i: kernels.spread_pairs(pairs.counts, layout.starts, columns, i, lines), range(n))
    elif order == 2:
        starts = np.zeros((n, n), dtype=np.int64)
        for (i, j), first in zip(members, first_contexts[:-1], strict=True):
            starts[i, j] = first
        for i, later in enumerate(counts.triples):
            kernels.spread_triples(later.counts, later.layout.starts, columns, i, starts, lines)
    sizes = {int(size) for size in np.diff(first_contexts)}
    nothing = np.zeros((n_classes, 0))
    alphas = {
        size: np.concatenate([nothing, *(alpha(v, n_classes * size) for v in range(n))], axis=1) for size in sizes
    }

    def finish(m: int) -> None:
        begin, end = int(first_contexts[m]), int(first_contexts[m + 1])
        own = np.array(members[m], dtype=np.int64)
        kernels.counts_to_logs(lines[begin:end], columns, alphas[end - begin], own)

    run_parallel(finish, range(len(members)))
    return lines


def _pairs_after(counter: TableCounter, i: int, max_entries: int) -> PairTables:
    """The pairs of the features after the i-th, given the class and the i-th feature as one variable."""
    table, feature = counter.table, counter.variables[i]
    *_, target = counter.variables
    both = _joined(target, feature)
    variables = (*counter.variables[i + 1 : -1], both)
    codes = np.empty((len(variables), table.n_rows), dtype=code_dtype(variables))
    codes[:-1] = table.codes[i + 1 : -1]
    known = table.codes[i] < feature.n_states
    codes[-1] = np.where(known, table.codes[-1].astype(np.int64) * feature.n_states + table.codes[i], both.n_states)
    return TableCounter(Table._make(codes, variables), counter.weights).pairs(
        len(variables) - 1, max_entries=max_entries
    )


def _joined(target: Variable, feature: Variable) -> Variable:
    """The class and a feature as one variable."""
    return Variable(target.name, range(target.n_states * feature.n_states))


def _columns(sizes: Sequence[int] | Ints) -> Ints:
    """Where each of some runs begins, and where the last ends."""
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64))))


def _groups(widths: Ints, most: int) -> Ints:
    """Cut the features into runs with at most so many configurations, unless one alone has more."""
    most, begins, size = min(most, MOST_SLOTS), [0], 1
    for j, width in enumerate(widths.tolist()):
        if size * width > most and j > begins[-1]:
            begins.append(j)
            size = 1
        size *= width
    return np.array([*begins, len(widths)] if len(widths) else [0], dtype=np.int64)
