"""Greedy searches: hill climbing, and tabu search, which walks on over local optima; both with random restarts.

References
----------
F. Glover (1989). Tabu search, part I. ORSA Journal on Computing 1, 190-206.

D. Heckerman, D. Geiger and D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197-243.

M. Scutari (2010). Learning Bayesian networks with the bnlearn R package. Journal of Statistical Software 35(3).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._interrupts import BestSoFar
from bntk._progress import progress_bar
from bntk.graph.dag import DAG
from bntk.learning.moves import REVERSE, Move
from bntk.learning.scores.base import Evaluator
from bntk.learning.search import kernels
from bntk.learning.search.base import BEST_STRUCTURE, Search, SearchResult, Step, check_options

if TYPE_CHECKING:
    from bntk.learning.space import Space

# For a search that may go back to where it was: no numbers of arcs, no key, no structures.
_NOTHING = np.zeros((0, 0), dtype=np.int64), 0, np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class HillClimbing(Search):
    """Hill climbing: take the best move (add, delete or reverse an arc) as long as the score rises.

    For any score and any space. Ties go to additions before deletions before reversals, and within these to the first
    move by the position of the tail, then of the head: R's bnlearn decides in the same way.

    Parameters
    ----------
    max_iter : int, optional
        The largest number of steps, over all restarts together.
    time_budget : float, optional
        Seconds after which the search ends with the best structure so far. Only with a time budget can the result
        depend on the machine.
    restarts : int
        How often to start again from the best structure so far, after ``perturb`` random legal moves. The result is
        never worse than without.
    perturb : int
        Number of moves of a perturbation; each is first drawn among the kinds of moves, then among those of its kind.
    tolerance : float
        Gains that differ by less than this share of the score (or of 1, if that is more) are equal, and a smaller gain
        counts as none. This hides the rounding of scores, so that equivalent structures tie.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> found = learn_structure(bntk.datasets.sprinkler().sample(2000, seed=1), search=HillClimbing())
    >>> found.dag.cpdag() == bntk.datasets.sprinkler().dag.cpdag()
    True
    >>> found.trace[0].what
    'add cloudy -> rain'
    """

    name = "hc"
    max_iter: int | None = None
    time_budget: float | None = None
    restarts: int = 0
    perturb: int = 10
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        check_options(self)

    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search from ``start``, or from the smallest legal structure."""
        journey = _Journey(self, evaluator, space, start, progress)
        rng = np.random.default_rng(seed)
        with BestSoFar(BEST_STRUCTURE) as so_far:
            self._climb(journey)
            for _ in range(self.restarts):
                if not journey.may_go_on():
                    break
                journey.restart(rng, self.perturb)
                self._climb(journey)
        journey.interrupted |= so_far.interrupted
        return journey.result(repr(self))

    def _climb(self, journey: _Journey) -> None:
        while journey.may_go_on():
            chosen = journey.best_move()
            if chosen is None or chosen[1] <= journey.slack:
                return
            journey.step(*chosen)


@dataclass(frozen=True, kw_only=True)
class Tabu(HillClimbing):
    """Tabu search: always take the best move to a structure that was not visited recently, even one that loses.

    The best structure visited is the result, so that it is never worse than that of hill climbing from the same start.
    For any score and any space (Glover 1989).

    Parameters
    ----------
    tabu : int
        How many of the last structures may not be visited again.
    max_tabu : int
        A climb ends after so many steps without a new best structure.
    max_iter : int, optional
        The largest number of steps, over all restarts together.
    time_budget : float, optional
        Seconds after which the search ends with the best structure so far. Only with a time budget can the result
        depend on the machine.
    restarts : int
        How often to start again from the best structure so far, after ``perturb`` random legal moves. The result is
        never worse than without.
    perturb : int
        Number of moves of a perturbation; each is first drawn among the kinds of moves, then among those of its kind.
    tolerance : float
        Gains that differ by less than this share of the score (or of 1, if that is more) are equal, and a smaller gain
        counts as none. This hides the rounding of scores, so that equivalent structures tie.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.learn import learn_structure
    >>> table = bntk.datasets.asia().sample(500, seed=4)
    >>> tabu, hc = (learn_structure(table, search=search) for search in (Tabu(), HillClimbing()))
    >>> tabu.score >= hc.score
    True
    """

    name = "tabu"
    tabu: int = 10
    max_tabu: int = 10

    def _climb(self, journey: _Journey) -> None:
        recent = _RecentStructures(journey.evaluator, max(1, self.tabu))
        top, idle = journey.score, 0
        while idle < self.max_tabu and journey.may_go_on():
            chosen = journey.best_move(recent)
            if chosen is None:
                return
            journey.step(*chosen)
            recent.add(chosen[0])
            # The best of this climb, not of all: after a perturbation the way up is long.
            top, idle = (journey.score, 0) if journey.score > top + journey.slack else (top, idle + 1)


