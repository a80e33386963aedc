"""The base of file formats: reading a network from text, and writing it as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork


class Format(ABC):
    """The base of file formats of networks; :func:`bntk.load` and ``save`` use all classes that derive from it.

    The first line of the docstring describes the format where formats are listed.

    Attributes
    ----------
    suffixes : tuple of str
        In small letters and with the dot; the first is the usual one.
    reads_bytes : bool
        Whether :meth:`parse` takes the bytes of a file, for formats that declare the encoding in the file; by default
        it takes text in UTF-8.
    has_names : bool
        Whether variables and states keep their names.
    keeps_counts : bool
        Whether a network that was fitted can learn from more rows when it is read back.

    Examples
    --------
    >>> import bntk
    >>> bif = bntk.io.FORMATS[".bif"]
    >>> bif.parse(bif.dump(bntk.datasets.asia())) == bntk.datasets.asia()
    True
    """

    suffixes: ClassVar[tuple[str, ...]]
    aliases: ClassVar[tuple[str, ...]] = ()
    reads_bytes: ClassVar[bool] = False
    has_names: ClassVar[bool] = True
    keeps_counts: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def parse(text: Any, source: str = "") -> Any:
        """Read a network from text (or bytes); ``source`` is the file, for messages.

        A format whose ``parse`` also takes ``normalize``, whether rows are divided by their sums, can be read so by
        ``load(..., normalize=True)``.

        What cannot be read raises a :class:`bntk.errors.ParseError` with line and column.
        """

    @staticmethod
    @abstractmethod
    def dump(network: BayesianNetwork) -> str:
        """The text of a network, from which :meth:`parse` makes the same one."""
