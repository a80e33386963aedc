"""Pictures of partially directed graphs, bootstrap strengths, comparisons, tables and spaces say what these say."""

import itertools
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import random_network

import bntk
from bntk.errors import ArgumentError, BntkError, DataError, GraphError, SpaceError, UnknownNameError
from bntk.graph.equivalence import PDAG
from bntk.learning.search.bootstrap import ArcStrengths
from bntk.viz import style
from bntk.viz.arc_labels import LABEL_SIZE
from bntk.viz.bootstrap import strengths_picture
from bntk.viz.columns import table_scene
from bntk.viz.comparison import comparison_picture
from bntk.viz.network import dag_picture, dag_scene
from bntk.viz.pdag import pdag_picture
from bntk.viz.scene import frame_of
from bntk.viz.space import _FORBIDDEN, _OPTIONAL, _REQUIRED, _WEIGHTED, space_picture, space_scene


def ends(scene, curve):
    """The nodes that a line joins, from its beginning to its end."""

    def node(x, y):
        for box in scene.boxes():
            inside = abs(x - box.x) <= box.width / 2 + 1e-6 and abs(abs(y - box.y) - box.height / 2) < 1e-6
            if box.title and inside:
                return box.title
        return None

    return node(*curve.points[0]), node(*curve.points[-1])


def overlap(a, b):
    return a[0] < b[1] - 1e-9 and b[0] < a[1] - 1e-9 and a[2] < b[3] - 1e-9 and b[2] < a[3] - 1e-9


def svg_texts(svg):
    return {e.text for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}


# ---- numbers beside arcs ---------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_numbers_beside_arcs_overlap_nothing_and_lie_on_their_arcs(seed, n):
    dag = random_network(seed, n, max_states=1).dag
    numbers = {arc: float(100 + i) for i, arc in enumerate(dag.arcs)}
    scene = dag_scene(dag, arc_labels=numbers)
    nodes = [frame_of(box) for box in scene.boxes() if box.title]
    labels = [label for label in scene.labels() if label.size == LABEL_SIZE]
    assert sorted(float(label.text) for label in labels) == sorted(numbers.values())
    frames = [frame_of(label) for label in labels]
    for a, b in itertools.combinations([*nodes, *frames], 2):
        assert not overlap(a, b)
    lines = {ends(scene, curve): curve for curve in scene.curves()}
    for label in labels:
        (arc,) = [arc for arc, number in numbers.items() if f"{number:.3g}" == label.text]
        xs, ys = zip(*lines[arc].points, strict=True)
        assert min(xs) - 1 <= label.x <= max(xs) + 1
        assert min(ys) - 1 <= label.y <= max(ys) + 1


@pytest.mark.parametrize("n", [5, 12, 20, 40])
@pytest.mark.parametrize("k", [1, 2])
def test_numbers_in_pictures_of_classifiers_overlap_nothing(n, k):
    rng = np.random.default_rng([n, k])
    arcs = [("class", f"feature_{i}") for i in range(n)]
    for i in range(1, n):
        arcs += [(f"feature_{j}", f"feature_{i}") for j in {*rng.integers(max(0, i - 8), i, k).tolist()}]
    dag = bntk.DAG(["class", *(f"feature_{i}" for i in range(n))], arcs)
    scene = dag_scene(dag, target="class", arc_labels={arc: i / 7 for i, arc in enumerate(dag.arcs)})
    frames = [frame_of(box) for box in scene.boxes() if box.title]
    frames += [frame_of(label) for label in scene.labels() if label.size == LABEL_SIZE]
    assert len(frames) == dag.n_nodes + dag.n_arcs
    for a, b in itertools.combinations(frames, 2):
        assert not overlap(a, b)


