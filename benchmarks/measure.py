"""Measuring: ours in this process, a peer in a process of its own that ends at its time or memory limit."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import logging
import math
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bntk
from bntk._kernels import compiling_all

ENOUGH = 5.0  # seconds of repetitions of one measurement
PREPARATION = 150.0  # seconds that a peer has for imports and input before its limit counts
MEMORY = 14 * 2**30  # bytes of a peer's process


class LeftOut(Exception):  # noqa: N818
    """A section cannot run here; the message says what it needs."""


def digits(value: float) -> str:
    """A number with about two digits."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"


@dataclass(frozen=True)
class Time:
    """Seconds, or why there are none; ``at_least`` when a limit came first, ``guessed`` when scaled up from less."""

    seconds: float = math.nan
    note: str = ""
    at_least: bool = False
    guessed: bool = False

    def __truediv__(self, pieces: float) -> Time:
        return replace(self, seconds=self.seconds / pieces)

    def scaled(self, factor: float) -> Time:
        """The time for so many times the work."""
        return self if factor == 1 else replace(self / (1 / factor), guessed=True)

    def __str__(self) -> str:
        if math.isnan(self.seconds):
            return self.note
        unit, scale = ("s", 1.0) if self.seconds >= 1 else ("ms", 1e3) if self.seconds >= 1e-3 else ("us", 1e6)
        return f"{'over ' * self.at_least}{digits(self.seconds * scale)} {unit}{' *' * self.guessed}"


@dataclass(frozen=True)
class Ratio:
    """How many times as long a peer takes as we do."""

    case: str
    peer: str
    theirs: Time
    ours: Time

    @property
    def value(self) -> float:
        return self.theirs.seconds / self.ours.seconds

    @property
    def at_least(self) -> bool:
        return self.theirs.at_least

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "-"
        return f"{'over ' * self.at_least}{digits(self.value)}"


@dataclass(frozen=True)
class Options:
    """What a benchmark is told: whether to be quick, and where data files are."""

    quick: bool = False
    data: Path | None = None

    def pick(self, full: Any, quick: Any) -> Any:
        return quick if self.quick else full

    def folder(self, name: str) -> Path:
        """A folder of the data."""
        if self.data is None or not (self.data / name).is_dir():
            raise LeftOut(f"needs a folder `{name}` in the one given by `--data`")
        return self.data / name

    def networks(self) -> Path:
        """The folder with network files: of the data, else of an installed pgmpy."""
        with contextlib.suppress(LeftOut):
            return self.folder("networks")
        found = importlib.util.find_spec("pgmpy")
        if found is None or not found.submodule_search_locations:
            raise LeftOut("needs network files: a folder `networks` in the one given by `--data`, or pgmpy's")
        return Path(found.submodule_search_locations[0]) / "utils" / "example_models"

    def network(self, name: str) -> Path:
        path = self.networks() / f"{name}.bif.gz"
        if not path.exists():
            raise LeftOut(f"needs the network file `{path.name}`")
        return path


# ---- ours ------------------------------------------------------------------------------------------------------------


@compiling_all()  # whatever the cache has: a time is that of compiled code
def best(work: Callable[[], Any], repeats: int = 5) -> tuple[Time, Any]:
    """The shortest of several runs, fewer when they take long, and the last result. Compile before."""
    times: list[float] = []
    result = None
    gc.collect()
    gc.freeze()  # what earlier sections have left is not looked through again and again; peers begin without it
    while len(times) < repeats and sum(times) <= ENOUGH:
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    gc.unfreeze()
    return Time(min(times)), result


def with_threads(threads: int, work: Callable[[], Any], repeats: int = 5) -> Time:
    bntk.set_threads(threads)
    try:
        return best(work, repeats)[0]
    finally:
        bntk.set_threads(None)


# ---- peers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeerRun:
    """Seconds and answer of each piece of work that a peer finished, and why there are no more."""

    marks: list[tuple[float, Any]]
    end: Time

    @property
    def answers(self) -> list[Any]:
        return [answer for _, answer in self.marks]

    def part(self, wanted: Callable[[Any], bool]) -> PeerRun:
        """The pieces with such an answer; if there are none, the limit may have come in other pieces."""
        marks = [mark for mark in self.marks if wanted(mark[1])]
        return PeerRun(marks, Time(note="not reached") if self.marks and self.end.at_least else self.end)

    def shortest(self) -> Time:
        return Time(min(seconds for seconds, _ in self.marks)) if self.marks else self.end

    def mean(self) -> Time:
        """Without the first piece, unless it is the only one."""
        if not self.marks:
            return self.end
        counted = self.marks[1:] or self.marks
        return Time(math.fsum(seconds for seconds, _ in counted) / len(counted))

    def total(self) -> Time:
        return Time(math.fsum(seconds for seconds, _ in self.marks)) if self.marks else self.end


def installed(package: str) -> bool:
    return importlib.util.find_spec(package.lower()) is not None


def run_peer(package: str, limit: float, work: Callable[..., Iterator[Any]], *arguments: Any) -> PeerRun:
    """What a generator yields in a process of its own, with the seconds for each, cut off after ``limit`` seconds.

    The first value says that the preparation is over; the clock of the limit starts there, and it is not returned.
    """
    if not installed(package):
        return PeerRun([], Time(note="not installed"))
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, work, arguments), daemon=True)
    process.start()
    send.close()
    marks: list[tuple[float, Any]] = []
    last = time.perf_counter() + PREPARATION
    end, prepared = Time(note=f"not ready after {PREPARATION:.0f} s"), False
    try:
        while receive.poll(max(0.0, last - time.perf_counter())):
            seconds, answer, failure = receive.recv()
            if failure:
                end = Time(note=failure)
                break
            if prepared:
                marks.append((seconds, answer))
            else:
                prepared, last, end = True, time.perf_counter() + limit, Time(limit, at_least=True)
    except EOFError:
        end = Time(note="died")
    process.kill()
    process.join()
    return PeerRun(marks, end)


def repeated(repeats: int, work: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
    """The same work several times, for :func:`run_peer`; it returns something small."""
    yield None
    for _ in range(repeats):
        yield work(*arguments)


def _child(send: Any, work: Callable[..., Iterator[Any]], arguments: tuple[Any, ...]) -> None:
    with contextlib.suppress(ImportError):  # no such module on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    steps = work(*arguments)
    while True:
        start = time.perf_counter()
        try:
            answer = next(steps)
        except StopIteration:
            send.send((0.0, None, "ends"))
            break
        except MemoryError:
            send.send((0.0, None, f"over {MEMORY >> 30} GB"))
            break
        except Exception as error:  # whatever it is, the table says so
            send.send((0.0, None, f"fails: {type(error).__name__}"))
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            break
        send.send((time.perf_counter() - start, answer, ""))
    send.close()
