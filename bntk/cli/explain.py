"""``bntk explain``: why rows get their classes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.inputs import NO_VARIABLE, check_names, is_network, load_model
from bntk.cli.models import features_of, targets_of
from bntk.cli.options import add_data, add_json, positive
from bntk.cli.output import emit, table
from bntk.cli.rows import Data, features_frame, read_data, rows_for, shared_columns
from bntk.errors import DataError


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the file of a classifier, or a network (with --target)")
    add_data(parser)
    parser.add_argument(
        "--rows", metavar="N", type=positive, nargs="+", default=[1], help="which rows, from 1 (default: the first)"
    )
    parser.add_argument("--of", metavar="CLASS", help="the class to explain (default: the most probable)")
    parser.add_argument("--against", metavar="CLASS", help="the class that it is held against (default: the next)")
    parser.add_argument("--target", metavar="NAME", help="for a network: the variable to explain")
    add_json(parser)


def _run(options: Namespace) -> None:
    model, data = load_model(options.model), read_data(options)
    for row in options.rows:
        if row > data.n_rows:
            raise DataError(f"{data.source} has {data.n_rows:,} rows; there is no row {row:,}")
    explained = _by_network(model, data, options) if is_network(model) else _by_classifier(model, data, options)
    emit(options, {"model": options.model, "rows": explained}, lambda: "\n\n".join(map(_text, explained)))


def _by_classifier(classifier: Any, data: Data, options: Namespace) -> list[dict[str, Any]]:
    if options.target:
        raise UsageError("--target is for networks; a classifier has its own")
    classes = targets_of(classifier)
    if len(classes) > 1 or not hasattr(classifier, "explain"):
        raise DataError(f"{options.model}: {type(classifier).__name__} does not explain its rows; other classifiers do")
    [states] = classes.values()
    of, against = (_label(states, getattr(options, name)) for name in ("of", "against"))
    X = features_frame(data, features_of(classifier), options.model)
    found = []
    for row in options.rows:
        frame = classifier.explain(X.iloc[[row - 1]], of=of, against=against)
        parts = [
            {"part": name, "state": state, "log_odds": odds}
            for name, state, odds in zip(frame.index, frame["state"], frame["log_odds"].tolist(), strict=True)
        ]
        found.append(
            {"row": row, "question": frame.index.name, "log_odds": float(frame["log_odds"].sum()), "parts": parts}
        )
    return found


def _label(states: list[Any], text: str | None) -> Any:
    """The class that is written like this."""
    from bntk.data.variable import Variable

    variable = Variable("the class", states)
    return None if text is None else variable.states[variable.code(text)]


def _by_network(network: Any, data: Data, options: Namespace) -> list[dict[str, Any]]:
    if not options.target:
        raise UsageError(f"{options.model} is a network: name the variable to explain with --target NAME")
    if options.of or options.against:
        raise UsageError("--of and --against are for classifiers; for a network, all states of the target count")
    check_names([options.target], network.names, NO_VARIABLE)
    evidence = [name for name in network.names if name != options.target]
    there = shared_columns(data, evidence, options.model)
    rows = rows_for(network, data, there).to_pandas()
    found = []
    for row in options.rows:
        known = {name: rows[name].iloc[row - 1] for name in there if rows[name].notna().iloc[row - 1]}
        frame = network.relevant_findings(options.target, known)
        posterior = network.query(options.target, known)
        best = posterior.mode()[options.target]
        parts = [
            {"part": name, "state": state, "divergence": d, "change": change}
            for name, state, d, change in zip(
                frame.index, frame["finding"], frame["divergence"].tolist(), frame["change"].tolist(), strict=True
            )
        ]
        question = f"{options.target} = {best}"
        found.append({"row": row, "question": question, "p": float(posterior[best]), "parts": parts})
    return found


def _text(explained: dict[str, Any]) -> str:
    rows = [list(part.values()) for part in explained["parts"]]
    if "log_odds" in explained:
        head = f"row {explained['row']}: {explained['question']}, log odds {explained['log_odds']:.4f}"
        return head + "\n" + table(["part", "state", "log odds"], rows)
    head = f"row {explained['row']}: {explained['question']}, probability {explained['p']:.4f}"
    return head + "\n" + table(["finding", "state", "divergence", "change"], rows)


COMMAND = Command(
    "explain",
    "MODEL DATA",
    "Tell why rows get their classes. Of a classifier: what the prior and each feature add to the log odds of the most "
    "probable class against the next. Of a network, with --target: how far each finding moves the posterior, given all "
    "others (its Kullback-Leibler divergence and the largest change of a probability).",
    (
        Example("why the first two rows get their classes", "bntk explain dysp.json new.csv --rows 1 2"),
        Example("what speaks for yes", "bntk explain dysp.json new.csv --of yes --against no"),
        Example("the findings that matter in a network", "bntk explain asia incomplete.csv --target lung --rows 3"),
    ),
    _add_options,
    _run,
)
