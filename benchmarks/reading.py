"""Reading and coding a CSV file of text, compared with pandas, polars and pyarrow.

python -m benchmarks.reading [--quick]

Reading in the other libraries gives strings, which still have to be coded; the second part times that step from frames
in memory. Versions matter: from 3.1 on, the default engine of pandas reads with several threads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks import report
from benchmarks.measure import Options, best, installed, repeated, run_peer
from benchmarks.report import Section

TITLE = "Reading tables"
COLUMNS = 50


@contextmanager
def csv_file(n_rows: int) -> Iterator[Path]:
    """Columns of three to ten states, whose labels have three to seven letters."""
    rng = np.random.default_rng(0)
    columns = []
    for _ in range(COLUMNS):
        letters = rng.choice(list("abcdefghijklmnop"), size=(rng.integers(3, 11), 7))
        states = np.array(["".join(label[: rng.integers(3, 8)]) for label in letters])
        columns.append(states[rng.integers(0, len(states), n_rows)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        with path.open("w") as file:
            file.write(",".join(f"v{i}" for i in range(COLUMNS)) + "\n")
            for start in range(0, n_rows, 10_000):
                rows = zip(*(column[start : start + 10_000].tolist() for column in columns), strict=True)
                file.write("\n".join(map(",".join, rows)) + "\n")
        yield path


# ---- peers: the number of rows that were read ------------------------------------------------------------------------


def read_pandas(path: Path) -> int:
    return len(pd.read_csv(path))


def read_pandas_categories(path: Path) -> int:
    return len(pd.read_csv(path, dtype="category"))


def read_polars(path: Path) -> int:
    import polars

    return len(polars.read_csv(path))


def read_pyarrow(path: Path) -> int:
    from pyarrow import csv

    return csv.read_csv(path).num_rows


PEERS: dict[str, Callable[[Path], int]] = {
    "pandas.read_csv": read_pandas,
    "pyarrow.csv.read_csv": read_pyarrow,
    "polars.read_csv": read_polars,
    'pandas.read_csv(dtype="category")': read_pandas_categories,
}


def csv(options: Options) -> Section:
    rows = options.pick(1_000_000, 100_000)
    with csv_file(rows) as path:
        section = Section(
            "Reading a CSV file",
            f"{rows:,} x {COLUMNS} text cells, {path.stat().st_size / 1e6:.0f} MB, already in the system's cache. "
            "bntk reads and codes, the others read: what they give still has to be coded, but for the last.",
            ["", "time", "/ bntk"],
        )
        bntk.read_table(path)  # compiles
        ours, table = best(lambda: bntk.read_table(path))
        assert table.n_rows == rows
        section.add("bntk.read_table", ours, "")
        for name, read in PEERS.items():
            time = run_peer(name.split(".")[0], 60, repeated, 4, read, path).shortest()
            section.add(name, time, section.ratio("CSV", name, time, ours))
    return section


def frames(options: Options) -> Section:
    rows = options.pick(1_000_000, 100_000)
    section = Section(
        "Coding a frame", f"`bntk.Table.from_frame` of {rows:,} x {COLUMNS} text cells in memory.", ["frame", "time"]
    )
    with csv_file(rows) as path:
        made: dict[str, Any] = {
            "pandas, strings": lambda: pd.read_csv(path),
            "pandas, categories": lambda: pd.read_csv(path, dtype="category"),
        }
        if installed("polars"):
            import polars

            made["polars, strings"] = lambda: polars.read_csv(path)
            made["pyarrow, strings"] = lambda: polars.read_csv(path).to_arrow()
        for name, read in made.items():
            frame = read()
            bntk.Table.from_frame(frame[:1000])  # compiles
            section.add(name, best(lambda: bntk.Table.from_frame(frame), 3)[0])  # noqa: B023
    return section


PARTS = {"csv": csv, "frames": frames}

if __name__ == "__main__":
    report.main()
