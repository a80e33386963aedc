"""Dense tables equal brute force, add up, and do not depend on threads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from counts.samples import count_slowly, make_table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk import Table, Variable
from bntk.errors import DataError, TooLargeError, UnknownNameError
from bntk.learning.counts import TableCounter, kernels


def some_families(data, n_variables: int) -> list[list[int]]:
    order = st.permutations(range(n_variables))
    return [data.draw(order)[: data.draw(st.integers(0, min(3, n_variables)))] for _ in range(3)]


def split(table: Table, at: int) -> tuple[Table, Table]:
    return tuple(Table.from_codes(table.codes[:, part], table.variables) for part in (slice(at), slice(at, None)))


@given(tables(), st.data())
@settings(max_examples=60)
def test_tables_equal_brute_force(table, data):
    families = some_families(data, len(table.variables))
    for family, counts in zip(families, TableCounter(table).tables(families), strict=True):
        assert counts.dtype == np.int64
        np.testing.assert_array_equal(counts, count_slowly(table, family))


@given(tables(), st.data())
@settings(max_examples=30)
def test_weighted_tables_equal_brute_force(table, data):
    weights = np.random.default_rng(0).integers(0, 9, table.n_rows) / 4
    families = some_families(data, len(table.variables))
    for family, counts in zip(families, TableCounter(table, weights).tables(families), strict=True):
        assert counts.dtype == np.float64
        np.testing.assert_array_equal(counts, count_slowly(table, family, weights))


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("skew", [0.1, 5.0])
def test_many_rows_equal_pandas(missing, skew):
    """Enough rows for packing, lanes, several stretches and spans."""
    table = make_table(3, [1, 2, 3, 4, 7, 17, 50, 200], 3 * kernels.STRETCH + 12345, missing, skew)
    families = [[0], [1], [1, 2], [4, 3, 2, 1], [5], [6, 7], [7, 6, 3], [0, 1, 5, 6], [2, 6, 7, 5]]
    frame = pd.DataFrame(table.codes.T).astype(np.int64)
    for family, counts in zip(families, TableCounter(table).tables(families), strict=True):
        cards = [table.variables[v].n_states for v in family]
        complete = frame[(frame[family] < cards).all(axis=1)]
        expected = np.bincount(np.ravel_multi_index(complete[family].to_numpy().T, cards), minlength=counts.size)
        np.testing.assert_array_equal(counts.ravel(), expected)
    crossed = pd.crosstab(frame[1], frame[2]).reindex(index=range(2), columns=range(3), fill_value=0)
    np.testing.assert_array_equal(TableCounter(table).tables([[1, 2]])[0], crossed.to_numpy())


def test_more_than_255_states():
    table = make_table(5, [300, 2, 3], 5000, 0.1)
    assert table.codes.dtype == np.uint16
    families = [[0], [1, 0], [0, 2, 1]]
    for weights in (None, np.ones(5000)):
        for family, counts in zip(families, TableCounter(table, weights).tables(families), strict=True):
            np.testing.assert_array_equal(counts, count_slowly(table, family))


def test_no_rows_and_empty_families():
    table = make_table(0, [2, 3], 0)
    zero, both = TableCounter(table).tables([[], [0, 1]])
    assert zero.shape == ()
    assert both.tolist() == [[0] * 3] * 2
    assert TableCounter(make_table(0, [2, 3], 7)).tables([[]])[0] == 7
    assert TableCounter(table).tables([]) == []


@given(tables(), st.data())
@settings(max_examples=40)
def test_extensions_are_tables(table, data):
    order = data.draw(st.permutations(range(len(table.variables))))
    cut = data.draw(st.integers(0, len(order) - 1))
    base, others = order[:cut], order[cut:]
    counter = TableCounter(table)
    expected = counter.tables([(*base, x) for x in others])
    for counts, table_ in zip(counter.extensions(base, others), expected, strict=True):
        np.testing.assert_array_equal(counts, table_)


@given(tables(), st.data())
@settings(max_examples=30)
def test_counts_are_additive(table, data):
    at = data.draw(st.integers(0, table.n_rows))
    families = some_families(data, len(table.variables))
    whole = TableCounter(table)
    one, other = split(table, at)
    joined = TableCounter(one).update(other)
    assert joined.n_rows == whole.n_rows == joined.total_weight
    for left, right in zip(joined.tables(families), whole.tables(families), strict=True):
        np.testing.assert_array_equal(left, right)


def test_rows_without_weights_weigh_one():
    one, other = split(make_table(1, [2, 3], 100, 0.1), 40)
    weights = np.arange(60) / 2
    for joined in (TableCounter(one) + TableCounter(other, weights), TableCounter(other, weights).update(one)):
        assert joined.weighted
        assert joined.total_weight == 40 + weights.sum()
        (counts,) = joined.tables([[0, 1]])
        np.testing.assert_array_equal(counts, count_slowly(one, [0, 1]) + count_slowly(other, [0, 1], weights))


def test_adding_changes_nothing():
    counter = TableCounter(make_table(1, [2, 3], 10))
    before = counter.tables([[0, 1]])[0].copy()
    (counter + counter + counter).tables([[0, 1]])[0][:] = -1
    np.testing.assert_array_equal(counter.tables([[0, 1]])[0], before)
    assert counter.n_rows == 10


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing(weighted):
    table = make_table(8, [2, 3, 4, 5, 2, 3], 5 * kernels.STRETCH + 77, 0.05, 0.5)
    weights = np.random.default_rng(1).random(table.n_rows) if weighted else None
    counter = TableCounter(table, weights)
    families = [[0], [1, 2], [3, 4, 5], [0, 1, 2, 3, 4, 5]]
    answers = []
    for threads in (1, 2, 3, 7):
        bntk.set_threads(threads)
        answers.append([t.tobytes() for t in [*counter.tables(families), *counter.extensions([0], [1, 2, 3])]])
    assert all(answer == answers[0] for answer in answers)


def test_too_large_says_the_numbers_and_allocates_nothing():
    table = make_table(2, [100] * 10, 20)
    tracemalloc.start()
    with pytest.raises(TooLargeError, match=r"v0 x v1 x .* 10,000,000,000 entries .* max_entries = 134,217,728"):
        TableCounter(table).tables([range(5)])
    with pytest.raises(TooLargeError, match=r"3 tables would have 30,000 entries together.* max_entries = 20,000"):
        TableCounter(table).tables([[0, 1], [1, 2], [2, 3]], max_entries=20_000)
    with pytest.raises(TooLargeError, match=r"4,294,967,294"):
        TableCounter(table).tables([range(5)], max_entries=2**60)
    with pytest.raises(TooLargeError, match="entries"):
        TableCounter(table).extensions(range(4), [5], max_entries=10**9)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_mistakes_at_the_door():
    counter = TableCounter(make_table(2, [2, 3, 2], 20))
    with pytest.raises(UnknownNameError, match="no variable 'x'; the variables are 'v0', 'v1', 'v2'"):
        counter.tables([["v0", "x"]])
    with pytest.raises(UnknownNameError, match="no variable 3"):
        counter.tables([[3]])
    with pytest.raises(UnknownNameError, match="no variable -1"):
        counter.tables([[-1]])
    with pytest.raises(DataError, match=r"'v1' is given twice in the family \(v1, v0, v1\)"):
        counter.tables([["v1", "v0", 1]])
    with pytest.raises(DataError, match="'v0' is given twice"):
        counter.extensions(["v0"], ["v1", "v0"])
    with pytest.raises(DataError, match="not the string 'v0'"):
        counter.tables(["v0"])


def test_bad_weights_name_the_row():
    table = make_table(2, [2], 4)
    with pytest.raises(DataError, match="one weight for each of the 4 rows"):
        TableCounter(table, [1.0, 2.0])
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(DataError, match="weight of row 2 is"):
            TableCounter(table, [1.0, 1.0, bad, -5.0])


def test_counters_of_different_variables_do_not_add():
    counter = TableCounter(make_table(2, [2, 3], 4))
    with pytest.raises(DataError, match="'v1'"):
        counter + TableCounter(make_table(2, [2, 4], 4))
    with pytest.raises(DataError, match="'v2' in one only"):
        counter + TableCounter(make_table(2, [2, 3, 2], 4))
    with pytest.raises(TypeError):
        counter + 1


def test_caller_cannot_reach_the_weights():
    weights = np.ones(4)
    counter = TableCounter(Table.from_codes(np.zeros((1, 4), np.uint8), [Variable("a", ["x", "y"])]), weights)
    weights[:] = 5
    assert counter.total_weight == 4
