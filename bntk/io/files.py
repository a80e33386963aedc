"""Text files, gzipped or not, written whole or not at all.

A file is written under another name beside it, ``.NAME.0.bntk``, and then renamed. Whoever writes has locked that file,
and a lock ends with its process, however that ends: a file of such a name without a lock was left behind by a process
that was killed, and the next save removes it.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from bntk.data.text_files import read_bytes
from bntk.errors import DataError, ParseError

try:
    import fcntl
except ImportError:  # Windows; what is left behind there stays
    fcntl = None  # type: ignore[assignment]


def read_raw(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; ``.gz`` is unpacked, unless that would take far more memory than the file promises."""
    with naming(path):
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
    """Write a file in one step; ``.gz`` is packed. If that fails, a file that was there stays as it was."""
    if os.fspath(path).lower().endswith(".gz"):
        raw = gzip.compress(raw, compresslevel=6, mtime=0)
    with naming(path, always=True):
        target = Path(os.path.realpath(path))  # where a link points to, so that the link stays one
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to")
        if target.exists() and not target.is_file():  # a device such as /dev/null cannot be replaced
            target.write_bytes(raw)
        else:
            _replace(target, raw)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], *, always: bool = False) -> Iterator[None]:
    """Let errors of the system name this file where they name none (no space left, say), or always."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and not always):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _replace(target: Path, raw: bytes) -> None:
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    handle, temporary = _temporary(target, 0o666 if mode is None else mode)
    with os.fdopen(handle, "wb", buffering=0) as file:
        try:
            rest = memoryview(raw)
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
            if mode is not None:
                os.chmod(temporary, mode)  # also what the mask of new files takes away
            if fcntl is None:
                file.close()  # an open file cannot be renamed on Windows
            os.replace(temporary, target)
        except BaseException:
            _give_up(temporary)
            raise
    for place in itertools.count(1):  # of several writers that were killed
        other = _beside(target, place)
        if not os.path.lexists(other):
            break
        _remove_abandoned(other)


def _beside(target: Path, place: int) -> Path:
    return target.with_name(f".{target.name}.{place}.bntk")


def _temporary(target: Path, mode: int) -> tuple[int, Path]:
    """A new, locked file beside the target; there is more than one while several processes write the same target."""
    for place in itertools.count():
        path = _beside(target, place)
        _remove_abandoned(path)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except FileExistsError:
            continue
        try:
            if _locked(handle) is not False and _is(handle, path):
                return handle, path
        except BaseException:
            _give_up(path)
            os.close(handle)
            raise
        os.close(handle)  # somebody found it before it was locked, and removed it
    raise AssertionError  # there is always a next place


def _give_up(path: Path) -> None:
    """Remove the file of a save that has failed, for a reason that matters more than what fails here."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def _remove_abandoned(path: Path) -> None:
    """Remove a file that no process is writing."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:  # most often there is none
        return
    with contextlib.suppress(OSError):
        if _locked(handle) and _is(handle, path):
            os.unlink(path)
    os.close(handle)


def _locked(handle: int) -> bool | None:
    """Whether an open file could be locked for this process; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # of a file system without locks
        return None
    return True


def _is(handle: int, path: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
