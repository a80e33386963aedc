"""Adjustment sets against all subsets: by the numbers of random tables, and by the DAGs of a class."""

from __future__ import annotations

from itertools import chain, combinations, pairwise, product

import networkx as nx
import numpy as np
import pytest
from cases import examples
from causal.truth import random_dag, random_tables, truth
from hypothesis import given
from random_networks import joint
from strategies import undirected_graphs

import bntk
from bntk.causal.classes import possible_descendants
from bntk.causal.separators import Separators
from bntk.errors import BntkError
from bntk.graph import PDAG, d_separated, meek

SEEDS = range(examples(50, 1_000))


def subsets(names):
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))


def in_order(dag, sets):
    return sorted((tuple(sorted(s, key=dag.index)) for s in sets), key=lambda s: (len(s), [dag.index(n) for n in s]))


def minimal(sets):
    return [s for s in sets if not any(set(other) < set(s) for other in sets)]


def random_question(seed: int, most: int = 6):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(3, most + 1)), float(rng.choice([0.3, 0.5, 0.7])))
    names = [str(name) for name in rng.permutation(dag.nodes)]
    n_x = 1 + int(len(names) > 3 and rng.random() < 0.3)
    n_y = 1 + int(len(names) > 4 and rng.random() < 0.3)
    x, y, rest = names[:n_x], names[n_x : n_x + n_y], names[n_x + n_y :]
    latent = [name for name in rest if rng.random() < 0.25]
    return rng, dag, x, y, [name for name in rest if name not in latent], latent


def adjusted(whole: np.ndarray, dag, x, y, z) -> np.ndarray:
    """The sum over z of P(y | x, z) P(z), an axis for each variable of x, then of y."""
    axes = {name: dag.index(name) for name in (*x, *y, *z)}
    xyz = np.einsum(whole, list(range(whole.ndim)), [axes[name] for name in (*x, *y, *z)])
    over_y = tuple(range(len(x), len(x) + len(y)))
    p_z = xyz.sum(axis=tuple(range(len(x) + len(y))))
    return (xyz / xyz.sum(axis=over_y, keepdims=True) * p_z).sum(axis=tuple(range(len(x) + len(y), xyz.ndim)))


# ---- DAGs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_all_subsets_that_adjust_in_random_tables(seed):
    rng, dag, x, y, observed, latent = random_question(seed)
    network = random_tables(rng, dag, 2)
    whole, expected = joint(network), truth(network, y, x)
    valid = [z for z in subsets(observed) if np.allclose(adjusted(whole, dag, x, y, z), expected, rtol=0, atol=1e-10)]
    assert [z for z in subsets(observed) if dag.is_adjustment_set(x, y, z, latent)] == valid
    sets = in_order(dag, minimal(valid))
    assert dag.adjustment_sets(x, y, latent) == sets
    for limit in range(1, len(sets) + 2):
        assert dag.adjustment_sets(x, y, latent, limit=limit) == sets[:limit]


@pytest.mark.parametrize("seed", SEEDS)
def test_reasons_hold(seed):
    _, dag, x, y, observed, latent = random_question(seed + 50_000)
    for z in subsets(observed):
        found = dag.is_adjustment_set(x, y, z, latent)
        assert found.valid == (not found.reason)
        if found.path:
            check_open_path(dag, found.path, x, y, z)
        elif not found:
            assert set(z) & set(found.forbidden)
            assert any(name in found.reason for name in z)


def check_open_path(dag, path, x, y, z):
    assert path[0] in x
    assert path[-1] in y
    assert len(set(path)) == len(path)
    assert not set(path[1:]) & set(x)
    forwards = [dag.has_arc(a, b) for a, b in pairwise(path)]
    assert all(dag.has_arc(a, b) or dag.has_arc(b, a) for a, b in pairwise(path))
    assert not all(forwards)
    for place in range(1, len(path) - 1):
        node = path[place]
        if forwards[place - 1] and not forwards[place]:
            assert {node, *dag.descendants(node)} & set(z)
        else:
            assert node not in z


