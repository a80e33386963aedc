"""Every public callable with arguments that work, and bad values for each argument: what a careless caller may try.

``attack`` calls a door with one argument replaced and says what is wrong with the reaction, or None. A door may answer,
or refuse with an error that it raises itself; it must not fail inside with an error of Python or numpy.
"""

from __future__ import annotations

import dis
import inspect
import re
import signal
import threading
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from bntk.errors import BntkError, BntkWarning

RAISE = {dis.opmap["RAISE_VARARGS"], dis.opmap["RERAISE"]}


class Thing:
    """Something that nobody expects."""

    def __repr__(self) -> str:
        return "<a thing>"


#: Bad values by name; made anew for each call, as a generator can be used only once.
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "3": lambda: 3,
    "0": lambda: 0,
    "-1": lambda: -1,
    "2.5": lambda: 2.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "'x'": lambda: "x",
    "''": lambda: "",
    "b'x'": lambda: b"x",
    "[]": lambda: [],
    "{}": lambda: {},
    "[[1]]": lambda: [[1]],
    "{'x': 3}": lambda: {"x": 3},
    "Thing()": Thing,
    "Thing": lambda: Thing,
    "lambda": lambda: lambda *_: None,
    "True": lambda: True,
    "10**30": lambda: 10**30,
    "{1}": lambda: {1},
    "zeros(2,3,2)": lambda: np.zeros((2, 3, 2)),
    "array(['x'])": lambda: np.array(["x", None], dtype=object),
    "generator": lambda: (x for x in ["x", 1]),
    "nan-array": lambda: np.array([np.nan, 1.0]),
}

#: Arguments that say how much work is wanted: a very large number of it is not bad, only long.
WORK = {
    "restarts",
    "repeats",
    "n_starts",
    "tries",
    "n",
    "n_trees",
    "patience",
    "chains",
    "burn_in",
    "thin",
    "perturb",
    "n_chains",
    "n_samples",
    "beam",
}


@dataclass(frozen=True)
class Door:
    """A public callable, arguments that work, and the kinds of the arguments by name as they are annotated."""

    name: str
    call: Callable[..., Any]
    good: Mapping[str, Any]
    hints: Mapping[str, str]


def door(name: str, call: Callable[..., Any], signature: Any = None, /, **good: Any) -> Door:
    """A door whose arguments are those of its signature; what is not given has its default."""
    parameters = inspect.signature(signature or call).parameters
    hints = {
        p.name: str(p.annotation)
        for p in parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"
    }
    hints |= {extra: "Any" for extra in good if extra not in hints}
    return Door(name, call, good, hints)


def cases(each: Door) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """(argument, how the value is written, what makes it) of all bad calls of a door."""
    for argument in each.hints:
        for text, make in VALUES.items():
            if text == "10**30" and argument in WORK:
                continue
            if text in ("3", "-1") and argument == "n_jobs" and each.name.startswith("evaluation"):
                continue  # fine, and processes take seconds to start
            yield argument, text, make
        good = each.good.get(argument)
        if isinstance(good, Mapping) and good:
            key, value = next(iter(good.items()))
            for text, make in VALUES.items():
                yield argument, f"{{key: {text}}}", lambda make=make, key=key: {key: make()}
                yield argument, f"{{{text}: value}}", lambda make=make, value=value: {_key(make()): value}
        elif isinstance(good, list) and good:
            for text, make in VALUES.items():
                yield argument, f"[{text}]", lambda make=make: [make()]
                yield argument, f"[..., {text}]", lambda make=make, good=good: [*good, make()]


def _key(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return ("a", "key")
    return value


#: What an annotation allows, by the names of the bad values; of nothing else an answer is expected.
KINDS: list[tuple[str, set[str]]] = [
    (r"\bint\b", {"3", "0", "-1", "10**30"}),
    (r"\bfloat\b", {"3", "0", "-1", "2.5", "10**30", "inf"}),
    (r"\bstr\b", {"'x'", "''"}),
    (r"\bbool\b", {"True"}),
    (r"\bNone\b", {"None"}),
]
OPEN = re.compile(
    r"_empty|tuple|Any|ArrayLike|ndarray|NDArray|Iterable|Sequence|Mapping|Callable|RandomState|Tables|Names|Given|State\b|Collection|Weights|Data\b"
)


def allowed(hint: str) -> set[str] | None:
    """Names of bad values that an annotation allows; None where it does not say."""
    if OPEN.search(hint):
        return None
    found: set[str] = set()
    for pattern, names in KINDS:
        if re.search(pattern, hint):
            found |= names
    return found


#: Values that arguments of a name take in addition: no limit, a limit as a float, and mappings from variables.
ALSO: dict[str, set[str]] = {"max_entries": {"inf", "2.5"}, "prior": {"{}"}, "max_parents": {"{}"}}
#: Arguments that are only shown, by the door: whoever makes such an object says what it shows.
LABELS = {
    ("Distribution", "given"),
    ("Distribution", "report"),
    ("cuts.checked_cuts", "where"),
    ("scores.by_name", "argument"),
    ("scores.BDeu.per_class", "target"),
    ("priors.BDeu.per_class", "target"),
    ("scores.LOO.with_target", "target"),
}


class Late(BaseException):
    """A call that took too long."""


def attack(each: Door, argument: str, text: str, make: Callable[[], Any], seconds: float = 20.0) -> str | None:
    """What is wrong with the reaction to a bad argument, or None."""
    value = make()
    arguments = {**each.good, argument: value}
    alarm = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")

    def late(*_: Any) -> None:
        raise Late

    if alarm:
        before = signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", BntkWarning)
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            warnings.simplefilter("ignore", DataConversionWarning)  # scikit-learn's, for a column of labels
            each.call(**arguments)
    except Late:
        return "took too long"
    except Exception as error:
        return judged(error)
    finally:
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    fits = None if (each.name, argument) in LABELS else allowed(each.hints[argument])
    if fits is not None:
        fits |= ALSO.get(argument, set())
    if fits is not None and text in VALUES and text not in fits:
        return f"accepted ({each.hints[argument]})"
    return None


def judged(error: Exception) -> str | None:
    """What is wrong with an error, or None."""
    message = str(error)
    told = f"{type(error).__name__}: {message[:150]}"
    if not isinstance(error, (BntkError, ValueError, TypeError, OSError)):
        return told
    if isinstance(error, (KeyError, AttributeError)) and not isinstance(error, BntkError):
        return told
    trace = error.__traceback__
    assert trace is not None
    while trace.tb_next is not None:
        trace = trace.tb_next
    where = trace.tb_frame.f_globals.get("__name__", "")
    place = f"{trace.tb_frame.f_code.co_filename.rpartition('/bntk/')[2]}:{trace.tb_lineno}"
    if isinstance(error, OSError):
        return None
    if not where.startswith("bntk") and not (where.startswith("sklearn") and _raised(trace)):
        return f"{told} [{place}]"
    if not _raised(trace):
        return f"raw {told} [{place}]"
    return None if message.strip() else f"{told}: says nothing [{place}]"


def _raised(trace: types.TracebackType) -> bool:
    """Whether the code raised the error itself."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] in RAISE
