"""Measures of the table against scikit-learn, against brute force, and in the cases that usually break."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import bntk
from bntk.evaluation.measure_table import MEASURES, canonical, find, named
from bntk.evaluation.predictions import Predictions

KEPT = ("accuracy", "balanced-accuracy", "f1", "mcc", "kappa", "auc", "log-loss", "brier", "im", "cen", "mae")
KEPT_SEVERAL = ("global-accuracy", "mean-accuracy", "jaccard", "f1-macro", "f1-micro")


@st.composite
def predictions(draw) -> Predictions:
    """Predictions of a few rows; a class may be absent from truth, predictions and training rows."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(1, 12))
    known = np.array(draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    known[draw(st.integers(0, k - 1))] = True
    truth = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    proba = np.zeros((n, k))
    proba[:, known] = generator.dirichlet(np.full(known.sum(), 0.7), n)
    return Predictions(truth, proba.argmax(axis=1), k, known, proba, None)


def of(name: str, found: Predictions):
    return MEASURES[name].function(found)


LABELS = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "kappa": metrics.cohen_kappa_score,
    "mcc": metrics.matthews_corrcoef,
    "precision": lambda y, x: metrics.precision_score(y, x, average="macro", zero_division=0),
    "recall": lambda y, x: metrics.recall_score(y, x, average="macro", zero_division=0),
    "f1": lambda y, x: metrics.f1_score(y, x, average="macro", zero_division=0),
    "mutual_information": metrics.mutual_info_score,
}


