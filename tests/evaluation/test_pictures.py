"""Pictures of evaluations: nothing overlaps, whatever the number of estimators and the length of their names."""

from __future__ import annotations

from itertools import combinations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bntk
from bntk.evaluation import Nemenyi, compare, cross_validate, nemenyi
from bntk.viz.evaluation import critical_difference_scene, plot_folds, plot_scatter
from bntk.viz.scene import frame_of

NAMES = st.text("abcdefghij klmnop", min_size=1, max_size=70)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@st.composite
def results(draw) -> Nemenyi:
    k = draw(st.integers(2, 16))
    names = draw(st.lists(NAMES, min_size=k, max_size=k, unique=True))
    ranks = draw(st.lists(st.floats(1, k), min_size=k, max_size=k))
    length = draw(st.floats(0.1, 6))
    return Nemenyi(pd.Series(ranks, names), pd.DataFrame(), length, 0.05, 10)


def overlap(a, b) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


@given(results())
def test_no_two_labels_of_a_critical_difference_diagram_overlap(result):
    scene = critical_difference_scene(result)
    frames = [frame_of(label) for label in scene.labels()]
    assert not any(overlap(a, b) for a, b in combinations(frames, 2))


@given(results())
def test_bars_join_the_groups_and_do_not_overlap(result):
    bars = [curve for curve in critical_difference_scene(result).curves() if curve.width > 3]
    assert len(bars) == len(result.groups)
    assert not any(overlap(frame_of(a), frame_of(b)) for a, b in combinations(bars, 2))
    unit = max(34.0, 240.0 / (len(result.ranks) - 1))
    for bar, group in zip(bars, result.groups, strict=True):
        left, right, *_ = frame_of(bar)
        for name in group:
            assert left < unit * (result.ranks[name] - 1) < right


def test_names_are_shown_with_their_ranks():
    found = nemenyi(pd.DataFrame([[3, 2, 1], [3, 1, 2]], columns=["first", "second", "third"]))
    texts = [label.text for label in critical_difference_scene(found).labels()]
    assert {"first  1.00", "second  2.50", "third  2.50"} <= set(texts)


def asia(n=120):
    rows = bntk.datasets.asia().sample(n, seed=1).to_pandas().astype(object)
    return rows.drop(columns="dysp"), rows["dysp"]


MODELS = {"a short one": bntk.NaiveBayes(), "a name that is much longer than others, with $math$": bntk.TAN()}


def test_a_box_has_a_point_for_each_split():
    result = cross_validate(MODELS, *asia(), cv=3, repeats=2)
    axes = plot_folds(result, "log_loss")
    points = [len(c.get_offsets()) for c in axes.collections]
    assert points == [6, 1, 6, 1]
    shown, expected = axes.collections[0].get_offsets()[:, 0], result.values("a short one", "log_loss")
    np.testing.assert_allclose(shown, expected)
    assert "smaller is better" in axes.get_xlabel()
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert not boxes[0].overlaps(boxes[1])
    assert all(box.x0 >= 0 for box in boxes)


def test_the_scatter_is_of_values_less_the_mean_of_their_data_set():
    X, y = asia()
    result = compare(MODELS, {"one": (X, y), "two": (X.iloc[:80], y.iloc[:80])}, cv=2)
    axes = plot_scatter(result)
    points = np.concatenate([c.get_offsets() for c in axes.collections])
    assert points.shape == (4, 2)
    np.testing.assert_allclose(points.sum(axis=0), 0, atol=1e-12)
    loss = result.by("log_loss").means
    expected = -(loss["a short one"] - loss.mean(axis=1))
    np.testing.assert_allclose(axes.collections[0].get_offsets()[:, 0], expected, atol=1e-12)
    axes.figure.canvas.draw()
    legend, inside = axes.get_legend().get_window_extent(), axes.get_window_extent()
    assert not legend.overlaps(inside)
    assert legend.x1 <= axes.figure.bbox.x1 + 1
    (alone,) = [plot_scatter(compare(MODELS, {"one": (X, y)}, cv=2))]
    assert alone.get_xlabel() == "minus log_loss"


def test_results_draw_themselves():
    X, y = asia()
    result = cross_validate(MODELS, X, y, cv=2)
    assert result.plot("accuracy", title="folds").get_title() == "folds"
    both = compare(MODELS, {"one": (X, y), "two": (X.iloc[:80], y.iloc[:80])}, cv=2)
    figure, axes = plt.subplots()
    assert both.plot(ax=axes) is axes
    assert both.plot_scatter(title="s").get_title() == "s"
    assert "<table" in result._repr_html_()
    assert "<table" in both._repr_html_()
    assert len(figure.axes) == 1
