"""Statistical tests against scipy, published numbers, and special cases with a known answer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from bntk.errors import DataError
from bntk.evaluation import (
    corrected_t,
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    nemenyi,
    paired_t,
    ranks,
    wilcoxon,
)

NUMBERS = st.floats(-1, 1, allow_nan=False, width=16)

#: Demšar (2006), Table 6: the area under the curve of C4.5 with and without two kinds of tuning.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # printed as equal, but ranked 2 and 3 there
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def tables(least: int = 3, rows: int = 2):
    shapes = st.tuples(st.integers(rows, 8), st.integers(least, 6))
    return shapes.flatmap(
        lambda shape: st.lists(
            st.lists(st.integers(0, 5), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )
    ).map(lambda values: np.array(values, dtype=float))


def pairs(most: int):
    return st.integers(2, most).flatmap(
        lambda n: st.tuples(st.lists(NUMBERS, min_size=n, max_size=n), st.lists(NUMBERS, min_size=n, max_size=n))
    )


@given(pairs(12))
def test_the_paired_t_test_is_that_of_scipy(pair):
    first, second = map(np.array, pair)
    assume(np.ptp(first - second) > 1e-3)
    found, expected = paired_t(first, second), stats.ttest_rel(first, second)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.mean == pytest.approx((first - second).mean())


@given(pairs(12), st.integers(1, 50), st.integers(1, 500))
def test_the_corrected_t_test_widens_the_error_by_the_shared_training_rows(pair, n_test, n_train):
    first, second = map(np.array, pair)
    assume(np.ptp(first - second) > 1e-3)
    n, plain = len(first), paired_t(first, second)
    found = corrected_t(first, second, n_train, n_test)
    assert found.standard_error == pytest.approx(plain.standard_error * math.sqrt(1 + n * n_test / n_train))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.statistic), n - 1))
    assert found.p >= plain.p - 1e-12


def test_equal_classifiers_have_p_one_and_constant_differences_p_zero():
    same = corrected_t([0.8, 0.7, 0.9], [0.8, 0.7, 0.9], 90, 10)
    assert (same.mean, same.standard_error, same.p) == (0, 0, 1)
    shifted = paired_t([1.5, 2.5, 3.5], [1, 2, 3])
    assert (shifted.mean, shifted.standard_error, shifted.p) == (0.5, 0, 0)
    assert wilcoxon([0.5, 0.5], [0.5, 0.5]).p == 1


@given(pairs(9))
@settings(max_examples=30)  # scipy's exact distribution goes through all signs where numbers are equal
def test_the_signed_rank_test_is_that_of_scipy(pair):
    first, second = map(np.array, pair)
    assume((first != second).any())
    found, expected = wilcoxon(first, second), stats.wilcoxon(first, second)
    assert (found.statistic, found.p) == (expected.statistic, expected.pvalue)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_stepwise_bonferroni(p_values):
    found = holm(p_values)
    for i, p in enumerate(p_values):
        others = [q for q in p_values if q <= p]
        steps = [q * sum(other >= q for other in p_values) for q in others]
        assert found[i] == pytest.approx(min(1.0, max(steps)))


@given(tables())
def test_friedmans_test_is_that_of_scipy(values):
    assume(any(np.ptp(row) > 0 for row in values))
    found, expected = friedman(values), stats.friedmanchisquare(*values.T)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)


@given(tables(rows=2))
def test_f_of_iman_and_davenport_is_analysis_of_variance_of_ranks(values):
    """F = MS(classifiers) / MS(rest) of the ranks with data sets as blocks."""
    placed = ranks(values).to_numpy()
    n, k = placed.shape
    centre = (k + 1) / 2
    between = n * ((placed.mean(axis=0) - centre) ** 2).sum()
    within = ((placed - centre) ** 2).sum() - between
    assume(within > 1e-9)
    found = friedman(values)
    assert found.f_statistic == pytest.approx((between / (k - 1)) / (within / ((k - 1) * (n - 1))), abs=1e-9)
    assert found.f_p == pytest.approx(stats.f.sf(found.f_statistic, k - 1, (k - 1) * (n - 1)))


def test_without_any_difference_friedmans_p_is_one():
    found = friedman(np.ones((4, 3)))
    assert (found.statistic, found.p, found.f_p) == (0, 1, 1)


def test_the_example_of_demsar_comes_out_as_published():
    found = friedman(DEMSAR)
    assert found.ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    tied = sum((counts**3 - counts).sum() for row in DEMSAR for counts in [np.unique(row, return_counts=True)[1]])
    uncorrected = found.statistic * (1 - tied / (14 * (4**3 - 4)))
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert 13 * uncorrected / (14 * 3 - uncorrected) == pytest.approx(3.69, abs=0.01)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.005)


@pytest.mark.parametrize(
    ("k", "q05", "q10"),
    [(2, 1.960, 1.645), (3, 2.343, 2.052), (4, 2.569, 2.291), (5, 2.728, 2.459), (7, 2.949, 2.693), (10, 3.164, 2.920)],
)
def test_critical_values_are_those_of_demsars_table_5(k, q05, q10):
    for q, alpha in ((q05, 0.05), (q10, 0.10)):
        assert critical_difference(k, 20, alpha) / math.sqrt(k * (k + 1) / 120) == pytest.approx(q, abs=1e-3)


def test_nemenyi_of_two_classifiers_is_the_normal_test_of_their_ranks():
    values = np.random.default_rng(0).normal(size=(9, 2))
    found = nemenyi(values)
    z = abs(found.ranks[0] - found.ranks[1]) / math.sqrt(2 * 3 / (6 * 9))
    assert found.p.loc[0, 1] == pytest.approx(2 * stats.norm.sf(z), abs=1e-6)
    assert found.p.loc[0, 0] == 1


def test_nemenyi_p_values_are_those_of_the_studentised_range_and_agree_with_the_critical_difference():
    found = nemenyi(DEMSAR)
    k, n = 4, 14
    for i in range(k):
        for j in range(k):
            gap = abs(found.ranks[i] - found.ranks[j])
            q = gap / math.sqrt(k * (k + 1) / (6 * n)) * math.sqrt(2)
            if i != j:
                assert found.p.loc[i, j] == pytest.approx(stats.studentized_range.sf(q, k, np.inf))
                assert (found.p.loc[i, j] <= 0.05) == (gap >= found.critical_difference)


@given(tables(least=2))
def test_groups_are_the_largest_sets_without_a_significant_difference(values):
    found = nemenyi(pd.DataFrame(values, columns=[f"c{j}" for j in range(values.shape[1])]))
    groups = [set(group) for group in found.groups]
    for group in groups:
        own = found.ranks[sorted(group)]
        assert own.max() - own.min() < found.critical_difference
        assert not any(group < other for other in groups)
    for a in found.ranks.index:
        for b in found.ranks.index:
            if a < b:
                alike = abs(found.ranks[a] - found.ranks[b]) < found.critical_difference
                assert alike == any({a, b} <= group for group in groups)


@given(tables(least=2, rows=1))
def test_ranks_are_reversed_when_smaller_is_better(values):
    k = values.shape[1]
    assert (ranks(values) + ranks(values, greater_is_better=False) == k + 1).all(axis=None)
    assert mean_ranks(values).sum() == pytest.approx(k * (k + 1) / 2)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: paired_t([1, 2], [1, 2, 3]), r"\(2,\) and \(3,\)"),
        (lambda: paired_t([1], [2]), "two splits"),
        (lambda: corrected_t([1, math.nan], [1, 2], 9, 1), "pair 1"),
        (lambda: friedman([[1], [2]]), "two classifiers"),
        (lambda: nemenyi(pd.DataFrame({"a": [1, 2], "b": [1, None]}, index=["x", "y"])), "'b' on 'y'"),
    ],
)
def test_errors_name_what_is_wrong(call, named):
    with pytest.raises(DataError, match=named):
        call()
    with pytest.raises(ValueError, match="alpha must be a number above 0 and below 1"):
        critical_difference(3, 5, 2.0)


def test_results_of_the_same_numbers_are_equal_also_where_a_number_is_undefined():
    first, second = [0.82, 0.75, 0.91, 0.84], [0.80, 0.70, 0.90, 0.86]
    one, two = (wilcoxon(first, second) for _ in range(2))
    assert np.isnan(one.standard_error)
    assert one == replace(two, standard_error=float("nan"))
    assert hash(one) == hash(replace(two, standard_error=float("nan")))
    assert one != wilcoxon(second, first)
    assert one != "Wilcoxon"
