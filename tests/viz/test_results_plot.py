"""Heat maps and curves show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

import bntk
from bntk.errors import DataError
from bntk.learning.search.base import SearchResult, Step
from bntk.viz import plot_confusion, plot_cpt, plot_reliability, plot_search, reliability


def all_texts_inside_the_figure(axes):
    axes.figure.canvas.draw()
    frame = axes.figure.bbox
    texts = [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
    # Matplotlib lists ticks beyond the limits, too, and does not draw them.
    for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        texts += [t.label1 for t in axis.get_major_ticks() if min(limits) <= t.get_loc() <= max(limits)]
    for text in texts:
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert frame.x0 - 1 <= box.x0, text.get_text()
            assert box.x1 <= frame.x1 + 1, text.get_text()
            assert frame.y0 - 1 <= box.y0, text.get_text()
            assert box.y1 <= frame.y1 + 1, text.get_text()


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smoke", "tub", "dysp"])
def test_a_table_is_its_matrix_with_all_labels_in_sight(name):
    cpt = bntk.datasets.asia().cpt(name)
    axes = cpt.plot()
    assert np.array_equal(axes.images[0].get_array(), cpt.matrix)
    texts = [text.get_text() for text in axes.texts]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["no", "yes"]
    for parent in cpt.parents:
        assert parent.name in texts
    all_texts_inside_the_figure(axes)


def test_a_table_of_thousands_of_rows_is_drawn_without_numbers():
    parents = [bntk.Variable(f"p{i}", range(8)) for i in range(4)]
    cpt = bntk.CPT.uniform(bntk.Variable("c", ["a", "b"]), parents)
    axes = plot_cpt(cpt, title="$large$")
    assert not axes.texts
    assert "4,096" in axes.get_ylabel()
    assert axes.figure.get_size_inches().max() < 20
    axes.figure.canvas.draw()


def test_odd_names_are_drawn_as_they_are():
    odd = bntk.Variable("$x_1$ and a very long name that has to be cut", ["$a$", "b_{", "line\nbreak"])
    axes = bntk.CPT.uniform(odd, [bntk.Variable("p$q$", ["<b>", "%"])]).plot(title="$t")
    axes.figure.canvas.draw()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["$a$", "b_{", "line break"]


# ---- confusion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5, 26])
@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
def test_a_confusion_matrix_is_that_of_scikit_learn(k, normalize):
    rng = np.random.default_rng(k)
    names = np.array([f"class {chr(97 + i)}" for i in range(k)])
    y = names[rng.integers(0, k, 300)]
    found = np.where(rng.random(300) < 0.6, y, names[rng.integers(0, k, 300)])
    axes = plot_confusion(y, found, normalize=normalize)
    expected = confusion_matrix(y, found, normalize=normalize or "true")
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(expected)
    if normalize is None:
        counts = confusion_matrix(y, found)
        written = [text.get_text() for text in axes.texts]
        assert written == [f"{n:,}" if n else "" for n in counts.ravel()]
    all_texts_inside_the_figure(axes)


def test_labels_of_a_confusion_matrix_are_checked_and_kept_in_order():
    axes = plot_confusion([1, 2, 2], [2, 2, 1], labels=[3, 2, 1])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["3", "2", "1"]
    with pytest.raises(DataError, match=r"\['2'\] occur"):
        plot_confusion([1, 2], [1, 1], labels=[1])
    with pytest.raises(DataError, match="one length"):
        plot_confusion([1, 2], [1])
    with pytest.raises(DataError, match="empty"):
        plot_confusion([], [])
    with pytest.raises(ValueError, match="normalize must be"):
        plot_confusion([1], [1], normalize="rows")


def test_a_confusion_matrix_has_the_declared_order_of_the_classes():
    order = ["slight", "severe", "fatal"]
    y = pd.Series(pd.Categorical(["fatal", "slight"], order, ordered=True))
    for true, found in ((y, ["slight", "slight"]), (["slight", "slight"], y), (y, y)):
        axes = plot_confusion(true, found)
        assert [t.get_text() for t in axes.get_xticklabels()] == order


# ---- reliability -----------------------------------------------------------------------------------------------------


def test_reliability_is_counted_in_bins():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p
    bins = reliability(y, p, n_bins=8)
    member = np.minimum(np.floor(p * 8), 7)
    shares = [y[member == b].mean() for b in range(8)]
    means = [p[member == b].mean() for b in range(8)]
    sizes = np.array([(member == b).sum() for b in range(8)])
    assert bins.observed == pytest.approx(shares)
    assert bins.predicted == pytest.approx(means)
    assert bins.counts.tolist() == sizes.tolist()
    assert bins.error == pytest.approx(sum(np.abs(np.subtract(shares, means)) * sizes) / 500)


def test_with_a_probability_for_every_class_it_is_about_the_most_probable():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.9, 0.0]])
    bins = reliability(["a", "c", "c"], p, classes=["a", "b", "c"], n_bins=2)
    assert bins.counts.tolist() == [3]
    assert bins.observed == pytest.approx([2 / 3])
    assert bins.predicted == pytest.approx([0.7])


def test_several_classifiers_have_a_curve_each():
    axes = plot_reliability([0, 1, 1, 0], {"one": [0.1, 0.8, 0.7, 0.3], "$two$": [0.5, 0.5, 0.9, 0.1]}, n_bins=4)
    assert len(axes.collections) == 2
    assert [t.get_text().split("  ")[0] for t in axes.get_legend().get_texts()] == ["one", "$two$"]
    all_texts_inside_the_figure(axes)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(DataError, match="true or false"):
        reliability(["a", "b"], [0.1, 0.2])
    with pytest.raises(DataError, match="from 0 to 1"):
        reliability([0, 1], [0.1, 1.2])
    with pytest.raises(DataError, match="2 columns for the 3 classes"):
        reliability([0, 1, 2], np.full((3, 2), 0.5))
    with pytest.raises(DataError, match="one row per label"):
        reliability([0, 1], [0.5])
    with pytest.raises(DataError, match="empty"):
        reliability([], [])
    with pytest.raises(DataError, match="no probabilities"):
        plot_reliability([0], {})
    with pytest.raises(ValueError, match="n_bins"):
        reliability([0], [0.5], n_bins=0)


# ---- searches --------------------------------------------------------------------------------------------------------


def test_a_search_shows_its_trace():
    rows = bntk.datasets.asia().sample(500, seed=0)
    result = bntk.learn_structure(rows, "bic", search="hc")
    axes = result.plot()
    line = axes.lines[0]
    assert line.get_ydata().tolist() == [step.score for step in result.trace]
    assert axes.get_title() == "HillClimbing"
    all_texts_inside_the_figure(axes)


def test_traces_that_fall_are_empty_or_in_seconds_are_drawn():
    dag = bntk.DAG(["a"])
    falling = SearchResult(dag, 3.0, "Tabu(x)", trace=tuple(Step("", s, i / 2) for i, s in enumerate([1.0, 3.0, 2.0])))
    axes = plot_search(falling, x="seconds")
    assert axes.lines[0].get_ydata().tolist() == [1, 3, 3]
    assert axes.lines[1].get_xdata().tolist() == [0, 0.5, 1]
    axes = plot_search(SearchResult(dag, -2.5, "Exact", exact=True))
    assert axes.lines[0].get_ydata() == [-2.5]
    assert "exact" in axes.get_legend().get_texts()[0].get_text()
    with pytest.raises(ValueError, match="'step' or 'seconds'"):
        plot_search(falling, x="time")
