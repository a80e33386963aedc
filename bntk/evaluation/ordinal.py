"""Measures of the whole confusion matrix of one class variable: how errors are distributed, and how severe they are.

They have the signature of scikit-learn's measures. Mutual information and Matthews' correlation are there already:
``sklearn.metrics.mutual_info_score``, ``sklearn.metrics.matthews_corrcoef``. The formulas themselves are in
:mod:`bntk.learning.confusion`, since structures can be learned by them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.data.class_order import common_order, label_column, positions_in_order
from bntk.data.coding import CodedColumn, codes_in_use
from bntk.data.variable import State, Variable, format_states, is_missing, natural_order, plain_state
from bntk.errors import DataError
from bntk.learning import confusion

Floats = NDArray[np.float64]


def information_measure(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Sequence[Any] | None = None,
    sample_weight: ArrayLike | None = None,
    alpha: float = 1.0,
    normalize: bool = False,
) -> float:
    """Information measure of ordered classes: it balances information and the severity of errors; smaller is better.

        IM_alpha = sum_xy P(x, y) (-log(alpha P(x, y) / (P(x) P(y))) + log(1 + alpha abs(x - y))),

    with P(x, y) the share of rows of the true class y that are predicted as x, P(x) and P(y) its margins, and x, y the
    positions of the classes in their order; natural logarithms, and 0 log 0 = 0 (Halbersberg and Lerner, eq. 1). The
    first term is minus the mutual information of truth and prediction (and a constant), the second one the severity of
    the errors. For M classes the measure is between -log(alpha M), for correct predictions of balanced classes, and
    log((1 + alpha (M - 1)) / alpha), where all rows are of the lowest class and predicted as the highest or vice versa.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rows,)
        The true and the predicted labels.
    labels : sequence, optional
        All classes, the lowest first. By default those of ordered categories (a pandas column or ``Categorical``, a
        polars Enum, one column of a :class:`bntk.Table`), else the numbers that occur, in their order. Labels of
        another kind need it, unless there are only two.
    sample_weight : array_like of shape (n_rows,), optional
        One non-negative number per row.
    alpha : float
        The weight of the distance between classes; above zero.
    normalize : bool
        Whether to return (max - IM_alpha) / (max - min) instead, which is 1 for the best and 0 for the worst value, so
        that measures with different ``alpha`` can be compared. It is 1 for a single class.

    References
    ----------
    D. Halbersberg and B. Lerner. Learning a Bayesian network classifier by jointly maximizing accuracy and information.
    ECAI 2016.

    Examples
    --------
    A fatal accident that is predicted as slight is worse than one that is predicted as severe:

    >>> order = ["slight", "severe", "fatal"]
    >>> truth = ["slight", "slight", "severe", "severe", "fatal", "fatal"]
    >>> near = ["slight", "slight", "severe", "severe", "fatal", "severe"]
    >>> far = ["slight", "slight", "severe", "severe", "fatal", "slight"]
    >>> [round(information_measure(truth, y, labels=order), 4) for y in (truth, near, far)]
    [-1.0986, -0.6648, -0.5973]
    >>> [round(information_measure(truth, y, labels=order, normalize=True), 4) for y in (truth, near, far)]
    [1.0, 0.8026, 0.7718]
    """
    alpha = confusion.checked_alpha(alpha)
    shares = _shares(y_true, y_pred, labels, sample_weight, needs_order="information_measure")
    value = float(confusion.information_measure(shares, alpha))
    if not _checking.flag("normalize", normalize):
        return value
    least, most = confusion.information_measure_bounds(len(shares), alpha)
    return (most - value) / (most - least) if len(shares) > 1 else 1.0


def confusion_entropy(
    y_true: Any, y_pred: Any, *, labels: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Confusion entropy, CEN: how widely the errors of each class are spread over other classes; smaller is better.

    With P(i, j) the share of rows of class i that are predicted as j, m_j = sum_k (P(j, k) + P(k, j)), and logarithms
    to the base 2 (M - 1) for M classes,

        CEN_j = -sum_{k != j} [P(j, k) / m_j log(P(j, k) / m_j) + P(k, j) / m_j log(P(k, j) / m_j)],

    and CEN = sum_j (m_j / 2) CEN_j (Wei et al. 2010). It is 0 for correct predictions, and 1 for errors that are spread
    evenly over all classes without a correct prediction; with two classes it can be above 1. A class that
    neither occurs nor is predicted adds 0, and a single class gives 0.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rows,)
        The true and the predicted labels.
    labels : sequence, optional
        All classes, in any order. By default those that occur, and all those of ordered categories.
    sample_weight : array_like of shape (n_rows,), optional
        One non-negative number per row.

    References
    ----------
    J.-M. Wei, X.-J. Yuan, Q.-H. Hu and S.-Q. Wang. A novel measure for evaluating classifiers. Expert Systems with
    Applications 37, 2010.

    Examples
    --------
    Both predictions have two errors in six rows, but those of the first one are all of one kind:

    >>> truth = ["a", "a", "b", "b", "c", "c"]
    >>> round(confusion_entropy(truth, ["b", "b", "b", "b", "c", "c"]), 4)
    0.1321
    >>> round(confusion_entropy(truth, ["b", "c", "b", "b", "c", "c"]), 4)
    0.2768
    """
    return float(confusion.confusion_entropy(_shares(y_true, y_pred, labels, sample_weight)))


