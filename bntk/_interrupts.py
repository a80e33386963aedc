"""What Ctrl-C does: a search gives its best so far, with one warning; a loop over searches or fits ends.

A user who interrupts a search that stands alone wants what it has found. A user who interrupts a loop wants it to end,
and nothing may be computed from the result of a search that was cut off. So the ``KeyboardInterrupt`` is not caught

- within :func:`raising_interrupts`, which every loop of this package over searches or fits enters;
- where a loop of scikit-learn or joblib has called (cross-validation, grid search, ensembles);
- when it is the second one;

and a search raises it as it begins, where the one that was cut off was called from the very same place: a loop of the
user goes on to no other search.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from bntk.errors import InterruptedWarning

#: Where a call comes from: the code of its callers, and the place in each of them.
Place = tuple[tuple[CodeType, int], ...]

#: Packages whose calls of an estimator are those of a loop over fits, but for what passes on a single fit.
LOOPING, PASSING_ON = ("joblib", "sklearn"), ("sklearn.base", "sklearn.compose", "sklearn.pipeline", "sklearn.utils")

#: Functions that llvmlite is called back by, and finalisers: what they raise is printed and ignored.
UNABLE_TO_RAISE = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer", "__del__")

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")

_raising: ContextVar[bool] = ContextVar("bntk raises interrupts", default=False)
_outermost: ContextVar[BestSoFar | None] = ContextVar("bntk search that is under way", default=None)
# Where the last search that was cut off was called from. Only the main thread is ever interrupted.
_cut_off: Place | None = None


@contextmanager
def raising_interrupts(when: bool = True) -> Iterator[None]:
    """Within a loop over searches or fits: none of them gives its best so far, so that an interrupt ends the loop."""
    token = _raising.set(_raising.get() or when)
    try:
        yield
    finally:
        _raising.reset(token)


class BestSoFar:
    """A block that may be interrupted, after which a search goes on with the best it has found.

    Searches may be nested. An inner one ends with its own best so far; none begins after it, because beginning raises
    the interrupt again, for the outer one to catch, which alone warns.

    Parameters
    ----------
    what : str
        What the best so far is, for the warning.
    ready : callable, optional
        Whether there is something to give yet; by default there always is.

    Attributes
    ----------
    interrupted : bool

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", InterruptedWarning)
    >>> with BestSoFar("a number") as so_far:
    ...     raise KeyboardInterrupt
    >>> so_far.interrupted
    True
    """

    def __init__(self, what: str, ready: Callable[[], bool] = lambda: True) -> None:
        self._what, self._ready = what, ready
        self._outer = self
        self._first: BaseException | None = None  # of the outermost one: the interrupt that was caught

    @property
    def interrupted(self) -> bool:
        return self._outer._first is not None

    def __enter__(self) -> Self:
        outer, frames = _outermost.get(), _frames()
        self._place = len(frames) - 1, frames[1].f_code
        if outer is not None and outer._is_under_way(frames):
            self._outer = outer
        if not _raising.get():
            self._refuse_to_go_on()
        _outermost.set(self._outer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        _outermost.set(None if self._outer is self else self._outer)
        caught = isinstance(error, KeyboardInterrupt) and self._catches(error)
        if caught:
            self._outer._first = error
        if self._outer is self and self.interrupted and (caught or error is None):
            _tell(self._what)
        return caught

    def _is_under_way(self, frames: list[FrameType]) -> bool:
        """Whether its block is among those that call; an interrupt may have come as the block was left."""
        depth, code = self._place
        return depth < len(frames) - 1 and frames[-depth].f_code is code

    def _refuse_to_go_on(self) -> None:
        """Raise the interrupt that ended an inner search before, or a search that was called from the same place."""
        global _cut_off
        if self._outer._first is not None:
            raise self._outer._first
        if _cut_off is not None and _in_main_thread() and _are_same(_cut_off, _place()):
            _cut_off = None
            raise KeyboardInterrupt("the search before this one was interrupted")

    def _catches(self, error: KeyboardInterrupt) -> bool:
        is_second = self._outer._first not in (None, error)
        return not (is_second or _raising.get() or not self._ready() or _in_foreign_loop())


@contextmanager
def interrupts_while_compiling() -> Iterator[None]:
    """While a kernel is compiled, or read from the cache: no interrupt is lost.

    Python sees Ctrl-C when LLVM, where compiling spends most of its time, calls back; what is raised there is ignored,
    and the call goes on. Such an interrupt is raised at the end of the block, all others at once.
    """
    before: Any = signal.getsignal(signal.SIGINT) if _in_main_thread() else None
    if not callable(before) or getattr(before, "__name__", "") == "_raise_or_hold":
        yield
        return
    held: list[tuple[int, FrameType | None]] = []

    def _raise_or_hold(number: int, frame: FrameType | None) -> None:
        if _is_unable_to_raise(frame):
            held.append((number, frame))
        else:
            before(number, frame)

    signal.signal(signal.SIGINT, _raise_or_hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


def _is_unable_to_raise(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name not in UNABLE_TO_RAISE:
        frame = frame.f_back
    return frame is not None


def _tell(what: str) -> None:
    """Warn, and remember where the search was called from."""
    global _cut_off
    if _in_main_thread():
        _cut_off = _place()
    level = next((depth for depth, frame in enumerate(_frames(), 1) if not _is_ours(frame)), 1)
    warnings.warn(f"interrupted: this is {what}, not the end of the search", InterruptedWarning, stacklevel=level)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _frames() -> list[FrameType]:
    """The function that asks, its caller, and so on."""
    frames = [sys._getframe(1)]
    while (caller := frames[-1].f_back) is not None:
        frames.append(caller)
    return frames


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_HERE)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _place() -> Place:
    return tuple((frame.f_code, frame.f_lasti) for frame in _frames() if not _is_ours(frame))


def _are_same(one: Place, other: Place) -> bool:
    """Whether two places are the same; what is typed again at a prompt is equal, but not the same."""
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(a is b and i == j for (a, i), (b, j) in pairs)


def _in_foreign_loop() -> bool:
    modules = {_module(frame) for frame in _frames()}
    return any(name.partition(".")[0] in LOOPING and not name.startswith(PASSING_ON) for name in modules)
