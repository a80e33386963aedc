"""Dense contingency tables of a batch of families: the plan of the batch, and counting it in one block of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from bntk._arrays import read_only
from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.data.table import Table
from bntk.errors import TooLargeError
from bntk.learning.counts import kernels

# Row indices within a table are 32-bit; one value is kept for incomplete rows.
LARGEST_TABLE = 2**32 - 2
# Rows are cut into at most this many spans with private tables. Fixed, and not the number of threads, so that sums of
# weights are the same on every machine.
MOST_SPANS = 16
# Below this many rows times families (about a millisecond) a thread costs more than it saves.
WORTH_A_THREAD = 1 << 21


@dataclass(frozen=True)
class FamilyPlan:
    """A batch of families as flat arrays, with the place of each table in one buffer.

    Every table has one entry more than its shape says: it collects the rows that are incomplete in the family.
    """

    base: np.ndarray
    pointers: np.ndarray
    members: np.ndarray
    offsets: np.ndarray
    shapes: tuple[tuple[int, ...], ...]

    def tables(self, flat: np.ndarray) -> list[np.ndarray]:
        """The tables, shaped, as views of the buffer."""
        begins, ends = self.offsets[:-1].tolist(), (self.offsets[1:] - 1).tolist()
        return [flat[begin:end].reshape(shape) for begin, end, shape in zip(begins, ends, self.shapes, strict=True)]

    def filled(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """The buffer with these tables in it."""
        nothing = np.zeros(1, dtype=np.int64)
        return np.concatenate([nothing[:0], *chain.from_iterable((table.ravel(), nothing) for table in tables)])

    def group(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Pointers and offsets of the families ``first:last``."""
        return self.pointers[first : last + 1], self.offsets[first : last + 1]


def plan_families(
    cards: Sequence[int], base: Sequence[int], families: Sequence[Sequence[int]], max_entries: int, names: Sequence[str]
) -> FamilyPlan:
    """Lay out the tables of ``(*base, *family)`` for each family; refuse them when they are too large together."""
    card = cards.__getitem__
    front = tuple(map(card, base))
    shapes = tuple([front + tuple(map(card, family)) for family in families])
    sizes = list(map(math.prod, shapes))
    if sum(sizes) > max_entries or max(sizes, default=0) > LARGEST_TABLE:
        largest = sizes.index(max(sizes))
        _refuse([names[v] for v in (*base, *families[largest])], sizes, max_entries)
    return FamilyPlan(
        base=np.array(base, dtype=np.int64),
        pointers=np.array([0, *accumulate(map(len, families))], dtype=np.int64),
        members=np.fromiter(chain.from_iterable(families), dtype=np.int64),
        offsets=np.array([0, *accumulate([size + 1 for size in sizes])], dtype=np.int64),
        shapes=shapes,
    )


def _refuse(largest: Sequence[str], sizes: Sequence[int], max_entries: int) -> None:
    together = f"{len(sizes)} tables would have {sum(sizes):,} entries together; the largest, of " if sizes[1:] else ""
    limit = min(max_entries, LARGEST_TABLE)
    raise TooLargeError(
        f"{together}{' x '.join(largest)}{',' if together else ''} has {max(sizes):,} entries "
        f"({8 * max(sizes):,} bytes); the limit is max_entries = {limit:,}. "
        "Take fewer variables, merge states, or raise the limit where you can (max_entries of Counter.tables)"
    )


def count_block(plan: FamilyPlan, table: Table, weights: np.ndarray | None, threads: int | None = None) -> np.ndarray:
    """The flat buffer of a plan, counted in one block of rows.

    Work is cut into pieces of some rows and some families. The cut of the rows depends on sizes alone and the private
    tables are summed in the order of the rows, so the sums do not depend on the number of threads.
    """
    total, n_families = int(plan.offsets[-1]), len(plan.shapes)
    dtype = np.int64 if weights is None else np.float64
    weights = None if weights is None else read_only(weights)
    n_spans = min(MOST_SPANS, max(1, table.n_rows // max(kernels.STRETCH, 8 * total)))
    rows = spans(table.n_rows, n_spans, kernels.BLOCK)
    private = np.zeros((max(1, len(rows)), total), dtype)
    threads = 1 if table.n_rows * n_families < WORTH_A_THREAD else threads or n_threads()
    steps = n_families * (table.n_rows // max(1, len(rows)))
    groups = spans(n_families, pieces_for(steps, 1 if threads == 1 else -(-4 * threads // max(1, len(rows)))))
    cards, missing = table.cards, table.has_missing

    def count(piece: tuple[int, tuple[int, int]]) -> None:
        span, group = piece
        pointers, offsets = plan.group(*group)
        kernels.count_families(
            table.codes, *rows[span], cards, missing, plan.base, pointers, plan.members, offsets,
            weights, private[span],
        )  # fmt: skip

    run_parallel(count, [(span, group) for span in range(len(rows)) for group in groups], threads)
    return private[0] if len(private) == 1 else private.sum(axis=0)
