"""Counting rows in which some variables were set by an experiment, instead of being observed.

A row does not count for the family of a variable that was set in it, as its mechanism was not at work there; it counts
as usual for the families of its children (Cooper and Yoo 1999).

References
----------
G. F. Cooper and C. Yoo (1999). Causal discovery from a mixture of experimental and observational data. UAI 15, 116-125.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.data.table import Table
from bntk.errors import DataError
from bntk.learning.counts.base import MAX_ENTRIES, Block, Counter
from bntk.learning.counts.compact import CompactTable
from bntk.learning.counts.families import FamilyPlan
from bntk.learning.counts.memory import CounterInMemory, TableCounter
from bntk.learning.counts.pairs import PairTables

Mask = NDArray[np.bool_]


class ExperimentCounter(CounterInMemory):
    """A counter of the rows of a table, some of whose cells were set by an experiment.

    The last variable of a family is its child. A row counts for a family when the family is complete in it, and the
    child was not set in it. So the tables of two families over the same variables may differ, and there are no pair
    tables, which would serve both directions.

    Each variable that was set somewhere has a second column, with its values where it was not set. Families take their
    child from there, so that all else is plain counting.

    Parameters
    ----------
    table : Table
        The rows.
    intervened : boolean array of shape (n_rows, n_variables)
        Which cells were set.
    weights : array of shape (n_rows,), optional
        How much each row counts; as for :class:`TableCounter`.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.Table.from_columns({"drug": [0, 0, 1, 1], "well": [0, 1, 1, 1]})
    >>> counter = ExperimentCounter(table, [[False, False], [False, False], [True, False], [True, False]])
    >>> counter.tables([["drug"], ["drug", "well"]])
    [array([2, 0]), array([[1, 1],
           [0, 2]])]
    """

    def __init__(self, table: Table, intervened: ArrayLike, weights: ArrayLike | None = None) -> None:
        super().__init__(_checking.instance("table", table, Table).variables)
        self._take(table, _checked_mask(intervened, table), TableCounter(table, weights).weights)

    @classmethod
    def _of_shares(cls, table: Table, intervened: Mask, weights: np.ndarray | None) -> ExperimentCounter:
        """A counter of a mask that is right, with weights that EM works out, which may be as small as floats are."""
        counter = cls.__new__(cls)
        Counter.__init__(counter, table.variables)
        counter._take(table, intervened, weights)
        return counter

    def _take(self, table: Table, intervened: Mask, weights: np.ndarray | None) -> None:
        self.table, self.weights, self.intervened = table, weights, intervened
        self.intervened.flags.writeable = False
        was_set = np.flatnonzero(intervened.any(axis=0))
        free = [np.where(intervened[:, v], table.cards[v], table.codes[v]) for v in was_set]
        codes = np.vstack([table.codes, *(row[None].astype(table.codes.dtype) for row in free)])
        variables = [*table.variables, *(table.variables[v] for v in was_set)]
        self._inner = TableCounter._of_shares(Table._make(codes, variables), weights)
        self._as_child = list(range(len(table.variables)))
        for place, v in enumerate(was_set.tolist()):
            self._as_child[v] = len(table.variables) + place

    @property
    def directed(self) -> bool:
        """True: which rows count depends on which variable is the child."""
        return True

    def select(self, names: Sequence[str]) -> ExperimentCounter:
        """The same rows of some of the variables."""
        places = [self._find(name) for name in names]
        return ExperimentCounter._of_shares(self.table.select(names), self.intervened[:, places].copy(), self.weights)

    def _blocks(self) -> Iterator[Block]:
        yield self.table, self.weights

    def _child_last(self, family: Sequence[int]) -> tuple[int, ...]:
        return (*family[:-1], self._as_child[family[-1]]) if family else ()

    # ---------------------------------------------------------------- tables

    def flat_tables(
        self, base: Sequence[int], families: Sequence[Sequence[int]], *, max_entries: int = MAX_ENTRIES
    ) -> tuple[np.ndarray, FamilyPlan]:
        """See :meth:`Counter.flat_tables`."""
        return self._inner.flat_tables(base, [*map(self._child_last, families)], max_entries=max_entries)

    def extended_tables(
        self, parents: Sequence[int], child: int, others: Sequence[int]
    ) -> tuple[np.ndarray, FamilyPlan]:
        """See :meth:`Counter.extended_tables`."""
        return self._inner.extended_tables(parents, self._as_child[child], others)

    def _dense(self, base: Sequence[int], families: Sequence[Sequence[int]], max_entries: int) -> list[np.ndarray]:
        return self._inner._dense(base, [*map(self._child_last, families)], max_entries)

    def _sparse(self, families: list[tuple[int, ...]], max_entries: int) -> list[CompactTable]:
        return self._inner._sparse([*map(self._child_last, families)], max_entries)

    def pairs(
        self, target: str | int | None = None, among: Iterable[str | int] | None = None, *,
        max_entries: int | None = None,
    ) -> PairTables:  # fmt: skip
        """Refused: a pair table would serve both directions, for which different rows count."""
        raise DataError(
            "this needs the tables of pairs of variables, whichever is the child; where variables were set by an "
            "experiment (intervened=), different rows count for the two directions: use a score that is a sum over "
            "families with hc, tabu, order, exact or spanning_tree, or leave out intervened"
        )

    def pair_parts(
        self, target: str | int | None = None, among: Sequence[str | int] | None = None
    ) -> Iterator[tuple[np.ndarray, PairTables]]:
        """Refused, as :meth:`pairs` is."""
        self.pairs(target, among)
        yield from ()

    # ---------------------------------------------------------------- adding

    def __add__(self, other: Counter) -> Counter:
        """A counter of the rows of both, in which the rows of a plain counter were observed."""
        return self._joined(self, other) if isinstance(other, Counter) else NotImplemented

    def _after(self, other: Counter) -> Counter:
        return self._joined(other, self)

    @staticmethod
    def _joined(one: Counter, other: Counter) -> ExperimentCounter:
        parts: list[TableCounter | ExperimentCounter] = []
        for part in (one, other):
            if not isinstance(part, (TableCounter, ExperimentCounter)):
                raise DataError(
                    "rows with variables that were set by an experiment can be added to rows in memory only, not to a "
                    f"{type(part).__name__}"
                )
            parts.append(part)
        masks = [p.intervened if isinstance(p, ExperimentCounter) else _nothing_set(p.table) for p in parts]
        weights = None
        if any(part.weighted for part in parts):
            weights = np.concatenate([np.ones(p.n_rows) if p.weights is None else p.weights for p in parts])
        table = Table.concat([part.table for part in parts])
        return ExperimentCounter._of_shares(table, np.concatenate(masks), weights)

    def __repr__(self) -> str:
        n_set = int(self.intervened.any(axis=1).sum())
        return f"{super().__repr__()}, {n_set:,} rows with variables that were set"


def _nothing_set(table: Table) -> Mask:
    return np.zeros((table.n_rows, len(table.variables)), dtype=bool)


def _checked_mask(intervened: ArrayLike, table: Table) -> Mask:
    mask = np.array(_checking.array("intervened", intervened, "booleans, one for each cell"))
    expected = (table.n_rows, len(table.variables))
    if mask.dtype != bool or mask.shape != expected:
        raise DataError(
            f"intervened must be an array of booleans of the shape {expected}, one for each cell; "
            f"got {mask.dtype} of the shape {mask.shape}"
        )
    return mask
