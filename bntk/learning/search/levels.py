"""Candidate parent sets of all children at once, for scores that are differences of a function of sets.

A table serves the families of all its variables (:mod:`bntk.learning.scores.set_values`), so sets of variables are gone
through by size, and each is counted once. With h(W) for the maximum log-likelihood of the joint distribution over W,
LL(x | S) = h(S + x) - h(S), and U(x) for LL(x | all others), a set T that contains S is not looked at if

- no superset of S can be better than a subset: the score of T is at most U(x) - penalty(S). The ceiling is
  U(x without y) + U(y) - LL(y | S - y) if that is less, for any y in S, where U(x without y) is LL(x | all but y): what
  y adds to the others is also what x adds to them as parents of y;
- some y in S is not worth its parameters in any superset: U(y) - LL(y | S - y) is no more than the penalty for y
  beside S - y. (With U = 0, this is the rule of de Campos and others 2018.)

Both may exclude T by any of its subsets S.

For BDeu, regrets take the place of the penalty. Let R(N_j) be the maximum likelihood of the rows in a configuration j,
divided by their marginal likelihood, with the pseudo-count a of a cell. It is r for one row of r states, and a further
row of state k multiplies it by f(N_jk, a) / f(N_j, r a), where f(m, b) = (m + 1) (1 + 1/m)^m / (m + b) and
f(0, b) = 1/b. For a <= 1/4 that is at least 1: f(m, b) falls towards e in m for b up to 1/4 and stays below e for b
from 1/2; and f(0, a) >= 4 >= f(m, r a). So R never falls as rows are added, and is at least r: the score of T is at
most LL(x | T) - log(r) times the configurations of S that have rows.

That alone closes little. A second bound excludes T by the S that it grows from: sets grow by variables below their
lowest one only, most have few of these, and so LL(x | S and all below) is much less than U(x). The configurations of S
and all below are the finest that T can have; those of T are unions of them. So each configuration of S costs at least
the largest R of the finest ones in it, at the largest pseudo-count that T can have (R falls as a grows, in
configurations with several states, while a r (1 + log N) <= 1). Where all of these have one state, x may be told by
T, at r for each state that was seen, or not, and some configuration has at least the R of two rows of two states.

References
----------
C. P. de Campos and Q. Ji (2011). Efficient structure learning of Bayesian networks using constraints. Journal of
Machine Learning Research 12, 663-689.

C. P. de Campos, M. Scanagatta, G. Corani and M. Zaffalon (2018). Entropy-based pruning for learning Bayesian networks
using BIC. Artificial Intelligence 260, 42-50.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel, spans
from bntk.errors import TooLargeError
from bntk.learning.scores.set_values import SetValues
from bntk.learning.search import level_kernels as kernels

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Masks = NDArray[np.uint32]
Floats = NDArray[np.float64]

#: Variables that there may be: the bits of a mask.
MAX_VARIABLES = 32
_EVERY = 0xFFFFFFFF
# Sets that one thread takes at a time, and that are counted between two looks at the clock.
_PIECE, _COUNTED = 1 << 15, 1 << 16
# What is kept of each set of a size, and of each child in it.
_BYTES_A_SET, _BYTES_A_FAMILY = 48, 12

R = TypeVar("R")


class _TimeIsOverError(Exception):
    """Ends a level before its end."""


@dataclass
class _Level:
    """All sets of one size, in the order of their masks; see :mod:`.level_kernels`. NaN where nothing was counted."""

    tried: Masks
    open: Masks
    alive: Masks
    first: NDArray[np.int64]
    best: Floats
    likelihoods: Floats
    values: Floats
    cells: Floats


class Levels:
    """Parent sets of all children, level by level; what has been found so far can be had at any time.

    Parameters
    ----------
    evaluator : FamilyEvaluator
        That :meth:`SetValues.serves`, without arc weights.
    space : Space
        Of at most 32 nodes; without limits on parents of some kind only.
    limits : ndarray of int
        The largest number of parents of each node.
    max_sets : int
        Refuse to score more parent sets than this.
    max_memory : float
        Refuse to use more gigabytes.
    """

    def __init__(
        self, evaluator: FamilyEvaluator, space: Space, limits: NDArray[np.int64], max_sets: int, max_memory: float
    ) -> None:
        self._sets = sets = SetValues(evaluator)
        self._max_sets, self._max_memory = max_sets, max_memory
        n, order = len(space.nodes), sets.order
        self._n, self._limits, self._most_entries = n, limits[order], float(evaluator.most_entries)
        self._binomials = np.array([[math.comb(i, j) for j in range(n + 2)] for i in range(n + 2)], np.int64)
        bits = np.uint32(1) << np.arange(n, dtype=np.uint32)
        allowed, required = space.allowed[np.ix_(order, order)], space.required_matrix[np.ix_(order, order)]
        self._takes = (allowed * bits).sum(axis=1, dtype=np.uint32)
        self._needs = (required * bits).sum(axis=1, dtype=np.uint32)
        self._required = (required.T * bits).sum(axis=1, dtype=np.uint32)
        self._ceilings, self._ceilings_without = self._find_ceilings()
        self._found: list[tuple[NDArray[np.int64], Masks]] = []
        self.n_scored, self.complete = 0, False
        none, empty = sets.of_none(), np.array([_EVERY], np.uint32)
        start = _Level(
            np.zeros(1, np.uint32), empty, empty, np.zeros(1, np.int64), np.array([-np.inf]), none.likelihoods.copy(),
            none.values.copy(), none.cells.copy(),
        )  # fmt: skip
        self._below, self._two_below = start, np.full(1, np.nan)
        self._size = 0
        self._deadline: float | None = None

    @staticmethod
    def serves(evaluator: FamilyEvaluator, space: Space) -> bool:
        """Whether the score is one of sets, and all rules of the space are about one parent and one child."""
        few = len(space.nodes) <= MAX_VARIABLES and not space.quotas
        return few and not evaluator.has_arc_weights and SetValues.serves(evaluator)

    def _find_ceilings(self) -> tuple[Floats, Floats]:
        """LL(x | all others), and LL(x | all but x and y)."""
        n, sets = self._n, self._sets
        whole = np.uint64((1 << n) - 1)

        def without(*nodes: int) -> float:
            mask = whole ^ np.uint64(sum(1 << v for v in nodes))
            return float(sets.of(np.array([mask], np.uint64)).likelihoods[0] if mask else sets.of_none().likelihoods[0])

        all_of_them, less_one = without(), np.array([without(x) for x in range(n)])
        ceilings_without = np.full((n, n), np.inf)
        for x in range(n):
            for y in range(x):
                both = without(x, y)
                ceilings_without[x, y], ceilings_without[y, x] = less_one[y] - both, less_one[x] - both
        return all_of_them - less_one, ceilings_without

    # ---------------------------------------------------------------- levels

    def grow(self, deadline: float | None = None) -> bool:
        """Go through the sets with one more variable; False when there is nothing left, or no time."""
        self._size += 1
        if self._size > self._n:
            self.complete = True
            return False
        self._deadline = deadline
        try:
            return self._grow()
        except _TimeIsOverError:
            return False

    def _grow(self) -> bool:
        sets, below, size = self._sets, self._below, self._size
        n_sets = int(self._binomials[self._n, size])
        self._require(n_sets, 0)
        tried, visits = np.empty(n_sets, np.uint32), np.empty(n_sets, np.uint32)
        needed = np.zeros(len(below.open), bool)
        counts = self._over(n_sets, lambda a, b: kernels.propose(
            a, b, size, self._binomials, sets.cards, self._takes, self._needs, self._required, self._limits,
            self._most_entries, below.open, below.alive, tried, visits, needed,
        ))  # fmt: skip
        if sum(n_visits for _, n_visits in counts) == 0:
            self.complete = True
            return False
        self._count(below, np.flatnonzero(needed & np.isnan(below.likelihoods)), size - 1)
        first = np.empty(n_sets, np.int64)
        n_tried = kernels.count_bits(tried, first)
        self._require(n_sets, n_tried)
        best = np.empty(n_tried)
        level = _Level(
            tried, np.empty_like(tried), np.empty_like(tried), first, best, *(np.full(n_sets, np.nan) for _ in range(3))
        )
        left = self._over(n_sets, lambda a, b: kernels.close(
            a, b, size, self._binomials, sets.cards, self._required, sets.penalty, sets.alpha, self._ceilings,
            self._ceilings_without, below.tried, below.first, below.best, below.likelihoods, below.cells,
            self._two_below, tried, visits, first, level.open, best,
        ))  # fmt: skip
        self._refuse(self.n_scored + sum(left))
        self._count(level, np.flatnonzero(level.open & visits), size)
        self.n_scored += sum(left)
        self._absorb(level, visits, left)
        self._keep_alive(level, visits, sum(left))
        self._two_below, self._below = below.likelihoods, level
        return True

    def _over(self, n_sets: int, work: Callable[[int, int], R]) -> list[R]:
        """Do some work for spans of the sets of a size."""

        def in_time(span: tuple[int, int]) -> R:
            self._look_at_the_clock()
            return work(*span)

        return run_parallel(in_time, spans(n_sets, max(1, n_sets // _PIECE)))

    def _look_at_the_clock(self) -> None:
        if self._deadline is not None and time.perf_counter() > self._deadline:
            raise _TimeIsOverError

    def _require(self, n_sets: int, n_tried: int) -> None:
        """Refuse a level that does not fit in memory."""
        below = self._below
        need = (_BYTES_A_SET * (n_sets + len(below.open)) + _BYTES_A_FAMILY * (n_tried + len(below.best))) / 1e9
        if need > self._max_memory:
            raise TooLargeError(
                f"the parent sets of {self._size - 1} variables take {need:.2g} GB, more than the limit of "
                f"{self._max_memory:g} GB; raise max_memory, set max_parents, forbid arcs, leave out variables, or use "
                "OrderSearch, which looks at the promising ones only"
            )

    def _refuse(self, n_sets: int) -> None:
        if n_sets > self._max_sets:
            raise TooLargeError(
                f"{n_sets:,} parent sets have to be scored, more than the limit of {self._max_sets:,};"
                " set max_parents (each parent less is many sets less), forbid arcs, raise max_sets,"
                " or use OrderSearch, which looks at the promising ones only"
            )

    def _count(self, level: _Level, places: NDArray[np.int64], size: int) -> None:
        for part in np.array_split(places, 1 + len(places) // _COUNTED):
            self._look_at_the_clock()
            if len(part):
                sums = self._sets.of(kernels.masks_at(part, size, self._binomials))
                level.likelihoods[part], level.values[part], level.cells[part] = sums

    def _absorb(self, level: _Level, visits: Masks, left: list[int]) -> None:
        sets, below, size = self._sets, self._below, self._size
        children, masks = np.empty(sum(left), np.int8), np.empty(sum(left), np.uint32)
        n_kept = kernels.absorb(
            0, len(level.open), size, self._binomials, sets.cards, self._required, sets.penalty, sets.alpha,
            level.tried, visits, level.first, level.open, level.best, level.values, below.values, children, masks,
        )  # fmt: skip
        self._found.append((children[:n_kept].astype(np.int64), masks[:n_kept].copy()))

    def _keep_alive(self, level: _Level, visits: Masks, n_visits: int) -> None:
        """Which visited sets may grow by lower variables; of likelihoods all, as counting for it costs more."""
        if self._sets.alpha == 0:
            level.alive[:] = level.open & visits
            return
        sets, slots, children, below = np.empty(n_visits, np.uint64), *(np.empty(n_visits, np.int64) for _ in range(3))
        kernels.list_visited(
            0, len(level.open), self._size, self._binomials, self._required, level.tried, level.first, level.open,
            visits, sets, children, below, slots,
        )  # fmt: skip
        order = np.lexsort((children, sets))
        sets, children, below = sets[order], children[order], below[order]
        better = np.empty(n_visits, bool)
        for begin in range(0, n_visits, _COUNTED):
            self._look_at_the_clock()
            part = slice(begin, begin + _COUNTED)
            better[part] = self._sets.reaches(sets[part], children[part], below[part]) > level.best[slots[order[part]]]
        level.alive[:] = 0
        kernels.bring_to_life(sets, children, better, self._binomials, level.alive)
        level.open &= np.bitwise_or.reduce(level.alive)  # the others have no sets left to visit

    # ---------------------------------------------------------------- results

    def found(self) -> list[list[tuple[int, ...]]]:
        """For each child, the parent sets that were found, as nodes of the space."""
        order = self._sets.order
        result: list[list[tuple[int, ...]]] = [[] for _ in range(self._n)]
        for children, masks in self._found:
            for child, mask in zip(children.tolist(), masks.tolist(), strict=True):
                parents = sorted(int(order[k]) for k in range(self._n) if mask >> k & 1)
                result[int(order[child])].append(tuple(parents))
        for child, parents in zip(order.tolist(), self._required.tolist(), strict=True):
            if not result[child]:  # stopped before its required parents were scored
                result[child].append(tuple(sorted(int(order[k]) for k in range(self._n) if parents >> k & 1)))
        return result
