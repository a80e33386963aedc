"""Where things are drawn: nothing overlaps, arcs point down and pass other nodes at a distance."""

import itertools
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import answers_of_processes
from scipy.optimize import linprog

import bntk
from bntk.graph.crossings import _count, fewest_crossings
from bntk.graph.layers import shortest_levels
from bntk.graph.layout import layered_layout


def random_dag(seed, n, density):
    """A DAG whose arcs mostly join nodes that are near each other, some far; node order is not topological."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    n_arcs = int(density * n)
    pairs = {tuple(sorted(rng.integers(0, n, 2))) for _ in range(n_arcs)}
    return bntk.DAG([f"x{i}" for i in range(n)], [(f"x{order[a]}", f"x{order[b]}") for a, b in pairs if a != b])


def random_sizes(seed, nodes):
    rng = np.random.default_rng(seed + 1)
    return {node: (float(rng.uniform(20, 150)), float(rng.choice([24, 24, 48, 90]))) for node in nodes}


dags = st.builds(random_dag, st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([0.3, 1.0, 1.7]))


def curve_points(route, per_curve=40):
    points, t = np.array(route), np.linspace(0, 1, per_curve)[:, None]
    parts = []
    for k in range(0, len(points) - 1, 3):
        a, b, c, d = points[k : k + 4]
        parts.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    return np.concatenate(parts)


def assert_good(dag, sizes, layout, gap):
    assert list(layout.positions) == list(dag.nodes)
    assert set(layout.routes) == set(dag.arcs)
    centre = np.array([layout.positions[node] for node in dag.nodes]).reshape(-1, 2)
    half = np.array([sizes[node] for node in dag.nodes]).reshape(-1, 2) / 2
    for i, j in itertools.combinations(range(dag.n_nodes), 2):
        apart = np.abs(centre[i] - centre[j]) - half[i] - half[j]
        assert apart.max() >= gap - 1e-6, (dag.nodes[i], dag.nodes[j])
    for (parent, child), route in layout.routes.items():
        p, c = dag.index(parent), dag.index(child)
        assert len(route) % 3 == 1
        assert route[0] == pytest.approx((centre[p][0], centre[p][1] - half[p][1]))
        assert route[-1][1] == pytest.approx(centre[c][1] + half[c][1])
        assert abs(route[-1][0] - centre[c][0]) <= half[c][0]
        points = curve_points(route)
        assert (np.diff(points[:, 1]) <= 1e-9).all()  # never upwards
        inside = (np.abs(points[:, None, :] - centre) < half - 1e-6).all(axis=2)
        assert not inside.any(), f"{parent} -> {child} runs through a node"


@settings(max_examples=60, deadline=None)
@given(dags, st.integers(0, 1000), st.booleans())
def test_nothing_overlaps_and_arcs_run_down_past_other_nodes(dag, seed, share):
    sizes = random_sizes(seed, dag.nodes)
    assert_good(dag, sizes, layered_layout(dag, sizes, gap=12.0, share=share), 12.0)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 100), st.integers(60, 100))
def test_the_same_holds_for_large_graphs(seed, n):
    dag = random_dag(seed, n, 1.5)
    sizes = random_sizes(seed, dag.nodes)
    assert_good(dag, sizes, layered_layout(dag, sizes), 18.0)


@pytest.mark.parametrize("n", [8, 40, 90])
def test_a_star_is_folded_into_rows_no_wider_than_a_page(n):
    dag = bntk.DAG(["class", *(f"f{i}" for i in range(n))], [("class", f"f{i}") for i in range(n)])
    sizes = dict.fromkeys(dag.nodes, (70.0, 24.0))
    layout = layered_layout(dag, sizes)
    assert_good(dag, sizes, layout, 18.0)
    x, y = np.array(list(layout.positions.values())).T
    assert np.ptp(x) <= 1100
    assert np.ptp(x) <= 3.5 * np.ptp(y) or n <= 8
    assert y[0] == y.max()
    # In rows, each in the order of the features.
    for height in np.unique(y[1:]):
        row = x[1:][y[1:] == height]
        assert (np.diff(row) > 0).all()


def test_parents_are_centred_above_their_leaves():
    layout = layered_layout(bntk.DAG.parse("r->a; r->b; a->c; a->d; b->e; b->f"))
    x = {node: at[0] for node, at in layout.positions.items()}
    assert x["r"] == pytest.approx((x["a"] + x["b"]) / 2, abs=8)
    assert x["a"] == pytest.approx((x["c"] + x["d"]) / 2, abs=8)
    assert x["b"] == pytest.approx((x["e"] + x["f"]) / 2, abs=8)


def test_a_long_arc_is_straight_where_nothing_is_in_its_way():
    layout = layered_layout(bntk.DAG.parse("a->b->c->d; a->d"))
    x = [p[0] for p in layout.routes["a", "d"]]
    middle = x[3:-3]
    assert max(middle) - min(middle) < 2.0


def test_a_planar_tree_is_drawn_without_crossings():
    dag = bntk.DAG.parse("r->a; r->b; r->c; a->a1; c->c1; b->b1; a->a2; c->c2; b->b2")
    layout = layered_layout(dag)
    arcs = [(layout.positions[a], layout.positions[b]) for a, b in dag.arcs]
    for (p, q), (s, t) in itertools.combinations(arcs, 2):
        if p[1] == s[1]:
            assert (p[0] - s[0]) * (q[0] - t[0]) >= 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 25))
def test_levels_have_the_least_total_length_of_all(seed, n):
    rng = np.random.default_rng(seed)
    arcs = {(int(rng.integers(0, b)), b) for b in range(1, n)}  # connected
    arcs |= {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(n // 2)}
    arcs = sorted(arcs)
    level = shortest_levels(n, arcs)
    assert min(level) == 0
    assert all(level[b] > level[a] for a, b in arcs)
    cost = np.zeros(n)
    rows = np.zeros((len(arcs), n))
    for row, (a, b) in zip(rows, arcs, strict=True):
        cost[a] -= 1
        cost[b] += 1
        row[a], row[b] = 1, -1
    # No level need be above n; without that bound, older versions of HiGHS fail.
    best = linprog(cost, A_ub=rows, b_ub=-np.ones(len(arcs)), bounds=[(0, n)] * n)
    assert sum(level[b] - level[a] for a, b in arcs) == pytest.approx(best.fun)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_orders_never_have_more_crossings_than_they_began_with_and_in_small_ones_the_fewest(seed):
    rng = np.random.default_rng(seed)
    layers = [[0, 1, 2, 3], [4, 5, 6, 7]]
    links = sorted({(int(rng.integers(0, 4)), int(rng.integers(4, 8))) for _ in range(7)})
    below = [[b for a, b in links if a == v] for v in range(8)]
    found = fewest_crossings(layers, links)
    assert [sorted(layer) for layer in found] == layers

    def crossings(upper, lower):
        place = {v: i for i, v in enumerate([*upper])} | {v: i for i, v in enumerate([*lower])}
        return sum(
            (place[a] - place[c]) * (place[b] - place[d]) < 0 for (a, b), (c, d) in itertools.combinations(links, 2)
        )

    assert _count(found, below) == crossings(*found)
    assert crossings(*found) <= crossings(*layers)
    best = min(crossings(p, q) for p in itertools.permutations(range(4)) for q in itertools.permutations(range(4, 8)))
    assert crossings(*found) <= best + 1


CODE = """
import bntk
from bntk.viz.network import network_scene
bn = bntk.datasets.asia()
scene = network_scene(bn, {"xray": "yes"}, target=["lung", "tub"], highlight=["dysp"], strengths="mi")
print(scene)
"""


def test_the_picture_does_not_depend_on_the_hash_seed():
    assert len(answers_of_processes(CODE)) == 1


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_gives_the_same_kind_of_layout():
    from bntk.viz.graphviz import graphviz_layout

    dag = bntk.DAG(['say "hi"', "a\\nb", "c;}"], [('say "hi"', "a\\nb"), ("a\\nb", "c;}"), ('say "hi"', "c;}")])
    sizes = dict.fromkeys(dag.nodes, (60.0, 30.0))
    layout = graphviz_layout(dag, sizes)
    assert list(layout.positions) == list(dag.nodes)
    for (parent, child), route in layout.routes.items():
        assert len(route) % 3 == 1
        assert route[0][1] <= layout.positions[parent][1]
        assert route[-1][1] == pytest.approx(layout.positions[child][1] + 15.0, abs=1.0)


def test_without_graphviz_there_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="'dot', which is not on the PATH"):
        bntk.DAG(["a"]).plot(layout="graphviz")
