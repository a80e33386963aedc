"""Files of text as bytes, and the lines in them."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from pathlib import Path

import numpy as np

from bntk import _threads
from bntk.errors import ParseError

_BYTES_A_READ = 16 << 20
_LINE_FEED = 10


def read_bytes(path: Path, most: int = -1) -> np.ndarray:
    """All bytes of a file, unpacked when it is gzipped, which may give ``most`` bytes (-1: any number)."""
    if path.suffix.lower() == ".gz":
        try:
            with gzip.open(path) as file:
                data = np.frombuffer(file.read(most + 1 if most >= 0 else -1), dtype=np.uint8)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ParseError(f"not a whole gzip file: {error}", source=str(path)) from error
        if 0 <= most < len(data):
            raise ParseError(
                f"it unpacks to more than {most:,} bytes; unpack it yourself if it is right", source=str(path)
            )
        return data
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
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
    return data


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
