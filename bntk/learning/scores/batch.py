"""A batch of family tables in one buffer: what a score is evaluated on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk._threads import n_threads, run_parallel, spans
from bntk.learning.counts import CompactTable, Counter, PairTables

# Below this many cells (about a millisecond) a thread costs more than it saves.
WORTH_A_THREAD = 1 << 16
# Larger numbers of parent configurations are taken as this one, so that no formula overflows: it is too many anyway.
MOST_CONFIGURATIONS = 10**100


@dataclass(frozen=True)
class TableBatch:
    """Tables of families, each of the shape (left, card, right) with the child's states on the middle axis.

    A pair of indices of the outer axes is a parent configuration; a table has all of them, or only those that were
    seen.

    Attributes
    ----------
    flat : ndarray
        All counts.
    begins, lefts, cards, rights : ndarray of int
        Where each table begins in ``flat``, and its shape.
    qs : ndarray of float
        How many parent configurations exist, in the table or not.
    """

    flat: NDArray[Any]
    begins: NDArray[np.int64]
    lefts: NDArray[np.int64]
    cards: NDArray[np.int64]
    rights: NDArray[np.int64]
    qs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.begins)

    def table(self, f: int) -> NDArray[Any]:
        """One table, of the shape (left, card, right)."""
        shape = (int(self.lefts[f]), int(self.cards[f]), int(self.rights[f]))
        begin = int(self.begins[f])
        return self.flat[begin : begin + math.prod(shape)].reshape(shape)

    def matrix(self, f: int) -> NDArray[Any]:
        """One table with a row for each parent configuration and a column for each state of the child."""
        return self.table(f).swapaxes(1, 2).reshape(-1, int(self.cards[f]))

    def run(self, kernel: Callable[..., None], *arguments: object) -> NDArray[np.float64]:
        """One number a table by a kernel that is called as ``kernel(*fields, *arguments, out)``, over threads."""
        out = np.empty(len(self))

        def piece(span: tuple[int, int]) -> None:
            part = slice(*span)
            shapes = (self.begins[part], self.lefts[part], self.cards[part], self.rights[part], self.qs[part])
            kernel(self.flat, *shapes, *arguments, out[part])

        if len(self.flat) < WORTH_A_THREAD or len(self) < 2 or n_threads() == 1:
            piece((0, len(self)))
        else:
            run_parallel(piece, spans(len(self), 8 * n_threads()))
        return out


def gather(tables: Sequence[NDArray[Any]], lefts: ArrayLike, cards: ArrayLike, rights: ArrayLike) -> TableBatch:
    """A batch of tables that are in several arrays and have all of their parent configurations."""
    left, card, right = np.empty((3, len(tables)), dtype=np.int64)
    left[:], card[:], right[:] = lefts, cards, rights
    ends = np.cumsum(left * card * right)
    flat = np.concatenate(tables, axis=None)
    return TableBatch(flat, ends - left * card * right, left, card, right, (left * right).astype(np.float64))


def compact_batch(counter: Counter, families: Sequence[tuple[int, tuple[int, ...]]]) -> TableBatch:
    """Families (child, parents) as :meth:`Counter.compact` counts them: only what was seen where tables are large."""
    return gather_compact(counter.compact([(*parents, child) for child, parents in families]))


def gather_compact(tables: Sequence[CompactTable]) -> TableBatch:
    """A batch of compact tables."""
    lefts, cards = np.array([table.counts.shape for table in tables]).T
    batch = gather([table.counts for table in tables], lefts, cards, 1)
    return replace(batch, qs=np.array([float(min(table.q, MOST_CONFIGURATIONS)) for table in tables]))


def dense_batch(counter: Counter, families: Sequence[tuple[int, tuple[int, ...]]]) -> TableBatch:
    """Families (child, parents) as :meth:`Counter.tables` counts them, in the counter's buffer."""
    cards = counter.cards
    flat, plan = counter.flat_tables((), [(*parents, child) for child, parents in families])
    lefts = np.array([math.prod(shape[:-1]) for shape in plan.shapes], dtype=np.int64)
    children = np.array([cards[child] for child, _ in families], dtype=np.int64)
    return TableBatch(flat, plan.offsets[:-1], lefts, children, np.ones_like(lefts), lefts.astype(np.float64))


def extension_batch(counter: Counter, parents: Sequence[int], child: int, others: Sequence[int]) -> TableBatch:
    """A child given its parents and each of some other variables, as :meth:`Counter.extensions` counts them."""
    cards = counter.cards
    flat, plan = counter.flat_tables((*parents, child), [(x,) for x in others])
    lefts, children, rights = np.empty((3, len(others)), dtype=np.int64)
    lefts[:], children[:], rights[:] = math.prod(plan.shapes[0][:-2]), cards[child], [cards[x] for x in others]
    return TableBatch(flat, plan.offsets[:-1], lefts, children, rights, (lefts * rights).astype(np.float64))


def pair_batch(pairs: PairTables) -> tuple[TableBatch, NDArray[np.intp], NDArray[np.intp]]:
    """Every variable given every other (and the target) as a batch on the buffer of the pairs; also tails and heads.

    A pair table of the shape (classes, r_i, r_j) is read twice where it is: with j as the child its left axis is
    (classes, r_i); with i as the child its left axis is the classes and its right axis r_j.
    """
    layout = pairs.layout
    i, j = np.triu_indices(len(pairs.variables), 1)
    classes, r_i, r_j = layout.n_classes, layout.cards[i], layout.cards[j]
    begins = layout.starts[i] + classes * r_i * (layout.columns[j] - layout.columns[i + 1])
    batch = TableBatch(
        pairs.counts,
        begins=np.concatenate([begins, begins]),
        lefts=np.concatenate([classes * r_i, np.full_like(r_i, classes)]),
        cards=np.concatenate([r_j, r_i]),
        rights=np.concatenate([np.ones_like(r_i), r_j]),
        qs=np.concatenate([classes * r_i, classes * r_j]).astype(np.float64),
    )
    return batch, np.concatenate([i, j]), np.concatenate([j, i])


def single_batch(pairs: PairTables) -> TableBatch:
    """Every variable given the target (or nothing) as a batch on the single tables of the pairs."""
    classes, cards = pairs.layout.n_classes, pairs.layout.cards
    return TableBatch(
        pairs.single_counts,
        begins=classes * pairs.layout.columns[:-1],
        lefts=np.full_like(cards, classes),
        cards=cards,
        rights=np.ones_like(cards),
        qs=np.full(len(cards), float(classes)),
    )


def margins(batch: TableBatch) -> TableBatch:
    """Each table of a batch of pairs without its tail, on the rows of the pair: one more batch of the same length.

    The tail is the right axis, or else the fastest part of the left axis.
    """
    n_classes = int(batch.lefts.min())
    tables = []
    for f in range(len(batch)):
        table = batch.table(f)
        left, card, right = table.shape
        tables.append(table.reshape(n_classes, left // n_classes, card, right).sum(axis=(1, 3)))
    return gather(tables, n_classes, batch.cards, 1)
