"""Possible effects against the list of all DAGs of a class."""

import itertools

import numpy as np
import pytest
from causal.drawn import drawn_network
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.causal import possible_effects, possible_parents
from bntk.errors import DataError, GraphError, TooLargeError, UnknownNameError
from bntk.graph import PDAG


def drawn_dag(seed, density=0.5):
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(list("abcxy"))]
    return bntk.DAG(sorted(names), [(u, v) for u, v in itertools.combinations(names, 2) if rng.random() < density])


def members(pdag):
    """All DAGs of a class, by trying all directions."""
    edges = pdag.undirected
    found = []
    for ways in itertools.product((0, 1), repeat=len(edges)):
        arcs = [*pdag.directed, *(edge[::-1] if way else edge for edge, way in zip(edges, ways))]
        try:
            dag = bntk.DAG(pdag.nodes, arcs)
        except bntk.errors.CycleError:
            continue
        found.append(dag)
    v_structures = set(pdag_v_structures(pdag))
    return [dag for dag in found if set(dag.v_structures()) == v_structures]


def pdag_v_structures(pdag):
    return bntk.graph.consistent_extension(pdag).v_structures()


@given(st.integers(0, 100_000), st.sampled_from(["optimal", "local"]))
@settings(max_examples=40, deadline=None)
def test_the_effects_are_those_in_all_dags_of_the_class(seed, method):
    dag = drawn_dag(seed)
    bn = drawn_network(dag, seed)
    found = possible_effects(dag.cpdag(), bn, "y", {"x": 1}, versus={"x": 0}, method=method)
    by_parents = {}
    for other in members(dag.cpdag()):
        tables = []
        for name in other.nodes:  # the same joint distribution, with the tables of the other DAG
            parents = other.parents(name)
            p = bn.query([*parents, name]).values
            values = p / np.maximum(p.sum(axis=-1, keepdims=True), 1e-300)
            tables.append(bntk.CPT(bn.variable(name), values, [bn.variable(u) for u in parents]))
        by_parents[frozenset(other.parents("x"))] = bntk.BayesianNetwork(other, tables).effect("y", {"x": 1}).p[0, 0]
    assert {frozenset(parents) for parents in found.parents} == set(by_parents)
    assert len(found.parents) == len(by_parents)
    for parents, effect in zip(found.parents, found):
        assert np.allclose(effect.p[0, 0], by_parents[frozenset(parents)])


@given(st.integers(0, 100_000), st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_parents_with_further_arcs_that_are_known(seed, which):
    dag = drawn_dag(seed)
    pdag = dag.cpdag()
    edges = pdag.undirected
    if edges:  # an arc of the true DAG that the class leaves open
        u, v = edges[which % len(edges)]
        tail, head = (u, v) if dag.has_arc(u, v) else (v, u)
        pdag = bntk.graph.meek(
            PDAG(pdag.nodes, [*pdag.directed, (tail, head)], [edge for edge in edges if {*edge} != {u, v}])
        )
    expected = {frozenset(other.parents("x")) for other in members(pdag)}
    found = possible_parents(pdag, "x")
    assert {frozenset(parents) for parents in found} == expected
    assert len(found) == len(expected)


def test_from_rows_with_intervals():
    bn = bntk.datasets.sprinkler()
    rows = bn.sample(5000, seed=3)
    options = {"versus": {"rain": "no"}, "values": [0, 1]}
    exact = possible_effects(bn.dag.cpdag(), bn, "wet", {"rain": "yes"}, **options)
    for method in ("optimal", "local"):
        found = possible_effects(bn.dag, rows, "wet", {"rain": "yes"}, method=method, resamples=50, **options)
        assert np.allclose(found.averages, exact.averages, atol=0.05)
        assert all(low < effect.average < high for effect in found for low, high in [effect.interval()])
    assert found.adjusted[0] == ()
    assert "2 possible effects" in repr(found)
    assert "<table" in found._repr_html_()
    assert set(found.to_frame()["parents"]) == {"-", "cloudy"}


def test_no_effect_is_one_of_the_possible_effects():
    bn = drawn_network(bntk.DAG.parse("x -> y"), 0)
    found = possible_effects(bn.dag, bn, "y", {"x": 1}, versus={"x": 0})
    assert found.parents == ((), ("y",))
    assert found.adjusted == ((), None)
    assert found.effects[1].average == 0
    assert 0 in found.averages


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": "Y"}, UnknownNameError, "did you mean 'y'"),
        ({"do": {"x": 1, "z": 0}}, DataError, "one variable on another"),
        ({"do": {"y": 1}}, DataError, "'y' is in do and in y"),
        ({"method": "global"}, ValueError, "'optimal' or 'local'"),
        ({"graph": "x -> y"}, ValueError, "graph must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    bn = drawn_network(bntk.DAG.parse("x -> y; z -> y"), 0)
    with pytest.raises(error, match=message):
        possible_effects(**{"graph": bn.dag, "source": bn, "y": "y", "do": {"x": 1}, **arguments})


def test_graphs_that_are_no_class_and_nodes_with_many_edges_are_refused():
    square = PDAG(["a", "b", "c", "x"], [], [("a", "b"), ("b", "c"), ("c", "x"), ("x", "a")])
    with pytest.raises(GraphError, match="no equivalence class"):
        possible_parents(square, "x")
    star = PDAG(["x", *(f"n{k}" for k in range(17))], [], [("x", f"n{k}") for k in range(17)])
    with pytest.raises(TooLargeError, match="17 edges without a direction"):
        possible_parents(star, "x")
