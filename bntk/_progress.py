"""Progress bars."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: Whether searches show their progress by default.
SHOWN: ContextVar[bool] = ContextVar("progress_shown", default=False)


@contextmanager
def showing_progress(shown: bool = True) -> Iterator[None]:
    """Let searches within a block show their progress, such as those of a classifier, which has no such option."""
    token = SHOWN.set(shown)
    try:
        yield
    finally:
        SHOWN.reset(token)


def progress_bar(shown: bool, *iterable: Any, **options: Any) -> Any:
    """A bar of tqdm with these options: a widget in a notebook that can show one, else a line on stderr.

    A bar that is not shown takes the same calls and does nothing.
    """
    if not shown:
        from tqdm.std import tqdm as plain

        return plain(*iterable, disable=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets gets the line, and that needs no warning
        from tqdm.auto import tqdm
    return tqdm(*iterable, **options)
