"""``bntk fit``: the tables of a known structure from rows."""

from __future__ import annotations

import time
import warnings
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

import bntk
from bntk._declared import FORMATS
from bntk.cli.command import Command, Example
from bntk.cli.inputs import load_structure
from bntk.cli.options import (
    add_data,
    add_force,
    add_json,
    add_numeric,
    add_output,
    add_seed,
    made,
    one_of,
    positive,
    prior,
    suffixes,
)
from bntk.cli.output import check_can_be_written, emit, facts, note, shows_progress
from bntk.cli.rows import Data, read_data, reading, rows_for, shared_columns
from bntk.errors import InterruptedWarning

if TYPE_CHECKING:
    from bntk.data.table import Table
    from bntk.graph.dag import DAG
    from bntk.network import BayesianNetwork


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "structure", metavar="STRUCTURE", help="a network (file or embedded), or text such as 'a -> b <- c; d'"
    )
    add_data(parser)
    parser.add_argument(
        "--prior",
        type=prior,
        default="mle",
        help="mle (default), a number for each cell, bdeu:ESS, backoff:ROWS or hdp",
    )
    parser.add_argument(
        "--missing", type=one_of(("auto", "available", "em")), default="auto",
        help="available: each table from the rows that are complete in it; em: from all observed cells; "
        "auto: em if a whole column is missing (default)",
    )  # fmt: skip
    parser.add_argument(
        "--starts", type=positive, default=1, metavar="N", help="starts of EM; the best is kept (default 1)"
    )
    add_numeric(parser)
    add_seed(parser)
    add_output(parser, f"the file of the network: {suffixes()}")
    add_force(parser)
    add_json(parser)


def _run(options: Namespace) -> None:
    from bntk.learning.em import EMResult

    check_can_be_written(options.output, tuple(FORMATS), packed=True)
    dag, network = load_structure(options.structure)
    data = read_data(options)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)  # said here, with what becomes of the result
        fitted, rows = _fitted(dag, network, data, options)
    seconds = time.perf_counter() - started
    if options.output is not None:
        fitted.save(options.output, force=options.force)
    em = fitted.report if isinstance(fitted.report, EMResult) else None
    likelihood = fitted.log_likelihood(rows) if em is None else em.log_likelihood
    if em is not None and em.interrupted:
        kept = "is saved" if options.output else "follows, and is not saved without -o"
        note(f"EM was interrupted; the network of its last iteration {kept}")
    elif em is not None and not em.converged:
        note(f"EM had not converged after {em.iterations} iterations")
    document = {
        "kind": "network",
        "rows": rows.n_rows,
        "variables": list(fitted.names),
        "arcs": [list(arc) for arc in fitted.dag.arcs],
        "parameters": fitted.n_parameters,
        "log_likelihood": likelihood,
        "em_iterations": None if em is None else em.iterations,
        "converged": None if em is None else em.converged,
        "seconds": seconds,
        "file": options.output,
    }
    pairs = [
        ("variables", len(fitted.names)),
        ("rows", rows.n_rows),
        ("arcs", fitted.dag.n_arcs),
        ("parameters", fitted.n_parameters),
        ("log-likelihood", likelihood),
        ("EM iterations", None if em is None else em.iterations),
        ("seconds", seconds),
        ("file", options.output or "none: -o FILE saves it"),
    ]
    emit(options, document, lambda: facts(pairs))


def _fitted(dag: DAG, network: BayesianNetwork | None, data: Data, options: Namespace) -> tuple[BayesianNetwork, Table]:
    """The network, and the rows it was learned from; states are those of the network where there is one."""
    if network is None:
        data.require(dag.nodes)
        rows, variables = data.table(dag.nodes, reading=reading(options)), None
    else:
        there = shared_columns(data, dag.nodes, options.structure)
        rows, variables = rows_for(network, data, there), network.variables
    hidden = rows.n_variables < len(dag.nodes)
    settings = {"prior": made(options.prior), "variables": variables}
    if options.missing == "em" or hidden:
        shown = shows_progress(options)
        return bntk.fit_em(dag, rows, n_starts=options.starts, seed=options.seed, progress=shown, **settings), rows
    return bntk.fit(dag, rows, missing="available", **settings), rows


COMMAND = Command(
    "fit",
    "STRUCTURE DATA",
    "Estimate the probabilities of a network with a known structure. Where the structure comes from a network, its "
    "variables and states are kept, and a column that the rows do not have is a hidden variable, learned by EM.\n\n"
    "Ctrl-C ends EM; the network of its last iteration is kept and saved.",
    (
        Example(
            "the tables of an embedded network, learned anew", "bntk fit asia asia.csv --prior bdeu:1 -o fitted.json"
        ),
        Example("a structure in words", "bntk fit 'smoke -> lung -> xray; smoke -> bronc' asia.csv -o small.bif"),
        Example("rows with missing values", "bntk fit asia incomplete.csv --missing em --prior 1 -o fitted.json"),
    ),
    _add_options,
    _run,
)
