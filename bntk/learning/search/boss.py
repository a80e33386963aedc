"""Best order score search: local search over orders in which each variable grows and shrinks its parents.

References
----------
B. Andrews, J. Ramsey, R. Sanchez Romero, J. Camchong and E. Kummerfeld (2023). Fast scalable and accurate discovery of
DAGs using the best order score search and grow-shrink trees. NeurIPS 36.

C. Lee and P. van Beek (2017). Metaheuristics for score-and-search Bayesian network structure learning. Canadian AI,
129-141.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk._interrupts import BestSoFar
from bntk._progress import progress_bar
from bntk.graph.dag import DAG
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import grow_shrink_kernels as kernels
from bntk.learning.search.base import BEST_STRUCTURE, COUNT, Search, SearchResult, Step, check_options
from bntk.learning.search.greedy import HillClimbing
from bntk.learning.search.grow_shrink import JOBS, GrowShrinkTrees
from bntk.learning.search.order import legal_start, random_order
from bntk.learning.search.parent_sets import finish, refuse_shapes

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Ints = NDArray[np.int64]

# After so many families times rows, a minute or two of work, nothing is shaken any more.
MOST_WORK = 15 * 10**11
# Variables that a kernel places between two looks at the clock.
VARIABLES = 256
# What progress shows: there is no telling when a search will find nothing better any more.
BAR = "{desc}: {percentage:3.0f}% {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
# Shakes that together gain less than this share of the score are idle: there is always a little more to find.
LITTLE = 1e-7
# A part of the patience, after which hills are climbed before more is shaken.
ROUNDS = 4
# Scores that differ by less than this share are equal: it hides the rounding of sums.
TOLERANCE = 1e-11


@dataclass(frozen=True, kw_only=True)
class BOSS(Search):
    """Best order score search: move each variable to the place in an order where the score gains most, then shake.

    For scores that are sums over families (Andrews et al. 2023). In an order, each variable grows its parents among
    the variables before it, one by one, and shrinks them again; grow-shrink trees remember what came of it, so that
    large networks take seconds to minutes. Two parents that gain only together, as of an exclusive or, are known from a
    look at all triples of variables with up to four states. At a local optimum, hill climbing by single arcs looks at
    what the orders cannot tell. Then some neighbouring variables are moved at random, and the search goes on from
    there; unless the score has not fallen, it goes back. Hill climbing ends the search, or leads it on.

    Parameters
    ----------
    max_parents : int, optional
        The largest number of parents of a node, if the space allows more.
    patience : int
        The search ends after so many shakes in a row that gain nothing, or together less than a ten-millionth of
        the score; with very many variables and rows earlier, after 1.5 * 10**12 families times rows.
    max_iter : int, optional
        The largest number of shakes.
    strength : int
        The largest number of variables that a shake moves.
    epsilon : float
        Arcs that gain less, in units of the score, are left out at the end. Among very many possible parents some gain
        a little by chance: where the score allows for none of that, as BIC, a gain of 1 is weak evidence of an arc.
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
    >>> learn_structure(table, search=BOSS()).score >= score(asia.dag, table, "bdeu")
    True
    """

    name = "boss"
    max_parents: int | None = None
    patience: int = 200
    max_iter: int | None = None
    strength: int = 6
    epsilon: float = 0.0
    time_budget: float | None = None

    def __post_init__(self) -> None:
        check_options(self, patience=COUNT, strength=COUNT)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; the result is never worse than ``start``, but for arcs that gain less than ``epsilon``."""
        families = evaluator.by_family("BOSS")
        refuse_shapes(space, "BOSS")
        journey = _Journey(self, families, space, start, seed, progress)
        with BestSoFar(BEST_STRUCTURE) as so_far:
            journey.run()
        if so_far.interrupted:
            journey.give_up()
        return journey.result(repr(self))


class _OutOfTimeError(Exception):
    """The time budget is used up."""


def out_of_time(began: float, budget: float) -> bool:
    """Whether more seconds have gone by than were to be."""
    return time.perf_counter() - began > budget