def random_linear_covariance(rng, dag) -> np.ndarray:
    weights = dag.adjacency() * rng.normal(size=(dag.n_nodes, dag.n_nodes))
    inverse = np.linalg.inv(np.eye(dag.n_nodes) - weights.T)
    return inverse @ np.diag(rng.uniform(0.5, 2, dag.n_nodes)) @ inverse.T


def asymptotic_variance(covariance, dag, x, y, z) -> float:
    """Of the coefficient of x in a linear regression of y on x and z: Var(y | x, z) / Var(x | z)."""

    def residual(name, given):
        i, rest = dag.index(name), [dag.index(other) for other in given]
        below = covariance[np.ix_(rest, rest)]
        return covariance[i, i] - covariance[i, rest] @ np.linalg.solve(below, covariance[rest, i])

    return residual(y, [x, *z]) / residual(x, z)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimal_set_has_the_smallest_variance_in_linear_models(seed):
    rng, dag, (x, *_), (y, *_), _, latent = random_question(seed, 7)
    rest = [name for name in dag.nodes if name not in {x, y, *latent}]
    best = dag.optimal_adjustment_set(x, y, latent)
    valid = [z for z in subsets(rest) if dag.is_adjustment_set(x, y, z, latent)]
    if not best:
        assert best.names is None
        assert latent or y not in dag.descendants(x)
        assert best.reason
        return
    assert best.names in valid
    for _ in range(3):
        covariance = random_linear_covariance(rng, dag)
        least = asymptotic_variance(covariance, dag, x, y, best)
        assert all(least <= asymptotic_variance(covariance, dag, x, y, z) + 1e-9 for z in valid)


def test_without_latent_variables_effects_have_an_optimal_set():
    dag = bntk.DAG.parse("v -> x -> m -> y <- w; w -> x; k -> m; r -> v")
    best = dag.optimal_adjustment_set("x", "y")
    assert best.names == ("w", "k")
    assert set(best) == {"k", "w"}
    assert "k" in best
    assert len(best) == 2
    assert not dag.optimal_adjustment_set("x", "y", latent="w")
    # A latent variable that only adds noise does not matter.
    assert dag.optimal_adjustment_set("x", "y", latent="k").names == ("w",)
    assert "no effect of 'y'" in dag.optimal_adjustment_set("y", "x").reason
    bow = bntk.DAG.parse("x -> y; u -> x; u -> y")
    assert "x <- u -> y" in bow.optimal_adjustment_set("x", "y", latent="u").reason


