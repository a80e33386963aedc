"""``bntk plot``: a picture of a network."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.inputs import NO_VARIABLE, check_names, given, load_structure
from bntk.cli.options import add_output, names, positive
from bntk.cli.output import PICTURES, check_can_be_written, write_file


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "structure", metavar="NETWORK", help="a network (file or embedded), a classifier, or text such as 'a -> b <- c'"
    )
    parser.add_argument("--given", metavar="NAME=STATE", nargs="+", default=[], help="evidence; posteriors become bars")
    parser.add_argument("--bars", action="store_true", help="bars also without evidence")
    parser.add_argument("--target", metavar="NAME,...", type=names, default=(), help="variables in another colour")
    parser.add_argument("--title", help="a line above the picture")
    parser.add_argument("--dpi", type=positive, default=150, help="dots per inch of a .png (default 150)")
    add_output(parser, "the picture: .png, .svg or .pdf", required=True)


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, PICTURES)
    dag, network = load_structure(options.structure)
    check_names(options.target, dag.nodes, NO_VARIABLE)
    import matplotlib

    matplotlib.use("Agg")  # without a screen, whatever is set up
    settings: dict[str, Any] = {"title": options.title, "target": options.target}
    if network is not None:
        evidence = given(network, options.given)
        axes = network.plot(given=evidence if evidence or options.bars else None, **settings)
    elif options.given or options.bars:
        raise UsageError("--given and --bars need a network; a structure has no probabilities")
    else:
        axes = dag.plot(**settings)
    write_file(options.output, _drawn(axes.figure, Path(options.output).suffix.lower()[1:], options.dpi))


def _drawn(figure: Any, form: str, dpi: int) -> bytes:
    """The picture as the bytes of a file, the same for the same picture."""
    import matplotlib
    from matplotlib import pyplot

    stamps = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "bntk"}):
        figure.savefig(drawn, format=form, dpi=dpi, metadata=stamps[form])
    pyplot.close(figure)
    return drawn.getvalue()


COMMAND = Command(
    "plot",
    "NETWORK -o PICTURE",
    "Draw a network in layers, arcs pointing downwards. With evidence, or --bars, the probabilities of each variable "
    "are bars inside its node.",
    (
        Example("an embedded network", "bntk plot asia -o asia.png"),
        Example("with evidence", "bntk plot asia --given xray=yes smoke=no --target lung -o lung.svg"),
        Example("a structure in words", "bntk plot 'rain -> wet <- sprinkler' -o lawn.pdf"),
    ),
    _add_options,
    _run,
)
