"""``bntk evaluate``: cross-validation of classifiers on the same folds."""

from __future__ import annotations

import math
import time
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.inputs import read_data
from bntk.cli.models import Training, classifiers
from bntk.cli.options import (
    DEFAULT,
    DEFAULT_MULTI,
    ModelSpec,
    add_data,
    add_json,
    add_model_options,
    add_target,
    model,
    model_help,
    one_of,
    positive,
)
from bntk.cli.output import emit, shows_progress, table
from bntk.errors import DataError, UnseenStateWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ("accuracy", "balanced-accuracy", "f1", "mcc", "kappa", "auc", "log-loss", "brier", "im", "cen", "mae")
ORDINAL_METRICS = ("im", "mae")
MULTI_METRICS = ("global-accuracy", "mean-accuracy", "jaccard", "f1-macro", "f1-micro")


@dataclass
class Outcome:
    """The result of cross-validation for one model: measures and seconds of each fold."""

    name: str
    folds: dict[str, list[float]] = field(default_factory=dict)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)


def _add_options(parser: ArgumentParser) -> None:
    add_data(parser)
    add_target(parser, required=True)
    group = add_model_options(parser)
    group.add_argument("--model", type=model, nargs="+", help="one or several, see above (default tan, or mdbnc)")
    group = parser.add_argument_group("the evaluation")
    group.add_argument("--folds", type=positive, default=10, help="default 10")
    group.add_argument("--repeats", type=positive, default=1, help="how many times, each with other folds (default 1)")
    known = (*METRICS, *MULTI_METRICS)
    group.add_argument(
        "--metrics", type=one_of(known), nargs="+", help=f"of {', '.join(known)}; the first one compares"
    )
    add_json(parser)


def _run(options: Namespace) -> None:
    training = Training(read_data(options), options.target)
    specs = options.model or [ModelSpec(DEFAULT_MULTI if training.several else DEFAULT)]
    metrics = _metrics(options, training)
    models = classifiers(specs, options, training)
    splits = _splits(training, options)
    labels = [spec.text or spec.name for spec in specs]
    if len(set(labels)) < len(labels):
        raise UsageError(f"--model names a model twice: {', '.join(labels)}")
    outcomes = cross_validate(dict(zip(labels, models, strict=True)), training, splits, metrics, options)
    sizes = [(len(train), len(test)) for train, test in splits]
    documents = [_document(outcome, outcomes[0], metrics[0], sizes) for outcome in outcomes]
    document = {
        "file": training.data.source,
        "targets": list(training.targets),
        "rows": len(training.X),
        "folds": options.folds,
        "repeats": options.repeats,
        "seed": options.seed,
        "metrics": list(metrics),
        "models": documents,
    }
    emit(options, document, lambda: _text(document))


def _metrics(options: Namespace, training: Training) -> tuple[str, ...]:
    known = MULTI_METRICS if training.several else METRICS
    chosen = tuple(dict.fromkeys(options.metrics or (known[:2] if training.several else ("accuracy", "log-loss"))))
    wrong = [name for name in chosen if name not in known]
    if wrong:
        number = "several classes" if training.several else "one class"
        raise UsageError(f"--metrics {wrong[0]} is not for {number}; for that: {', '.join(known)}")
    return chosen


def _splits(training: Training, options: Namespace) -> list[tuple[Any, Any]]:
    """Pairs of training rows and test rows, stratified, the same for all models."""
    if not 2 <= options.folds <= len(training.X):
        raise DataError(f"--folds must be from 2 to the number of rows, {len(training.X):,}; got {options.folds}")
    if training.several:
        from bntk.evaluation import MultilabelStratifiedKFold

        repeats = [MultilabelStratifiedKFold(options.folds, seed=options.seed + r) for r in range(options.repeats)]
        return [pair for folds in repeats for pair in folds.split(training.X, training.Y)]
    from sklearn.model_selection import RepeatedStratifiedKFold

    counts = training.Y.value_counts()
    if counts.max() < options.folds:
        raise DataError(f"no class has {options.folds} rows, one for each fold; take fewer --folds")
    folds = RepeatedStratifiedKFold(n_splits=options.folds, n_repeats=options.repeats, random_state=options.seed)
    return list(folds.split(training.X, training.Y))


# ---- running ---------------------------------------------------------------------------------------------------------


