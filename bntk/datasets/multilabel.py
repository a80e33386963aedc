"""Artificial rows with several labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.datasets.drawn import MOST_STRENGTH, Drawn, check_counts, checked_seed, draw, row_seed
from bntk.datasets.logit import cumulative_logit, expit, threshold
from bntk.errors import DataError
from bntk.network import BayesianNetwork


def make_multilabel(
    n_rows: int = 1000,
    n_labels: int = 6,
    n_features: int = 20,
    *,
    cardinality: float | None = None,
    skew: float = 1.0,
    dependence: float = 1.0,
    strength: float = 2.0,
    labels_per_feature: int = 2,
    seed: int = 0,
) -> Drawn:
    """Multi-label data: labels that depend on each other, and features that depend on some of the labels.

    The labels form a random tree; each label and each feature is a logistic regression on its parents, with exactly
    the given share of ones.

    Parameters
    ----------
    n_rows, n_labels, n_features : int
        The number of rows, labels and features.
    cardinality : float, optional
        The expected number of labels per row, more than 0 and less than ``n_labels``; a third of the labels by default.
        The density is ``cardinality / n_labels``.
    skew : float
        How unequal the labels are: the odds of the k-th are proportional to k ** -skew; 0 makes them equally frequent.
    dependence : float
        The log odds ratio of a label and its parent label, times a random sign that is + three times in four; 0 makes
        the labels independent.
    strength : float
        The log odds ratio of a feature and each of its labels, with random sign.
    labels_per_feature : int
        How many labels each feature depends on.
    seed : int
        The same seed gives the same network and rows.

    Returns
    -------
    Drawn
        Unpack it as ``X, Y, network``; Y has a column of 0 and 1 for each label.

    Examples
    --------
    >>> X, Y, truth = make_multilabel(500, n_labels=4, cardinality=1.5, seed=1)
    >>> list(Y), X.shape
    (['label1', 'label2', 'label3', 'label4'], (500, 20))
    >>> round(sum(truth.query(name)[1] for name in Y), 6)
    1.5
    """
    check_counts(n_labels=(n_labels, 1), n_features=(n_features, 0), labels_per_feature=(labels_per_feature, 0))
    skew = _checking.number("skew", skew, -MOST_STRENGTH, MOST_STRENGTH)
    dependence = _checking.number("dependence", dependence, -MOST_STRENGTH, MOST_STRENGTH)
    strength = _checking.number("strength", strength, -MOST_STRENGTH, MOST_STRENGTH)
    total = n_labels / 3 if cardinality is None else cardinality
    if not _checking.is_number(total) or not 0 < total < n_labels:
        raise DataError(f"cardinality must be more than 0 and less than n_labels={n_labels}; got {cardinality!r}")
    if not 0 <= labels_per_feature <= n_labels:
        raise DataError(f"labels_per_feature must be from 0 to n_labels={n_labels}; got {labels_per_feature!r}")
    rng = np.random.default_rng(checked_seed(seed))
    ones = _label_shares(n_labels, total, skew)[rng.permutation(n_labels)]
    labels = [Variable(f"label{i + 1}", (0, 1)) for i in range(n_labels)]
    cpts, joint = _label_tree(rng, labels, ones, dependence)
    for i in range(n_features):
        chosen = np.sort(rng.choice(n_labels, labels_per_feature, replace=False))
        slopes = strength * rng.choice([-1.0, 1.0], labels_per_feature)
        cpts.append(_switched(Variable(f"x{i + 1}", (0, 1)), [labels[j] for j in chosen], slopes, joint(chosen)))
    network = BayesianNetwork.from_cpts(cpts)
    return draw(network, [label.name for label in labels], n_rows, row_seed(rng))


def _label_shares(n: int, total: float, skew: float) -> NDArray[np.float64]:
    """Shares with odds proportional to k ** -skew that sum to the cardinality."""
    scores = skew * np.log(np.arange(1, n + 1))
    return expit(threshold(scores, np.full(n, 1 / n), total / n) - scores)


def _label_tree(
    rng: np.random.Generator, labels: Sequence[Variable], ones: NDArray[np.float64], dependence: float
) -> Any:
    """Tables of a random tree over the labels, and a function that gives the joint distribution of some of them."""
    cpts = [CPT(labels[0], [1 - ones[0], ones[0]])]
    for i in range(1, len(labels)):
        parent = int(rng.integers(i))
        slope = dependence * (1.0 if rng.random() < 0.75 else -1.0)
        joint = np.array([1 - ones[parent], ones[parent]])
        cpts.append(_switched(labels[i], [labels[parent]], [slope], joint, ones[i]))
    tree = BayesianNetwork.from_cpts(cpts)

    def joint_of(chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        return tree.query([labels[j].name for j in chosen]).values if len(chosen) else np.ones(())

    return cpts, joint_of


def _switched(
    child: Variable, parents: Sequence[Variable], slopes: ArrayLike, joint: NDArray[np.float64], ones: float = 0.5
) -> CPT:
    """A logistic regression on parents of 0 and 1, whose log odds ratios are the slopes."""
    scores = np.tensordot(np.asarray(slopes, dtype=float), np.indices((2,) * len(parents)), axes=1)
    return cumulative_logit(child, np.array([1 - ones, ones]), parents, np.asarray(scores, dtype=float), joint)
