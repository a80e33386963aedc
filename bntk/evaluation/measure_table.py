"""The measures of classifiers by name: one table, from which help, errors and results are derived.

A measure of one class variable is a function of :class:`~bntk.evaluation.predictions.Predictions`: most read the
confusion matrix, with P(y, x) the share of test rows of the true class y that are predicted as x. A measure of several
class variables is one of :mod:`bntk.evaluation.metrics`. To add one, add a function with ``@measure`` here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from bntk.evaluation.predictions import Predictions, SeveralPredictions

    Floats = NDArray[np.float64]

#: The smallest probability that a logarithm is taken of.
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Measure:
    """A measure of predictions, as the table of measures declares it.

    Attributes
    ----------
    name : str
        Its name; words are separated by underscores, for which hyphens may be written.
    help : str
        What it is, in one line.
    function : callable
        From predictions to a number or, for one by class, to an array with a number per class.
    greater_is_better : bool
        Whether larger values are better.
    needs : {"labels", "probabilities", "joint"}
        What it reads: predicted labels, probabilities of the classes, or the joint density of features and class.
    needs_order : bool
        Whether the classes must have an order.
    several : bool
        Whether it is for several class variables, not for one.
    by_class : bool
        Whether it gives one number per class.
    aliases : tuple of str
        Other names.

    Examples
    --------
    >>> from bntk.evaluation.measure_table import find
    >>> find("log-loss").greater_is_better, find("log-loss").needs
    (False, 'probabilities')
    """

    name: str
    help: str
    function: Callable[[Any], Any] = field(repr=False)
    greater_is_better: bool = True
    needs: str = "labels"
    needs_order: bool = False
    several: bool = False
    by_class: bool = False
    aliases: tuple[str, ...] = ()


#: All measures by name, those of one class variable first.
MEASURES: dict[str, Measure] = {}


def measure(name: str, help: str, **properties: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter a function into the table of measures."""

    def enter(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        MEASURES[name] = Measure(name, help, function, **properties)
        return function

    return enter


def canonical(name: str) -> str:
    """The name in the table that a word stands for; the word itself, with underscores, where there is none.

    >>> canonical("Log-Loss"), canonical("ece"), canonical("roc_auc_ovr")
    ('log_loss', 'calibration_error', 'roc_auc_ovr')
    """
    word = _checking.text("a measure", name, "a name such as 'accuracy'").lower().replace("-", "_")
    return next((m.name for m in MEASURES.values() if word in m.aliases), word)


def find(name: str) -> Measure | None:
    """The measure of that name; None if there is none."""
    return MEASURES.get(canonical(name))


def named(several: bool) -> list[Measure]:
    """The measures of one class variable, or of several."""
    return [m for m in MEASURES.values() if m.several == several]


def measures() -> pd.DataFrame:
    """All measures that :func:`cross_validate` and :func:`compare` know by name, as a table.

    Returns
    -------
    data frame
        Indexed by name, with the columns ``help``, ``greater_is_better``, ``needs`` (``"labels"``,
        ``"probabilities"`` or ``"joint"``), ``needs_order``, ``several`` (whether it is for several class variables)
        and ``by_class``.

    Examples
    --------
    >>> import bntk
    >>> table = bntk.evaluation.measures()
    >>> table.loc["brier", "help"]
    'Brier score: squared distance of the probabilities from the truth, summed over classes'
    >>> table.index[table["needs_order"]].tolist()
    ['im', 'mae']
    """
    import pandas as pd

    columns = ("help", "greater_is_better", "needs", "needs_order", "several", "by_class")
    rows = {m.name: [getattr(m, column) for column in columns] for m in MEASURES.values()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(columns)).rename_axis("measure")


# ---- labels: functions of the confusion matrix -----------------------------------------------------------------------


@measure("accuracy", "share of correct labels")
def _accuracy(of: Predictions) -> float:
    return float(np.trace(of.shares))


@measure("balanced_accuracy", "mean over classes of the share of their rows that are predicted correctly")
def _balanced_accuracy(of: Predictions) -> float:
    return float(np.nanmean(_recall_by_class(of)))


@measure("kappa", "Cohen's kappa: accuracy above that of chance")
def _kappa(of: Predictions) -> float:
    """(p_o - p_e) / (1 - p_e), with p_e = sum_k P(y = k) P(x = k); NaN where a single class makes it 0 / 0."""
    chance = float(of.shares.sum(axis=0) @ of.shares.sum(axis=1))
    return (_accuracy(of) - chance) / (1 - chance) if chance < 1 else np.nan


@measure("mcc", "Matthews' correlation of truth and prediction")
def _mcc(of: Predictions) -> float:
    from bntk.learning.confusion import matthews_correlation

    return float(matthews_correlation(of.shares))


@measure("precision", "mean over classes of the share of predictions of the class that are correct")
def _precision(of: Predictions) -> float:
    return _macro(of, _precision_by_class(of))


@measure("recall", "mean over classes of the share of their rows that are predicted correctly, 0 if there are none")
def _recall(of: Predictions) -> float:
    return _macro(of, _recall_by_class(of))


@measure("f1", "mean over classes of F1, the harmonic mean of precision and recall")
def _f1(of: Predictions) -> float:
    return _macro(of, _f1_by_class(of))


@measure("precision_by_class", "precision of each class", by_class=True)
def _precision_by_class(of: Predictions) -> Floats:
    """TP / predicted; 0 for a class that occurs but is not predicted, NaN for one that does neither."""
    right, predicted = np.diag(of.shares), of.shares.sum(axis=0)
    return np.where(predicted > 0, right / np.where(predicted > 0, predicted, 1), np.where(_present(of), 0.0, np.nan))


@measure("recall_by_class", "recall (sensitivity) of each class", by_class=True)
def _recall_by_class(of: Predictions) -> Floats:
    """TP / rows of the class; NaN for a class that does not occur."""
    right, true = np.diag(of.shares), of.shares.sum(axis=1)
    return np.where(true > 0, right / np.where(true > 0, true, 1), np.nan)


@measure("f1_by_class", "F1 of each class", by_class=True)
def _f1_by_class(of: Predictions) -> Floats:
    """2 TP / (predicted + rows of the class); NaN for a class that neither occurs nor is predicted."""
    both = of.shares.sum(axis=0) + of.shares.sum(axis=1)
    return np.where(both > 0, 2 * np.diag(of.shares) / np.where(both > 0, both, 1), np.nan)


def _present(of: Predictions) -> NDArray[np.bool_]:
    """Which classes occur or are predicted."""
    return np.asarray(of.shares.sum(axis=0) + of.shares.sum(axis=1) > 0)


def _macro(of: Predictions, values: Floats) -> float:
    """The mean over the classes that occur or are predicted, as in scikit-learn; what is undefined counts as 0."""
    return float(np.nan_to_num(values[_present(of)]).mean())


# ---- probabilities ---------------------------------------------------------------------------------------------------


@measure(
    "log_loss",
    "mean of minus the log probability of the true class, in nats",
    greater_is_better=False,
    needs="probabilities",
)
def _log_loss(of: Predictions) -> float:
    """0 for a class that was not in the training rows is taken as the smallest step above 0."""
    return float(-np.log(np.maximum(of.true_probabilities, LEAST)).mean())


@measure(
    "brier",
    "Brier score: squared distance of the probabilities from the truth, summed over classes",
    greater_is_better=False,
    needs="probabilities",
)
def _brier(of: Predictions) -> float:
    return float(((of.proba**2).sum(axis=1) - 2 * of.true_probabilities + 1).mean())


@measure("auc", "area under the ROC curve, of several classes the mean of each against the rest", needs="probabilities")
def _auc(of: Predictions) -> float:
    """(R - n1 (n1 + 1) / 2) / (n1 n0), with R the sum of the ranks of the class's rows; NaN without both kinds.

    A class that was not in the training rows has no curve.
    """
    from scipy.stats import rankdata

    rows = [of.truth == k for k in np.flatnonzero(of.known)]
    usable = [k for k, own in zip(np.flatnonzero(of.known), rows, strict=True) if 0 < own.sum() < len(own)]
    areas = []
    for k in usable[-1:] if len(rows) == 2 else usable:
        own = of.truth == k
        n = int(own.sum())
        areas.append((rankdata(of.proba[:, k])[own].sum() - n * (n + 1) / 2) / (n * (len(own) - n)))
    return float(np.mean(areas)) if areas else np.nan


@measure(
    "calibration_error",
    "expected calibration error: distance of confidence and accuracy in ten bins of equal width",
    greater_is_better=False,
    needs="probabilities",
    aliases=("ece",),
)
def _calibration_error(of: Predictions) -> float:
    from bntk.evaluation.calibration import binned

    right = of.proba.argmax(axis=1) == of.truth
    return binned(of.proba.max(axis=1), right.astype(np.float64)).error


# ---- information, and order ------------------------------------------------------------------------------------------


@measure("mutual_information", "mutual information of truth and prediction, in nats", aliases=("mi",))
def _mutual_information(of: Predictions) -> float:
    from bntk.learning.confusion import mutual_information

    return float(mutual_information(of.shares))


@measure(
    "im",
    "information measure of ordered classes: information, and the severity of errors",
    greater_is_better=False,
    needs_order=True,
    aliases=("information_measure",),
)
def _information_measure(of: Predictions) -> float:
    from bntk.learning.confusion import information_measure

    return float(information_measure(of.shares))


@measure(
    "cen",
    "confusion entropy: how widely errors are spread over classes",
    greater_is_better=False,
    aliases=("confusion_entropy",),
)
def _confusion_entropy(of: Predictions) -> float:
    from bntk.learning.confusion import confusion_entropy

    return float(confusion_entropy(of.shares))


@measure(
    "mae",
    "mean absolute error of ordered classes: by how many classes predictions are wrong",
    greater_is_better=False,
    needs_order=True,
    aliases=("mean_absolute_error",),
)
def _mean_absolute_error(of: Predictions) -> float:
    from bntk.learning.confusion import mean_absolute_error

    return float(mean_absolute_error(of.shares))


# ---- likelihood ------------------------------------------------------------------------------------------------------


@measure("log_likelihood", "mean log joint probability of the features and the true class, in nats", needs="joint")
def _log_likelihood(of: Predictions) -> float:
    """log P(x, c) of the true class c, at least log P(x) + log of the smallest step above 0."""
    joint = of.log_joint
    top = joint.max(axis=1)
    evidence = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    own = np.where(of.known[of.truth], joint[np.arange(len(joint)), of.truth], -np.inf)
    return float(np.maximum(own, evidence + np.log(LEAST)).mean())


# ---- several class variables -----------------------------------------------------------------------------------------


@measure("global_accuracy", "share of rows in which every label is correct", several=True)
def _global_accuracy(of: SeveralPredictions) -> float:
    from bntk.evaluation.metrics import global_accuracy

    return global_accuracy(of.truth, of.said)


@measure("mean_accuracy", "share of correct labels over all rows and class variables", several=True)
def _mean_accuracy(of: SeveralPredictions) -> float:
    from bntk.evaluation.metrics import mean_accuracy

    return mean_accuracy(of.truth, of.said)


@measure("jaccard", "size of the intersection of true and predicted label sets over that of their union", several=True)
def _jaccard(of: SeveralPredictions) -> float:
    from bntk.evaluation.metrics import jaccard

    return jaccard(of.truth, of.said)


@measure("f1_macro", "mean over labels of F1", several=True)
def _f1_macro(of: SeveralPredictions) -> float:
    from bntk.evaluation.metrics import f1

    return f1(of.truth, of.said, average="macro")


@measure("f1_micro", "F1 of the counts of all labels together", several=True)
def _f1_micro(of: SeveralPredictions) -> float:
    from bntk.evaluation.metrics import f1

    return f1(of.truth, of.said, average="micro")
