"""What classifiers of several class variables that are made of classifiers of one share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier, RowReader, _n_rows
from bntk.classifiers.features import columns_of
from bntk.classifiers.multidim.base import MOST_JOINT_STATES, several_outputs
from bntk.classifiers.multidim.inputs import Codes, Floats, Inputs, read_inputs
from bntk.classifiers.multidim.labels import Labels, read_labels
from bntk.classifiers.multidim.links import Link, LinkMaker
from bntk.classifiers.naive import NaiveBayes
from bntk.data.coding import check_column_names
from bntk.data.table import Table
from bntk.errors import DataError, TooLargeError


@dataclass(kw_only=True, eq=False, repr=False)
class ComposedClassifier(RowReader):
    """The base of classifiers of several class variables that are made of classifiers of one.

    Parameters
    ----------
    base : classifier, optional
        Any classifier of this package, by default :class:`bntk.NaiveBayes`, or any of scikit-learn. It is cloned for
        each class variable. Where it takes labels of other class variables as features, a classifier of this package
        gets them as columns of categories. Any other gets numbers: one column of 0 and 1 for a class variable with two
        labels (in sorted order), and one for each label of a class variable with more.
    n_jobs : int, optional
        Threads of the classifiers of this package; by default those of :func:`bntk.set_threads`; -1 for all cores.

    Attributes
    ----------
    classes_ : list of ndarray
        The labels of each class variable.
    labels_ : Labels
        The class variables: their names (``y0``, ``y1`` ... for an array) and labels.
    """

    base: Any = None
    n_jobs: int | None = None

    _state: ClassVar[dict[str, Any]] = {"labels_": Labels, "_names": tuple[str, ...]}
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("base",)

    # ---------------------------------------------------------------- what a classifier has to say

    @abstractmethod
    def _learn(self, maker: LinkMaker) -> None:
        """Learn from training rows."""

    @abstractmethod
    def _predict(self, inputs: Inputs) -> Codes:
        """The codes of the predicted labels, shape (n_targets, n_rows)."""

    @abstractmethod
    def _probabilities(self, inputs: Inputs) -> list[Floats]:
        """The probabilities of the labels of each class variable."""

    def _joint(self, inputs: Inputs) -> Floats:
        """The probabilities of all combinations of labels, shape (n_rows, n_combinations), where there are such."""
        raise TypeError(
            f"the classifiers of a {type(self).__name__} do not make up a joint distribution of the labels; use "
            "predict_proba, which gives the probabilities of each class variable"
        )

    # ---------------------------------------------------------------- learning and predicting

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
        Y : data frame, mapping of columns, or array of shape (n_rows, n_targets)
            A class variable may have any number of labels. Where a label is missing, the row does not count for that
            class variable; nor, if the base classifier refuses missing cells, for those that take it as a feature.
        """
        with using_threads(self.n_jobs):
            X = self._checked_rows(X, reset=True)
            if Y is None:
                raise ValueError(f"{type(self).__name__} requires Y to be passed, but the target Y is None")
            labels, codes = read_labels(Y, X.n_rows if isinstance(X, Table) else _n_rows(X), missing=True)
            self._names = tuple(name for name, _ in columns_of(X))
            self.labels_: Labels = labels
            self._make_ready()
            self._learn(LinkMaker(self._base, read_inputs(X, self._base, self._variables), labels, codes))
        return self

    def _make_ready(self) -> None:
        self._base = NaiveBayes() if self.base is None else self.base
        self._variables = self.labels_.variables(self._names)
        self.classes_ = list(self.labels_.classes)

    def _restore(self) -> None:
        super()._restore()
        check_column_names(self._names)
        self._check_columns(self._names)
        self._make_ready()
        if not isinstance(self._base, BayesClassifier):
            raise DataError(f"base must be a classifier of one class variable, not {self.base!r}")

    def _check_links(self, links: Sequence[Link], ordered: bool = True) -> None:
        """Refuse links that were read from a file if there is not one for each class variable, after its parents."""
        known: set[int] = set()
        for link in links:
            link.check(self.labels_, self._variables, self._names)
            if link.target in known or (ordered and not {*link.parents} <= known):
                raise DataError("the links are not in an order in which the parents of each come before it")
            known.add(link.target)
        if known != {*range(len(self.labels_.names))}:
            raise DataError("there is not one link for each class variable")

    def predict(self, X: Any) -> Any:
        """The labels of each row.

        Returns
        -------
        ndarray of shape (n_rows, n_targets), or a data frame where ``Y`` was one
        """
        with using_threads(self.n_jobs):
            return self.labels_.decode(self._predict(self._read(X)), X)

    def predict_proba(self, X: Any) -> list[Floats]:
        """The probabilities of the labels of each class variable: a list of arrays of shape (n_rows, n_classes)."""
        with using_threads(self.n_jobs):
            return self._probabilities(self._read(X))

    def predict_joint_proba(self, X: Any) -> Floats:
        """The probability of each combination of labels, shape (n_rows, n_combinations).

        Combinations are in the order of ``itertools.product(*classes_)``. Refused where there are too many.
        """
        with using_threads(self.n_jobs):
            inputs, cards = self._read(X), self.labels_.cards
            if math.prod(cards) > MOST_JOINT_STATES:
                raise TooLargeError(
                    f"{len(cards)} class variables have {math.prod(cards):,} combinations of labels, more than "
                    f"{MOST_JOINT_STATES:,}; use predict_proba, which gives the probabilities of each class variable"
                )
            return self._joint(inputs)

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows in which every label is right."""
        predicted, inputs = self._codes_of(X)
        right = np.ones(inputs.n_rows, dtype=bool)
        labels, codes = read_labels(Y, inputs.n_rows)
        if len(labels.names) != len(self.labels_.names):
            raise DataError(f"Y has {len(labels.names)} class variables; expected {len(self.labels_.names)}")
        for ours, theirs, p, y in zip(self.classes_, labels.classes, predicted, codes, strict=True):
            right &= ours[p] == theirs[y]
        return float(np.average(right, weights=_check_sample_weight(sample_weight, right)))

    def _codes_of(self, X: Any) -> tuple[Codes, Inputs]:
        with using_threads(self.n_jobs):
            inputs = self._read(X)
            return self._predict(inputs), inputs

    def _adopt(self, other: ComposedClassifier) -> None:
        """Take over what another classifier found out about the same X and Y."""
        for name in ("n_features_in_", "feature_names_in_", "classes_", "labels_", "_names", "_base", "_variables"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    # ---------------------------------------------------------------- checking what is given

    def _read(self, X: Any) -> Inputs:
        check_is_fitted(self, "classes_")
        return read_inputs(self._checked_rows(X, reset=False), self._base, self._variables)

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        if not reset and isinstance(X, (Table, Mapping)):
            names = tuple(X.names if isinstance(X, Table) else map(str, X))
            if names != self._names:
                raise DataError(f"X has the columns {list(names)}; the classifier was fitted with {list(self._names)}")
            return X
        return super()._checked_rows(X, reset)

    def __sklearn_tags__(self) -> Any:
        return several_outputs(super().__sklearn_tags__())


def marginals(joint: NDArray[np.float64], cards: tuple[int, ...]) -> list[Floats]:
    """The probabilities of each class variable's labels from those of all combinations."""
    table = joint.reshape(len(joint), *cards)
    axes = range(1, table.ndim)
    return [table.sum(axis=tuple(a for a in axes if a != j)) for j in axes]
