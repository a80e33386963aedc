import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import all_rows, joint, networks, random_network
from references import oracle_json, oracle_table, shared, true_network

import bntk
from bntk import CPT, DAG, BayesianNetwork, Variable
from bntk.errors import CycleError, DataError, NetworkError, UnknownNameError

A, B, C = (Variable(n, ["no", "yes"]) for n in "abc")
PA, PB = CPT(A, [0.8, 0.2]), CPT(B, [[0.9, 0.1], [0.2, 0.8]], [A])


@settings(max_examples=50)
@given(networks())
def test_the_likelihood_of_every_row_is_the_product_of_table_entries(network):
    logs = network.row_log_likelihood(all_rows(network))
    np.testing.assert_allclose(np.exp(logs), joint(network).ravel(), rtol=1e-12)
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


def test_log_likelihood_equals_the_reference():
    network, table, expected = true_network("net8"), oracle_table("net8"), oracle_json("net8_true_loglik")
    assert network.log_likelihood(table) == pytest.approx(expected["loglik_of_true_network_on_net8"], rel=1e-9)
    np.testing.assert_allclose(network.row_log_likelihood(table)[:20], expected["by_row_first_20"], rtol=1e-9)


@settings(max_examples=20)
@given(networks())
def test_how_the_caller_s_arrays_lie_in_memory_does_not_matter(network):
    cpts = [
        CPT(c.child, np.asfortranarray(c.values), c.parents, counts=np.asfortranarray(c.values)) for c in network.cpts
    ]
    again = BayesianNetwork(network.dag, cpts)
    np.testing.assert_array_equal(
        again.row_log_likelihood(all_rows(network)), network.row_log_likelihood(all_rows(network))
    )
    assert all(c.counts.flags.c_contiguous for c in again.cpts)


def test_columns_are_found_by_name_and_extra_ones_ignored():
    network = BayesianNetwork("a->b", [PA, PB])
    rows = {"z": [1.5, 2.5], "b": ["no", "yes"], "a": ["yes", "yes"]}
    np.testing.assert_allclose(network.row_log_likelihood(rows), np.log([0.2 * 0.2, 0.2 * 0.8]))
    with pytest.raises(DataError, match="'b'"):
        network.log_likelihood({"a": ["no"]})


def test_impossible_rows_have_minus_infinity_and_missing_cells_are_summed_out():
    network = bntk.datasets.asia()
    row = {name: ["no"] for name in network.names} | {"either": ["yes"]}
    assert network.log_likelihood(row) == -np.inf
    incomplete = {name: ["no"] * 3 for name in network.names} | {"xray": ["no", None, "yes"]}
    observed = {name: "no" for name in network.names if name != "xray"}
    assert np.exp(network.row_log_likelihood(incomplete)[1]) == pytest.approx(network.probability(observed), rel=1e-12)


def test_an_empty_table_has_likelihood_zero():
    network = bntk.datasets.asia()
    assert network.log_likelihood(network.sample(0)) == 0.0


def test_parent_axes_may_come_in_any_order():
    values = np.random.default_rng(0).dirichlet([1, 1], size=(2, 2))
    one = BayesianNetwork("a->c<-b", [PA, CPT(B, [0.5, 0.5]), CPT(C, values, [A, B])])
    other = BayesianNetwork("a->c<-b", [CPT(C, values.transpose(1, 0, 2), [B, A]), CPT(B, [0.5, 0.5]), PA])
    assert other.cpt("c").parents == (A, B) or other.dag.parents("c") != ("a", "b")
    assert one.cpt("c").reorder(["a", "b"]) == other.cpt("c").reorder(["a", "b"])
    assert one == BayesianNetwork(one.dag, {cpt.name: cpt for cpt in other.cpts})


@pytest.mark.parametrize(
    ("dag", "cpts", "error", "message"),
    [
        ("a->b", [PA], NetworkError, r"no table is given for \['b'\]"),
        ("a->b", [PA, PB, PB], NetworkError, "two tables are given for 'b'"),
        ("a->b", [PA, PB, CPT(C, [1, 0])], UnknownNameError, r"\['c'\], which are not nodes"),
        ("a; b", [PA, PB], NetworkError, r"'b' has the parents \[\] in the graph, but its table is P\(b \| a\)"),
        ("a->b", {"a": PB, "b": PA}, NetworkError, r"given for 'a' is P\(b \| a\)"),
        ("a->b", [PA, [0.5, 0.5]], NetworkError, "expected a CPT"),
        (
            "a->b",
            [CPT(Variable("a", ["yes", "no"]), [0.5, 0.5]), PB],
            NetworkError,
            r"'a' has the states \['no', 'yes'\] here, but \['yes', 'no'\] in its own table",
        ),
    ],
)
def test_parts_that_do_not_agree_are_refused(dag, cpts, error, message):
    with pytest.raises(error, match=message):
        BayesianNetwork(dag, cpts)


def test_tables_that_close_a_cycle_are_refused():
    with pytest.raises(CycleError, match="a -> b -> a|b -> a -> b"):
        BayesianNetwork.from_cpts([CPT(A, np.eye(2), [B]), CPT(B, np.eye(2), [A])])


