"""Pairs of variables and the sets that may separate them: which is the first that does, by kernels where these can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import STEPS_A_PIECE, n_threads, pieces_for, run_parallel, spans
from bntk.learning.counts.state_planes import StatePlanes
from bntk.learning.independence import plane_kernels
from bntk.learning.independence.plane_kernels import DONE_WITH, INDEPENDENT, OPEN, POOL, SIZE, STATUS, TESTED, TOO_LARGE

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Pairs times words of a plane from which a second thread pays.
_WORTH_A_THREAD = 20_000
# A test is worth so many times the products of planes that a family is worth: branches of its tree without rows cost
# nothing, and it needs no plan and no buffer.
_MORE_PRODUCTS = 2
# What a word of a plane costs in a test, in steps of a kernel.
_STEPS_A_WORD = 8


@dataclass(frozen=True)
class Pairs:
    """Pairs of variables and the sets that may separate them.

    These are the parts of a first pool, by size and then in the order of the pool, and beside them those of a second
    pool that are not parts of the first.

    Attributes
    ----------
    xs, ys : ndarray of shape (n,)
    pools : ndarray of shape (n, 2, width)
        The variables of both pools; those from ``lengths[p, k]`` on mean nothing.
    lengths : ndarray of shape (n, 2)
    least, largest : ndarray of shape (n,)
        The sizes of the sets.
    """

    xs: Integers
    ys: Integers
    pools: Integers
    lengths: Integers
    least: Integers
    largest: Integers

    @classmethod
    def of_sets(cls, xs: Sequence[int], ys: Sequence[int], sets: Sequence[Sequence[int]]) -> Pairs:
        """Pairs with one set each."""
        n = len(sets)
        sizes = np.fromiter(map(len, sets), np.int64, n)
        return cls.of_pools(xs, ys, sets, sizes, sizes)

    @classmethod
    def of_pools(
        cls, xs: Sequence[int], ys: Sequence[int], members: Sequence[Sequence[int]], least: Integers, largest: Integers
    ) -> Pairs:
        """Pairs with one pool each."""
        n = len(members)
        lengths = np.zeros((n, 2), dtype=np.int64)
        lengths[:, 0] = np.fromiter(map(len, members), np.int64, n)
        pools = np.zeros((n, 2, int(lengths.max(initial=0))), dtype=np.int64)
        inside = np.arange(pools.shape[2]) < lengths[:, :1]
        pools[:, 0][inside] = np.fromiter(chain.from_iterable(members), np.int64, int(lengths.sum()))
        return cls(np.array(xs, dtype=np.int64), np.array(ys, dtype=np.int64), pools, lengths, least, largest)

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.xs)

    def take(self, places: Any) -> Pairs:
        """Some of the pairs."""
        return Pairs(**{name: values[places] for name, values in vars(self).items()})

    def sets(self, pair: int) -> Iterator[tuple[int, ...]]:
        """The sets of a pair, in their order."""
        first, second = (self.pools[pair, k, : self.lengths[pair, k]].tolist() for k in range(2))
        for size in range(int(self.least[pair]), int(self.largest[pair]) + 1):
            yield from combinations(first, size)
            yield from (given for given in combinations(second, size) if not set(first).issuperset(given))


@dataclass
class Separating:
    """The search for the first separating set of each of some pairs, as far as planes go.

    Attributes
    ----------
    progress : ndarray of shape (n, 4)
        As the kernel has it.
    statistic, df : ndarray of shape (n,)
        Of the last test of each pair.
    """

    planes: StatePlanes
    n_rows: int
    pairs: Pairs
    kind: int
    fewest: float

    def __post_init__(self) -> None:
        n = len(self.pairs)
        self.progress = np.zeros((n, 4), dtype=np.int64)
        self.progress[:, STATUS], self.progress[:, POOL] = DONE_WITH, 2
        self.progress[:, SIZE] = self.pairs.least - 1
        self.places = np.zeros((n, int(self.pairs.largest.max(initial=0))), dtype=np.int64)
        self.statistic, self.df = np.zeros((2, n))
        self.planes = self.planes._replace(most=_MORE_PRODUCTS * self.planes.most)

    def test_once(self) -> None:
        """Test the one set that each pair has."""
        self.progress[:, STATUS], self.progress[:, POOL] = OPEN, 0
        self.progress[:, SIZE] = self.pairs.least
        self.places[:] = np.arange(self.places.shape[1])
        self._go_on(np.arange(len(self.pairs)), -1.0, 1)

    def run(self, alpha: float, tell: Callable[[int], Any]) -> Floats:
        """Test set by set, until one has a p-value above alpha; the p-values of these, NaN where there is none."""
        p = np.full(len(self.pairs), np.nan)
        while len(left := np.flatnonzero(self.progress[:, STATUS] <= DONE_WITH)):
            before = self.n_tests
            self._go_on(left, alpha, max(1, STEPS_A_PIECE * _pieces(len(left)) // (self._steps * len(left))))
            tell(self.n_tests - before)
            ended = left[self.progress[left, STATUS] == INDEPENDENT]
            exact = upper_tail(self.statistic[ended], self.df[ended])
            self.progress[ended[exact <= alpha], STATUS] = DONE_WITH
            p[ended[exact > alpha]] = exact[exact > alpha]
        return p

    @property
    def tested(self) -> Integers:
        """How many sets of each pair have been tested."""
        return self.progress[:, TESTED]

    @property
    def n_tests(self) -> int:
        """How many tests have been made."""
        return int(self.tested.sum())

    @property
    def too_large(self) -> NDArray[np.bool_]:
        """The pairs that stand at a set whose table is too large for planes."""
        return self.progress[:, STATUS] == TOO_LARGE

    def given(self, pair: int) -> tuple[int, ...]:
        """The set that a pair stands at."""
        now = self.progress[pair]
        return tuple(sorted(self.pairs.pools[pair, now[POOL], self.places[pair, : now[SIZE]]].tolist()))

    @property
    def _steps(self) -> int:
        """About how many steps of a kernel a test takes."""
        return _STEPS_A_WORD * max(1, self.planes.planes.shape[1])

    def _go_on(self, chosen: Integers, alpha: float, most_tests: int) -> None:
        """Go on with some of the pairs."""
        pairs, n = self.pairs.take(chosen), len(chosen)
        progress, places = self.progress[chosen], self.places[chosen]
        statistic, df = np.zeros((2, n))

        def work(span: tuple[int, int]) -> None:
            a = slice(*span)
            plane_kernels.separate_pairs(
                *self.planes, self.n_rows, pairs.xs[a], pairs.ys[a], pairs.pools[a], pairs.lengths[a], pairs.largest[a],
                alpha, self.kind, self.fewest, most_tests, progress[a], places[a], statistic[a], df[a],
            )  # fmt: skip

        threads = 1 if n * self.planes.planes.shape[1] < _WORTH_A_THREAD else n_threads()
        pieces = pieces_for(n * self._steps * most_tests, 1 if threads == 1 else _pieces(n))
        run_parallel(work, spans(n, pieces), threads)
        self.progress[chosen], self.places[chosen] = progress, places
        self.statistic[chosen], self.df[chosen] = statistic, df


def _pieces(pairs: int) -> int:
    """Into how many pieces so many pairs are cut, whatever the number of threads."""
    return min(16, pairs)


def upper_tail(statistic: Floats, df: Floats) -> Floats:
    """The probability that a chi-squared variable is at least the statistic; 1 without degrees of freedom."""
    from scipy.special import gammaincc

    some = np.maximum(df, 1.0)
    return np.where(df > 0, gammaincc(some / 2, np.maximum(statistic, 0.0) / 2), 1.0)
