"""``bntk evaluate``: cross-validation of classifiers on the same splits, and their comparison over data sets."""

from __future__ import annotations

import math
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.models import Training, classifiers
from bntk.cli.options import (
    DEFAULT,
    DEFAULT_MULTI,
    ModelSpec,
    add_data_options,
    add_json,
    add_model_options,
    add_target,
    add_target_cuts,
    model,
    model_help,
    one_of,
    positive,
    share,
)
from bntk.cli.output import PICTURES, check_can_be_written, emit, showing_notes, shows_progress, table, write_file
from bntk.cli.rows import read_data
from bntk.errors import DataError
from bntk.evaluation.measure_table import MEASURES, canonical, named

if TYPE_CHECKING:
    from bntk.evaluation.comparison import Comparison
    from bntk.evaluation.result import CrossValidation

ALL = "all"
_MANY = 3  # measures; more are rows of the table, not columns


def spelled(name: str) -> str:
    """The name of a measure as the command has it, with hyphens; labels in brackets stay as they are."""
    measure, bracket, label = name.partition("[")
    return measure.replace("_", "-") + bracket + label


def metric(text: str) -> str:
    """A measure, with hyphens or underscores, or ``all``."""
    words = [word for m in MEASURES.values() for word in (m.name, *m.aliases)]
    return canonical(one_of([*map(spelled, words), ALL])(text.replace("_", "-")))


def metric_help() -> str:
    """All measures, for a description."""

    def lines(several: bool) -> str:
        return "\n".join(
            textwrap.fill(f"{spelled(m.name):<19} {m.help}", 100, initial_indent="  ", subsequent_indent=" " * 22)
            for m in named(several)
        )

    return f"Measures for one class:\n{lines(False)}\n\nMeasures for several classes:\n{lines(True)}"


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="DATA", nargs="+", help="rows with a header: .csv .tsv .txt .arff .parquet, also .gz; - is "
        "standard input; models are compared over several files",
    )  # fmt: skip
    add_data_options(parser)
    add_target(parser, required=True)
    add_target_cuts(parser)
    group = add_model_options(parser)
    group.add_argument("--model", type=model, nargs="+", help="one or several, see above (default tan, or mdbnc)")
    group.add_argument(
        "--relearn", type=one_of(("all", "parameters")), default="all",
        help="what is learned in each split: parameters keeps the structure learned from all rows (optimistic)",
    )  # fmt: skip
    group = parser.add_argument_group("the evaluation")
    group.add_argument("--folds", type=positive, default=10, help="default 10")
    group.add_argument("--holdout", type=share, metavar="SHARE", help="a share of test rows instead of folds, as 0.3")
    group.add_argument("--repeats", type=positive, default=1, help="how many times, each with other folds (default 1)")
    group.add_argument(
        "--metrics", type=metric, nargs="+", help="see above, or all of them that apply; the first one compares"
    )
    group.add_argument("--jobs", type=positive, default=1, help="processes (default 1)")
    group.add_argument("--cache", metavar="FOLDER", help="keep what is finished there, and go on from it next time")
    group.add_argument(
        "--plot", metavar="FILE", help="draw the folds of the first measure; of several files, critical differences"
    )
    add_json(parser)


def _run(options: Namespace) -> None:
    check_can_be_written(options.plot, PICTURES)
    documents: list[dict[str, Any]] = []
    results: dict[str, CrossValidation] = {}
    for path in options.data:
        with showing_notes(options, path if len(options.data) > 1 else ""):
            training = Training(read_data(Namespace(**{**vars(options), "data": path})), options.target, options)
            if training.data.source in results:
                raise UsageError(f"DATA names a file twice: {training.data.source}")
            result = _validated(training, options)
        results[training.data.source] = result
        documents.append(_document(training, result, options))
    if len(results) == 1:
        _tell(options, documents[0], result, _text)
        return
    from bntk.evaluation import Comparison

    compared = Comparison.of(results)
    _tell(options, _comparison_document(documents, compared), compared, _comparison_text)


def _tell(
    options: Namespace, document: dict[str, Any], result: CrossValidation | Comparison,
    text: Callable[[dict[str, Any]], str],
) -> None:  # fmt: skip
    if options.plot:
        _draw(result, options.plot)
    emit(options, document, lambda: text(document))


