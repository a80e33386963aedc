"""Pairs of variables that tell something about a third only together, such as two that it is the exclusive or of.

Growing parents one by one does not find them, since neither gains anything alone. All triples of variables with few
states are looked at: the interaction information of a triple is the same for each of the three as the child, and comes
from one table. Of many rows a share is looked at, chosen by what is in them, so that their order does not matter.

References
----------
A. Jakulin and I. Bratko (2003). Analyzing attribute dependencies. PKDD, LNCS 2838, 229-240.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel
from bntk.data.table import Table
from bntk.learning.counts.memory import TableCounter
from bntk.learning.counts.state_planes import StatePlanes
from bntk.learning.scores.leaving_out import one_by_one
from bntk.learning.search import interplay_kernels as kernels

if TYPE_CHECKING:
    from bntk.learning.scores.family_evaluator import FamilyEvaluator

# Variables with more states are left out: tables of three of them have too many cells to tell much.
MOST_STATES = 4
# About so many rows are looked at, of more: they tell of whatever gains much.
ENOUGH_ROWS = 5_000
# Words of planes that are counted at the most, some seconds of work; with more, nothing is looked for.
MOST_WORDS = 10**11
# Pairs that are kept for each child, and those that are noted for each variable.
PAIRS, NOTED = 4, 1 << 14
# Variables between two looks at the clock.
BATCH = 32


class Pair(NamedTuple):
    """Two possible parents that gain together."""

    one: int
    other: int


def pairs_that_gain_together(
    evaluator: FamilyEvaluator, weights: NDArray[np.float64], look: Callable[[], None] = lambda: None
) -> list[list[Pair]]:
    """For each variable, the best pairs that gain as its only parents though neither does so alone.

    A pair must gain more than the logarithm of the number of variables, since so many pairs gain a little by chance.

    Parameters
    ----------
    evaluator : FamilyEvaluator
    weights : ndarray of shape (n, n)
        What each variable (row) gains as the only parent of each other one (column).
    look : callable
        Called now and then, and may end it by an exception.
    """
    n = len(evaluator.names)
    found: list[list[Pair]] = [[] for _ in range(n)]
    counter = evaluator.counter
    if not isinstance(counter, TableCounter) or counter.directed or not counter.n_rows:
        return found
    counter = one_by_one(counter)
    if counter.weighted:
        return found
    table = _share(counter.table)
    planes = counter.planes if table is counter.table else StatePlanes.of(table)
    if planes is None:
        return found
    few = (planes.cards > 1) & (planes.cards <= MOST_STATES)
    variables = np.flatnonzero(few & (planes.first_planes >= 0) & (planes.widths < planes.cards))
    if _words(planes, variables) > MOST_WORDS:
        return found
    least = math.log(max(2, n))
    children, gains = _look_at_triples(planes, table.n_rows, variables, np.nan_to_num(weights), least, look)
    order = np.lexsort((*children.T[::-1], -gains))
    for child, one, other in children[order].tolist():
        if len(found[child]) < PAIRS and _gain(evaluator, child, one, other) > least:
            found[child].append(Pair(one, other))
    return found


def _share(table: Table) -> Table:
    """Some of the rows; all, if they are few, or differ little."""
    share = table.n_rows // ENOUGH_ROWS
    if share < 2:
        return table
    numbers = np.zeros(table.n_rows, np.uint64)
    for column, odd in zip(table.codes, np.random.default_rng(0).integers(1 << 62, size=len(table.codes)) * 2 + 1):
        numbers += column.astype(np.uint64) * np.uint64(odd)
    rows = np.flatnonzero((numbers >> np.uint64(32)) % np.uint64(share) == 0)
    return table.take(rows) if 2 * len(rows) * share > table.n_rows else table


def _words(planes: StatePlanes, variables: NDArray[np.int64]) -> float:
    """How many words are counted, about: a sixth of the cube of the planes, which have some words each."""
    return float((planes.cards[variables] - 1).sum()) ** 3 / 6 * planes.planes.shape[1]


def _gain(evaluator: FamilyEvaluator, child: int, one: int, other: int) -> float:
    value = float(evaluator.enlarged(child, (one,), np.array([other]))[0])
    evaluator.count_evaluated(1)
    return value - evaluator.local(child, ())


def _look_at_triples(
    planes: StatePlanes, n_rows: int, variables: NDArray[np.int64], weights: NDArray[np.float64], least: float,
    look: Callable[[], None],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # fmt: skip
    """Triples (child, parent, parent) whose parents gain together, and what about."""
    n_planes, n = len(planes.planes), len(planes.cards)
    common, logs = np.empty((n_planes, n_planes), np.int32), np.empty((n, n))
    counts = np.arange(n_rows + 1, dtype=np.float64)
    n_log_n = counts * np.log(np.maximum(counts, 1.0))
    price = 0.5 * math.log(max(2, n_rows))
    first, cards = planes.first_planes, planes.cards

    def prepare(i: int) -> None:
        kernels.count_planes(planes.planes, first[i], first[i] + cards[i], common)
        kernels.sums_of_logs(i, variables, first, cards, common, n_log_n, logs)

    def find(at: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found, gains = np.empty((NOTED, 3), np.int64), np.empty(NOTED)
        n_found = kernels.find_pairs(
            planes.planes, first, cards, variables, at, common, logs, n_log_n, weights, price, least, found, gains
        )
        return found[:n_found].copy(), gains[:n_found].copy()

    for begin in range(0, len(variables), BATCH):
        run_parallel(prepare, variables[begin : begin + BATCH].tolist())
        look()
    parts = [(np.empty((0, 3), np.int64), np.empty(0))]
    for begin in range(0, len(variables), BATCH):
        parts += run_parallel(find, range(begin, min(begin + BATCH, len(variables))))
        look()
    children, gains = zip(*parts, strict=True)
    return np.concatenate(children), np.concatenate(gains)
