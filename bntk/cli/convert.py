"""``bntk convert``: a network file in another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bntk.cli.command import Command, Example
from bntk.cli.inputs import load_network
from bntk.cli.options import add_network
from bntk.cli.output import check_can_be_written, note, suffix_of


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument("output", metavar="OUT", help="the suffix says which format; a file there is replaced")


def _run(options: Namespace) -> None:
    from bntk.io import FORMATS

    check_can_be_written(options.output, tuple(FORMATS), packed=True)
    network = load_network(options.network)
    network.save(options.output)
    if suffix_of(options.output) == ".uai":
        note(f"{options.output}: the UAI format has no names; variables and states are numbered in it")
    elif suffix_of(options.output) != ".json" and network.cpts[0].counts is not None:
        note(f"{options.output}: only .json keeps the counts, with which a network can learn from more rows")


COMMAND = Command(
    "convert",
    "NETWORK OUT",
    "Write a network in another format: .bif, .json, .xmlbif (.bifxml, .xml), .net (Hugin), .xdsl (GeNIe), .uai, each "
    "also with .gz after it. Structure, states and every digit of the numbers are kept; .uai has no names. Of a "
    "classifier, the network that it has learned is written.",
    (
        Example("an embedded network as a file", "bntk convert asia asia.bif"),
        Example("for GeNIe, compressed", "bntk convert asia.bif asia.xdsl.gz"),
        Example("what a classifier has learned", "bntk convert dysp.json dysp.net"),
    ),
    _add_options,
    _run,
)
