"""Greedy equivalence search: the best insertion, deletion or turning of an edge, over equivalence classes.

A state is a completed PDAG. The operators and their validity are those of Chickering (2002), turning that of Hauser and
Buhlmann (2012); each is carried out on a DAG of the class, so that its gain is the difference of two scores.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. Journal of Machine Learning Research 3,
507-554.

A. Hauser and P. Buhlmann (2012). Characterization and greedy learning of interventional Markov equivalence classes of
directed acyclic graphs. Journal of Machine Learning Research 13, 2409-2464.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bntk import _checking
from bntk._interrupts import BestSoFar
from bntk._progress import progress_bar
from bntk.errors import ArgumentError, CycleError, GraphError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, consistent_extension, cpdag, meek
from bntk.graph.undirected import sorted_rows
from bntk.learning.scores.base import Evaluator
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step, check_options

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Clique = frozenset[int]


class Operator(NamedTuple):
    """A change of the edge between two nodes.

    ``clique`` are the neighbours of y that become, or stay, its parents.
    """

    gain: float
    kind: str
    x: int
    y: int
    clique: Clique

    def describe(self, names: tuple[str, ...]) -> str:
        """For example ``insert a -> b (given c)``."""
        given = f" (given {', '.join(names[v] for v in sorted(self.clique))})" if self.clique else ""
        return f"{self.kind} {names[self.x]} -> {names[self.y]}{given}"


@dataclass(frozen=True, kw_only=True)
class GES(Search):
    """Greedy equivalence search: inserts edges while the score rises, then deletes, then turns; until nothing gains.

    Each step goes from one equivalence class to a neighbouring one (Chickering 2002; turning: Hauser and Buhlmann
    2012). With a consistent score and enough rows, inserting and deleting alone find the class of the true structure.
    For scores that are equal for Markov-equivalent structures, as BDeu and BIC. Constraints are kept: a class is taken
    only when a DAG of it is legal, and that DAG is the result.

    Parameters
    ----------
    turning : bool
        Whether edges are also turned, and all three phases repeated; without, each of the others is gone through once.
    time_budget : float, optional
        Seconds after which the search ends with the class so far. Only with a time budget can the result depend on the
        machine.
    tolerance : float
        Gains that differ by less than this share of the score (or of 1, if that is more) are equal, and a smaller gain
        counts as none.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> found = learn_structure(bntk.datasets.sprinkler().sample(2000, seed=1), "bic", search=GES())
    >>> print(found.pdag)
    sprinkler -> wet; rain -> wet; cloudy -- sprinkler; cloudy -- rain
    >>> found.trace[0].what
    'insert cloudy -> rain'
    """

    name = "ges"
    turning: bool = True
    time_budget: float | None = None
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        check_options(self, turning=_checking.flag)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search from the class of ``start``, or of the smallest legal structure; ``seed`` is ignored."""
        began = time.perf_counter()
        families = evaluator.by_family("GES")
        refuse_direction(families)
        walk = _Walk(families, space, space.start() if start is None else space.walk(start).dag, self.tolerance, began)
        late = False
        with BestSoFar(BEST_STRUCTURE) as so_far, progress_bar(progress, desc="GES", unit=" steps") as bar:
            moved = True
            while moved and not late:
                moved = False
                for phase in (walk.insertions, walk.deletions, walk.turns)[: 3 if self.turning else 2]:
                    while not late and walk.step(phase):
                        moved = True
                        bar.update()
                        late = self.time_budget is not None and time.perf_counter() - began > self.time_budget
                moved = moved and self.turning
        families.reset(walk.dag)
        return SearchResult(
            dag=walk.dag,
            score=families.total(),
            search=repr(self),
            interrupted=late or so_far.interrupted,
            n_evaluated=families.n_evaluated,
            seconds=time.perf_counter() - began,
            trace=tuple(walk.trace),
            pdag=walk.known,
        )


def refuse_direction(evaluator: FamilyEvaluator) -> None:
    """Refuse scores that are not the same for all DAGs of a class."""
    if not evaluator.score.equivalent:
        raise ArgumentError(
            f"GES searches equivalence classes, and {evaluator.score!r} is not the same for all structures of a class; "
            "take a score that is, as BDeu or BIC, or a search over DAGs, as HillClimbing"
        )
    if evaluator.counter.directed:
        raise ArgumentError(
            "GES searches equivalence classes, whose structures have different scores where variables were set by an "
            "experiment (intervened=): take a search over DAGs, as HillClimbing, or leave out intervened"
        )
    weights = evaluator._arc_weights
    if weights is not None and not np.array_equal(weights, weights.T):
        raise ArgumentError(
            "GES searches equivalence classes, and the arc_weights of the space are not the same for both directions; "
            "give both the same weight, or take a search over DAGs, as HillClimbing"
        )


