import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network
from references import bnlearn_table, oracle_json, oracle_table, read_json, reference_table, shared

import bntk
from bntk import DAG, Table, Variable
from bntk.errors import DataError, NetworkError, TooLargeError
from bntk.learning.counts import TableCounter


def with_holes(table: Table, share: float, seed: int) -> Table:
    holes = np.random.default_rng(seed).random(table.codes.shape) < share
    return Table.from_codes(np.where(holes, table.cards[:, None], table.codes), table.variables)


def assert_tables_equal(network, reference, undefined=None):
    """Every table equals the reference to 1e-9 relative; where that is undefined, ours is ``undefined``."""
    for name, entry in reference.items():
        expected = reference_table(entry, network.dag.parents(name))
        values = network.cpt(name).values
        if undefined is not None:
            fill = 1 / values.shape[-1] if undefined == "uniform" else undefined
            expected = np.where(np.isnan(expected), fill, expected)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-14, err_msg=name)


# ---- against R -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["net8", "mixed"])
@pytest.mark.parametrize("graph", ["true", "random"])
def test_tables_equal_bnlearn(data, graph):
    table, reference = oracle_table(data), oracle_json(f"{data}_bnlearn_cpts")[graph]
    dag = DAG(table.names, reference["arcs"])
    assert_tables_equal(bntk.fit(dag, table), reference["mle"], undefined="uniform")
    for ess in (1, 10):
        network = bntk.fit(dag, table, prior=bntk.priors.BDeu(ess))
        assert_tables_equal(network, reference[f"bayes_iss{ess}"])


@pytest.mark.parametrize("data", ["learning.test", "asia", "insurance", "alarm"])
def test_tables_equal_bnlearn_on_its_own_data(data):
    reference = read_json(shared(f"oracle/bnlearn/{data}_cpts.json"))
    table, dag = bnlearn_table(data), DAG.parse(reference["modelstring"])
    assert_tables_equal(bntk.fit(dag, table), reference["mle"], undefined="uniform")
    for ess in (1, 10):
        network = bntk.fit(dag, table, prior=bntk.priors.BDeu(ess))
        assert_tables_equal(network, reference[f"bayes_iss{ess}"])


@pytest.mark.parametrize("data", ["learning.test", "asia", "insurance", "alarm"])
def test_log_likelihoods_equal_bnlearn(data):
    scores, table = read_json(shared(f"oracle/bnlearn/{data}_scores.json")), bnlearn_table(data)
    assert len(scores) == 6
    for reference in scores.values():
        network = bntk.fit(DAG(table.names, reference["arcs"]), table)
        assert network.log_likelihood(table) == pytest.approx(reference["loglik"], rel=1e-9)


@pytest.mark.parametrize("data", ["mixed", "mixed_missing", "binary", "sparse"])
def test_tables_and_likelihoods_equal_bnclassify(data):
    table = oracle_table(data)
    models = oracle_json(f"{data}_models")
    assert len(models) == 12
    for key, model in models.items():
        smooth = float(key.partition("smooth")[2])
        network = bntk.fit(DAG(table.names, model["arcs"]), table, prior=smooth)
        assert_tables_equal(network, model["cpts"])
        assert network.n_parameters == model["nparams"]
        if data != "mixed_missing":
            assert network.log_likelihood(table) == pytest.approx(model["logLik"], rel=1e-9)


# ---- by brute force and by property --------------------------------------------------------------------------


def brute_force(dag: DAG, table: Table, name: str, alpha: float) -> np.ndarray:
    """(N + alpha) / sum, row by row in Python."""
    family = [table.index(n) for n in (*dag.parents(name), name)]
    counts = np.full([table.variables[i].n_states for i in family], alpha, dtype=float)
    for row in table.codes.T.tolist():
        cell = tuple(row[i] for i in family)
        if all(k < n for k, n in zip(cell, counts.shape, strict=True)):
            counts[cell] += 1
    totals = counts.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(totals > 0, counts / totals, 1 / counts.shape[-1])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([0, 0.5, 2]), st.sampled_from([0, 0.3]))
def test_fitting_equals_brute_force(seed, rows, alpha, missing):
    truth = random_network(seed, 4)
    table = with_holes(truth.sample(rows, seed), missing, seed)
    network = bntk.fit(truth.dag, table, prior=alpha)
    for name in truth.names:
        np.testing.assert_allclose(network.cpt(name).values, brute_force(truth.dag, table, name, alpha), rtol=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(0, 50), st.integers(0, 50))
def test_updating_equals_fitting_all_rows_at_once(seed, first, second):
    truth = random_network(seed, 4)
    table = with_holes(truth.sample(first + second, seed), 0.1, seed)
    a, b = table.take(slice(first)), table.take(slice(first, None))
    for prior in ("mle", 0.5, bntk.priors.BDeu(3)):
        assert bntk.fit(truth.dag, a, prior).update(b) == bntk.fit(truth.dag, table, prior)
        assert bntk.fit(truth.dag, TableCounter(a) + TableCounter(b), prior) == bntk.fit(truth.dag, table, prior)