def test_numbers_may_be_strengths_a_mapping_or_text():
    asia = bntk.datasets.asia()
    found = bntk.viz.arc_information(asia)
    assert dag_picture(asia.dag, strengths=found, arc_labels=True).labels[("smoke", "bronc")] == f"{0.0462:.3g}"
    assert dag_picture(asia.dag, arc_labels={("asia", "tub"): -3, ("lung", "either"): 1234.56}).labels == {
        ("asia", "tub"): "-3",
        ("lung", "either"): "1235",
    }
    assert dag_picture(asia.dag, arc_labels={("asia", "tub"): "causes", ("lung", "either"): 2}).labels == {
        ("asia", "tub"): "causes",
        ("lung", "either"): "2",
    }
    assert not dag_picture(asia.dag, arc_labels=False).labels
    axes = asia.plot(arc_labels="mi")
    assert "0.0462" in {text.get_text() for text in axes.texts}
    with pytest.raises(ArgumentError, match="arc_labels=True writes the strengths of arcs: give strengths="):
        asia.plot(arc_labels=True)
    for labels in ({("asia", "lung"): 1.0}, {("asia", "lung"): "x"}):
        with pytest.raises(UnknownNameError, match=r"arc_labels: \('asia', 'lung'\) is not an arc"):
            asia.plot(arc_labels=labels)
    with pytest.raises(DataError, match="arc_labels"):
        asia.plot(arc_labels={("asia", "tub"): float("nan")})
    with pytest.raises(DataError, match="arc_labels must be"):
        asia.plot(arc_labels=3)


# ---- bundles ---------------------------------------------------------------------------------------------------------


def test_arcs_that_run_together_have_a_colour_for_each_node_they_begin_at():
    features = [f"f{i}" for i in range(10)]
    arcs = list(itertools.pairwise(features)) + [(hub, f) for hub in ("h0", "h1", "h2") for f in features]
    scene = dag_scene(bntk.DAG(["h0", "h1", "h2", *features], arcs))
    colours = {}
    for curve in scene.curves():
        colours.setdefault(ends(scene, curve)[0], set()).add(curve.colour)
    assert all(len(found) == 1 for found in colours.values())
    assert len({*colours["h0"], *colours["h1"], *colours["h2"], style.ARC}) == 4
    assert colours["f3"] == {style.ARC}


def test_the_arcs_of_a_class_are_faded_where_they_are_many():
    for n, (colour, *_) in ((3, style.CLASS_ARCS), (20, style.FADED_CLASS_ARCS)):
        dag = bntk.DAG(["c", *(f"f{i}" for i in range(n))], [("c", f"f{i}") for i in range(n)])
        assert {curve.colour for curve in dag_scene(dag, target="c").curves()} == {colour}


def test_several_classes_have_a_colour_each():
    arcs = [(c, f"f{i}") for c in ("c0", "c1", "c2") for i in range(12)]
    dag = bntk.DAG(["c0", "c1", "c2", *(f"f{i}" for i in range(12))], arcs)
    lines = dag_picture(dag, target=["c0", "c1", "c2"]).lines
    colours = [{line.colour for arc, line in lines.items() if arc[0] == c} for c in ("c0", "c1", "c2")]
    assert [len(own) for own in colours] == [1, 1, 1]
    assert len(set.union(*colours)) == 3


# ---- partially directed graphs ---------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 14))
def test_arcs_have_a_head_and_edges_have_none(seed, n):
    pdag = random_network(seed, n, max_states=1).dag.cpdag()
    picture = pdag_picture(pdag)
    scene = picture.scene()
    joined = {ends(scene, curve): curve for curve in scene.curves() if None not in ends(scene, curve)}
    assert {pair for pair, curve in joined.items() if curve.arrow} == set(pdag.directed)
    edges = {frozenset(pair) for pair, curve in joined.items() if not curve.heads()}
    assert edges == {frozenset(pair) for pair in pdag.undirected}
    assert {box.title for box in scene.boxes() if box.title} == set(pdag.nodes)


