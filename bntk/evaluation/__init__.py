"""How good a classifier is: measures, and folds of rows."""

from bntk.evaluation.folds import MultilabelStratifiedKFold
from bntk.evaluation.metrics import f1, global_accuracy, jaccard, mean_accuracy

__all__ = ["MultilabelStratifiedKFold", "f1", "global_accuracy", "jaccard", "mean_accuracy"]