class _Walk:
    """A run of the search: the class held, a legal DAG of it, and the gains of the operators, per node."""

    def __init__(self, evaluator: FamilyEvaluator, space: Space, start: DAG, tolerance: float, began: float) -> None:
        self.evaluator, self.space, self.tolerance, self.began = evaluator, space, tolerance, began
        self.n = len(space.nodes)
        self.joinable = space.allowed | space.allowed.T
        self.fixed = space.required_matrix | space.required_matrix.T
        self.free = bool(self.joinable.sum() == space.allowed.sum() == self.n * (self.n - 1)) and not (
            space.groups or space.links or space.quotas
        )
        self.trace: list[Step] = []
        evaluator.reset(start)
        self.score = evaluator.total()
        self._remembered: dict[tuple[str, int], tuple[Any, list[Operator]]] = {}
        self._hold(start, cpdag(start))

    @property
    def slack(self) -> float:
        """What counts as no difference."""
        return self.tolerance * max(1.0, abs(self.score))

    @property
    def known(self) -> PDAG:
        """The class, with what the constraints direct."""
        directed = self._directed(self.cpdag)
        return self.cpdag if directed is None else directed

    def _hold(self, dag: DAG, pdag: PDAG) -> None:
        self.dag, self.cpdag = dag, pdag
        self.parents = [frozenset(row) for row in pdag.parent_indices]
        self.children = [frozenset(row) for row in pdag.child_indices]
        self.neighbors = [frozenset(row) for row in pdag.neighbor_indices]
        self.adjacent = [p | c | b for p, c, b in zip(self.parents, self.children, self.neighbors)]

    def step(self, operators: Callable[[int], list[Operator]]) -> bool:
        """Carry out the valid operator that gains most, of equal ones the first by x and y; False without one."""
        slack = self.slack
        found = [each for y in range(self.n) for each in operators(y) if each.gain > slack]
        unit = slack or 1e-100  # with a tolerance of 0
        found.sort(key=lambda o: (-round(o.gain / unit), o.x, o.y, len(o.clique), sorted(o.clique)))
        for operator in found:
            after = self._after(operator)
            if after is None:
                continue
            pdag = cpdag(after)
            legal = self._legal(after, pdag)
            if legal is None:
                continue
            score = float(self.evaluator.locals(enumerate(legal.parent_indices)).sum())
            if score <= self.score + slack / 2:  # with missing values, when members of a class differ in their score
                continue
            self._hold(legal, pdag)
            self.score = score
            self.trace.append(
                Step(operator.describe(self.space.nodes), float(self.score), time.perf_counter() - self.began)
            )
            return True
        return False

    # ---------------------------------------------------------------- legal structures

    def _legal(self, dag: DAG, pdag: PDAG) -> DAG | None:
        """A legal DAG of a class; None when none is found."""
        if self.free or self.space.allows(dag):
            return dag
        directed = self._directed(pdag)
        if directed is None:
            return None
        try:
            found = consistent_extension(directed)
        except GraphError:
            return None
        # What is allowed may make v-structures of its own, which no member of the class has.
        return found if self.space.allows(found) and cpdag(found) == pdag else None

    def _directed(self, pdag: PDAG) -> PDAG | None:
        """A class with the edges directed that only one direction is allowed of; None when that cannot be."""
        allowed = self.space.allowed
        parents = [set(row) for row in pdag.parent_indices]
        neighbors = [set(row) for row in pdag.neighbor_indices]
        for head, row in enumerate(pdag.neighbor_indices):
            for tail in row:
                if not allowed[head, tail]:
                    parents[head].add(tail)
                    neighbors[head].discard(tail)
                    neighbors[tail].discard(head)
        try:
            return meek(PDAG._trusted(pdag.nodes, sorted_rows(parents), sorted_rows(neighbors)))
        except CycleError:
            return None

    # ---------------------------------------------------------------- operators and their gains

    def _cached(self, kind: str, y: int, make: Callable[[int], list[Operator]]) -> list[Operator]:
        """The operators of a kind into a node, made again when something they depend on has changed."""
        around = self.neighbors[y] | {y}
        key: Any = (self.parents[y], self.neighbors[y], tuple(self.adjacent[v] for v in sorted(around)))
        if kind == "turn":
            key = (*key, tuple((self.parents[v], self.neighbors[v]) for v in sorted(self.adjacent[y])))
        before = self._remembered.get((kind, y))
        if before is None or before[0] != key:
            before = self._remembered[kind, y] = key, make(y)
        return before[1]

    def insertions(self, y: int) -> list[Operator]:
        """Insert(x, y, T): NA(y, x) and T are a clique, and become parents of y with x."""
        return self._cached("insert", y, self._insertions)

    def _insertions(self, y: int) -> list[Operator]:
        found = []
        new = self.joinable[:, y].copy()
        new[list(self.adjacent[y])] = False
        shared = {x: self.neighbors[y] & self.adjacent[x] for x in np.flatnonzero(new).tolist()}
        for clique in self._cliques(self.neighbors[y]):
            among = np.zeros(self.n, dtype=bool)
            among[[x for x, common in shared.items() if common <= clique]] = True
            if among.any():
                gains = self.evaluator.extended(y, self.parents[y] | clique, among)
                found += [Operator(float(gains[x]), "insert", x, y, clique) for x in np.flatnonzero(gains > 0).tolist()]
        return found

    def deletions(self, y: int) -> list[Operator]:
        """Delete(x, y, H): what NA(y, x) has besides H is a clique, and becomes parents of y."""
        return self._cached("delete", y, self._deletions)

    def _deletions(self, y: int) -> list[Operator]:
        tried = [
            (x, clique)
            for x in sorted(self.parents[y] | self.neighbors[y])
            if not self.fixed[x, y]
            for clique in self._cliques(self.neighbors[y] & self.adjacent[x])
        ]
        rest = [(self.parents[y] | clique) - {x} for x, clique in tried]
        values = self.evaluator.locals([(y, p) for p in rest] + [(y, p | {x}) for (x, _), p in zip(tried, rest)])
        gains = values[: len(tried)] - values[len(tried) :]
        return [Operator(gain, "delete", x, y, clique) for gain, (x, clique) in zip(gains.tolist(), tried) if gain > 0]

    def turns(self, y: int) -> list[Operator]:
        """Turn(x, y, C): y -> x, or an edge, becomes x -> y, with the clique C of neighbours as parents of y."""
        return self._cached("turn", y, self._turns)

    def _turns(self, y: int) -> list[Operator]:
        tried, families = [], []
        for x in sorted(self.children[y] | self.neighbors[y]):
            if not self.space.allowed[x, y]:
                continue
            shared = self.neighbors[y] & self.adjacent[x]
            is_edge = x in self.neighbors[y]
            for clique in self._cliques(self.neighbors[y] - {x}):
                if clique <= shared if is_edge else not shared <= clique:
                    continue
                above = self.parents[x] - {y} | (clique & self.neighbors[x] if is_edge else frozenset())
                given = self.parents[y] | clique
                tried.append((x, clique))
                families += [(y, given | {x}), (y, given), (x, above), (x, above | {y})]
        values = self.evaluator.locals(families).reshape(-1, 4)
        gains = values @ np.array([1.0, -1.0, 1.0, -1.0])
        return [Operator(gain, "turn", x, y, clique) for gain, (x, clique) in zip(gains.tolist(), tried) if gain > 0]

    def _cliques(self, pool: Clique) -> Iterator[Clique]:
        """Every set of nodes of a pool that are all adjacent, the empty one first."""
        members = sorted(pool)

        def grow(clique: Clique, begin: int) -> Iterator[Clique]:
            yield clique
            for place in range(begin, len(members)):
                if clique <= self.adjacent[members[place]]:
                    yield from grow(clique | {members[place]}, place + 1)

        yield from grow(frozenset(), 0)

    # ---------------------------------------------------------------- carrying them out

    def _after(self, operator: Operator) -> DAG | None:
        """A DAG of the class after an operator; None when the operator is not valid."""
        _, kind, x, y, clique = operator
        if kind == "insert":
            if self._reaches(y, x, clique):
                return None
            return self._extended({(t, y) for t in clique} | {(x, y)})
        if kind == "delete":
            others = (self.neighbors[y] & self.adjacent[x]) - clique
            return self._extended({(y, h) for h in others} | {(x, h) for h in others & self.neighbors[x]}, (x, y))
        return self._turned(x, y, clique)

    def _reaches(self, start: int, goal: int, blocked: Clique) -> bool:
        """Whether a path from one node to another that no arc is against avoids the blocked nodes."""
        stack, seen = [start], {start, *blocked}
        while stack:
            node = stack.pop()
            for other in self.children[node] | self.neighbors[node]:
                if other == goal:
                    return True
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return False

    def _extended(self, arcs: set[tuple[int, int]], without: tuple[int, int] | None = None) -> DAG | None:
        """A DAG that the class has when some edges are directed, or new, and one is left out."""
        parents, neighbors = [set(row) for row in self.parents], [set(row) for row in self.neighbors]
        for tail, head in (*arcs, *([without] if without else ())):
            neighbors[tail].discard(head)
            neighbors[head].discard(tail)
        for tail, head in arcs:
            parents[head].add(tail)
        if without:
            parents[without[1]].discard(without[0])
            parents[without[0]].discard(without[1])
        pdag = PDAG._trusted(self.space.nodes, sorted_rows(parents), sorted_rows(neighbors))
        try:
            pdag._arcs._refuse_cycle()
            return consistent_extension(pdag)
        except GraphError:
            return None

    def _turned(self, x: int, y: int, clique: Clique) -> DAG | None:
        """A DAG of the class with x below y and the clique above it, and the arc between the two turned."""
        is_edge = x in self.neighbors[y]
        above = clique & self.neighbors[x] if is_edge else frozenset[int]()
        arcs = {(c, y) for c in clique} | {(y, other) for other in self.neighbors[y] - clique}
        arcs |= {(c, x) for c in above} | {(x, other) for other in self.neighbors[x] - above - {y}}
        before = self._extended(arcs)
        if before is None or cpdag(before) != self.cpdag:
            return None
        parents = [set(row) for row in before.parent_indices]
        if y not in parents[x] or parents[y] != self.parents[y] | clique:
            return None
        parents[x].discard(y)
        parents[y].add(x)
        after = DAG._trusted(self.space.nodes, sorted_rows(parents))
        try:
            after._refuse_cycle()
        except CycleError:
            return None
        return after
