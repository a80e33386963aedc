"""Scores that look at the labels alone: the confusion matrix of rows that are predicted from other rows.

The label of a row is the most probable class. Classes whose joint probabilities differ by less than one part in 1e9 are
equally probable, and the first of them is the label. Exact ties are common, since probabilities are ratios of counts;
rounding, which depends on the order in which the terms of families are added, moves a logarithm by some 1e-13. So
labels depend neither on the order of the variables nor on the way by which a search came to a structure.

The formulas are in :mod:`bntk.learning.confusion`. Measures of error are negated: higher is better for every score.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bntk._documenting import complete_docstring
from bntk.data.class_order import class_order
from bntk.data.variable import Variable
from bntk.learning import confusion
from bntk.learning.scores import leaving_out
from bntk.learning.scores.predictive import FoldScore, Missing

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConfusionScore(FoldScore):
    """The base of scores that are functions of the confusion matrix of left-out rows.

    A score of this kind defines ``name`` and :meth:`values`. If the order of the classes matters, it sets
    ``needs_order``. A row of a fold with n rows has the weight 1 / (F n), with F the number of folds of all repeats, as
    in the wrapper searches of R's bnclassify.

    Parameters
    ----------
    folds : int, integer array of shape (rows,) or (repeats, rows), or "loo"
        The number of folds, which are stratified: each has the same number of rows of a class, or one more. Or the
        fold of each row of the data. ``"loo"`` leaves out one row at a time; all rows then have the same weight.
    repeats : int
        Number of times that the rows are divided into folds.
    target : str, optional
        The class variable.
    prior : float
        Pseudo-count that is added to each count when the parameters are estimated; above zero.
    seed : int
        The same seed gives the same folds.
    missing : {"approximate", "exact"}
        What a row with missing cells is predicted by. ``"approximate"``: the families one by one, with parents that are
        missing summed out of each; quick, but some percent off. ``"exact"``: the network, with the missing cells summed
        out, as a classifier with this prior predicts that is fitted to the other rows; 20 to 100 times slower where
        half of the rows or more have missing cells.
    """

    folds: Any = 10
    repeats: int = 1
    target: str | None = None
    prior: float = 1.0
    seed: int = 0
    missing: Missing = field(default="approximate", kw_only=True)

    #: Whether the score depends on the order of the classes; those of more than two states must then have one.
    needs_order: ClassVar[bool] = False
    _pseudo_count_field: ClassVar[str] = "prior"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)

    @abstractmethod
    def values(self, confusions: Floats) -> Floats:
        """The score of each of some structures.

        Parameters
        ----------
        confusions : ndarray of shape (m, K, K)
            For each structure the share of the rows of each class (row) that have each label (column). The shares of a
            structure sum to one; each fold has the same. The classes are in the order that :meth:`class_order` gives.
        """

    def class_order(self, variable: Variable) -> NDArray[np.intp]:
        """The positions of the states of the class variable in the order of the matrices that :meth:`values` takes.

        That of the variable, unless the score needs the order of the classes; it is refused if there is none.
        """
        return class_order(variable, type(self).__name__) if self.needs_order else np.arange(variable.n_states)

    def row_weights(self, plan: leaving_out.HoldoutPlan, weights: Floats) -> Floats:
        """The share of each row of the plan."""
        return plan.fold_shares(weights)


complete_docstring(ConfusionScore)


@dataclass(frozen=True)
class Accuracy(ConfusionScore):
    """Cross-validated accuracy: the mean over folds of the share of rows whose class is predicted correctly.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear", "apple"], "colour": ["red", "green", "green", "red"]}
    >>> bntk.score("fruit -> colour", data, Accuracy(folds="loo", target="fruit"))
    1.0
    >>> bntk.score("fruit; colour", data, Accuracy(folds=[0, 0, 1, 1], target="fruit"))
    0.5
    """

    name = "accuracy"

    def values(self, confusions: Floats) -> Floats:
        """The share of the diagonal."""
        return confusion.accuracy(confusions)


@dataclass(frozen=True)
class IM(ConfusionScore):
    """Information measure of cross-validated predictions, negated: information and the severity of errors.

    It is -IM_alpha of the confusion matrix, see :func:`bntk.evaluation.information_measure`, for ordered classes: those
    of a variable that is ordered, or numbers. Two classes need no order.

    Parameters
    ----------
    alpha : float
        The weight of distances between classes; above zero.

    Examples
    --------
    >>> import bntk
    >>> data = {"harm": [0, 1, 2, 0, 1, 2], "speed": ["low", "mid", "high", "low", "mid", "high"]}
    >>> round(bntk.score("harm -> speed", data, IM("loo", target="harm")), 4)  # log 3
    1.0986
    >>> round(bntk.score("harm -> speed", data, IM("loo", target="harm", alpha=4)), 4)  # log 12
    2.4849
    """

    alpha: float = 1.0
    name = "im"
    needs_order = True

    def __post_init__(self) -> None:
        super().__post_init__()
        confusion.checked_alpha(self.alpha)

    def values(self, confusions: Floats) -> Floats:
        """-IM_alpha."""
        return -confusion.information_measure(confusions, self.alpha)


@dataclass(frozen=True)
class MutualInformation(ConfusionScore):
    """Mutual information of the true and the predicted class of left-out rows, in nats.

    The value is that of ``sklearn.metrics.mutual_info_score``. Which class is predicted for which does not matter:
    labels that are always wrong, in the same way, are as informative as correct ones.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear", "apple"], "colour": ["red", "green", "green", "red"]}
    >>> round(bntk.score("fruit -> colour", data, MutualInformation("loo", target="fruit")), 4)  # log 2
    0.6931
    """

    name = "mi"

    def values(self, confusions: Floats) -> Floats:
        """I(truth; prediction)."""
        return confusion.mutual_information(confusions)


#: The short form that papers use.
MI = MutualInformation


@dataclass(frozen=True)
class MAE(ConfusionScore):
    """Mean absolute error of cross-validated predictions, negated: by how many classes they are wrong.

    See :func:`bntk.evaluation.mean_absolute_error`. The classes must be ordered: those of a variable that is ordered,
    or numbers, which are taken by their ranks. Two classes need no order.

    Examples
    --------
    >>> import bntk
    >>> data = {"harm": [0, 1, 2, 0, 1, 2], "speed": ["low", "mid", "high", "low", "mid", "high"]}
    >>> bntk.score("harm -> speed", data, MAE("loo", target="harm"))
    0.0
    """

    name = "mae"
    needs_order = True

    def values(self, confusions: Floats) -> Floats:
        """Minus the mean distance."""
        return 0.0 - confusion.mean_absolute_error(confusions)  # not -0.0


@dataclass(frozen=True)
class MCC(ConfusionScore):
    """Matthews' correlation coefficient of the true and the predicted class of left-out rows.

    The value is that of ``sklearn.metrics.matthews_corrcoef``, for several classes the coefficient R_K of Gorodkin
    (2004).

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear", "apple"], "colour": ["red", "green", "green", "red"]}
    >>> bntk.score("fruit -> colour", data, MCC("loo", target="fruit"))
    1.0
    """

    name = "mcc"

    def values(self, confusions: Floats) -> Floats:
        """The correlation."""
        return confusion.matthews_correlation(confusions)


@dataclass(frozen=True)
class CEN(ConfusionScore):
    """Confusion entropy of cross-validated predictions, negated: how widely errors are spread over classes.

    See :func:`bntk.evaluation.confusion_entropy`.

    Examples
    --------
    >>> import bntk
    >>> data = {"fruit": ["apple", "pear", "pear", "apple"], "colour": ["red", "green", "green", "red"]}
    >>> bntk.score("fruit -> colour", data, CEN("loo", target="fruit"))
    0.0
    """

    name = "cen"

    def values(self, confusions: Floats) -> Floats:
        """Minus the entropy."""
        return 0.0 - confusion.confusion_entropy(confusions)  # not -0.0
