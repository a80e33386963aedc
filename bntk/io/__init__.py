"""Files of networks and classifiers: the suffix says which format, ``.gz`` after it compresses."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bntk.errors import DataError

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

#: Suffix -> the module that reads (``parse``) and writes (``dump``) the format.
FORMATS = {
    ".bif": "bntk.io.bif",
    ".json": "bntk.io.json_file",
    ".xmlbif": "bntk.io.xmlbif",
    ".bifxml": "bntk.io.xmlbif",
    ".xml": "bntk.io.xmlbif",
    ".net": "bntk.io.net",
    ".xdsl": "bntk.io.xdsl",
    ".uai": "bntk.io.uai",
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a network or a classifier from a file; the suffix says which format.

    ``.bif``, ``.json`` (our own), ``.xmlbif`` (also ``.bifxml`` and ``.xml``), ``.net`` (Hugin), ``.xdsl`` (GeNIe),
    ``.uai``; each also with ``.gz`` after it. What cannot be read is one :class:`ParseError` that says where.

    Returns
    -------
    BayesianNetwork, or the fitted classifier whose ``save`` wrote the file (``.json`` only)
    """
    from bntk.io.files import read_raw, read_text

    form = _format(path)
    read = read_raw if getattr(form, "READS_BYTES", False) else read_text
    return form.parse(read(path), source=os.fspath(path))


def save(network: BayesianNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network to a file; a crash on the way leaves the old file as it was.

    The formats are those of :func:`load`. Structure, states and numbers survive in all of them, but ``.uai`` has no
    names; only ``.json`` keeps the types of states, what is ordered, counts and the prior. Positions of nodes are kept
    by ``.json``, ``.xmlbif``, ``.net`` and, rounded, ``.xdsl``.
    """
    from bntk.io.files import write_text

    write_text(path, _format(path).dump(network))


def to_pgmpy(network: BayesianNetwork) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork`` (the extra ``pgmpy``)."""
    from bntk.io import pgmpy_bridge

    return pgmpy_bridge.to_pgmpy(network)


def from_pgmpy(model: Any) -> BayesianNetwork:
    """The network of a ``pgmpy.models.DiscreteBayesianNetwork`` whose tables are all given."""
    from bntk.io import pgmpy_bridge

    return pgmpy_bridge.from_pgmpy(model)


def _format(path: str | os.PathLike[str]) -> Any:
    suffixes = [s.lower() for s in Path(path).suffixes]
    suffix = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    if suffix not in FORMATS:
        raise DataError(
            f"{os.fspath(path)}: the suffix {suffix!r} is no known network format; known are {list(FORMATS)} "
            "(each also with .gz)"
        )
    return importlib.import_module(FORMATS[suffix])
