"""Summing the missing cells of a row out, component by component, equals enumeration and the junction tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import compiled, given, onto, random_rows, row_likelihood
from random_networks import joint, networks, random_network

import bntk
from bntk.inference import choose
from bntk.inference.elimination import engine as elimination
from bntk.inference.elimination.engine import ExpectedCounts, families_of, posterior_by_elimination
from bntk.inference.rows import log_joint_rows, log_probability_rows, posterior_rows
from bntk.learning.counts import TableCounter

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)
#: All rows at once, all in the second try, all left to the junction tree.
BUDGETS = [(1 << 18, 1 << 18), (0, 1 << 18), (0, 0)]


def cards_of(network):
    return [variable.n_states for variable in network.variables]


def with_budgets(patch, quick, most):
    patch.setattr(choose, "QUICK", quick)
    patch.setattr(choose, "MOST", most)


@few
@drawn(networks(), seeds, st.sampled_from([0.0, 0.2, 0.7]), st.sampled_from(BUDGETS), st.sampled_from([0, 1 << 16]))
def test_every_way_gives_the_joint_with_each_state_of_a_target(network, seed, missing, budgets, most_marks):
    codes, whole = random_rows(seed, cards_of(network), 40, missing), joint(network)
    with pytest.MonkeyPatch.context() as patch:
        with_budgets(patch, *budgets)
        patch.setattr(choose, "MOST_MARKS", most_marks)
        for v, cpt in enumerate(network.cpts):
            posterior, log_joint = posterior_rows(network, codes, v), log_joint_rows(network, codes, v)
            asked = codes.copy()
            asked[v] = cpt.child.n_states
            for row in range(codes.shape[1]):
                expected = onto(given(whole, row_likelihood(asked[:, row], whole.shape)), [v])
                np.testing.assert_allclose(np.exp(log_joint[row]), expected, rtol=1e-9, atol=1e-300)
                if expected.sum() > 0:
                    np.testing.assert_allclose(posterior[row], expected / expected.sum(), rtol=1e-9, atol=1e-13)
                else:
                    assert np.isnan(posterior[row]).all()


@few
@drawn(networks(), seeds, st.sampled_from([0.2, 0.7]))
def test_expected_counts_equal_those_of_the_junction_tree(network, seed, missing):
    codes = random_rows(seed, cards_of(network), 60, missing)
    codes = codes[:, log_probability_rows(network, codes) > -np.inf]
    weights = np.random.default_rng(seed).integers(0, 4, codes.shape[1]) / 2
    scopes = [(*parents, v) for v, parents in enumerate(network.dag.parent_indices)]
    expected, log_z = compiled(network).expected_counts(codes, scopes, weights)

    families = families_of(network)
    cells = ExpectedCounts(families, codes, weights, 1 << 18)
    assert not cells.too_large.any()
    flat, log_components, left = cells.count(families.tables)
    assert not left.any()
    counted = TableCounter(bntk.Table.from_codes(codes, network.variables), weights).tables(scopes)
    parts = np.split(flat, np.cumsum([cpt.values.size for cpt in network.cpts])[:-1])
    for part, counts, table in zip(parts, counted, expected, strict=True):
        np.testing.assert_allclose(part.reshape(table.shape) + counts, table, rtol=1e-9, atol=1e-12)
    with np.errstate(divide="ignore"):
        logs = [np.log(cpt.values) for cpt in network.cpts]
    observed = sum(float(counts[counts > 0] @ log[counts > 0]) for counts, log in zip(counted, logs, strict=True))
    assert log_components + observed == pytest.approx(log_z, rel=1e-9, abs=1e-9)


def test_rows_too_large_are_not_counted_and_the_others_are():
    network = random_network(3, 6)
    codes = network.sample(200, seed=1).codes.copy()
    codes[:, :50] = np.array(cards_of(network))[:, None]
    codes[2, 50:] = network.variables[2].n_states
    families = families_of(network)
    limited = ExpectedCounts(families, codes, np.ones(200), 500)
    alone = ExpectedCounts(families, codes[:, 50:], np.ones(150), 1 << 18)
    assert limited.too_large.tolist() == [True] * 50 + [False] * 150
    np.testing.assert_allclose(limited.count(families.tables)[0], alone.count(families.tables)[0], rtol=1e-12)


def star(n_leaves, rare=1e-7, n_states=3):
    """A hidden cause with many observed effects, each of them very rare; and a second cause of all."""
    hub = bntk.Variable("hub", [f"h{i}" for i in range(n_states)])
    other = bntk.Variable("other", ["no", "yes"])
    cpts = [bntk.CPT(other, [0.4, 0.6]), bntk.CPT(hub, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [other])]
    for i in range(n_leaves):
        p = rare * (1 + np.arange(6).reshape(n_states, 2) + i % 3)
        values = np.stack([1 - p, p], axis=-1)
        cpts.append(bntk.CPT(bntk.Variable(f"leaf{i}", ["no", "yes"]), values, [hub, other]))
    return bntk.BayesianNetwork.from_cpts(cpts)


@pytest.mark.parametrize("observed", [None, "yes"])
def test_many_rare_findings_do_not_underflow(observed):
    network = star(120)
    rows = {f"leaf{i}": ["yes"] for i in range(120)} | ({} if observed is None else {"other": [observed]})
    logs = np.zeros((3, 2))
    for cpt in network.cpts:
        if cpt.name.startswith("leaf"):
            logs += np.log(cpt.reorder(["hub", "other"]).values[..., 1])
    logs += np.log(network.cpt("hub").values.T) + np.log(network.cpt("other").values)
    if observed is not None:
        logs[:, 0] = -np.inf
    table = bntk.Table.from_columns({v.name: rows.get(v.name, [None]) for v in network.variables}, network.variables)
    total = np.logaddexp.reduce(logs, axis=None)
    assert total < -1000
    assert network.row_log_likelihood(table)[0] == pytest.approx(total, rel=1e-12)
    expected = np.exp(np.logaddexp.reduce(logs, axis=1) - total)
    np.testing.assert_allclose(network.posterior(table, "hub").to_numpy()[0], expected, rtol=1e-9)


def test_a_component_of_more_variables_than_a_word_has_bits_is_left_to_the_junction_tree():
    names = [f"v{i:02}" for i in range(90)]
    rng = np.random.default_rng(0)
    variables = [bntk.Variable(name, ["a", "b"]) for name in names]
    cpts = [bntk.CPT(variables[0], [0.3, 0.7])]
    cpts += [bntk.CPT(v, rng.dirichlet([1, 1], size=2), [above]) for above, v in pairwise(variables)]
    network = bntk.BayesianNetwork.from_cpts(cpts)
    rows = network.sample(4, seed=1).codes.copy()
    rows[1:89, :2] = 2
    answer = posterior_by_elimination(network, rows, 0)
    assert answer.too_large.tolist() == [True, True, False, False]
    posterior = posterior_rows(network, rows, 0)
    through = np.linalg.multi_dot([cpt.values for cpt in network.cpts[1:]])
    for row in range(2):
        expected = cpts[0].values * through[:, rows[89, row]]
        np.testing.assert_allclose(posterior[row], expected / expected.sum(), rtol=1e-9)


def test_the_number_of_threads_changes_nothing():
    network = random_network(8, 12)
    codes = random_rows(5, cards_of(network), 5000, 0.3)
    families, weights = families_of(network), np.ones(5000)
    answers = []
    try:
        for threads in (1, 2, 3):
            bntk.set_threads(threads)
            counts = ExpectedCounts(families, codes, weights, 1 << 18).count(families.tables)[0]
            answers.append((posterior_rows(network, codes, 4), log_probability_rows(network, codes), counts))
    finally:
        bntk.set_threads(None)
    for posterior, logs, counts in answers[1:]:
        np.testing.assert_array_equal(posterior, answers[0][0])
        np.testing.assert_array_equal(logs, answers[0][1])
        np.testing.assert_array_equal(counts, answers[0][2])


@few
@drawn(networks(), seeds)
def test_the_rows_beside_a_row_change_nothing(network, seed):
    """Complete rows are looked up, unless there is a missing cell near them."""
    codes = random_rows(seed, cards_of(network), 300, 0.3)
    codes[:, 64:200] = random_rows(seed, cards_of(network), 136, 0.0)
    shuffled = np.random.default_rng(seed).permutation(300)
    for v in range(len(network.cpts)):
        for answer in (posterior_rows, log_joint_rows):
            together, apart = answer(network, codes, v), answer(network, codes[:, shuffled], v)
            np.testing.assert_array_equal(together[shuffled], apart)


def test_complete_rows_and_cells_that_tell_nothing_need_look_ups_only(monkeypatch):
    """So that nobody waits for the large kernels to compile who has no missing cells."""
    network = bntk.datasets.asia()
    rows = network.sample(200, seed=0).to_pandas()
    rows.loc[:, "xray"] = None  # neither in a family with smoke, nor above anything
    expected = network.posterior(rows, "smoke")
    monkeypatch.setattr(elimination, "working_memory", None)  # of the large kernels
    assert np.array_equal(network.posterior(rows.drop(columns="xray"), "smoke"), expected)


def test_codes_of_more_states_than_a_byte_holds():
    many = bntk.Variable("many", range(300))
    few_states = bntk.Variable("few", ["a", "b"])
    rng = np.random.default_rng(1)
    cpts = [bntk.CPT(many, rng.dirichlet(np.ones(300))), bntk.CPT(few_states, rng.dirichlet([1, 1], size=300), [many])]
    network = bntk.BayesianNetwork.from_cpts(cpts)
    answer = network.posterior({"few": ["b", None], "many": [None, 299]}, ["many", "few"])
    expected = cpts[0].values * cpts[1].values[:, 1]
    np.testing.assert_allclose(answer["many"].to_numpy()[0], expected / expected.sum(), rtol=1e-12)
    np.testing.assert_allclose(answer["few"].to_numpy()[1], cpts[1].values[299], rtol=1e-12)
