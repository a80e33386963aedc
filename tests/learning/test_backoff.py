"""Back-off is a prior: wherever parameters are estimated, tables are shrunk by the same formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk.errors import NetworkError
from bntk.io import json_network
from bntk.learning.counts import TableCounter
from bntk.learning.priors import Backoff, Dirichlet


def shrunk_slowly(table: bntk.Table, cpt: bntk.CPT, rows: float, alpha: float, given: tuple[str, ...]) -> np.ndarray:
    """(N_ijk + rows theta0_k) / (N_ij + rows), counted row by row, theta0 = P(child | the parents in ``given``)."""
    frame = table.to_pandas()

    def share(state, where) -> tuple[float, float]:
        here = frame[[*where, cpt.name]].dropna()
        for name, value in where.items():
            here = here[here[name] == value]
        return float((here[cpt.name] == state).sum()), float(len(here))

    values = np.empty(cpt.values.shape)
    r = cpt.child.n_states
    for index in np.ndindex(*values.shape):
        where = {p.name: p.states[k] for p, k in zip(cpt.parents, index[:-1], strict=True)}
        state = cpt.child.states[index[-1]]
        n, total = share(state, where)
        kept = {name: value for name, value in where.items() if name in given}
        if len(kept) == len(where):
            values[index] = (n + alpha) / (total + r * alpha)
        else:
            n0, total0 = share(state, kept)
            values[index] = (n + rows * (n0 + alpha) / (total0 + r * alpha)) / (total + rows)
    return values


def sample(seed: int, missing: float) -> tuple[bntk.BayesianNetwork, bntk.Table]:
    truth = random_network(seed, n=4, max_parents=2, max_states=3)
    rows = truth.sample(60, seed=seed).to_pandas()
    rows = rows.mask(np.random.default_rng(seed).random(rows.shape) < missing)
    return truth, bntk.Table.from_frame(rows, truth.variables)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]), st.sampled_from([(), ("x0",), ("x1", "x2")]))
@settings(max_examples=25)
def test_fit_shrinks_every_table_by_the_formula(seed, missing, given):
    truth, table = sample(seed, missing)
    fitted = bntk.fit(truth.dag, table, prior=Backoff(rows=3, alpha=0.5, given=given))
    for cpt in fitted.cpts:
        np.testing.assert_allclose(cpt.values, shrunk_slowly(table, cpt, 3, 0.5, given), rtol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]))
@settings(max_examples=15)
def test_updating_equals_fitting_all_rows_also_from_a_file(seed, missing):
    truth, table = sample(seed, missing)
    prior = Backoff(rows=2, alpha=1, given=("x0",))
    whole = bntk.fit(truth.dag, table, prior=prior)
    half = bntk.fit(truth.dag, table.take(slice(0, 30)), prior=prior)
    text = json_network.dump(half)
    for first in (half, json_network.parse(text)):
        assert first.update(table.take(slice(30, None))).is_close(whole, 1e-12)
    assert json_network.parse(text).prior == prior


def test_by_name_by_object_and_through_learn():
    truth, table = sample(3, 0.0)
    assert bntk.fit(truth.dag, table, prior="backoff") == bntk.fit(truth.dag, table, prior=Backoff())
    learned = bntk.learn(table, "bic", prior=Backoff(rows=7))
    assert learned == bntk.fit(learned.dag, table, prior=Backoff(rows=7))
    assert learned.prior == Backoff(rows=7)


def test_a_configuration_that_was_never_seen_gets_the_marginal():
    rows = {"a": pd.Categorical(["x", "x", "y"], ["x", "y", "z"]), "b": ["p", "q", "p"]}
    fitted = bntk.fit("a -> b", rows, prior=Backoff(alpha=0))
    np.testing.assert_allclose(fitted.cpt("b").values[2], [2 / 3, 1 / 3])


def test_em_shrinks_towards_expected_counts():
    truth, table = sample(11, 0.3)
    by_em = bntk.fit_em(truth.dag, table, prior=Backoff(rows=4, alpha=1))
    plain = bntk.fit_em(truth.dag, table, prior=1)
    for cpt, other in zip(by_em.cpts, plain.cpts, strict=True):
        np.testing.assert_allclose(cpt.counts, other.counts)  # EM itself runs with alpha
        if cpt.parents:
            theta0 = cpt.counts.reshape(-1, cpt.child.n_states).sum(axis=0) + 1
            theta0 = theta0 / theta0.sum()
            expected = (cpt.counts + 4 * theta0) / (cpt.counts.sum(-1, keepdims=True) + 4)
            np.testing.assert_allclose(cpt.values, expected)


@pytest.mark.parametrize("classifier", [bntk.TAN(), bntk.KDB(k=2), bntk.BAN(), bntk.SPODE()])
def test_classifiers_shrink_towards_the_tables_given_the_class(classifier):
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas()
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    fitted = classifier.set_params(prior=Backoff(rows=3)).fit(X, y)
    same = bntk.fit(fitted.dag_, rows, prior=Backoff(rows=3, given=("dysp",)))
    assert fitted.network_.is_close(same.__class__(fitted.dag_, same.cpts), 1e-12)
    more = bntk.datasets.asia().sample(100, seed=2).to_pandas()
    fitted.partial_fit(more.drop(columns="dysp"), more["dysp"])
    whole = bntk.fit(fitted.dag_, pd.concat([rows, more]), prior=Backoff(rows=3, given=("dysp",)))
    assert fitted.network_.is_close(whole, 1e-12)


def test_several_class_variables():
    rows = bntk.datasets.asia().sample(400, seed=1).to_pandas()
    X, Y = rows.drop(columns=["lung", "bronc"]), rows[["lung", "bronc"]]
    both = bntk.MDBNC(feature_shape="tree", prior="backoff").fit(X, Y)
    same = bntk.fit(both.dag_, rows, prior=Backoff(given=("lung", "bronc")))
    assert both.network_.is_close(same, 1e-12)
    # The features of AMODE have no features as parents, so that nothing is shrunk.
    ours, plain = (bntk.AMODE(prior=prior).fit(X, Y).predict_proba(X) for prior in (Backoff(), 1.0))
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(one, other)


def test_a_prior_without_the_counts_it_needs_says_so():
    truth, table = sample(5, 0.0)
    network = bntk.fit(truth.dag, table, prior=1)
    lacking = bntk.BayesianNetwork(network.dag, network.cpts, prior=Backoff())
    if any(cpt.parents for cpt in network.cpts):
        with pytest.raises(NetworkError, match="lacks the counts"):
            lacking.update(table)


def test_averaged_classifiers_refuse_another_simpler_table():
    rows = bntk.datasets.asia().sample(100, seed=1).to_pandas()
    with pytest.raises(ValueError, match="leave its given= empty"):
        bntk.AODE(prior=Backoff(given=("smoke",))).fit(rows.drop(columns="lung"), rows["lung"])


@pytest.mark.parametrize("wrong", [{"rows": -1}, {"alpha": float("nan")}, {"given": "class"}, {"given": [1]}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Backoff(**wrong)


def test_other_priors_need_no_counts_beside():
    truth, table = sample(7, 0.0)
    fitted = bntk.fit(truth.dag, TableCounter(table), prior=Dirichlet(1))
    assert not fitted.prior_counts
