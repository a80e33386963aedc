"""How long the text of a file becomes, worked out from its tables before it is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk.cpt import family_text
from bntk.errors import TooLargeError

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

#: Characters of a file beyond which it is written only if that is asked for.
LARGEST = 100_000_000
#: Characters that a number takes at most, with what separates it from the next.
LONGEST = 26
_SAMPLE = 256

#: Numbers of a file, with a name for messages.
Parts = Iterable[tuple[str, NDArray[Any]]]


def dumped(path: str | os.PathLike[str], parts: Callable[[], Parts], dump: Callable[[], str], force: bool) -> str:
    """The text of a file; one that is too large is refused, before it is made where the numbers alone are too many."""
    if not force and sum(array.size for _, array in parts()) * LONGEST > LARGEST:
        sizes = _sizes(parts())
        if sum(sizes.values()) > LARGEST:
            raise _too_large(path, f"about {_megabytes(sum(sizes.values()))}", sizes)
    text = dump()
    if not force and len(text) > LARGEST:
        raise _too_large(path, _megabytes(len(text)), _sizes(parts()))
    return text


def tables_of(network: BayesianNetwork, counts: bool) -> Parts:
    """The numbers of a network: its tables, and where the format has them, the counts behind them."""
    for cpt in network.cpts:
        name = family_text(cpt.child, cpt.parents)
        yield name, cpt.values
        if counts and cpt.counts is not None:
            yield name, cpt.counts
    if counts:
        yield from (("the counts of the prior", table) for table in (network.prior_counts or {}).values())


def _sizes(parts: Parts) -> dict[str, float]:
    """Characters by name, from the numbers at some places of each array."""
    sizes: dict[str, float] = {}
    for name, array in parts:
        flat = array.ravel()
        some = flat[:: max(1, flat.size // _SAMPLE)].tolist()
        each = np.mean([len(repr(number)) for number in some]) + 1 if some else 0.0
        sizes[name] = sizes.get(name, 0.0) + float(each) * flat.size
    return sizes


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _too_large(path: str | os.PathLike[str], size: str, sizes: dict[str, float]) -> TooLargeError:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    told = ", ".join(f"{name} with {_megabytes(sizes[name])}" for name in largest)
    return TooLargeError(
        f"{os.fspath(path)} would be a file of {size}, more than {_megabytes(LARGEST)}; its largest parts are {told}. "
        "Leave out columns that identify rows, group states, or limit the number of parents; force=True writes it as "
        "it is"
    )
