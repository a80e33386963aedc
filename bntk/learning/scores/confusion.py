"""Scores that look at the labels alone: the confusion matrix of rows that are predicted from other rows.

The label of a row is the most probable class. Classes whose joint probabilities differ by less than one part in 1e9 are
equally probable, and the first of them is the label. Exact ties are common, since probabilities are ratios of counts;
rounding, which depends on the order in which the terms of families are added, moves a logarithm by some 1e-13. So
labels depend neither on the order of the variables nor on the way by which a search came to a structure.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.learning.scores import leaving_out
from bntk.learning.scores.predictive import FoldScore


class ConfusionScore(FoldScore):
    """The base of scores that are functions of the confusion matrix.

    A score of this kind has the fields of :class:`Accuracy` and defines ``name`` and :meth:`values`.
    """

    @abstractmethod
    def values(self, confusions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each of some structures.

        Parameters
        ----------
        confusions : ndarray of shape (m, K, K)
            For each structure the share of the rows of each class (row) that have each label (column). The shares of a
            structure sum to one; each fold has the same.
        """

    def row_weights(self, plan: leaving_out.HoldoutPlan, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of each row of the plan."""
        return plan.fold_shares(weights)


@dataclass(frozen=True)
class Accuracy(ConfusionScore):
    """Cross-validated accuracy: the mean over folds of the share of rows whose class is predicted correctly.

    A row of a fold with n rows has the weight 1 / (F n), with F the number of folds of all repeats, as in the wrapper
    searches of R's bnclassify.

    Parameters
    ----------
    folds : int, integer array of shape (rows,) or (repeats, rows), or "loo"
        The number of folds, which are stratified: each has the same number of rows of a class, or one more. Or the
        fold of each row of the data. ``"loo"`` leaves out one row at a time; the score is then the share of all rows
        whose class is predicted correctly.
    repeats : int
        Number of times that the rows are divided into folds.
    target : str, optional
        The class variable.
    alpha : float
        Pseudo-count that is added to each count.
    seed : int
        The same seed gives the same folds.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear", "apple"], "colour": ["red", "green", "green", "red"]}
    >>> bntk.score("fruit -> colour", data, Accuracy(folds="loo", target="fruit"))
    1.0
    >>> bntk.score("fruit; colour", data, Accuracy(folds=[0, 0, 1, 1], target="fruit"))
    0.5
    """

    folds: Any = 10
    repeats: int = 1
    target: str | None = None
    alpha: float = 1.0
    seed: int = 0
    name = "accuracy"

    def values(self, confusions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of the diagonal."""
        return np.trace(confusions, axis1=1, axis2=2)
