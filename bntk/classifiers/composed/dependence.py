"""How much class variables depend on each other given the features, from predictions of rows that are held out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bntk._checking import is_whole
from bntk.classifiers.composed.inputs import Floats, Inputs
from bntk.classifiers.composed.links import ChainLink, EstimatorLink, LinkMaker
from bntk.classifiers.parameters import given_splits
from bntk.data.variable import Variable
from bntk.data.weights import scaled_up
from bntk.errors import ArgumentError, UnseenStateWarning

Rows = NDArray[np.intp]


def splits_of(cv: Any, maker: LinkMaker, seed: int) -> list[tuple[Rows, Rows]]:
    """The rows to learn from and those to hold out, for each fold; a number of folds is that of shuffled ones.

    A splitter divides the rows that count; a list of splits is of all rows that were given.
    """
    n_rows = maker.codes.shape[1]
    if is_whole(cv):
        if not 2 <= cv <= n_rows:
            raise ValueError(f"cv={cv!r} must be from 2 to the number of rows, {n_rows:,}")
        from sklearn.model_selection import KFold  # slow to import

        cv = KFold(int(cv), shuffle=True, random_state=seed)
    if maker.places is None or hasattr(cv, "split"):
        return given_splits(cv, n_rows, maker.codes.T)
    splits = given_splits(cv, maker.n_given, None)
    return [(_among(learned, maker.places), _among(held, maker.places)) for learned, held in splits]


def _among(rows: Rows, places: Rows) -> Rows:
    """Which rows are at the given places; there may be several at one, or none."""
    return np.flatnonzero(np.isin(places, rows))


def gains_of_labels(maker: LinkMaker, splits: Iterable[tuple[Rows, Rows]]) -> Floats:
    """How much better each class variable is predicted if another one is known, too; shape (n_targets, n_targets).

    The entry (i, j) is the mean over held-out rows of

        log p(y_i | x, y_j) - log p(y_i | x),

    which estimates the conditional mutual information I(Y_i; Y_j | X), as does the entry (j, i). Rows count that have
    both labels, if these occur in the rows that were learned from. Of N rows learned from, probabilities below 1 / N
    are taken as 1 / N: an estimator that is sure of the wrong label has no infinite loss. With weights, the mean is
    weighted, and N is their sum.
    """
    if not hasattr(maker.prototype, "predict_proba"):
        raise ArgumentError(
            f"given='features' compares probabilities, and {type(maker.prototype).__name__} has no predict_proba; "
            "choose an estimator that has, or given=None"
        )
    m = len(maker.labels.names)
    sums, counts = np.zeros((m, m)), np.zeros((m, m))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStateWarning)  # of states that only rows held out have
        for learned, held in splits:
            fold = _Fold(maker, learned, held)
            for i in range(m):
                alone = fold.log_of_labels(i)
                for j in range(m):
                    if i != j:
                        both = fold.known[i] & fold.known[j]
                        gains = fold.log_of_labels(i, (j,))[both] - alone[both]
                        sums[i, j] += fold.weights[both] @ gains
                        counts[i, j] += fold.weights[both].sum()
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)


class _Fold:
    """Classifiers of some rows, which predict the labels of others."""

    def __init__(self, maker: LinkMaker, learned: Rows, held: Rows) -> None:
        self.labels, codes = maker.labels.of_rows(maker.codes, learned)
        names = [variable.name for variable in maker.inputs.targets]
        targets = tuple(Variable(n, c.tolist()) for n, c in zip(names, self.labels.classes, strict=True))
        inputs = replace(maker.inputs, targets=targets)
        weights = maker.weights
        self.maker = LinkMaker(
            _lenient(maker.prototype), inputs.take(learned), self.labels, codes[:, learned],
            None if weights is None else weights[learned],
        )  # fmt: skip
        self.inputs: Inputs = inputs.take(held)
        self.codes = codes[:, held]
        self.known = self.codes < np.array(self.labels.cards)[:, None]
        self.weights = np.ones(len(held)) if weights is None else weights[held]
        n_learned = len(learned) if weights is None else scaled_up(weights[learned]).sum()
        self.least = -math.log(n_learned)

    def log_of_labels(self, target: int, parents: tuple[int, ...] = ()) -> Floats:
        """log p(y_target | x, labels of the parents) of the label that each row has; NaN where one is missing."""
        rows = np.flatnonzero(self.known[[target, *parents]].all(axis=0))
        found = np.full(self.inputs.n_rows, np.nan)
        if rows.size:
            link, codes = self.maker.make(target, parents), self.codes[list(parents)][:, rows]
            logs = link.log_proba(self.inputs, codes, None if rows.size == self.inputs.n_rows else rows)
            own = self._columns(link, target, logs)[np.arange(len(rows)), self.codes[target, rows]]
            found[rows] = np.maximum(own, self.least)
        return found

    def _columns(self, link: ChainLink, target: int, logs: Floats) -> Floats:
        """Log probabilities with a column for every label, also for one that no row of the estimator had."""
        if logs.shape[1] == self.labels.cards[target] or not isinstance(link, EstimatorLink):
            return logs
        every = np.full((len(logs), self.labels.cards[target]), -np.inf)
        every[:, np.searchsorted(self.labels.classes[target], link.model.classes_)] = logs
        return every


def _lenient(prototype: Any) -> Any:
    """The estimator, which takes states that only held-out rows have as missing."""
    lenient = clone(prototype)
    names = [name for name in lenient.get_params() if name.split("__")[-1] == "unseen"]
    return lenient.set_params(**dict.fromkeys(names, "missing"))
