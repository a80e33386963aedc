"""How long it takes to read and code a CSV file of text, beside pandas, polars and pyarrow.

Run with ``python -m benchmarks.reading``; ``--quick`` for a tenth of the rows. Reading in the other libraries gives
strings, which still have to be coded; the second part times that step from frames in memory. Versions are printed
because they matter: from 3.1 on, the default engine of pandas reads with several threads.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd

import bntk

REPEATS = 3
LIBRARIES = ("pandas", "polars", "pyarrow", "numba", "numpy")


def write_csv(path: Path, n_rows: int, n_columns: int) -> None:
    """Columns of three to ten states, whose labels have three to seven letters."""
    rng = np.random.default_rng(0)
    columns = []
    for _ in range(n_columns):
        letters = rng.choice(list("abcdefghijklmnop"), size=(rng.integers(3, 11), 7))
        states = np.array(["".join(label[: rng.integers(3, 8)]) for label in letters])
        columns.append(states[rng.integers(0, len(states), n_rows)])
    with path.open("w") as file:
        file.write(",".join(f"v{i}" for i in range(n_columns)) + "\n")
        for start in range(0, n_rows, 10_000):
            rows = zip(*(column[start : start + 10_000].tolist() for column in columns), strict=True)
            file.write("\n".join(map(",".join, rows)) + "\n")


def seconds(run: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def report(name: str, times: list[float], reference: float) -> None:
    listed = " ".join(f"{t:6.2f}" for t in times)
    print(f"{name:<38} best {min(times):6.2f} s   ({listed})   {min(times) / reference:5.1f} x ours")


def versions() -> str:
    found = []
    for library in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{library} {metadata.version(library)}")
    return ", ".join(found)


def peers(path: Path) -> dict[str, Callable[[], object]]:
    runs: dict[str, Callable[[], object]] = {
        "pandas.read_csv": lambda: pd.read_csv(path),
        'pandas.read_csv(dtype="category")': lambda: pd.read_csv(path, dtype="category"),
    }
    try:
        import polars as pl

        runs["polars.read_csv"] = lambda: pl.read_csv(path)
    except ImportError:
        print("polars is not installed")
    try:
        from pyarrow import csv

        runs["pyarrow.csv.read_csv"] = lambda: csv.read_csv(path)
    except ImportError:
        print("pyarrow is not installed")
    return runs


def frames(path: Path) -> dict[str, object]:
    found: dict[str, object] = {"pandas": pd.read_csv(path), "pandas category": pd.read_csv(path, dtype="category")}
    try:
        import polars as pl

        found["polars"] = pl.read_csv(path)
        found["pyarrow"] = found["polars"].to_arrow()  # type: ignore[attr-defined]
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 rows instead of 1,000,000")
    n_rows = 100_000 if parser.parse_args().quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        write_csv(path, n_rows, 50)
        print(versions())
        print(f"{n_rows:,} x 50 text cells, {path.stat().st_size / 1e6:.0f} MB, {bntk.n_threads()} threads\n")
        [first] = seconds(lambda: bntk.read_table(path), 1)
        ours = seconds(lambda: bntk.read_table(path))
        print(f"bntk.read_table, first call (compiles, or loads the compiled code): {first:.2f} s")
        report("bntk.read_table (read and coded)", ours, min(ours))
        for name, run in peers(path).items():
            report(name, seconds(run), min(ours))
        print("\nCoding a frame in memory")
        for name, frame in frames(path).items():
            report(f"Table.from_frame, {name}", seconds(lambda f=frame: bntk.Table.from_frame(f)), min(ours))


if __name__ == "__main__":
    main()
