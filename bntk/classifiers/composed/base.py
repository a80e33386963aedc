"""The base of classifiers of several class variables that are made of classifiers of one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk._interrupts import raising_interrupts
from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier
from bntk.classifiers.composed.inputs import Floats, Inputs, read_inputs
from bntk.classifiers.composed.links import ChainLink, LinkMaker
from bntk.classifiers.multidim.base import MultiTargetClassifier
from bntk.classifiers.naive import NaiveBayes
from bntk.data.coding import check_column_names
from bntk.data.columns import columns_of
from bntk.data.labels import Labels
from bntk.data.table import Table
from bntk.errors import ArgumentError, DataError


@dataclass(kw_only=True, eq=False, repr=False)
class ComposedClassifier(MultiTargetClassifier):
    """The base of classifiers of several class variables that are made of classifiers of one.

    Parameters
    ----------
    estimator : classifier, optional
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

    estimator: Any = field(default=None, kw_only=False)
    n_jobs: int | None = None

    _state: ClassVar[dict[str, Any]] = {"labels_": Labels, "_names": tuple[str, ...]}
    _needed_to_predict: ClassVar[tuple[str, ...]] = ("estimator",)

    # ---------------------------------------------------------------- what a classifier has to define

    @abstractmethod
    def _learn(self, maker: LinkMaker) -> None:
        """Learn from training rows."""

    def _joint(self, inputs: Inputs) -> Floats:
        raise ArgumentError(
            f"the classifiers of a {type(self).__name__} do not make up a joint distribution of the labels; use "
            "predict_proba, which gives the probabilities of each class variable"
        )

    # ---------------------------------------------------------------- learning and predicting

    def fit(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), Table, mapping of columns, or array of shape (n_rows, n_features)
        Y : data frame, mapping of columns, or array of shape (n_rows, n_targets)
            A class variable may have any number of labels. Where a label is missing, the row does not count for that
            class variable; nor, if the estimator refuses missing values, for those that take it as a feature.
        sample_weight : array_like of shape (n_rows,), optional
            One non-negative number per row: how often it counts. A row of weight 0 is as good as not there. The
            estimator gets the weights of the rows that it learns from; those of this package scale weights that sum to
            less than the number of rows up to it. An estimator that takes no weights is refused.
        """
        with using_threads(self.n_jobs), raising_interrupts():
            rows = self._counted(X, Y, sample_weight)
            self._names = tuple(name for name, _ in columns_of(rows.X))
            self.labels_: Labels = rows.labels
            self._make_ready()
            inputs = read_inputs(rows.X, self._prototype, self._variables)
            self._learn(
                LinkMaker(self._prototype, inputs, rows.labels, rows.codes, rows.weights, rows.places, rows.n_given)
            )
        return self

    def _make_ready(self) -> None:
        if self.estimator is not None and not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")
        ):
            raise _checking.wrong("estimator", "a classifier of one class variable, such as bntk.TAN()", self.estimator)
        self._prototype = NaiveBayes() if self.estimator is None else self.estimator
        self._variables = self.labels_.variables(self._names)
        self.classes_ = list(self.labels_.classes)

    def _restore(self) -> None:
        super()._restore()
        check_column_names(self._names)
        self._check_columns(self._names)
        self._make_ready()
        if not isinstance(self._prototype, BayesClassifier):
            raise DataError(f"estimator must be a classifier of one class variable, not {self.estimator!r}")

    def _check_links(self, links: Sequence[ChainLink], ordered: bool = True) -> None:
        """Refuse links that were read from a file if there is not one for each class variable, after its parents."""
        known: set[int] = set()
        for link in links:
            link.check(self.labels_, self._variables, self._names)
            if link.target in known or (ordered and not {*link.parents} <= known):
                raise DataError("the links are not in an order in which the parents of each come before it")
            known.add(link.target)
        if known != {*range(len(self.labels_.names))}:
            raise DataError("there is not one link for each class variable")

    def _adopt(self, other: ComposedClassifier) -> None:
        """Take over what another classifier found out about the same X and Y."""
        for name in (
            "n_features_in_",
            "feature_names_in_",
            "classes_",
            "labels_",
            "_names",
            "_prototype",
            "_variables",
        ):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))

    # ---------------------------------------------------------------- checking what is given

    def _read(self, X: Any) -> Inputs:
        return read_inputs(self._checked_rows(X, reset=False), self._prototype, self._variables)

    def _checked_rows(self, X: Any, reset: bool) -> Any:
        if not reset and isinstance(X, (Table, Mapping)):
            names = tuple(X.names if isinstance(X, Table) else map(str, X))
            if names != self._names:
                raise DataError(f"X has the columns {list(names)}; the classifier was fitted with {list(self._names)}")
            return X
        return super()._checked_rows(X, reset)


def marginals(joint: NDArray[np.float64], cards: tuple[int, ...]) -> list[Floats]:
    """The probabilities of each class variable's labels from those of all combinations."""
    table = joint.reshape(len(joint), *cards)
    axes = range(1, table.ndim)
    return [table.sum(axis=tuple(a for a in axes if a != j)) for j in axes]