def _validated(training: Training, options: Namespace) -> CrossValidation:
    """What the library computes for one file."""
    from bntk.evaluation import cross_validate

    specs = options.model or [ModelSpec(DEFAULT_MULTI if training.several else DEFAULT)]
    metrics = _metrics(options, training)
    models = classifiers(specs, options, training)
    if options.holdout is None and not 2 <= options.folds <= len(training.X):
        raise DataError(f"--folds must be from 2 to the number of rows, {len(training.X):,}; got {options.folds}")
    labels = [str(spec) for spec in specs]
    if len(set(labels)) < len(labels):
        raise UsageError(f"--model names a model twice: {', '.join(labels)}")
    return cross_validate(
        dict(zip(labels, models, strict=True)),
        training.X,
        training.Y,
        cv=options.folds if options.holdout is None else options.holdout,
        repeats=options.repeats,
        scoring=metrics,
        relearn=options.relearn,
        n_jobs=options.jobs,
        progress=shows_progress(options),
        cache=options.cache,
        random_state=options.seed,
    )


def _metrics(options: Namespace, training: Training) -> Any:
    chosen = options.metrics
    if chosen is None or ALL in chosen:
        return None if chosen is None else ALL
    wrong = [name for name in chosen if MEASURES[name].several != training.several]
    if wrong:
        number = "several classes" if training.several else "one class"
        known = ", ".join(spelled(m.name) for m in named(training.several))
        raise UsageError(f"--metrics {spelled(wrong[0])} is not for {number}; for that: {known}")
    return chosen


