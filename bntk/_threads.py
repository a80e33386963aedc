"""The distribution of work over threads: plain Python threads that call numba kernels which release the GIL.

Numba's own parallel layers are not used: some abort when two Python threads enter them, and all compile
slowly. Work is always cut into pieces whose results do not depend on which thread ran them, so answers
are the same for every thread count.

Python sees Ctrl-C only between calls of kernels, so pieces take a fraction of a second each, however much work there
is: those that have begun are waited for, because they write to arrays that a search goes on with.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from bntk._checking import is_whole, optional_whole_number, wrong

T = TypeVar("T")
R = TypeVar("R")

#: Steps of the innermost loop of a kernel, of some nanoseconds each, that one piece of work has: a tenth of a second.
STEPS_A_PIECE = 1 << 23

_chosen: int | None = None
# For a while and in one thread of the caller only, so that two threads may use different numbers.
_for_now: ContextVar[int | None] = ContextVar("bntk threads", default=None)


def n_threads() -> int:
    """Number of threads in use: :func:`set_threads`, else ``BNTK_NUM_THREADS``, else the usable cores."""
    chosen = _for_now.get() or _chosen
    if chosen is not None:
        return chosen
    from_environment = os.environ.get("BNTK_NUM_THREADS", "")
    if from_environment:
        if not from_environment.isdecimal() or int(from_environment) < 1:
            raise ValueError(f"BNTK_NUM_THREADS must be a whole number from 1, not {from_environment!r}")
        return int(from_environment)
    return _usable_cores()


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def set_threads(n: int | None) -> None:
    """Set the number of threads that bntk uses.

    Parameters
    ----------
    n : int or None
        At least 1; None for the default: ``BNTK_NUM_THREADS`` in the environment, else the usable cores.

    Examples
    --------
    >>> import bntk
    >>> bntk.set_threads(1)
    >>> bntk.n_threads()
    1
    >>> bntk.set_threads(None)
    """
    global _chosen
    _chosen = optional_whole_number("n", n, least=1)


@contextmanager
def using_threads(n_jobs: int | None) -> Iterator[None]:
    """Use ``n_jobs`` threads within a block; ``None`` changes nothing, -1 is all cores, -2 all but one, and so on."""
    if n_jobs is None:
        yield
        return
    if not is_whole(n_jobs) or n_jobs == 0:
        raise wrong("n_jobs", "a number of threads, -1 for all cores, or None", n_jobs)
    token = _for_now.set(n_jobs if n_jobs > 0 else max(1, _usable_cores() + 1 + n_jobs))
    try:
        yield
    finally:
        _for_now.reset(token)


def run_parallel(work: Callable[[T], R], pieces: Iterable[T], threads: int | None = None) -> list[R]:
    """``[work(piece) for piece in pieces]``, in that order, over the threads in use.

    A pool is made for each call (tens of microseconds), so nothing survives a fork or leaks at exit. An error or an
    interrupt (Ctrl-C) is raised when the pieces that have begun are finished; no other begins.
    """
    pieces = list(pieces)
    workers = min(threads or n_threads(), len(pieces))
    if workers <= 1:
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(workers, "bntk", _working_for.__setattr__, ("run", run := _Run(_current_run())))
    try:
        return list(pool.map(work, pieces))
    finally:
        run.has_ended = True
        pool.shutdown(cancel_futures=True)


class _Run:
    """One call of :func:`run_parallel`, as its threads see it; it may be part of a piece of another."""

    def __init__(self, outer: _Run | None = None) -> None:
        self._outer, self.has_ended = outer, False

    @property
    def is_over(self) -> bool:
        return self.has_ended or (self._outer is not None and self._outer.is_over)


_working_for = threading.local()


def stop_if_over() -> None:
    """For loops within a piece of work: end it where nobody waits for it any more, after an interrupt or an error."""
    run = _current_run()
    if run is not None and run.is_over:
        raise CancelledError


def _current_run() -> _Run | None:
    return getattr(_working_for, "run", None)


def pieces_for(steps: float, least: int) -> int:
    """The number of pieces that work of so many steps is cut into, such that Ctrl-C is answered soon.

    >>> pieces_for(1e6, 4), pieces_for(1e9, 4)
    (4, 120)
    """
    return max(least, -int(-steps // STEPS_A_PIECE))


def spans(length: int, pieces: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut ``range(length)`` into at most ``pieces`` nearly equal spans, at multiples of ``multiple``.

    >>> spans(10, 3)
    [(0, 4), (4, 8), (8, 10)]
    """
    step = -(-length // max(1, pieces))
    step = max(multiple, -(-step // multiple) * multiple)
    return [(start, min(start + step, length)) for start in range(0, length, step)]
