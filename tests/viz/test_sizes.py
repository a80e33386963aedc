"""How large pictures and their text are: as asked for, everything inside the axes, and readable in given axes."""

import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

import bntk
from bntk.errors import ArgumentError, BntkError
from bntk.viz import network as pictures
from bntk.viz.axes import _scale
from bntk.viz.scene import frame_of

ASIA = bntk.datasets.asia()
ROWS = ASIA.sample(200, seed=1)


def plots():
    """Each plot as a function of the common options."""
    y = ["a", "b", "b", "a"]
    result = bntk.evaluation.cross_validate(
        {"nb": bntk.NaiveBayes(), "tan": bntk.TAN()},
        ROWS.to_pandas()[["smoke", "lung"]],
        ROWS.to_pandas()["dysp"],
        cv=3,
    )
    ranks = bntk.evaluation.nemenyi([[0.9, 0.8, 0.7], [0.8, 0.9, 0.7], [0.9, 0.8, 0.6], [0.7, 0.6, 0.5]])
    strengths = bntk.bootstrap_strengths(ROWS, "bic", n=5)
    compared = bntk.evaluation.Comparison.of({"d": result})
    frame = ROWS.to_pandas()
    ensemble = bntk.EnsembleKDB(2).fit(frame[["smoke", "lung", "xray"]], frame["dysp"])
    return {
        "dag": ASIA.dag.plot,
        "network": lambda **o: ASIA.plot({"xray": "yes"}, **o),
        "pdag": ASIA.dag.cpdag().plot,
        "comparison": bntk.compare_structures("a -> b -> c", "a -> b <- c").plot,
        "strengths": strengths.plot,
        "threshold": strengths.plot_threshold,
        "support": bntk.arc_strength(ASIA, ROWS, "bic").plot,
        "table": ROWS.plot,
        "space": bntk.Space(list("abcd"), required=["a -> b"], tiers=[["a", "b"], ["c", "d"]]).plot,
        "cpt": ASIA.cpt("dysp").plot,
        "confusion": lambda **o: bntk.viz.plot_confusion(y, y[::-1], **o),
        "reliability": lambda **o: bntk.viz.plot_reliability([0, 1, 1], [0.2, 0.7, 0.8], **o),
        "search": bntk.learn_structure(ROWS, "bic", search="hc").plot,
        "folds": result.plot,
        "ranks": ranks.plot,
        "nodes": lambda **o: bntk.viz.plot_node_scores(bntk.scores.score_by_node(ASIA.dag, ROWS), **o),
        "scatter": compared.plot_scatter,
        "members": lambda **o: ensemble.plot_members(frame[["smoke", "lung", "xray"]], **o),
        "importances": lambda **o: bntk.viz.plot_importances(ensemble, **o),
        "explanations": ensemble.explain_rows(frame[["smoke", "lung", "xray"]]).plot,
    }


@pytest.fixture(scope="module")
def every_plot():
    return plots()


NAMES = [
    "dag", "network", "pdag", "comparison", "strengths", "threshold", "support", "table", "space", "cpt", "confusion",
    "reliability", "search", "folds", "ranks", "nodes", "scatter", "members", "importances", "explanations",
]  # fmt: skip


def texts_of(axes):
    """All texts that are drawn, with their sizes in points."""
    axes.figure.canvas.draw()
    return {
        (text.get_text(), i): text.get_fontsize()
        for i, text in enumerate(axes.figure.findobj(Text))
        if text.get_text() and text.get_visible()
    }


def test_all_plots_are_tried(every_plot):
    assert list(every_plot) == NAMES
    drawn = {name for name in bntk.viz.__all__ if name.startswith("plot_")}
    assert len(NAMES) - 1 == len(drawn)  # ArcSupport.plot is plot_dag


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_has_the_size_that_is_asked_for(every_plot, name):
    axes = every_plot[name](figsize=(5.0, 4.0), title="t")
    assert axes.figure.get_size_inches() == pytest.approx((5.0, 4.0))
    axes.figure.canvas.draw()
    if not axes.axison:  # a scene: all of it is there
        frame = axes.figure.bbox
        for text in axes.texts:
            box = text.get_window_extent()
            assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
            assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


@pytest.mark.parametrize("name", NAMES)
def test_text_is_in_proportion_to_its_size(every_plot, name):
    usual, large = (every_plot[name](font_size=size) for size in (None, 15.0))
    first, second = (np.sort([*texts_of(axes).values()]) for axes in (usual, large))
    shared = [{text for text, _ in texts_of(axes)} for axes in (usual, large)]
    assert len(first)
    assert shared[0] == shared[1] or usual.axison
    if shared[0] == shared[1]:
        assert second == pytest.approx(1.5 * first)
    assert large.figure.get_size_inches() == pytest.approx(1.5 * usual.figure.get_size_inches(), rel=0.08)


