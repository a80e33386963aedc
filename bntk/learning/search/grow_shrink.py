"""Grow-shrink trees: what greedy growing and shrinking makes of any set of possible parents, remembered.

To grow, a variable takes the parent that gains most among those that are possible, as long as something is gained; to
shrink, it gives up the parent that is worth least, as long as that gains. For each variable a tree holds the parents
that growing went through: a place has a branch for each parent that would gain something there, the best first, so that
growing among some possible parents follows, at each place, the first branch to one of them. A place is made when it is
first come to: beside few parents every variable is looked at, beside more those that have gained something elsewhere in
the tree. Two parents that gain only together are two branches, one after the other, where neither gains alone. An order
of the variables is worth what they grow and shrink among those before them, and to evaluate it again
after a change takes no more than a walk.

References
----------
B. Andrews, J. Ramsey, R. Sanchez Romero, J. Camchong and E. Kummerfeld (2023). Fast scalable and accurate discovery of
DAGs using the best order score search and grow-shrink trees. NeurIPS 36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.learning.search.grow_shrink_kernels import NOTHING, SHRINK, Trees
from bntk.learning.search.interplay import pairs_that_gain_together
from bntk.learning.search.parent_sets import parent_limit, required_parents

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Sets that are enlarged between two looks at the clock.
JOBS = 64
# Gains that are smaller than this share of a score are none: it hides the rounding of sums.
TOLERANCE = 1e-10
# Below so many rows times families, a few milliseconds, threads cost more than they save.
WORTH_THREADS = 1 << 24
# Sets that a thread enlarges one after the other.
JOBS_A_PIECE = 8
# Beside so many parents every variable is looked at as one more. Beside more, only those that have gained something in
# the tree before, which nearly all do that gain there: such sets are most of those that are met, and cost most.
FULL = 2
# Sets that an exchange of one parent leads to, of which so many are offered.
EXCHANGES = 4


class _Growth(NamedTuple):
    """A place in a tree: the child, its parents in the order in which they were added, and what they score."""

    child: int
    parents: tuple[int, ...]
    score: float


class GrowShrinkTrees:
    """The grow-shrink trees of all variables.

    Attributes
    ----------
    flat : Trees
        The trees as kernels read them.
    """

    def __init__(
        self, evaluator: FamilyEvaluator, space: Space, max_parents: int | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        n = len(space.nodes)
        self._evaluator = evaluator
        self._allowed = space.allowed
        self._quotas = space.quotas
        self._required = [tuple(row) for row in required_parents(space)]
        self._limits = [parent_limit(space, child, max_parents) for child in range(n)]
        self._kept: dict[int, tuple[int, ...]] = {}
        self._growths: list[_Growth] = []
        self._n_branches = 0
        self._rows: list[tuple[int, ...]] = []
        self._sets: list[dict[tuple[int, ...], float]] = [{} for _ in range(n)]
        self._exchanged: set[tuple[int, tuple[int, ...]]] = set()
        self._scores: Floats = np.empty(16 * n)
        self.flat = Trees(
            np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, np.nan), np.full(n, NOTHING),
            np.full(n, NOTHING), np.empty(16 * n, np.int64), np.empty(16 * n, np.int64), np.empty(16 * n, np.int64),
            np.zeros(n, np.bool_), np.zeros((n, n), np.bool_), np.zeros(n + 1, np.int64), np.empty(0),
            np.zeros(1, np.int64), np.empty(0, np.int64),
        )  # fmt: skip
        pairs = evaluator.pair_weights()
        self._together = pairs_that_gain_together(evaluator, pairs, look)
        for child, together in enumerate(self._together):
            self.flat.near[child, [v for pair in together for v in pair]] = True
            self.flat.paired[child] = bool(together)
        alone = evaluator.locals(list(enumerate(self._required)))
        for child, required in enumerate(self._required):
            growth = _Growth(child, required, float(alone[child]))
            tried = self._legal(growth)
            if required:
                values = evaluator.enlarged(child, required, tried)
            else:
                values = growth.score + pairs[tried, child]
            self._growths.append(growth)
            self._enter(child, tried, values)

    # ---------------------------------------------------------------- growing and shrinking

    def provide(self, requests: Ints) -> None:
        """Make what walks have asked for."""
        requests = np.unique(requests, axis=0)
        is_shrinking = requests[:, 1] == SHRINK
        shrinking, branches = requests[is_shrinking, 0].tolist(), requests[~is_shrinking].tolist()
        grown = [self._grown(at, branch) for at, branch in branches]
        tried = [self._promising(growth) for growth in grown]
        jobs: list[Any] = [*zip(grown, tried), *shrinking]
        results = self._do_all(jobs)
        self._evaluator.count_evaluated(sum(map(len, tried)) + sum(result[2] for result in results[len(grown) :]))
        self._make_room(len(grown), 0)
        for (before, branch), growth, others, values in zip(branches, grown, tried, results):
            self._growths.append(growth)
            at = len(self._growths) - 1
            self.flat.up[at], self.flat.added[at] = before, growth.parents[-1]
            self._enter(at, others, values)
            self.flat.target[branch] = at  # last, so that an interrupt leaves no place half made
        for at, (parents, value, _) in zip(shrinking, results[len(grown) :]):
            self._kept[at], self.flat.value[at] = parents, value

    def _do_all(self, jobs: Sequence[Any]) -> list[Any]:
        n_families = sum(1 if isinstance(job, int) else len(job[1]) for job in jobs)
        work = n_families * self._evaluator.counter.n_rows
        if not self._evaluator.for_threads or work < WORTH_THREADS or n_threads() == 1:
            return [self._do(job) for job in jobs]
        pieces = [jobs[begin:end] for begin, end in spans(len(jobs), -(-len(jobs) // JOBS_A_PIECE))]
        return [*chain.from_iterable(run_parallel(lambda piece: [self._do(job) for job in piece], pieces))]

    def _do(self, job: Any) -> Any:
        if isinstance(job, int):
            return self._shrunk(self._growths[job])
        growth, others = job
        return self._evaluator.enlarged(growth.child, growth.parents, others)

    def _grown(self, at: int, branch: int) -> _Growth:
        child, parents, _ = self._growths[at]
        return _Growth(child, (*parents, int(self.flat.variable[branch])), float(self._scores[branch]))

    def _promising(self, growth: _Growth) -> Ints:
        """Those of :meth:`_legal` that growing looks at."""
        legal = self._legal(growth)
        if len(growth.parents) <= len(self._required[growth.child]) + FULL:
            return legal
        return legal[self.flat.near[growth.child, legal]]

    def _legal(self, growth: _Growth) -> Ints:
        """The variables that the space allows as one more parent, ascending."""
        child, parents, _ = growth
        if len(parents) >= self._limits[child]:
            return np.empty(0, np.int64)
        legal = self._allowed[:, child].copy()
        legal[[child, *parents]] = False
        for quota in self._quotas:
            if quota.heads[child] and quota.tails[list(parents)].sum() >= quota.limits[child]:
                legal &= ~quota.tails
        return np.flatnonzero(legal)

    def _enter(self, at: int, others: Ints, values: Floats) -> None:
        """Enter the branches of a place, given the scores with each of some variables as one more parent."""
        growth = self._growths[at]
        self._make_room(0, len(others))
        gains = values - growth.score
        gaining = np.flatnonzero(gains > TOLERANCE * max(1.0, abs(growth.score)))
        chosen = gaining[np.argsort(-values[gaining], kind="stable")]
        self.flat.near[growth.child, others[chosen]] = True
        mates = np.full(len(chosen), NOTHING)
        if self._together[growth.child]:
            ones, their_mates = self._pairs_beside(growth, others, chosen)
            chosen, mates = np.concatenate((chosen, ones)), np.concatenate((mates, their_mates))
        begin, end = self._n_branches, self._n_branches + len(chosen)
        self.flat.first[at], self.flat.counts[at] = begin, len(chosen)
        self.flat.variable[begin:end], self.flat.target[begin:end] = others[chosen], NOTHING
        self.flat.mate[begin:end], self._scores[begin:end] = mates, values[chosen]
        self._n_branches = end
        if len(growth.parents) <= len(self._required[growth.child]) + (not self._together[growth.child]):
            self._kept[at], self.flat.value[at] = tuple(sorted(growth.parents)), growth.score
        else:
            self.flat.value[at] = np.nan

    def _pairs_beside(self, growth: _Growth, others: Ints, gaining: Ints) -> tuple[Ints, Ints]:
        """The pairs that a place has branches for, after those that gain: places among the others, and the mates."""
        places = {v: k for k, v in enumerate(others.tolist())}
        taken = set(gaining.tolist())
        pairs = [
            (places[one], other)
            for one, other in self._together[growth.child]
            if one in places and other in places and taken.isdisjoint((places[one], places[other]))
        ]
        ones, mates = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(ones, np.int64), np.array(mates, np.int64)

    def _shrunk(self, growth: _Growth) -> tuple[tuple[int, ...], float, int]:
        """What is left of the parents at a place, its score, and how many families were evaluated for it."""
        child, parents, score = growth
        free = [p for p in parents if p not in self._required[child]]
        if not self._together[child]:  # else the last one may have been added for another one
            free = free[:-1]  # without which it is the place before
        n_evaluated = 0
        while free:
            values = np.array([self._value(child, tuple(p for p in parents if p != x)) for x in free])
            n_evaluated += len(free)
            best = int(values.argmax())
            if not values[best] > score + TOLERANCE * max(1.0, abs(score)):
                break
            parents, score = tuple(p for p in parents if p != free[best]), float(values[best])
            free = [p for p in parents if p not in self._required[child]]
        return tuple(sorted(parents)), score, n_evaluated

    def _value(self, child: int, parents: tuple[int, ...]) -> float:
        if not parents:
            return self._growths[child].score
        return float(self._evaluator.enlarged(child, parents[:-1], np.array(parents[-1:], dtype=np.int64))[0])

    def _make_room(self, places: int, branches: int) -> None:
        """Let the arrays be large enough for some more places and branches."""
        flat = self.flat
        wanted = len(self._growths) + places
        if wanted > len(flat.first):
            flat = _with_longer(flat, ("first", "counts", "value", "up", "added"), 2 * wanted)
        wanted = self._n_branches + branches
        if wanted > len(flat.variable):
            self._scores = _longer(self._scores, 2 * wanted)
            flat = _with_longer(flat, ("variable", "target", "mate"), 2 * wanted)
        self.flat = flat

    # ---------------------------------------------------------------- other sets of parents

    def exchange(self, parents: Sequence[tuple[int, ...]], look: Callable[[], None] = lambda: None) -> bool:
        """Offer better sets of parents that differ by one from those of a structure to all orders; False without any.

        Greedy growing does not find every set that is worth while: a parent that stands for two others may be in the
        way of both. ``look`` is called now and then, and may end it by an exception.
        """
        new = [family for family in enumerate(parents) if family[1] and family not in self._exchanged]
        jobs = [
            _Growth(child, tuple(p for p in row if p != less), less)
            for child, row in new
            for less in row
            if less not in self._required[child]
        ]
        found, known = 0, self._evaluator.locals(new).tolist()
        scores = dict(zip([child for child, _ in new], known, strict=True))
        for begin in range(0, len(jobs), JOBS):
            some = [(job, self._legal(job)) for job in jobs[begin : begin + JOBS]]
            for ((child, rest, _), others), values in zip(some, self._do_all(some), strict=True):
                better = np.flatnonzero(values > scores[child] + TOLERANCE * max(1.0, abs(scores[child])))
                for k in better[np.argsort(-values[better], kind="stable")][:EXCHANGES].tolist():
                    self._sets[child][tuple(sorted((*rest, int(others[k]))))] = float(values[k])
                    found += 1
            self._evaluator.count_evaluated(sum(len(others) for _, others in some))
            look()
        self.offer(parents)
        self._exchanged.update(new)
        return found > 0

    def offer(self, parents: Sequence[tuple[int, ...]]) -> None:
        """Let every variable take its parents in a structure, in all orders that they come before it."""
        for child, (row, value) in enumerate(zip(parents, self._evaluator.locals(list(enumerate(parents))).tolist())):
            self._sets[child][row] = value
        sets = [sorted(known.items(), key=lambda item: (-item[1], item[0])) for known in self._sets]
        rows = [row for known in sets for row, _ in known]
        for child, known in enumerate(sets):
            for row, _ in known:
                self.flat.near[child, list(row)] = True
        self.flat = self.flat._replace(
            first_set=np.cumsum([0, *map(len, sets)]),
            set_value=np.array([value for known in sets for _, value in known]),
            begins=np.cumsum([0, *map(len, rows)]),
            members=np.array([v for row in rows for v in row], np.int64),
        )
        self._rows = rows

    # ---------------------------------------------------------------- what was found

    def parents(self, leaves: Sequence[int]) -> list[tuple[int, ...]]:
        """The parents at one place of the tree of each variable, after shrinking, if that was done."""
        return [
            self._rows[-1 - at]
            if at < 0
            else self._kept[at]
            if at in self._kept
            else tuple(sorted(self._growths[at].parents))
            for at in leaves
        ]


def _with_longer(trees: Trees, names: Sequence[str], size: int) -> Trees:
    return trees._replace(**{name: _longer(getattr(trees, name), size) for name in names})


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
