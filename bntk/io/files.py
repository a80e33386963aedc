"""Text files, gzipped or not, written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
from pathlib import Path

from bntk.data.text_files import read_bytes
from bntk.errors import DataError, ParseError


def read_raw(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; ``.gz`` is unpacked, unless that would take far more memory than the file promises."""
    return read_bytes(Path(path), way_out="unpack it yourself").tobytes()


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8; ``.gz`` is unpacked."""
    raw = read_raw(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ParseError("not UTF-8 text", source=os.fspath(path), line=line) from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of text in UTF-8 in one step; ``.gz`` is packed."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError as error:  # half of a surrogate pair in a name
        raise DataError(f"{os.fspath(path)}: {text[error.start]!r} cannot be written as UTF-8; rename it") from None
    write_bytes(path, raw)


def write_bytes(path: str | os.PathLike[str], raw: bytes) -> None:
    """Write a file in one step: to a temporary one beside it, which then takes its name; ``.gz`` is packed."""
    target = Path(os.path.realpath(path))  # where a link points to, so that the link stays one
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", str(Path(path).parent))
    if os.fspath(path).lower().endswith(".gz"):
        raw = gzip.compress(raw, compresslevel=6, mtime=0)
    if target.exists() and not target.is_file():  # a device such as /dev/null cannot be replaced
        target.write_bytes(raw)
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Permissions of the file to be replaced, or what a new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
