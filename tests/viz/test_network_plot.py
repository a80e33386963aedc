import itertools

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk.errors import UnknownNameError
from bntk.graph.layout import layered_layout

mpl.use("Agg")


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 25))
def test_arcs_point_down_and_nodes_never_overlap(seed, n):
    dag = random_network(seed, n, max_states=1).dag
    widths = {node: 0.5 + (i % 3) for i, node in enumerate(dag.nodes)}
    layout = layered_layout(dag, widths, gap=0.2)
    for (parent, child), route in layout.routes.items():
        assert route[0] == layout.positions[parent]
        assert route[-1] == layout.positions[child]
        heights = [y for _, y in route]
        assert all(a > b for a, b in itertools.pairwise(heights))
    for a, b in itertools.combinations(dag.nodes, 2):
        (xa, ya), (xb, yb) = layout.positions[a], layout.positions[b]
        if ya == yb:
            assert abs(xa - xb) >= (widths[a] + widths[b]) / 2 + 0.2 - 1e-9
    assert set(layout.routes) == set(dag.arcs)


def test_a_planar_tree_is_drawn_without_crossings():
    dag = bntk.DAG.parse("r->a; r->b; r->c; a->a1; c->c1; b->b1; a->a2; c->c2; b->b2")
    layout = layered_layout(dag)
    arcs = [(layout.positions[a], layout.positions[b]) for a, b in dag.arcs]
    for (p, q), (s, t) in itertools.combinations(arcs, 2):
        if p[1] == s[1]:
            assert (p[0] - s[0]) * (q[0] - t[0]) >= 0


def test_the_picture_has_every_label_inside_the_frame():
    import matplotlib.pyplot as plt

    network = bntk.datasets.asia()
    axes = network.plot(highlight=["dysp"], title="asia")
    try:
        axes.figure.canvas.draw()
        labels = {text.get_text(): text for text in axes.texts}
        assert set(network.names) <= set(labels)
        frame = axes.figure.bbox
        for text in labels.values():
            box = text.get_window_extent()
            assert frame.x0 <= box.x0
            assert box.x1 <= frame.x1
            assert frame.y0 <= box.y0
            assert box.y1 <= frame.y1
    finally:
        plt.close(axes.figure)


def test_given_axes_are_used_and_unknown_nodes_refused():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    try:
        assert bntk.DAG(["only"]).plot(ax=axes) is axes
        with pytest.raises(UnknownNameError, match=r"\['z'\] are not nodes"):
            bntk.DAG(["only"]).plot(highlight=["z"])
    finally:
        plt.close(figure)
