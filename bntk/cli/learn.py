"""``bntk learn``: a network or a classifier from rows."""

from __future__ import annotations

import re
import time
import warnings
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

import bntk
from bntk._declared import FORMATS
from bntk._progress import showing_progress
from bntk.cli.command import Command, Example, UsageError
from bntk.cli.info import classifier_text
from bntk.cli.inputs import check_names
from bntk.cli.models import Training, classifiers, describe
from bntk.cli.options import (
    DEFAULT,
    DEFAULT_MULTI,
    SHAPES,
    ModelSpec,
    add_data,
    add_force,
    add_json,
    add_model_options,
    add_output,
    add_target,
    add_target_cuts,
    arc,
    made,
    model,
    model_help,
    names,
    suffixes,
)
from bntk.cli.output import check_can_be_written, emit, facts, note, shows_progress
from bntk.cli.rows import read_data, reading
from bntk.cli.streamed import StreamedTraining, files_of_rows, is_large, passes_of, streamed_rows
from bntk.errors import DataError, InterruptedWarning

if TYPE_CHECKING:
    from bntk.data.table import Table
    from bntk.learning.space import Space
    from bntk.network import BayesianNetwork

# That of bntk.learn and bntk.structural_em.
DEFAULT_SCORE = "bdeu"


def _add_options(parser: ArgumentParser) -> None:
    add_data(parser, several=True)
    add_target(parser)
    add_target_cuts(parser)
    group = add_model_options(parser)
    group.add_argument("--model", type=model, help="see above; by default dag, tan with a target, mdbnc with several")
    group.add_argument("--required", metavar="'A->B'", type=arc, nargs="+", help="arcs that must be there; quote them")
    group.add_argument("--forbidden", metavar="'A->B'", type=arc, nargs="+", help="arcs that must not be there")
    group.add_argument(
        "--tiers", metavar="A,B", type=names, nargs="+", help="no arc from a later tier to an earlier one"
    )
    add_output(parser, f"the file of the network ({suffixes()}) or classifier (.json)")
    add_force(parser)
    add_json(parser)


def _run(options: Namespace) -> None:
    options.files = files_of_rows(options.data)
    options.data = options.data[0] if len(options.data) == 1 else f"{options.data[0]} and others"
    options.streams = options.stream or is_large(options.files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)  # said here, with what becomes of the result
        if options.target:
            check_can_be_written(options.output, (".json",), packed=True)
            _learn_classifier(options)
        else:
            check_can_be_written(options.output, tuple(FORMATS), packed=True)
            _learn_network(options)


# ---- classifiers ---------------------------------------------------------------------------------------------------


def _learn_classifier(options: Namespace) -> None:
    training = StreamedTraining(options) if options.streams else Training(read_data(options), options.target, options)
    spec = options.model or ModelSpec(DEFAULT_MULTI if training.several else DEFAULT)
    [classifier] = classifiers([spec], options, training)
    started = time.perf_counter()
    with showing_progress(shows_progress(options)):
        classifier.fit(training.X, training.Y)
    seconds = time.perf_counter() - started
    _save(classifier, options)
    found = getattr(classifier, "search_", None)
    document = {
        **describe(classifier),
        "rows": len(training.X),
        **passes_of(training.X),
        "score": None if found is None else found.score,
        "search": None if found is None else found.search,
        "interrupted": bool(getattr(found, "interrupted", False)),
        "seconds": seconds,
        "file": options.output,
    }
    _tell_of_interrupt(document)
    rest = [("rows", len(training.X)), ("seconds", seconds), ("file", options.output or "none: -o FILE saves it")]
    emit(options, document, lambda: classifier_text(document, rest))


# ---- networks ------------------------------------------------------------------------------------------------------


def _learn_network(options: Namespace) -> None:
    spec = options.model or ModelSpec("dag")
    if spec.name not in SHAPES:
        raise UsageError(f"{spec.name} is a classifier: say --target COLUMN; without one: {', '.join(SHAPES)}")
    if spec.options or options.base:
        raise UsageError("options of a model (name:option=value, --base) are for classifiers, with --target")
    rows = _rows(options)
    space = _space(spec.name, rows.names, options)
    started = time.perf_counter()
    network = _searched(rows, space, options)
    seconds = time.perf_counter() - started
    _save(network, options)
    document = {
        "kind": "network",
        "rows": rows.n_rows,
        **(passes_of(rows.source) if options.streams else {}),
        "variables": list(network.names),
        "arcs": [list(pair) for pair in network.dag.arcs],
        "structure": str(network.dag),
        "parameters": network.n_parameters,
        **_report(network, options),
        "seconds": seconds,
        "file": options.output,
    }
    _tell_of_interrupt(document)
    emit(options, document, lambda: _network_text(document))


def _rows(options: Namespace) -> Any:
    """The rows to learn a network from: a table, or a counter of those that are read in passes."""
    if options.streams:
        if options.missing not in (None, "available"):
            raise UsageError(f"--missing {options.missing} looks at single rows, which are not kept: take available")
        with showing_progress(shows_progress(options)):
            return streamed_rows(options).counter(reading(options))
    data = read_data(options)
    rows = data.table(reading=reading(options))
    return complete_rows(rows, data.source) if options.missing == "drop" else rows


