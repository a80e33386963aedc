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

That closes little. So for BDeu only small sets are gone through by size; then all sets are counted at once, which takes
about a microsecond each (:mod:`bntk.learning.scores.lattice_kernels`), and those that are better than their subsets are
found child by child.

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel, spans, stop_if_over
from bntk.errors import TooLargeError
from bntk.learning.scores import lattice_kernels as lattice
from bntk.learning.scores.set_values import SetValues
from bntk.learning.search import level_kernels as kernels

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator
    from bntk.learning.space import Space

Masks = NDArray[np.uint32]
Floats = NDArray[np.float64]

#: Variables that there may be: the bits of a mask. Parent sets that are scored before it gives up.
MAX_VARIABLES, MAX_SETS = 32, 200_000_000
_EVERY = 0xFFFFFFFF
# Sets that one thread takes at a time, and that are counted between two looks at the clock.
_PIECE, _COUNTED = 1 << 15, 1 << 16
# What is kept of each set of a size, and of each child in it.
_BYTES_A_SET, _BYTES_A_FAMILY = 40, 12
# Sets are counted at once where that takes less time: a set and its children take so many times longer by size. Sets of
# so many are gone through by size all the same where there are more than a few variables, for who stops before the end.
_SLOWER, _SMALL, _FEW = 8, 4, 16
# Parts of the work between which progress is shown.
_PARTS = 64
# Parent sets that one kernel looks at, and those that it can find before they are put away.
_LOOKED_AT, _FOUND = 1 << 22, 1 << 16

R = TypeVar("R")


class _TimeIsOverError(Exception):
    """Ends a level before its end."""


