"""Rows of all kinds of columns, and the sources that they can be read from in passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

import bntk


def messy(n: int = 700, seed: int = 0) -> pd.DataFrame:
    """Labels, few and many whole numbers, measurements, truth values, missing cells, an identifier and a date."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["low", "mid", "high"], n, p=[0.5, 0.3, 0.2])
    measured = np.round(rng.normal(size=n) + (kind == "high") * 2, 2)
    measured[rng.random(n) < 0.1] = np.nan
    colour = rng.choice(np.array(["red", "blue", "x10", "x9"], dtype=object), n)
    colour[rng.random(n) < 0.15] = None
    return pd.DataFrame(
        {
            "few": rng.integers(1, 5, n),
            "many": rng.integers(-40, 400, n) + 300 * (kind == "low"),
            "measured": measured,
            "colour": colour,
            "flag": (rng.random(n) < 0.3) ^ (kind == "mid"),
            "id": [f"u{i}" for i in range(n)],
            "day": [f"2024-01-{1 + i % 28:02d}" for i in range(n)],
            "constant": 7,
            "kind": kind,
        }
    )


def sources(frame: pd.DataFrame, folder: Path, parts: int = 3) -> dict[str, Callable[[], Any]]:
    """The same rows as every kind of source."""
    pieces = [frame.iloc[rows] for rows in np.array_split(np.arange(len(frame)), parts)]
    (folder / "parquet").mkdir()
    (folder / "csv").mkdir()
    for number, piece in enumerate(pieces):
        piece.to_parquet(folder / "parquet" / f"p{number}.parquet", row_group_size=97, index=False)
        piece.to_csv(folder / "csv" / f"p{number}.csv", index=False)
    files = sorted((folder / "parquet").iterdir())
    table = pa.Table.from_pandas(frame, preserve_index=False)
    found: dict[str, Callable[[], Any]] = {
        "a folder of Parquet": lambda: folder / "parquet",
        "a pattern": lambda: str(folder / "parquet" / "*.parquet"),
        "a list of files": lambda: files,
        "CSV": lambda: folder / "csv",
        "a dataset": lambda: ds.dataset(folder / "parquet"),
        "a dataset in memory": lambda: ds.dataset(table),
        "a lazy frame": lambda: pl.scan_parquet(folder / "parquet" / "*.parquet"),
        "frames of pandas": lambda: lambda: iter(pieces),
        "frames of polars": lambda: lambda: (pl.from_pandas(piece) for piece in pieces),
        "batches of Arrow": lambda: lambda: iter(table.to_batches(max_chunksize=53)),
    }
    try:
        import duckdb
    except ImportError:
        return found
    found["a relation of DuckDB"] = lambda: duckdb.connect().from_arrow(table)
    return found


def shuffled(frame: pd.DataFrame, parts: int = 5, seed: int = 0) -> Callable[[], Any]:
    """The rows in another order, as a function that gives frames."""
    order = np.random.default_rng(seed).permutation(len(frame))
    pieces = [frame.iloc[rows] for rows in np.array_split(order, parts)]
    return lambda: iter(pieces)


def scan_of(frame: pd.DataFrame, **options: Any) -> Any:
    """A scan of the rows in another order."""
    return bntk.scan(shuffled(frame), **options)
