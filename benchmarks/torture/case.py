"""A case of an attack: its random numbers, what it compared, what failed; and how kinds of attack are declared."""

from __future__ import annotations

import importlib
import math
import pkgutil
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bntk.errors import BntkError

#: What a call may raise on purpose: our errors, and scikit-learn's checks of arguments.
DOCUMENTED = (BntkError, ValueError)
#: Relative difference that is allowed between our numbers and the reference; posteriors below SMALLEST may vanish.
RELATIVE, SMALLEST = 1e-9, 1e-290
#: An answer counts for at most so many comparisons, so that a few large ones do not make up the count.
MOST_OF_ONE = 1000


@dataclass(frozen=True)
class Kind:
    """A kind of attack: its name, the part of the time that it gets, the function that runs a case, and its line."""

    name: str
    share: float
    attack: Callable[[Case], None]
    help: str


@dataclass(frozen=True)
class Failure:
    """What failed in a case: the comparison, and how."""

    case: str
    what: str
    detail: str

    def __str__(self) -> str:
        first, *_ = self.detail.splitlines() or [""]
        return f"{self.case}  {self.what}: {first[:300]}"


@dataclass
class Case:
    """One case: ``rng`` is all its chance, ``notes`` all that it is made of, for who repeats it.

    Methods compare, count what they compared, and keep failures instead of raising them, so that a case goes on.
    """

    kind: str
    number: int
    seed: int
    comparisons: int = 0
    failures: list[Failure] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, zlib.crc32(self.kind.encode()), self.number])

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.number}"

    # ---- chance ----------------------------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return bool(self.rng.random() < p)

    def pick(self, things: Any) -> Any:
        """One of some things, as it is (no numpy scalar of it)."""
        things = list(things)
        return things[int(self.rng.integers(len(things)))]

    def some(self, things: Any, least: int = 0) -> list[Any]:
        """Some of the things, at least so many, in a random order."""
        things = list(things)
        n = int(self.rng.integers(min(least, len(things)), len(things) + 1))
        return [things[int(i)] for i in self.rng.permutation(len(things))[:n]]

    def note(self, **notes: Any) -> None:
        """Keep what the case is made of."""
        self.notes.update(notes)

    # ---- comparing -------------------------------------------------------------------------------------------

    def fail(self, what: str, detail: str) -> None:
        """Keep a failure."""
        self.failures.append(Failure(self.name, what, detail))

    def check(self, what: str, right: Any, detail: Any = "") -> bool:
        """One comparison that was made elsewhere."""
        self.comparisons += 1
        if not right:
            self.fail(what, str(detail() if callable(detail) else detail))
        return bool(right)

    def close(
        self, what: str, ours: Any, expected: Any, relative: float = RELATIVE, smallest: float = SMALLEST
    ) -> bool:
        """As many comparisons as there are numbers: equal but for a relative difference; NaN equals NaN."""
        one, other = np.asarray(ours, dtype=np.longdouble), np.asarray(expected, dtype=np.longdouble)
        self.comparisons += min(max(1, other.size), MOST_OF_ONE)
        if one.shape != other.shape:
            self.fail(what, f"shape {one.shape} instead of {other.shape}")
            return False
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= smallest + relative * np.abs(other)
            right = near | (one == other) | (np.isnan(one) & np.isnan(other))
        if right.all():
            return True
        worst = tuple(int(i) for i in np.argwhere(~right)[0])
        self.fail(
            what,
            f"{int((~right).sum())} of {right.size} differ, the first at {list(worst)}: "
            f"{_digits(one[worst])} instead of {_digits(other[worst])}\nours {one!r}\nexpected {other!r}",
        )
        return False

    def logs(self, what: str, ours: Any, expected: Any) -> bool:
        """As :meth:`close` for logarithms: an absolute difference up to 1 in size, a relative one beyond."""
        return self.close(what, ours, expected, smallest=RELATIVE)

    def same(self, what: str, ours: Any, expected: Any) -> bool:
        """As many comparisons as there are entries: the same bits, types and shape."""
        one, other = np.asarray(ours), np.asarray(expected)
        self.comparisons += min(max(1, other.size), MOST_OF_ONE)
        if one.dtype != other.dtype or one.shape != other.shape:
            self.fail(what, f"{one.dtype} {one.shape} instead of {other.dtype} {other.shape}")
            return False
        alike = one.tobytes() == other.tobytes() if one.dtype.kind in "fc" else bool(np.all(one == other))
        if not alike:
            self.fail(what, f"{one.ravel()[:8].tolist()} instead of {other.ravel()[:8].tolist()}\n{one!r}\n{other!r}")
        return alike

    # ---- calls that may fail ---------------------------------------------------------------------------------

    def refused(self, what: str, call: Callable[[], Any], errors: Any) -> bool:
        """One comparison: the call raises one of the errors."""
        self.comparisons += 1
        try:
            answer = call()
        except errors:
            return True
        except Exception:
            self.fail(f"{what} is refused", _last_line() + "\n" + traceback.format_exc())
            return False
        self.fail(f"{what} is refused", f"answered {str(answer)[:200]!r}")
        return False

    def answer(self, what: str, call: Callable[[], Any], documented: Any = ()) -> Any:
        """What the call returns; None, and one comparison, if it raises. Other errors than documented ones fail."""
        try:
            return call()
        except documented:
            self.comparisons += 1
        except Exception:
            self.comparisons += 1
            self.fail(what, _last_line() + "\n" + traceback.format_exc())
        return None


def _digits(number: Any) -> str:
    return str(number) if not np.isfinite(number) else np.format_float_scientific(number, precision=17, trim="-")


def _last_line() -> str:
    return traceback.format_exc().strip().splitlines()[-1]


def log(number: Any) -> Any:
    """The logarithm in extended precision; -inf of zero."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(number, dtype=np.longdouble))


# ---- kinds -----------------------------------------------------------------------------------------------------------

KINDS: dict[str, Kind] = {}


def kind(name: str, share: float) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    """Declare a kind of attack: a function of a :class:`Case`, whose first line of documentation describes it.

    ``share`` is its part of the time, beside those of the other kinds.
    """

    def declare(attack: Callable[[Case], None]) -> Callable[[Case], None]:
        KINDS[name] = Kind(name, share, attack, (attack.__doc__ or "").strip().splitlines()[0])
        return attack

    return declare


def load_kinds() -> dict[str, Kind]:
    """All kinds that the modules of this package declare."""
    package = importlib.import_module(__package__)
    for found in pkgutil.iter_modules(package.__path__):
        if found.name != "__main__":
            importlib.import_module(f"{__package__}.{found.name}")
    return dict(sorted(KINDS.items()))


def run_case(found: Kind, number: int, seed: int) -> Case:
    """A case from its beginning to its end, whatever it raises."""
    case = Case(found.name, number, seed)
    with quiet():
        try:
            found.attack(case)
        except Exception:
            case.comparisons += 1
            case.fail("an error that nothing expected", _last_line() + "\n" + traceback.format_exc())
    return case


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings, except those of numpy about numbers that overflow or are undefined: these are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def is_log(number: float) -> bool:
    """Whether a number can be a log-probability."""
    return not math.isnan(number) and number <= 1e-9
