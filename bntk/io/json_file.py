"""bntk's own files: JSON whose key ``format`` tells whether it holds a network or a classifier."""

from __future__ import annotations

from typing import Any

from bntk.io import json_network
from bntk.io.format import Format
from bntk.io.json_network import dump as dump
from bntk.io.json_text import read_json


def parse(text: str, source: str = "", normalize: bool = False) -> Any:
    """Read the network or the classifier that the text describes."""
    document = read_json(text, source)
    if document.get("format") != "bntk classifier":
        return json_network.read_network(document, source, normalize)
    from bntk.classifiers.saving import read_classifier

    return read_classifier(document, source)


class JSON(Format):
    """bntk's own: keeps everything, also what a classifier has learned."""

    suffixes = (".json",)
    keeps_counts = True
    parse, dump = staticmethod(parse), staticmethod(dump)
