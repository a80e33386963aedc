"""``bntk explore``: a network as a page that answers by itself."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from bntk.cli.command import Command, Example
from bntk.cli.inputs import NO_VARIABLE, check_names, given, is_network, load_model, soft
from bntk.cli.options import add_evidence, add_network, add_output, positive
from bntk.cli.output import check_can_be_written, write_out
from bntk.explore.limits import MAX_ENTRIES, SUFFIXES


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    add_evidence(parser)
    parser.add_argument(
        "--target", metavar="NAME", help="the variable of interest; of a classifier, by default its class"
    )
    parser.add_argument("--title", help="a line above the page; by default the name of the network")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    parser.add_argument(
        "--max-entries",
        metavar="N",
        type=positive,
        help=f"clique entries that the page may run through at a click (default {MAX_ENTRIES:,})",
    )
    add_output(parser, "the page, .html; by default the name of the network")


def _run(options: Namespace) -> None:
    path = options.output or f"{_stem(options.network)}.html"
    check_can_be_written(path, SUFFIXES)
    from bntk.explore.explorer import network_of

    model = load_model(options.network)
    network = model if is_network(model) else network_of(model)[0]
    if options.target is not None:
        check_names([options.target], network.names, NO_VARIABLE)
    settings: dict[str, Any] = {
        "target": options.target,
        "given": given(network, options.given),
        "soft": soft(network, options.soft),
        "title": options.title or _stem(options.network),
        "max_entries": options.max_entries,
    }
    model.explore(path, **settings)
    write_out(f"{path}\n")
    if options.open:
        import webbrowser

        webbrowser.open(Path(path).resolve().as_uri())


def _stem(source: str) -> str:
    """The name of a network: that of its file without suffixes, or the embedded one."""
    name = Path(source).name
    return name.removesuffix(".gz").rpartition(".")[0] or name


COMMAND = Command(
    "explore",
    "NETWORK",
    "Write a network as one HTML page that anyone can open and ask: nodes hold bars, and a click on a state changes "
    "all others at once. The page computes exact posteriors by itself, without a server or a connection.",
    (
        Example("an embedded network, as asia.html", "bntk explore asia"),
        Example("with findings to begin with", "bntk explore asia --given xray=yes --target lung -o lung.html"),
    ),
    _add_options,
    _run,
)
