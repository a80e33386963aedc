"""Scores by the confusion matrix equal the measures of the same predictions, made by refitting without the rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from learning.predictive_reference import random_table, refitted_posterior, structures
from sklearn import metrics

import bntk
from bntk import Table, Variable, scores
from bntk.errors import DataError
from bntk.evaluation import confusion_entropy, information_measure, mean_absolute_error
from bntk.learning.counts import TableCounter
from bntk.learning.learn import default_prior
from bntk.learning.priors import Dirichlet
from bntk.learning.scores import CEN, IM, MAE, MCC, MI, Accuracy, MutualInformation

TARGET = "v0"
NO_TIES = 3  # the seed of rows in which no two classes are equally probable
FOLDS = np.array([0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 1, 0, 2, 2, 0, 1, 0, 1, 2, 2, 0, 1, 1, 0, 2])


def sklearn_mi(true, predicted, labels, sample_weight):
    counts = 216 * metrics.confusion_matrix(true, predicted, labels=labels, sample_weight=sample_weight)
    whole = counts.round().astype(int)  # folds of 8 and 9 rows; scikit-learn takes margins as whole numbers
    np.testing.assert_allclose(whole, counts, atol=1e-6)
    return metrics.mutual_info_score(None, None, contingency=whole)


def sklearn_mcc(true, predicted, labels, sample_weight):
    return metrics.matthews_corrcoef(true, predicted, sample_weight=sample_weight)


#: A score, and the measure of labels that it is.
MEASURES = {
    "im": (IM(FOLDS, target=TARGET), lambda *a, **k: -information_measure(*a, **k)),
    "im of another alpha": (IM(FOLDS, target=TARGET, alpha=4), lambda *a, **k: -information_measure(*a, alpha=4, **k)),
    "im of another prior": (IM(FOLDS, target=TARGET, prior=0.2), lambda *a, **k: -information_measure(*a, **k)),
    "cen": (CEN(FOLDS, target=TARGET), lambda *a, **k: -confusion_entropy(*a, **k)),
    "mae": (MAE(FOLDS, target=TARGET), lambda *a, **k: -mean_absolute_error(*a, **k)),
    "mi": (MutualInformation(FOLDS, target=TARGET), sklearn_mi),
    "mcc": (MCC(FOLDS, target=TARGET), sklearn_mcc),
    "mcc leaving one out": (MCC("loo", target=TARGET), sklearn_mcc),
    "im leaving one out": (IM("loo", target=TARGET), lambda *a, **k: -information_measure(*a, **k)),
}


@cache
def ordered_table(seed: int = 1, n: int = 25) -> Table:
    """Rows whose class is ordered."""
    table = random_table(seed, [4, 2, 3, 3, 2], n)
    first, *others = table.variables
    return Table.from_codes(table.codes, [Variable(first.name, first.states, ordered=True), *others])


@cache
def refitted_labels(prior, leave_one_out, kind):
    """The label of each row by a network that was fitted without its fold, and the row's weight in the scores."""
    table = ordered_table()
    dag = structures(table.names, TARGET)[kind]
    folds = np.arange(table.n_rows) if leave_one_out else FOLDS
    labels = []
    for i, fold in enumerate(folds):
        rest = table.take(np.flatnonzero(folds != fold))
        p = refitted_posterior(dag, rest, table.take([i]), TARGET, prior)
        labels.append(np.flatnonzero(p >= p.max() * (1 - 1e-9))[0])
    sizes = np.bincount(folds)
    return np.array(labels), 1 / (len(sizes) * sizes[folds])


@pytest.mark.parametrize("kind", ["no arcs", "naive", "tree", "class with parents"])
@pytest.mark.parametrize("name", MEASURES)
def test_scores_equal_the_measures_of_refitted_predictions(name, kind):
    table = ordered_table()
    rule, measure = MEASURES[name]
    dag = structures(table.names, TARGET)[kind]
    labels, shares = refitted_labels(rule.prior, isinstance(rule.folds, str), kind)
    expected = measure(table.column(TARGET).astype(int), labels, labels=[0, 1, 2, 3], sample_weight=shares)
    assert bntk.score(dag, table, rule) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", MEASURES)
def test_gains_are_differences_of_scores(name):
    table = ordered_table()
    rule, _ = MEASURES[name]
    kinds = structures(table.names, TARGET)
    evaluator = rule.evaluator(TableCounter(table), kinds["naive"])
    child = table.names.index("v2")
    other = evaluator.parents[child] | {table.names.index("v1")}
    gain = evaluator.change_gains([{child: other}])[0]
    before = evaluator.total()
    evaluator.change({child: other})
    assert evaluator.total() - before == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize("rule", [IM, MAE])
