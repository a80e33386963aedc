"""Several class variables as problems of one: each by itself, or all together as one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.composed.base import ComposedClassifier
from bntk.classifiers.composed.inputs import Codes, Floats, Inputs
from bntk.classifiers.composed.links import ChainLink, LinkMaker
from bntk.data.labels import Labels
from bntk.errors import DataError

NOTHING = np.empty((0, 0), dtype=np.int64)


@dataclass(kw_only=True, eq=False, repr=False)
class BinaryRelevance(ComposedClassifier):
    """A classifier for each class variable, as if there were no others.

    Class variables may have more than two labels.

    Attributes
    ----------
    estimators_ : list
        The classifier of each class variable.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "bronc"]]
    >>> X = rows.drop(columns=Y.columns)
    >>> model = bntk.BinaryRelevance(bntk.TAN()).fit(X, Y)
    >>> model.predict(X.iloc[:2])
      lung bronc
    0   no   yes
    1   no    no
    """

    name = "br"
    _state: ClassVar[dict[str, Any]] = {"_links": list[ChainLink]}

    def _learn(self, maker: LinkMaker) -> None:
        self._links: list[ChainLink] = [maker.make(j) for j in range(len(self.labels_.names))]
        self.estimators_ = [link.estimator() for link in self._links]

    def _restore(self) -> None:
        super()._restore()
        self._check_links(self._links)
        if [link.target for link in self._links] != list(range(len(self._links))):
            raise DataError("the links are not in the order of the class variables")
        self.estimators_ = [link.estimator() for link in self._links]

    def _predict(self, inputs: Inputs) -> Codes:
        return np.array([link.best(inputs, NOTHING) for link in self._links])

    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        return [np.exp(link.log_proba(inputs, NOTHING)) for link in self._links]

    def _joint(self, inputs: Inputs) -> Floats:
        joint = np.ones((inputs.n_rows, 1))
        for probabilities in self._probabilities(inputs):
            joint = (joint[:, :, None] * probabilities[:, None, :]).reshape(len(joint), -1)
        return joint


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPowerset(ComposedClassifier):
    """One classifier of the combinations of labels that the training rows have.

    A combination that was not seen has probability 0. Rows in which a label is missing are left out.

    Attributes
    ----------
    estimator_ : classifier
        Its classes are the numbers of the rows of ``combinations_``.
    combinations_ : ndarray of shape (n_combinations, n_targets)
        The combinations that were seen, as positions in ``classes_``, sorted.

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> Y = rows[["lung", "bronc"]]
    >>> model = bntk.LabelPowerset().fit(rows.drop(columns=Y.columns), Y)
    >>> model.combinations_.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """

    name = "lp"
    _state: ClassVar[dict[str, Any]] = {"combinations_": NDArray[np.int64], "_link": ChainLink}

    def _learn(self, maker: LinkMaker) -> None:
        whole = np.flatnonzero((maker.codes < np.array(self.labels_.cards)[:, None]).all(axis=0))
        if not whole.size:
            raise DataError("every row lacks a label, and LabelPowerset learns from those that have all")
        self.combinations_, which = np.unique(maker.codes[:, whole].T, axis=0, return_inverse=True)
        together = self._together()
        inputs = maker.inputs if len(whole) == maker.inputs.n_rows else maker.inputs.take(whole)
        inputs = replace(inputs, targets=together.variables(self._names))
        weights = None if maker.weights is None else maker.weights[whole]
        self._link = LinkMaker(self._prototype, inputs, together, which.reshape(1, -1), weights).make(0)
        self.estimator_: Any = self._link.estimator()

    def _together(self) -> Labels:
        """The combinations as the labels of one class variable."""
        return Labels(("labels",), (np.arange(len(self.combinations_)),))

    def _restore(self) -> None:
        super()._restore()
        cards, seen = np.array(self.labels_.cards), self.combinations_
        if seen.ndim != 2 or not len(seen) or seen.shape[1] != len(cards) or (seen < 0).any() or (seen >= cards).any():
            raise DataError("the combinations are not of labels of the class variables")
        together = self._together()
        self._link.check(together, together.variables(self._names), self._names)
        self.estimator_ = self._link.estimator()

    def _predict(self, inputs: Inputs) -> Codes:
        return self.combinations_[self._link.best(inputs, NOTHING)].T

    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        seen = np.exp(self._link.log_proba(inputs, NOTHING))
        found = [np.zeros((inputs.n_rows, card)) for card in self.labels_.cards]
        for column, combination in zip(seen.T, self.combinations_, strict=True):  # in the same order for every row
            for table, label in zip(found, combination, strict=True):
                table[:, label] += column
        return found

    def _joint(self, inputs: Inputs) -> Floats:
        cards = self.labels_.cards
        joint = np.zeros((inputs.n_rows, math.prod(cards)))
        joint[:, np.ravel_multi_index(tuple(self.combinations_.T), cards)] = np.exp(
            self._link.log_proba(inputs, NOTHING)
        )
        return joint