def _network_text(document: dict[str, Any]) -> str:
    score, best = document["score"], " (no structure scores higher)" if document["exact"] else ""
    return facts(
        [
            ("variables", len(document["variables"])),
            ("rows", document["rows"]),
            ("passes", document.get("passes")),
            ("arcs", len(document["arcs"])),
            ("parameters", document["parameters"]),
            (document["score_name"], None if score is None else f"{score:,.4f}{best}"),
            ("search", _without_options(document["search"] or "")),
            ("seconds", document["seconds"]),
            ("structure", document["structure"] if len(document["arcs"]) <= 40 else None),
            ("pdag", (document["pdag"] or None) if len(document["arcs"]) <= 40 else None),
            ("file", document["file"] or "none: -o FILE saves it"),
        ]
    )


def _without_options(search: str) -> str:
    """The names of searches alone; options may be searches with options."""
    shorter = re.sub(r"\([^()]*\)", "", search)
    return search if shorter == search else _without_options(shorter)


def _report(network: BayesianNetwork, options: Namespace) -> dict[str, Any]:
    """How the structure was found."""
    from bntk.learning.search import SearchResult
    from bntk.learning.structural_em import StructuralEMResult

    found = network.report
    if isinstance(found, StructuralEMResult):
        ways = {"score": found.objective, "search": "structural EM", "exact": False, "interrupted": found.interrupted}
    elif isinstance(found, SearchResult):
        ways = {"score": found.score, "search": found.search, "exact": found.exact, "interrupted": found.interrupted}
        ways["pdag"] = None if found.pdag is None else str(found.pdag)
    else:
        ways = {"score": None, "search": None, "exact": False, "interrupted": False}
    return {"score_name": options.score.name if options.score else DEFAULT_SCORE, "pdag": None, **ways}


def _searched(rows: Any, space: Space, options: Namespace) -> BayesianNetwork:
    score = made(options.score) or DEFAULT_SCORE
    search, prior = made(options.search) or "auto", made(options.prior)
    shown = shows_progress(options)
    if options.missing == "em":
        return bntk.structural_em(rows, score, space, search, prior, seed=options.seed, progress=shown)
    if options.missing in ("marginal", "state"):
        raise UsageError(f"--missing {options.missing} is for classifiers; for networks: available, drop, em")
    return bntk.learn(rows, score, space, search, prior, seed=options.seed, progress=shown)


def complete_rows(rows: Table, source: str) -> Table:
    """The rows without missing values; a note tells how many are left out."""
    complete = rows.drop_missing()
    if not complete.n_rows:
        raise DataError(f"no row of {source} is complete; take --missing em with bntk learn")
    if complete.n_rows < rows.n_rows:
        note(f"{rows.n_rows - complete.n_rows:,} of {rows.n_rows:,} rows have missing values and are left out")
    return complete


def _space(shape: str, columns: tuple[str, ...], options: Namespace) -> Space:
    rules = {name: value for name in ("required", "forbidden", "tiers") if (value := getattr(options, name))}
    check_names(
        [name for rule in rules.values() for of in rule for name in of], columns, f"{options.data} has no column"
    )
    if options.max_parents is not None:
        rules["max_parents"] = options.max_parents
    groups = () if shape == "dag" else (bntk.Group(columns, shape),)
    return bntk.Space(columns, groups=groups, **rules)


# ---- both ----------------------------------------------------------------------------------------------------------


def _save(result: Any, options: Namespace) -> None:
    if options.output is not None:
        result.save(options.output, force=options.force)


def _tell_of_interrupt(document: dict[str, Any]) -> None:
    if document["interrupted"]:
        kept = "is saved" if document["file"] else "follows, and is not saved without -o"
        note(f"the search was interrupted; the best structure so far {kept}")


COMMAND = Command(
    "learn",
    "DATA [DATA ...]",
    "Learn from rows: with --target a classifier, in one file that bntk predict takes; without, the structure and the "
    "tables of a network.\n\nCtrl-C ends a search; the best structure so far is kept and saved. Rows that "
    "would take much of the memory are read in passes, batch by batch, also from several files, a folder or a quoted "
    "pattern.\n\n"
    f"Models without a target: {', '.join(SHAPES)}.\n\n" + model_help(),
    (
        Example(
            "a classifier (tree-augmented naive Bayes)", "bntk learn asia.csv --target dysp --model tan -o dysp.json"
        ),
        Example(
            "a network, by BIC, at most two parents", "bntk learn asia.csv --score bic --max-parents 2 -o found.bif"
        ),
        Example(
            "with prior knowledge about the arcs",
            "bntk learn asia.csv --required 'smoke->lung' --tiers asia,smoke tub,lung,bronc,either xray,dysp",
        ),
        Example(
            "numbers cut into intervals, missing values by EM",
            "bntk learn measured.csv --numeric frequency --missing em",
        ),
        Example(
            "many files, which need not fit into memory", "bntk learn 'asia*.csv' --stream --target dysp -o dysp.json"
        ),
        Example("two classes at once", "bntk learn asia.csv --target lung,bronc --model mdbnc -o both.json"),
    ),
    _add_options,
    _run,
)