def _draw(result: CrossValidation | Comparison, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")  # without a screen, whatever is set up
    from bntk.cli.plot import _drawn

    write_file(path, _drawn(result.plot().figure, Path(path).suffix.lower()[1:], 150))


# ---- documents -------------------------------------------------------------------------------------------------------


def _document(training: Training, result: CrossValidation, options: Namespace) -> dict[str, Any]:
    return {
        "file": training.data.source,
        "targets": list(training.targets),
        "rows": len(training.X),
        "folds": options.folds if options.holdout is None else None,
        "holdout": options.holdout,
        "repeats": options.repeats,
        "relearn": options.relearn,
        "seed": options.seed,
        "metrics": [spelled(name) for name in result.measures],
        "models": [_of_model(result, name) for name in result.estimators],
    }


def _of_model(result: CrossValidation, name: str) -> dict[str, Any]:
    told: Any = result.summary().loc[name]
    first = result.estimators[0]
    own = result.frame[result.frame["estimator"] == name]
    test = result.difference(name, first) if name != first and len(own) > 1 else None
    return {
        "model": name,
        "metrics": {
            spelled(measure): {
                "mean": float(told.loc[measure, "mean"]),
                "standard_error": float(told.loc[measure, "sem"]),
                "folds": own[measure].tolist(),
            }
            for measure in result.measures
        },
        "fit_seconds": float(own["fit_seconds"].sum()),
        "predict_seconds": float(own["predict_seconds"].sum()),
        "difference": test and {"mean": test.mean, "standard_error": test.standard_error, "p": test.p},
    }


def _comparison_document(documents: list[dict[str, Any]], result: Comparison) -> dict[str, Any]:
    shared = ("targets", "folds", "holdout", "repeats", "relearn", "seed")
    return {
        "files": [document["file"] for document in documents],
        **{key: documents[0][key] for key in shared},
        "metrics": [spelled(name) for name in result.measures],
        "datasets": [{key: value for key, value in of.items() if key not in shared} for of in documents],
        "comparisons": [_compared(result.by(measure)) for measure in result.measures],
    }


def _compared(result: Comparison) -> dict[str, Any]:
    """The comparison over files by one measure; ranks and tests where there are several models."""
    means = {name: row.to_dict() for name, row in result.means.iterrows()}
    document: dict[str, Any] = {"metric": spelled(result.measure), "means": means, "ranks": None}
    document |= {"friedman": None, "nemenyi": None}
    if len(result.estimators) > 1 and not result.means.isna().any(axis=None):
        test, pairs = result.friedman, result.nemenyi
        document["ranks"] = test.ranks.to_dict()
        document["friedman"] = {
            "statistic": test.statistic, "df": test.df, "p": test.p, "f": test.f_statistic, "f_p": test.f_p,
        }  # fmt: skip
        document["nemenyi"] = {
            "critical_difference": pairs.critical_difference,
            "alpha": pairs.alpha,
            "p": {name: row.to_dict() for name, row in pairs.p.iterrows()},
            "groups": pairs.groups,
        }
    return document


# ---- texts -----------------------------------------------------------------------------------------------------------


def _text(document: dict[str, Any]) -> str:
    head = f"{document['rows']:,} rows, {_splits(document)}; +- is a standard error"
    rows = _long_table(document) if len(document["metrics"]) > _MANY else _wide_table(document)
    return f"{head}\n\n{rows}"


def _splits(document: dict[str, Any]) -> str:
    times = f", {document['repeats']} times" if document["repeats"] > 1 else ""
    kept = ", structures of all rows" if document["relearn"] == "parameters" else ""
    if document["holdout"] is not None:
        return f"{document['holdout']:.0%} of the rows for testing{times}{kept}"
    return f"{document['folds']} folds{times}{kept}"


def _wide_table(document: dict[str, Any]) -> str:
    """A line per model."""
    metrics, models = document["metrics"], document["models"]
    header = ["model", *(name for metric in metrics for name in (metric, "+-")), "seconds"]
    rows = []
    for of in models:
        told = [of["metrics"][metric][key] for metric in metrics for key in ("mean", "standard_error")]
        rows.append([of["model"], *map(_defined, told), of["fit_seconds"] + of["predict_seconds"]])
    if len(models) > 1:
        header += [f"{metrics[0]} less {models[0]['model']}", "+-", "p"]
        rows = [[*row, *_difference(of)] for row, of in zip(rows, models, strict=True)]
    return table(header, rows)


def _long_table(document: dict[str, Any]) -> str:
    """A line per measure, and below it the differences from the first model."""
    metrics, models = document["metrics"], document["models"]
    rows = [
        [metric, *(_defined(of["metrics"][metric][key]) for of in models for key in ("mean", "standard_error"))]
        for metric in metrics
    ]
    rows.append(["seconds", *(x for of in models for x in (of["fit_seconds"] + of["predict_seconds"], None))])
    text = table(["measure", *(name for of in models for name in (of["model"], "+-"))], rows)
    if len(models) == 1:
        return text
    differences = [[of["model"], *_difference(of)] for of in models[1:]]
    header = ["model", f"{metrics[0]} less {models[0]['model']}", "+-", "p"]
    return f"{text}\n\n{table(header, differences)}"


def _difference(of: dict[str, Any]) -> list[float | None]:
    found = of["difference"]
    return [found[key] for key in ("mean", "standard_error", "p")] if found else [None] * 3


def _defined(value: float) -> float | None:
    """The value, or nothing where it is not defined, as an error of one split."""
    return None if math.isnan(value) else value


def _comparison_text(document: dict[str, Any]) -> str:
    head = f"{len(document['files'])} data sets, {_splits(document)}"
    return "\n\n".join([head, *map(_metric_text, document["comparisons"])])


def _metric_text(of: dict[str, Any]) -> str:
    """Means of all models on all data sets by one measure, mean ranks, and what the tests say."""
    models = list(next(iter(of["means"].values())))
    rows: list[Sequence[Any]] = [[name, *(_defined(row[m]) for m in models)] for name, row in of["means"].items()]
    if of["ranks"] is None:
        return table([of["metric"], *models], rows)
    rows.append(["mean rank", *(of["ranks"][m] for m in models)])
    test, pairs = of["friedman"], of["nemenyi"]
    alike = [f"no significant difference: {', '.join(group)}" for group in pairs["groups"]]
    lines = [
        f"Friedman: p = {test['p']:.3g} (Iman and Davenport: {test['f_p']:.3g}); Nemenyi: mean ranks that differ by "
        f"{pairs['critical_difference']:.2f} are significantly different ({pairs['alpha']:g})",
        *alike,
    ]
    return table([of["metric"], *models], rows) + "\n" + "\n".join(lines)


COMMAND = Command(
    "evaluate",
    "DATA ... --target COLUMN",
    "Cross-validate classifiers on the same stratified folds. Measures come with their standard errors over the folds; "
    "the first one is compared with that of the first model, fold by fold (the standard error of a difference is the "
    "corrected one of Nadeau and Bengio, since training rows overlap). Over several files, models are compared by "
    "their mean ranks (Friedman's and Nemenyi's tests).\n\n" + model_help() + "\n\n" + metric_help(),
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
            "all measures on 30 % of the rows, and a picture of ten such splits",
            "bntk evaluate asia.csv --target dysp --model nb tan --holdout 0.3 --repeats 10 --metrics all "
            "--plot folds.png",
        ),
        Example(
            "over several files, with a diagram of critical differences",
            "bntk evaluate asia.csv incomplete.csv --target dysp --model nb tan aode --folds 3 --plot ranks.svg",
        ),
        Example(
            "two classes, for a program", "bntk evaluate asia.csv --target lung,bronc --model mdbnc br --folds 3 --json"
        ),
    ),
    _add_options,
    _run,
)
