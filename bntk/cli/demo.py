"""``bntk demo``: a tour of the package on embedded data."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bntk._interrupts import raising_interrupts
from bntk.cli.command import Command, Example
from bntk.cli.options import add_seed, positive, share
from bntk.cli.output import PICTURES, STANDARD_OUTPUT, check_can_be_written


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--rows", type=positive, default=5000, help="rows to learn from (default 5000)")
    parser.add_argument("--missing", type=share, default=0.1, help="share of cells to remove (default 0.1)")
    parser.add_argument("--picture", type=Path, default=Path("bntk-demo.png"), help="default bntk-demo.png")
    add_seed(parser)


def _run(options: Namespace) -> None:
    from bntk.demo import run
    from bntk.io.files import naming

    check_can_be_written(str(options.picture), PICTURES)
    with raising_interrupts(), naming(STANDARD_OUTPUT):
        run(options.rows, options.missing, options.seed, options.picture)


COMMAND = Command(
    "demo",
    "",
    "Draw rows from the chest clinic network (asia), remove some cells, learn structure, tables and classifiers again, "
    "compare them on fresh rows, and save a picture of the network.",
    (Example("fewer rows, with more cells missing", "bntk demo --rows 1000 --missing 0.2 --picture asia.png"),),
    _add_options,
    _run,
)
