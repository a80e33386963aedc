"""Leave-one-out for the selective k-dependence search on rows that are read in passes: one for the tables, one for it.

The prediction of a row from all others needs the tables of all rows alone, from which the row is subtracted. So
(Martínez et al. 2016) one pass counts the families of all features with their first 0, 1, ... k parents, and one goes
through the rows and adds up the losses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, run_parallel
from bntk.cpt import search_limit, table_entries
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.learning.counts import Counter
from bntk.learning.search import k_dependence_kernels as kernels

Floats = NDArray[np.float64]

#: Rows that are predicted at a time.
ROWS = 1 << 14


@dataclass(frozen=True)
class LeftOut:
    """The logarithms of a family's probabilities, with all rows and without one.

    A table has one more state than each feature parent has, for rows in which it is missing: its entries are the sums
    over the parent's states. ``slots`` is the number of states of the child and, last, that of a missing one.

    Attributes
    ----------
    child : int
    parents : tuple of int
        Features, by position.
    slots : int
    counts : ndarray of shape (n_classes, n_configurations, n_states)
    logs, without : ndarray of shape (n_classes, n_configurations * slots)
    alpha : float
    """

    child: int
    parents: tuple[int, ...]
    slots: int
    counts: Floats
    logs: Floats
    without: Floats
    alpha: float

    @classmethod
    def of(cls, child: int, parents: Sequence[int], table: NDArray[Any], alpha: float) -> LeftOut:
        """Of the counts with the axes class, parents and child."""
        counts = table.astype(np.float64)
        for axis in range(1, counts.ndim - 1):
            counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
        n_classes, r = counts.shape[0], counts.shape[-1]
        flat = counts.reshape(n_classes, -1, r)
        logs, without = _log_theta(flat, 0.0, alpha), _log_theta(flat, 1.0, alpha)
        return cls(child, tuple(parents), r + 1, flat, logs, without, alpha)

    def term(self, table: Table, y: NDArray[Any], weights: Floats | None) -> Floats:
        """What the family adds to the class log scores, a line for each class; the row itself is left out."""
        cards, codes = table.cards, table.codes
        pa, counted = np.zeros(table.n_rows, dtype=np.int64), np.ones(table.n_rows, dtype=bool)
        for v in self.parents:
            pa = pa * (int(cards[v]) + 1) + codes[v]
            counted &= codes[v] != cards[v]
        own = codes[self.child]
        counted &= own != cards[self.child]
        cell = pa * self.slots + own
        found = np.take(self.logs, cell, axis=1)
        if weights is None:
            found[y[counted], np.flatnonzero(counted)] = self.without[y[counted], cell[counted]]
            return found
        rows, c = np.flatnonzero(counted), y[counted]
        w = np.minimum(weights[rows], 1.0)  # one of the rows that it stands for
        n = self.counts[c, pa[rows], own[rows].astype(np.int64)] - w
        n_pa = self.counts.sum(axis=2)[c, pa[rows]] - w
        r = self.slots - 1
        found[c, rows] = np.log((np.maximum(n, 0) + self.alpha) / (np.maximum(n_pa, 0) + r * self.alpha))
        return found


def _log_theta(counts: Floats, taken: float, alpha: float) -> Floats:
    r = counts.shape[-1]
    below = np.log(np.maximum(counts.sum(axis=-1, keepdims=True) - taken, 0) + r * alpha)
    found = np.zeros((*counts.shape[:-1], r + 1))  # a missing child says nothing
    found[..., :r] = np.log(np.maximum(counts - taken, 0) + alpha) - below
    return found.reshape(len(counts), -1)


def losses_in_passes(
    counter: Counter, target: int, families: Sequence[tuple[int, Sequence[int]]], n_rows: int, kind: int, alpha: float
) -> Floats:
    """The loss with the first 0, 1, 2 ... features (columns) and up to 0, 1, 2 ... parents of each (rows).

    Parameters
    ----------
    counter : Counter
    target : int
    families : sequence of (feature, its parents)
        In the order in which they are added.
    n_rows : int
        How many numbers of parents are tried.
    kind : int
        The loss, of :mod:`.k_dependence_kernels`.
    alpha : float
    """
    chosen = [_that_fit(counter, target, families, k) for k in range(n_rows)]
    scopes = list(dict.fromkeys(scope for row in chosen for scope in row))
    tables = counter.tables([(target,), *((target, *parents, v) for v, parents in scopes)])
    terms = {s: LeftOut.of(*s, table, alpha) for s, table in zip(scopes, tables[1:], strict=True)}
    classes = np.asarray(tables[0], dtype=np.float64)
    if not classes.sum() > 0:
        raise DataError(f"no row has a class: all cells of {counter.names[target]!r} are missing")
    steps = [[terms[scope] for scope in row] for row in chosen]
    job = partial(_losses_of_block, target, classes, steps, kind, alpha)
    (sums,) = counter._reduce(job, _add_losses)
    return sums / classes.sum()


def has_small_table(variables: Sequence[Variable], child: int, parents: Sequence[int]) -> bool:
    """Whether the table of a family is small enough for a search to choose it."""
    return table_entries(variables[child], [variables[p] for p in parents]) <= search_limit(len(variables))


def _that_fit(
    counter: Counter, target: int, families: Sequence[tuple[int, Sequence[int]]], k: int
) -> list[tuple[int, tuple[int, ...]]]:
    """The families with up to k parents, up to the first one whose table would be too large."""
    scopes = [(v, tuple(parents[:k])) for v, parents in families]
    return list(
        takewhile(lambda scope: not k or has_small_table(counter.variables, scope[0], (*scope[1], target)), scopes)
    )


def _add_losses(one: tuple[Floats], other: tuple[Floats]) -> tuple[Floats]:
    return (one[0] + other[0],)


def _losses_of_block(
    target: int, classes: Floats, steps: list[list[LeftOut]], kind: int, alpha: float, table: Table,
    weights: Floats | None,
) -> tuple[Floats]:  # fmt: skip
    """The sums of the losses of the rows of a block, whatever the number of threads."""
    known = table.codes[target] < len(classes)
    if not known.all():
        table, weights = table.take(known), None if weights is None else weights[known]
    spans = [(start, min(start + ROWS, table.n_rows)) for start in range(0, table.n_rows, ROWS)]

    def measure(span: tuple[int, int]) -> Floats:
        rows = table.take(slice(*span))
        own = None if weights is None else weights[slice(*span)]
        return _losses_of_rows(target, classes, steps, kind, alpha, rows, own)

    parts = run_parallel(measure, spans, n_threads())
    return (np.sum(parts, axis=0) if parts else _nothing_known(steps, 0.0),)


def _losses_of_rows(
    target: int, classes: Floats, steps: list[list[LeftOut]], kind: int, alpha: float, rows: Table,
    weights: Floats | None,
) -> Floats:  # fmt: skip
    y = rows.codes[target].astype(np.uint32)
    each = np.arange(rows.n_rows)
    first = np.repeat(np.log(classes + alpha)[:, None], rows.n_rows, axis=1)
    w = np.ones(rows.n_rows) if weights is None else weights
    first[y, each] = np.log(np.maximum(classes[y] - np.minimum(w, 1.0), 0) + alpha)
    found = _nothing_known(steps, math.inf)
    terms: dict[int, Floats] = {}
    for k, own in enumerate(steps):
        scores = np.zeros_like(first)
        found[k, 0] = kernels.add_and_measure(scores, first, y, w, kind)
        for n, family in enumerate(own, start=1):
            if id(family) not in terms:
                terms = {**terms, id(family): family.term(rows, y.astype(np.int64), weights)}
            found[k, n] = kernels.add_and_measure(scores, terms[id(family)], y, w, kind)
        last = {id(family) for family in own}
        terms = {place: term for place, term in terms.items() if place in last}
    return found


def _nothing_known(steps: list[list[LeftOut]], loss: float) -> Floats:
    return np.full((len(steps), len(steps[0]) + 1), loss)  # without parents, all tables are small enough


def finished(losses: Floats, kind: int) -> Floats:
    """Means of losses as they are compared and told: the root of a mean square."""
    return np.sqrt(losses) if kind == kernels.SQUARED else losses


__all__ = ["finished", "has_small_table", "losses_in_passes"]