@pytest.mark.parametrize("name", NAMES)
def test_given_axes_are_used_and_their_figure_stays_as_it_is(every_plot, name):
    figure, axes = plt.subplots(figsize=(5, 3))
    assert every_plot[name](ax=axes, font_size=8.0) is axes
    assert figure.get_size_inches().tolist() == [5.0, 3.0]
    with pytest.raises(ArgumentError, match="figsize is the size of a new figure, but ax= is in a figure already"):
        every_plot[name](ax=axes, figsize=(3, 3))


@pytest.mark.parametrize(
    "wrong",
    [{"figsize": 3}, {"figsize": (3, 0)}, {"figsize": (1, 2, 3)}, {"figsize": "ab"}, {"figsize": (3, math.nan)}],
)
def test_odd_sizes_of_figures_are_refused(every_plot, wrong):
    for plot in every_plot.values():
        with pytest.raises(ArgumentError, match="figsize must be"):
            plot(**wrong)


@pytest.mark.parametrize("wrong", [0, -1, "10", True, math.inf, 1e6])
def test_odd_sizes_of_text_are_refused(every_plot, wrong):
    for plot in every_plot.values():
        with pytest.raises(ArgumentError, match="font_size must be"):
            plot(font_size=wrong)


def test_an_error_leaves_no_figure_behind():
    for options in ({}, {"figsize": (4, 3)}, {"figsize": (4, 3), "title": "t"}):
        for wrong in ({"layout": "circle"}, {"target": "z"}, {"highlight": ["z"]}):
            with pytest.raises(BntkError, match=r"circle|z"):
                ASIA.dag.plot(**options, **wrong)
    assert plt.get_fignums() == []


# ---- text in given axes ----------------------------------------------------------------------------------------------


def some_dag(n, seed=0):
    rng = np.random.default_rng([seed, n])
    arcs = {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(int(1.3 * n))}
    near = {(a, b) for a, b in arcs if b - a < 12}
    return bntk.DAG([f"variable_{i}" for i in range(n)], [(f"variable_{a}", f"variable_{b}") for a, b in near])


@pytest.mark.parametrize("n", [5, 20, 40, 70, 100])
@pytest.mark.parametrize("size", [(4.0, 3.0), (10.0, 4.0), (5.0, 9.0)])
def test_in_given_axes_text_is_larger_than_a_picture_that_is_only_shrunk(n, size):
    dag = some_dag(n)
    figure = plt.figure(figsize=size)
    axes = figure.add_axes((0, 0, 1, 1))
    dag.plot(ax=axes)
    figure.canvas.draw()
    shrunk = 10.0 * _scale(pictures.dag_scene(dag), 72 * size[0], 72 * size[1])
    found = min(text.get_fontsize() for text in axes.texts)
    assert found >= min(shrunk, 13.0) - 1e-6
    if shrunk < 7.0:
        assert found >= 1.1 * shrunk
    boxes = [p.get_window_extent() for p in axes.patches if isinstance(p, FancyBboxPatch)]
    assert len(boxes) == n
    frame = figure.bbox
    for box in boxes:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    for a, b in itertools.combinations(boxes, 2):
        assert not a.overlaps(b)


def test_text_is_no_larger_than_asked_for_and_as_large_where_it_fits():
    for size, expected in (((12, 12), 9.0), ((1.0, 1.0), None)):
        figure = plt.figure(figsize=size)
        axes = ASIA.plot(ax=figure.add_axes((0, 0, 1, 1)), font_size=9.0)
        figure.canvas.draw()
        sizes = {round(text.get_fontsize(), 6) for text in axes.texts}
        assert sizes == {9.0} if expected else max(sizes) < 9.0


def test_labels_keep_away_from_bars_as_they_are_drawn():
    states = ["slightly_prob", "less_proper", "Illinois", "WWWWWWWW", "100"]
    x = bntk.Variable("x", states)
    p = np.array([0.9989, 0.0002, 0.0003, 0.0003, 0.0003])
    for dpi in (60, 72, 80, 100, 150):
        axes = bntk.BayesianNetwork.from_cpts([bntk.CPT(x, p)]).plot({})
        axes.figure.set_dpi(dpi)
        axes.figure.canvas.draw()
        tracks = [q.get_window_extent() for q in axes.patches if not isinstance(q, FancyBboxPatch)]
        assert tracks
        for text in axes.texts:
            box = text.get_window_extent()
            beside = [t for t in tracks if t.y0 < (box.y0 + box.y1) / 2 < t.y1]
            for track in beside:
                assert box.x1 < track.x0 - 1 or box.x0 > track.x1 + 1, (dpi, text.get_text())


def test_a_missing_share_and_hidden_states_have_rows_in_their_box():
    rows = bntk.Table.from_columns({"x": [*"abcdefgh", None, None]})
    from bntk.viz.columns import table_scene

    scene = table_scene(rows)
    (card,) = [frame_of(box) for box in scene.boxes() if box.title]
    texts = {label.text: frame_of(label) for label in scene.labels()}
    assert {"missing", "20%", "… 4 more", "50%", "10 rows"} <= set(texts)
    for text in ("missing", "… 4 more", "20%"):
        left, right, bottom, top = texts[text]
        assert card[0] < left
        assert right < card[1]
        assert card[2] < bottom
        assert top < card[3]
