"""The type of the labels of a text file: whole numbers, numbers, true and false, or text.

Only the distinct labels of a column are looked at, so this costs nothing for long files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from bntk.data.variable import State
from bntk.errors import DataError

Kind = type[str] | type[int] | type[float] | type[bool]

# At most 18 digits fit into 64 bits. More are an identifier, as are leading zeros; both stay text.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]{0,17})(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_TRUTH = {"true": True, "false": False}


def typed_labels(
    name: str, texts: Sequence[str], missing: Collection[str], kind: Kind | None = None, decimal: str = "."
) -> list[State]:
    """The value of each label: None for a missing one, the others of one type, guessed unless it is given.

    >>> typed_labels("x", ["2", "", "10"], {""})
    [2, None, 10]
    >>> typed_labels("x", ["2", "010"], {""})
    ['2', '010']
    >>> typed_labels("x", ["2,5", "3"], {""}, decimal=",")
    [2.5, 3.0]
    """
    points = {text: text.replace(",", ".") if decimal == "," and "." not in text else text for text in texts}
    kind = kind or guess_kind([points[text] for text in texts if text not in missing])
    written = points if kind in (int, float) else dict(zip(texts, texts, strict=True))
    return [None if text in missing else _convert(name, written[text], kind) for text in texts]


def has_decimal_commas(texts: Sequence[str], missing: Collection[str]) -> bool:
    """Whether all labels look like numbers with a decimal comma, or whole ones.

    >>> has_decimal_commas(["2,5", "3", ""], {""}), has_decimal_commas(["2,5", "a"], {""})
    (True, False)
    """
    present = [text for text in texts if text not in missing]
    return any("," in text for text in present) and all(_COMMA.fullmatch(t) or _WHOLE.fullmatch(t) for t in present)


def guess_kind(texts: Sequence[str]) -> Kind:
    """The narrowest type that all labels fit."""
    if all(_WHOLE.fullmatch(text) for text in texts):
        return int
    if all(text.lower() in _TRUTH for text in texts):
        return bool
    if all(_NUMBER.fullmatch(text) and math.isfinite(float(text)) for text in texts):
        return float
    return str


def _convert(name: str, text: str, kind: Kind) -> State:
    if kind is str:
        return text
    try:
        value: State = _TRUTH[text.strip().lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        raise DataError(f"column {name!r}: {text!r} is not of the type {kind.__name__} that types= gives") from None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
