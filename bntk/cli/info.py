"""``bntk info``: a description of a network, a classifier, or a file of rows."""

from __future__ import annotations

import functools
import operator
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bntk.cli.command import Command, Example
from bntk.cli.inputs import DATA_SUFFIXES, is_network, load_model, spreadsheet_advice
from bntk.cli.options import add_data_options, add_json
from bntk.cli.output import emit, facts, shortened, suffix_of, table

if TYPE_CHECKING:
    from bntk.cli.rows import Data

_MOST_LINES = 60
_WIDEST = 72  # characters of the states of a column
#: Texts, in small letters, by which programs write a missing value.
_OFTEN_MISSING = {"na", "n/a", "#n/a", "nan", "null", "none", "?", "-", "."}


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "data", metavar="FILE", help="a network, a classifier, rows (- is standard input), or an embedded network"
    )
    add_data_options(parser)
    add_json(parser)


def _run(options: Namespace) -> None:
    source = options.data
    if source == "-" or suffix_of(source) in DATA_SUFFIXES or spreadsheet_advice(source):
        from bntk.cli.rows import read_data

        _tell_rows(options, read_data(options))
        return
    model = load_model(source)
    if is_network(model):
        _tell_network(options, model)
    else:
        _tell_classifier(options, model)


def _tell_rows(options: Namespace, data: Data) -> None:
    known = {name: data.is_known(name) for name in data.names}
    columns: list[dict[str, Any]] = [
        {
            "name": name,
            "kind": _kind(data.states(name)),
            "states": data.states(name),
            "missing": int((~there).sum()),
        }
        for name, there in known.items()
    ]
    missing, suspects = sum(column["missing"] for column in columns), _missing_texts(columns)
    complete = int(functools.reduce(operator.and_, known.values()).sum())
    document = {
        **{"kind": "rows", "file": data.source, "rows": data.n_rows, "columns": columns},
        **{"missing_cells": missing, "complete_rows": complete, "perhaps_missing": suspects},
    }

    def text() -> str:
        share = missing / (data.n_rows * len(columns))
        head = facts(
            [
                ("rows", data.n_rows),
                ("columns", len(columns)),
                ("missing cells", f"{missing:,} ({share:.1%})"),
                ("complete rows", complete),
                ("perhaps missing", _suspicion(suspects)),
            ]
        )
        lines = [[c["name"], c["kind"], len(c["states"]), _states(c), c["missing"]] for c in columns[:_MOST_LINES]]
        return head + "\n\n" + _cut(table(["column", "kind", "values", "", "missing"], lines), len(columns))

    emit(options, document, text)


def _missing_texts(columns: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    """Labels that often stand for a missing value, with the columns that have them."""
    found: dict[str, list[str]] = {}
    for column in columns:
        for state in column["states"]:
            if isinstance(state, str) and state.strip().lower() in _OFTEN_MISSING:
                found.setdefault(state, []).append(column["name"])
    return found


def _suspicion(suspects: dict[str, list[str]]) -> str | None:
    if not suspects:
        return None
    told = [f"{text!r} in {shortened(names)}" for text, names in suspects.items()]
    return f"{'; '.join(told)}: if so, give --na {','.join(suspects)}"


def _kind(states: list[Any]) -> str:
    from bntk.cli.rows import are_numbers

    if not states:
        return "empty"
    if are_numbers(states):
        return "numbers"
    return "truth values" if all(isinstance(state, bool) for state in states) else "labels"


def _states(column: dict[str, Any]) -> str:
    states = column["states"]
    if column["kind"] == "numbers" and len(states) > 6:
        return f"from {min(states):g} to {max(states):g}"
    text = shortened(states, 6)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 4] + " ..."


def _tell_network(options: Namespace, network: Any) -> None:
    from bntk.inference.choose import one_question

    with one_question():  # as bntk query asks
        plan = network.plan()
    counts = next((cpt.counts for cpt in network.cpts), None)
    document = {
        "kind": "network",
        "file": options.data,
        "variables": [
            {"name": cpt.name, "states": list(cpt.child.states), "parents": [parent.name for parent in cpt.parents]}
            for cpt in network.cpts
        ],
        "arcs": [list(arc) for arc in network.dag.arcs],
        "structure": str(network.dag),
        "parameters": network.n_parameters,
        "treewidth": max(len(plan.largest_clique) - 1, 0),
        "largest_clique": {"variables": list(plan.largest_clique), "entries": plan.largest_entries},
        "clique_entries": plan.total_entries,
        "engine": plan.engine,
        "rows_counted": None if counts is None else float(counts.sum()),
    }

    def text() -> str:
        clique = f"{plan.largest_entries:,} entries ({shortened(plan.largest_clique)})"
        head = facts(
            [
                ("variables", len(network.names)),
                ("arcs", network.dag.n_arcs),
                ("parameters", network.n_parameters),
                ("largest clique", clique),
                ("treewidth", f"{document['treewidth']} (of the triangulation in use)"),
                ("inference", f"{plan.engine}: {plan.reason}"),
                ("learned from", "no counts" if counts is None else f"{counts.sum():,.10g} rows; counts are kept"),
            ]
        )
        lines = [
            [cpt.name, cpt.child.n_states, shortened(cpt.child.states, 6), shortened([p.name for p in cpt.parents])]
            for cpt in network.cpts[:_MOST_LINES]
        ]
        return head + "\n\n" + _cut(table(["variable", "states", "", "parents"], lines), len(network.cpts))

    emit(options, document, text)


def _tell_classifier(options: Namespace, classifier: Any) -> None:
    from bntk.cli.models import describe

    document = {**describe(classifier), "file": options.data}
    document["options"] = {name: _told(value) for name, value in classifier.get_params(deep=False).items()}
    emit(options, document, lambda: classifier_text(document))


def classifier_text(document: dict[str, Any], more: Sequence[tuple[str, Any]] = ()) -> str:
    """The description of a classifier as text; ``bntk learn`` adds more lines."""
    targets = [f"{name} ({shortened(labels)})" for name, labels in document["targets"].items()]
    in_use, arcs = document["features_in_use"], document["arcs"]
    return facts(
        [
            ("model", document["model"]),
            ("target" if len(targets) == 1 else "targets", "; ".join(targets)),
            ("features", f"{len(document['features']):,} ({shortened(document['features'])})"),
            ("in use", None if in_use is None else len(in_use)),
            ("arcs", None if arcs is None else len(arcs)),
            ("parameters", document["parameters"]),
            ("structure", document["structure"] if arcs is not None and len(arcs) <= 40 else None),
            *more,
        ]
    )


def _told(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float, bool)) else repr(value)


def _cut(text: str, n: int) -> str:
    return text + (f"\n... and {n - _MOST_LINES:,} more (--json lists all)" if n > _MOST_LINES else "")


COMMAND = Command(
    "info",
    "FILE",
    "Describe a file. Of a network: variables, states, parents, parameters, and the largest clique, on which the "
    "cost of exact inference depends. Of a classifier: model, target, features, structure. Of rows: the columns, their "
    "kinds and states, and the number of missing values.",
    (
        Example("an embedded network", "bntk info asia"),
        Example("a file of rows in which ? is a missing value", "bntk info asia.csv --na ?"),
        Example("a classifier, for a program", "bntk info dysp.json --json"),
    ),
    _add_options,
    _run,
)
