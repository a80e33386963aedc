"""Candidate parent sets: for each child, the parent sets that some best structure may need, and their scores.

Sets grow by one parent a level. Two rules of de Campos and Ji (2011) keep them few, and lose nothing:

- a set that scores no better than one of its subsets is useless: with the subset, the structure is as good, and no arc
  is more;
- when not even the score's bound for all supersets of S is better than S or one of its subsets, no superset of S is
  looked at.

References
----------
C. P. de Campos and Q. Ji (2011). Efficient structure learning of Bayesian networks using constraints. Journal of
Machine Learning Research 12, 663-689.

N. Friedman, I. Nachman and D. Pe'er (1999). Learning Bayesian network structure from massive datasets: the "sparse
candidate" algorithm. UAI, 206-215.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._progress import progress_bar
from bntk.errors import SpaceError, TooLargeError
from bntk.graph.dag import DAG
from bntk.graph.undirected import sorted_rows
from bntk.learning.search.base import SearchResult, Step
from bntk.learning.search.levels import Levels

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space
    from bntk.learning.space.rules import Quota

Masks = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: Candidate parents that a child may have: the bits of a mask.
MAX_CANDIDATES = 64
#: Parent sets that are scored before the search for them gives up, where children do not share tables.
MAX_SETS = 2_000_000
# Children share tables where there are more parent sets than this; for fewer, no more kernels are compiled.
_SHARED_FROM = 10_000
# Families that are scored between two looks at the clock.
_BATCH = 2048
# Sets of a level whose bounds are looked at before those of all.
_SAMPLE = 64
# Sets of one size that the rule of thumb looks at, and those of a size at which every table has more entries than there
# are rows: few rows, or missing values, let such sets seem good.
_WIDTH, _WIDTH_OF_LARGE = 400, 50
# Nodes from which a child's first parents are grown; beyond, only those with the largest gains alone.
_GROWTH_POOL = 64


@dataclass(frozen=True)
class ParentSets:
    """The parent sets of one child that can be in a best structure, the best first.

    Attributes
    ----------
    child : int
    candidates : ndarray of int
        The nodes that were considered as parents, ascending: bit k of a mask stands for ``candidates[k]``.
    masks : ndarray of uint64
    scores : ndarray of float
        Descending; of equal scores, the smaller set comes first, then the smaller mask.
    complete : bool
        True when every set of candidates that is left out scores no better than a subset that is not.
    """

    child: int
    candidates: NDArray[np.int64]
    masks: Masks
    scores: Floats
    complete: bool

    def __len__(self) -> int:
        return len(self.masks)

    def parents(self, rank: int) -> tuple[int, ...]:
        """The nodes of a parent set."""
        return tuple(self.candidates[_members(int(self.masks[rank]))].tolist())

    def score_of(self, parents: Sequence[int]) -> float:
        """The score of a parent set, which is one of these."""
        mask = _as_mask(np.searchsorted(self.candidates, sorted(parents)))
        return float(self.scores[np.flatnonzero(self.masks == mask)[0]])

    def extended(self, families: Sequence[tuple[int, ...]], scores: Floats) -> ParentSets:
        """These parent sets and some more, given as nodes; a node that is no candidate yet becomes one."""
        candidates = np.unique([*self.candidates, *(p for parents in families for p in parents)]).astype(np.int64)
        masks = np.zeros(len(self), np.uint64)
        for bit, place in enumerate(np.searchsorted(candidates, self.candidates).tolist()):
            masks |= (self.masks >> np.uint64(bit) & np.uint64(1)) << np.uint64(place)
        more = np.array([_as_mask(np.searchsorted(candidates, parents)) for parents in families], np.uint64)
        masks, first = np.unique(np.concatenate([masks, more]), return_index=True)
        return _sorted_sets(self.child, candidates, masks, np.concatenate([self.scores, scores])[first], False)


def find_parent_sets(
    evaluator: FamilyEvaluator,
    space: Space,
    *,
    candidates: Sequence[NDArray[np.int64]] | None = None,
    max_parents: int | None = None,
    max_sets: int = MAX_SETS,
) -> list[ParentSets]:
    """The parent sets of every child that some best legal structure may need.

    Parameters
    ----------
    evaluator : FamilyEvaluator
        Of a decomposable score.
    space : Space
        Its allowed and required arcs and limits on parents are kept; shapes are the business of the search.
    candidates : list of int arrays, optional
        Possible parents of each child; all allowed ones when not given, at most 64.
    max_parents : int, optional
        Look at no larger sets, whatever the space says.
    max_sets : int
        Refuse to score more sets than this.

    Raises
    ------
    TooLargeError
        Before anything is scored when the score knows no bound, else when the limit is reached.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> from bntk.learning.scores import BIC
    >>> from bntk.learning.space import Space
    >>> table = bntk.datasets.sprinkler().sample(1000, seed=1)
    >>> evaluator = BIC().evaluator(TableCounter(table))
    >>> sets = find_parent_sets(evaluator, Space(evaluator.names))
    >>> wet = evaluator.names.index("wet")
    >>> [evaluator.names[p] for p in sets[wet].parents(0)]
    ['sprinkler', 'rain']
    """
    finder = ParentSetFinder(
        evaluator, space, candidates=candidates, max_parents=max_parents, max_sets=max_sets, thorough=True
    )
    finder.run()
    return finder.results()


def count_parent_sets(space: Space, max_parents: int | None = None) -> int:
    """The number of parent sets of all nodes in a space, which have to be scored when no bound helps.

    Limits on parents of some kind only (as in a group of the shape ``kdb``) are not looked at.

    Examples
    --------
    >>> from bntk.learning.space import Space
    >>> count_parent_sets(Space([f"x{i}" for i in range(20)])), count_parent_sets(Space(["a", "b"]), max_parents=1)
    (10485760, 4)
    """
    total = 0
    for child, required in enumerate(required_parents(space)):
        free = int(space.allowed[:, child].sum()) - len(required)
        total += sum(comb(free, k) for k in range(parent_limit(space, child, max_parents) - len(required) + 1))
    return total


class ParentSetFinder:
    """Finds parent sets level by level; what it has found so far can be had at any time.

    Parameters
    ----------
    evaluator, space, candidates, max_parents, max_sets
        As for :func:`find_parent_sets`.
    thorough : bool
        False replaces the score's bound by a rule of thumb: sets of three and more are looked at only when some set
        with one parent less scores better than its own subsets; of each size only the 400 with the best such subset,
        or 50 when tables of this size have more entries than there are rows.
    children : list of int, optional
        The nodes whose parents are wanted; by default all.
    max_memory : float
        Gigabytes that sets which children share may take.
    """

    def __init__(
        self,
        evaluator: FamilyEvaluator,
        space: Space,
        *,
        candidates: Sequence[NDArray[np.int64]] | None = None,
        max_parents: int | None = None,
        max_sets: int | None = MAX_SETS,
        thorough: bool = True,
        children: Sequence[int] | None = None,
        max_memory: float = np.inf,
    ) -> None:
        self._evaluator = evaluator
        self._max_sets = MAX_SETS if max_sets is None else max_sets
        self._thorough = thorough
        self._n_scored = 0
        self.complete = False
        self._lattices = [
            _Lattice(space, child, chosen, max_parents, thorough, evaluator.counter.total_weight)
            for child in (range(len(space.nodes)) if children is None else children)
            for chosen in [None if candidates is None else candidates[child]]
        ]
        self._shared: Levels | None = None
        if thorough and candidates is None and children is None:
            total = sum(lattice.size() for lattice in self._lattices)
            if total > _SHARED_FROM and Levels.serves(evaluator, space):
                limits = np.array([parent_limit(space, child, max_parents) for child in range(len(space.nodes))])
                self._shared = Levels(evaluator, space, limits, max_sets, max_memory)
                return
        if thorough and np.isinf(evaluator.bound(0, ())):
            self._refuse(sum(lattice.size() for lattice in self._lattices), "would have")
        self._grow(self._lattices, None)

    def run(self, deadline: float | None = None, progress: bool = False) -> None:
        """Go on until all sets are found, or until ``time.perf_counter()`` passes the deadline."""
        with progress_bar(progress, desc="parent sets", unit=" sets") as bar:
            if self._shared is not None:
                while self._shared.grow(deadline):
                    bar.total = self._shared.n_sets
                    bar.update(self._shared.n_scored - bar.n)
                self.complete = self._shared.complete
                return
            while growing := [lattice for lattice in self._lattices if lattice.grows]:
                if not self._grow(growing, deadline):
                    return
                bar.update(self._n_scored - bar.n)
        self.complete = True

    def results(self) -> list[ParentSets]:
        """What has been found, for each child; at least its required parents."""
        if self._shared is not None:
            return [self._scored(child, sets) for child, sets in enumerate(self._shared.found())]
        return [lattice.result(self.complete and self._thorough) for lattice in self._lattices]

    def _scored(self, child: int, families: list[tuple[int, ...]]) -> ParentSets:
        """Parent sets with the scores that the evaluator gives them, which round alike everywhere."""
        candidates = self._lattices[child].candidates
        masks = np.array([_as_mask(np.searchsorted(candidates, parents)) for parents in families], np.uint64)
        scores = self._evaluator.locals([(child, parents) for parents in families])
        return _sorted_sets(child, candidates, masks, scores, self.complete)

    def reach(self) -> Floats:
        """For each child, what no parent set scores more than: the best one that was found, and bounds for others."""
        found = np.array([one.scores[0] for one in self.results()])
        if self.complete:
            return found
        return np.maximum(found, self._evaluator.bounds([(one.child, one.required) for one in self._lattices]))

    @property
    def n_shared(self) -> int:
        """How many parent sets were scored from tables that children share, which the evaluator does not know of."""
        return 0 if self._shared is None else self._shared.n_scored

    def _grow(self, lattices: Sequence[_Lattice], deadline: float | None) -> bool:
        """Score the next level of some children, all in the same batches; False when time is over before the end."""
        levels = [lattice.next_level() for lattice in lattices]
        masks = [level.masks for level in levels]
        ends = np.cumsum([0, *map(len, masks)])
        self._n_scored += int(ends[-1])
        self._refuse(self._n_scored, "have")
        scores, n_done = np.empty(ends[-1]), 0
        try:
            for span, families in _batches(lattices, masks):
                if deadline is not None and time.perf_counter() > deadline:
                    return False
                scores[span], n_done = self._evaluator.locals(families), span.stop
        finally:  # an interrupt leaves what has been scored
            for lattice, level, begin, end in zip(lattices, levels, ends[:-1], ends[1:], strict=True):
                if end <= n_done:
                    lattice.absorb(level, scores[begin:end])
        self._close([lattice for lattice in lattices if lattice.grows])
        return True

    def _close(self, lattices: Sequence[_Lattice]) -> None:
        """Close the sets that no superset can improve: those that the bound says are no better than a subset.

        A bound costs as much as a score. So a few of each child are looked at first, and when these close nothing, all
        stay open, which loses nothing; and the rule of thumb does without.
        """
        if not self._thorough:
            return
        some = [slice(None, None, 1 + len(lattice.open.masks) // _SAMPLE) for lattice in lattices]
        sampled = self._bounds(lattices, [one.open.masks[part] for one, part in zip(lattices, some, strict=True)])
        worth_it = [
            lattice
            for lattice, part, bounds in zip(lattices, some, sampled, strict=True)
            if not (bounds > lattice.open.best[part]).all()
        ]
        for lattice, bounds in zip(worth_it, self._bounds(worth_it, [one.open.masks for one in worth_it]), strict=True):
            lattice.keep_open(bounds > lattice.open.best)

    def _bounds(self, lattices: Sequence[_Lattice], masks: Sequence[Masks]) -> list[Floats]:
        """The score's bounds for some sets of each child."""
        ends = np.cumsum([0, *map(len, masks)])
        bounds = np.empty(ends[-1])
        for span, families in _batches(lattices, masks):
            bounds[span] = self._evaluator.bounds(families)
        return [bounds[begin:end] for begin, end in pairwise(ends.tolist())]

    def _refuse(self, n_sets: int, verb: str) -> None:
        if n_sets > self._max_sets:
            raise TooLargeError(
                f"{n_sets:,} parent sets {verb} to be scored, more than the limit of {self._max_sets:,};"
                " set max_parents (each parent less is many sets less), forbid arcs, raise max_sets,"
                " or use OrderSearch, which looks at the promising ones only"
            )