def test_cycles_of_edges_and_nodes_to_colour_are_drawn():
    pdag = PDAG(list("abcd"), [("d", "a")], [("a", "b"), ("b", "c"), ("a", "c")])
    picture = pdag_picture(pdag, target="d", highlight="a")
    assert picture.looks["d"] == style.TARGET
    assert len(picture.lines) == 4
    assert pdag.plot(title="t").get_title() == "t"
    assert {"a", "b", "c", "d"} <= svg_texts(pdag._repr_svg_())
    assert PDAG([])._repr_svg_() is None
    with pytest.raises(UnknownNameError, match="target"):
        pdag.plot(target="z")
    with pytest.raises(GraphError, match="pdag must be"):
        bntk.viz.plot_pdag(bntk.DAG(list("ab")))


# ---- bootstrap strengths ---------------------------------------------------------------------------------------------


def made_strengths():
    arcs = np.zeros((4, 4))
    arcs[0, 1] = 1.0  # a -> b always, and always so
    arcs[1, 2], arcs[2, 1] = 0.45, 0.35  # b - c, uncertain direction
    arcs[2, 3] = 0.55
    arcs[0, 3] = 0.2
    return ArcStrengths(tuple("abcd"), arcs, 100)


def test_lines_grow_from_the_threshold_and_heads_are_shares_of_directions():
    found = made_strengths()
    assert found.threshold() == 0.2
    lines = strengths_picture(found).lines
    assert set(lines) == {("a", "b"), ("b", "c"), ("c", "d")}
    width = {arc: line.width for arc, line in lines.items()}
    assert width["a", "b"] == style.WIDEST
    slope = (style.WIDEST - style.THINNEST) / 0.8
    assert width["b", "c"] == pytest.approx(style.THINNEST + slope * 0.6)
    assert width["c", "d"] == pytest.approx(style.THINNEST + slope * 0.35)
    assert (lines["b", "c"].arrow, lines["b", "c"].back_arrow) == pytest.approx((0.45 / 0.8, 0.35 / 0.8))
    assert (lines["a", "b"].arrow, lines["a", "b"].back_arrow) == (1.0, 0.0)
    assert strengths_picture(found).labels == {
        ("a", "b"): "1.00",
        ("b", "c"): "0.80 (0.56)",
        ("c", "d"): "0.55",
    }
    curve = next(c for c in strengths_picture(found).scene().curves() if c.back_arrow)
    assert len(curve.heads()) == 2
    assert curve.heads()[1][0] == curve.points[0]


def test_arcs_up_to_the_threshold_are_dashed_and_another_threshold_is_kept():
    found = made_strengths()
    lines = strengths_picture(found, bntk.DAG.parse("a -> b -> c -> d <- a"), threshold=0.6).lines
    assert {arc for arc, line in lines.items() if line.dash} == {("c", "d"), ("a", "d")}
    assert set(strengths_picture(found, threshold=0.7).lines) == {("a", "b"), ("b", "c")}
    axes = found.plot(threshold=0.7, arc_labels=False)
    assert "0.7" in {text.get_text() for text in axes.texts}
    assert "1.00" not in {text.get_text() for text in axes.texts}
    assert "0.80 (0.56)" in svg_texts(found._repr_svg_())


def test_the_distribution_of_strengths_is_a_staircase():
    found = made_strengths()
    axes = found.plot_threshold()
    values = np.array([1.0, 0.2, 0.8, 0.55, 0.0, 0.0])
    x, y = axes.lines[0].get_data()
    for at in (0.0, 0.1, 0.2, 0.5, 0.55, 0.79, 0.8, 0.99, 1.0):
        assert y[np.searchsorted(x, at, side="right") - 1] == pytest.approx(np.mean(values <= at))
    assert axes.lines[1].get_xdata()[0] == 0.2
    assert axes.get_legend().get_texts()[0].get_text() == "threshold 0.20: 3 of 6 pairs above"


