"""Priors that experts give: counts of single tables, and networks; against the definition, pgmpy and other priors."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bntk
from bntk.learning.priors import BDeu, Dirichlet, ExpertCounts, PriorNetwork

ASIA = bntk.datasets.asia()
FEW = ASIA.sample(40, seed=3)


def fitted(prior, rows=FEW, dag=ASIA.dag, **options):
    return bntk.fit(dag, rows, prior=prior, variables=ASIA.variables, **options)


def counts_of(name: str, seed: int = 0) -> np.ndarray:
    """Counts for each cell of a table of asia."""
    return np.random.default_rng(seed).integers(0, 9, ASIA.cpt(name).values.shape).astype(float)


def tidy(name: str, counts: np.ndarray) -> pd.DataFrame:
    """The same, a row per cell, shuffled."""
    variables = ASIA.cpt(name).family
    places = np.indices(counts.shape).reshape(counts.ndim, -1)
    columns = {v.name: [v.states[i] for i in own] for v, own in zip(variables, places, strict=True)}
    return pd.DataFrame({"count": counts.ravel(), **columns}).sample(frac=1, random_state=1)


def wide(name: str, counts: np.ndarray) -> pd.DataFrame:
    """The same, a row per parent configuration."""
    parents = ASIA.cpt(name).parents
    return tidy(name, counts).pivot_table("count", [p.name for p in parents], name).reset_index()


@pytest.mark.parametrize("form", [lambda name, own: own, tidy, wide, lambda name, own: pl.from_pandas(wide(name, own))])
def test_the_estimate_is_counts_and_pseudo_counts_over_their_sum(form):
    expert = {name: counts_of(name) for name in ("dysp", "either")}
    network = fitted(ExpertCounts({name: form(name, own) for name, own in expert.items()}, default=0.5))
    frame = FEW.to_pandas()
    for cpt in network.cpts:
        for place in np.ndindex(cpt.values.shape):
            states = {v.name: v.states[i] for v, i in zip(cpt.family, place, strict=True)}
            parents = {name: states[name] for name in states if name != cpt.name}
            n_j = len(frame[(frame[list(parents)] == pd.Series(parents)).all(axis=1)]) if parents else len(frame)
            n_jk = len(frame[(frame[list(states)] == pd.Series(states)).all(axis=1)])
            alpha = expert.get(cpt.name, np.full(cpt.values.shape, 0.5))
            total = n_j + alpha[place[:-1]].sum()
            value = (n_jk + alpha[place]) / total if total else 1 / cpt.child.n_states
            assert cpt.values[place] == pytest.approx(value, rel=1e-14)


@pytest.mark.filterwarnings("ignore")
def test_the_estimates_are_those_of_pgmpy():
    pytest.importorskip("pgmpy")
    from pgmpy.estimators import BayesianEstimator
    from pgmpy.models import DiscreteBayesianNetwork

    expert = {name: counts_of(name, 1) + 0.5 for name in ASIA.names}
    network = fitted(ExpertCounts(expert))
    model = DiscreteBayesianNetwork([*ASIA.dag.arcs])
    states = {v.name: list(v.states) for v in ASIA.variables}
    estimator = BayesianEstimator(model, FEW.to_pandas().astype(str), state_names=states)
    for cpt in network.cpts:
        # theirs: a row per state, a column per configuration of the parents, which are sorted by name
        parents = sorted(p.name for p in cpt.parents)
        axes = [cpt.values.ndim - 1, *([p.name for p in cpt.parents].index(name) for name in parents)]
        table = expert[cpt.name].transpose(axes).reshape(cpt.child.n_states, -1)
        found = estimator.estimate_cpd(cpt.name, prior_type="dirichlet", pseudo_counts=table)
        assert found.variables[1:] == parents
        ours = cpt.values.transpose(axes).reshape(cpt.child.n_states, -1)
        assert found.get_values() == pytest.approx(ours, rel=1e-12)


def test_numbers_for_cells_and_states_are_dirichlet_priors():
    own = {"dysp": [1.0, 3.0], "lung": 0.25}
    for one, other in zip(fitted(ExpertCounts(own, 2)).cpts, fitted(Dirichlet(own, 2)).cpts, strict=True):
        assert np.array_equal(one.values, other.values)


def test_the_order_of_axes_is_that_of_the_nodes_and_names_make_it_free():
    counts = np.arange(8.0).reshape(2, 2, 2)
    either, bronc = (p.name for p in ASIA.cpt("dysp").parents)
    frame = tidy("dysp", counts)[["dysp", bronc, "count", either]]
    by_array, by_name = (fitted(ExpertCounts({"dysp": own}, 0)).cpt("dysp") for own in (counts, frame))
    assert np.array_equal(by_array.values, by_name.values)


def test_expert_counts_are_as_good_as_rows():
    """Counts of the expert that are the counts of a sample, and more rows: as fitting all rows."""
    first, more = ASIA.sample(60, seed=5), ASIA.sample(30, seed=6)
    counts = {cpt.name: cpt.counts for cpt in fitted("mle", first).cpts}
    together = fitted("mle", pd.concat([first.to_pandas(), more.to_pandas()]))
    for one, other in zip(fitted(ExpertCounts(counts), more).cpts, together.cpts, strict=True):
        assert np.array_equal(one.values, other.values)


# -------------------------------------------------------------------- a network as the prior


def test_an_equivalent_sample_is_spread_as_the_network_says_over_any_structure():
    joint = ASIA.query(ASIA.names)
    prior = PriorNetwork(ASIA, ess=30)
    for dag in (ASIA.dag, bntk.DAG.parse("dysp -> asia; xray -> asia; smoke; tub; lung; bronc; either")):
        for cpt in fitted(prior, dag=dag).cpts:
            names = [v.name for v in cpt.family]
            inside = [joint.variables.index(v) for v in cpt.family]
            others = tuple(axis for axis in range(len(ASIA.names)) if axis not in inside)
            marginal = joint.values.sum(axis=others)
            alpha = 30 * marginal.transpose([sorted(inside).index(axis) for axis in inside])
            theta = (cpt.counts + alpha) / (cpt.counts + alpha).sum(axis=-1, keepdims=True)
            assert cpt.values == pytest.approx(theta, rel=1e-10), names


def test_a_uniform_network_is_the_bdeu_prior():
    uniform = bntk.BayesianNetwork.from_cpts([bntk.CPT.uniform(v) for v in ASIA.variables])
    for one, other in zip(fitted(PriorNetwork(uniform, ess=7)).cpts, fitted(BDeu(7)).cpts, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-12)


def test_rows_count_for_each_configuration():
    network = fitted(PriorNetwork(ASIA, rows=12))
    for cpt in network.cpts:
        own = ASIA.cpt(cpt.name)
        theta = (cpt.counts + 12 * own.values) / (cpt.counts.sum(axis=-1, keepdims=True) + 12)
        assert cpt.values == pytest.approx(theta, rel=1e-10)
    assert fitted(PriorNetwork(ASIA, rows=1e9)).cpt("dysp").values == pytest.approx(ASIA.cpt("dysp").values, abs=1e-6)


def test_states_in_another_order_are_matched_by_name():
    turned = [bntk.Variable(v.name, v.states[::-1]) for v in ASIA.variables]
    rows = FEW.to_pandas().astype(str)
    network = bntk.fit(ASIA.dag, rows, prior=PriorNetwork(ASIA, ess=10), variables=turned)
    expected = fitted(PriorNetwork(ASIA, ess=10))
    for name in ASIA.names:
        own = expected.cpt(name).values
        assert network.cpt(name).values == pytest.approx(own[(slice(None, None, -1),) * own.ndim], rel=1e-12)


# -------------------------------------------------------------------- wherever priors are taken

PRIORS = [
    ExpertCounts({"dysp": tidy("dysp", counts_of("dysp")), "lung": counts_of("lung"), "smoke": [3, 1]}, 0.5),
    PriorNetwork(ASIA, ess=20),
    PriorNetwork(ASIA, rows=5.0),
]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_files_copies_and_more_rows_keep_the_prior(prior, tmp_path):
    network, more = fitted(prior), ASIA.sample(25, seed=9)
    network.save(tmp_path / "asia.json")
    for again in (bntk.load(tmp_path / "asia.json"), pickle.loads(pickle.dumps(network))):
        assert again == network
        assert again.prior == prior
        rows = pd.concat([FEW.to_pandas(), more.to_pandas()])
        for one, other in zip(again.update(more).cpts, fitted(prior, rows).cpts, strict=True):
            assert np.array_equal(one.values, other.values)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_classifiers_estimate_the_tables_of_a_fit_and_are_saved(prior, tmp_path):
    frame = FEW.to_pandas()
    X, y = frame.drop(columns="dysp"), frame["dysp"]
    if isinstance(prior, ExpertCounts):
        prior = ExpertCounts({"lung": {"dysp": ["no", "yes"], "no": [5, 1], "yes": [0, 4]}}, default=0.5)
    classifier = bntk.NaiveBayes(prior=prior).fit(
        bntk.Table.from_frame(frame, variables=ASIA.variables).select([*X]), y
    )
    expected = fitted(prior, dag=classifier.dag_)
    for cpt in classifier.network_.cpts:
        assert np.array_equal(cpt.values, expected.cpt(cpt.name).values)
    classifier.save(tmp_path / "nb.json")
    again = bntk.load(tmp_path / "nb.json")
    assert again.prior == prior
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_em_with_complete_rows_is_the_fit_and_with_none_the_prior(prior):
    complete = bntk.fit_em(ASIA.dag, FEW, prior, variables=ASIA.variables)
    for one, other in zip(complete.cpts, fitted(prior).cpts, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-9)
    holes = bntk.datasets.with_missing(ASIA.sample(60, seed=2), 0.3, seed=1)
    trace = bntk.fit_em(ASIA.dag, holes, prior, variables=ASIA.variables)
    assert trace.report.converged


def test_learning_a_structure_estimates_by_the_network():
    rows = ASIA.sample(300, seed=1)
    learned = bntk.learn(rows, "bic", prior=PriorNetwork(ASIA, ess=10), variables=ASIA.variables)
    expected = bntk.fit(learned.dag, rows, prior=PriorNetwork(ASIA, ess=10), variables=ASIA.variables)
    assert [*map(str, learned.cpts)] == [*map(str, expected.cpts)]


def test_edits_rename_the_prior_or_drop_it():
    expert, by_network = fitted(PRIORS[0]), fitted(PRIORS[1])
    renamed = expert.rename({"either": "any", "lung": "cancer"})
    assert {*renamed.prior.tables} == {"dysp", "cancer", "smoke"}
    more = ASIA.rename({"either": "any", "lung": "cancer"}).sample(25, seed=9)
    rows = pd.concat([FEW.to_pandas().rename(columns={"either": "any", "lung": "cancer"}), more.to_pandas()])
    again = bntk.fit(renamed.dag, rows, prior=renamed.prior, variables=renamed.variables)
    assert np.array_equal(renamed.update(more).cpt("dysp").values, again.cpt("dysp").values)
    assert by_network.rename({"lung": "cancer"}).prior.network.names == by_network.rename({"lung": "cancer"}).names
    assert expert.remove_variable("bronc").prior is None
    assert by_network.remove_variable("bronc").prior is None


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (lambda: ExpertCounts({"dsyp": 1}), "the prior names 'dsyp'; did you mean 'dysp'|the prior names 'dsyp'"),
        (lambda: ExpertCounts({"dysp": np.ones((2, 2))}), r"shape \(2, 2\).*needs \(2, 2, 2\).*'bronc' \(2 states\)"),
        (lambda: ExpertCounts({"dysp": [1, 2, 3]}), r"shape \(3,\)"),
        (lambda: ExpertCounts({"dysp": [1, -2]}), "a count of the prior for 'dysp' must be"),
        (lambda: ExpertCounts({"dysp": [1, np.nan]}), "a count of the prior for 'dysp' must be"),
        (lambda: ExpertCounts({"dysp": "many"}), "the prior's counts of 'dysp'"),
        (lambda: ExpertCounts([1, 2]), "tables of ExpertCounts must be"),
        (lambda: ExpertCounts({3: [1, 2]}), "each key of the tables of ExpertCounts must be the name of a variable"),
        (lambda: ExpertCounts({}, default=-1), "the default of ExpertCounts must be"),
        (lambda: ExpertCounts({"xray": {"either": ["no"], "no": [1], "yes": [2]}}), "'xray' do not fit.* 0 rows for"),
        (lambda: ExpertCounts({"xray": {"lung": ["no"], "no": [1], "yes": [2]}}), "'xray' do not fit.*lacks .'either'"),
        (
            lambda: ExpertCounts({"xray": {"either": ["no", "maybe"], "no": [1, 1], "yes": [2, 2]}}),
            "'either' has no state 'maybe'.*variables=",
        ),
        (lambda: ExpertCounts({"xray": {"either": ["no", "yes"], "no": [1]}}), "columns of different lengths"),
        (
            lambda: ExpertCounts({"xray": {"either": ["no", "yes"], "no": [1, -1], "yes": [2, 2]}}),
            "a count of the prior for 'xray' must be",
        ),
        (lambda: PriorNetwork(ASIA), "either ess.*or rows"),
        (lambda: PriorNetwork(ASIA, ess=1, rows=1), "either ess.*or rows"),
        (lambda: PriorNetwork(ASIA, ess=0), "ess of a PriorNetwork must be"),
        (lambda: PriorNetwork(ASIA.dag, ess=1), "network of a PriorNetwork must be a BayesianNetwork"),
        (lambda: PriorNetwork(ASIA.remove_variable("xray"), ess=1), "the prior network has no variable 'xray'"),
        (
            lambda: PriorNetwork(ASIA.rename_states("xray", {"no": "maybe"}), ess=1),
            "'xray' has the states .'maybe', 'yes'. in the prior network, but .'no', 'yes'. in the data",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(prior, message):
    with pytest.raises((ValueError, TypeError, LookupError), match=message):
        fitted(prior())


def test_classifiers_that_add_counts_themselves_refuse_by_name():
    frame = ASIA.sample(60, seed=3).to_pandas()
    with pytest.raises(bntk.errors.ArgumentError, match="has a count for each cell"):
        bntk.AODE(prior=PriorNetwork(ASIA, ess=3)).fit(frame.drop(columns="dysp"), frame["dysp"])
