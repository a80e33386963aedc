"""Evaluation of classifiers: measures for several class variables, and a splitter for cross-validation."""

from bntk.evaluation.folds import MultilabelStratifiedKFold
from bntk.evaluation.metrics import f1, global_accuracy, jaccard, mean_accuracy

__all__ = ["MultilabelStratifiedKFold", "f1", "global_accuracy", "jaccard", "mean_accuracy"]