def cross_validate(
    models: dict[str, Any], training: Training, splits: Sequence[tuple[Any, Any]], metrics: Sequence[str],
    options: Namespace,
) -> list[Outcome]:  # fmt: skip
    """Each model on each split; a bar on standard error shows how far it is."""
    from sklearn.base import clone
    from tqdm import tqdm

    outcomes = {name: Outcome(name, {metric: [] for metric in metrics}) for name in models}
    bar = tqdm(total=len(models) * len(splits), unit="fit", disable=not shows_progress(options), leave=False)
    X, Y, classes = training.X, training.Y, _classes(training, metrics)
    with bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStateWarning)  # a rare state may be in one fold only
        for train, test in splits:
            for name, classifier in models.items():
                bar.set_description(name)
                outcome, learner = outcomes[name], clone(classifier)
                started = time.perf_counter()
                learner.fit(X.iloc[train], Y.iloc[train])
                learned = time.perf_counter()
                measured = _measured(learner, X.iloc[test], Y.iloc[test], metrics, classes)
                outcome.fit_seconds.append(learned - started)
                outcome.predict_seconds.append(time.perf_counter() - learned)
                for metric, value in measured.items():
                    outcome.folds[metric].append(value)
                bar.update()
    return list(outcomes.values())


def _classes(training: Training, metrics: Sequence[str]) -> list[Any]:
    """All classes, in their order if a measure needs it; for several class variables none."""
    if training.several:
        return []
    from bntk.data.class_order import class_order

    variable = training.data.table(training.targets).variables[0]
    needed = [metric for metric in metrics if metric in ORDINAL_METRICS]
    order = class_order(variable, f"--metrics {needed[0]}") if needed else range(variable.n_states)
    return [variable.states[place] for place in order]


def _measured(classifier: Any, X: Any, Y: Any, metrics: Sequence[str], classes: list[Any]) -> dict[str, float]:
    """The measures of predictions; ``classes`` are all classes, whether they are in the rows or not."""
    said = classifier.predict(X)
    if set(metrics) <= set(MULTI_METRICS):
        from bntk.evaluation import f1, global_accuracy, jaccard, mean_accuracy

        measures = {
            "global-accuracy": global_accuracy,
            "mean-accuracy": mean_accuracy,
            "jaccard": jaccard,
            "f1-macro": lambda true, found: f1(true, found, average="macro"),
            "f1-micro": lambda true, found: f1(true, found, average="micro"),
        }
        return {metric: float(measures[metric](Y, said)) for metric in metrics}
    from sklearn import metrics as of_labels

    from bntk.evaluation import confusion_entropy, information_measure, mean_absolute_error

    by_label = {
        "accuracy": of_labels.accuracy_score,
        "balanced-accuracy": of_labels.balanced_accuracy_score,
        "f1": lambda true, found: of_labels.f1_score(true, found, average="macro"),
        "mcc": of_labels.matthews_corrcoef,
        "kappa": of_labels.cohen_kappa_score,
        "im": partial(information_measure, labels=classes),
        "cen": partial(confusion_entropy, labels=classes),
        "mae": partial(mean_absolute_error, labels=classes),
    }
    by_probability = {"log-loss": _log_loss, "auc": _auc, "brier": _brier}
    proba: Any = classifier.predict_proba(X) if set(metrics) & set(by_probability) else None
    truth = Y.to_numpy()
    return {
        metric: float(
            by_label[metric](truth, said)
            if metric in by_label
            else by_probability[metric](truth, proba, classifier.classes_)
        )
        for metric in metrics
    }


