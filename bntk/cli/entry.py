"""From the words of the command line to a command, and from its errors to one line and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, NoReturn

import bntk
from bntk.cli.command import Command, Example, UsageError, examples_text
from bntk.cli.options import Stored, add_common, in_options
from bntk.cli.output import STANDARD_OUTPUT, one_line, showing_notes, write_out
from bntk.errors import BntkError, did_you_mean

#: The commands, in the order in which one meets them; each is in the module of its name.
COMMANDS = {
    "demo": "learn from embedded data, compare, draw a picture",
    "info": "describe a file: network, classifier or rows",
    "learn": "learn a network, or a classifier, from rows",
    "fit": "learn the tables of a network whose structure is known",
    "evaluate": "cross-validate one or several classifiers",
    "predict": "label rows with a classifier or a network",
    "query": "query a network: posteriors, most probable states",
    "plot": "draw a network",
    "explore": "write a network as a page that anyone can ask",
    "convert": "write a network in another file format",
    "sample": "draw rows from a network",
    "warm-up": "compile all kernels, so that nothing waits for it later",
}
ERROR, USAGE, INTERRUPTED = 1, 2, 130

EXAMPLES = (
    Example("rows to learn from, drawn from an embedded network", "bntk sample asia -o asia.csv"),
    Example("a trained classifier is one file ...", "bntk learn asia.csv --target dysp --model tan -o dysp.json"),
    Example("... that labels other rows", "bntk predict dysp.json new.csv -o labels.csv"),
    Example("query a network", "bntk query asia lung --given xray=yes smoke=yes"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code.

    0 is success; 1 an error in data or files, which is reported in one line on standard error; 2 wrong usage; 130 an
    interrupt by Ctrl-C. ``--debug``, or a variable ``BNTK_DEBUG`` in the environment, raises errors as they are.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug, options = bool(os.environ.get("BNTK_DEBUG")), argparse.Namespace()
    try:
        options = _parsed(words)
        debug = debug or options.debug
        with showing_notes(options):
            options.run(options)
            write_out()
    except SystemExit as stop:  # argparse has said all: help, a version, or what is wrong
        return stop.code if isinstance(stop.code, int) else USAGE
    except BrokenPipeError:  # whoever read the output has seen enough
        _close_output()
        return ERROR
    except KeyboardInterrupt:
        print("bntk: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename == STANDARD_OUTPUT:
            _close_output()
        if debug:
            raise
        print(f"bntk: {in_options(_told(error), vars(options))}", file=sys.stderr)
        return USAGE if isinstance(error, UsageError) else ERROR
    return 0


def load(name: str) -> Command:
    """The command of that name; the others are not imported."""
    command: Command = importlib.import_module(f"bntk.cli.{name.replace('-', '_')}").COMMAND
    return command


def parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line, with the options of one command."""
    whole = _Parser(
        prog="bntk",
        description="Bayesian networks and Bayesian network classifiers at the command line.",
        epilog=examples_text(EXAMPLES) + "\n\nSee bntk COMMAND --help for the options and examples of a command.",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"bntk {bntk.__version__}")
    several = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if name == chosen:
            _add(several, load(name), summary)
        else:
            several.add_parser(name, help=summary)
    return whole


def _add(several: Any, command: Command, summary: str) -> None:
    one = several.add_parser(
        command.name,
        usage=" ".join(f"bntk {command.name} {command.words} [options]".split()),
        help=summary,
        description=command.description,
        epilog=examples_text(command.examples),
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    command.add_options(one)
    add_common(one)
    one.set_defaults(run=command.run)


class _Formatter(argparse.HelpFormatter):
    """Fills the paragraphs of descriptions; what is indented stays as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            paragraph if "\n" in paragraph else textwrap.fill(paragraph, width) for paragraph in text.split("\n\n")
        )


class _Parser(argparse.ArgumentParser):
    """Errors in one line; an option that is repeated adds to its list, and is refused where it has one value."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.register("action", None, Stored)  # what an option does that names no other action

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {one_line(message)} (see {self.prog} --help)\n")


def _parsed(words: list[str]) -> argparse.Namespace:
    whole = parser(words[0] if words else None)
    if not words:
        whole.print_help()
        whole.exit(USAGE)
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        whole.error(f"there is no command {words[0]!r}{did_you_mean(words[0], COMMANDS)}")
    return whole.parse_args(words)


def _told(error: Exception) -> str:
    """An error in one line: what is wrong, and where."""
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    if isinstance(error, (BntkError, OSError, ValueError, ImportError)) and str(error):
        return one_line(str(error))
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    what = one_line(f"{type(error).__name__}: {error}")
    return f"unexpected {what}; this is a fault of bntk, and --debug shows where it happened"


def _close_output() -> None:
    """Let nothing more be written, so that the interpreter does not complain when it flushes at the end."""
    with contextlib.suppress(OSError, ValueError):  # where it is no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
