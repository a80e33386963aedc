"""A counter that has counted pairs answers for small families from memory, with what counting anew would give."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from counts.samples import count_slowly, make_table, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.errors import TooLargeError
from bntk.learning.counts import Counter, TableCounter


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry per reading of rows by any counter."""
    seen: list[str] = []
    original = Counter._map_blocks

    def reading(self: Counter, job):
        seen.append(str(job))
        return original(self, job)

    monkeypatch.setattr(Counter, "_map_blocks", reading)
    return seen


@given(table=tables(max_variables=5, max_rows=40), data=st.data())
@settings(max_examples=60)
def test_what_is_remembered_is_what_is_counted(table, data):
    n = table.n_variables
    target = data.draw(st.none() | st.integers(0, n - 1))
    others = [v for v in range(n) if v != target]
    among = data.draw(st.lists(st.sampled_from(others), unique=True) if others else st.just([]))
    weighted = data.draw(st.booleans())
    weights = np.random.default_rng(1).random(table.n_rows) if weighted else None
    counter = TableCounter(table, weights)
    counter.pairs(target, among)
    families = [family for size in (1, 2, 3) for family in permutations(range(n), min(size, n))]
    for family, found in zip(families, counter.tables(families), strict=True):
        np.testing.assert_allclose(found, count_slowly(table, family, weights), rtol=1e-9, atol=1e-12)


def test_pairs_are_counted_once_and_hold_the_families_of_trees(readings):
    table = make_table(1, [2, 3, 4, 2], 50)
    counter = TableCounter(table)
    pairs = counter.pairs("v3")
    assert counter.pairs("v3") is pairs
    assert len(readings) == 1
    counter.tables([["v3"], ["v3", "v0"], ["v1", "v3", "v0"], ["v2"]])
    assert len(readings) == 1
    counter.tables([["v0", "v1", "v2"], ["v3", "v0"]])  # three features are in no pair
    assert len(readings) == 2


def test_changing_a_table_that_was_given_changes_nothing_that_is_remembered():
    counter = TableCounter(make_table(2, [2, 3, 2], 40))
    counter.pairs(2)
    (first,) = counter.tables([(2, 0, 1)])
    expected = first.copy()
    first[:] = -1
    np.testing.assert_array_equal(counter.tables([(2, 0, 1)])[0], expected)


def test_the_limit_holds_for_what_is_remembered_too():
    counter = TableCounter(make_table(3, [4, 4, 4], 40))
    counter.pairs(2)
    with pytest.raises(TooLargeError, match="64 entries"):
        counter.tables([(2, 0, 1)], max_entries=63)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("classifier", [bntk.TAN(), bntk.FAN(), bntk.NaiveBayes(), bntk.KDB(k=1)])
def test_a_classifier_reads_its_rows_once_and_twice_where_values_are_missing(classifier, missing, readings):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (300, 8)).astype(str)).rename(columns=lambda i: f"x{i}")
    frame = frame.mask(rng.random(frame.shape) < missing)
    classifier.fit(frame, rng.choice(["no", "yes"], 300))
    assert len(readings) <= (2 if missing else 1)


def test_a_chow_liu_tree_and_its_parameters_take_one_reading(readings):
    table = make_table(4, [2, 3, 2, 4, 2], 200)
    bntk.learn(table, "loglik", bntk.spaces.tree(table.names), prior=bntk.priors.Dirichlet(1))
    assert len(readings) == 1
