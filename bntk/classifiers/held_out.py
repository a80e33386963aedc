"""Structures compared as classifiers: the class of each row by tables in which the row is not counted.

The rows are divided into five folds. The structure stays as it is; its tables are estimated from the other folds, with
the prior of the classifier, and missing cells are summed out, as in every prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.graph.dag import DAG
from bntk.inference.elimination.engine import quick_posterior
from bntk.learning.counts import TableCounter
from bntk.learning.scores.leaving_out import one_by_one, stratified
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]

#: The number of folds, which are the same for all structures and all random states.
FOLDS = 5
#: Fewer rows than these, a row of weight 2 being two, say nothing about a structure.
LEAST_ROWS = 2 * FOLDS
#: Smaller probabilities count as this one in the log loss, as in that of scikit-learn.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


class HeldOut(NamedTuple):
    """Rows with what was predicted for them.

    Attributes
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    classes : ndarray of int
        The true classes.
    weights : ndarray
        What each row counts; these sum to one. Rows in which the sums over missing cells are costly count nothing.
    is_whole : bool
        Whether all rows count.
    """

    probabilities: Floats
    classes: NDArray[np.int64]
    weights: Floats
    is_whole: bool

    @property
    def log_losses(self) -> Floats:
        """-log p(c) of each row, for its class c."""
        return -np.log(np.maximum(self._true, LEAST_PROBABILITY))

    @property
    def quadratic_losses(self) -> Floats:
        """sum_k (p(k) - [k = c])^2 of each row (Brier 1950): from 0 to 2, however sure a wrong prediction was."""
        return np.asarray((self.probabilities**2).sum(axis=1) - 2 * self._true + 1)

    @property
    def _true(self) -> Floats:
        return self.probabilities[np.arange(len(self.classes)), self.classes]

    def mean(self, losses: Floats) -> float:
        """The mean over the rows."""
        return float(self.weights @ losses)

    def standard_error(self, losses: Floats) -> float:
        """The standard error of the mean over the rows."""
        return float(np.sqrt(self.weights**2 @ (losses - self.mean(losses)) ** 2))


def has_enough_rows(counter: TableCounter) -> bool:
    """Whether there are enough rows to compare structures."""
    return one_by_one(counter).n_rows >= LEAST_ROWS


def held_out(
    dag: DAG, counter: TableCounter, fitted: Callable[[DAG, TableCounter], BayesianNetwork], *, whole: bool = False
) -> HeldOut:
    """What a structure predicts for each row, when the tables are those of the other folds.

    Parameters
    ----------
    dag : DAG
    counter : TableCounter
        Of labelled rows, enough of them; the class is the last variable. A row of weight 2 is two
        rows, which may be in different folds, unless some weights are not whole.
    fitted : callable
        The network with this structure, for the rows of a counter.
    whole : bool
        Whether the result is of no use unless all rows count: after the first row that does not, no fold is looked at.
    """
    counter = one_by_one(counter)
    table, weights = counter.table, counter.weights
    classes, target = table.codes[-1].astype(np.int64), len(table.variables) - 1
    found, counts = np.ones((len(classes), table.variables[-1].n_states)), np.ones(len(classes), dtype=bool)
    folds = stratified(classes, FOLDS, 1, seed=0)[0]
    for fold in range(FOLDS):
        others, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        rest = TableCounter(table.take(others), None if weights is None else weights[others])
        found[held], too_large = quick_posterior(fitted(dag, rest), table.take(held).codes, target)
        counts[held] = ~too_large
        if whole and too_large.any():
            break
    found[~counts | np.isnan(found[:, 0])] = 1 / found.shape[1]  # where no class is possible, all are equally likely
    shares = counts * (1.0 if weights is None else weights)
    return HeldOut(found, classes, shares / max(shares.sum(), 1e-300), bool(counts.all()))