class _Order:
    """An order of the variables, and what they grow and shrink in it.

    Attributes
    ----------
    trees : GrowShrinkTrees
    """

    def __init__(self, trees: GrowShrinkTrees, order: Ints, required: NDArray[np.bool_]) -> None:
        n = len(order)
        self.trees = trees
        self._order, self._required = order, required
        self._places, self._values, self._leaves = np.empty(n, np.int64), np.full(n, -np.inf), np.arange(n)
        self._requests = np.empty((JOBS, 2), np.int64)

    def hold(self, order: Ints) -> None:
        """Hold another order; :meth:`settle` is next."""
        self._order[:] = order

    def copy(self) -> Ints:
        """The order."""
        return self._order.copy()

    @property
    def score(self) -> float:
        """The score of the structure."""
        return float(self._values.sum())

    @property
    def parents(self) -> list[tuple[int, ...]]:
        """The structure; as far as its parents are known, where the trees still lack something."""
        self._walk()
        return self.trees.parents(self._leaves.tolist())

    def settle(self) -> bool:
        """Walk the trees of all variables; False where they lacked something, which they have now."""
        n_lacking = self._walk()
        if n_lacking:
            self.trees.provide(self._requests[:n_lacking])
        return not n_lacking

    def _walk(self) -> int:
        return int(
            kernels.settle(self.trees.flat, self._order, self._places, self._values, self._leaves, self._requests)
        )

    def improve(self, turn: Ints, begin: int, idle: int, tolerance: float) -> tuple[int, int]:
        """Move some variables, the next of a turn, to where they gain most; see :func:`.kernels.improve`."""
        end, idle, n_lacking = kernels.improve(
            self.trees.flat, turn, begin, idle, self._order, self._places, self._required, self._values,
            self._leaves, tolerance, VARIABLES, self._requests,
        )  # fmt: skip
        if n_lacking:
            self.trees.provide(self._requests[:n_lacking])
        return end, idle

    def shake(self, strength: int, rng: np.random.Generator) -> Ints:
        """Move a variable and some of its neighbours to random places; returns these and all of their neighbours."""
        parents = self.trees.parents(self._leaves.tolist())
        n = len(parents)
        centre = int(rng.integers(n))
        others = [v for v in neighbours(parents, [centre]) if v != centre]
        n_others = int(rng.integers(max(1, strength)))
        chosen = np.array([centre, *rng.permutation(others)[:n_others].tolist()], np.int64)
        kernels.shake(chosen, rng.integers(n, size=len(chosen)), self._order, self._places, self._required)
        return np.array(neighbours(parents, chosen.tolist()), np.int64)


def neighbours(parents: Sequence[tuple[int, ...]], centres: Sequence[int]) -> list[int]:
    """Some variables with their parents, their children, and the other parents of these, ascending.

    >>> neighbours([(), (0,), (1, 3), (), (2,)], [1])
    [0, 1, 2, 3]
    """
    wanted = set(centres)
    found = set(centres)
    for child, row in enumerate(parents):
        if child in wanted:
            found.update(row)
        elif not wanted.isdisjoint(row):
            found.update(row, (child,))
    return sorted(found)


