"""Evaluation of classifiers: measures for one and for several class variables, and a splitter for cross-validation."""

from bntk.evaluation.folds import MultilabelStratifiedKFold
from bntk.evaluation.metrics import f1, global_accuracy, jaccard, mean_accuracy
from bntk.evaluation.ordinal import confusion_entropy, information_measure, mean_absolute_error

__all__ = [
    "MultilabelStratifiedKFold",
    "confusion_entropy",
    "f1",
    "global_accuracy",
    "information_measure",
    "jaccard",
    "mean_absolute_error",
    "mean_accuracy",
]