@settings(max_examples=25)
@given(networks())
def test_equality_pickling_and_views(network):
    again = pickle.loads(pickle.dumps(network))
    assert again == network
    assert again.is_close(network)
    assert BayesianNetwork.from_cpts(network.cpts) == network
    frame = network.to_frame()
    assert len(frame) == sum(cpt.values.size for cpt in network.cpts)
    sums = frame.groupby(["variable", "given"], sort=False)["p"].sum()
    np.testing.assert_allclose(sums, 1)
    expected = sum(cpt.values.size - cpt.values.size // cpt.child.n_states for cpt in network.cpts)
    assert network.n_parameters == expected


def test_a_changed_number_is_seen():
    network = random_network(3, 4)
    victim = max(network.cpts, key=lambda cpt: cpt.child.n_states)
    values = np.roll(victim.values, 1, axis=-1)
    other = BayesianNetwork(
        network.dag, [c if c is not victim else CPT(c.child, values, c.parents) for c in network.cpts]
    )
    assert other != network
    assert not other.is_close(network)


def test_a_large_network_shows_a_short_text():
    variables = [Variable(f"v{i}", [0, 1]) for i in range(100)]
    network = BayesianNetwork.from_cpts(CPT.uniform(v) for v in variables)
    assert repr(network).endswith("... 70 more variables")
    assert len(repr(network).splitlines()) == 32


def test_the_published_asia_network():
    network = bntk.datasets.asia()
    assert network.dag.n_arcs == 8
    table = joint(network)
    axis = {name: i for i, name in enumerate(network.names)}

    def p_yes(name):
        return table.sum(axis=tuple(i for n, i in axis.items() if n != name))[1]

    # The marginals that textbooks give for it.
    expected = {"tub": 0.0104, "lung": 0.055, "bronc": 0.45, "either": 0.064828, "xray": 0.11029004, "dysp": 0.4359706}
    for name, p in expected.items():
        assert p_yes(name) == pytest.approx(p, abs=1e-9)


def test_asia_is_the_network_of_the_repository():
    ours, theirs = bntk.datasets.asia(), bntk.load(shared("data/networks/asia.bif.gz"))
    assert set(ours.dag.arcs) == set(theirs.dag.arcs)
    rows = all_rows(ours)
    np.testing.assert_allclose(theirs.row_log_likelihood(rows), ours.row_log_likelihood(rows), rtol=1e-12)


# ---- sampling ------------------------------------------------------------------------------------------------


def test_sampling_gives_the_joint_distribution():
    network = random_network(2, 5, zeros=True)
    n = 200_000
    rows = network.sample(n, seed=5)
    cards = [v.n_states for v in network.variables]
    seen = np.bincount(np.ravel_multi_index(rows.codes.astype(int), cards), minlength=np.prod(cards))
    expected = joint(network).ravel() * n
    assert not seen[expected == 0].any()
    cells = expected > 5
    chi2 = ((seen[cells] - expected[cells]) ** 2 / expected[cells]).sum()
    assert cells.sum() > 10
    # Seven standard deviations of a chi-square with that many degrees of freedom.
    assert chi2 < cells.sum() + 7 * np.sqrt(2 * cells.sum())


def test_samples_depend_on_the_seed_alone():
    network = random_network(4, 6)
    rows = network.sample(10_000, seed=1)
    bntk.set_threads(1)
    try:
        assert network.sample(10_000, seed=1) == rows
    finally:
        bntk.set_threads(None)
    assert network.sample(10_000, seed=2) != rows
    assert network.sample(300, seed=1) == rows.take(slice(300))


def test_sampled_variables_are_independent_when_the_network_says_so():
    variables = [Variable(f"v{i}", [0, 1]) for i in range(12)]
    network = BayesianNetwork.from_cpts(CPT.uniform(v) for v in variables)
    codes = network.sample(100_000, seed=3).codes.astype(float)
    correlations = np.corrcoef(codes)[np.triu_indices(12, 1)]
    # Standard error 1 / sqrt(n); 66 pairs.
    assert np.abs(correlations).max() < 4.5 / np.sqrt(100_000)
    neighbours = [np.corrcoef(row[:-1], row[1:])[0, 1] for row in codes]
    assert np.abs(neighbours).max() < 4.5 / np.sqrt(100_000)


def test_negative_numbers_of_rows_are_refused():
    with pytest.raises(ValueError, match="n must be a whole number from 0, not -1"):
        bntk.datasets.asia().sample(-1)


@given(st.permutations(range(4)))
@settings(max_examples=10)
def test_the_likelihood_does_not_depend_on_the_column_order(order):
    network = random_network(8, 4)
    rows = network.sample(50, seed=0)
    names = [network.names[i] for i in order]
    assert network.log_likelihood(rows.select(names).to_pandas()) == network.log_likelihood(rows)


def test_every_dag_over_three_nodes_makes_a_network():
    names = ["a", "b", "c"]
    pairs = list(itertools.permutations(names, 2))
    made = 0
    for arcs in itertools.chain.from_iterable(itertools.combinations(pairs, k) for k in range(4)):
        try:
            dag = DAG(names, arcs)
        except CycleError:
            continue
        variables = {"a": A, "b": B, "c": C}
        cpts = [CPT.uniform(variables[n], [variables[p] for p in dag.parents(n)]) for n in names]
        assert BayesianNetwork(dag, cpts).n_parameters == sum(2 ** len(dag.parents(n)) for n in names)
        made += 1
    assert made == 25  # the number of labelled DAGs on three nodes


def test_an_intervention_on_a_variable_of_many_states_takes_no_square_of_them():
    many = bntk.Variable("many", range(60_000))
    bn = bntk.BayesianNetwork(bntk.DAG(["many"]), [bntk.CPT(many, np.full(60_000, 1 / 60_000))])
    assert bn.do({"many": 59_999}).query("many").values[-1] == 1