def test_odd_strengths_are_refused():
    found = made_strengths()
    with pytest.raises(DataError, match="strengths must be the result of bntk.bootstrap_strengths"):
        bntk.viz.plot_strengths({("a", "b"): 1.0})
    with pytest.raises(ArgumentError, match="threshold"):
        found.plot(threshold=1.5)
    with pytest.raises(GraphError, match=r"only one of the two has \['d', 'e'\]"):
        found.plot(bntk.DAG(list("abce")))
    with pytest.raises(GraphError, match="structure must be"):
        found.plot("a -> b")
    with pytest.raises(ArgumentError, match="arc_labels"):
        found.plot(arc_labels="yes")
    with pytest.raises(ArgumentError, match="single node"):
        ArcStrengths(("a",), np.zeros((1, 1)), 3).plot_threshold()


# ---- comparisons -----------------------------------------------------------------------------------------------------


def test_of_partially_directed_graphs_every_link_is_of_one_kind():
    one = PDAG(list("abcdef"), [("a", "b"), ("c", "b"), ("d", "e")], [("e", "f")])
    other = PDAG(list("abcdef"), [("b", "a"), ("c", "b")], [("d", "e"), ("e", "f"), ("a", "f")])
    legend = {text for _, text in comparison_picture(one, other).legend}
    assert legend == {"in both (2)", "missing (1)", "reversed (1)", "directed in one only (1)"}
    same = {text for _, text in comparison_picture(one, one).legend}
    assert same == {"in both (4)"}
    found = bntk.compare_structures(one, other)
    assert "<svg" in found._repr_html_()
    assert "SHD" in found._repr_html_()


def test_a_comparison_shows_itself_without_a_picture_where_there_is_none(monkeypatch):
    found = bntk.compare_structures("a -> b", "b -> a")
    monkeypatch.setattr("bntk.viz.comparison.comparison_scene", lambda *a: 1 / 0)
    assert "<table" in found._repr_html_()
    assert "<svg" not in found._repr_html_()


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_a_table_shows_the_shares_of_its_states():
    columns = {"x": ["u", "v", "v", "v"], "<y>": ["k", None, "k", "k"], "none": [None] * 4}
    states = {"x": "uv", "<y>": "k", "none": "ab"}
    rows = bntk.Table.from_columns(columns, [bntk.Variable(name, list(each)) for name, each in states.items()])
    scene = table_scene(rows)
    boxes = {box.title: box for box in scene.boxes() if box.title}
    assert list(boxes) == ["x", "<y>", "none"]
    filled = sorted(box.width for box in scene.boxes() if box.fill == style.BAR)
    track = {round(box.width, 6) for box in scene.boxes() if box.fill == style.TRACK and not box.title}
    assert len(filled) == 3
    assert filled[0] / filled[1] == pytest.approx(1 / 3)
    assert round(filled[2], 6) in track
    texts = [label.text for label in scene.labels()]
    assert texts.count("missing") == 2
    assert {"25%", "75%", "100%", "4 rows"} <= set(texts)
    assert "&lt;y&gt;" in rows._repr_svg_()


@pytest.mark.parametrize("n", [1, 7, 60, 75])
def test_cards_do_not_overlap_and_too_many_are_counted(n):
    rng = np.random.default_rng(n)
    columns = {f"a column {'x' * int(rng.integers(20))} {i}": rng.integers(0, rng.integers(1, 9), 20) for i in range(n)}
    rows = bntk.Table.from_columns(columns)
    scene = table_scene(rows)
    cards = [frame_of(box) for box in scene.boxes() if box.title]
    assert len(cards) == min(n, 60)
    for a, b in itertools.combinations(cards, 2):
        assert not overlap(a, b)
    told = [label.text for label in scene.labels() if "20 rows" in label.text]
    assert told == ["20 rows" if n <= 60 else "20 rows, and 15 more variables"]
    one = table_scene(rows, rows.names[-1])
    assert [box.title for box in one.boxes() if box.title] == [rows.names[-1]]
    with pytest.raises(BntkError, match="nothing"):
        rows.plot("nothing")


