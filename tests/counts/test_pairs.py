"""All pairs at once equal the tables of each pair, by planes and by increments."""

from __future__ import annotations

import numpy as np
import pytest
from counts.samples import make_table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk import Table
from bntk.errors import DataError, TooLargeError, UnknownNameError
from bntk.learning.counts import TableCounter, plane_kernels, planes


def check_pairs(counter: TableCounter, target: int | None) -> None:
    """Every pair, single and class table equals what :meth:`tables` counts, without remembering the pairs."""
    pairs, counter = counter.pairs(target), TableCounter(counter.table, counter.weights)
    given_target = () if target is None else (counter.names[target],)
    for i, j, counts in pairs:
        (expected,) = counter.tables([(*given_target, pairs.names[i], pairs.names[j])])
        assert counts.dtype == expected.dtype
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(pairs.table(j, i), np.swapaxes(expected, -1, -2))
    for name in pairs.names:
        np.testing.assert_array_equal(pairs.single(name), counter.tables([(*given_target, name)])[0])
    np.testing.assert_array_equal(pairs.class_counts, np.atleast_1d(counter.tables([given_target])[0]))


def force(patch: pytest.MonkeyPatch, technique: str) -> None:
    """Count all pairs by one technique (planes as far as they go)."""
    patch.setattr(planes, "MOST_PRODUCTS", 10**9 if technique == "planes" else -1)


@pytest.mark.parametrize("technique", ["planes", "increments", "chosen"])
@pytest.mark.parametrize("with_target", [False, True])
@given(table=tables(max_variables=6, cards=(1, 2, 3, 4, 30)), data=st.data())
@settings(max_examples=25)
def test_pairs_are_tables(technique, with_target, table, data):
    target = data.draw(st.integers(0, len(table.variables) - 1)) if with_target else None
    with pytest.MonkeyPatch.context() as patch:
        if technique != "chosen":
            force(patch, technique)
        check_pairs(TableCounter(table), target)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("n_classes", [2, 20])
