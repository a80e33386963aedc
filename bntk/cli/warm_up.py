"""``bntk warm-up``: all kernels compiled and kept, for containers, continuous integration, or before a lecture."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bntk.cli.command import Command, Example
from bntk.cli.options import add_json
from bntk.cli.output import emit, facts, shows_progress


def _add_options(parser: ArgumentParser) -> None:
    add_json(parser)


def _run(options: Namespace) -> None:
    from bntk.warming import warm_up

    done = warm_up(progress=shows_progress(options))
    document = {"compiled": done.n_compiled, "seconds": round(done.seconds, 1), "folder": done.folder}
    text = [("compiled", f"{done.n_compiled:,} kernels in {done.seconds:.0f} s"), ("kept in", done.folder)]
    emit(options, document, lambda: facts(text))


COMMAND = Command(
    "warm-up",
    "",
    "Compile the kernels for this machine and keep them in the folder of the cache: beside the package, or in the "
    "folder that the environment variable NUMBA_CACHE_DIR names. Later commands and programs load them from there. "
    "Kernels that are there already are not compiled again.",
    (Example("in the last step of a Dockerfile, say", "bntk warm-up"),),
    _add_options,
    _run,
)
