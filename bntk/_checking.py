"""Checks of arguments at public doors: each names the argument, says what it may be, and shows what it was.

A check returns the value, in its plain form where there is one. Errors are of :class:`bntk.errors.ArgumentError`, which
is a ``ValueError`` and a ``TypeError``; ``error`` is for callers whose documented error is another one.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bntk.errors import ArgumentError, BntkError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
Error = type[BntkError]
#: What is called with the name and the value of an argument.
Check = Callable[[str, Any], Any]
#: The largest number that kernels can count to, and more than anybody can wait for.
MOST = 10**15
MOST_JOBS = 10**6
#: Limits from here on are told only to those who exceed them.
MANY = 10**5

_SHORT = reprlib.Repr()
_SHORT.maxother = _SHORT.maxstring = _SHORT.maxlong = 80


def shown(value: object) -> str:
    """A value as messages show it: on one line, and short."""
    return " ".join(_SHORT.repr(value).split())


def wrong(name: str, expected: str, value: object, error: Error = ArgumentError) -> BntkError:
    """The error for an argument that is not what was expected."""
    return error(f"{name} must be {expected}, not {shown(value)}")


def is_whole(value: object) -> bool:
    """Whether a value is a whole number: of Python or numpy, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number other than NaN, and not a truth value."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)
    except OverflowError:  # an int that is too large for a float
        return False


