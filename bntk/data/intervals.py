"""Names of the intervals between cut points, and cut points from names."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from bntk import _checking
from bntk.errors import DataError

#: By how much of the distance to the next cut point the number in a name may differ from the cut point itself.
ROUNDING = 0.001
#: The same for a single cut point, relative to it.
ROUNDING_ALONE = 0.001
#: Decimals beyond which a number is written with an exponent.
MOST_DECIMALS = 9

_NUMBER = r"(-inf|[+-]?[0-9.]+(?:e[+-]?[0-9]+)?)"
_FIRST, _BETWEEN, _LAST = (re.compile(p) for p in (rf"<= {_NUMBER}", rf"\({_NUMBER}, {_NUMBER}\]", rf"> {_NUMBER}"))
_NUMERAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def interval_names(cuts: Sequence[float]) -> list[str]:
    """The names of the intervals between cut points: short numbers that neighbouring cut points are told apart by.

    Parameters
    ----------
    cuts : sequence of numbers
        The cut points, increasing.

    Examples
    --------
    >>> interval_names([2.5, 4]), interval_names([])
    (['<= 2.5', '(2.5, 4]', '> 4'], ['all'])
    >>> interval_names([1.42, 2.2350000000000003])
    ['<= 1.42', '(1.42, 2.235]', '> 2.235']
    """
    ends = short_numbers(increasing_numbers("cuts", cuts))
    if not ends:
        return ["all"]
    between = [f"({low}, {high}]" for low, high in pairwise(ends)]
    return [f"<= {ends[0]}", *between, f"> {ends[-1]}"]


def increasing_numbers(name: str, cuts: Sequence[float]) -> list[float]:
    """Cut points as a list: increasing numbers that some value can exceed; anything else is refused."""
    given = _checking.several(name, cuts, "increasing numbers", DataError)
    points = _checking.numbers(name, given, "increasing numbers", DataError)
    increasing = points.ndim == 1 and all(low < high for low, high in pairwise(points.tolist()))
    if not increasing or any(math.isnan(point) or point == math.inf for point in points.tolist()):
        raise _checking.wrong(name, "increasing numbers", given, DataError)
    return list(points.tolist())


def short_numbers(numbers: Sequence[float]) -> list[str]:
    """Increasing numbers with few decimals: within a thousandth of the distance to their neighbours, and distinct.

    >>> short_numbers([0.1 + 0.2, 1.0, 159449.0])
    ['0.3', '1', '159449']
    >>> short_numbers([1.0, 1.0000001])
    ['1', '1.0000001']
    """
    texts = []
    for place, number in enumerate(numbers):
        gaps = [abs(number - other) for other in (*numbers[max(0, place - 1) : place], *numbers[place + 1 : place + 2])]
        texts.append(_rounded(number, ROUNDING * min(gaps) if gaps else ROUNDING_ALONE * abs(number)))
    return texts


def _rounded(number: float, tolerance: float) -> str:
    """The number with the fewest decimals that differs by at most so much; as it is where that takes too many."""
    if math.isinf(number):
        return str(number)
    for decimals in range(MOST_DECIMALS + 1):
        rounded = round(number, decimals)
        if abs(rounded - number) <= tolerance and (rounded != 0 or number == 0):
            text = f"{rounded:.{decimals}f}" if abs(number) < 1e15 else repr(number)
            return "0" if float(text) == 0 else text
    for digits in range(1, 17):
        text = f"{number:.{digits}g}"
        if abs(float(text) - number) <= tolerance:
            return text
    return repr(number)


def cuts_of_names(names: Iterable[object]) -> tuple[float, ...] | None:
    """The cut points of intervals by the numbers in their names; None for states that are no intervals.

    >>> cuts_of_names(["<= 2.5", "(2.5, 4]", "> 4"])
    (2.5, 4.0)
    >>> cuts_of_names(["low", "high"]) is None
    True
    """
    texts = [name if isinstance(name, str) else "" for name in names]
    if len(texts) < 2 or not (first := _FIRST.fullmatch(texts[0])) or not (last := _LAST.fullmatch(texts[-1])):
        return None
    between = [_BETWEEN.fullmatch(text) for text in texts[1:-1]]
    lows = [first[1], *(match[2] for match in between if match)]
    highs = [*(match[1] for match in between if match), last[1]]
    if None in between or lows != highs:
        return None
    cuts = tuple(map(float, lows))
    return cuts if all(low < high for low, high in pairwise(cuts)) else None


def number_in(value: object) -> float | None:
    """A number, or text that is one; None for anything else, truth values and NaN among it."""
    if isinstance(value, str):
        return float(value) if _NUMERAL.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return None if math.isnan(value) else float(value)


def interval_of(number: float, cuts: Sequence[float]) -> int:
    """The position of the interval that has a number; intervals include their upper ends."""
    return bisect_left(cuts, number)
