"""``bntk impute``: rows with their missing values filled in."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bntk.cli.command import Command, Example
from bntk.cli.inputs import load_network
from bntk.cli.options import add_data, add_network, add_output, add_seed, one_of
from bntk.cli.output import ROW_SUFFIXES, check_can_be_written, note, write_rows
from bntk.cli.rows import read_data, rows_for, shared_columns

WAYS = ("mpe", "mode", "sample")


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    add_data(parser)
    parser.add_argument(
        "--how", type=one_of(WAYS), default="mpe",
        help="mpe: the most probable values of a row together (default); mode: each by itself; sample: drawn",
    )  # fmt: skip
    parser.add_argument("--add", action="store_true", help="also the variables that the rows have no column of")
    add_seed(parser)
    add_output(parser, "a .csv, .tsv or .parquet file (default: CSV to standard output)")


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, ROW_SUFFIXES, packed=True)
    network = load_network(options.network)
    data = read_data(options)
    there = shared_columns(data, network.names, options.network)
    filled = network.impute(rows_for(network, data, there), options.how, options.seed).to_pandas()
    frame, count = data.frame(data.names), 0
    for name in there:
        known = data.is_known(name)
        gaps = ~known & filled[name].notna().to_numpy()
        count += int(gaps.sum())
        if gaps.any():
            column = data.cells(name)
            column[gaps] = filled[name].astype(object).to_numpy()[gaps]
            frame[name] = column
    if options.add:
        for name in network.names:
            if name not in there:
                frame[name] = filled[name].astype(object).to_numpy()
    note(f"{count:,} missing values were filled in")
    write_rows(frame, options.output)


COMMAND = Command(
    "impute",
    "NETWORK DATA",
    "Fill in the missing values of rows by a network, given the observed values of each row. What is observed stays as "
    "it is, and so do columns that the network does not have.",
    (
        Example("the most probable values", "bntk impute asia incomplete.csv -o complete.csv"),
        Example("values drawn from the posterior", "bntk impute asia.bif incomplete.csv --how sample --seed 1"),
    ),
    _add_options,
    _run,
)
