"""A source of rows has only to yield blocks, or to run jobs elsewhere; everything else follows."""

from __future__ import annotations

import pickle

import numpy as np
from counts.samples import make_table

from bntk import Table
from bntk.learning.counts import Counter, TableCounter


class Streamed(Counter):
    """Rows that come in batches."""

    def __init__(self, table: Table, batch: int) -> None:
        super().__init__(table.variables)
        self.table, self.batch = table, batch

    n_rows = property(lambda self: self.table.n_rows)
    weighted = property(lambda self: False)
    total_weight = property(lambda self: float(self.table.n_rows))

    def _blocks(self):
        for start in range(0, self.table.n_rows, self.batch):
            yield Table.from_codes(self.table.codes[:, start : start + self.batch], self.variables), None


class Remote(Streamed):
    """Jobs, blocks and results cross the border of a process."""

    def _map_blocks(self, job):
        for table, weights in self._blocks():
            sent, rows = pickle.loads(pickle.dumps((job, table)))
            yield pickle.loads(pickle.dumps(sent(rows, weights)))


def assert_same_answers(one: Counter, other: Counter) -> None:
    families = [[0], [1, 2], [0, 1, 2, 3, 4]]
    for left, right in zip(one.tables(families), other.tables(families), strict=True):
        np.testing.assert_array_equal(left, right)
    for left, right in zip(one.extensions([1], [0, 2]), other.extensions([1], [0, 2]), strict=True):
        np.testing.assert_array_equal(left, right)
    for left, right in zip(one.compact(families), other.compact(families), strict=True):
        np.testing.assert_array_equal(left.counts, right.counts)
        assert left.q == right.q
        if right.configurations is not None:
            np.testing.assert_array_equal(left.configurations, right.configurations)
    for target in (None, 2):
        np.testing.assert_array_equal(one.pairs(target).counts, other.pairs(target).counts)
        np.testing.assert_array_equal(one.pairs(target).single_counts, other.pairs(target).single_counts)


def test_all_sources_give_the_same_answers():
    table = make_table(4, [3, 8, 2, 30, 12], 500, 0.05)
    memory = TableCounter(table)
    assert_same_answers(Streamed(table, 120), memory)
    assert_same_answers(Remote(table, 77), memory)
    assert_same_answers(pickle.loads(pickle.dumps(memory)), memory)


def test_sums_of_different_sources():
    table = make_table(4, [3, 8, 2, 30, 12], 500, 0.05)
    twice = Table.from_codes(np.concatenate((table.codes, table.codes), axis=1), table.variables)
    joined = Remote(table, 200) + TableCounter(table)
    assert_same_answers(joined, TableCounter(twice))
    assert repr(joined) == "SumCounter: 1,000 rows x 5 variables"
    assert len((joined + joined).parts) == 4
