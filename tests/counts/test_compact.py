"""Compact tables: the dense table scattered back, sorted, any number of parents."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from counts.samples import make_table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk import Table
from bntk.errors import DataError, TooLargeError
from bntk.learning.counts import TableCounter, base


@pytest.fixture
def always_sparse(monkeypatch):
    monkeypatch.setattr(base, "ALWAYS_DENSE", 0)


def scatter_back(compact, cards) -> np.ndarray:
    """The dense table of a compact one."""
    if compact.configurations is None:
        return compact.counts.reshape(cards)
    dense = np.zeros(cards, dtype=compact.counts.dtype)
    for configuration, counts in zip(compact.configurations, compact.counts, strict=True):
        dense[tuple(configuration)] += counts
    return dense


@given(tables(), st.booleans())
@settings(max_examples=60)
def test_compact_scattered_back_is_dense(table, weighted):
    weights = np.random.default_rng(0).integers(0, 9, table.n_rows) / 4 if weighted else None
    counter = TableCounter(table, weights)
    families = [range(k) for k in range(1, min(4, len(table.variables)) + 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "ALWAYS_DENSE", 0)
        compacts = counter.compact(families)
    for family, compact, dense in zip(families, compacts, counter.tables(families), strict=True):
        cards = [table.variables[v].n_states for v in family]
        assert (compact.configurations is not None) == (len(family) > 1 and dense.size > table.n_rows)
        assert compact.q == int(np.prod(cards[:-1]))
        assert compact.counts.dtype == dense.dtype
        np.testing.assert_array_equal(scatter_back(compact, cards), dense)


@pytest.mark.usefixtures("always_sparse")
def test_configurations_are_seen_distinct_and_sorted():
    table = make_table(4, [4, 3, 5, 2], 40, 0.1)
    (compact,) = TableCounter(table).compact([[0, 1, 2, 3]])
    rows = [tuple(row) for row in compact.configurations.tolist()]
    assert rows == sorted(set(rows))
    complete = (table.codes < np.array([[4], [3], [5], [2]])).all(axis=0)
    assert set(rows) == set(map(tuple, table.codes[:3, complete].T.tolist()))


@pytest.mark.parametrize("n_parents", [30, 200])
def test_more_parents_than_64_bits(n_parents):
    """Rows are drawn from few configurations, so that many agree in all parents."""
    rng = np.random.default_rng(7)
    prototypes = make_table(6, [8] * n_parents + [3], 50, 0.002)
    chosen = rng.integers(0, 50, 2000)
    codes = prototypes.codes[:, chosen].copy()
    codes[-1] = rng.integers(0, 3, 2000)
    table = Table.from_codes(codes, prototypes.variables)
    (compact,) = TableCounter(table).compact([range(n_parents + 1)])
    assert compact.q == 8**n_parents
    complete = (codes < table.cards[:, None]).all(axis=0)
    seen, numbers = np.unique(codes[:-1, complete].T, axis=0, return_inverse=True)
    np.testing.assert_array_equal(compact.configurations, seen)
    expected = np.zeros((len(seen), 3), dtype=int)
    np.add.at(expected, (numbers.ravel(), codes[-1, complete]), 1)
    np.testing.assert_array_equal(compact.counts, expected)


def test_compact_is_additive():
    table = make_table(9, [4, 7, 17, 5, 3], 900, 0.05, 0.3)
    whole = TableCounter(table)
    parts = [Table.from_codes(table.codes[:, a:b], table.variables) for a, b in ((0, 0), (0, 300), (300, 900))]
    joined = TableCounter(parts[0]) + TableCounter(parts[1]) + TableCounter(parts[2])
    families = [[0, 1, 2, 3, 4], [0, 4], [1, 2, 3, 4, 0]]
    for one, other in zip(joined.compact(families), whole.compact(families), strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
        assert one.q == other.q
        if one.configurations is None:
            assert other.configurations is None
        else:
            np.testing.assert_array_equal(one.configurations, other.configurations)


@pytest.mark.usefixtures("eager_threads")
def test_threads_change_nothing():
    table = make_table(9, [4, 7, 17, 5, 3], 3000, 0.05, 0.3)
    counter = TableCounter(table, np.random.default_rng(0).random(3000))
    families = [[0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [2, 3, 1, 4, 0]]
    answers = []
    for threads in (1, 2, 5):
        bntk.set_threads(threads)
        answers.append([(c.counts.tobytes(), c.configurations.tobytes()) for c in counter.compact(families)])
    assert answers[0] == answers[1] == answers[2]


def test_dense_table_is_never_made():
    table = make_table(2, [100] * 8, 200)
    counter = TableCounter(table)
    counter.compact([range(5)])
    tracemalloc.start()
    (compact,) = counter.compact([range(8)])
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    assert compact.q == 100**7
    assert len(compact.counts) <= 200
    with pytest.raises(TooLargeError, match=r"v7 given 7 parents has .* entries; the limit is max_entries = 10"):
        counter.compact([range(8)], max_entries=10)


def test_child_alone_and_no_rows():
    counter = TableCounter(make_table(2, [3, 200, 200], 0))
    alone, sparse = counter.compact([[0], [0, 1, 2]])
    assert alone.counts.tolist() == [[0, 0, 0]]
    assert (alone.q, alone.configurations) == (1, None)
    assert sparse.counts.shape == (0, 200)
    assert sparse.configurations.shape == (0, 2)
    with pytest.raises(DataError, match="at least a child"):
        counter.compact([[]])
