"""``bntk discretize``: columns of numbers as intervals."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.options import add_data, add_json, add_output, names, one_of, positive
from bntk.cli.output import ROW_SUFFIXES, check_can_be_written, emit, note, table, write_rows
from bntk.cli.rows import read_data
from bntk.errors import DataError

METHODS = ("mdl", "frequency", "width", "hartemink")


def _add_options(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument(
        "--method", type=one_of(METHODS),
        help="mdl: where the class changes (default with --target); frequency: about equal numbers of rows (default "
        "without); width: equal widths; hartemink: many intervals, merged so that the columns tell of one another",
    )  # fmt: skip
    parser.add_argument("--target", metavar="COLUMN", help="the class, for --method mdl; it stays as it is")
    parser.add_argument("--bins", type=positive, default=5, metavar="N", help="intervals, except of mdl (default 5)")
    parser.add_argument(
        "--initial-bins", type=positive, metavar="N", help="intervals before hartemink merges them (default 4 x bins)"
    )
    parser.add_argument("--columns", metavar="COLUMN,...", type=names, default=(), help="only these columns")
    add_output(parser, "a .csv, .tsv or .parquet file (default: CSV to standard output)")
    add_json(parser)


def _run(options: Namespace) -> None:
    from bntk.data.discretizer import Discretizer

    check_can_be_written(options.output, ROW_SUFFIXES, packed=True)
    if options.json and options.output in (None, "-"):
        raise UsageError("--json prints the cut points; give the file of the rows with -o FILE")
    data = read_data(options)
    method = options.method or ("mdl" if options.target else "frequency")
    if method == "mdl" and not options.target:
        raise UsageError("--method mdl needs the class: --target COLUMN")
    if options.initial_bins is not None and method != "hartemink":
        raise UsageError(f"--initial-bins is for --method hartemink, not {method}")
    if options.initial_bins is not None and options.initial_bins < options.bins:
        raise UsageError(
            f"--initial-bins {options.initial_bins} is below --bins {options.bins}, which they are merged to"
        )
    data.require([*options.columns, *([options.target] if options.target else [])])
    numeric = [name for name in data.names if data.is_numeric(name) and name != options.target and data.states(name)]
    for name in options.columns:
        if name not in numeric:
            raise DataError(f"{data.source}: the column {name!r} {_why_not(name == options.target)}")
    chosen = list(options.columns) or numeric
    frame = data.frame(data.names)
    if not chosen:
        note(f"{data.source} has no column of numbers; the rows stay as they are")
        cuts: dict[str, list[float]] = {}
    else:
        y = None if options.target is None or method != "mdl" else data.cells(options.target)
        labelled = [name for name in data.names if name not in numeric] if method == "hartemink" else []
        read = frame[[*chosen, *labelled]]
        discretizer = Discretizer(method, options.bins, chosen, initial_bins=options.initial_bins).fit(read, y)
        frame[chosen] = discretizer.transform(read)[chosen].astype(object)
        cuts = {name: values.tolist() for name, values in discretizer.cuts_.items()}
    write_rows(frame, options.output)
    if options.output not in (None, "-"):
        document = {"rows": data.n_rows, "method": method, "cuts": cuts, "file": options.output}
        emit(options, document, lambda: _text(cuts))


def _why_not(is_target: bool) -> str:
    return "is the target, which stays as it is" if is_target else "does not hold numbers"


def _text(cuts: dict[str, list[float]]) -> str:
    rows: list[list[Any]] = [[name, len(at) + 1, ", ".join(f"{cut:g}" for cut in at)] for name, at in cuts.items()]
    return table(["column", "intervals", "cut points"], rows)


COMMAND = Command(
    "discretize",
    "DATA",
    "Cut columns of numbers into intervals, such as '<= 2.5', '(2.5, 4]' and '> 4'; a value equal to a cut point is "
    "left of it. Other columns stay as they are, and missing values stay missing.",
    (
        Example("where the class changes", "bntk discretize measured.csv --target kind -o intervals.csv"),
        Example("four intervals with about equal numbers of rows", "bntk discretize measured.csv --bins 4"),
    ),
    _add_options,
    _run,
)