def test_more_than_two_classes_without_an_order_are_refused(rule):
    table = random_table(1, [3, 2, 2], 25)
    with pytest.raises(
        DataError, match=rf"{rule.__name__} needs ordered classes.*'v0'.*'s0', 's1', 's2'.*ordered=True"
    ):
        bntk.score("v0 -> v1; v2", table, rule(5, target="v0"))
    bntk.score("v0 -> v1; v2", table, rule(5, target="v1"))  # two classes


@pytest.mark.parametrize("rule", [IM, MAE, CEN, MCC, MutualInformation, Accuracy])
def test_numbers_are_in_their_order_wherever_their_states_are(rule):
    table, score = ordered_table(seed=NO_TIES), rule(FOLDS, target=TARGET)
    _, *others = table.variables
    naive = structures(table.names, TARGET)["naive"]
    expected = bntk.score(naive, table, score)
    numbers = Table.from_codes(table.codes, [Variable(TARGET, [10, 20, 30, 40]), *others])
    assert bntk.score(naive, numbers, score) == pytest.approx(expected, abs=1e-12)
    codes, states = table.codes.copy(), [20, 40, 10, 30]
    codes[0] = np.argsort([1, 3, 0, 2])[codes[0]]
    shuffled = Table.from_codes(codes, [Variable(TARGET, states), *others])
    assert [states[k] for k in codes[0]] == [10 * (k + 1) for k in table.column(TARGET)]
    assert bntk.score(naive, shuffled, score) == pytest.approx(expected, abs=1e-12)
    if rule in (IM, MAE):  # in the order of the states, it would be another value
        misread = Table.from_codes(codes, [Variable(TARGET, states, ordered=True), *others])
        assert bntk.score(naive, misread, score) != pytest.approx(expected, abs=1e-3)


def test_they_are_known_by_name():
    for name, cls in {"im": IM, "mi": MI, "mae": MAE, "mcc": MCC, "cen": CEN, "accuracy": Accuracy}.items():
        assert scores.by_name(name) == cls()
        assert issubclass(cls, scores.ConfusionScore)
    assert scores.by_name("IM").with_target("c") == IM(target="c")
    shown = "IM(folds=5, repeats=1, target=None, prior=1.0, seed=0, missing='approximate', alpha=4)"
    assert repr(IM(5, alpha=4)) == shown
    assert IM(5, 1, "c", 1.0, 0, 4.0) == IM(5, target="c", alpha=4.0)
    assert MI is MutualInformation is scores.MI


def test_alpha_is_that_of_the_measure_and_prior_the_pseudo_count():
    assert default_prior(IM(prior=2.0, alpha=9.0)) == Dirichlet(2.0)
    assert default_prior(Accuracy(prior=0.5)) == Dirichlet(0.5)
    for alpha in (0, -1.0, np.inf, np.nan, "2"):
        with pytest.raises(ValueError, match="alpha of the information measure"):
            IM(alpha=alpha)
    for prior in (0, -1.0, np.inf, "1"):
        with pytest.raises(ValueError, match="prior must be a number above 0"):
            MAE(prior=prior)


def test_docstrings_list_all_parameters():
    for cls in (IM, MI, MAE, MCC, CEN, Accuracy):
        for name in ("folds", "repeats", "target", "prior", "seed", "missing"):
            assert f"\n{name} : " in cls.__doc__
    assert "\nalpha : " in IM.__doc__


@pytest.mark.parametrize("criterion", ["im", "mi", "mae", "mcc", "cen", IM(5, alpha=4)])
@pytest.mark.parametrize(
    "classifier",
    [
        bntk.TAN(search="hc"),
        bntk.FAN(search="hc"),
        bntk.KDB(2, search="hc"),
        bntk.SemiNaiveBayes(),
        bntk.STAND(),
        bntk.BayesNetClassifier(search="hc"),
    ],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.filterwarnings("ignore::bntk.errors.WeakClassifierWarning")
def test_every_search_by_predictions_takes_them(classifier, criterion):
    X, y, *_ = bntk.datasets.make_ordinal(150, 4, 4, seed=2)
    model = classifier.set_params(criterion=criterion, prior=1).fit(X, y)
    rule = scores.by_name(criterion).with_target(model.target_name_)
    table = Table.from_columns({**{name: X[name] for name in X}, model.target_name_: y})
    assert model.search_.score == pytest.approx(bntk.score(model.dag_, table, rule), abs=1e-10)
