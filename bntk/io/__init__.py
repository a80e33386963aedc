"""Network files: the suffix says which format, ``.gz`` after it compresses."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bntk.errors import DataError

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

#: Suffix -> the module that reads (``parse``) and writes (``dump``) the format.
FORMATS = {".bif": "bntk.io.bif"}


def load(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a network from a file; the suffix says which format (``.bif``, also ``.bif.gz``)."""
    from bntk.io.files import read_text

    network: BayesianNetwork = _format(path).parse(read_text(path), source=os.fspath(path))
    return network


def save(network: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network to a file; a crash on the way leaves the old file as it was."""
    from bntk.io.files import write_text

    write_text(path, _format(path).dump(network))


def _format(path: str | os.PathLike[str]) -> Any:
    suffixes = [s.lower() for s in Path(path).suffixes]
    suffix = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    if suffix not in FORMATS:
        raise DataError(
            f"{os.fspath(path)}: the suffix {suffix!r} is no known network format; known are {list(FORMATS)} "
            "(each also with .gz)"
        )
    return importlib.import_module(FORMATS[suffix])
