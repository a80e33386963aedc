"""Pictures of networks say what the network says."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch
from random_networks import joint, random_network
from sklearn.exceptions import NotFittedError

import bntk
from bntk.errors import DataError, ImpossibleEvidence, UnknownNameError
from bntk.viz import arc_information, style
from bntk.viz.network import dag_scene, network_scene
from bntk.viz.scene import Box, Curve, Label, Scene, frame_of, lines_of, one_line


def node_boxes(scene: Scene) -> dict[str, Box]:
    return {box.title: box for box in scene.boxes() if box.title}


def overlap(a, b) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def inside(a, b) -> bool:
    return b[0] <= a[0] and a[1] <= b[1] and b[2] <= a[2] and a[3] <= b[3]


names = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=60).filter(str.strip)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 25), st.booleans())
def test_every_label_is_within_one_node_and_overlaps_no_other(seed, n, with_bars):
    network = random_network(seed, n, max_states=8)
    scene = network_scene(network, {} if with_bars else None, target="x0", strengths="mi" if n < 12 else None)
    boxes = [frame_of(box) for box in node_boxes(scene).values()]
    labels = [frame_of(label) for label in scene.labels()]
    assert len(boxes) == n
    for a, b in itertools.combinations(labels, 2):
        assert not overlap(a, b)
    legend_below = min(box[2] for box in boxes)
    for label in labels:
        homes = [box for box in boxes if inside(label, box)]
        assert len(homes) == 1 or label[3] <= legend_below
    for a, b in itertools.combinations(boxes, 2):
        assert not overlap(a, b)


@given(names)
def test_names_become_at_most_a_few_short_printable_lines(name):
    lines = lines_of(name)
    assert 1 <= len(lines) <= 6
    assert all(line.isprintable() and 1 <= len(line) <= 36 for line in lines)
    kept, shown = "".join(one_line(name, 72).split()), "".join("".join(lines).split())
    assert kept == shown


def test_labels_fit_their_boxes_as_matplotlib_draws_them():
    pieces = ["WWWWWWWWWW", "iiiii", "snake_case_name", "a label of words that is long", "Grüße Ωμέγα", "ABCDEFG"]
    dag = bntk.DAG(pieces, list(itertools.pairwise(pieces)))
    axes = dag.plot(target=pieces[0], title="$no$ math")
    axes.figure.canvas.draw()
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    for text in axes.texts:
        extent = text.get_window_extent()
        homes = [box for box in boxes if box.x0 <= extent.x0 and extent.x1 <= box.x1]
        assert any(box.y0 <= extent.y0 and extent.y1 <= box.y1 for box in homes), text.get_text()


@pytest.mark.parametrize("size", [(1.5, 1.2), (3, 6), (14, 9)])
def test_in_axes_of_any_size_labels_stay_inside_their_nodes(size):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=size)
    assert bntk.datasets.asia().plot({"xray": "yes"}, ax=axes) is axes
    figure.canvas.draw()
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    assert len(boxes) == 8
    for text in axes.texts:
        extent = text.get_window_extent()
        assert any(
            box.x0 - 0.5 <= extent.x0 and extent.x1 <= box.x1 + 0.5 and box.y0 <= extent.y0 and extent.y1 <= box.y1
            for box in boxes
        )


def test_the_picture_has_every_name_inside_the_frame():
    network = bntk.datasets.asia()
    axes = network.plot(highlight=["dysp"], title="a title that is much wider than the network below it is, really")
    axes.figure.canvas.draw()
    labels = {text.get_text(): text for text in axes.texts}
    assert set(network.names) <= set(labels)
    frame = axes.figure.bbox
    for text in [*labels.values(), axes.title]:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1


# ---- colours, bars, widths -------------------------------------------------------------------------------------------


def test_nodes_have_the_colour_of_what_they_are():
    scene = network_scene(
        bntk.datasets.asia(), {"xray": "yes", "smoke": None}, target="lung", highlight=["tub", "lung"], bars=False
    )
    fills = {name: box.fill for name, box in node_boxes(scene).items()}
    assert fills.pop("xray") == style.EVIDENCE.fill
    assert fills.pop("lung") == style.TARGET.fill
    assert fills.pop("tub") == style.HIGHLIGHT.fill
    assert set(fills.values()) == {style.PLAIN.fill}


def luminance(colour):
    channels = [int(to_hex(colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_and_borders_stand_out_from_what_is_behind_them():
    for look in (style.PLAIN, style.HIGHLIGHT, style.TARGET, style.EVIDENCE):
        assert contrast(look.fill, style.TEXT) >= 7
        assert contrast("white", look.edge) >= 3
    assert contrast("white", style.BAR) >= 3


def shown_bars(scene: Scene, name: str) -> dict[str, float]:
    """State -> length of its bar against the track, read off the picture."""
    box = frame_of(node_boxes(scene)[name])
    small = [b for b in scene.boxes() if not b.title and inside(frame_of(b), box)]
    states = [label for label in scene.labels() if label.align == "left" and inside(frame_of(label), box)]
    found = {}
    for label in states:
        row = [b for b in small if abs(b.y - label.y) < 1e-6]
        track = [b for b in row if b.fill == style.TRACK]
        if track:
            filled = [b for b in row if b.fill == style.BAR]
            found[label.text] = filled[0].width / track[0].width if filled else 0.0
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_bars_are_the_posterior(seed):
    network = random_network(seed, 6, max_states=5)
    first = network.variables[2]
    evidence = {first.name: first.states[-1]}
    scene = network_scene(network, evidence)
    posterior = network.marginals(evidence)
    assert shown_bars(scene, first.name) == {first.states[-1]: 1.0}
    for name, distribution in posterior.items():
        expected = distribution.to_dict()
        bars = shown_bars(scene, name)
        assert list(bars) == list(expected)
        assert bars == pytest.approx(expected, abs=1e-9)


def test_of_many_states_the_most_probable_are_shown():
    x = bntk.Variable("x", [f"s{i}" for i in range(9)])
    p = np.array([0.01, 0.3, 0.02, 0.2, 0.15, 0.02, 0.25, 0.03, 0.02])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(x, p)])
    scene = network_scene(network, {})
    assert shown_bars(scene, "x") == pytest.approx({"s1": 0.3, "s3": 0.2, "s4": 0.15, "s6": 0.25})
    assert {"… 5 more", "10%"} <= {label.text for label in scene.labels()}


def test_bars_can_be_asked_for_some_nodes_and_evidence_may_be_uncertain():
    asia = bntk.datasets.asia()
    scene = network_scene(asia, {"xray": {"no": 1, "yes": 4}}, bars=["xray", "lung"])
    assert shown_bars(scene, "lung") == pytest.approx(asia.query("lung", {"xray": {"no": 1, "yes": 4}}).to_dict())
    assert shown_bars(scene, "xray") == pytest.approx(asia.query("xray", {"xray": {"no": 1, "yes": 4}}).to_dict())
    assert shown_bars(scene, "tub") == {}


def line_widths(scene: Scene) -> list[float]:
    return sorted(curve.width for curve in scene.curves() if curve.arrow)


def test_lines_are_as_wide_as_arcs_are_strong():
    dag = bntk.DAG.parse("a -> b; c -> d; e -> f")
    scene = dag_scene(dag, strengths={("a", "b"): 1.0, ("c", "d"): 0.5})
    thin, middle, wide = line_widths(scene)
    assert middle - thin == pytest.approx(wide - middle)
    assert thin > 0
    assert any("strength" in label.text for label in scene.labels())


def test_bootstrap_strengths_are_taken_as_they_are_or_as_their_data_frame():
    truth = bntk.datasets.sprinkler()
    found = bntk.bootstrap_strengths(truth.sample(300, seed=0), n=5)
    direct, framed = (dag_scene(truth.dag, strengths=s) for s in (found, found.to_frame()))
    assert direct.items == framed.items
    expected = [found.strength[truth.dag.index(a), truth.dag.index(b)] for a, b in truth.dag.arcs]
    widths = np.array(line_widths(direct))
    expected = np.sort(expected) / max(expected)
    assert (widths - widths.max()) / 3.5 + 1 == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_mutual_information_of_arcs_equals_entropies_of_the_joint(seed):
    network = random_network(seed, 5, max_states=3, zeros=True)
    table = joint(network)

    def entropy(nodes):
        p = table.sum(axis=tuple(i for i in range(table.ndim) if i not in nodes)).ravel()
        return -sum(x * math.log(x) for x in p if x > 0)

    found = arc_information(network)
    assert list(found) == list(network.dag.arcs)
    for (parent, child), value in found.items():
        x, c = network.dag.index(parent), network.dag.index(child)
        rest = set(network.dag.parent_indices[c]) - {x}
        expected = entropy(rest | {x}) + entropy(rest | {c}) - entropy(rest | {x, c}) - entropy(rest)
        assert value == pytest.approx(expected, abs=1e-9)


# ---- errors and odd graphs -------------------------------------------------------------------------------------------


def test_unknown_names_are_refused_by_name():
    asia = bntk.datasets.asia()
    for what in ("highlight", "target", "bars"):
        with pytest.raises(UnknownNameError, match=rf"{what}: \['z'\] are not nodes"):
            asia.plot(**{what: ["z"]})
    with pytest.raises(UnknownNameError, match="'z'"):
        asia.plot({"z": "yes"}, bars=False)
    with pytest.raises(UnknownNameError, match="maybe"):
        asia.plot({"xray": "maybe"})
    with pytest.raises(UnknownNameError, match=r"\('xray', 'asia'\) is not an arc"):
        asia.plot(strengths={("xray", "asia"): 1.0})
    with pytest.raises(DataError, match="from 0 upwards"):
        asia.plot(strengths={("asia", "tub"): -1.0})
    with pytest.raises(DataError, match="strengths must be"):
        asia.plot(strengths=3)
    with pytest.raises(ValueError, match="'mi'"):
        asia.plot(strengths="bootstrap")
    with pytest.raises(ValueError, match="needs the probabilities"):
        asia.dag.plot(strengths="mi")
    with pytest.raises(ValueError, match="layout='circle'"):
        asia.plot(layout="circle")
    with pytest.raises(ImpossibleEvidence):
        asia.plot({"either": "no", "lung": "yes"})


@pytest.mark.parametrize("nodes", [[], ["only"], ["a", "b", "c"]])
def test_graphs_without_arcs_are_drawn(nodes):
    axes = bntk.DAG(nodes).plot()
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.texts] == nodes


def test_a_new_figure_is_made_only_where_no_axes_are_given():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert bntk.DAG(["only"]).plot(ax=axes) is axes
    assert plt.get_fignums() == [figure.number]
    bntk.DAG(["only"]).plot()
    assert len(plt.get_fignums()) == 2


def test_there_is_a_line_and_an_arrow_head_for_every_arc():
    asia = bntk.datasets.asia()
    axes = asia.plot()
    assert sum(type(p) is PathPatch for p in axes.patches) == asia.dag.n_arcs
    curves = [item for item in network_scene(asia).items if isinstance(item, Curve)]
    for curve in curves:
        tip, left, right = curve.head()
        assert tip == curve.points[-1]
        assert math.dist(left, right) > 3
        assert min(left[1], right[1]) > tip[1] - 1e-9  # from above


def test_a_figure_can_be_pickled():
    import pickle

    axes = bntk.datasets.sprinkler().plot({})
    again = pickle.loads(pickle.dumps(axes.figure))
    assert len(again.axes[0].texts) == len(axes.texts)


def test_scenes_hold_only_plain_items():
    scene = network_scene(bntk.datasets.asia(), {})
    assert {type(item) for item in scene.items} == {Box, Label, Curve}


# ---- classifiers -----------------------------------------------------------------------------------------------------


def some_rows() -> tuple[Any, Any]:
    rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
    return rows.drop(columns=["dysp", "lung"]), rows[["dysp", "lung"]]


@pytest.mark.parametrize(
    "classifier",
    [bntk.NaiveBayes(), bntk.TAN(), bntk.AWNB(n_trees=2), bntk.BayesNetClassifier(), bntk.MDBNC()],
    ids=repr,
)
def test_a_classifier_draws_its_network_with_the_class_as_target(classifier: Any, monkeypatch: Any) -> None:
    X, Y = some_rows()
    classifier.fit(X, Y if isinstance(classifier, bntk.MDBNC) else Y["dysp"])
    drawn = {}
    monkeypatch.setattr("bntk.viz.classifier.plot_network", lambda network, given, **o: drawn.update(o, on=network))
    classifier.plot({"smoke": "yes"}, title="asia")
    target = ["dysp", "lung"] if isinstance(classifier, bntk.MDBNC) else ["dysp"]
    assert drawn == {"on": classifier.network_, "target": target, "title": "asia"}
    monkeypatch.undo()
    axes = classifier.plot(title="asia")
    assert axes.get_title() == "asia"
    assert {"dysp", "smoke"} <= {text.get_text() for text in axes.texts}
    classifier.plot({"smoke": "yes"}, target="smoke", ax=axes)


@pytest.mark.parametrize(
    ("classifier", "said"),
    [
        (bntk.AODE(), "plot_importances"),
        (bntk.EnsembleKDB(2), r"member\(i\)\.plot\(\)"),
        (bntk.BinaryRelevance(bntk.TAN()), r"estimators_\[0\]\.plot\(\)"),
        (bntk.LabelPowerset(bntk.TAN()), r"estimator_\.plot\(\)"),
        (bntk.AMODE(), "MDBNC"),
    ],
    ids=repr,
)
def test_others_say_what_can_be_drawn(classifier: Any, said: str) -> None:
    X, Y = some_rows()
    with pytest.raises(NotFittedError):
        classifier.plot()
    classifier.fit(X, Y["dysp"] if isinstance(classifier, bntk.classifiers.BayesClassifier) else Y)
    with pytest.raises(DataError, match=f"{type(classifier).__name__} is not a single network.*{said}"):
        classifier.plot()
