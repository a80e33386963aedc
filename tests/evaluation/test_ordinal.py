"""Measures of confusion matrices: worked out by hand, equal to scikit-learn's, and the laws that the papers state."""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import bntk
from bntk.errors import DataError
from bntk.evaluation import confusion_entropy, information_measure, mean_absolute_error
from bntk.learning import confusion

MEASURES = [information_measure, confusion_entropy, mean_absolute_error]
ORDER = ["slight", "severe", "fatal"]


def rows_of(matrix):
    """True and predicted classes of the rows that a confusion matrix (true by predicted) counts."""
    matrix = np.asarray(matrix)
    pairs = [(i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) for _ in range(n)]
    true, predicted = np.array(pairs).T
    return true, predicted


def im(matrix, alpha=1.0, normalize=False):
    true, predicted = rows_of(matrix)
    return information_measure(true, predicted, labels=range(len(matrix)), alpha=alpha, normalize=normalize)


def slow_im(matrix, alpha):
    """Eq. 1, cell by cell."""
    P = np.asarray(matrix) / np.sum(matrix)
    true, predicted = P.sum(axis=1), P.sum(axis=0)
    return sum(
        P[y, x] * (-log(alpha * P[y, x] / (predicted[x] * true[y])) + log(1 + alpha * abs(x - y)))
        for y in range(len(P))
        for x in range(len(P))
        if P[y, x]
    )


def slow_cen(matrix):
    """Wei et al., eqs. 3 to 7, cell by cell."""
    C, n = np.asarray(matrix, dtype=float), len(matrix)
    total = 0.0
    for j in range(n):
        both = C[j].sum() + C[:, j].sum()
        if not both or n == 1:
            continue
        shares = [cell / both for k in range(n) if k != j for cell in (C[j, k], C[k, j])]
        entropy = -sum(p * log(p) / log(2 * (n - 1)) for p in shares if p)
        total += both / (2 * C.sum()) * entropy
    return total


matrices = st.integers(2, 5).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), min_size=n, max_size=n)
).filter(lambda matrix: np.sum(matrix) > 0)  # fmt: skip


# ---- by hand -------------------------------------------------------------------------------------------------------


def test_the_information_measure_by_hand():
    assert im([[1, 0], [0, 1]]) == pytest.approx(-log(2))
    assert im([[0, 1], [1, 0]]) == pytest.approx(-log(2) + log(2))  # all information, all wrong
    assert im([[1, 1], [1, 1]]) == pytest.approx(0.5 * log(2))  # none, half wrong
    # P = [[1/2, 0], [1/4, 1/4]]: MI = 1/2 log 4/3 + 1/4 log 2/3 + 1/4 log 2, severity 1/4 log 2
    information = 0.5 * log(4 / 3) + 0.25 * log(2 / 3) + 0.25 * log(2)
    assert im([[2, 0], [1, 1]]) == pytest.approx(0.25 * log(2) - information)
    assert im([[2, 0], [1, 1]], alpha=4) == pytest.approx(0.25 * log(5) - information - log(4))


