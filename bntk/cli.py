"""The ``bntk`` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import bntk
from bntk.errors import BntkError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 0, or 1 after an error, which is told in one line."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (BntkError, OSError) as error:
        print(f"bntk: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bntk", description="Bayesian network toolkit.")
    parser.add_argument("--version", action="version", version=f"bntk {bntk.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="learn from embedded data, print a comparison, save a picture",
        description="Draw rows from the chest clinic network (asia), remove some cells, learn the tables again, "
        "compare structures on fresh rows, and save a picture of the network.",
        epilog="example: bntk demo --rows 20000 --missing 0.2 --picture asia.png",
    )
    demo.add_argument("--rows", type=_positive, default=5000, help="rows to learn from (default 5000)")
    demo.add_argument("--missing", type=_share, default=0.1, help="share of cells to remove (default 0.1)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the draw (default 0)")
    demo.add_argument("--picture", type=Path, default=Path("bntk-demo.png"), help="default bntk-demo.png")
    demo.set_defaults(run=_demo)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text}")
    return number


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"expected a share from 0 to below 1, got {text}")
    return share


def _demo(options: argparse.Namespace) -> None:
    from bntk.demo import run

    run(options.rows, options.missing, options.seed, options.picture)


if __name__ == "__main__":
    sys.exit(main())
