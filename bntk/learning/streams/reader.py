"""A thread that reads ahead, so that reading and counting overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

#: Items that are read before they are asked for.
AHEAD = 2


def ahead(items: Iterable[T], depth: int = AHEAD) -> Iterator[T]:
    """The items, made by a thread of their own, at most ``depth`` before they are asked for.

    An error of the thread is raised here; when no more items are asked for, it ends.

    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    made: queue.Queue[tuple[str, object]] = queue.Queue(depth)
    over = threading.Event()

    def put(kind: str, item: object) -> bool:
        while not over.is_set():
            try:
                made.put((kind, item), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put("item", item):
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=copy_context().run, args=(work,), name="bntk reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                kind, item = made.get(timeout=0.1)  # with a timeout, so that Ctrl-C is seen
            except queue.Empty:
                continue
            if kind == "end":
                return
            if kind == "error":
                raise item  # type: ignore[misc]
            yield item  # type: ignore[misc]
    finally:
        over.set()
        while not made.empty():
            made.get_nowait()
        thread.join()
