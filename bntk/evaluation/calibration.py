"""The calibration of predicted probabilities: how often what was predicted with some confidence came true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.errors import DataError

Floats = NDArray[np.float64]


#: More bins are taken for a mistake.
MOST_BINS = 1_000_000


@dataclass(frozen=True)
class Reliability:
    """A reliability curve: for each bin, the mean prediction, the observed frequency and the number of rows."""

    predicted: Floats
    observed: Floats
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of prediction and frequency, weighted by the rows."""
        return float(np.abs(self.predicted - self.observed) @ self.counts / self.counts.sum())


def calibration_error(
    y_true: ArrayLike, probabilities: ArrayLike, *, classes: Sequence[Any] | None = None, n_bins: int = 10
) -> float:
    """Expected calibration error, ECE: the mean distance of predicted probability and observed frequency.

        ECE = sum_b n_b / n abs(conf(b) - acc(b)),

    over bins b of equal width, with n_b rows, their mean confidence conf(b) (the largest class probability), and the
    share acc(b) of them whose most probable class is the true one. A bin has its lower bound and not its upper one;
    the last one has both. Empty bins are left out. 0 is best.

    Parameters
    ----------
    y_true : array_like of shape (n_rows,)
        Labels; or true and false, 1 and 0, for probabilities of shape (n_rows,).
    probabilities : array_like of shape (n_rows,) or (n_rows, n_classes)
        The probability of every class; or of the positive class, whose frequency is then compared with it.
    classes : sequence, optional
        The labels of the columns, sorted by default, as in ``classes_`` of a classifier.
    n_bins : int
        The number of bins; the measure depends on it, and with few rows per bin it is too large.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian binning.
    AAAI 2015, 2901-2907.

    Examples
    --------
    >>> from bntk.evaluation import calibration_error
    >>> round(calibration_error(["a", "b", "b", "b"], [[0.8, 0.2], [0.4, 0.6], [0.4, 0.6], [0.6, 0.4]]), 4)
    0.1
    """
    return reliability(y_true, probabilities, classes=classes, n_bins=n_bins).error


def reliability(
    y_true: ArrayLike,
    probabilities: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    n_bins: int = 10,
) -> Reliability:
    """Compare predicted probabilities with observed frequencies, in bins of equal width.

    Empty bins are left out.

    Parameters
    ----------
    y_true : array_like of shape (n_rows,)
        Labels; or true and false, 1 and 0, for probabilities of shape (n_rows,).
    probabilities : array_like of shape (n_rows,) or (n_rows, n_classes)
        The probability of the positive class, or of every class; the bins are then of the largest one (the
        confidence), and the frequency is that of rows whose most probable class is the true one.
    classes : sequence, optional
        The labels of the columns, sorted by default, as in ``classes_`` of a classifier.
    n_bins : int
        The number of bins.

    Examples
    --------
    >>> bins = reliability([0, 1, 1, 1], [0.2, 0.7, 0.8, 0.8], n_bins=2)
    >>> bins.observed.tolist(), bins.counts.tolist()
    ([0.0, 1.0], [1, 3])
    """
    p = _checking.numbers("probabilities", probabilities, "numbers from 0 to 1", DataError)
    chances, came_true = _outcomes(_checking.array("y_true", y_true, error=DataError), p, classes)
    return binned(chances, came_true, n_bins)


def binned(chances: Floats, came_true: Floats, n_bins: int = 10) -> Reliability:
    """The curve of probabilities from 0 to 1, and of whether (1 or 0) what was predicted occurred."""
    n_bins = _checking.whole_number("n_bins", n_bins, 1, MOST_BINS)
    bins = np.minimum((chances * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    there = counts > 0
    predicted = np.bincount(bins, chances, n_bins)[there] / counts[there]
    observed = np.bincount(bins, came_true, n_bins)[there] / counts[there]
    return Reliability(predicted, observed, counts[there])


def _known(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        raise _checking.wrong("y_true", "labels of one kind, all text or all numbers", labels, DataError) from None


def _outcomes(labels: NDArray[Any], p: Floats, classes: Sequence[Any] | None) -> tuple[Floats, Floats]:
    """A probability for each row, and whether the event that was predicted occurred."""
    if labels.ndim != 1 or p.ndim not in (1, 2) or len(labels) != len(p):
        raise DataError(f"y_true has shape {labels.shape}, the probabilities {p.shape}; they need one row per label")
    if not len(labels):
        raise DataError("y_true is empty; there is nothing to count")
    if not (np.isfinite(p) & (p >= -1e-9) & (p <= 1 + 1e-9)).all():
        raise DataError("probabilities must be numbers from 0 to 1")
    p = np.clip(p, 0.0, 1.0)
    if p.ndim == 1:
        if not set(labels.tolist()) <= {0, 1}:
            known = sorted(set(map(str, labels.tolist())))[:8]
            raise DataError(f"with one probability per row, y_true must be true or false, 1 or 0; it has {known}")
        return p, labels.astype(np.float64)
    known_classes = _known(labels) if classes is None else _checking.array("classes", classes, error=DataError)
    if known_classes.ndim != 1:
        raise _checking.wrong("classes", "a list of labels, one for each column", classes, DataError)
    if len(known_classes) != p.shape[1]:
        raise DataError(
            f"the probabilities have {p.shape[1]} columns for the {len(known_classes)} classes "
            f"{known_classes.tolist()}; give the labels of the columns (classes=)"
        )
    return p.max(axis=1), (known_classes[p.argmax(axis=1)] == labels).astype(np.float64)
