"""Files of networks and classifiers: the suffix determines the format, ``.gz`` after it compresses.

The formats are the classes in the modules of this package that declare ``suffixes``; nothing else lists them.
"""

from __future__ import annotations

import inspect
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from bntk import _checking, _declared
from bntk._memory import says_what_to_do
from bntk.errors import DataError
from bntk.io.format import Format

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork

__all__ = ["FORMATS", "Format", "format_of", "from_pgmpy", "load", "save", "to_pgmpy"]

#: The formats of network files by suffix: ours, and those of your own that derive from :class:`Format`.
FORMATS = _declared.FORMATS


@says_what_to_do("the file describes more than fits into memory")
def load(path: str | os.PathLike[str], *, normalize: bool = False) -> Any:
    """Read a network or a classifier from a file, in the format that its suffix names.

    Parameters
    ----------
    path : str or path
        The file. ``bntk.io.FORMATS`` lists all suffixes: ``.bif``, ``.json`` (bntk's own), ``.xmlbif``, ``.net`` ...;
        ``.gz`` after one of them is unpacked.
    normalize : bool
        Whether rows of tables are divided by their sums; by default only rows whose sum is within 1e-3 of one are read,
        and in ``.net`` any, as Hugin does. The parameters of classifiers are not changed.

    Returns
    -------
    BayesianNetwork, or the fitted classifier whose ``save`` wrote the file (``.json`` only)

    Raises
    ------
    ParseError
        When the file cannot be read; it has the line and the column.

    Examples
    --------
    >>> import bntk, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bntk.datasets.asia().save(folder + "/asia.bif.gz")
    ...     bntk.load(folder + "/asia.bif.gz").names[:3]
    ('asia', 'tub', 'smoke')
    """
    from bntk.io.files import read_raw, read_text

    form = format_of(path)
    read = read_raw if form.reads_bytes else read_text
    if not _checking.flag("normalize", normalize):
        return form.parse(read(path), source=os.fspath(path))
    if "normalize" not in inspect.signature(form.parse).parameters:
        raise DataError(f"{os.fspath(path)}: the format {form.__name__} cannot be read with normalize=True")
    parse: Any = form.parse
    return parse(read(path), source=os.fspath(path), normalize=True)


def save(network: BayesianNetwork, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a network to a file, in the format that its suffix names.

    The formats are those of :func:`load`. Structure, states and numbers are kept by all of them, but ``.uai`` has no
    names; only ``.json`` keeps the types of states, whether they are ordered, counts and the prior. Positions of nodes
    are kept by ``.json``, ``.xmlbif``, ``.net`` and, rounded, ``.xdsl`` and ``.dsl``; labels by all of these but
    ``.xmlbif``. If writing fails, an existing file stays as it
    was.

    Parameters
    ----------
    network : BayesianNetwork
        The network.
    path : str or path
        The file, which is replaced if it exists; ``.gz`` after the suffix compresses.
    force : bool
        Whether a file of more than 100 MB, before it is compressed, is written; by default that is refused.

    Raises
    ------
    TooLargeError
        When the file would be larger; the error has the size, and names the largest tables.
    """
    from bntk.io.files import write_text
    from bntk.io.sizes import dumped, tables_of

    _checking.flag("force", force)
    form = format_of(path)
    parts = partial(tables_of, _a_network(network), form.keeps_counts)
    write_text(path, dumped(path, parts, partial(form.dump, network), force))


def to_pgmpy(network: BayesianNetwork) -> Any:
    """The network as a ``pgmpy.models.DiscreteBayesianNetwork`` (the extra ``pgmpy``).

    Parameters
    ----------
    network : BayesianNetwork
        The network.
    """
    from bntk.io import pgmpy_bridge

    return pgmpy_bridge.to_pgmpy(_a_network(network))


def from_pgmpy(model: Any) -> BayesianNetwork:
    """The network of a ``pgmpy.models.DiscreteBayesianNetwork`` whose tables are all given.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        The model.
    """
    from bntk.io import pgmpy_bridge

    return pgmpy_bridge.from_pgmpy(model)


def format_of(path: str | os.PathLike[str]) -> type[Format]:
    """The format that the suffix of a file names, without ``.gz``.

    Parameters
    ----------
    path : str or path
        The file, which need not exist.

    Examples
    --------
    >>> format_of("asia.net.gz").suffixes
    ('.net',)
    """
    suffixes = [s.lower() for s in _checking.path("path", path).suffixes]
    suffix = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]
    if suffix not in FORMATS:
        raise DataError(
            f"{os.fspath(path)}: the suffix {suffix!r} is no known network format; known are {list(FORMATS)} "
            "(each also with .gz)"
        )
    found: type[Format] = FORMATS[suffix]
    return found


def _a_network(network: BayesianNetwork) -> BayesianNetwork:
    from bntk.network import a_network

    return a_network(network)
