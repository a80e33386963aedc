"""Two structures in one picture: the sets of arcs that are drawn are those of set arithmetic."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk.errors import GraphError
from bntk.viz import plot_comparison
from bntk.viz.comparison import _LINES, comparison_scene


def node_at(scene, x, y):
    """The node on whose border a point is."""
    for box in scene.boxes():
        if abs(x - box.x) <= box.width / 2 + 1e-6 and abs(abs(y - box.y) - box.height / 2) < 1e-6:
            return box.title
    raise AssertionError(f"({x}, {y}) is on no border")


def drawn(scene):
    """Arcs by kind, read off the picture: from the node where the line begins to that under its tip."""
    lowest = min(box.y - box.height / 2 for box in scene.boxes())
    found = {kind: set() for kind in _LINES}
    for curve in scene.curves():
        if curve.points[0][1] < lowest - 1:  # of the legend
            continue
        (kind,) = [kind for kind, line in _LINES.items() if line == (curve.width, curve.colour, curve.dash)]
        found[kind].add((node_at(scene, *curve.points[0]), node_at(scene, *curve.points[-1])))
    return found


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(2, 12))
def test_the_arcs_drawn_are_those_of_set_arithmetic(one, other, n):
    learned, reference = random_network(one, n, max_states=1).dag, random_network(other, n, max_states=1).dag
    a, b = set(learned.arcs), set(reference.arcs)
    turned = {(head, tail) for tail, head in b}
    found = drawn(comparison_scene(learned, reference))
    assert found["correct"] == a & b
    assert found["reversed"] == a & turned
    assert found["added"] == a - b - turned
    assert found["missing"] == {(tail, head) for tail, head in b - a if (head, tail) not in a}


def test_networks_and_other_orders_of_nodes_are_taken():
    asia = bntk.datasets.asia()
    same = asia.dag.reorder(asia.names[::-1])
    found = drawn(comparison_scene(asia, same))
    assert found["correct"] == set(asia.dag.arcs)
    assert not (found["added"] | found["missing"] | found["reversed"])


def test_the_legend_counts_what_is_there_and_nothing_else():
    scene = comparison_scene(bntk.DAG.parse("a -> b -> c"), bntk.DAG.parse("a -> b <- c"))
    texts = {label.text for label in scene.labels()} - {"a", "b", "c"}
    assert texts == {"in both (1)", "reversed (1)"}


def test_other_nodes_are_refused_by_name():
    with pytest.raises(GraphError, match=r"only the first has \['b'\] and only the second has \['c'\]"):
        plot_comparison(bntk.DAG.parse("a -> b"), bntk.DAG.parse("a -> c"))


def test_it_is_drawn_into_given_axes():
    import matplotlib.pyplot as plt

    _, axes = plt.subplots()
    assert plot_comparison(bntk.DAG.parse("a -> b"), bntk.DAG.parse("b -> a"), ax=axes, title="t") is axes
    assert axes.get_title() == "t"
