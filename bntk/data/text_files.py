"""Files of text as bytes, and the lines in them."""

from __future__ import annotations

import gzip
import math
import numbers
import os
import stat
import zlib
from pathlib import Path

import numpy as np

from bntk import _threads
from bntk._arrays import read_only
from bntk.errors import ParseError

_BYTES_A_READ = 16 << 20
_LINE_FEED = 10
_TIMES_UNPACKED, _LEAST_UNPACKED = 200, 1 << 26
_ALLOW_MORE = "allow more with max_unpacked= (--max-unpacked in the command)"


class Unpacking:
    """How many bytes a small file may become: a file of some kilobytes may hold gigabytes of the same row.

    Parameters
    ----------
    path : path
        The file.
    most : float, optional
        The bytes it may become; by default 64 MiB, or 200 times its own size where that is more.
    """

    def __init__(self, path: Path, most: float | None = None) -> None:
        if most is None:
            most = max(_LEAST_UNPACKED, _TIMES_UNPACKED * os.path.getsize(path))
        elif isinstance(most, bool) or not isinstance(most, numbers.Real) or not most >= 0:
            raise ValueError(f"max_unpacked must be a number of bytes, 0 or more, not {most!r}")
        self.path, self.most = path, most if most == math.inf else int(most)

    def check(self, n_bytes: float, what: str = "it unpacks to", way_out: str = _ALLOW_MORE) -> None:
        """Refuse what is more."""
        if n_bytes > self.most:
            raise ParseError(f"{what} more than {self.most:,} bytes; if it is right, {way_out}", source=str(self.path))


def read_bytes(path: Path, max_unpacked: float | None = None, way_out: str = _ALLOW_MORE) -> np.ndarray:
    """All bytes of a file, unpacked when it is gzipped, but no more than :class:`Unpacking` allows."""
    unpacking = Unpacking(path, max_unpacked)
    if path.suffix.lower() == ".gz":
        data = bytearray()
        try:
            with gzip.open(path) as file:
                while piece := file.read(_BYTES_A_READ):
                    data += piece
                    unpacking.check(len(data), way_out=way_out)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ParseError(f"not a whole gzip file: {error}", source=str(path)) from error
        return read_only(np.frombuffer(data, dtype=np.uint8))
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size <= _BYTES_A_READ:
            return np.frombuffer(file.read(), dtype=np.uint8)
    return _read_regular(path, status.st_size)


def _read_regular(path: Path, size: int) -> np.ndarray:
    """All bytes of a file, read by several threads: copying out of the file cache takes a core its time."""
    data = np.empty(size, dtype=np.uint8)

    def fill(start: int) -> None:
        with open(path, "rb", buffering=0) as file:
            file.seek(start)
            view = memoryview(data.data)[start : start + _BYTES_A_READ]
            while view:
                n = file.readinto(view)
                if not n:
                    raise ParseError("the file became shorter while it was read", source=str(path))
                view = view[n:]

    _threads.run_parallel(fill, range(0, size, _BYTES_A_READ))
    return read_only(data)


def next_line(data: np.ndarray, start: int) -> tuple[bytes, int]:
    """The bytes of one line, with its end, and where the next one starts."""
    step, at = 1 << 14, start
    while at < len(data):
        found = np.flatnonzero(data[at : at + step] == _LINE_FEED)
        if found.size:
            end = at + int(found[0]) + 1
            return data[start:end].tobytes(), end
        at += step
    return data[start:].tobytes(), len(data)


def line_at(data: np.ndarray, where: int) -> int:
    """The number, from 1, of the line that holds this place."""
    return 1 + int(np.count_nonzero(data[:where] == _LINE_FEED))