class _Journey:
    """One run of the search: the best structure so far, and the way there."""

    def __init__(
        self, options: BOSS, evaluator: FamilyEvaluator, space: Space, start: DAG | None, seed: int, progress: bool
    ) -> None:
        self._began = time.perf_counter()
        self._options, self._evaluator = options, evaluator
        limit = options.max_parents
        self._space = space if limit is None else space.restrict(max_parents=limit)
        self._start, self._n_before = start, evaluator.n_evaluated
        self._rng = np.random.default_rng(seed)
        begin = self._space.start() if start is None else legal_start(start, self._space)
        self._best: list[tuple[int, ...]] = list(begin.parent_indices)
        self._best_score = float(evaluator.locals(list(enumerate(self._best))).sum())
        self._trace = [Step("start", self._best_score, time.perf_counter() - self._began)]
        self._order: _Order | None = None
        self._n_shakes = 0
        self.interrupted = False
        self._bar = progress_bar(True, desc="BOSS", bar_format=BAR) if progress else None

    def run(self) -> None:
        """Search until nothing better is found, or until time is over."""
        try:
            self._go_on()
            required = self._space.required_matrix
            begin = random_order(required, self._rng) if self._start is None else self._best_order
            trees = GrowShrinkTrees(self._evaluator, self._space, look=self._go_on)
            order = self._order = _Order(trees, begin, required)
            self._descend(order)
            self._climb_from(order)
            idle = 0
            while idle < self._options.patience and self._may_shake:
                before = self._best_score
                n_idle = self._shake(order, idle)
                self._climb_from(order)
                idle = 0 if self._best_score > before + self._little else idle + n_idle
        except _OutOfTimeError:
            self.give_up()

    def give_up(self) -> None:
        """Make the most of what there is."""
        self.interrupted = True
        if self._order is not None:
            self._keep(self._order.parents, "interrupted")

    def _go_on(self, what: str = "", done: int = 0, total: int = 0) -> None:
        """Look at the clock, and show how far a part of the search has come."""
        budget = self._options.time_budget
        if budget is not None and out_of_time(self._began, budget):
            raise _OutOfTimeError
        if self._bar is not None and what:
            self._bar.set_description_str(what, refresh=False)
            self._bar.set_postfix_str(f"best score {self._best_score:,.4f}", refresh=False)
            self._bar.total, self._bar.n = total, done
            self._bar.refresh()

    def _settle(self, order: _Order) -> None:
        while not order.settle():
            self._go_on()

    def _descend(self, order: _Order) -> None:
        """Sweep over all variables to a local optimum where no exchange of a parent offers anything new, either."""
        variables = np.arange(len(self._best))
        better = True
        while better:
            self._settle(order)
            self._keep(order.parents, "settle")
            self._sweep(order, variables, shown=True)
            better = order.trees.exchange(self._best, self._go_on)

    def _sweep(self, order: _Order, variables: Ints, shown: bool = False) -> None:
        """Move some variables, in random turn, to where they gain most, until none of them gains anything."""
        idle, n_sweeps = 0, 0
        while idle < len(variables):
            turn, k, n_sweeps = self._rng.permutation(variables), 0, n_sweeps + 1
            while k < len(turn) and idle < len(turn):
                k, idle = order.improve(turn, k, idle, self._tolerance)
                self._go_on(f"BOSS, sweep {n_sweeps}" if shown else "", k, len(turn))
            if shown:
                self._keep(order.parents, f"sweep {n_sweeps}")

    def _shake(self, order: _Order, idle: int) -> int:
        """Move neighbouring variables at random, and on from there; back, where that is worse.

        Ends after a part of the patience, of which so many shakes are gone; returns how many gained nothing at the end.
        """
        options, n_idle = self._options, 0
        score, kept = order.score, order.copy()
        goal = score + self._little
        while n_idle < min(-(-options.patience // ROUNDS), options.patience - idle) and self._may_shake:
            self._go_on("BOSS, shakes without gain", idle + n_idle, options.patience)
            around = order.shake(options.strength, self._rng)
            self._settle(order)
            self._sweep(order, around)
            after = order.score
            n_idle, self._n_shakes = n_idle + 1, self._n_shakes + 1
            if after > goal:
                idle, n_idle, goal = 0, 0, after + self._little
            if after >= score - self._tolerance:  # equals too: to drift along plateaus finds ways that a climb does not
                if after > score + self._tolerance:
                    self._keep(order.parents, f"shake {self._n_shakes}")
                score, kept = max(score, after), order.copy()
            else:
                order.hold(kept)
            self._settle(order)
        return n_idle

    @property
    def _may_shake(self) -> bool:
        most = self._options.max_iter
        return (most is None or self._n_shakes < most) and self._work < MOST_WORK

    @property
    def _work(self) -> int:
        """How many rows have been looked at for how many families; unlike time, it is the same on every machine."""
        return (self._evaluator.n_evaluated - self._n_before) * self._evaluator.counter.n_rows

    def _climb_from(self, order: _Order) -> None:
        """Climb hills, and sweep over the orders of what was found."""
        self._climb()
        order.trees.offer(self._best)
        order.hold(self._best_order)
        self._descend(order)

    def _climb(self) -> None:
        """Climb hills from the best structure, by single arcs."""
        budget = self._options.time_budget
        left = None if budget is None else max(0.0, self._began + budget - time.perf_counter())
        begin = DAG._trusted(self._evaluator.names, tuple(self._best))
        found = HillClimbing(time_budget=left).run(self._evaluator, self._space, start=begin)
        self._keep(found.dag.parent_indices, "hill climbing")
        if found.interrupted:
            raise _OutOfTimeError

    # ---------------------------------------------------------------- the best structure

    def _leave_out(self) -> None:
        """Leave out arcs that gain less than they should, of each child the one that gains least first."""
        for child, parents in enumerate(self._best):
            required, better = self._space.required_matrix[:, child], parents
            while free := [p for p in better if not required[p]]:
                fewer = [tuple(p for p in better if p != less) for less in free]
                values = self._evaluator.locals([(child, row) for row in fewer])
                if self._evaluator.local(child, better) - values.max() >= self._options.epsilon:
                    break
                better = fewer[int(values.argmax())]
            self._best[child] = better
        self._best_score = float(self._evaluator.locals(list(enumerate(self._best))).sum())
        self._trace.append(Step("leave out", self._best_score, time.perf_counter() - self._began))

    def _keep(self, parents: Sequence[tuple[int, ...]], what: str) -> None:
        """Hold on to a structure if it is the best so far."""
        score = float(self._evaluator.locals(list(enumerate(parents))).sum())
        if score > self._best_score + self._tolerance:
            self._best, self._best_score = list(parents), score
            self._trace.append(Step(what, score, time.perf_counter() - self._began))

    @property
    def _best_order(self) -> Ints:
        return np.array(DAG._trusted(self._evaluator.names, tuple(self._best)).topological_indices, np.int64)

    @property
    def _tolerance(self) -> float:
        return TOLERANCE * max(1.0, abs(self._best_score))

    @property
    def _little(self) -> float:
        return LITTLE * max(1.0, abs(self._best_score))

    def result(self, search: str) -> SearchResult:
        """The best structure."""
        if self._bar is not None:
            self._bar.close()
        if self._options.epsilon:
            self._leave_out()
        return finish(self._evaluator, self._best, search, self._began, self._trace, interrupted=self.interrupted)
