"""Searches over orders of the nodes: K2 for a given one, and local search for a good one.

For a given order the best structure is easy: each node takes the best parent set among the nodes before it. There are
far fewer orders than structures, and a step from order to order changes many arcs at once, so that local optima are
fewer, too.

References
----------
G. F. Cooper and E. Herskovits (1992). A Bayesian method for the induction of probabilistic networks from data. Machine
Learning 9, 309-347.

M. Teyssier and D. Koller (2005). Ordering-based search: a simple and effective algorithm for learning Bayesian
networks. UAI, 584-590.

M. Scanagatta, C. P. de Campos, G. Corani and M. Zaffalon (2015). Learning Bayesian networks with thousands of
variables. NIPS 28.

C. Lee and P. van Beek (2017). Metaheuristics for score-and-search Bayesian network structure learning. Canadian AI,
129-141.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._progress import progress_bar
from bntk._threads import run_parallel
from bntk.errors import GraphError, SpaceError
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import kernels
from bntk.learning.search.base import BEST_STRUCTURE, COUNT, Search, SearchResult, Step, check_options
from bntk.learning.search.greedy import HillClimbing
from bntk.learning.search.parent_sets import (
    MAX_CANDIDATES,
    ParentSetFinder,
    ParentSets,
    finish,
    grow_parents,
    parent_limit,
    refuse_shapes,
    required_parents,
    select_candidates,
)
from bntk.learning.space.rules import listed

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Orders = NDArray[np.int64]

# Scores that differ by less than this share are equal: it hides the rounding of sums.
_TOLERANCE = 1e-11


@dataclass(frozen=True)
class K2Search(Search):
    """K2: for a given order of the nodes, add to each node the earlier node that gains most, while something is gained.

    For scores that are sums over families (Cooper and Herskovits 1992).

    Parameters
    ----------
    order : sequence of str, optional
        All nodes; parents come before their children. By default the order of the columns.
    max_parents : int, optional
        The largest number of parents of a node, if the space allows more.
    time_budget : float, optional
        Seconds after which the search ends with the structure so far. Only with a time budget can the result depend on
        the machine.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> table = bntk.datasets.sprinkler().sample(2000, seed=1)
    >>> order = bntk.datasets.sprinkler().dag.topological_order
    >>> learn_structure(table, search=K2Search(order, max_parents=2)).dag.parents("wet")
    ('sprinkler', 'rain')
    """

    name = "k2"
    order: Sequence[str] | None = None
    max_parents: int | None = None
    time_budget: float | None = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.order is not None:
            named = _checking.several("order", self.order, "names of variables")
            object.__setattr__(self, "order", tuple(_checking.text("each of order", name) for name in named))

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; ``start`` and ``seed`` are ignored."""
        began = time.perf_counter()
        families = evaluator.by_family("K2Search")
        refuse_shapes(space, "K2Search")
        parents = required_parents(space)
        pools = _predecessors(self._places(space), space)
        limits = [parent_limit(space, v, self.max_parents) for v in range(len(parents))]
        trace: list[Step] = []
        out_of_time = False
        score = families.locals([(v, tuple(p)) for v, p in enumerate(parents)]).sum()
        with BestSoFar(BEST_STRUCTURE) as so_far:
            for gain in grow_parents(families, parents, pools, limits, space.quotas):
                score += gain
                trace.append(Step(f"parents {len(trace) + 1}", float(score), time.perf_counter() - began))
                if self.time_budget is not None and time.perf_counter() - began > self.time_budget:
                    out_of_time = True
                    break
        return finish(families, parents, repr(self), began, trace, interrupted=out_of_time or so_far.interrupted)

    def _places(self, space: Space) -> list[int]:
        """The order as positions, checked against the nodes and the required arcs."""
        order = space.nodes if self.order is None else tuple(self.order)
        if sorted(order) != sorted(space.nodes):
            odd = sorted(set(order) ^ set(space.nodes)) or sorted({name for name in order if order.count(name) > 1})
            raise GraphError(f"an order names every node once; wrong with {', '.join(map(repr, odd))}")
        places = [space.nodes.index(name) for name in order]
        rank = np.argsort(places)
        for tail, head in np.argwhere(space.required_matrix).tolist():
            if rank[tail] > rank[head]:
                raise GraphError(
                    f"the arc {space.nodes[tail]!r} -> {space.nodes[head]!r} is required,"
                    f" but {space.nodes[head]!r} comes first in the order"
                )
        return places


def _predecessors(places: list[int], space: Space) -> list[list[int]]:
    """The possible parents of each node: those before it in the order, by column."""
    pools: list[list[int]] = [[] for _ in places]
    for i, head in enumerate(places):
        pools[head] = sorted(tail for tail in places[:i] if space.allowed[tail, head])
    return pools