def _batches(
    lattices: Sequence[_Lattice], masks: Sequence[Masks]
) -> Iterator[tuple[slice, list[tuple[int, tuple[int, ...]]]]]:
    """The sets of several children one after the other, cut into batches: their places, and the families."""
    ends = np.cumsum([0, *map(len, masks)])
    for first in range(0, int(ends[-1]), _BATCH):
        last = min(first + _BATCH, int(ends[-1]))
        families = []
        for k in range(np.searchsorted(ends, first, "right") - 1, np.searchsorted(ends, last, "left")):
            begin = int(ends[k])
            families += lattices[k].families(masks[k][max(0, first - begin) : last - begin])
        yield slice(first, last), families


@dataclass
class _Level:
    """The sets of one size that may have to be scored, and the best score among the proper subsets of each."""

    masks: Masks
    best_below: Floats


@dataclass
class _Open:
    """The sets of the last level that may grow: the best score among the subsets of each, itself included, and
    whether it is its own."""

    masks: Masks
    best: Floats
    is_own: NDArray[np.bool_]


class _Lattice:
    """The parent sets of one child, level by level; every set holds the required parents."""

    def __init__(
        self,
        space: Space,
        child: int,
        candidates: NDArray[np.int64] | None,
        max_parents: int | None,
        thorough: bool,
        n_rows: float,
    ) -> None:
        required = np.flatnonzero(space.required_matrix[:, child])
        allowed = np.flatnonzero(space.allowed[:, child])
        if candidates is not None:
            allowed = np.intersect1d(candidates, allowed)
        self.child = child
        self.candidates = np.union1d(required, allowed).astype(np.int64)
        if len(self.candidates) > MAX_CANDIDATES:
            raise TooLargeError(
                f"{len(self.candidates)} nodes may be parents of {space.nodes[child]!r}, more than {MAX_CANDIDATES};"
                " use OrderSearch, which selects the promising ones"
            )
        self._thorough = thorough
        self.required = tuple(required.tolist())
        # With so many parents, a table may have no more entries than there are rows.
        self._usual = max(2, round(n_rows).bit_length() - 2)
        is_required = np.isin(self.candidates, required)
        self._base = _as_mask(np.flatnonzero(is_required))
        self._free = np.flatnonzero(~is_required).astype(np.uint64)
        self._quotas = [
            (_as_mask(np.flatnonzero(quota.tails[self.candidates])), int(quota.limits[child]))
            for quota in space.quotas
            if quota.heads[child]
        ]
        self._n_levels = min(max(0, parent_limit(space, child, max_parents) - len(required)), len(self._free))
        self._depth = 0
        self._masks: list[Masks] = []
        self._scores: list[Floats] = []
        self.open = _Open(np.empty(0, np.uint64), np.empty(0), np.empty(0, bool))
        self.grows = True

    def size(self) -> int:
        """How many sets there are without any bound."""
        return sum(comb(len(self._free), k) for k in range(self._n_levels + 1))

    def next_level(self) -> _Level:
        """The sets with one more parent that are to be looked at."""
        if self._depth == 0:
            return _Level(np.array([self._base]), np.array([-np.inf]))
        masks = self._extended()
        for tails, limit in self._quotas:
            masks = masks[_count_bits(masks & tails) <= limit]
        best, alive = np.full(len(masks), -np.inf), np.ones(len(masks), bool)
        for bit in self._free:
            rows = np.flatnonzero(masks >> bit & np.uint64(1))
            subsets = masks[rows] ^ (np.uint64(1) << bit)
            found = np.minimum(np.searchsorted(self.open.masks, subsets), len(self.open.masks) - 1)
            is_open = self.open.masks[found] == subsets
            alive[rows] &= is_open
            best[rows] = np.maximum(best[rows], np.where(is_open, self.open.best[found], -np.inf))
        if not self._thorough:
            alive = np.zeros(len(masks), bool)
            width = None if self._depth <= 2 else _WIDTH if self._depth <= self._usual else _WIDTH_OF_LARGE
            alive[np.argsort(-best, kind="stable")[:width]] = True
        return _Level(masks[alive], best[alive])

    def _extended(self) -> Masks:
        """The open sets with one parent more, ascending; by the rule of thumb only promising ones from size two on."""
        sets = self.open.masks if self._thorough or self._depth <= 2 else self.open.masks[self.open.is_own]
        grown = [sets[sets >> bit & np.uint64(1) == 0] | (np.uint64(1) << bit) for bit in self._free]
        return np.unique(np.concatenate([sets[:0], *grown]))

    def absorb(self, level: _Level, scores: Floats) -> None:
        """Keep the sets that are better than their subsets; all stay open until a bound closes them."""
        kept = scores > level.best_below
        if self._depth == 0:
            kept[:] = True
        self._masks.append(level.masks[kept])
        self._scores.append(scores[kept])
        self.grows = self._depth < self._n_levels
        self._depth += 1
        if self.grows:
            self.open = _Open(level.masks, np.maximum(scores, level.best_below), kept)
            self.grows = len(level.masks) > 0

    def keep_open(self, chosen: NDArray[np.bool_]) -> None:
        """Close all other sets."""
        self.open = _Open(self.open.masks[chosen], self.open.best[chosen], self.open.is_own[chosen])
        self.grows = len(self.open.masks) > 0

    def families(self, masks: Masks) -> list[tuple[int, tuple[int, ...]]]:
        rows, bits = np.nonzero(masks[:, None] >> np.arange(len(self.candidates), dtype=np.uint64) & np.uint64(1))
        nodes = self.candidates[bits].tolist()
        edges = np.searchsorted(rows, np.arange(len(masks) + 1)).tolist()
        return [(self.child, tuple(nodes[begin:end])) for begin, end in pairwise(edges)]

    def result(self, complete: bool) -> ParentSets:
        masks, scores = np.concatenate(self._masks), np.concatenate(self._scores)
        return _sorted_sets(self.child, self.candidates, masks, scores, complete)


