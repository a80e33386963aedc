"""Random odd tables for classifiers: one row, constant and empty columns, numbers of every type, mixed labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.torture.case import Case

#: Ways to fill a column; text is the most frequent.
COLUMNS = (
    "text", "text", "text", "text", "constant", "missing text", "missing numbers", "integers", "floats",
    "floats with nan", "booleans", "categories", "ordered", "huge integers", "nullable integers", "nullable booleans",
    "strings", "mixed", "infinite", "tiny", "dates", "uint8", "float32", "category of numbers", "missing integers",
    "missing categories", "missing strings",
)  # fmt: skip
#: Those that every classifier takes, whatever else is there.
ORDINARY = tuple(way for way in COLUMNS if way not in {"mixed", "infinite", "tiny", "dates", "huge integers"})
LABELS = ("text", "text", "integers", "booleans", "categories", "ordered", "strings")
ODD_LABELS = ("floats", "objects")


def column(case: Case, way: str, n: int) -> pd.Series:
    """A column with so many rows."""
    rng = case.rng
    text = np.array(["a", "b", "c", "déf", "x=y"], dtype=object)[rng.integers(case.pick([1, 2, 3, 5]), size=n)]
    small = rng.integers(-2, 4, size=n)
    holes = rng.random(n) < case.pick([0.0, 0.2, 0.7])
    if way == "text":
        return pd.Series(np.where(holes, None, text), dtype=object)
    if way == "constant":
        return pd.Series([case.pick(["k", 7, 2.5, True])] * n)
    if way == "missing text":
        return pd.Series([None] * n, dtype=object)
    if way == "missing numbers":
        return pd.Series([np.nan] * n)
    if way == "integers":
        return pd.Series(small)
    if way in ("floats", "floats with nan"):
        return pd.Series(np.where(holes & (way != "floats"), np.nan, rng.normal(size=n).round(2)))
    if way == "booleans":
        return pd.Series(small > 0)
    if way in ("categories", "ordered"):
        return pd.Series(
            pd.Categorical(
                np.where(holes, None, text), ["unused", "x=y", "déf", "c", "b", "a"], ordered=way == "ordered"
            )
        )
    if way == "huge integers":
        return pd.Series(2**60 + small)
    if way == "nullable integers":
        return pd.Series(small, dtype="Int64").mask(holes)
    if way == "nullable booleans":
        return pd.Series(small > 0, dtype="boolean").mask(holes)
    if way == "strings":
        return pd.Series(text, dtype="string").mask(holes)
    if way == "mixed":
        return pd.Series([case.pick([1, "1", 2.5, "b", None, -1, "nan"]) for _ in range(n)], dtype=object)
    if way == "infinite":
        return pd.Series(np.where(rng.random(n) < 0.2, case.pick([np.inf, -np.inf]), rng.normal(size=n)))
    if way == "tiny":
        return pd.Series(rng.normal(size=n) * case.pick([1e-310, 1e-150, 1e150, 1e307]))
    if way == "dates":
        return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(small, unit="D"))
    if way == "uint8":
        return pd.Series(np.abs(small).astype(np.uint8))
    if way == "float32":
        return pd.Series(rng.normal(size=n).astype(np.float32))
    if way.startswith("missing"):
        dtypes = {"missing integers": "Int64", "missing categories": "category", "missing strings": "string"}
        return pd.Series([None] * n, dtype=dtypes[way])
    return pd.Series(pd.Categorical(small))


def features(case: Case, n: int, ways: tuple[str, ...] = COLUMNS) -> pd.DataFrame:
    """A table of features with so many rows."""
    chosen = [case.pick(ways) for _ in range(int(case.pick([1, 2, 3, 4, 6])))]
    case.note(columns=chosen)
    return pd.DataFrame({f"f{i}": column(case, way, n) for i, way in enumerate(chosen)})


def labels(case: Case, n: int, name: str = "class") -> pd.Series:
    """Class labels, without missing ones; the number of classes may be one."""
    codes = case.rng.integers(case.pick([1, 2, 2, 3]), size=n)
    way = case.pick(ODD_LABELS if case.chance(0.05) else LABELS)
    names = np.array(["no", "yes", "perhaps"], dtype=object)
    made: Any = {
        "text": lambda: pd.Series(names[codes]),
        "integers": lambda: pd.Series(codes * 5 - 3),
        "booleans": lambda: pd.Series(codes > 0),
        "floats": lambda: pd.Series(codes + 0.5),
        "categories": lambda: pd.Series(pd.Categorical(names[codes], names)),
        "ordered": lambda: pd.Series(pd.Categorical(names[codes], names, ordered=True)),
        "objects": lambda: pd.Series(codes.astype(object)),
        "strings": lambda: pd.Series(names[codes], dtype="string"),
    }[way]()
    case.note(**{f"labels {name}": way})
    return made.rename(name)