EXAMPLES = {
    "back door": ("z -> x -> y <- z", "", [("z",)]),
    "M-bias": ("x <- u -> m <- v -> y <- x", "u v", [()]),
    "M-bias with an arc": ("x <- u -> m <- v -> y <- x; m -> x", "", [("v",), ("u", "m")]),
    "butterfly": ("x <- u -> m <- v -> y <- x; m -> x; m -> y", "", [("u", "m"), ("m", "v")]),
    "bow": ("u -> x -> y <- u", "u", []),
    "front door": ("u -> x -> z -> y <- u", "u", []),
    "napkin": ("w -> z -> x -> y; a -> w; a -> x; b -> w; b -> y", "a b", []),
    "Verma": ("x -> b -> c -> y; u -> b; u -> y", "u", [()]),
    "instrument": ("z -> x -> y; u -> x; u -> y", "", [("u",)]),
    "effect of a cause on its cause": ("y -> x", "", []),
    "no effect": ("x <- z -> y", "", [("z",)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_published_examples(name):
    dag, latent, sets = EXAMPLES[name]
    assert bntk.DAG.parse(dag).adjustment_sets("x", "y", latent.split()) == sets


def test_pgmpy_agrees():
    identification = pytest.importorskip("pgmpy.identification")
    base = pytest.importorskip("pgmpy.base")
    compared = 0
    for seed in SEEDS:
        _, dag, (x, *_), (y, *_), _, _ = random_question(seed)
        if y not in dag.descendants(x):
            continue
        peer = base.DAG()
        peer.add_nodes_from(dag.nodes)
        peer.add_edges_from(dag.arcs)
        peer = peer.with_role("exposures", x).with_role("outcomes", y)
        smallest, found = identification.Adjustment(variant="minimal").identify(peer)
        assert found
        theirs = smallest.get_role_dict().get("adjustment", [])
        if {*theirs} & _proper_causal(dag, [x], [y]):
            continue  # its version 1.1.2 sometimes adjusts for a mediator, which changes the effect
        assert dag.is_adjustment_set(x, y, theirs)
        assert len(dag.adjustment_sets(x, y, limit=1)[0]) <= len(theirs)
        compared += 1
    assert compared


def test_networkx_finds_the_same_sets_separated():
    for seed in SEEDS:
        _, dag, x, y, _, _ = random_question(seed)
        graph = dag.to_networkx()
        causal = [n for n in dag.nodes if n in _proper_causal(dag, x, y)]
        graph.remove_edges_from([(a, b) for a in x for b in causal if dag.has_arc(a, b)])
        for z in dag.adjustment_sets(x, y):
            assert nx.is_minimal_d_separator(graph, set(x), set(y), set(z))


def _proper_causal(dag, x, y):
    cut = dag.do(*x)
    below = set(cut.descendants(x))
    free = bntk.DAG(dag.nodes, [arc for arc in dag.arcs if arc[0] not in x])
    return below & {*y, *free.ancestors(y)}


def test_a_few_sets_of_a_large_graph_are_found_without_all():
    rng = np.random.default_rng(3)
    names = [f"n{i}" for i in range(300)]
    arcs = [(names[a], names[b]) for b in range(300) for a in sorted({*rng.integers(0, max(b, 1), 3)}) if a < b]
    dag = bntk.DAG(names, arcs)
    few = dag.adjustment_sets("n150", "n299", limit=3)
    assert len(few) == 3
    assert [len(z) for z in few] == sorted(len(z) for z in few)
    assert all(dag.is_adjustment_set("n150", "n299", z) for z in few)
    assert dag.adjustment_sets("n150", "n299", limit=1) == few[:1]


# ---- separators ------------------------------------------------------------------------------------------------


@given(undirected_graphs(min_nodes=2))
def test_minimal_separators_equal_those_found_by_brute_force(graph):
    rows = graph.neighbor_indices
    allowed = [node for node in range(2, graph.n_nodes) if node % 4]

    def separates(nodes):
        kept = graph.to_networkx()
        kept.remove_nodes_from([graph.nodes[node] for node in nodes])
        return not nx.has_path(kept, graph.nodes[0], graph.nodes[1])

    expected = minimal([frozenset(s) for s in subsets(allowed) if separates(s)])
    expected.sort(key=lambda nodes: (len(nodes), sorted(nodes)))
    separators = Separators(rows, [0], [1], allowed)
    assert separators.all() == expected
    assert list(separators.ranked()) == expected
    assert separators.first() in (expected or [None])


# ---- equivalence classes ---------------------------------------------------------------------------------------


def members(pdag: PDAG) -> list[bntk.DAG]:
    """All DAGs of a class."""
    found = []
    for turns in product((False, True), repeat=len(pdag.undirected)):
        arcs = [(b, a) if turn else (a, b) for turn, (a, b) in zip(turns, pdag.undirected)]
        try:
            dag = bntk.DAG(pdag.nodes, [*pdag.directed, *arcs])
        except bntk.errors.CycleError:
            continue
        skeleton_only = PDAG(pdag.nodes, pdag.directed, pdag.undirected)
        if {*dag.v_structures()} == directed_v_structures(skeleton_only):
            found.append(dag)
    return found


def directed_v_structures(pdag: PDAG) -> set[tuple[str, str, str]]:
    joined = {frozenset(pair) for pair in (*pdag.directed, *pdag.undirected)}
    return {
        (a, child, b)
        for child in pdag.nodes
        for a, b in combinations(pdag.parents(child), 2)
        if frozenset((a, b)) not in joined
    }


def random_class(seed: int) -> tuple[np.random.Generator, PDAG]:
    """A CPDAG, with some edges directed by background knowledge; Meek's rules are not yet applied to these."""
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(3, 7)), float(rng.choice([0.4, 0.6, 0.8])))
    pdag = dag.cpdag()
    for a, b in pdag.undirected:
        if rng.random() < 0.25:
            arc = (a, b) if dag.has_arc(a, b) else (b, a)
            pdag = PDAG(pdag.nodes, [*pdag.directed, arc], [edge for edge in pdag.undirected if edge != (a, b)])
    return rng, pdag


@pytest.mark.parametrize("seed", SEEDS)
def test_sets_of_a_class_are_those_that_are_valid_in_each_of_its_dags(seed):
    rng, pdag = random_class(seed)
    names = [str(name) for name in rng.permutation(pdag.nodes)]
    n_x = 1 + int(len(names) > 3 and rng.random() < 0.3)
    x, y, rest = names[:n_x], names[n_x : n_x + 1], names[n_x + 1 :]
    dags = members(meek(pdag))
    valid = [z for z in subsets(rest) if all(dag.is_adjustment_set(x, y, z) for dag in dags)]
    assert [z for z in subsets(rest) if pdag.is_adjustment_set(x, y, z)] == valid
    sets = in_order(pdag, minimal(valid))
    assert pdag.adjustment_sets(x, y) == sets
    assert pdag.adjustment_sets(x, y, limit=2) == sets[:2]
    best = pdag.optimal_adjustment_set(x, y)
    if best:
        assert {dag.optimal_adjustment_set(x, y).names for dag in dags} == {best.names}


@pytest.mark.parametrize("seed", SEEDS)
def test_possible_descendants_are_descendants_in_some_dag(seed):
    _, pdag = random_class(seed)
    closed = meek(pdag)
    dags = members(closed)
    for node, name in enumerate(pdag.nodes):
        below = {name}.union(*(dag.descendants(name) for dag in dags))
        assert set(pdag._names(possible_descendants(closed, [node]))) == below


# ---- arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [bntk.DAG.parse("u -> x -> y <- u"), bntk.DAG.parse("u -> x -> y <- u").cpdag()])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "X", "y": "y"}, "there is no node 'X'; did you mean 'x'"),
        ({"x": "x", "y": "x"}, "'x' is in x and in y"),
        ({"x": "x", "y": []}, "y is empty"),
        ({"x": "x", "y": "y", "latent": "y"}, "'y' of y is latent"),
        ({"x": 3, "y": "y"}, "x must be"),
    ],
)
def test_questions_that_make_no_sense(graph, arguments, message):
    for ask in (graph.adjustment_sets, graph.is_adjustment_set, graph.optimal_adjustment_set):
        with pytest.raises(BntkError, match=message):
            ask(**arguments)


def test_other_arguments_that_make_no_sense():
    dag = bntk.DAG.parse("u -> x -> y <- u")
    with pytest.raises(BntkError, match="'x' is in x and in z"):
        dag.is_adjustment_set("x", "y", ["x"])
    with pytest.raises(BntkError, match="limit must be a whole number from 1"):
        dag.adjustment_sets("x", "y", limit=0)
    assert dag.is_adjustment_set(iter(["x"]), iter(["y"]), iter(["u"]), iter([]))
    assert dag.is_adjustment_set("x", "y", "u", latent="u").reason == "'u' is latent"
    assert d_separated(dag, "x", "y") is False
