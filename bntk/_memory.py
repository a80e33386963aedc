"""How much memory may be used, and errors that say what would take more.

Large requests are compared with what the system leaves to this process before anything is allocated: limits of the
process, of its control group (a container), and the memory that is free. Where it runs out all the same, the functions
that users call turn Python's error into one that names the way out.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from bntk.errors import TooLargeError

P = ParamSpec("P")
R = TypeVar("R")

#: Requests of fewer bytes are not looked at: finding out what is left takes up to a millisecond.
LOOKED_AT = 1 << 26


class Room(NamedTuple):
    """Bytes that may still be used, and what limits them."""

    n_bytes: int
    limit: str


def require(n_bytes: int, what: str, way_out: str) -> None:
    """Refuse what would take more memory than may be used.

    Parameters
    ----------
    n_bytes : int
    what : str
        What they are for, as the subject of a sentence.
    way_out : str
        What can be done instead.
    """
    if n_bytes < LOOKED_AT:
        return
    room = available()
    if room is not None and n_bytes > room.n_bytes:
        raise TooLargeError(
            f"{what} would take {in_words(n_bytes)}, and {in_words(max(room.n_bytes, 0))} may still be used "
            f"({room.limit}); {way_out}"
        )


def says_what_to_do(way_out: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For functions that users call: memory that runs out in them becomes a TooLargeError with a way out."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TooLargeError:
                raise
            except MemoryError as error:
                raise _ran_out(error, way_out) from error

        return wrapped

    return decorate


def _ran_out(error: MemoryError, way_out: str) -> TooLargeError:
    room, request = available(), str(error).rstrip(".")  # numpy says how much it was asked for
    limit = "" if room is None else f" ({room.limit})"
    return TooLargeError(f"memory ran out{limit}{f': {request}' if request else ''}; {way_out}")


def in_words(n_bytes: int) -> str:
    """A number of bytes to be read.

    >>> in_words(1 << 30)
    '1.0 GiB'
    """
    power = min(max(int(n_bytes).bit_length() - 1, 0) // 10, 4)
    return f"{n_bytes / 1024**power:,.{min(power, 1)}f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


# ---- what the system says --------------------------------------------------------------------------------------------


def available() -> Room | None:
    """What this process may still use: the least of what all limits leave; None where the system does not tell."""
    return min([*_of_process(), *_of_group(), *_of_machine()], default=None)


def _of_process() -> Iterator[Room]:
    """What ``ulimit`` leaves: of the address space, and of data."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    pages = [int(text) for text in _read(Path("/proc/self/statm")).split()]
    for name, place, what in (("RLIMIT_AS", 0, "address space"), ("RLIMIT_DATA", 5, "data")):
        most = resource.getrlimit(getattr(resource, name))[0]
        if most != resource.RLIM_INFINITY:
            used = pages[place] * resource.getpagesize() if pages else 0
            yield Room(most - used, f"{name}, the limit of the {what} of the process, is {in_words(most)}")


def _of_group(process: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> Iterator[Room]:
    """What the control groups of the process leave, version 1 or 2, up to the root; copies of files do not count."""
    for line in _read(process).splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        root = mounted / "memory" if controllers else mounted
        names = ("limit_in_bytes", "usage_in_bytes", "total_") if controllers else ("max", "current", "")
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents[: len(folder.parts) - len(root.parts)]):
            most, used = (_read(group / f"memory.{name}").strip() for name in names[:2])
            if most.isdecimal() and used.isdecimal() and int(most) < 1 << 60:  # version 1 has a huge number for none
                lines = (line.split() for line in _read(group / "memory.stat").splitlines())
                numbers = {words[0]: int(words[1]) for words in lines if len(words) == 2}
                files = sum(numbers.get(f"{names[2]}{kind}_file", 0) for kind in ("active", "inactive"))
                yield Room(int(most) - int(used) + files, f"the limit of its control group is {in_words(int(most))}")


def _of_machine() -> Iterator[Room]:
    """The memory that is free, or can be made so; where that is not told, all there is."""
    lines = (line.split() for line in _read(Path("/proc/meminfo")).splitlines())
    free = {words[0]: 1024 * int(words[1]) for words in lines if len(words) == 3}
    if "MemAvailable:" in free:
        yield Room(free["MemAvailable:"] + free.get("SwapFree:", 0), "memory of the machine that is free")
    elif hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        yield Room(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "memory of the machine")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
