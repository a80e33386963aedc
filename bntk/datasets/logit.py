"""Tables of the cumulative logit model with a given marginal distribution, which the generators are made of.

A latent score z(pa) of the parents' states moves an ordered variable X with states 0 < ... < r - 1 up:

    P(X <= k | pa) = 1 / (1 + exp(z(pa) - t_k)),  t_0 < ... < t_{r-2}

(P. McCullagh 1980, Regression models for ordinal data, Journal of the Royal Statistical Society B 42, 109-142). The
thresholds are found so that X has the given shares: sum_pa P(pa) P(X <= k | pa) = s_0 + ... + s_k. With two states
this is logistic regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.errors import DataError


def expit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), without overflow; scipy's would be the only reason to load scipy here."""
    return np.exp(-np.logaddexp(0, -x))


def threshold(scores: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> float:
    """The t for which the weighted mean of expit(t - score) is the share; ``weights`` sum to 1, 0 < share < 1."""
    low, high = float(scores.min()) - 745, float(scores.max()) + 745  # there expit is 0 and 1
    while low < (middle := (low + high) / 2) < high:  # until no float lies between
        if weights @ expit(middle - scores) < share:
            low = middle
        else:
            high = middle
    return high


def cumulative_logit(
    child: Variable,
    shares: NDArray[np.float64],
    parents: Sequence[Variable],
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> CPT:
    """The table of a child with these marginal shares.

    ``scores`` and ``weights`` have one axis per parent: the latent score and the probability of each configuration.
    """
    if not parents:
        return CPT(child, shares)
    flat, mass = scores.ravel(), weights.ravel()
    below = np.stack([expit(threshold(flat, mass, end) - flat) for end in np.cumsum(shares)[:-1]], axis=-1)
    table = np.diff(below, axis=-1, prepend=0, append=1)
    return CPT(child, np.maximum(table, 0).reshape(*scores.shape, child.n_states), parents)


def levels(n_states: int) -> NDArray[np.float64]:
    """Numbers for ordered states, evenly spaced, with mean 0 and variance 1 when all are equally likely."""
    steps = np.arange(n_states) - (n_states - 1) / 2
    return steps / max(steps.std(), 0.5)  # of a single state: 0


def additive(
    parents: Sequence[Variable], shares: Sequence[NDArray[np.float64]], slopes: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores that are sums over independent parents, slope times level, and the probabilities of configurations."""
    scores, weights = np.zeros(()), np.ones(())
    for parent, share, slope in zip(parents, shares, slopes, strict=True):
        scores = np.add.outer(scores, slope * levels(parent.n_states))
        weights = np.multiply.outer(weights, share)
    return scores, weights


def checked_shares(shares: ArrayLike | None, n: int, argument: str) -> NDArray[np.float64]:
    """Positive shares that sum to one; equal ones by default."""
    if shares is None:
        return np.full(n, 1 / n)
    values = _checking.numbers(argument, shares, f"{n} positive numbers that sum to 1", DataError)
    if values.shape != (n,) or not (values > 0).all() or abs(values.sum() - 1) > 1e-9:
        raise DataError(f"{argument} must be {n} positive numbers that sum to 1, one per class; got {shares!r}")
    return values / values.sum()
