"""What a fitted estimator says about test rows, in the form that measures read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.variable import plain_state
from bntk.errors import DataError
from bntk.evaluation.targets import Target

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Predictions:
    """Predictions of one class variable; classes are codes, places among all classes of the data.

    Attributes
    ----------
    truth, said : ndarray of int
        The true and the predicted class of each row.
    n_classes : int
        The number of classes, whether they are in the rows or not.
    known : ndarray of bool
        Which classes the estimator knows: the others are not in its training rows.
    proba : ndarray of shape (n_rows, n_classes)
        The probabilities of the classes, 0 for those that it does not know; None where no measure needs them.
    log_joint : ndarray of shape (n_rows, n_classes)
        log P(row, class), -inf for those that it does not know; None where no measure needs them.
    """

    truth: Codes
    said: Codes
    n_classes: int
    known: NDArray[np.bool_]
    proba: Any = None
    log_joint: Any = None

    @cached_property
    def shares(self) -> Floats:
        """The share of rows of each true class (row) that have each predicted one (column)."""
        k = self.n_classes
        counts = np.bincount(self.truth * k + self.said, minlength=k * k).reshape(k, k)
        return np.asarray(counts / counts.sum())

    @cached_property
    def true_probabilities(self) -> Floats:
        """The probability of the true class of each row."""
        return np.asarray(self.proba[np.arange(len(self.truth)), self.truth])


@dataclass(frozen=True)
class SeveralPredictions:
    """Predictions of several class variables: the true and the predicted labels, a column per class variable."""

    truth: Any
    said: Any


def read_predictions(
    estimator: Any, said: Any, X: Any, target: Target, rows: Codes, needs: set[str]
) -> Predictions | SeveralPredictions:
    """The predictions of some rows, with what measures need beyond the labels: ``"probabilities"``, ``"joint"``."""
    if target.several:
        return SeveralPredictions(target.rows(rows), said)
    assert target.codes is not None
    place = {label: k for k, label in enumerate(target.classes)}
    columns = _places(getattr(estimator, "classes_", target.classes), place, "classes_")
    k, n = len(target.classes), len(rows)
    proba = np.zeros((n, k)) if "probabilities" in needs else None
    if proba is not None:
        proba[:, columns] = estimator.predict_proba(X)
    joint = np.full((n, k), -np.inf) if "joint" in needs else None
    if joint is not None:
        joint[:, columns] = estimator.log_joint(X)
    known = np.zeros(k, dtype=bool)
    known[columns] = True
    return Predictions(target.codes[rows], _places(said, place, "predict"), k, known, proba, joint)


def _places(labels: Any, place: dict[Any, int], what: str) -> Codes:
    """The places of labels among the classes."""
    states = [plain_state(label) for label in np.asarray(labels).ravel().tolist()]
    unknown = [state for state in states if state not in place]
    if unknown:
        raise DataError(f"{what} gives the label {unknown[0]!r}, which is none of the classes {list(place)[:8]}")
    return np.array([place[state] for state in states], dtype=np.intp)