def test_updating_codes_new_rows_against_the_known_states():
    network = bntk.fit("a->b", {"a": ["x", "y"], "b": [0, 1]}, prior=1)
    more = network.update({"b": [1, 1], "a": ["x", "x"]})
    assert more.cpt("b").counts.tolist() == [[1, 2], [0, 1]]
    assert network.cpt("b").counts.tolist() == [[1, 0], [0, 1]]
    with pytest.warns(bntk.errors.UnseenStateWarning, match="'z'"):
        assert network.update({"a": ["z"], "b": [0]}).cpt("a").counts.tolist() == [1, 1]


def test_only_a_fitted_network_can_be_updated():
    with pytest.raises(NetworkError, match="no counts to add to"):
        bntk.datasets.asia().update(bntk.datasets.asia().sample(5))


def test_weights_are_repetitions():
    truth = random_network(5, 4)
    table = truth.sample(40, seed=1)
    weights = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = table.take(np.repeat(np.arange(40), weights))
    assert bntk.fit(truth.dag, table, 0.5, weights=weights).is_close(bntk.fit(truth.dag, repeated, 0.5), 1e-14)


def test_the_column_order_changes_nothing():
    truth = random_network(9, 5)
    table = truth.sample(200, seed=1)
    shuffled = table.select(truth.names[::-1])
    assert bntk.fit(truth.dag, shuffled) == bntk.fit(truth.dag, table)


def test_many_rows_give_the_network_back():
    truth = random_network(7, 5, max_states=3)
    network = bntk.fit(truth.dag, truth.sample(300_000, seed=2))
    compared = 0
    for learned, true in zip(network.cpts, truth.cpts, strict=True):
        often = learned.counts.sum(axis=-1) > 2000
        # Five standard errors of a frequency over 2,000 rows.
        assert np.abs(learned.values - true.values)[often].max(initial=0) < 5 * np.sqrt(0.25 / 2000)
        compared += int(often.sum())
    assert compared > 10


def test_unseen_parent_configurations_are_uniform():
    a, b = Variable("a", ["x", "y", "never"]), Variable("b", [0, 1])
    network = bntk.fit("a->b", {"a": ["x", "y"], "b": [0, 1]}, variables=[a, b])
    assert network.cpt("b").row({"a": "never"}).tolist() == [0.5, 0.5]
    assert network.cpt("a").probability("never") == 0


def test_priors_by_variable_and_by_state():
    rows = {"a": ["x", "x", "y"], "b": [0, 1, 1]}
    network = bntk.fit("a; b", rows, prior={"a": [2, 0]})
    assert network.cpt("a").values.tolist() == [4 / 5, 1 / 5]
    assert network.cpt("b").values.tolist() == [2 / 5, 3 / 5]
    given_default = bntk.fit("a; b", rows, prior=bntk.priors.Dirichlet({"a": 0.5}, default=0))
    assert given_default.cpt("b").values.tolist() == [1 / 3, 2 / 3]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("bdeu", "prior='bdeu' is not known"),
        (True, "not known"),
        (-1, "must be a number from 0"),
        (float("nan"), "must be a number from 0"),
        ({"a": [1, 2, 3]}, r"the prior of 'a' has shape \(3,\)"),
    ],
)
def test_bad_priors_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        bntk.fit("a", {"a": [0, 1]}, prior=prior)
    with pytest.raises(ValueError, match="must be a positive number"):
        bntk.priors.BDeu(0)


def test_columns_that_the_graph_does_not_name_are_not_looked_at():
    rows = {"id": np.random.default_rng(0).random(1000), "a": [0, 1] * 500}
    assert bntk.fit("a", rows).cpt("a").values.tolist() == [0.5, 0.5]


def test_absent_columns_and_huge_tables_are_refused():
    with pytest.raises(DataError, match=r"no column for \['b'\]|'b'"):
        bntk.fit("a->b", {"a": [0, 1]})
    parents = {f"p{i:02}": np.arange(50) % 10 for i in range(12)}
    dag = DAG([*parents, "c"], [(p, "c") for p in parents])
    with pytest.raises(TooLargeError, match="2,000,000,000,000 entries"):
        bntk.fit(dag, {**parents, "c": np.arange(50) % 2})
    with pytest.raises(TooLargeError, match="over the limit of 10"):
        bntk.fit("a->b", {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}, max_entries=10)


def test_a_counter_brings_its_own_weights():
    counter = TableCounter(bntk.Table.from_columns({"a": [0, 1]}))
    assert bntk.fit("a", counter).cpt("a").values.tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="has its weights"):
        bntk.fit("a", counter, weights=[1, 2])
