"""Pair tables by bit planes: which variables and pairs take part, and counting them in one block of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bntk._kernels import Allowance
from bntk._threads import n_threads, run_parallel, spans
from bntk.data.table import Table
from bntk.learning.counts import plane_kernels

# A pair costs as many ANDs and counts per word as the product of the plane numbers of its two variables. Measured by
# ``python -m benchmarks.counting --only model`` for 1,000 to 100,000 rows and 2 to 20 classes: one such product costs
# 0.0045 ns per row, increments 0.65 ns per row and more; they meet at 140 to 160 products (13 states each), later for
# few rows.
MOST_PRODUCTS = 150
MOST_PLANES = 24  # of one variable, so that a tile holds them
TILE = 32  # planes of a tile; two tiles of 4 KiB planes stay in half of a second-level cache of 512 KiB
CHUNK = 1 << 18  # rows whose planes exist at a time, so that memory does not grow with the number of rows
SMALL = 1 << 22  # bytes of planes that never matter
WORTH_A_THREAD = 1e6  # nanoseconds of work
# Pairs that are counted without planes before their kernels are compiled.
plane_allowance = Allowance(plane_kernels.count_tile)


@dataclass(frozen=True)
class PlanePlan:
    """Which variables get planes, and up to how many products of planes a pair is counted by them.

    ``variables`` are indices in the block of rows, ``positions`` those in the pair tables; ``widths`` is the number of
    planes of each variable of the pair tables.
    """

    variables: np.ndarray
    positions: np.ndarray
    first_planes: np.ndarray
    widths: np.ndarray
    most: int

    @property
    def covers_all(self) -> bool:
        """True when every pair is counted by planes."""
        widest = int(self.widths.max(initial=0))
        return widest <= MOST_PLANES and widest**2 <= self.most

    def covers(self, i: int) -> np.ndarray:
        """Mask of the variables whose pair with variable ``i`` is counted by planes."""
        if self.widths[i] > MOST_PLANES:
            return np.zeros(len(self.widths), dtype=bool)
        return (self.widths <= MOST_PLANES) & (self.widths * self.widths[i] <= self.most)


def plan_planes(table: Table, features: np.ndarray) -> PlanePlan:
    """Choose between planes and increments for the pairs of some variables."""
    widths = table.cards[features] - ~table.has_missing[features]
    least = np.sort(widths)[:2]
    partner = np.where(widths == least[0], least[-1], least[0]) if len(least) else widths  # the narrowest other one
    positions = np.flatnonzero((widths <= MOST_PLANES) & (widths * partner <= MOST_PRODUCTS))
    first_planes = np.concatenate(([0], np.cumsum(widths[positions], dtype=np.int64)))
    return PlanePlan(features[positions], positions, first_planes, widths, MOST_PRODUCTS)


def count_pairs_by_planes(
    plan: PlanePlan, table: Table, target: int | None, starts: np.ndarray, columns: np.ndarray,
    pairs: np.ndarray, singles: np.ndarray,
) -> None:  # fmt: skip
    """Add the pairs that the plan covers to the buffer of pair tables, and its variables to that of single tables."""
    n_planes = int(plan.first_planes[-1])
    n_classes = 1 if target is None else table.variables[target].n_states
    budget = max(SMALL, table.codes.nbytes // 2)
    chunk = max(1, min(CHUNK, 8 * budget // max(1, n_planes)))
    cards = table.cards[plan.variables]
    for begin in range(0, table.n_rows, chunk):
        end = min(begin + chunk, table.n_rows)
        order, counts = _group(table, target, n_classes, begin, end)
        words = np.concatenate(([0], np.cumsum(-(-counts // 64))))
        planes = np.empty((n_planes, int(words[-1])), dtype=np.uint64)
        margins = np.zeros((n_classes, n_planes), dtype=np.int64)
        _pack(plan, table, begin, order, counts, words, planes, margins)
        _count(plan, cards, planes, words, margins, counts, starts, columns, pairs)
        _add_margins(plan, cards, margins, counts, columns, singles)


def _group(table: Table, target: int | None, n_classes: int, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a chunk (counted from its beginning) in the order of their class, and the size of each class.

    The order has one place more than needed, which the kernel writes to.
    """
    order, counts = np.empty(end - begin + 1, dtype=np.uint32), np.empty(n_classes, dtype=np.int64)
    if target is None:
        order[:], counts[:] = np.arange(len(order)), end - begin
    else:
        plane_kernels.group_rows(table.codes[target, begin:end], order, counts)
    return order, counts


