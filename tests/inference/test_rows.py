"""Whole tables of rows with missing cells equal the questions row by row."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import given, onto, random_rows, row_likelihood
from random_networks import joint, networks, random_network
from references import oracle_json, oracle_table, true_network

import bntk
from bntk.errors import DataError, ImpossibleRowsWarning
from bntk.inference import choose
from bntk.inference.rows import posterior_rows

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)


def cards_of(network):
    return [variable.n_states for variable in network.variables]


def row_dict(table, row, without=()):
    """The observed cells of a row, by name."""
    cells = zip(table.variables, table.codes[:, row].tolist(), strict=True)
    return {v.name: v.states[code] for v, code in cells if code < v.n_states and v.name not in without}


def random_table(network, seed, missing=0.4):
    return bntk.Table.from_codes(random_rows(seed, cards_of(network), 40, missing), network.variables)


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowsWarning)
        return function(*arguments, **options)


# ---- posteriors ------------------------------------------------------------------------------------------------------


@few
@drawn(networks(), seeds, st.sampled_from([0.1, 0.5]), st.sampled_from([0, 256]))
def test_the_posterior_of_a_table_is_the_query_of_each_row(network, seed, missing, few_rows):
    table, whole = random_table(network, seed, missing), joint(network)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "FEW_ROWS", few_rows)
        answers = quietly(network.posterior, table, network.names)
    for v, name in enumerate(network.names):
        codes = table.codes.copy()
        codes[v] = network.variables[v].n_states
        for row in range(table.n_rows):
            expected = onto(given(whole, row_likelihood(codes[:, row], whole.shape)), [v])
            got = answers[name].to_numpy()[row]
            if expected.sum() > 0:
                np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-9, atol=1e-13)
            else:
                assert np.isnan(got).all()


def test_the_table_asked_at_once_equals_asking_row_by_row():
    asia = bntk.datasets.asia()
    table = bntk.Table.from_codes(
        np.where(np.random.default_rng(1).random((8, 60)) < 0.4, 2, asia.sample(60, seed=3).codes), asia.variables
    )
    answer = asia.posterior(table, "lung")
    for row in range(table.n_rows):
        expected = asia.query("lung", row_dict(table, row, without=["lung"])).values
        np.testing.assert_allclose(answer.to_numpy()[row], expected, atol=1e-12)


def test_a_row_with_nothing_observed_has_the_prior():
    network = random_network(5, 6)
    nothing = {name: [None, None] for name in network.names}
    for name, answer in network.posterior(nothing, network.names).items():
        np.testing.assert_allclose(answer.to_numpy(), [network.query(name).values] * 2, atol=1e-13)
    assert network.log_likelihood(nothing) == pytest.approx(0, abs=1e-12)


def test_rows_may_be_many_few_or_none():
    asia = bntk.datasets.asia()
    sample = asia.sample(5000, seed=2)
    codes = np.where(np.random.default_rng(0).random(sample.codes.shape) < 0.2, 2, sample.codes)
    whole = asia.posterior(bntk.Table.from_codes(codes, asia.variables), "smoke")
    for rows in (slice(0), slice(1), slice(70, 90)):
        part = asia.posterior(bntk.Table.from_codes(codes[:, rows], asia.variables), "smoke")
        np.testing.assert_allclose(part.to_numpy(), whole.to_numpy()[rows], atol=1e-13)


def test_the_target_s_own_column_is_ignored_and_other_targets_are_evidence():
    asia = bntk.datasets.asia()
    rows = {"lung": ["yes", "no", None], "smoke": ["no"] * 3, "bronc": ["yes"] * 3}
    answers = asia.posterior(rows, ["lung", "smoke"])
    assert list(answers) == ["lung", "smoke"]
    assert answers["lung"].to_numpy() == pytest.approx(np.tile(answers["lung"].to_numpy()[0], (3, 1)))
    np.testing.assert_allclose(
        answers["smoke"].to_numpy()[0], asia.query("smoke", {"lung": "yes", "bronc": "yes"}).values, atol=1e-12
    )


def test_labels_index_and_column_order_survive():
    grade, passed = bntk.Variable("grade & co.", [3, 1, 2]), bntk.Variable("passed?", [True, False])
    network = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(grade, [0.2, 0.5, 0.3]), bntk.CPT(passed, [[0.1, 0.9], [1, 0], [0.7, 0.3]], [grade])]
    )
    frame = pd.DataFrame({"other": [1.5, 2.5], "passed?": [True, None]}, index=["x", "y"])
    answer = network.posterior(frame, "grade & co.")
    assert list(answer.columns) == [3, 1, 2]
    assert answer.columns.name == "grade & co."
    assert list(answer.index) == ["x", "y"]
    assert answer.loc["x", 1] == pytest.approx(0.5 / 0.73)
    filled = network.impute(pd.DataFrame({"passed?": [True, False], "grade & co.": [np.nan, 3.0]})).to_pandas()
    assert filled["grade & co."].tolist() == [1, 3]
    assert list(filled.columns) == list(network.names)
    as_polars = network.posterior(pl.DataFrame({"passed?": [True, None]}), "grade & co.")
    np.testing.assert_array_equal(as_polars, answer)
    np.testing.assert_array_equal(network.posterior(np.array([[3, True], [3, None]]), "grade & co."), answer)


def test_data_without_any_known_column_is_refused():
    with pytest.raises(DataError, match="no columns"):
        bntk.datasets.asia().posterior({"x": [1]}, "lung")
    with pytest.raises(DataError, match="cannot take"):
        bntk.datasets.asia().posterior(3, "lung")


def test_impossible_rows_are_nan_with_one_warning_that_counts_them():
    asia = bntk.datasets.asia()
    rows = {"tub": ["no", "yes", "yes"], "either": [None, "no", "no"], "smoke": ["no"] * 3}
    with pytest.warns(ImpossibleRowsWarning, match=r"2 of 3 rows .*\(the first is row 1\)") as caught:
        answer = asia.posterior(rows, ["bronc", "dysp"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(answer["dysp"].to_numpy()).any(axis=1).tolist() == [False, True, True]
    for how in ("mpe", "mode", "sample"):
        with pytest.warns(ImpossibleRowsWarning, match="stay missing"):
            filled = asia.impute(rows, how)
        assert filled.complete_rows().tolist() == [True, False, False]


@pytest.mark.parametrize("key", sorted(oracle_json("mixed_models_on_missing_rows")))
def test_posteriors_of_rows_with_missing_cells_equal_those_of_bnclassify(key):
    expected = oracle_json("mixed_models_on_missing_rows")[key]
    smooth = float(key.partition("__smooth")[2])
    arcs = [tuple(arc) for arc in expected["arcs"]]
    table = oracle_table("mixed")
    network = bntk.fit(bntk.DAG(table.names, arcs), table, prior=smooth or "mle")
    answer = quietly(network.posterior, oracle_table("mixed_missing"), "class")[expected["classes"]].to_numpy()
    reference = np.array(expected["posteriors"])
    known = ~np.isnan(answer[:, 0])  # a row that is impossible has a uniform posterior there
    np.testing.assert_allclose(answer[known], reference[known], atol=1e-9, rtol=0)
    np.testing.assert_allclose(reference[~known], 1 / 3, atol=1e-9)
    assert known.mean() > 0.9


# ---- likelihood ------------------------------------------------------------------------------------------------------


@few
@drawn(networks(), seeds, st.sampled_from([0.1, 0.5]))
def test_the_likelihood_of_a_row_is_the_probability_of_its_observed_cells(network, seed, missing):
    table, whole = random_table(network, seed, missing), joint(network)
    logs = network.row_log_likelihood(table)
    for row in range(table.n_rows):
        expected = given(whole, row_likelihood(table.codes[:, row], whole.shape)).sum()
        assert math.exp(logs[row]) == pytest.approx(expected, rel=1e-9)
        assert math.exp(logs[row]) == pytest.approx(network.probability(row_dict(table, row)), rel=1e-9)
    assert network.log_likelihood(table) == logs.sum()


def test_complete_rows_have_the_likelihood_that_they_have_alone():
    asia = bntk.datasets.asia()
    table = asia.sample(300, seed=1)
    codes = table.codes.copy()
    codes[3, ::7] = 2
    mixed = asia.row_log_likelihood(bntk.Table.from_codes(codes, asia.variables))
    alone = asia.row_log_likelihood(table)
    complete = codes[3] < 2
    np.testing.assert_array_equal(mixed[complete], alone[complete])
    assert (mixed[~complete] >= alone[~complete] - 1e-12).all()


# ---- imputation ------------------------------------------------------------------------------------------------------


@few
@drawn(networks(), seeds)
def test_imputed_cells_are_the_most_probable_ones(network, seed):
    table, whole = random_table(network, seed), joint(network)
    jointly, singly = quietly(network.impute, table), quietly(network.impute, table, "mode")
    seen = table.codes < table.cards[:, None]
    for row in range(table.n_rows):
        weights = given(whole, row_likelihood(table.codes[:, row], whole.shape))
        for filled in (jointly, singly):
            np.testing.assert_array_equal(filled.codes[seen[:, row], row], table.codes[seen[:, row], row])
        if weights.sum() == 0:
            np.testing.assert_array_equal(jointly.codes[:, row], table.codes[:, row])
            np.testing.assert_array_equal(singly.codes[:, row], table.codes[:, row])
            continue
        assert weights[tuple(jointly.codes[:, row])] == pytest.approx(weights.max(), rel=1e-9)
        for v in np.flatnonzero(~seen[:, row]):
            own = onto(weights, [int(v)])
            assert own[singly.codes[v, row]] == pytest.approx(own.max(), rel=1e-9)


def test_joint_imputation_equals_the_reference():
    expected = oracle_json("net8_impute")
    network, table = true_network("net8"), oracle_table("net8_missing")
    filled = network.impute(table).to_pandas()[expected["columns"]]
    assert filled.to_numpy().tolist() == expected["exact"]


def test_sampled_cells_come_from_their_joint_posterior():
    network = random_network(11, 5, max_states=3)
    name, n = network.names[2], 20_000
    seen = network.variables[2].states[0]
    rows = {name: [seen] * n}
    drawn_rows = network.impute(rows, "sample", seed=4)
    others = [v for v in network.names if v != name]
    expected = network.query(others, {name: seen}).values
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(drawn_rows.codes[network.dag.index(v)] for v in others), 1)
    assert (counts[expected == 0] == 0).all()
    # Each frequency is within five standard errors.
    assert (np.abs(counts / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-12).all()


@few
@drawn(networks(), seeds)
def test_sampled_rows_are_possible_and_depend_on_the_seed_alone(network, seed):
    table = random_table(network, seed)
    first, again = (quietly(network.impute, table, "sample", seed=seed) for _ in range(2))
    assert first == again
    possible = network.row_log_likelihood(table) > -np.inf
    complete = first.take(possible)
    assert complete.complete_rows().all()
    assert (network.row_log_likelihood(complete) > -np.inf).all()
    seen = table.codes < table.cards[:, None]
    np.testing.assert_array_equal(first.codes[seen], table.codes[seen])
    fewer = quietly(network.impute, table.take(slice(15)), "sample", seed=seed)
    assert fewer == first.take(slice(15))


def test_complete_rows_stay_and_unknown_ways_are_refused():
    asia = bntk.datasets.asia()
    table = asia.sample(10)
    assert asia.impute(table) == table
    with pytest.raises(ValueError, match="how must be 'mpe', 'mode' or 'sample'"):
        asia.impute(table, "mean")


def test_the_posterior_of_coded_rows_does_not_write_to_them():
    asia = bntk.datasets.asia()
    codes = asia.sample(10).codes.copy()
    codes[:3, ::2] = 2
    before = codes.copy()
    posterior_rows(asia, codes, 3)
    np.testing.assert_array_equal(codes, before)