def mean_absolute_error(
    y_true: Any, y_pred: Any, *, labels: Sequence[Any] | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Mean absolute error of ordered classes: by how many classes predictions are wrong; smaller is better.

        MAE = sum_xy P(x, y) abs(x - y),

    with P(x, y) the share of rows of the true class y that are predicted as x, and x, y the positions of the classes in
    their order. Numbers are taken by their ranks, not by their values; for these see
    ``sklearn.metrics.mean_absolute_error``.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rows,)
        The true and the predicted labels.
    labels : sequence, optional
        All classes, the lowest first. By default those of ordered categories (a pandas column or ``Categorical``, a
        polars Enum, one column of a :class:`bntk.Table`), else the numbers that occur, in their order. Labels of
        another kind need it, unless there are only two.
    sample_weight : array_like of shape (n_rows,), optional
        One non-negative number per row.

    Examples
    --------
    >>> order = ["slight", "severe", "fatal"]
    >>> truth, predicted = ["slight", "severe", "fatal", "fatal"], ["slight", "slight", "slight", "fatal"]
    >>> mean_absolute_error(truth, predicted, labels=order)
    0.75
    >>> import pandas as pd
    >>> mean_absolute_error(pd.Categorical(truth, categories=order, ordered=True), predicted)
    0.75
    """
    shares = _shares(y_true, y_pred, labels, sample_weight, needs_order="mean_absolute_error")
    return float(confusion.mean_absolute_error(shares))


# ---- reading ---------------------------------------------------------------------------------------------------------


def _shares(
    y_true: Any, y_pred: Any, labels: Sequence[Any] | None, sample_weight: ArrayLike | None, needs_order: str = ""
) -> Floats:
    """The share of rows of each true class (row) that have each predicted one (column), in the order of the classes.

    ``needs_order`` is the measure that needs an order, if any.
    """
    true, predicted = label_column("y_true", y_true), label_column("y_pred", y_pred)
    if len(true.codes) != len(predicted.codes):
        raise DataError(f"y_true has {len(true.codes):,} rows, but y_pred has {len(predicted.codes):,}")
    if not len(true.codes):
        raise DataError("there are no rows to measure")
    classes = _classes(true, predicted, labels, needs_order)
    weights = _weights(sample_weight, len(true.codes))
    n = classes.n_states
    cells = _codes(true, classes) * n + _codes(predicted, classes)
    counts = np.bincount(cells, weights, minlength=n * n).reshape(n, n)
    return np.asarray(counts / counts.sum(), dtype=np.float64)


def _classes(true: CodedColumn, predicted: CodedColumn, labels: Sequence[Any] | None, needs_order: str) -> Variable:
    """The classes in their order, as the states of a variable."""
    if labels is not None:
        return Variable("labels", labels)
    order = common_order(true, predicted)
    if order is not None:
        return Variable("the ordered categories", order)
    seen = natural_order(dict.fromkeys([*_labels_in_use(true), *_labels_in_use(predicted)]))
    places = positions_in_order(seen, ordered=not needs_order)
    if places is None:
        raise DataError(
            f"{needs_order} needs the order of the classes, and {format_states(seen)} have none: give all classes as "
            "labels=[...], the lowest first, or give ordered categories or numbers"
        )
    return Variable("the labels", [seen[place] for place in places])


def _labels_in_use(column: CodedColumn) -> list[State]:
    labels = [plain_state(column.labels[code]) for code in codes_in_use(column, seen=True) if code < len(column.labels)]
    return [label for label in labels if not is_missing(label)]


def _codes(column: CodedColumn, classes: Variable) -> NDArray[np.int64]:
    """The position of each row's label among the classes; one that is missing or unknown is refused."""
    lookup = np.full(len(column.labels) + 1, -1, dtype=np.int64)  # a negative code reads the last
    for code, label in enumerate(column.labels):
        lookup[code] = classes._codes.get(plain_state(label), -1)
    codes = np.take(lookup, column.codes.astype(np.intp), mode="wrap")
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        label = plain_state([*column.labels, None][int(column.codes[wrong[0]])])
        if is_missing(label):
            raise DataError(f"{column.name}: the label in row {wrong[0]} is missing; leave such rows out")
        raise DataError(
            f"{column.name}: {label!r} in row {wrong[0]} is not among {classes.name} {format_states(classes.states)}"
        )
    return codes


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    weights = _checking.numbers("sample_weight", sample_weight, "numbers, one for each row", DataError)
    if weights.shape != (n_rows,):
        raise DataError(f"sample_weight must have one number per row, {n_rows:,}; it has the shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise DataError("sample_weight must be non-negative numbers, at least one of them above 0")
    return weights
