"""Importances as bars: labelled, the largest above, the sum of what is not drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import bntk
from bntk.errors import ArgumentError
from bntk.viz import plot_importances


@pytest.fixture(scope="module")
def model() -> bntk.NaiveBayes:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = np.where(rng.random((300, 6)) < [0.9, 0.5, 0.7, 0.6, 0.55, 0.5], y[:, None], rng.integers(2, size=(300, 6)))
    names = [f"price_in_$_{i}" for i in range(6)]
    return bntk.NaiveBayes().fit(dict(zip(names, X.T, strict=True)), y)


def test_each_feature_has_a_bar_and_its_number(model):
    ax = plot_importances(model, title="a $ title")
    order = np.argsort(-model.feature_importances_)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(model.feature_importances_[order].tolist())
    assert [text.get_text() for text in ax.get_yticklabels()] == [model.features_.names[v] for v in order]
    assert [text.get_text() for text in ax.texts] == [f"{x:.1%}" for x in model.feature_importances_[order]]
    assert ax.get_title() == "a $ title"
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first bar is above


def test_the_last_bar_is_the_sum_of_those_that_are_not_drawn(model):
    ax = plot_importances(model, most=2)
    assert [text.get_text() for text in ax.get_yticklabels()][-1] == "4 others"
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(1)
    assert plot_importances(model, most=5).get_yticklabels()[-1].get_text() == "1 other"


def test_it_draws_where_it_is_told(model):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2)
    assert plot_importances(model, ax=axes[1]) is axes[1]
    plt.close("all")


def test_what_cannot_be_drawn_is_refused(model):
    with pytest.raises(ArgumentError, match="classifier must be a fitted classifier of one class variable"):
        plot_importances("tan")
    with pytest.raises(NotFittedError):
        plot_importances(bntk.TAN())
    with pytest.raises(ArgumentError, match="most must be"):
        plot_importances(model, most=0)
    with pytest.raises(ArgumentError, match="ax must be"):
        plot_importances(model, ax="here")
