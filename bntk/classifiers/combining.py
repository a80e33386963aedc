"""How the probabilities of several models become one: weights, a mean, and its temperature, by leave-one-out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Steps of EM for the weights of members. Many more would give all weight to few members.
STEPS = 20
#: The largest temperature, and one over the smallest.
MOST = 5.0
#: A temperature of e, or 1 / e, must gain half a nat of likelihood over all rows: few rows do not say much.
SPREAD = 1.0

_LEAST = 1e-300


def member_weights(proba: Floats, weights: Floats) -> Floats:
    """The weights of members in a mixture, after a few steps of EM from equal ones.

    Parameters
    ----------
    proba : ndarray of shape (n_members, n_rows)
        The probability that each member gives to the true class of each row.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.

    Examples
    --------
    >>> member_weights(np.array([[0.9, 0.2], [0.3, 0.8]]), np.ones(2)).round(2)
    array([0.42, 0.58])
    """
    found = np.full(len(proba), 1.0 / len(proba))
    total = weights.sum()
    for _ in range(STEPS if total > 0 else 0):
        joint = found[:, None] * np.maximum(proba, _LEAST)
        joint /= joint.sum(axis=0)
        found = joint @ weights / total
    return np.asarray(found / found.sum())


def tempered(proba: Floats, power: float) -> Floats:
    """The log of probabilities raised to a power and normalised, shape (n_rows, n_classes)."""
    scores = power * np.log(np.maximum(proba, _LEAST))
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return np.asarray(scores)


def temperature(proba: Floats, classes: NDArray[np.int64], weights: Floats) -> float:
    """The power that makes probabilities of the true classes most likely, shrunk towards 1 where rows are few.

    Examples
    --------
    >>> careful = np.array([[0.6, 0.4], [0.4, 0.6]] * 50)
    >>> temperature(careful, np.array([0, 1] * 50), np.ones(100)) > 4
    True
    """
    from scipy.optimize import minimize_scalar

    places = np.arange(len(classes))

    def loss(log_power: float) -> float:
        scores = tempered(proba, math.exp(log_power))
        return float(-weights @ scores[places, classes] + log_power**2 / (2 * SPREAD**2))

    end = math.log(MOST)
    found = minimize_scalar(loss, bounds=(-end, end), method="bounded", options={"xatol": 1e-3})
    return float(math.exp(found.x))