def test_many_rows(missing, n_classes, monkeypatch):
    """Several chunks, tiles and blocks of words, and both ways to group rows."""
    monkeypatch.setattr(planes, "CHUNK", 90_000)
    assert (n_classes > plane_kernels.MOST_PASSES) == (n_classes == 20)
    cards = [2, 3, 4, 5, 2, 9, 12, 2, 1, 3, 25, 40, n_classes]
    check_pairs(TableCounter(make_table(3, cards, 200_001, missing, 0.5)), len(cards) - 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_more_than_255_states(weighted):
    table = make_table(5, [300, 2, 3, 2, 17], 3000, 0.1)
    weights = np.random.default_rng(0).integers(0, 9, 3000) / 4 if weighted else None
    for target in (None, 1, 0):
        check_pairs(TableCounter(table, weights), target)


def test_pairs_are_additive():
    table = make_table(9, [2, 3, 17, 2, 40], 900, 0.05, 0.3)
    whole = TableCounter(table)
    one, other = (
        TableCounter(Table.from_codes(table.codes[:, part], table.variables)) for part in (slice(300), slice(300, 900))
    )
    for target in (None, 3):
        expected = whole.pairs(target)
        for pairs in ((one + other).pairs(target), one.pairs(target) + other.pairs(target)):
            np.testing.assert_array_equal(pairs.counts, expected.counts)
            np.testing.assert_array_equal(pairs.single_counts, expected.single_counts)
            np.testing.assert_array_equal(pairs.class_counts, expected.class_counts)
    with pytest.raises(DataError, match="same target"):
        one.pairs() + other.pairs("v0")


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing(weighted):
    table = make_table(8, [2, 3, 4, 30, 2, 3, 40, 2] * 2, 70_000, 0.05, 0.5)
    weights = np.random.default_rng(1).random(table.n_rows) if weighted else None
    answers = []
    for threads in (1, 2, 5):
        bntk.set_threads(threads)
        pairs = TableCounter(table, weights).pairs("v1")
        answers.append((pairs.counts.tobytes(), pairs.single_counts.tobytes(), pairs.class_counts.tobytes()))
    assert answers[0] == answers[1] == answers[2]


def test_layout_is_as_documented():
    counter = TableCounter(make_table(1, [2, 3, 4, 2, 5], 500))
    pairs = counter.pairs("v3", among=["v4", "v0", "v2"])
    assert pairs.names == ("v4", "v0", "v2")
    assert pairs.target == counter.variables[3]
    offsets = iter(pairs.offsets)
    for i, j, counts in pairs:
        at = next(offsets)
        assert at == pairs.layout.offsets(i, j)
        np.testing.assert_array_equal(pairs.counts[at : at + counts.size], counts.ravel())
        assert np.shares_memory(counts, pairs.counts)
    assert next(offsets, None) is None
    assert "3 pairs of 3 variables given v3" in repr(pairs)


def test_few_variables():
    counter = TableCounter(make_table(1, [2, 3], 50, 0.2))
    assert list(counter.pairs("v0")) == []
    np.testing.assert_array_equal(counter.pairs("v0").single("v1"), counter.tables([["v0", "v1"]])[0])
    assert counter.pairs(among=[]).counts.size == 0
    assert counter.pairs(among=[]).offsets.size == 0


def test_mistakes_at_the_door():
    counter = TableCounter(make_table(1, [2, 3, 4], 50))
    with pytest.raises(DataError, match="target 'v1' cannot also"):
        counter.pairs("v1", among=["v0", "v1"])
    with pytest.raises(DataError, match="'v0' is given twice"):
        counter.pairs(among=["v0", "v0"])
    with pytest.raises(DataError, match="'v0' is given twice"):
        counter.pairs().table("v0", 0)
    with pytest.raises(UnknownNameError, match="the variables are 'v0', 'v2'"):
        counter.pairs("v1").table("v0", "v1")
    with pytest.raises(TooLargeError, match=r"3 variables given 1 classes would have 26 .* limit of 20; .*max_entries"):
        counter.pairs(max_entries=20)


@pytest.mark.parametrize("part_entries", [60, 200, 1000])
def test_parts_have_every_pair(monkeypatch, part_entries):
    """Part by part, each table is the one of all pairs at once, and no part is too large if it can be helped."""
    from bntk.learning.counts import pairs as module

    monkeypatch.setattr(module, "PART_ENTRIES", part_entries)
    counter = TableCounter(make_table(3, [2, 3, 2, 4, 1, 2, 3, 2], 80, missing=0.1))
    for target in (None, "v0"):
        among = [name for name in counter.names if name != target]
        whole, seen = counter.pairs(target, among), set()
        for places, part in counter.pair_parts(target, among):
            assert part.counts.size <= part_entries or len(places) == 2
            assert part.names == tuple(among[place] for place in places)
            for i, j, table in part:
                np.testing.assert_array_equal(table, whole.table(int(places[i]), int(places[j])))
                seen.add(frozenset((int(places[i]), int(places[j]))))
        assert len(seen) == len(among) * (len(among) - 1) // 2


def test_trees_do_not_depend_on_parts(monkeypatch):
    from bntk.learning.counts import pairs as module

    frame = make_table(5, [2, 3, 2, 4, 2, 2, 3, 2], 300, missing=0.05).to_pandas()
    X, y = frame.drop(columns="v0"), frame["v0"].astype(str)
    models = [bntk.TAN(), bntk.FAN(), bntk.KDB(), bntk.STAN(), bntk.SelectiveKDB()]
    expected = [bntk.learn(frame, space=bntk.spaces.tree(frame.columns)).dag, *(m.fit(X, y).dag_ for m in models)]
    monkeypatch.setattr(module, "PART_ENTRIES", 100)
    found = [bntk.learn(frame, space=bntk.spaces.tree(frame.columns)).dag, *(m.fit(X, y).dag_ for m in models)]
    assert found == expected


def test_pairs_that_are_too_large_name_what_would_do():
    """Two columns with tens of thousands of labels each: no parameter that trees do not have is named."""
    n = 12_000
    frame = {"a": [f"a{i}" for i in range(n)], "b": [f"b{i}" for i in range(n)], "c": ["x", "y"] * (n // 2)}
    with pytest.raises(TooLargeError, match="over the limit of .*NaiveBayes") as refused:
        bntk.TAN(identifiers="keep").fit({"a": frame["a"], "b": frame["b"]}, frame["c"])
    assert "max_entries" not in str(refused.value)
