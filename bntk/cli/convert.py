"""``bntk convert``: a network file in another format."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bntk._declared import FORMATS
from bntk.cli.command import Command, Example
from bntk.cli.inputs import load_network
from bntk.cli.options import add_force, add_network
from bntk.cli.output import check_can_be_written, note, suffix_of


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument("output", metavar="OUT", help="in the format of its suffix; a file there is replaced")
    parser.add_argument(
        "--normalize",
        action="store_true",
        help="divide the rows of tables by their sums, where these are not 1 (files of Hugin need not say so)",
    )
    add_force(parser)


def _run(options: Namespace) -> None:
    check_can_be_written(options.output, tuple(FORMATS), packed=True)
    network = load_network(options.network, options.normalize)
    network.save(options.output, force=options.force)
    written = FORMATS[suffix_of(options.output)]
    if not written.has_names:
        note(f"{options.output}: this format has no names; variables and states are numbered in it")
    elif not written.keeps_counts and any(cpt.counts is not None for cpt in network.cpts):
        keeping = " and ".join(suffix for suffix in FORMATS.helps if FORMATS[suffix].keeps_counts)
        note(f"{options.output}: only {keeping} keeps the counts, with which a network can learn from more rows")


COMMAND = Command(
    "convert",
    "NETWORK OUT",
    "Write a network in another format. Structure, states and every digit of the numbers are kept. Of a classifier, "
    "the network that it has learned is written.\n\nFormats, each also with .gz after the suffix:\n"
    + "\n".join(f"  {suffix:<9} {what}" for suffix, what in FORMATS.helps.items()),
    (
        Example("an embedded network as a file", "bntk convert asia asia.bif"),
        Example("for GeNIe, compressed", "bntk convert asia.bif asia.xdsl.gz"),
        Example("tables of frequencies as probabilities", "bntk convert counts.bif asia.bif --normalize"),
        Example("what a classifier has learned", "bntk convert dysp.json dysp.net"),
    ),
    _add_options,
    _run,
)
