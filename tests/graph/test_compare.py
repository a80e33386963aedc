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


@given(dags(), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_numbers_are_those_of_the_matrices(dag, seed):
    """Of all pairs of nodes, for DAGs and classes; also when the nodes are in another order."""
    rng = np.random.default_rng(seed)
    n = len(dag.nodes)
    upper = np.triu(rng.random((n, n)) < 0.4, 1)
    order = rng.permutation(n)
    other = DAG.from_adjacency(upper[np.ix_(order, order)], dag.nodes).reorder([dag.nodes[v] for v in order])
    for learned in (dag, dag.cpdag()):
        for reference in (other, other.cpdag()):
            found = bntk.compare_structures(learned, reference)
            a, b = matrix(learned, dag.nodes), matrix(reference, dag.nodes)
            directed = [m & ~m.T for m in (a, b)]
            joined = [np.triu(m | m.T, 1) for m in (a, b)]
            assert found.arcs == agreement(*directed)
            assert found.skeleton == agreement(*joined)
            assert found.v_structures == agreement(*(colliders(m) for m in (a, b)))
            classes = [matrix(g.cpdag() if isinstance(g, DAG) else g, dag.nodes) for g in (learned, reference)]
            differs = classes[0] != classes[1]
            assert found.shd == np.triu(differs | differs.T, 1).sum()
            edges = [m & m.T for m in (a, b)]
            assert len(found.directed_in_learned) == (directed[0] & edges[1]).sum()
            assert len(found.directed_in_reference) == (directed[1] & edges[0]).sum()
            assert len(found.added) == (directed[0] & ~(b | b.T)).sum()
            assert len(found.missing) == (directed[1] & ~(a | a.T)).sum()
            assert len(found.reversed) == (directed[0] & directed[1].T).sum()


def matrix(graph, nodes):
    """Row: tail, column: head; edges both ways."""
    edges = () if isinstance(graph, DAG) else graph.undirected
    arcs = [*(graph.arcs if isinstance(graph, DAG) else graph.directed), *edges, *((b, a) for a, b in edges)]
    found = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for tail, head in arcs:
        found[nodes.index(tail), nodes.index(head)] = True
    return found


def agreement(ours, theirs):
    return Agreement((ours & theirs).sum(), (ours & ~theirs).sum(), (theirs & ~ours).sum())


def colliders(found):
    """At [a, c, b]: whether a -> c <- b, a before b, with a and b not joined."""
    into = found & ~found.T
    apart = np.triu(~(found | found.T), 1)
    return into[:, :, None] & into.T[None] & apart[:, None, :]


def test_skeleton_and_distances_are_those_of_pyagrum():
    """Its scores of arcs are those of the equivalence classes."""
    gum = pytest.importorskip("pyagrum")
    from pyagrum.lib.bn_vs_bn import GraphicalBNComparator

    for seed in range(20):
        networks = [bntk.datasets.random_network(7, n_states=2, n_arcs=8, seed=2 * seed + k) for k in range(2)]
        texts = [";".join([*bn.names, *(f"{a}->{b}" for a, b in bn.dag.arcs)]) for bn in networks]
        reference, learned = map(gum.fastBN, texts)
        found = bntk.compare_structures(networks[1].dag, networks[0].dag)
        theirs = GraphicalBNComparator(reference, learned)
        ours, scores = found.skeleton, theirs.skeletonScores()
        assert (ours.precision, ours.recall) == pytest.approx((scores["precision"], scores["recall"]))
        assert ours.f1 == pytest.approx(scores["fscore"])
        assert found.shd == theirs.hamming()["structural hamming"]
        assert found.skeleton.fp + found.skeleton.fn == theirs.hamming()["hamming"]


def test_what_only_one_directs_is_listed_apart():
    found = bntk.compare_structures(DAG.parse("A -> B -> C").cpdag(), "A -> B -> C")
    assert (found.shd, found.missing, found.directed_in_reference) == (0, (), (("A", "B"), ("B", "C")))
    assert found.arcs == Agreement(tp=0, fp=0, fn=2)
    assert "  directed in reference only   2  A -> B, B -> C" in repr(found)
    assert "directed in" not in repr(bntk.compare_structures("A -> B", "B -> A"))
    other = bntk.compare_structures("A -> B -> C", DAG.parse("A -> B -> C").cpdag())
    assert (other.added, other.directed_in_learned, other.fp) == ((), (("A", "B"), ("B", "C")), 2)


def test_without_arcs_all_agrees():
    found = bntk.compare_structures("A; B", "A; B")
    assert found.shd == 0
    assert found.to_frame()[["precision", "recall", "f1"]].to_numpy().tolist() == [[1.0] * 3] * 3
    assert found.plot() is not None
    assert "SHD 0" in found._repr_html_()
    empty, full = bntk.compare_structures("A; B", "A -> B"), bntk.compare_structures("A -> B", "A; B")
    assert (empty.arcs.precision, empty.arcs.recall, empty.arcs.f1) == (1.0, 0.0, 0.0)
    assert (full.arcs.precision, full.arcs.recall, full.arcs.f1) == (0.0, 1.0, 0.0)


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
    with pytest.raises(GraphError, match="each structure must be .*, not 3"):
        bntk.compare_structures(3, found)
    with pytest.raises(GraphError, match="only one of them has 'C'"):
        bntk.compare_structures("A -> B; C", "A -> B")