@pytest.mark.parametrize("name", LABELS)
@given(found=predictions())
def test_measures_of_labels_are_those_of_scikit_learn(name, found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = LABELS[name](found.truth, found.said)
    assert of(name, found) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(found=predictions())
def test_measures_by_class_are_those_of_scikit_learn_where_they_are_defined(found):
    labels = range(found.n_classes)
    expected = metrics.precision_recall_fscore_support(found.truth, found.said, labels=labels, zero_division=0)
    occurs, predicted = (np.bincount(x, minlength=found.n_classes) > 0 for x in (found.truth, found.said))
    defined = {"precision_by_class": occurs | predicted, "recall_by_class": occurs, "f1_by_class": occurs | predicted}
    for (name, where), values in zip(defined.items(), expected, strict=False):
        np.testing.assert_allclose(of(name, found), np.where(where, values, np.nan), atol=1e-12)


@given(found=predictions())
def test_measures_of_order_and_spread_are_the_functions_of_the_package(found):
    labels = list(range(found.n_classes))
    measures = bntk.evaluation
    for name, function in (
        ("im", measures.information_measure),
        ("cen", measures.confusion_entropy),
        ("mae", measures.mean_absolute_error),
    ):
        assert of(name, found) == pytest.approx(function(found.truth, found.said, labels=labels), abs=1e-12)


@given(found=predictions())
def test_measures_of_probabilities_are_their_definitions(found):
    rows = range(len(found.truth))
    p = np.array([found.proba[i, found.truth[i]] for i in rows])
    assert of("log_loss", found) == pytest.approx(-np.mean(np.log(np.maximum(p, np.finfo(float).eps))))
    onehot = np.eye(found.n_classes)[found.truth]
    assert of("brier", found) == pytest.approx(np.mean(((found.proba - onehot) ** 2).sum(axis=1)))


@given(found=predictions())
def test_the_area_under_the_curve_is_the_mean_of_one_against_the_rest(found):
    areas = []
    for k in np.flatnonzero(found.known):
        own, rest = found.proba[found.truth == k, k], found.proba[found.truth != k, k]
        if own.size and rest.size:
            won = (own[:, None] > rest).mean() + 0.5 * (own[:, None] == rest).mean()
            areas.append(won)
            assert won == pytest.approx(metrics.roc_auc_score(found.truth == k, found.proba[:, k]))
    areas = areas[-1:] if found.known.sum() == 2 else areas
    expected = np.mean(areas) if areas else np.nan
    assert of("auc", found) == pytest.approx(expected, nan_ok=True)


@given(found=predictions(), n_bins=st.integers(1, 12))
def test_the_calibration_error_is_its_definition(found, n_bins):
    total = 0.0
    for b in range(n_bins):
        confidence = found.proba.max(axis=1)
        inside = np.minimum(np.floor(confidence * n_bins), n_bins - 1) == b
        if inside.any():
            right = found.proba.argmax(axis=1)[inside] == found.truth[inside]
            total += inside.sum() * abs(confidence[inside].mean() - right.mean())
    classes = list(range(found.n_classes))
    value = bntk.evaluation.calibration_error(found.truth, found.proba, classes=classes, n_bins=n_bins)
    assert value == pytest.approx(total / len(found.truth), abs=1e-12)
    assert bntk.viz.reliability(found.truth, found.proba, classes=classes, n_bins=n_bins).error == value
    if n_bins == 10:
        assert of("calibration_error", found) == value


def test_the_log_likelihood_is_that_of_the_network():
    rows = bntk.datasets.asia().sample(300, seed=1).to_pandas().astype(object)
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    splits = [(np.arange(200), np.arange(200, 300))]
    result = bntk.evaluation.cross_validate(bntk.TAN(), X, y, cv=splits, scoring="log_likelihood")
    tan = bntk.TAN().fit(X.iloc[:200], y.iloc[:200])
    expected = tan.network_.log_likelihood(rows.iloc[200:]) / 100
    assert result.frame["log_likelihood"].item() == pytest.approx(expected, rel=1e-9)


def test_a_class_that_was_not_learned_does_not_break_any_measure():
    X = {"x": list("aabbab") * 3}
    y = ["u", "u", "v", "v", "u", "v"] * 2 + ["w"] * 6
    splits = [(np.arange(12), np.arange(6, 18))]
    found = bntk.evaluation.cross_validate(
        bntk.NaiveBayes(), X, y, cv=splits, scoring=[m.name for m in named(False) if not m.needs_order]
    ).frame.iloc[0]
    assert found["accuracy"] == 0.5
    assert found["recall[w]"] == 0
    assert found["log_loss"] == pytest.approx(-(np.log(6 / 7) * 6 + 6 * np.log(np.finfo(float).eps)) / 12, rel=0.2)
    assert np.isfinite(found["auc"])
    assert np.isfinite(found["log_likelihood"])


@pytest.mark.parametrize("name", [*KEPT, *KEPT_SEVERAL])
def test_the_names_of_the_command_are_known_with_hyphens_and_underscores(name):
    assert find(name) is find(name.replace("-", "_")) is find(name.upper())
    assert find(name).several == (name in KEPT_SEVERAL)


def test_aliases_are_other_names_and_never_those_of_another_measure():
    aliases = [alias for m in MEASURES.values() for alias in m.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & set(MEASURES)
    assert {canonical(alias) for m in MEASURES.values() for alias in m.aliases} <= set(MEASURES)


def test_the_table_lists_every_measure_with_what_it_needs():
    table = bntk.evaluation.measures()
    assert table.index.tolist() == list(MEASURES)
    assert table.loc["auc", "needs"] == "probabilities"
    assert not table.loc[["log_loss", "brier", "im", "cen", "mae", "calibration_error"], "greater_is_better"].any()


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda m: m.name)
def test_whether_greater_is_better_is_what_right_predictions_show(measure):
    truth = np.array([0, 1, 2, 0, 1, 2])
    wrong = np.array([2, 0, 1, 2, 0, 1])

    def value(said):
        if measure.several:
            from bntk.evaluation.predictions import SeveralPredictions

            Y, Z = np.stack([truth, truth]).T, np.stack([said, said]).T
            return measure.function(SeveralPredictions(Y, Z))
        proba = np.full((6, 3), 0.05)
        proba[np.arange(6), said] = 0.9
        mixed = said.copy()
        mixed[0] = truth[1] if said is wrong else said[0]  # so that wrong labels do not determine the right ones
        known = np.ones(3, dtype=bool)
        return np.mean(measure.function(Predictions(truth, mixed, 3, known, proba, np.log(proba) - 1)))

    assert (value(truth) > value(wrong)) == measure.greater_is_better