def _pack(
    plan: PlanePlan, table: Table, begin: int, order: np.ndarray, counts: np.ndarray, words: np.ndarray,
    planes: np.ndarray, margins: np.ndarray,
) -> None:  # fmt: skip
    def pack(span: tuple[int, int]) -> None:
        first, last = span
        plane_kernels.pack_planes(
            table.codes, begin, order, counts, words, plan.variables[first:last],
            plan.first_planes[first : last + 1], planes, margins,
        )  # fmt: skip

    nanoseconds = 0.6 * len(plan.variables) * len(order)
    run_parallel(pack, spans(len(plan.variables), 4 * n_threads()), _threads_for(nanoseconds))


def _count(
    plan: PlanePlan, cards: np.ndarray, planes: np.ndarray, words: np.ndarray, margins: np.ndarray, counts: np.ndarray,
    starts: np.ndarray, columns: np.ndarray, pairs: np.ndarray,
) -> None:  # fmt: skip
    tiles = _tiles(plan.first_planes)

    def count(tile: tuple[np.ndarray, np.ndarray]) -> None:
        plane_kernels.count_tile(
            planes, words, margins, counts, plan.first_planes, cards, plan.positions, starts, columns, *tile,
            plan.most, pairs,
        )  # fmt: skip

    work = [(one, other) for k, one in enumerate(tiles) for other in tiles[k:]]
    nanoseconds = 0.15 * planes.size * len(planes) + 15.0 * len(counts) * len(cards) ** 2
    run_parallel(count, work, _threads_for(nanoseconds))


def _threads_for(nanoseconds: float) -> int | None:
    """One thread for work so short that starting others (a few tenths of a millisecond) would not pay."""
    return 1 if nanoseconds < WORTH_A_THREAD else None


def _tiles(first_planes: np.ndarray) -> list[np.ndarray]:
    """Cut the variables into ranges of at most ``TILE`` planes (and no fewer than one variable)."""
    edges, begin = [0], 0
    for v in range(1, len(first_planes)):
        if first_planes[v] - first_planes[begin] > TILE:
            begin = max(v - 1, begin)
            edges.append(begin)
    edges.append(len(first_planes) - 1)
    return [np.array(edge, dtype=np.int64) for edge in pairwise(edges) if edge[0] < edge[1]]


def _add_margins(
    plan: PlanePlan, cards: np.ndarray, margins: np.ndarray, counts: np.ndarray, columns: np.ndarray,
    singles: np.ndarray,
) -> None:  # fmt: skip
    """Add the single tables of the variables with planes; the last state of a complete one is what is left."""
    n_classes, n_planes = margins.shape
    classes = np.arange(n_classes)[:, None]
    begins = n_classes * columns[plan.positions]
    widths = np.diff(plan.first_planes)
    states = np.arange(n_planes) - np.repeat(plan.first_planes[:-1], widths)
    singles[np.repeat(begins, widths) + classes * np.repeat(cards, widths) + states] += margins
    running = np.concatenate((np.zeros((n_classes, 1), dtype=np.int64), np.cumsum(margins, axis=1)), axis=1)
    seen = running[:, plan.first_planes[1:]] - running[:, plan.first_planes[:-1]]
    whole = widths < cards
    singles[(begins + classes * cards + cards - 1)[:, whole]] += (counts[:, None] - seen)[:, whole]
