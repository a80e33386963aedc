"""``bntk predict``: labels and probabilities of new rows, by a classifier or a network."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import bntk
from bntk.cli.command import Command, Example, UsageError
from bntk.cli.inputs import NO_VARIABLE, check_names, is_network, load_model
from bntk.cli.models import features_of, targets_of
from bntk.cli.options import add_data, add_json, add_output, names
from bntk.cli.output import ROW_SUFFIXES, check_can_be_written, json_text, note, write_file, write_out, write_rows
from bntk.cli.rows import Data, features_frame, read_data, rows_for, shared_columns
from bntk.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Answer:
    """The predictions of one class variable: a label for each row, and the probabilities of all labels."""

    target: str
    classes: list[Any]
    labels: list[Any]
    probabilities: NDArray[np.float64]


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the file of a classifier, or a network (with --target)")
    add_data(parser)
    parser.add_argument("--target", metavar="NAME", type=names, default=(), help="for a network: the class variable")
    parser.add_argument("--proba", action="store_true", help="also the probability of each class")
    parser.add_argument(
        "--costs",
        metavar="FILE",
        help="a CSV file, one row per true class, one column per predicted one: the least cost wins",
    )
    parser.add_argument(
        "--keep", metavar="COLUMN,...", type=names, default=(), help="columns of the data to put in front; all for all"
    )
    add_output(parser, "a .csv, .tsv or .parquet file, or .json with --json (default: standard output)")
    add_json(parser)


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, (".json",) if options.json else ROW_SUFFIXES, packed=True)
    model = load_model(options.model)
    data = read_data(options)
    if is_network(model):
        answers = _by_network(model, data, options)
    else:
        answers = _by_classifier(model, data, options)
    accuracies = [_accuracy(answer, data) for answer in answers]
    if options.json:
        told = [_document(*pair, options.proba) for pair in zip(answers, accuracies, strict=True)]
        text = json_text({"model": options.model, "rows": data.n_rows, "answers": told})
        write_out(text + "\n") if options.output in (None, "-") else write_file(options.output, (text + "\n").encode())
    else:
        write_rows(_rows(answers, data, options), options.output)


# ---- asking ----------------------------------------------------------------------------------------------------------


def _by_classifier(classifier: Any, data: Data, options: Namespace) -> list[Answer]:
    classes = targets_of(classifier)
    if options.target and tuple(options.target) != tuple(classes):
        raise UsageError(f"--target is for networks; this classifier predicts {', '.join(classes)}")
    features = features_of(classifier)
    X = features_frame(data, features, options.model)
    if len(classes) == 1:
        [(target, states)] = classes.items()
        known = sorted(states)  # the order of costs and probabilities; the states may have a declared one
        costs = _costs(options.costs, known)
        found = classifier.predict(X) if costs is None else classifier.predict(X, costs=costs)
        probabilities = _first(classifier.predict_proba(X))[:, [known.index(state) for state in states]]
        return [Answer(target, states, np.asarray(found).ravel().tolist(), probabilities)]
    if options.costs:
        raise UsageError("--costs is for models with one class")
    found = np.asarray(classifier.predict(X))
    parts = zip(classes.items(), found.T, classifier.predict_proba(X), strict=True)
    return [Answer(target, states, labels.tolist(), p) for (target, states), labels, p in parts]


def _first(probabilities: Any) -> Any:
    return probabilities[0] if isinstance(probabilities, list) else probabilities


def _by_network(network: Any, data: Data, options: Namespace) -> list[Answer]:
    if not options.target:
        raise UsageError(f"{options.model} is a network: name the variable to predict with --target NAME")
    check_names(options.target, network.names, NO_VARIABLE)
    evidence = [name for name in network.names if name not in options.target]
    rows = rows_for(network, data, shared_columns(data, evidence, options.model))
    answers = []
    for target in options.target:
        states = list(network.variable(target).states)
        p = network.posterior(rows, target).to_numpy()
        costs = _costs(options.costs, states)
        known = np.where(np.isnan(p), 1 / len(states), p)  # an impossible row gives no information
        best = known.argmax(axis=1) if costs is None else (known @ costs).argmin(axis=1)
        answers.append(Answer(target, states, [states[k] for k in best], p))
    return answers


def _costs(path: str | None, states: Sequence[Any]) -> NDArray[np.float64] | None:
    """The matrix of costs, true class by predicted class, from a file whose rows and columns are named."""
    if path is None:
        return None
    from bntk.data.variable import Variable

    table = bntk.read_table(path, types=str)
    variable = Variable("class", states)
    first, *columns = table.names
    rows = [table.variable(first).states[code] for code in table.column(first)]
    matrix = np.full((len(states), len(states)), np.nan)
    for j, name in enumerate(columns):
        texts = table.variable(columns[j]).states
        for i, code in enumerate(table.column(name)):
            true, said = variable.find(rows[i]), variable.find(name)
            if true is None or said is None or code == len(texts):
                raise DataError(
                    f"{path}: expected a cost for the true class {rows[i]!r} and the prediction {name!r}, "
                    f"both among {list(states)}"
                )
            if not np.isnan(matrix[true, said]):
                raise DataError(f"{path} has the true class {rows[i]!r} and the prediction {name!r} twice")
            try:
                matrix[true, said] = float(texts[code])
            except ValueError:
                raise DataError(f"{path}: {texts[code]!r} is no number") from None
    if not np.isfinite(matrix).all():
        true, said = np.argwhere(~np.isfinite(matrix))[0]
        raise DataError(f"{path} has no cost for the true class {states[true]!r} and the prediction {states[said]!r}")
    return matrix


# ---- telling ---------------------------------------------------------------------------------------------------------


def _accuracy(answer: Answer, data: Data) -> float | None:
    """The share of correct labels, where the data have the true classes; it is written as a note."""
    if answer.target not in data.columns:
        return None
    from bntk.data.variable import Variable

    variable = Variable(answer.target, answer.classes)
    known = data.is_known(answer.target)
    truth = data.cells(answer.target)
    rows = np.flatnonzero(known).tolist()
    pairs = [(variable.find(truth[row]), variable.find(answer.labels[row])) for row in rows]
    if not pairs:
        return None
    right = sum(true == said for true, said in pairs)
    note(f"{answer.target}: {right:,} of {len(pairs):,} labels are right ({right / len(pairs):.4f})")
    return right / len(pairs)


def _rows(answers: Sequence[Answer], data: Data, options: Namespace) -> pd.DataFrame:
    import pandas as pd

    kept = list(data.names) if options.keep == ("all",) else list(options.keep)
    data.require(kept)
    columns: dict[str, Any] = {name: data.cells(name) for name in kept}
    for name, values in _predicted(answers, options.proba):
        if name in columns:
            raise UsageError(f"--keep {name}: the predictions have a column of that name; rename it in the data")
        columns[name] = values
    return pd.DataFrame(columns)


def _predicted(answers: Sequence[Answer], proba: bool) -> Iterator[tuple[str, Any]]:
    """The columns of the predictions: ``predicted_TARGET``, and ``p_STATE`` or with several ``p_TARGET_STATE``."""
    import pandas as pd

    for answer in answers:
        yield f"predicted_{answer.target}", pd.Series(answer.labels, dtype=object)
        if proba:
            of = "" if len(answers) == 1 else f"{answer.target}_"
            for k, state in enumerate(answer.classes):
                yield f"p_{of}{state}", answer.probabilities[:, k]


def _document(answer: Answer, accuracy: float | None, proba: bool) -> dict[str, Any]:
    return {
        "target": answer.target,
        "classes": answer.classes,
        "labels": answer.labels,
        "probabilities": answer.probabilities if proba else None,
        "accuracy": accuracy,
    }


COMMAND = Command(
    "predict",
    "MODEL DATA",
    "Label rows, in their order: with a classifier that bntk learn has saved, or with any network and a --target. "
    "Missing values, and columns that are missing altogether, are summed out. Labels are in the column "
    "predicted_CLASS, probabilities in p_STATE. If the rows have the class already, the share of correct labels is "
    "written to standard error.",
    (
        Example("labels to a file", "bntk predict dysp.json new.csv -o labels.csv"),
        Example(
            "with probabilities, beside the columns of the data", "bntk predict dysp.json new.csv --proba --keep all"
        ),
        Example("from standard input, by an embedded network", "cat new.csv | bntk predict asia - --target lung"),
        Example("the label of least expected cost", "bntk predict dysp.json new.csv --costs costs.csv"),
    ),
    _add_options,
    _run,
)
