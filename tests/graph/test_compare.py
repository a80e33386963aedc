"""Structures beside each other: agreement, and the divergence of networks by family, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dags

import bntk
from bntk import DAG
from bntk.errors import GraphError, NetworkError
from bntk.graph import Agreement, v_structures


def test_a_case_worked_out_by_hand():
    # Skeletons: A-B, B-C, A-D against A-B, B-C, C-D; v-structures: A -> B <- C against none.
    found = bntk.compare_structures("A -> B; C -> B; A -> D", "A -> B -> C -> D")
    assert found.skeleton == Agreement(tp=2, fp=1, fn=1)
    assert found.arcs == Agreement(tp=1, fp=2, fn=2)
    assert found.v_structures == Agreement(tp=0, fp=1, fn=0)
    assert (found.skeleton.precision, found.skeleton.recall, found.skeleton.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert found.shd == DAG.parse("A -> B; C -> B; A -> D").shd(DAG.parse("A -> B -> C -> D"))
    assert found.kl is None
    assert "F1 0.667" in repr(found)
    assert list(found.to_frame().index) == ["skeleton", "arcs", "v-structures"]


@given(dags())
@settings(max_examples=40, deadline=None)
def test_a_structure_agrees_with_itself_and_its_class(dag):
    for other in (dag, dag.cpdag()):
        found = dag.compare(other)
        assert found.shd == 0
        assert found.skeleton.f1 == found.v_structures.f1 == 1.0
    assert found.v_structures.tp == len(v_structures(dag))


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_divergence_is_that_of_the_joint_distributions(seed):
    p = bntk.datasets.random_network(5, max_parents=2, seed=seed)
    q = bntk.learn(p.sample(200, seed=seed), "bic", search="hc", variables=p.variables)
    found = bntk.compare_structures(q, p)
    names = list(p.names)
    a, b = p.query(names).values, q.query(names).values
    seen = a > 0
    assert found.kl == pytest.approx((a[seen] * np.log(a[seen] / b[seen])).sum(), abs=1e-9)
    assert sum(found.kl_by_family.values()) == pytest.approx(found.kl, abs=1e-12)
    assert list(found.kl_by_family) == names


def test_states_may_be_in_another_order_but_must_be_the_same():
    rows = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "u"]}
    one, other = (
        bntk.fit("a -> b", rows, prior=1.0, variables=[bntk.Variable("a", states), bntk.Variable("b", ["u", "v"])])
        for states in (["x", "y"], ["y", "x"])
    )
    assert bntk.compare_structures(one, other).kl == pytest.approx(0, abs=1e-12)
    wide = bntk.fit("a -> b", rows, variables=[bntk.Variable("a", ["x", "y", "z"]), bntk.Variable("b", ["u", "v"])])
    with pytest.raises(NetworkError, match="'a' has the states"):
        bntk.compare_structures(wide, one)


def test_what_the_network_excludes_is_infinitely_far():
    rows = {"a": ["x", "x"], "b": ["u", "v"]}
    variables = [bntk.Variable("a", ["x", "y"]), bntk.Variable("b", ["u", "v"])]
    q, p = (bntk.fit("a; b", rows, prior=prior, variables=variables) for prior in ("mle", 1.0))
    assert bntk.compare_structures(q, p).kl == np.inf


def test_results_of_searches_and_pictures():
    rows = bntk.datasets.asia().sample(500, seed=0)
    found = bntk.learn_structure(rows, "bic", search="ges")
    compared = bntk.compare_structures(found, bntk.datasets.asia())
    assert compared.learned == found.dag
    assert compared.plot().get_figure() is not None
    assert bntk.compare_structures(found.pdag, bntk.datasets.asia()).plot().get_figure() is not None
    with pytest.raises(GraphError, match="each structure must be"):
        bntk.compare_structures(3, found)
