"""``bntk bootstrap``: how sure each arc of a learned network is."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import Any

import bntk
from bntk._declared import FORMATS, SCORES, SEARCHES
from bntk.cli.command import Command, Example
from bntk.cli.learn import DEFAULT_SCORE, complete_rows
from bntk.cli.options import (
    add_data,
    add_force,
    add_json,
    add_numeric,
    add_output,
    add_seed,
    made,
    natural,
    one_of,
    positive,
    prior,
    score,
    search,
    share,
    suffixes,
)
from bntk.cli.output import ROW_SUFFIXES, check_can_be_written, emit, facts, shows_progress, table, write_rows
from bntk.cli.rows import read_data, reading


def _add_options(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("-n", "--resamples", type=positive, default=100, metavar="N", help="how many (default 100)")
    parser.add_argument("--score", type=score, help=f"the score of structures: {', '.join(SCORES)}; bdeu:10 sets ess")
    searches = ", ".join(("auto", *SEARCHES))
    parser.add_argument(
        "--search", type=search, default="hc", help=f"{searches} (default hc); pc:alpha=0.01 has options"
    )
    parser.add_argument("--max-parents", type=natural, metavar="K", help="the largest number of parents of a variable")
    parser.add_argument(
        "--threshold",
        type=share,
        metavar="SHARE",
        help="arcs of the averaged network are stronger (default: estimated)",
    )
    parser.add_argument("--missing", type=one_of(("available", "drop")), help="drop: complete rows only")
    parser.add_argument(
        "--identifiers", type=one_of(("drop", "keep")), help="columns that identify rows (default drop)"
    )
    add_numeric(parser)
    add_seed(parser)
    parser.add_argument("--network", metavar="FILE", help=f"where the averaged network goes: {suffixes()}")
    parser.add_argument("--prior", type=prior, default="mle", help="of the tables of that network (default mle)")
    add_force(parser)
    add_output(parser, "all strengths as rows: .csv, .tsv or .parquet")
    add_json(parser)


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, ROW_SUFFIXES, packed=True)
    check_can_be_written(options.network, tuple(FORMATS), packed=True)
    data = read_data(options)
    rows = data.table(reading=reading(options))
    if options.missing == "drop":
        rows = complete_rows(rows, data.source)
    space = bntk.Space(rows.names, **({} if options.max_parents is None else {"max_parents": options.max_parents}))
    started = time.perf_counter()
    found = bntk.bootstrap_strengths(
        rows, made(options.score) or DEFAULT_SCORE, space, made(options.search), n=options.resamples, seed=options.seed,
        progress=shows_progress(options),
    )  # fmt: skip
    seconds = time.perf_counter() - started
    threshold = found.threshold() if options.threshold is None else options.threshold
    averaged, frame = found.averaged(threshold), found.to_frame()
    if options.network is not None:
        bntk.fit(averaged, rows, made(options.prior)).save(options.network, force=options.force)
    if options.output is not None:
        write_rows(frame, options.output)
        if options.output == "-":
            return
    document = {
        "rows": rows.n_rows,
        "resamples": found.n_structures,
        "threshold": threshold,
        "arcs": [list(arc) for arc in averaged.arcs],
        "structure": str(averaged),
        "strengths": frame.to_dict("records"),
        "seconds": seconds,
        "file": options.network,
    }
    emit(options, document, lambda: _text(document, averaged))


def _text(document: dict[str, Any], averaged: Any) -> str:
    pairs = [
        ("rows", document["rows"]),
        ("resamples", document["resamples"]),
        ("threshold", document["threshold"]),
        ("arcs above it", len(document["arcs"])),
        ("seconds", document["seconds"]),
        ("averaged network", document["file"] or "none: --network FILE saves it"),
    ]
    strong = [row for row in document["strengths"] if averaged.has_arc(row["from"], row["to"])]
    rows = [[f"{row['from']} -> {row['to']}", row["strength"], row["direction"]] for row in strong]
    return facts(pairs) + ("\n\n" + table(["arc", "strength", "direction"], rows) if rows else "")


COMMAND = Command(
    "bootstrap",
    "DATA",
    "Learn a network from each of many resamples of the rows, and count how often each arc is found: its strength is "
    "the share of the networks in which the two variables are joined, its direction the share of these with the arc "
    "this way round. The averaged network has the arcs above a threshold, which is estimated (Scutari and Nagarajan "
    "2013) unless it is given.",
    (
        Example("strengths of arcs", "bntk bootstrap asia.csv -n 20"),
        Example(
            "all of them as rows, and the averaged network",
            "bntk bootstrap asia.csv -n 20 --score bic --network averaged.bif --prior 1 -o strengths.csv",
        ),
    ),
    _add_options,
    _run,
)