class _RecentStructures:
    """The last structures that were held, the present one among them.

    Each arc has a random number, and a structure is known by the exclusive or of those of its arcs (Zobrist 1970), so
    that what a move leads to is known without making it.
    """

    def __init__(self, evaluator: Evaluator, size: int) -> None:
        n = len(evaluator.names)
        self.numbers = np.random.default_rng(0).integers(2**63, size=(n, n))
        arcs = [self.numbers[tail, head] for head, parents in enumerate(evaluator.parents) for tail in parents]
        self.key = int(np.bitwise_xor.reduce(np.array(arcs, dtype=np.int64)))
        self.keys = np.full(size, self.key)
        self._n_added = 0

    def add(self, move: Move) -> None:
        """Hold the structure after a move, and forget the one held longest ago."""
        kind, tail, head = move
        self.key ^= int(self.numbers[tail, head])
        if kind == REVERSE:
            self.key ^= int(self.numbers[head, tail])
        self._n_added += 1
        self.keys[self._n_added % len(self.keys)] = self.key


class _Journey:
    """One run of a greedy search: the structure held, the best one seen, and the way there.

    The walk knows which moves are legal, the evaluator their scores; both always hold the same structure.
    """

    def __init__(
        self, options: HillClimbing, evaluator: Evaluator, space: Space, start: DAG | None, progress: bool
    ) -> None:
        self._began = time.perf_counter()
        self._options = options
        self.evaluator = evaluator
        self.interrupted = False
        self.trace: list[Step] = []
        self._n_steps = 0
        self._n_restarts = 0
        self._bar: Any = None
        if progress:
            self._bar = progress_bar(True, desc=type(options).__name__, unit=" steps", total=options.max_iter)
        begin = space.start() if start is None else start.reorder(space.nodes)
        self._walk = space.walk(begin)
        self._hold(begin)
        self._keep()

    @property
    def slack(self) -> float:
        """What counts as no difference."""
        return self._options.tolerance * max(1.0, abs(self.score))

    def may_go_on(self) -> bool:
        """Whether steps and time are left."""
        budget = self._options.time_budget
        if budget is not None and time.perf_counter() - self._began >= budget:
            self.interrupted = True
        steps = self._options.max_iter
        return not self.interrupted and (steps is None or self._n_steps < steps)

    def best_move(self, recent: _RecentStructures | None = None) -> tuple[Move, float] | None:
        """The legal move that gains most, but to no recent structure, and its gain; None when there is none.

        Of equal ones it is the first by kind, tail and head.
        """
        moves = self._walk.moves()
        gains = self.evaluator.gains(moves)
        known = _NOTHING if recent is None else (recent.numbers, recent.key, recent.keys)
        chosen = kernels.first_best(moves, gains, self.slack, *known)
        return None if chosen < 0 else (Move(*moves[chosen].tolist()), float(gains[chosen]))

    def step(self, move: Move, gain: float) -> None:
        """Make a move."""
        self._apply(move)
        self.score += gain
        self._n_steps += 1
        self._record(move.describe(self.evaluator.names))
        if self.score > self._best_score + self.slack:
            self._keep()

    def restart(self, rng: np.random.Generator, n_moves: int) -> None:
        """Go back to the best structure and away from it by random moves."""
        best = self._best_dag()
        self._walk = self._walk.at(best)
        self._hold(best)
        for _ in range(n_moves):
            cells = [np.flatnonzero(mask) for mask in self._walk.masks()]
            kinds = [kind for kind, there in enumerate(cells) if len(there)]
            if not kinds:
                break
            kind = int(rng.choice(kinds))
            cell = int(cells[kind][rng.integers(len(cells[kind]))])
            move = Move(kind, *divmod(cell, len(self.evaluator.names)))
            if self.evaluator.allows(move):
                self._apply(move)
        self.score = self.evaluator.total()
        self._n_restarts += 1
        self._record(f"restart {self._n_restarts}")

    def result(self, search: str) -> SearchResult:
        """The best structure, which the evaluator holds afterwards."""
        if self._bar is not None:
            self._bar.close()
        dag = self._best_dag()
        self.evaluator.reset(dag)
        return SearchResult(
            dag=dag,
            score=self.evaluator.total(),  # without the rounding of many gains
            search=search,
            interrupted=self.interrupted,
            n_evaluated=self.evaluator.n_evaluated,
            seconds=time.perf_counter() - self._began,
            trace=tuple(self.trace),
        )

    def _best_dag(self) -> DAG:
        return DAG._trusted(self.evaluator.names, tuple(tuple(sorted(row)) for row in self._best))

    def _hold(self, dag: DAG) -> None:
        self.evaluator.reset(dag)
        self.score = self.evaluator.total()

    def _keep(self) -> None:
        self._best, self._best_score = tuple(self.evaluator.parents), self.score

    def _apply(self, move: Move) -> None:
        self.evaluator.apply(move)
        self._walk.apply(move)

    def _record(self, what: str) -> None:
        self.trace.append(Step(what, self.score, time.perf_counter() - self._began))
        if self._bar is not None:
            self._bar.set_postfix_str(f"best score {self._best_score:,.4f}", refresh=False)
            self._bar.update()
