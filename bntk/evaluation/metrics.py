"""Measures for classifiers of several class variables: true against predicted labels.

Both are data frames, mappings of columns, or arrays of shape (n_rows, n_targets). The accuracies compare labels of any
kind. The others are about sets: a row has the set of its labels, each with the variable it is of, except for those that
mean that something is absent (``absent``, 0 by default, so False too). For variables with the states 0 and 1 this is
the usual multi-label definition; a variable with more states adds one label for each state, as in the one-against-rest
measures of a single class, and ``absent=None`` counts every state. The states are those that occur in one of the two.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.data.labels import read_labels
from bntk.errors import DataError

Codes = NDArray[np.int64]
Classes = list[list[Any]]


def mean_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Mean accuracy: the share of correct labels over all rows and class variables, 1 - Hamming loss.

    Parameters
    ----------
    Y_true, Y_pred : data frames, or arrays of shape (n_rows, n_targets)
        The true and the predicted labels, one column per class variable.

    Examples
    --------
    >>> from bntk.evaluation.metrics import mean_accuracy
    >>> mean_accuracy([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.8333333333333334
    """
    true, predicted, _ = _coded(Y_true, Y_pred)
    return float((true == predicted).mean())


def global_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Global accuracy: the share of rows in which every label is correct (subset accuracy, exact match).

    Parameters
    ----------
    Y_true, Y_pred : data frames, or arrays of shape (n_rows, n_targets)
        The true and the predicted labels, one column per class variable.

    Examples
    --------
    >>> from bntk.evaluation.metrics import global_accuracy
    >>> global_accuracy([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.5
    """
    true, predicted, _ = _coded(Y_true, Y_pred)
    return float((true == predicted).all(axis=0).mean())


def jaccard(Y_true: Any, Y_pred: Any, absent: Any = 0, empty: float = 1.0) -> float:
    """Jaccard index: the size of the intersection of true and predicted label sets over that of their union.

    This is the mean over the rows.

    Parameters
    ----------
    Y_true, Y_pred : data frames, or arrays of shape (n_rows, n_targets)
        The true and the predicted labels, one column per class variable.
    absent : label
        The label that is not counted; None counts every one.
    empty : float
        The value of a row in which both sets are empty: 1 by default, as nothing is wrong in it.

    Examples
    --------
    >>> from bntk.evaluation.metrics import jaccard
    >>> jaccard([[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]])
    0.75
    """
    true, predicted = _indicators(Y_true, Y_pred, absent)
    return float(_ratio((true & predicted).sum(axis=1), (true | predicted).sum(axis=1), empty).mean())


def f1(Y_true: Any, Y_pred: Any, average: str = "macro", absent: Any = 0, empty: float = 0.0) -> float:
    """F1 measure of the labels, 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    Y_true, Y_pred : data frames, or arrays of shape (n_rows, n_targets)
        The true and the predicted labels, one column per class variable.
    average : {"macro", "micro"}
        The mean of the measures of all labels, or the measure of their counts together.
    absent : label
        The label that is not counted; None counts every one.
    empty : float
        The measure of a label that neither occurs nor is predicted; 0, as in scikit-learn.

    Examples
    --------
    >>> from bntk.evaluation.metrics import f1
    >>> Y_true, Y_pred = [[0, 1, 1], [1, 0, 0]], [[0, 1, 0], [1, 0, 0]]
    >>> round(f1(Y_true, Y_pred), 4), f1(Y_true, Y_pred, average="micro")
    (0.6667, 0.8)
    """
    _checking.one_of("average", average, ("macro", "micro"))
    true, predicted = _indicators(Y_true, Y_pred, absent)
    right, either = 2 * (true & predicted).sum(axis=0), true.sum(axis=0) + predicted.sum(axis=0)
    if average == "micro":
        right, either = right.sum(keepdims=True), either.sum(keepdims=True)
    return float(_ratio(right, either, empty).mean())


def _ratio(part: Codes, whole: Codes, empty: float) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.full(len(whole), _checking.number("empty", empty)), where=whole > 0)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _coded(Y_true: Any, Y_pred: Any) -> tuple[Codes, Codes, Classes]:
    """Codes of both, shape (n_targets, n_rows), and the labels behind them, which either may have."""
    known, true = read_labels(Y_true)
    guessed, predicted = read_labels(Y_pred)
    if true.shape != predicted.shape:
        raise DataError(
            f"Y_true has {true.shape[1]:,} rows and {true.shape[0]} class variables, but Y_pred has "
            f"{predicted.shape[1]:,} and {predicted.shape[0]}"
        )
    if not true.shape[1]:
        raise DataError("there are no rows to measure")
    if known.frame and guessed.frame and known.names != guessed.names:
        raise DataError(f"Y_true has the class variables {list(known.names)}, but Y_pred has {list(guessed.names)}")
    classes: Classes = []
    for j, (ours, theirs) in enumerate(zip(known.classes, guessed.classes, strict=True)):
        both = list(dict.fromkeys([*ours.tolist(), *theirs.tolist()]))
        position = {label: k for k, label in enumerate(both)}
        predicted[j] = np.array([position[label] for label in theirs.tolist()])[predicted[j]]
        classes.append(both)
    return true, predicted, classes


def _indicators(Y_true: Any, Y_pred: Any, absent: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which labels the rows have in truth and in prediction, each of shape (n_rows, n_labels)."""
    if not isinstance(absent, Hashable):
        raise _checking.wrong("absent", "a label, or None", absent)
    true, predicted, classes = _coded(Y_true, Y_pred)
    return indicators(true, classes, absent), indicators(predicted, classes, absent)


def indicators(codes: Codes, classes: Classes, absent: Any = 0) -> NDArray[np.bool_]:
    """Which labels each row has, shape (n_rows, n_labels): the states of all variables but the absent one.

    A variable that is absent everywhere has one label, which no row has.
    """
    present = []
    for row, states in zip(codes, classes, strict=True):
        counted = [k for k, state in enumerate(states) if absent is None or state != absent]
        present += [row == k for k in counted] or [np.zeros(len(row), dtype=bool)]
    return np.array(present).T
