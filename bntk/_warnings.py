"""One warning per cause.

Python shows a warning once for each text and line of the program. But the folds of a cross-validation have different
rows, so that texts with numbers of rows differ, and scikit-learn lets Python forget before each fit what it has shown.
So a warning here has causes, such as a column and a value in it, and is shown once for each cause and line of the
program that called this package, directly or through scikit-learn. Who asks for every warning gets every one: by the
filters "always" and "error", or by recording them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import FrameType
from typing import Any, TypeVar

Cause = TypeVar("Cause", bound=Hashable)

#: Packages that call this one on behalf of somebody.
_BETWEEN = frozenset({"bntk", "sklearn", "joblib", "threading", "concurrent", "multiprocessing"})
#: What filters say where a warning is to be shown once.
_ONCE = frozenset({"default", "module", "once"})
#: Causes that are remembered; a program that runs for months meets more.
_MOST = 10_000

_shown: set[tuple[Any, ...]] = set()


def warn(
    text: str | Callable[[Sequence[Cause]], str], category: type[Warning], causes: Iterable[Cause] | None = None
) -> None:
    """Warn of those causes that were not shown before; without any, the text is the cause.

    ``text`` may be a function of the causes that it is to name.
    """
    named: list[Any] = [text] if causes is None else list(dict.fromkeys(causes))
    write = text if callable(text) else lambda _: text
    level, frame = _caller()
    if _shown_once(write(named), category, frame):
        at: tuple[Any, ...] = (category, frame.f_code.co_filename, frame.f_lineno)
        named = [cause for cause in named if (*at, cause) not in _shown]
        if not named:
            return
        if len(_shown) > _MOST:
            _shown.clear()
        _shown.update((*at, cause) for cause in named)
    message = category(write(named))
    message.causes = frozenset(named)  # type: ignore[attr-defined]
    warnings.warn(message, stacklevel=level)


def causes_of(message: Warning | str) -> frozenset[Hashable]:
    """The causes of a warning; of one of another package, its text."""
    return getattr(message, "causes", None) or frozenset([str(message)])


def _caller() -> tuple[int, FrameType]:
    """The stack level, seen from :func:`warn`, of the line that called this package, and its frame."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    return level, frame


def _shown_once(text: str, category: type[Warning], frame: FrameType) -> bool:
    """Whether Python's filters ask for a warning once, and nobody records warnings."""
    if getattr(getattr(warnings, "_showwarnmsg_impl", None), "__module__", "warnings") != "warnings":
        return False  # warnings.catch_warnings(record=True)
    module = frame.f_globals.get("__name__", "<unknown>")
    for action, message, kind, where, line in warnings.filters:
        if (
            issubclass(category, kind)
            and _matches(message, text)
            and _matches(where, module)
            and line in (0, frame.f_lineno)
        ):
            return action in _ONCE
    return True


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None:
        return True
    return pattern == text if isinstance(pattern, str) else pattern.match(text) is not None