def test_confusion_entropy_by_hand():
    def cen(matrix):
        return confusion_entropy(*rows_of(matrix), labels=range(len(matrix)))

    assert cen([[3, 0], [0, 3]]) == 0
    assert cen([[0, 3], [3, 0]]) == pytest.approx(1)
    assert cen([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) == pytest.approx(1)
    # 1 of 4 rows is wrong: m_0 = 3/4 (of which 1/4 wrong), m_1 = 5/4; logarithms to the base 2
    by_hand = (3 / 8) * (1 / 3) * np.log2(3) + (5 / 8) * (1 / 5) * np.log2(5)
    assert cen([[1, 1], [0, 2]]) == pytest.approx(by_hand)
    assert cen([[1, 1, 0], [0, 2, 0], [0, 0, 0]]) == pytest.approx(by_hand / 2)  # base 4; the third class adds 0
    assert confusion_entropy(["a", "a"], ["a", "a"]) == 0


def test_the_mean_absolute_error_by_hand():
    assert mean_absolute_error([1, 2, 10], [2, 2, 1]) == pytest.approx(1)  # by ranks: 1, 0 and 2
    assert mean_absolute_error(["fatal", "slight"], ["slight", "slight"], labels=ORDER) == 1
    assert mean_absolute_error(["b", "a", "a"], ["a", "a", "a"]) == pytest.approx(1 / 3)


@settings(deadline=None)
@given(matrices, st.floats(0.1, 100))
def test_the_measures_equal_their_formulas(matrix, alpha):
    true, predicted = rows_of(matrix)
    labels = range(len(matrix))
    assert im(matrix, alpha) == pytest.approx(slow_im(matrix, alpha), abs=1e-12)
    assert confusion_entropy(true, predicted, labels=labels) == pytest.approx(slow_cen(matrix), abs=1e-12)
    assert mean_absolute_error(true, predicted, labels=labels) == pytest.approx(np.abs(true - predicted).mean())


@pytest.mark.filterwarnings("ignore:A single label was found:UserWarning")
@settings(deadline=None)
@given(matrices)
def test_the_others_equal_those_of_scikit_learn(matrix):
    true, predicted = rows_of(matrix)
    shares = np.asarray(matrix) / np.sum(matrix)
    expected = metrics.mutual_info_score(true, predicted)
    assert float(confusion.mutual_information(shares)) == pytest.approx(expected, abs=1e-12)
    expected = metrics.matthews_corrcoef(true, predicted)
    assert float(confusion.matthews_correlation(shares)) == pytest.approx(expected, abs=1e-12)
    assert float(confusion.accuracy(shares)) == pytest.approx(metrics.accuracy_score(true, predicted))


# ---- the five properties of Halbersberg and Lerner -----------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1, 2, 4, 9, 64])
class TestProperties:
    def test_it_balances_accuracy_and_information(self, alpha):
        informative, uninformative = [[5, 5], [0, 10]], [[0, 5], [0, 15]]  # the same errors
        assert im(informative, alpha) < im(uninformative, alpha)
        right, swapped = [[9, 1], [1, 9]], [[1, 9], [9, 1]]  # the same information
        assert im(right, alpha) < im(swapped, alpha)

    def test_it_prefers_balanced_classes(self, alpha):
        values = [im(np.diag(counts), alpha) for counts in ([4, 4, 4], [5, 4, 3], [8, 2, 2], [10, 1, 1], [12, 0, 0])]
        assert values == sorted(values)
        assert values[0] == pytest.approx(-log(3 * alpha))
        assert values[-1] == pytest.approx(-log(alpha))

    def test_it_is_sensitive_to_the_distribution_of_errors(self, alpha):
        one_kind, two_kinds = [[6, 0, 0], [4, 2, 0], [0, 0, 6]], [[6, 0, 0], [2, 2, 2], [0, 0, 6]]
        assert np.trace(one_kind) == np.trace(two_kinds)
        assert mean_absolute_error(*rows_of(one_kind)) == mean_absolute_error(*rows_of(two_kinds))
        assert abs(im(one_kind, alpha) - im(two_kinds, alpha)) > 0.05

    def test_it_is_sensitive_to_the_severity_of_errors(self, alpha):
        near, far = [[4, 2, 0], [0, 6, 0], [0, 0, 6]], [[4, 0, 2], [0, 6, 0], [0, 0, 6]]
        more = 2 / 18 * (log(1 + 2 * alpha) - log(1 + alpha))
        assert im(far, alpha) - im(near, alpha) == pytest.approx(more)

    def test_it_is_sensitive_to_the_number_of_classes(self, alpha):
        values = [im(np.eye(n, dtype=int), alpha) for n in range(2, 8)]
        assert values == pytest.approx([-log(alpha * n) for n in range(2, 8)])


def test_the_remark_on_alpha_and_accuracy_does_not_follow():
    matrix = np.random.default_rng(0).integers(1, 9, size=(4, 4))
    accuracy = np.trace(matrix) / matrix.sum()
    assert im(matrix, 4) != pytest.approx(im(matrix) - log(4) * accuracy, abs=0.1)


@settings(deadline=None)
@given(matrices, st.floats(1, 1000))
def test_what_is_missing_in_the_remark_is_a_bounded_term_of_the_errors(matrix, alpha):
    shares = np.asarray(matrix) / np.sum(matrix)
    accuracy, far = np.trace(shares), confusion.distances(len(shares))
    term = (shares * np.log((1 / alpha + far) / (1 + far)))[far > 0].sum()
    assert im(matrix, alpha) == pytest.approx(im(matrix) - log(alpha) * accuracy + term, abs=1e-10)
    assert -(1 - accuracy) * log(2) - 1e-12 <= term <= 1e-12


# ---- laws ------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(matrices, st.floats(0.1, 100))
def test_the_information_measure_is_within_its_bounds(matrix, alpha):
    least, most = confusion.information_measure_bounds(len(matrix), alpha)
    assert least - 1e-12 <= im(matrix, alpha) <= most + 1e-12
    assert -1e-12 <= im(matrix, alpha, normalize=True) <= 1 + 1e-12


@pytest.mark.parametrize("alpha", [0.5, 1, 4])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_the_bounds_are_reached(n, alpha):
    assert im(np.eye(n, dtype=int), alpha, normalize=True) == pytest.approx(1)
    worst = np.zeros((n, n), dtype=int)
    worst[0, -1] = 3
    assert im(worst, alpha, normalize=True) == pytest.approx(0)
    assert im(worst) == pytest.approx(log(n))
    worst[-1, 0] = 3  # the largest errors, but they tell the classes apart
    assert im(worst) == pytest.approx(log(n) - log(2))


@settings(deadline=None)
@given(matrices, st.randoms(use_true_random=False))
@pytest.mark.parametrize("measure", MEASURES)
def test_the_order_of_the_rows_does_not_matter(measure, matrix, random):
    true, predicted = rows_of(matrix)
    order = random.sample(range(len(true)), len(true))
    labels = range(len(matrix))
    assert measure(true[order], predicted[order], labels=labels) == pytest.approx(
        measure(true, predicted, labels=labels), abs=1e-14
    )


@settings(deadline=None)
@given(matrices)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_weight_is_a_number_of_rows(measure, matrix):
    labels = range(len(matrix))
    true, predicted = np.indices(np.shape(matrix)).reshape(2, -1)
    weighted = measure(true, predicted, labels=labels, sample_weight=np.ravel(matrix))
    assert weighted == pytest.approx(measure(*rows_of(matrix), labels=labels), abs=1e-14)


@settings(deadline=None)
@given(matrices)
@pytest.mark.parametrize("measure", MEASURES)
def test_no_prediction_is_better_than_the_truth(measure, matrix):
    true, predicted = rows_of(matrix)
    labels = range(len(matrix))
    assert measure(true, true, labels=labels) <= measure(true, predicted, labels=labels) + 1e-12


@settings(deadline=None)
@given(matrices)
@pytest.mark.parametrize("measure", MEASURES)
def test_from_the_highest_to_the_lowest_is_the_same(measure, matrix):
    true, predicted = rows_of(matrix)
    labels = list(range(len(matrix)))
    assert measure(true, predicted, labels=labels[::-1]) == pytest.approx(
        measure(true, predicted, labels=labels), abs=1e-14
    )


def test_one_class():
    assert information_measure(["a"], ["a"]) == 0
    assert information_measure(["a"], ["a"], alpha=4) == pytest.approx(-log(4))
    assert information_measure(["a"], ["a"], normalize=True) == 1
    assert mean_absolute_error([1, 1], [1, 1]) == confusion_entropy([1, 1], [1, 1]) == 0


# ---- the order of the classes ----------------------------------------------------------------------------------------

TRUTH, SAID = ["slight", "fatal", "severe", "fatal"], ["slight", "slight", "slight", "fatal"]
DECLARED = {
    "series": lambda y: pd.Series(pd.Categorical(y, ORDER, ordered=True)),
    "categorical": lambda y: pd.Categorical(y, ORDER, ordered=True),
    "enum": lambda y: pl.Series(y, dtype=pl.Enum(ORDER)),
    "table": lambda y: bntk.Table.from_columns({"y": y}, variables=[bntk.Variable("y", ORDER, ordered=True)]),
}


@pytest.mark.parametrize("kind", DECLARED)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_declared_order_is_that_of_labels(measure, kind):
    expected = measure(TRUTH, SAID, labels=ORDER)
    declare = DECLARED[kind]
    assert measure(declare(TRUTH), SAID) == expected
    assert measure(TRUTH, declare(SAID)) == expected
    assert measure(declare(TRUTH), declare(SAID)) == expected
    assert measure(np.array(TRUTH), np.array(SAID, dtype=object), labels=ORDER) == expected


def test_a_class_that_does_not_occur_keeps_its_place():
    truth, said = ["slight", "fatal"], ["slight", "slight"]
    assert mean_absolute_error(truth, said, labels=ORDER) == 1
    assert mean_absolute_error(pd.Categorical(truth, ORDER, ordered=True), said) == 1
    assert mean_absolute_error(truth, said) == 0.5
    bound = confusion.information_measure_bounds(3)[1]
    assert information_measure(["fatal"], ["slight"], labels=ORDER) == pytest.approx(bound)


def test_labels_come_before_categories_and_categories_before_numbers():
    reversed_middle = pd.Categorical([1, 2, 3], [2, 1, 3], ordered=True)
    assert mean_absolute_error(reversed_middle, [1, 3, 3]) == pytest.approx(2 / 3)
    assert mean_absolute_error(reversed_middle, [1, 3, 3], labels=[1, 2, 3]) == pytest.approx(1 / 3)
    assert mean_absolute_error([1.0, 2.0, 3.0], [1, 3, 3]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("measure", [information_measure, mean_absolute_error])
def test_more_than_two_labels_without_an_order_are_refused(measure):
    with pytest.raises(DataError, match=rf"{measure.__name__} needs the order.*'fatal', 'severe', 'slight'.*labels="):
        measure(TRUTH, SAID)
    with pytest.raises(DataError, match="labels="):
        measure(pd.Categorical(TRUTH), SAID)
    assert measure(["no", "yes"], ["yes", "yes"]) == measure([0, 1], [1, 1])
    assert confusion_entropy(TRUTH, SAID) == confusion_entropy(TRUTH, SAID, labels=ORDER)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_cannot_be_measured_is_refused(measure):
    with pytest.raises(DataError, match="y_pred: 'fatal' in row 1 is not among labels"):
        measure(["a", "b"], ["a", "fatal"], labels=["a", "b"])
    with pytest.raises(DataError, match="y_true: 4 in row 0 is not among the ordered categories"):
        measure([4, 1], pd.Categorical([1, 2], [1, 2, 3], ordered=True))
    with pytest.raises(DataError, match="y_true has 2 rows, but y_pred has 1"):
        measure(["a", "b"], ["a"])
    with pytest.raises(DataError, match="no rows"):
        measure([], [])
    with pytest.raises(DataError, match="y_true: the label in row 1 is missing"):
        measure(["a", None], ["a", "a"])
    with pytest.raises(DataError, match="given twice"):
        measure(["a"], ["a"], labels=["a", "a"])
    with pytest.raises(DataError, match="ordered categories"):
        measure(pd.Categorical([1], [1, 2], ordered=True), pd.Categorical([1], [2, 1], ordered=True))
    for weights in ([1], [0, 0], [1, -1], [1, np.nan]):
        with pytest.raises(DataError, match="sample_weight"):
            measure(["a", "b"], ["a", "a"], sample_weight=weights)


def test_alpha_must_be_above_zero():
    for alpha in (0, -1, np.inf, np.nan, "1"):
        with pytest.raises(ValueError, match="alpha"):
            information_measure([0, 1], [0, 1], alpha=alpha)