def whole_number(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number within bounds, as an int.

    >>> whole_number("n", 3, least=1)
    3
    """
    problem = _outside(value, least, most)
    if problem is not None:
        raise wrong(name, f"a whole number{problem}", value)
    return int(value)


def optional_whole_number(name: str, value: Any, least: int | None = None, most: int | None = None) -> int | None:
    """None, or a whole number within bounds."""
    if value is None:
        return None
    problem = _outside(value, least, most)
    if problem is not None:
        raise wrong(name, f"None or a whole number{problem}", value)
    return int(value)


def _outside(value: Any, least: int | None, most: int | None) -> str | None:
    """The range that a value is out of; None for a whole number within it. A far end is told to who exceeds it."""
    if is_whole(value):
        if most is not None and value > most:
            return _range(least, most)
        if least is None or value >= least:
            return None
    return _range(least, None if most is not None and most >= MANY else most)


def number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf, *, above: bool = False, finite: bool = True
) -> float:
    """A real number within bounds, as a float; ``above`` says that the lower bound itself is not allowed."""
    low = value > least if above and is_number(value) else is_number(value) and value >= least
    if not low or value > most or (finite and math.isinf(value)):
        if above and least == 0 and most == math.inf:
            raise wrong(name, "a positive number", value)
        kind = "a finite number" if finite and most == math.inf and least == -math.inf else "a number"
        raise wrong(name, f"{kind}{_range(least, most, above)}", value)
    return float(value)


def limit(name: str, value: Any, least: int = 0) -> int:
    """How much is allowed: a whole number; a float such as 1e9 passes for one, and infinity for no limit."""
    if not is_number(value) or value < least:
        raise wrong(name, f"a number from {least}", value)
    return cast(int, value)


def _range(least: float | None, most: float | None, above: bool = False) -> str:
    """How a range is written: " from 1", " above 0", " from 0 to 1"."""
    low = "" if least in (None, -math.inf) else f" {'above' if above else 'from'} {_written(least)}"
    up = " and up to" if above else " to" if low else " up to"
    return low if most in (None, math.inf) else f"{low}{up} {_written(most)}"


def _written(number: float | None) -> str:
    if number is None or not float(number).is_integer():
        return f"{number}"
    return f"{int(number):,}" if abs(number) < 1e15 else f"{number:g}"


def optional_number(name: str, value: Any, least: float = -math.inf) -> float | None:
    """None, or a number from some bound on; infinity is one."""
    if value is None:
        return None
    if not is_number(value) or value < least:
        raise wrong(name, f"None or a number{_range(least, None)}", value)
    return float(value)


def seed(value: Any, name: str = "seed") -> int:
    """A seed: any whole number."""
    return whole_number(name, value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if value is not True and value is not False and type(value).__name__ not in ("bool_", "bool"):
        raise wrong(name, "True or False", value)
    return bool(value)


def one_of(name: str, value: Any, choices: Collection[T]) -> T:
    """One of a few strings, or None where that is one of them."""
    if not isinstance(value, (str, type(None))) or value not in choices:
        listed = [repr(choice) for choice in choices]
        raise wrong(name, " or ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0], value)
    return cast(T, value)


def class_place(label: Any, classes: Sequence[Any]) -> int:
    """The place of a label among the classes."""
    if isinstance(label, Hashable) and label in classes:
        return classes.index(label)
    raise UnknownNameError(
        f"there is no class {shown(label)}{did_you_mean(label, classes)}; the classes are {[*classes]}"
    )


def text(name: str, value: Any, what: str = "a string", error: Error = ArgumentError) -> str:
    """A string."""
    if not isinstance(value, str):
        raise wrong(name, what, value, error)
    return value


def path(name: str, value: Any) -> Path:
    """The path of a file or folder."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise wrong(name, "a path: a string that is not empty, or a pathlib.Path", value)
    return Path(os.fsdecode(value))


def instance(name: str, value: Any, *kinds: type[T], what: str | None = None, error: Error = ArgumentError) -> T:
    """An object of some class, or of one of several."""
    if not isinstance(value, kinds):
        raise wrong(name, what or " or ".join(_with_article(kind.__name__) for kind in kinds), value, error)
    return value


def _with_article(word: str) -> str:
    return f"{'an' if word[0] in 'AEIOU' else 'a'} {word}"


def mapping(name: str, value: Any, what: str, error: Error = ArgumentError) -> Mapping[Any, Any]:
    """A mapping; ``what`` says from what to what, as in "{node: state}"."""
    if not isinstance(value, Mapping):
        raise wrong(name, f"a mapping, {what}", value, error)
    return value


def several(name: str, value: Any, what: str = "names", error: Error = ArgumentError) -> list[Any]:
    """The members of an iterable that is no string; of a mapping, its keys."""
    if isinstance(value, (str, bytes)) or not _iterable(value):
        raise wrong(name, f"a list of {what}", value, error)
    return list(value)


def names(name: str, value: Any, what: str = "names", error: Error = ArgumentError) -> list[Any]:
    """One name, or several, as a list."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bytes) or not _iterable(value):
        raise wrong(name, f"a string or a list of {what}", value, error)
    return list(value)


def numbers(name: str, value: Any, what: str = "numbers", error: Error = ArgumentError) -> NDArray[np.float64]:
    """An array of floats; text that could be read as a number is refused, too."""
    import numpy as np

    try:
        array = np.asarray(value)
        if array.dtype.kind in "biufO":
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    raise wrong(name, what, value, error)


def array(name: str, value: Any, what: str = "an array of labels", error: Error = ArgumentError) -> NDArray[Any]:
    """An array of anything; lists of different lengths are refused."""
    import numpy as np

    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise wrong(name, what, value, error) from None


def jobs(value: Any) -> int | None:
    """How many processes or threads work side by side, as joblib takes it: None, or a whole number that is not 0."""
    if value is not None and (not is_whole(value) or value == 0 or abs(value) > MOST_JOBS):
        raise wrong("n_jobs", "a number of jobs, -1 for all cores, or None", value)
    return None if value is None else int(value)


def fields(made: object, checks: Mapping[str, Check]) -> None:
    """Check the options that an object was made with, by their names."""
    for name, check in checks.items():
        check(name, getattr(made, name))


def _iterable(value: Any) -> bool:
    if isinstance(value, type) or getattr(value, "ndim", 1) == 0:
        return False
    return isinstance(value, Iterable) or hasattr(value, "__getitem__")
