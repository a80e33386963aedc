"""Measures of confusion matrices: the formulas behind the measures of classifiers and the scores of structures.

Each takes the joint distribution P of true and predicted classes, of one classifier or of many: an array of the shape
(..., M, M), true classes by predicted ones, that sums to one over the last two axes. Where the order of the classes
matters, the lowest is first. P(x) and P(y) are the margins, logarithms are natural, and 0 log 0 = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from bntk import _checking

Floats = NDArray[np.float64]
#: The largest alpha of the information measure.
MOST_ALPHA = 1e100


def accuracy(shares: Floats) -> Floats:
    """The share of correct predictions: sum_x P(x, x)."""
    return np.trace(shares, axis1=-2, axis2=-1)


def mutual_information(shares: Floats) -> Floats:
    """The mutual information of truth and prediction: sum_xy P(x, y) log(P(x, y) / (P(x) P(y)))."""
    true, predicted = _margins(shares)
    information = _sum_xlogx(shares.reshape(*shares.shape[:-2], -1)) - _sum_xlogx(true) - _sum_xlogx(predicted)
    return np.maximum(information, 0.0)


def mean_absolute_error(shares: Floats) -> Floats:
    """The mean distance of the predicted from the true class: sum_xy P(x, y) |x - y|."""
    return _mean(shares, distances(shares.shape[-1]))


def matthews_correlation(shares: Floats) -> Floats:
    """Matthews' correlation coefficient for several classes (Gorodkin 2004).

        MCC = (sum_k P(k, k) - sum_k t_k p_k) / sqrt((1 - sum_k t_k^2) (1 - sum_k p_k^2)),

    with t and p the margins of truth and prediction. It is 0 where one of them has a single class.
    """
    true, predicted = _margins(shares)
    both = (np.count_nonzero(true, axis=-1) > 1) & (np.count_nonzero(predicted, axis=-1) > 1)
    covariance = accuracy(shares) - (true * predicted).sum(axis=-1)
    variances = (1 - (true**2).sum(axis=-1)) * (1 - (predicted**2).sum(axis=-1))
    return np.where(both, covariance / np.sqrt(np.where(both, variances, 1.0)), 0.0)


def confusion_entropy(shares: Floats) -> Floats:
    """Confusion entropy (Wei et al. 2010, eqs. 3 to 7).

    With m_j = sum_k (P(j, k) + P(k, j)), which is twice the weight of class j,

        CEN = -sum_j m_j / 2 sum_{k != j} [P(j, k) / m_j log P(j, k) / m_j + P(k, j) / m_j log P(k, j) / m_j]

    in logarithms to the base 2 (M - 1). A class that neither occurs nor is predicted adds 0.
    """
    n_classes = shares.shape[-1]
    if n_classes == 1:
        return np.zeros(shares.shape[:-2])
    true, predicted = _margins(shares)
    errors = np.where(np.eye(n_classes, dtype=bool), 0.0, shares)
    involved = errors.sum(axis=-1) + errors.sum(axis=-2)
    # sum_k e log(e / m_j) = sum_k e log e - (sum_k e) log m_j; each error is one of two classes
    entropy = (xlogy(involved, true + predicted)).sum(axis=-1) - 2 * xlogy(errors, errors).sum(axis=(-2, -1))
    return np.maximum(entropy / (2 * np.log(2 * (n_classes - 1))), 0.0)


def information_measure(shares: Floats, alpha: float = 1.0) -> Floats:
    """The information measure IM_alpha (Halbersberg and Lerner, eq. 1).

    IM_alpha = sum_xy P(x, y) (-log(alpha P(x, y) / (P(x) P(y))) + log(1 + alpha |x - y|))
             = -log(alpha) - MI + sum_xy P(x, y) log(1 + alpha |x - y|)
    """
    severity = _mean(shares, np.log1p(alpha * distances(shares.shape[-1])))
    return severity - mutual_information(shares) - np.log(alpha)


def information_measure_bounds(n_classes: int, alpha: float = 1.0) -> tuple[float, float]:
    """The least (best) and the largest value of IM_alpha for M classes: -log(alpha M), log((1 + alpha (M-1)) / alpha).

    >>> [round(bound, 4) for bound in information_measure_bounds(3)]  # -log 3 and log 3
    [-1.0986, 1.0986]
    """
    return float(-np.log(alpha * n_classes)), float(np.log1p(alpha * (n_classes - 1)) - np.log(alpha))


def checked_alpha(alpha: float) -> float:
    """The alpha of the information measure as a float; what is no number above zero is refused."""
    return _checking.number("alpha of the information measure", alpha, 0, MOST_ALPHA, above=True)


def distances(n_classes: int) -> Floats:
    """|x - y| of all pairs of classes."""
    places = np.arange(n_classes, dtype=np.float64)
    return np.abs(places[:, None] - places)


def _margins(shares: Floats) -> tuple[Floats, Floats]:
    return shares.sum(axis=-1), shares.sum(axis=-2)


def _sum_xlogx(shares: Floats) -> Floats:
    return np.asarray(xlogy(shares, shares).sum(axis=-1))


def _mean(shares: Floats, values: Floats) -> Floats:
    """The expectation of a value of each cell."""
    return np.asarray((shares * values).sum(axis=(-2, -1)))
