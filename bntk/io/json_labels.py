"""Dates, times and intervals as JSON: the states and labels of columns that hold them, to the last digit.

Each is ``{"label": [type, part, ...]}``, with a type of the table here. What is read must be written as it was, so that
nothing is guessed from a text.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np

from bntk.data.variable import plain_state

_MOST_PARTS, _LONGEST = 3, 100


def label_parts(value: Any, entry: Callable[[Any], Any]) -> list[Any] | None:
    """The type and parts of a date, time or interval; ``entry`` writes the ends of an interval. None for others."""
    kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    match kind:
        case "datetime.date" | "datetime.time":
            return [kind, value.isoformat()]
        case "datetime.datetime" | "pandas.Timestamp":
            zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
            return [kind, value.isoformat(), zone, *([value.unit] if kind == "pandas.Timestamp" else [])]
        case "datetime.timedelta":
            return [kind, value // datetime.timedelta(microseconds=1)]
        case "pandas.Timedelta":
            return [kind, value.isoformat(), value.unit]
        case "pandas.Period":
            return [kind, str(value), value.freqstr]
        case "pandas.Interval":
            return [kind, entry(plain_state(value.left)), entry(plain_state(value.right)), value.closed]
        case "numpy.datetime64" | "numpy.timedelta64":
            return [kind, int(value.astype(np.int64)), np.datetime_data(value.dtype)[0]]
    return None


def read_label(parts: Any, read: Callable[[Any], Any], entry: Callable[[Any], Any]) -> Any:
    """The value that was taken apart; a ValueError for what nobody has written."""
    try:
        value = _value(*parts, read=read)
        if label_parts(value, entry) == parts:
            return value
    except Exception:  # each type has its own ways to refuse
        pass
    raise ValueError("is no date, time or interval")


def _value(kind: str, first: Any, *rest: Any, read: Callable[[Any], Any]) -> Any:
    if len(rest) >= _MOST_PARTS or any(isinstance(part, str) and len(part) > _LONGEST for part in (first, *rest)):
        raise ValueError
    import pandas as pd

    match kind:
        case "datetime.date" | "datetime.time":
            return getattr(datetime, kind.partition(".")[2]).fromisoformat(first)
        case "datetime.datetime":
            moment = datetime.datetime.fromisoformat(first)
            if rest[0] is None:
                return moment
            from zoneinfo import ZoneInfo

            return moment.astimezone(ZoneInfo(rest[0]))
        case "pandas.Timestamp":
            zone, unit = rest
            stamp = pd.Timestamp(first).as_unit(unit)
            return stamp if zone is None else stamp.tz_convert(zone)
        case "datetime.timedelta":
            return datetime.timedelta(microseconds=first)
        case "pandas.Timedelta":
            return pd.Timedelta(first).as_unit(rest[0])
        case "pandas.Period":
            return pd.Period(first, freq=rest[0])
        case "pandas.Interval":
            return pd.Interval(read(first), read(rest[0]), rest[1])
        case "numpy.datetime64" | "numpy.timedelta64":
            return getattr(np, kind.partition(".")[2])(first, rest[0])
    raise ValueError
