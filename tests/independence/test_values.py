"""Tests of independence have the values of R's bnlearn, of scipy, and of what can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import bnlearn_table, read_json, shared
from scipy import stats

import bntk
from bntk.errors import ArgumentError, DataError, UnknownNameError
from bntk.learning.counts import TableCounter
from bntk.learning.independence import FORMS, IndependenceTest, IndependenceTester
from bntk.learning.independence.single import question

BNLEARN = ("mi", "mi-adf", "x2", "x2-adf", "mi-sh")


@pytest.mark.parametrize("name", ["asia", "insurance", "learning.test"])
@pytest.mark.parametrize("test", BNLEARN)
def test_statistics_degrees_and_p_values_are_those_of_bnlearn(name, test):
    reference = read_json(shared(f"oracle/bnlearn/{name}_tests.json"))
    counter = TableCounter(bnlearn_table(name).take(slice(reference["rows"])))
    asked = reference["ci_tests"]
    found = IndependenceTester(counter, test).ask([question(counter, q["x"], q["y"], q["given"]) for q in asked])
    for mine, key in zip(found, ("statistic", "df", "p_value"), strict=True):
        np.testing.assert_allclose(
            mine, [q[test][key] for q in asked], rtol=1e-9, atol=1e-300 if key == "p_value" else 1e-9
        )


@given(
    st.integers(2, 4), st.integers(2, 4), st.integers(5, 60), st.integers(0, 2**32 - 1)
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_unconditional_tests_are_those_of_scipy(rx, ry, n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(np.arange(n) % rx), rng.permutation(np.arange(n) % ry)
    counts = np.zeros((rx, ry))
    np.add.at(counts, (x, y), 1)
    for name, kind in (("mi", "log-likelihood"), ("x2", "pearson")):
        found = bntk.independence({"x": x, "y": y}, "x", "y", test=name)
        wanted = stats.chi2_contingency(counts, correction=False, lambda_=kind)
        assert (found.statistic, found.p_value) == pytest.approx((wanted.statistic, wanted.pvalue), rel=1e-9, abs=1e-12)
        assert found.df == wanted.dof


@given(st.integers(0, 2**32 - 1), st.sampled_from(["mi", "x2", "mi-adf", "mi-sh", "bdeu"]))
@settings(max_examples=40, deadline=None)
def test_formulas_by_brute_force_over_strata(seed, name):
    rng = np.random.default_rng(seed)
    cards, n = rng.integers(2, 4, 4), int(rng.integers(10, 200))
    data = {k: rng.integers(c, size=n) for k, c in zip("xyzw", cards)}
    variables = [bntk.Variable(k, range(c)) for k, c in zip("xyzw", cards)]
    found = bntk.independence(data, "x", "y", ["z", "w"], name, variables=variables)
    table = np.zeros(cards)
    np.add.at(table, tuple(data[k] for k in "xyzw"), 1)
    rx, ry, q = cards[0], cards[1], cards[2] * cards[3]
    strata = [table[:, :, z, w] for z in range(cards[2]) for w in range(cards[3])]
    statistic, df = 0.0, (rx - 1) * (ry - 1) * q
    if name == "mi-sh":
        p = table / n
        t = 1 / table.size
        shrinkage = min(1.0, max(0.0, (1 - (p**2).sum()) / ((n - 1) * ((t - p) ** 2).sum())))
        strata = [n * (shrinkage * t + (1 - shrinkage) * s / n) for s in strata]
    if name == "bdeu":
        score = bntk.scores.BDeu(1.0)
        own = {"x": data["x"], "y": data["y"], "z": data["z"], "w": data["w"]}
        both = bntk.score("z; w; y; z -> x; w -> x; y -> x", own, score)
        assert found.df is None
        if all(len(np.unique(data[k])) == c for k, c in zip("xyzw", cards)):
            alone = bntk.score("z; w; y; z -> x; w -> x", own, score)
            assert found.statistic == pytest.approx(both - alone, abs=1e-8)
        assert found.p_value == pytest.approx(1 / (1 + math.exp(found.statistic)))
        return
    adjusted = 0
    for s in strata:
        expected = np.outer(s.sum(1), s.sum(0)) / max(s.sum(), 1e-300)
        seen = expected > 0
        if name == "x2":
            statistic += ((s - expected)[seen] ** 2 / expected[seen]).sum()
        else:
            cells = s > 0
            statistic += 2 * (s[cells] * np.log(s[cells] / expected[cells])).sum()
        if s.sum():
            adjusted += ((s.sum(1) > 0).sum() - 1) * ((s.sum(0) > 0).sum() - 1)
    if name == "mi-adf":
        df, statistic = adjusted, statistic if n >= 5 * table.size else 0.0
    assert found.statistic == pytest.approx(statistic, rel=1e-9, abs=1e-9)
    assert found.df == df
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, df) if df else 1.0, rel=1e-8)


def test_a_table_worked_out_by_hand():
    # Counts 30 10 / 20 40: row sums 40 and 60, column sums 50 and 50, expected 20 20 / 30 30.
    x, y = np.repeat([0, 0, 1, 1], [30, 10, 20, 40]), np.repeat([0, 1, 0, 1], [30, 10, 20, 40])
    assert bntk.independence({"x": x, "y": y}, "x", "y", test="x2").statistic == pytest.approx(
        100 / 20 * 2 + 100 / 30 * 2
    )
    g2 = 2 * (30 * math.log(1.5) + 10 * math.log(0.5) + 20 * math.log(2 / 3) + 40 * math.log(4 / 3))
    assert bntk.independence({"x": x, "y": y}, "x", "y").statistic == pytest.approx(g2)


def test_dense_and_seen_strata_agree():
    rng = np.random.default_rng(0)
    data = {f"v{k}": rng.integers(6, size=40) for k in range(8)}
    variables = [bntk.Variable(name, range(6)) for name in data]
    for name in BNLEARN:
        dense, sparse = (
            IndependenceTester(TableCounter(bntk.Table.from_columns(data, variables=variables)), name) for _ in range(2)
        )
        dense._limit, sparse._limit = 10**9, 0
        asked = [(0, 1, (2, 3, 4, 5)), (2, 3, ()), (1, 7, (0, 6))]
        for a, b in zip(dense.ask(asked), sparse.ask(asked), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["mc-mi", "mc-x2"])
def test_permutations_approach_the_exact_distribution(name):
    # Fisher's exact test orders 2 x 2 tables by the same statistic here: the margins are equal, the tables symmetric.
    x, y = np.repeat([0, 0, 1, 1], [7, 3, 3, 7]), np.repeat([0, 1, 0, 1], [7, 3, 3, 7])
    exact = stats.fisher_exact([[7, 3], [3, 7]]).pvalue
    found = bntk.independence({"x": x, "y": y}, "x", "y", test=name, n_permutations=20_000)
    assert found.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert found.df is None


def test_permutations_within_strata_keep_what_the_strata_explain():
    rng = np.random.default_rng(1)
    z = rng.integers(3, size=600)
    data = {"z": z, "x": (z + (rng.random(600) < 0.2)) % 3, "y": (z + (rng.random(600) < 0.2)) % 3}
    assert bntk.independence(data, "x", "y", test="mc-mi").p_value == pytest.approx(1 / 5001)
    assert bntk.independence(data, "x", "y", "z", "mc-mi").p_value > 0.01
    same = [bntk.independence(data, "x", "y", "z", "mc-mi", seed=seed).p_value for seed in (3, 3, 4)]
    assert same[0] == same[1] != same[2]


def test_the_sequential_form_stops_above_alpha_and_agrees_below():
    rng = np.random.default_rng(2)
    data = {"x": rng.integers(2, size=300), "y": rng.integers(2, size=300)}
    data["w"] = np.where(rng.random(300) < 0.3, data["x"], rng.integers(2, size=300))
    for other in ("y", "w"):
        whole, early = (bntk.independence(data, "x", other, test=test).p_value for test in ("mc-mi", "smc-mi"))
        assert (whole > 0.05) == (early > 0.05)
        assert early == pytest.approx(whole, abs=0.08)


def test_missing_cells_are_left_out_per_test():
    frame = pd.DataFrame(
        {"x": ["a", "b", None, "a", "b", "a"], "y": ["c", "d", "c", None, "d", "c"], "z": list("uuvvuv")}
    )
    complete = frame.dropna(subset=["x", "y"])
    assert bntk.independence(frame, "x", "y") == bntk.independence(complete, "x", "y")
    holes = frame.assign(z=["u", None, None, None, None, None])
    assert bntk.independence(holes, "x", "y") == bntk.independence(complete, "x", "y")


def test_weights_are_numbers_of_rows():
    rng = np.random.default_rng(3)
    data = {k: rng.integers(2, size=50) for k in "xyz"}
    weights = rng.integers(0, 4, size=50)
    twice = {k: np.repeat(column, weights) for k, column in data.items()}
    for name in (*BNLEARN, "bdeu"):
        a = bntk.independence(data, "x", "y", "z", name, weights=weights)
        b = bntk.independence(twice, "x", "y", "z", name)
        assert (a.statistic, a.p_value) == pytest.approx((b.statistic, b.p_value))
    with pytest.raises(DataError, match="permutes rows"):
        bntk.independence(data, "x", "y", test="mc-mi", weights=weights)


def test_x_and_y_can_be_exchanged_and_given_in_any_order():
    rows = bntk.datasets.asia().sample(500, seed=0)
    for name in FORMS:
        a = bntk.independence(rows, "lung", "bronc", ["smoke", "xray"], name, n_permutations=200)
        b = bntk.independence(rows, "bronc", "lung", ["xray", "smoke"], name, n_permutations=200)
        assert (a.statistic, a.df, a.p_value) == (b.statistic, b.df, b.p_value)


def test_a_function_may_stand_for_a_test():
    asked = []

    def test(x, y, given):
        asked.append((x, y, given))
        return 0.25

    found = bntk.independence({"b": [0, 1], "a": [0, 1], "c": [1, 0]}, "a", "b", ["c"], test)
    assert (found.p_value, found.df, found.test) == (0.25, None, "test")
    assert len(asked) == 1
    assert "p = 0.25" in str(found)
    with pytest.raises(ArgumentError, match=r"p-value from 0 to 1.*'a' and 'b'|p-value from 0 to 1.*'b' and 'a'"):
        bntk.independence({"b": [0, 1], "a": [0, 1]}, "a", "b", test=lambda *_: 7)


def test_errors_say_what_is_wrong():
    rows = {"rain": [0, 1, 0], "wet": [0, 1, 1]}
    with pytest.raises(ArgumentError, match="did you mean 'mi-adf'"):
        bntk.independence(rows, "rain", "wet", test="mi-adj")
    with pytest.raises((UnknownNameError, DataError), match="rian"):
        bntk.independence(rows, "rian", "wet")
    with pytest.raises(DataError, match="'rain' is there more than once"):
        bntk.independence(rows, "rain", "wet", ["rain"])
    with pytest.raises(ArgumentError, match="n_permutations"):
        IndependenceTest(n_permutations=0)


def test_constant_columns_are_independent_of_everything():
    rows = {"a": ["x"] * 20, "b": [0, 1] * 10}
    for name in FORMS:
        found = bntk.independence(rows, "a", "b", test=name, n_permutations=50)
        assert found.p_value == (pytest.approx(0.5) if name == "bdeu" else 1.0), name


def test_posteriors_are_told_apart_as_far_as_floats_go():
    # With y = x the log Bayes factor grows with the rows, so that its inverse falls below the least float in the end.
    found = [bntk.independence({"x": [0, 1] * n, "y": [0, 1] * n}, "x", "y", test="bdeu") for n in (20, 515, 525, 5000)]
    for one in found[:3]:
        assert one.p_value == pytest.approx(math.exp(-one.statistic) / (1 + math.exp(-one.statistic)), rel=1e-9)
    assert 700 < found[1].statistic < found[2].statistic < 740
    assert found[0].p_value > found[1].p_value > found[2].p_value > found[3].p_value == 0