def refuse_shapes(space: Space, search: str) -> None:
    """Refuse a space with rules that do not speak of one child and its parents alone."""
    odd = [str(g) for g in space.groups if g.shape in ("tree", "polytree") or (g.shape == "star" and g.root is None)]
    odd += [str(link) for link in space.links if link.mode == "discard"]
    if odd:
        raise SpaceError(
            f"{search} chooses the parents of each node by themselves, so it cannot keep this rule: {odd[0]};"
            " use SpanningTree where the groups are trees or forests, else HillClimbing or Tabu"
        )


def finish(
    evaluator: FamilyEvaluator,
    parents: Sequence[Sequence[int]],
    search: str,
    began: float,
    trace: list[Step],
    *,
    exact: bool = False,
    interrupted: bool = False,
) -> SearchResult:
    """The result of a search that ends with these parents; the evaluator holds them afterwards."""
    dag = DAG._trusted(evaluator.names, sorted_rows(parents))
    evaluator.reset(dag)
    return SearchResult(
        dag=dag,
        score=evaluator.total(),
        search=search,
        exact=exact and not interrupted,
        interrupted=interrupted,
        n_evaluated=evaluator.n_evaluated,
        seconds=time.perf_counter() - began,
        trace=tuple(trace),
    )


def select_candidates(
    evaluator: FamilyEvaluator, space: Space, k: int, deadline: float | None = None
) -> list[NDArray[np.int64]]:
    """About ``k`` promising parents for each node, for spaces too large to look at all.

    Half of them are grown: greedily, the node that gains most beside those already there, so that parents which say
    little alone are found too (for more than 64 nodes, from the 64 with the largest gains alone). The others are those
    with the largest gains alone. A node of whose growth another is part becomes a candidate of that other one as well,
    since the arc may point either way.
    """
    n = len(space.nodes)
    gains = _pair_gains(evaluator, space)
    ranking = [[int(x) for x in np.argsort(-gains[:, v], kind="stable") if gains[x, v] > -np.inf] for v in range(n)]
    grown = required_parents(space)
    limits = [min(len(p) + (k + 1) // 2, int(limit)) for p, limit in zip(grown, space.parent_limits, strict=True)]
    for _ in grow_parents(evaluator, grown, [pool[:_GROWTH_POOL] for pool in ranking], limits):
        if deadline is not None and time.perf_counter() > deadline:
            break
    chosen = []
    for child in range(n):
        back = [x for x in range(n) if child in grown[x] and space.allowed[x, child]]
        filled = list(dict.fromkeys([*grown[child], *ranking[child]]))[: max(k, len(grown[child]))]
        chosen.append(np.unique([*filled, *back][:MAX_CANDIDATES]).astype(np.int64))
    return chosen


def parent_limit(space: Space, child: int, max_parents: int | None) -> int:
    """The most parents that a node may have, by the space and by the search."""
    limit = int(space.parent_limits[child])
    return limit if max_parents is None else min(limit, max_parents)


def required_parents(space: Space) -> list[list[int]]:
    """The parents that each node must have."""
    return [np.flatnonzero(column).tolist() for column in space.required_matrix.T]


def _pair_gains(evaluator: FamilyEvaluator, space: Space) -> Floats:
    """What each allowed arc (row: tail, column: head) gains alone; ``-inf`` where it is not allowed."""
    return np.where(space.allowed, evaluator.pair_weights(), -np.inf)


def grow_parents(
    evaluator: FamilyEvaluator,
    parents: list[list[int]],
    pools: list[list[int]],
    limits: list[int],
    quotas: Sequence[Quota] = (),
) -> Iterator[float]:
    """To the parents of each node, add the one of its pool that gains most, while something is gained.

    All nodes take a step in one batch. After each, the lists have grown and the sum of the gains is yielded.
    """

    scores = evaluator.locals([(v, tuple(p)) for v, p in enumerate(parents)])
    growing = list(range(len(parents)))
    while growing:
        tries = [
            (v, x) for v in growing if len(parents[v]) < limits[v] for x in _may_join(pools[v], v, parents[v], quotas)
        ]
        values = evaluator.locals([(v, tuple(sorted([*parents[v], x]))) for v, x in tries])
        gained = [(v, x, value) for v, x, value in _best_of_each(tries, values) if value > scores[v]]
        for v, x, _ in gained:
            parents[v].append(x)
        yield sum(value - scores[v] for v, _, value in gained)
        growing = [v for v, _, _ in gained]
        for v, _, value in gained:
            scores[v] = value


def _may_join(pool: list[int], child: int, parents: list[int], quotas: Sequence[Quota]) -> list[int]:
    """The nodes of a pool that may become one more parent of a child."""
    excluded = set(parents)
    for quota in quotas:
        if quota.heads[child] and quota.tails[parents].sum() >= quota.limits[child]:
            excluded.update(np.flatnonzero(quota.tails).tolist())
    return [x for x in pool if x not in excluded]


def _best_of_each(tries: list[tuple[int, int]], values: Floats) -> Iterator[tuple[int, int, float]]:
    """For each node, the trial with the highest value, the first of equals."""
    best: dict[int, tuple[int, float]] = {}
    for (v, x), value in zip(tries, values.tolist(), strict=True):
        if v not in best or value > best[v][1]:
            best[v] = (x, value)
    for v, (x, value) in best.items():
        yield v, x, value


def _sorted_sets(child: int, candidates: NDArray[np.int64], masks: Masks, scores: Floats, complete: bool) -> ParentSets:
    order = np.lexsort((masks, _count_bits(masks), -scores))
    return ParentSets(child, candidates, masks[order], scores[order], complete)


def _members(mask: int) -> list[int]:
    """The bits of a mask that are set, ascending."""
    bits = []
    while mask:
        low = mask & -mask
        bits.append(low.bit_length() - 1)
        mask ^= low
    return bits


def _count_bits(masks: Masks) -> NDArray[np.int64]:
    """How many bits of each mask are set."""
    return np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1, dtype=np.int64)


def _as_mask(bits: NDArray[np.intp]) -> np.uint64:
    return np.uint64(sum(1 << int(bit) for bit in bits))
