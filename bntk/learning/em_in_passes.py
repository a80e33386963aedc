"""EM on rows that are read in passes.

Rows without a missing cell only add to counts. Of the others, those that are equal are the same to EM, so that one pass
gives all that it needs as long as the different ones are not too many. Else each iteration is a pass: the expected
counts of a batch are those of its rows, and they add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.data.numbers import Reading
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.graph.dag import DAG
from bntk.learning.completion import kinds_of_rows
from bntk.learning.counts import Coding, PartitionCounter, Partitions, TableCounter
from bntk.learning.counts.base import add_arrays
from bntk.learning.em import IncompleteRows
from bntk.learning.priors import Prior

Floats = NDArray[np.float64]

#: Bytes of different incomplete rows that are kept; with more, each iteration is a pass.
MOST_BYTES = 1 << 26


class Kinds(NamedTuple):
    """What a pass has gathered for EM.

    Attributes
    ----------
    complete : tuple of ndarray
        The counts of the families in the rows without a missing cell.
    codes : ndarray of shape (n_variables, n_kinds), or None
        The different incomplete rows; None when they are too many to be kept.
    weights : ndarray of shape (n_kinds,)
    seen : ndarray of bool
        Which variables have a value in some row.
    n_rows : int
    """

    complete: tuple[Floats, ...]
    codes: NDArray[Any] | None
    weights: Floats
    seen: NDArray[np.bool_]
    n_rows: int


class StreamedRows(IncompleteRows):
    """Rows for EM whose complete part is counted already, and whose incomplete ones may be elsewhere.

    Parameters
    ----------
    dag : DAG
    counter : PartitionCounter
        Over the nodes, in their order.
    prior : Prior
    max_entries : int
    """

    def __init__(self, dag: DAG, counter: PartitionCounter, prior: Prior, max_entries: int) -> None:
        scopes = [(*parents, node) for node, parents in enumerate(dag.parent_indices)]
        super().__init__(dag, _no_rows(counter.variables), np.zeros(0), prior, max_entries)  # that sizes are checked
        kinds = counter._reduce(partial(_kinds_of_block, scopes), partial(_add_kinds, counter.cards))
        self._kinds, self._counter, self._dag, self._given_prior = kinds, counter, dag, prior
        codes = np.zeros((len(scopes), 0), np.uint8) if kinds.codes is None else kinds.codes
        table = Table._make(np.ascontiguousarray(codes), counter.variables)
        super().__init__(dag, table, kinds.weights if kinds.codes is not None else np.zeros(0), prior, max_entries)
        self._complete = [own + more for own, more in zip(self._complete, kinds.complete, strict=True)]
        self._fixed = [own + more for own, more in zip(self._fixed, kinds.complete, strict=True)]
        if kinds.codes is None:
            missing = {counter.names.index(name) for name in counter.incomplete}
            self.open = [node for node, scope in enumerate(scopes) if missing.intersection(scope)]
            self.is_complete = not self.open

    @property
    def never_seen(self) -> set[int]:
        """The variables that are missing in every row."""
        return {*np.flatnonzero(~self._kinds.seen).tolist()}

    def expect(self, tables: Sequence[Floats]) -> tuple[list[Floats], float]:
        """The E-step, in a pass where the incomplete rows are elsewhere."""
        if self._kinds.codes is not None:
            return super().expect(tables)
        job = partial(_expect_block, self._dag, self._given_prior, tuple(tables))
        *counts, log_likelihood = self._counter._reduce(job, add_arrays)
        return list(counts), float(log_likelihood[0])

    def available(self) -> list[Floats]:
        """Estimates from the available cases with one more row in each cell."""
        from bntk.learning.priors import posterior_mean

        if self._kinds.codes is None:
            counts = [np.asarray(table, dtype=np.float64) for table in self._counter.tables(self.scopes)]
        else:
            own = TableCounter._of_shares(self.table, self.weights).tables(self.scopes)
            counts = [table + more for table, more in zip(own, self._kinds.complete, strict=True)]
        return [posterior_mean(table, np.float64(1)) for table in counts]


def _no_rows(variables: Sequence[Variable]) -> Table:
    return Table._make(np.zeros((len(variables), 0), dtype=np.uint8), variables)


def rows_in_passes(
    dag: DAG,
    data: Partitions | PartitionCounter,
    variables: Sequence[Variable] | None,
    reading: Reading,
) -> PartitionCounter:
    """A counter of the nodes in their order; a declared variable without a column is hidden, missing in every row."""
    if isinstance(data, PartitionCounter):
        return data if data.names == dag.nodes else data.select(dag.nodes)
    declared: Mapping[str, Variable] = {v.name: v for v in variables or data.variables or ()}
    hidden = [name for name in dag.nodes if name in declared and name not in data.names]
    others = [name for name in dag.nodes if name not in hidden]
    given = [declared[name] for name in others if name in declared] if declared else None
    found = {v.name: v for v in given or ()}
    left = [name for name in others if name not in found]
    if left:
        found |= {v.name: v for v in data.coding(reading, left, None).variables}
    coding = Coding(
        tuple([found.get(name) or declared[name] for name in dag.nodes]), data.weights,
        "missing" if given else "error", hidden=frozenset(hidden),
    )  # fmt: skip
    return PartitionCounter(data, coding)


# Jobs are functions of a module, so that they can be sent to another process.


def _kinds_of_block(scopes: list[tuple[int, ...]], table: Table, weights: Floats | None) -> Kinds:
    whole = table.complete_rows()
    kinds, numbers = kinds_of_rows(table.codes[:, ~whole])
    own = np.bincount(numbers, None if weights is None else weights[~whole], minlength=kinds.shape[1])
    rows = TableCounter._of_shares(table.take(whole), None if weights is None else weights[whole])
    complete = tuple(counts.astype(np.float64) for counts in rows.tables(scopes))
    seen = np.array([(codes != card).any() for codes, card in zip(table.codes, table.cards)], dtype=bool)
    kept = kinds if kinds.nbytes <= MOST_BYTES else None
    return Kinds(complete, kept, own.astype(np.float64), seen, table.n_rows)


def _add_kinds(cards: Sequence[int], one: Kinds, other: Kinds) -> Kinds:
    complete = tuple(mine + theirs for mine, theirs in zip(one.complete, other.complete, strict=True))
    seen, n_rows = one.seen | other.seen, one.n_rows + other.n_rows
    if one.codes is None or other.codes is None:
        return Kinds(complete, None, np.zeros(0), seen, n_rows)
    kinds, numbers = kinds_of_rows(np.concatenate([one.codes, other.codes], axis=1))
    weights = np.bincount(numbers, np.concatenate([one.weights, other.weights]), minlength=kinds.shape[1]).astype(float)
    kept = kinds if kinds.nbytes <= MOST_BYTES else None
    return Kinds(complete, kept, weights, seen, n_rows)


def _expect_block(
    dag: DAG, prior: Prior, tables: tuple[Floats, ...], table: Table, weights: Floats | None
) -> tuple[Floats, ...]:
    counts, log_likelihood = IncompleteRows(dag, table, weights, prior).expect(tables)
    return (*(np.array(own, dtype=np.float64) for own in counts), np.array([log_likelihood]))
