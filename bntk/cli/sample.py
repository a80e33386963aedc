"""``bntk sample``: rows drawn from a network."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bntk.cli.command import Command, Example
from bntk.cli.inputs import given, load_network, soft
from bntk.cli.options import add_evidence, add_network, add_output, add_seed, natural, share
from bntk.cli.output import ROW_SUFFIXES, check_can_be_written, write_rows


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument("-n", "--rows", type=natural, default=1000, help="how many rows (default 1000)")
    add_evidence(parser)
    parser.add_argument("--missing", type=share, default=0.0, help="share of cells to leave empty, at random")
    add_seed(parser)
    add_output(parser, "a .csv, .tsv or .parquet file (default: CSV to standard output)")


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, ROW_SUFFIXES, packed=True)
    network = load_network(options.network)
    known, likely = given(network, options.given), soft(network, options.soft)
    rows = network.sample(options.rows, options.seed, known or None, likely or None)
    if options.missing:
        from bntk.datasets import with_missing

        rows = with_missing(rows, options.missing, seed=options.seed)
    write_rows(rows.to_pandas(), options.output)


COMMAND = Command(
    "sample",
    "NETWORK",
    "Draw independent rows from a network, or from its posterior given evidence. The same seed gives the same rows.",
    (
        Example("rows of an embedded network", "bntk sample asia -n 2000 --seed 1 -o asia.csv"),
        Example(
            "patients with a dark X-ray, a tenth of the cells missing",
            "bntk sample asia -n 5 --given xray=yes --missing 0.1",
        ),
    ),
    _add_options,
    _run,
)