def test_empty_tables_are_drawn():
    empty = bntk.Table.from_codes(np.zeros((1, 0), dtype=np.uint8), [bntk.Variable("x", ["a", "b"])])
    assert "0 rows" in {text.get_text() for text in empty.plot().texts}
    with pytest.raises(DataError, match="table must be"):
        bntk.viz.plot_table({"x": [1]})


# ---- spaces ----------------------------------------------------------------------------------------------------------


def space():
    return bntk.Space(
        ["a", "b", "c", "d", "e"],
        required=[("a", "b")],
        forbidden=[("d", "c"), ("c", "d"), ("e", "a")],
        tiers=[["a"], ["b", "c"], ["d"]],
        arc_weights={("b", "d"): -2.5, ("a", "b"): 1.0},
        max_parents=2,
    )


def test_arcs_of_a_space_are_drawn_by_their_rule():
    picture = space_picture(space())
    kinds = {}
    for arc, line in picture.lines.items():
        kinds[frozenset(arc)] = (line.width, line.colour, line.dash)
    key = lambda line: (line.width, line.colour, line.dash)  # noqa: E731
    assert kinds == {
        frozenset("ab"): key(_REQUIRED),
        frozenset("cd"): key(_FORBIDDEN),
        frozenset("ea"): key(_FORBIDDEN),
        frozenset("bd"): key(_WEIGHTED),
    }
    (both,) = [line for arc, line in picture.lines.items() if set(arc) == set("cd")]
    assert both.arrow == both.back_arrow == 1.0
    assert sorted(picture.labels.values()) == ["-2.5", "✕", "✕"]
    assert {"required", "forbidden", "with a weight", "at most 2 parents"} == {text for _, text in picture.legend}


def test_the_direction_of_every_arc_of_a_space_is_kept():
    scene = space_scene(space())
    found = {}
    for curve in scene.curves():
        if None not in ends(scene, curve):
            tail, head = ends(scene, curve)
            found |= {(tail, head): curve} if curve.arrow else {}
            found |= {(head, tail): curve} if curve.back_arrow else {}
    assert set(found) == {("a", "b"), ("d", "c"), ("c", "d"), ("e", "a"), ("b", "d")}


def test_tiers_are_apart_and_in_order():
    scene = space_scene(space())
    y = {box.title: box.y for box in scene.boxes() if box.title}
    lines = sorted(
        {c.points[0][1] for c in scene.curves() if c.points[0][1] == c.points[-1][1] and c.dash == (2.0, 3.0)}
    )
    low, high = lines
    assert y["a"] > high > max(y["b"], y["c"])
    assert min(y["b"], y["c"]) > low > y["d"]
    assert set(y) == set("abcde")
    labels = [frame_of(label) for label in scene.labels()]
    for a, b in itertools.combinations(labels, 2):
        assert not overlap(a, b)
    assert {"tier 1", "tier 2", "tier 3"} <= {label.text for label in scene.labels()}


def test_links_and_shapes_of_a_space_are_shown():
    stan = bntk.spaces.stan(["f1", "f2", "f3"], "class")
    picture = space_picture(stan, target="class")
    assert {arc: line.dash for arc, line in picture.lines.items()} == {
        ("class", f): _OPTIONAL.dash for f in ("f1", "f2", "f3")
    }
    told = {text for _, text in picture.legend}
    assert any("tree over f1, f2, f3" in text for text in told)
    tan = space_picture(bntk.spaces.tan(["f1", "f2", "f3"], "class"))
    assert {line.dash for line in tan.lines.values()} == {()}
    assert {"f1", "f2", "f3", "class", "required"} <= svg_texts(
        bntk.spaces.tan(["f1", "f2", "f3"], "class")._repr_svg_()
    )
    assert bntk.Space(list("ab")).plot() is not None
    with pytest.raises(SpaceError, match="space must be"):
        bntk.viz.plot_space(bntk.DAG(list("ab")))