@dataclass
class _Level:
    """All sets of one size, in the order of their masks; see :mod:`.level_kernels`. NaN where nothing was counted."""

    tried: Masks
    open: Masks
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
    max_sets : int, optional
        Refuse to score more parent sets than this; by default 200 million, or all where they are counted at once.
    max_memory : float
        Refuse to use more gigabytes.

    Attributes
    ----------
    n_scored : int
        How many parent sets have been scored.
    complete : bool
        Whether all have been found that are better than their subsets.
    n_sets : int or None
        How many there are in all, where that is known.
    """

    def __init__(
        self,
        evaluator: FamilyEvaluator,
        space: Space,
        limits: NDArray[np.int64],
        max_sets: int | None = None,
        max_memory: float = np.inf,
    ) -> None:
        self._sets = sets = SetValues(evaluator)
        self._max_sets, self._max_memory = MAX_SETS if max_sets is None else max_sets, max_memory
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
            np.zeros(1, np.uint32), empty, np.zeros(1, np.int64), np.array([-np.inf]), none.likelihoods.copy(),
            none.values.copy(), none.cells.copy(),
        )  # fmt: skip
        self._below, self._two_below = start, np.full(1, np.nan)
        self._size = 0
        self._deadline: float | None = None
        self._free = (allowed.T * bits).sum(axis=1, dtype=np.int64) & ~self._required.astype(np.int64)
        self.n_sets: int | None = None
        self._at_once: Iterator[None] | None = None
        if self._is_faster_at_once(max_sets):
            self._require_at_once(1)
            self._at_once = self._count_at_once()

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
        self._deadline = deadline
        try:
            if self._at_once is not None and self._size == (_SMALL if self._n > _FEW else 0):
                next(self._at_once, None)
                return not self.complete
            self._size += 1
            if self._size > self._n:
                self.complete = True
                return False
            return self._grow()
        except _TimeIsOverError:
            return False

    def _grow(self) -> bool:
        sets, below, size = self._sets, self._below, self._size
        n_sets = int(self._binomials[self._n, size])
        self._require(n_sets, 0)
        tried, needed = np.empty(n_sets, np.uint32), np.zeros(len(below.open), bool)
        counts = self._over(n_sets, lambda a, b: kernels.propose(
            a, b, size, self._binomials, sets.cards, self._takes, self._needs, self._required, self._limits,
            self._most_entries, below.open, tried, needed,
        ))  # fmt: skip
        if sum(counts) == 0:
            self.complete = True
            return False
        self._count(below, np.flatnonzero(needed & np.isnan(below.likelihoods)), size - 1)
        first = np.empty(n_sets, np.int64)
        n_tried = kernels.count_bits(tried, first)
        self._require(n_sets, n_tried)
        best = np.empty(n_tried)
        level = _Level(tried, np.empty_like(tried), first, best, *(np.full(n_sets, np.nan) for _ in range(3)))
        left = self._over(n_sets, lambda a, b: kernels.close(
            a, b, size, self._binomials, sets.cards, self._required, sets.penalty, sets.alpha, self._ceilings,
            self._ceilings_without, below.tried, below.first, below.best, below.likelihoods, below.cells,
            self._two_below, tried, first, level.open, best,
        ))  # fmt: skip
        self._refuse(self.n_scored + sum(left))
        self._count(level, np.flatnonzero(level.open), size)
        self.n_scored += sum(left)
        self._absorb(level, sum(left))
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

    def _absorb(self, level: _Level, n_left: int) -> None:
        sets, below, size = self._sets, self._below, self._size
        children, masks = np.empty(n_left, np.int8), np.empty(n_left, np.uint32)
        n_kept = kernels.absorb(
            0, len(level.open), size, self._binomials, sets.cards, self._required, sets.penalty, sets.alpha,
            level.tried, level.first, level.open, level.best, level.values, below.values, children, masks,
        )  # fmt: skip
        self._found.append((children[:n_kept].astype(np.int64), masks[:n_kept].copy()))

    # ---------------------------------------------------------------- all at once

    def _is_faster_at_once(self, max_sets: int | None) -> bool:
        """Whether to count all sets takes less time than to go through those that are small enough by size."""
        most = min(int(self._limits.max()) + 1, self._n)
        by_size = sum(math.comb(self._n, size) for size in range(_SMALL + 1, most + 1))
        few = max_sets is None or self._n_families <= max_sets
        return self._sets.alpha > 0 and few and _SLOWER * by_size > 2**self._n

    @property
    def _n_families(self) -> int:
        return sum(1 << int(free).bit_count() for free in self._free)

    def _require_at_once(self, n_children: int) -> None:
        need = self._gigabytes_at_once(n_children)
        if need > self._max_memory:
            raise TooLargeError(
                f"the scores of all sets of {self._n} variables take {need:.2g} GB, more than the limit of "
                f"{self._max_memory:g} GB; raise max_memory, set max_parents, forbid arcs, leave out variables, or use "
                "OrderSearch, which looks at the promising ones only"
            )

    def _gigabytes_at_once(self, n_children: int) -> float:
        """Memory for the scores of all sets, and for those of the parent sets of some children."""
        return 8 * ((1 << self._n) + n_children * (1 << max(int(free).bit_count() for free in self._free))) / 1e9

    def _count_at_once(self) -> Iterator[None]:
        """Count all sets, part by part; then find the parent sets of all children in them."""
        self.n_sets = self.n_scored + (1 << self._n)
        step, counted = max(_PIECE, (1 << self._n) // _PARTS), self._sets.counting_all(self._most_entries)
        for begin in range(0, 1 << self._n, step):
            self._over(min(step, (1 << self._n) - begin), lambda a, b, begin=begin: counted.count(begin + a, begin + b))  # type: ignore[misc]
            self.n_scored += min(step, (1 << self._n) - begin)
            yield
        n_threads_now = n_threads()
        while n_threads_now > 1 and self._gigabytes_at_once(n_threads_now) > self._max_memory:
            n_threads_now -= 1
        found = run_parallel(lambda child: self._find(child, counted.values), range(self._n), n_threads_now)
        self._found = [(np.full(len(masks), child), masks) for child, masks in enumerate(found)]
        self.n_scored, self.complete = self._n_families, True

    def _find(self, child: int, values: Floats) -> Masks:
        """The parent sets of a child that are better than their subsets."""
        free, needs = int(self._free[child]), int(self._required[child])
        n_sets, limit = 1 << free.bit_count(), int(self._limits[child]) - needs.bit_count()
        best, found, begin = np.empty(n_sets), np.empty(_FOUND, np.int64), 0
        parts = []
        while begin < n_sets:
            self._look_at_the_clock()
            stop_if_over()
            begin, n_found = lattice.find_better(
                values, child, needs, free, limit, begin, min(begin + _LOOKED_AT, n_sets), best, found
            )
            parts.append(found[:n_found].astype(np.uint32))
        return np.concatenate(parts)

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