def _true_probabilities(truth: Any, proba: Floats, classes: Any) -> Floats:
    """The probability of the true class of each row; 0 for a class that was not in the training rows."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    at = np.array([place.get(label, -1) for label in truth.tolist()])
    return np.where(at >= 0, proba[np.arange(len(at)), at], 0.0)


def _log_loss(truth: Any, proba: Floats, classes: Any) -> float:
    """Minus the mean log probability of the true class, in nats; probabilities from the smallest step above 0."""
    p = _true_probabilities(truth, proba, classes)
    return float(-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean())


def _brier(truth: Any, proba: Floats, classes: Any) -> float:
    """The mean over rows of the squared distance between the probabilities of all classes and the truth."""
    p = _true_probabilities(truth, proba, classes)
    return float(((proba**2).sum(axis=1) - 2 * p + 1).mean())


def _auc(truth: Any, proba: Floats, classes: Any) -> float:
    """The area under the ROC curve; of several classes, the mean of each against the rest. NaN without both."""
    from sklearn.metrics import roc_auc_score

    present = [k for k, label in enumerate(classes.tolist()) if 0 < (truth == label).sum() < len(truth)]
    if len(classes) == 2:
        present = present[-1:]
    areas = [roc_auc_score(truth == classes[k], proba[:, k]) for k in present]
    return float(np.mean(areas)) if areas else math.nan


# ---- telling ---------------------------------------------------------------------------------------------------------


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean over folds and its standard error, sd / sqrt(n)."""
    numbers = np.asarray(values)
    return float(numbers.mean()), float(numbers.std(ddof=1) / math.sqrt(len(numbers)))


def difference(first: Sequence[float], second: Sequence[float], sizes: Sequence[tuple[int, int]]) -> dict[str, float]:
    """The mean of second - first over the same folds, its standard error, and the p value of no difference.

    Training rows of folds overlap, so that differences are not independent: the variance is multiplied by
    1/n + n_test / n_train instead of 1/n (Nadeau and Bengio 2003); p is by Student's t with n - 1 degrees of freedom.
    """
    from scipy.special import stdtr

    differences = np.asarray(second) - np.asarray(first)
    n = len(differences)
    n_train, n_test = np.mean(sizes, axis=0)
    mean = float(differences.mean())
    error = float(differences.std(ddof=1) * math.sqrt(1 / n + n_test / n_train))
    p = 2 * float(stdtr(n - 1, -abs(mean) / error)) if error > 0 else float(mean == 0)
    return {"mean": mean, "standard_error": error, "p": p}


def _document(outcome: Outcome, first: Outcome, metric: str, sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    means = {name: mean_and_error(values) for name, values in outcome.folds.items()}
    compared = difference(first.folds[metric], outcome.folds[metric], sizes) if outcome is not first else None
    return {
        "model": outcome.name,
        "metrics": {
            name: {"mean": mean, "standard_error": error, "folds": outcome.folds[name]}
            for name, (mean, error) in means.items()
        },
        "fit_seconds": sum(outcome.fit_seconds),
        "predict_seconds": sum(outcome.predict_seconds),
        "difference": compared,
    }


def _text(document: dict[str, Any]) -> str:
    metrics, models = document["metrics"], document["models"]
    compared = len(models) > 1
    header = ["model", *(name for metric in metrics for name in (metric, "+-")), "seconds"]
    if compared:
        header += [f"{metrics[0]} less {models[0]['model']}", "+-", "p"]
    rows = []
    for of in models:
        row = [of["model"]]
        for metric in metrics:
            row += [of["metrics"][metric]["mean"], of["metrics"][metric]["standard_error"]]
        row.append(of["fit_seconds"] + of["predict_seconds"])
        if compared:
            row += (
                [of["difference"][key] for key in ("mean", "standard_error", "p")] if of["difference"] else [None] * 3
            )
        rows.append(row)
    times = f", {document['repeats']} times" if document["repeats"] > 1 else ""
    head = f"{document['rows']:,} rows, {document['folds']} folds{times}; +- is a standard error"
    return head + "\n\n" + table(header, rows)


COMMAND = Command(
    "evaluate",
    "DATA --target COLUMN",
    "Cross-validate classifiers on the same stratified folds. Measures come with their standard errors over the folds; "
    "the first one is compared with that of the first model, fold by fold (the standard error of a difference is the "
    "corrected one of Nadeau and Bengio, since training rows overlap).\n\n" + model_help(),
    (
        Example(
            "three classifiers, the first is the one to beat",
            "bntk evaluate asia.csv --target dysp --model nb tan aode",
        ),
        Example(
            "other measures, and options of a model",
            "bntk evaluate asia.csv --target dysp --model kdb:k=1 kdb:k=2 --folds 5 --repeats 2 --metrics auc brier",
        ),
        Example(
            "two classes, for a program", "bntk evaluate asia.csv --target lung,bronc --model mdbnc br --folds 3 --json"
        ),
    ),
    _add_options,
    _run,
)
