"""Evaluation of classifiers: cross-validation, comparison over data sets, statistical tests, measures and folds.

Names are imported when they are first used: the table of measures serves the help of the command, which must be quick.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bntk.evaluation.calibration import calibration_error
    from bntk.evaluation.comparison import Comparison, RankCorrelation, compare
    from bntk.evaluation.folds import MultilabelStratifiedKFold
    from bntk.evaluation.measure_table import Measure, measures
    from bntk.evaluation.metrics import f1, global_accuracy, jaccard, mean_accuracy
    from bntk.evaluation.ordinal import confusion_entropy, information_measure, mean_absolute_error
    from bntk.evaluation.result import CrossValidation
    from bntk.evaluation.significance import (
        Friedman,
        Nemenyi,
        PairedTest,
        corrected_t,
        critical_difference,
        friedman,
        holm,
        mean_ranks,
        nemenyi,
        paired_t,
        ranks,
        wilcoxon,
    )
    from bntk.evaluation.validation import cross_validate

_MODULES = {
    "calibration": ("calibration_error",),
    "comparison": ("Comparison", "RankCorrelation", "compare"),
    "folds": ("MultilabelStratifiedKFold",),
    "measure_table": ("Measure", "measures"),
    "metrics": ("f1", "global_accuracy", "jaccard", "mean_accuracy"),
    "ordinal": ("confusion_entropy", "information_measure", "mean_absolute_error"),
    "result": ("CrossValidation",),
    "significance": (
        "Friedman",
        "Nemenyi",
        "PairedTest",
        "corrected_t",
        "critical_difference",
        "friedman",
        "holm",
        "mean_ranks",
        "nemenyi",
        "paired_t",
        "ranks",
        "wilcoxon",
    ),
    "validation": ("cross_validate",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Comparison",
    "CrossValidation",
    "Friedman",
    "Measure",
    "MultilabelStratifiedKFold",
    "Nemenyi",
    "PairedTest",
    "RankCorrelation",
    "calibration_error",
    "compare",
    "confusion_entropy",
    "corrected_t",
    "critical_difference",
    "cross_validate",
    "f1",
    "friedman",
    "global_accuracy",
    "holm",
    "information_measure",
    "jaccard",
    "mean_absolute_error",
    "mean_accuracy",
    "mean_ranks",
    "measures",
    "nemenyi",
    "paired_t",
    "ranks",
    "wilcoxon",
]


def __getattr__(name: str) -> object:
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module 'bntk.evaluation' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"bntk.evaluation.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