@dataclass(frozen=True, kw_only=True)
class OrderSearch(Search):
    """Order search: local search over orders of the nodes, with the best parents for every order.

    Each chain starts from an order (the first from that of the structure which hill climbing finds, the others at
    random). It moves one node after the other to the place where it gains most until none gains, then perturbs the
    order and climbs again, and keeps the better order. The parent sets of a node are scored beforehand, from its most
    promising candidates. Sets of three or more parents are scored only when leaving out one of them leaves a set better
    than its own subsets; of each size, at most 400 per node. For scores that are sums over families.

    When the chains have ended, the best structure is improved by hill climbing, whose parent sets join the others; a
    node that is no candidate but would gain something as a parent becomes one; and the chains go on. So the result is
    never worse than that of hill climbing. The same seed gives the same structure for any number of threads.

    Parameters
    ----------
    max_parents : int, optional
        The largest number of parents of a node, if the space allows more.
    candidates : int
        About how many candidate parents are considered per node.
    restarts : int
        Number of chains besides the first.
    patience : int
        A chain ends after so many perturbations in a row that find nothing better.
    max_iter : int, optional
        The largest number of perturbations of a chain.
    strength : int
        The largest number of insertions of a perturbation.
    time_budget : float, optional
        Seconds after which the search ends with the best structure so far. Only with a time budget can the result
        depend on the machine.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> from bntk.learning.scores import score
    >>> asia = bntk.datasets.asia()
    >>> table = asia.sample(5000, seed=2)
    >>> learn_structure(table, search=OrderSearch()).score >= score(asia.dag, table, "bdeu")
    True
    """

    name = "order"
    max_parents: int | None = None
    candidates: int = 12
    restarts: int = 3
    patience: int = 200
    max_iter: int | None = None
    strength: int = 6
    time_budget: float | None = None

    def __post_init__(self) -> None:
        check_options(self, candidates=COUNT, patience=COUNT, strength=COUNT)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; the result is never worse than ``start``."""
        families = evaluator.by_family("OrderSearch")
        refuse_shapes(space, "OrderSearch")
        journey = _Journey(self, families, space, start, progress)
        with BestSoFar(BEST_STRUCTURE) as so_far:
            journey.prepare(seed)
            while not journey.interrupted and journey.climb() and journey.widen():
                pass
        if so_far.interrupted:
            journey.give_up()
        return journey.result(repr(self))


@dataclass(frozen=True)
class FlatSets:
    """The parent sets of all nodes as the kernels read them; see there."""

    bits: NDArray[np.int8]
    masks: NDArray[np.uint64]
    scores: NDArray[np.float64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sets: Sequence[ParentSets]) -> FlatSets:
        """The parent sets of all nodes, one after the other."""
        bits = np.full((len(sets), len(sets)), -1, np.int8)
        for one in sets:
            bits[one.child, one.candidates] = np.arange(len(one.candidates))
        offsets = np.cumsum([0, *map(len, sets)])
        return cls(bits, np.concatenate([s.masks for s in sets]), np.concatenate([s.scores for s in sets]), offsets)

    def best_ranks(self, order: Orders) -> NDArray[np.int64]:
        """For each node, the number of its best parent set in an order."""
        available, choice = np.zeros(len(order), np.uint64), np.zeros(len(order), np.int64)
        kernels.settle(order, self.bits, self.masks, self.offsets, available, choice)
        return choice - self.offsets[:-1]


def climb_from(
    order: Orders, sets: Sequence[ParentSets], required: NDArray[np.bool_], seed: int = 0, n_rounds: int = 0
) -> list[tuple[int, ...]]:
    """The parents of every node at the local optimum that is reached from an order; the order is changed to it.

    With ``n_rounds``, so many times some nodes are moved at random, and the climb goes on from there.
    """
    flat = FlatSets.of(sets)
    state = np.array([seed], np.uint64)
    kernels.climb_orders(order, flat.bits, flat.masks, flat.scores, flat.offsets, required, 1e-9, n_rounds, 5, state)
    return [one.parents(rank) for one, rank in zip(sets, flat.best_ranks(order).tolist(), strict=True)]


@dataclass
class _Chain:
    """One walk over orders, with random numbers of its own."""

    order: Orders
    state: NDArray[np.uint64]
    score: float = -np.inf
    idle: int = 0
    n_rounds: int = 0


class _Journey:
    """One run of an order search."""

    def __init__(
        self, options: OrderSearch, evaluator: FamilyEvaluator, space: Space, start: DAG | None, progress: bool
    ) -> None:
        self._began = time.perf_counter()
        self._options = options
        self._evaluator = evaluator
        self._space = space
        limit = options.max_parents
        self._limited = space if limit is None else space.restrict(max_parents=limit)
        self._start = self._limited.start() if start is None else legal_start(start, self._limited)
        self.interrupted = False
        self._trace: list[Step] = []
        self._best: list[tuple[int, ...]] = list(self._start.parent_indices)
        self._best_score = float(evaluator.locals(list(enumerate(self._best))).sum())
        self._sets: dict[int, ParentSets] = {}
        self._chains: list[_Chain] = []
        self._included: set[tuple[int, tuple[int, ...]]] = set()
        self._bar = progress_bar(True, desc="OrderSearch", unit=" rounds") if progress else None
        self._trace.append(Step("start", self._best_score, time.perf_counter() - self._began))

    @property
    def _deadline(self) -> float | None:
        budget = self._options.time_budget
        return None if budget is None else self._began + budget

    def _out_of_time(self) -> bool:
        if self._deadline is not None and time.perf_counter() > self._deadline:
            self.interrupted = True
        return self.interrupted

    def prepare(self, seed: int) -> None:
        """Climb hills once, choose candidates, score parent sets, draw the first orders."""
        self._polish(self._start)  # first, so that an early end finds a decent structure
        if self._out_of_time():
            return
        chosen = select_candidates(self._evaluator, self._space, self._options.candidates, self._deadline)
        rows = zip(self._best, chosen, strict=True)
        self._candidates = [_first_distinct(parents, candidates) for parents, candidates in rows]
        self._find_sets(range(len(self._candidates)))
        self._include(self._best)
        for number in range(self._options.restarts + 1):
            rng = np.random.default_rng([seed, number])
            if number == 0:
                order = np.array(self._best_dag.topological_indices, np.int64)
            else:
                order = random_order(self._space.required_matrix, rng)
            self._chains.append(_Chain(order, rng.integers(2**63, size=1).astype(np.uint64)))

    def _find_sets(self, children: Sequence[int]) -> None:
        finder = ParentSetFinder(
            self._evaluator,
            self._space,
            candidates=self._candidates,
            max_parents=self._options.max_parents,
            thorough=False,
            children=children,
        )
        try:
            finder.run(self._deadline)
        finally:
            for new in finder.results():
                old = self._sets.get(new.child)
                if old is not None:
                    new = new.extended([old.parents(rank) for rank in range(len(old))], old.scores)
                self._sets[new.child] = new
            self._flat = FlatSets.of(self._in_order)

    def give_up(self) -> None:
        """Make the most of what there is."""
        self.interrupted = True
        if self._sets and not self._chains:
            self._chains = [_Chain(np.array(self._best_dag.topological_indices, np.int64), np.zeros(1, np.uint64))]
            climb_from(self._chains[0].order, self._in_order, self._space.required_matrix)
            self._keep_best()

    def climb(self) -> bool:
        """Walk all chains to their end; False when time is over."""
        tolerance = self._tolerance
        rounds = max(1, min(self._options.patience, 60_000 // len(self._space.nodes) ** 2))  # some ten milliseconds
        try:
            while active := [chain for chain in self._chains if self._goes_on(chain)]:
                run_parallel(lambda chain: self._walk(chain, rounds, tolerance), active)
                self._keep_best()
                if self._out_of_time():
                    return False
        finally:
            self._keep_best()
        return True

    def _goes_on(self, chain: _Chain) -> bool:
        limit = self._options.max_iter
        return chain.n_rounds == 0 or (
            chain.idle < self._options.patience and (limit is None or chain.n_rounds < limit)
        )

    def _walk(self, chain: _Chain, rounds: int, tolerance: float) -> None:
        if self._options.max_iter is not None:
            rounds = min(rounds, self._options.max_iter - chain.n_rounds)
        flat = self._flat
        score, idle = kernels.climb_orders(
            chain.order, flat.bits, flat.masks, flat.scores, flat.offsets, self._space.required_matrix,
            tolerance, rounds, self._options.strength, chain.state,
        )  # fmt: skip
        chain.idle = chain.idle + rounds if idle == rounds and score <= chain.score + tolerance else idle
        chain.score = score
        chain.n_rounds += max(1, rounds)

    def _keep(self, parents: Sequence[tuple[int, ...]], score: float, what: str) -> None:
        if score > self._best_score + self._tolerance:
            self._best, self._best_score = list(parents), score
            self._trace.append(Step(what, score, time.perf_counter() - self._began))

    def _dag_of(self, order: Orders) -> DAG:
        """The best structure of an order."""
        ranks = self._flat.best_ranks(order).tolist()
        rows = [self._sets[child].parents(rank) for child, rank in enumerate(ranks)]
        return DAG._trusted(self._evaluator.names, tuple(rows))

    def _keep_best(self) -> None:
        """Hold on to the best structure that any chain stands at."""
        for chain in self._chains:
            dag = self._dag_of(chain.order)
            score = float(self._evaluator.locals(list(enumerate(dag.parent_indices))).sum())
            self._keep(dag.parent_indices, score, f"shake {chain.n_rounds}")
        if self._bar is not None:
            self._bar.set_postfix_str(f"best score {self._best_score:,.4f}", refresh=False)
            self._bar.update()

    def widen(self) -> bool:
        """Look beyond the parent sets that are known; False when nothing better is near."""
        before = self._best_score
        for chain in self._chains:
            dag = self._polish(self._dag_of(chain.order))
            self._include(dag.parent_indices)
            chain.order = np.array(dag.topological_indices, np.int64)
        grown = self._new_candidates()
        if grown:
            self._find_sets(grown)
        if not grown and self._best_score <= before + self._tolerance:
            return False
        for chain in self._chains:
            chain.idle = chain.n_rounds = 0
        return not self._out_of_time()

    def _polish(self, dag: DAG) -> DAG:
        """Climb hills from a structure, by single arcs."""
        left = None if self._deadline is None else max(0.0, self._deadline - time.perf_counter())
        found = HillClimbing(time_budget=left).run(self._evaluator, self._limited, start=dag)
        self.interrupted |= found.interrupted
        self._keep(found.dag.parent_indices, found.score, "hill climbing")
        return found.dag

    def _new_candidates(self) -> list[int]:
        """The children for which an arc from a node that is no candidate would gain something; they get it as one.

        Cycles are not looked at: the order may yet turn.
        """
        tries = [
            (child, tail)
            for child, parents in enumerate(self._best)
            if len(parents) < self._limited.parent_limits[child]
            for tail in np.setdiff1d(np.flatnonzero(self._space.allowed[:, child]), self._candidates[child]).tolist()
            if len(self._candidates[child]) < MAX_CANDIDATES
        ]
        before = self._evaluator.locals(list(enumerate(self._best)))
        after = self._evaluator.locals([(child, tuple(sorted((*self._best[child], tail)))) for child, tail in tries])
        found = [pair for pair, value in zip(tries, after, strict=True) if value > before[pair[0]] + self._tolerance]
        for child, tail in found:
            self._candidates[child] = _first_distinct(self._candidates[child], [tail])
        return sorted({child for child, _ in found})

    def _include(self, parents: Sequence[tuple[int, ...]]) -> None:
        """Add the parents of a structure, less up to two of them, to the parent sets."""
        for child, row in enumerate(parents):
            if (child, row) in self._included:
                continue
            required = self._space.required_matrix[:, child]
            wanted = [
                kept
                for size in range(max(0, len(row) - 2), len(row) + 1)
                for kept in combinations(row, size)
                if required[list(kept)].sum() == required.sum()
            ]
            if len({*self._sets[child].candidates.tolist(), *row}) <= MAX_CANDIDATES:
                scores = self._evaluator.locals([(child, kept) for kept in wanted])
                self._sets[child] = self._sets[child].extended(wanted, scores)
                self._candidates[child] = self._sets[child].candidates
                self._included.add((child, row))
        self._flat = FlatSets.of(self._in_order)

    @property
    def _in_order(self) -> list[ParentSets]:
        return [self._sets[child] for child in range(len(self._sets))]

    @property
    def _best_dag(self) -> DAG:
        return DAG._trusted(self._evaluator.names, tuple(self._best))

    @property
    def _tolerance(self) -> float:
        return _TOLERANCE * max(1.0, abs(self._best_score))

    def result(self, search: str) -> SearchResult:
        if self._bar is not None:
            self._bar.close()
        return finish(self._evaluator, self._best, search, self._began, self._trace, interrupted=self.interrupted)


def legal_start(start: DAG, space: Space) -> DAG:
    """A structure to begin with, checked."""
    wrong = space.violations(start)
    if wrong:
        raise SpaceError(f"the structure to begin with is not legal: {listed(wrong, 4)}")
    return start.reorder(space.nodes)


def _first_distinct(*groups: Iterable[int]) -> NDArray[np.int64]:
    """The nodes of all groups, ascending; the first ones when there are too many for a mask."""
    distinct = dict.fromkeys(int(node) for group in groups for node in group)
    return np.array(sorted(list(distinct)[:MAX_CANDIDATES]), np.int64)


def random_order(required: NDArray[np.bool_], rng: np.random.Generator) -> Orders:
    """An order drawn at random in which the required parents of every node come before it."""
    waiting = required.sum(axis=0)
    ready = np.flatnonzero(waiting == 0).tolist()
    order = []
    while ready:
        node = ready.pop(int(rng.integers(len(ready))))
        order.append(node)
        for child in np.flatnonzero(required[node]).tolist():
            waiting[child] -= 1
            if waiting[child] == 0:
                ready.append(child)
    return np.array(order, np.int64)
