"""Columns of Arrow without an object for each cell: their buffers, and what kernels make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.data import arrow_kernels as kernels
from bntk.data.columns import Texts
from bntk.errors import DataError

#: Whole numbers within so narrow a range are looked up.
MOST_RANGE = 1 << 16
_ALL_VALID = np.zeros(0, dtype=np.uint8)


class Cells(NamedTuple):
    """One chunk of a column: whole numbers, or places in a dictionary.

    Attributes
    ----------
    indices : ndarray of integers
    valid : ndarray of uint8
        The bits of cells that are there; empty when all are.
    start : int
        The bit of the first cell.
    dictionary : Arrow array or None
    """

    indices: NDArray[Any]
    valid: NDArray[np.uint8]
    start: int
    dictionary: Any

    def extent(self) -> tuple[int, int]:
        """The least and the largest whole number; the least is larger when there is none."""
        low, high = kernels.extent(self.indices, self.valid, self.start)
        return int(low), int(high)

    def counts(self, low: int, size: int) -> NDArray[np.int64]:
        """How many cells have each number from ``low`` on."""
        found = np.zeros(size, dtype=np.int64)
        kernels.count(self.indices, self.valid, self.start, low, found)
        return found


def is_arrow(column: Any) -> bool:
    """Whether a column is one of Arrow, in chunks."""
    return isinstance(column, Texts) or type(column).__name__ == "ChunkedArray"


def check_codes(column: Any) -> None:
    """Refuse a column of Arrow with codes that its dictionary has not, as those of a damaged file may be.

    To look codes up with :func:`translated` is safe without, and takes these for unknown ones.
    """
    native = column.column if isinstance(column, Texts) else column
    if not is_arrow(native) or not hasattr(native.type, "index_type"):
        return
    import pyarrow as pa

    try:
        native.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"a column cannot be read: {error}") from error


def chunks_of(column: Any) -> list[Cells] | None:
    """The chunks of a column of a dictionary or of whole numbers of up to 63 bits; None for others."""
    import pyarrow as pa

    native = column.column if isinstance(column, Texts) else column
    kind = native.type
    if pa.types.is_dictionary(kind):
        return [_cells(chunk.indices, chunk.dictionary) for chunk in native.chunks]
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return [_cells(chunk, None) for chunk in native.chunks]
    return None


def _cells(array: Any, dictionary: Any) -> Cells:
    valid, data = array.buffers()
    width = array.type.bit_width // 8
    letter = "i" if str(array.type).startswith("int") else "u"
    values = np.frombuffer(data, dtype=np.dtype(f"{letter}{width}"), count=len(array), offset=array.offset * width) \
        if len(array) else np.zeros(0, dtype=np.dtype(f"{letter}{width}"))  # fmt: skip
    if valid is None or not array.null_count:
        return Cells(values, _ALL_VALID, 0, dictionary)
    return Cells(values, np.frombuffer(valid, dtype=np.uint8), array.offset, dictionary)


def translated(
    chunks: list[Cells], lookups: Callable[[Cells], tuple[NDArray[Any], int]], missing: int, out: NDArray[Any]
) -> int:
    """Fill in the codes of a column; how many cells are none of the states, whose lookup is one past ``missing``."""
    n_unknown = 0
    for (start, stop), cells in zip(_spans(chunks), chunks, strict=True):
        lookup, low = lookups(cells)
        n_unknown += kernels.translate(
            cells.indices, cells.valid, cells.start, lookup, low, missing, missing + 1, out[start:stop]
        )
    return n_unknown


def _spans(chunks: list[Cells]) -> Iterator[tuple[int, int]]:
    start = 0
    for cells in chunks:
        yield start, start + len(cells.indices)
        start += len(cells.indices)
