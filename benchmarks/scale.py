"""Rows that do not fit into memory, or into one machine: growth, reading, peers, Dask, and the model of what it costs.

python -m benchmarks.scale [--quick] [--only growth reading peers dask model] [--rows 30000000] [--folder FOLDER]
                           [--write docs/benchmarks-scale.md]

Rows of 50 columns are written as Parquet to the folder (by default a temporary one), 13 bytes a row; those that are
there already are used again, and a folder that is given is not emptied. Everything is measured in processes of its own.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, report, scale_children, scale_data
from benchmarks.measure import Time, digits
from benchmarks.report import Section
from benchmarks.scale_children import Failed
from benchmarks.scale_data import CARDS, N_CLASSES, NAMES
from bntk.learning.counts.base import MOST_REMEMBERED
from bntk.learning.counts.dask_partitions import FAN_IN
from bntk.learning.counts.partitions import SAMPLE

HEAD = """\
# Benchmarks of scale

Written by one run of

```sh
pip install -e ".[bench]"
python -m benchmarks.scale{arguments}
```

{machine}

Rows have 50 columns of two to five states, the last of which is the class, in Parquet files with dictionaries. They are
drawn; every other column depends on the class, and the others each on the column before. [Scale](scale.md) describes
what is done in a pass, and derives the formulas of the last two sections."""

MIB, GIB = 2**20, 2**30
#: Bytes at the end of a Parquet file that pyarrow reads whenever it opens one. A scan opens the first file, and then
#: each of them, as every pass does.
FOOTER = 1 << 16
#: The case that is computed only; ``partition`` is the rows of one.
LARGE = {"rows": 10**9, "columns": 1000, "workers": 100, "partition": 10**6}


@dataclass
class Plan:
    """Sizes, and the files of each."""

    quick: bool
    folder: Path
    most: int = 30_000_000
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def sizes(self) -> list[int]:
        if self.quick:
            return [50_000, 500_000]
        return [n for n in (100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000) if n <= self.most]

    @property
    def base(self) -> int:
        """The rows of everything but growth."""
        return 500_000 if self.quick else 1_000_000

    def rows(self, n: int) -> str:
        return str(scale_data.write(self.folder, n))

    def measured(self, name: str, n: int, **arguments: Any) -> dict[str, Any]:
        """What a process measures on so many rows, once."""
        key = repr((name, n, sorted(arguments.items())))
        if key not in self.known:
            self.known[key] = scale_children.run(name, folder=self.rows(n), **arguments)
        found: dict[str, Any] = self.known[key]
        return found

    def pass_of(self, n: int, n_columns: int, threads: int | None = None) -> dict[str, Any]:
        return self.measured("pairs", n, columns=NAMES[-n_columns:], given_class=True, threads=threads)

    @cached_property
    def costs(self) -> Costs:
        """The constants of the model, with one thread that counts, from passes over some columns of the base size."""
        pair = self.measured("counting", self.base, copies=4)["seconds"]
        cases = [(self.base, 12), (self.base, 25), (self.base, 50), (self.base // 10, 50)]
        return Costs.fitted([(n, k, self.pass_of(n, k, 1)["seconds"]) for n, k in cases], pair)


# ---- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """Seconds of a pass, of a cell that is read and coded, and of a row and pair that is counted, with one thread."""

    fixed: float
    cell: float
    pair: float

    @classmethod
    def fitted(cls, cases: list[tuple[int, int, float]], pair: float) -> Costs:
        """The two other constants with the least sum of squares of relative errors; none is negative."""
        from scipy.optimize import nnls

        seconds = np.array([s for *_, s in cases])
        rest = [max(0.0, s - pair * cls.pairs(n, k)) for n, k, s in cases]
        work = np.array([[1.0, n * k] for n, k, _ in cases])
        fixed, cell = nnls(work / seconds[:, None], np.array(rest) / seconds)[0].tolist()
        return cls(fixed, cell, pair)

    @staticmethod
    def pairs(n_rows: float, n_columns: int) -> float:
        """Rows times pairs of features; the last column is the class."""
        return n_rows * math.comb(n_columns - 1, 2)

    def seconds(self, n_rows: float, n_columns: int) -> float:
        return self.fixed + self.cell * n_rows * n_columns + self.pair * self.pairs(n_rows, n_columns)


def result_bytes(cards: list[int], n_classes: int, n_rows: int) -> int:
    """The bytes that a partition gives in the first pass over pairs given the class, which is the last column.

    Tables have 8 bytes for each entry: those of pairs and of single features given the class, that of the class, and
    the rows of each state, by which a change of the rows is noticed. The sample has one byte a cell.
    """
    products = (sum(cards) ** 2 - sum(card * card for card in cards)) // 2
    entries = n_classes * (products + sum(cards)) + n_classes
    states = sum(cards) + n_classes + len(cards) + 1  # and the missing cells of each column
    sample = math.ceil(n_rows / math.ceil(n_rows / SAMPLE)) * (len(cards) + 1)
    return 8 * (entries + states) + sample


def n_results(partitions: int) -> int:
    """The results that are added on the way to the sum of all."""
    level = partitions
    total = 0
    while level > 1:
        total += level
        level = -(-level // FAN_IN)
    return total


def column_bytes(folder: str, names: list[str]) -> int:
    """The bytes of some columns in the files of a folder, as their footers have them."""
    from pyarrow import parquet

    total = 0
    for path in Path(folder).glob("*.parquet"):
        file = parquet.ParquetFile(path).metadata
        for group in range(file.num_row_groups):
            columns = [file.row_group(group).column(c) for c in range(file.num_columns)]
            total += sum(c.total_compressed_size for c in columns if c.path_in_schema in names)
    return total


# ---- sections --------------------------------------------------------------------------------------------------------


def growth(plan: Plan) -> Section:
    section = Section(
        "Growth",
        "TAN and hill climbing (BIC) from a folder by `bntk.scan`, states not given. Peak is the most memory that was "
        "ever resident in the process; before learning it has read 20,000 rows, for compiled kernels. The limit is 1 "
        "GiB for the largest.",
        ["", "rows", "passes", "time", "ns a row", "ns a row and pass", "MiB before", "MiB at the peak"],
        axes=("rows", "seconds"),
    )
    for model, name in (("tan", "TAN"), ("hc", "hill climbing")):
        for n in plan.sizes:
            found = plan.measured("learn", n, model=model)
            nanoseconds = 1e9 * found["seconds"] / n
            section.add(
                name, f"{n:,}", found["passes"], Time(found["seconds"]), nanoseconds, nanoseconds / found["passes"],
                found["before"] / MIB, found["peak"] / MIB,
            )  # fmt: skip
            section.point(name, n, Time(found["seconds"]))
    return section


def reading(plan: Plan) -> Section:
    section = Section(
        "A pass beside reading",
        "A pass that counts all pairs given the class, by `bntk.scan` with known states, beside pyarrow reading and "
        "decoding the same columns and doing nothing with them: as a dataset with its own threads, and file by file. "
        "The shortest of several runs, files in the system's cache. The limit is twice pyarrow's time.",
        ["rows", "columns", "pairs", "pass", "dataset", "files", "pass / dataset", "pass / files"],
    )
    for n, k in [(plan.base, 12), (plan.base, 25), (plan.base, 50), (plan.base // 10, 50)]:
        found = plan.pass_of(n, k)
        ours, dataset, files = Time(found["seconds"]), Time(found["dataset"]), Time(found["files"])
        section.add(
            f"{n:,}", k, (k - 1) * (k - 2) // 2, ours, dataset, files,
            digits(ours.seconds / dataset.seconds), digits(ours.seconds / files.seconds),
        )  # fmt: skip
    return section


def peers(plan: Plan) -> Section:
    n_pairs = 1225
    counted = 60 if plan.quick else n_pairs
    section = Section(
        "Groupings of a database",
        f"The number of rows of each combination of two columns, for all {n_pairs:,} pairs of 50 columns of "
        f"{plan.base:,} rows: GROUP BY in DuckDB and polars, which have the rows in memory already, and a pass of "
        "bntk, which reads them from Parquet. The mark is 50 times as fast as DuckDB.",
        ["", "rows are", "time", "/ bntk"],
    )
    ours = Time(plan.measured("pairs", plan.base, columns=NAMES, given_class=False, read_too=False)["seconds"])
    section.add("bntk", "in Parquet files", ours, "")
    kinds = {"text": "in memory, as text", "enum": "in memory, as enumerated types"}
    for name, kinds_of in (("duckdb", kinds), ("polars", {"seconds": "in memory, as categories"})):
        try:
            found = plan.measured(name, plan.base, n_pairs=counted)
        except Failed as reason:
            section.add(name, "", Time(note=str(reason)), "")
            continue
        for key, kind in kinds_of.items():
            theirs = Time(found[key]).scaled(n_pairs / counted)
            section.add(name, kind, theirs, section.ratio(kind, name, theirs, ours))
    return section


def dask(plan: Plan) -> Section:
    section = Section(
        "Dask",
        f"A pass that counts all pairs given the class in {plan.base:,} rows: `bntk.scan` with one thread, and a Dask "
        "DataFrame of the same files, a partition for each row group, on a `LocalCluster` of worker processes with one "
        "thread. Persisted partitions are in the memory of the workers; others are read again in each pass. The bytes "
        "are those that workers receive from one another in a pass.",
        ["", "partitions", "time", "/ one worker", "bytes between workers"],
    )
    scan = Time(plan.measured("dask", plan.base, workers=0, persist=False)["seconds"])
    section.add("bntk.scan", "", scan, "", "")
    for persist in (True, False):
        one: float | None = None
        for workers in (1, 2):
            found = plan.measured("dask", plan.base, workers=workers, persist=persist)
            one = found["seconds"] if one is None else one
            section.add(
                f"{workers} worker{'s' * (workers > 1)}, {'persisted' if persist else 'read in each pass'}",
                found["partitions"], Time(found["seconds"]), digits(found["seconds"] / one), f"{found['moved']:,}",
            )  # fmt: skip
    return section


def model(plan: Plan) -> Section:
    costs = plan.costs
    section = Section(
        "The model beside the figures",
        f"Constants of the model, with one thread that counts: {1e3 * costs.fixed:.1f} ms for a pass and "
        f"{1e9 * costs.cell:.2f} ns for a cell that is read and coded, from passes over 12, 25 and 50 columns of "
        f"{plan.base:,} and 50 of {plan.base // 10:,} rows; and {1e9 * costs.pair:.3f} ns for a row and a pair, from "
        "coded rows in memory. Below, what the model says of cases that it has not seen, and of bytes, which it knows "
        "by counting.",
        ["", "predicted", "measured", "measured / predicted"],
    )

    def compare(what: str, predicted: float, measured: float, shown: Callable[[float], Any]) -> None:
        section.add(what, shown(predicted), shown(measured), digits(measured / predicted) if predicted else "")

    folder, large = plan.rows(plan.base), plan.sizes[-1]
    for n, k in ((plan.base, 37), (large, 50)):
        compare(f"a pass over {n:,} rows of {k} columns", costs.seconds(n, k), plan.pass_of(n, k, 1)["seconds"], Time)
    for k in (12, 50):
        expected = column_bytes(folder, NAMES[-k:]) + FOOTER * (2 * len([*Path(folder).glob("*.parquet")]) + 1)
        compare(f"bytes read in a pass, {k} columns", expected, plan.pass_of(plan.base, k)["read"], _whole)
    given = plan.measured("result_bytes", plan.base)
    tables = result_bytes(CARDS[:-1], N_CLASSES, given["rows"])
    compare("bytes that a partition gives", tables, given["bytes"], _whole)
    for name, stated in (("tan", 2), ("hc", 3)):
        compare(f"passes, {name}", stated, plan.measured("learn", plan.sizes[0], model=name)["passes"], _whole)
    one, two = (plan.measured("dask", plan.base, workers=w, persist=True) for w in (1, 2))
    compare("a pass of Dask with two workers", one["seconds"] / 2, two["seconds"], Time)
    half = n_results(two["partitions"]) * tables / 2
    compare("bytes between two workers of Dask in a pass", half, two["moved"], _whole)
    section.remarks.append(
        "Bytes read are those of the columns and of the footers of files, which a scan and a pass open. Two workers "
        "are predicted to take half the time of one. Of the results of partitions that are placed at random, half "
        "have to move to be added; where neighbours lie together, fewer do."
    )
    return section


def large(plan: Plan) -> Section:
    """The model's answer for rows that no single machine holds."""
    case, costs = LARGE, plan.costs
    n, k, workers = case["rows"], case["columns"], case["workers"]
    per_cell = column_bytes(plan.rows(plan.base), NAMES) / (plan.base * len(NAMES))
    mean_card = sum(CARDS[:-1]) / len(CARDS[:-1])
    cards = [2 + i % 4 for i in range(k - 1)]
    tables = result_bytes(cards, N_CLASSES, case["partition"])
    partitions = n // case["partition"]
    more = (
        ", and one for its parameters, as so many tables of pairs are not kept" if tables > 8 * MOST_REMEMBERED else ""
    )
    section = Section(
        f"{n:,} rows of {k:,} columns on {workers} workers",
        f"What the model says of a pass that counts all {math.comb(k - 1, 2):,} pairs given a class of {N_CLASSES}, "
        f"with columns as here ({mean_card:.1f} states and {per_cell:.2f} bytes a cell), {partitions:,} partitions, "
        "and one thread a worker: computed, not measured. A worker sends each of its results at most once, and "
        "receives as much; the tree has one more step for each factor of 8, and its last sum goes to the client.",
        ["", "of all", "of a worker", "seconds of a worker"],
    )
    section.add("bytes read, at 1 GB a second", _bytes(per_cell * n * k), _bytes(per_cell * n * k / workers),
                digits(per_cell * n * k / workers / 1e9))  # fmt: skip
    n_pairs = costs.pairs(n, k)
    section.add("cells coded", f"{n * k:.1e}", f"{n * k / workers:.1e}", digits(costs.cell * n * k / workers))
    seconds = digits(costs.pair * n_pairs / workers)
    section.add("rows times pairs counted", f"{n_pairs:.1e}", f"{n_pairs / workers:.1e}", seconds)
    sent = tables * n_results(partitions)
    depth = math.ceil(math.log(partitions, FAN_IN))
    for name, rate in (("10 Gbit", 1.25e9), ("1 Gbit", 1.25e8)):
        seconds = (sent / workers + tables * (FAN_IN * max(0, depth - 1) + 1)) / rate
        section.add(f"tables sent, {name} a second", _bytes(sent), _bytes(sent / workers), digits(seconds))
    section.add("tables held while they are added", "", _bytes((FAN_IN + 1) * tables), "")
    section.remarks.append(
        f"What a partition gives has {_bytes(tables)}. TAN takes a pass for states, where a partition gives the values "
        f"of each column, this one{more}; naive Bayes sends 8 bytes for each state and class."
    )
    return section


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _bytes(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{value:.0f} bytes"


SECTIONS: dict[str, Callable[[Plan], Section]] = {
    "growth": growth, "reading": reading, "peers": peers, "dask": dask, "model": model, "large": large,
}  # fmt: skip


# ---- the page --------------------------------------------------------------------------------------------------------


def page(found: dict[str, Section | str], head: str, folder: Path | None) -> str:
    pieces = [head.rstrip()]
    for name, part in found.items():
        if isinstance(part, str):
            pieces.append(f"## {name}\n\nNot measured: {part}.")
            continue
        pieces += [f"## {part.title}", str(part)]
        if folder is not None and part.curves:
            from benchmarks import pictures

            pictures.save(pictures.curves(part), folder / f"benchmarks-scale-{name}.svg")
            pieces.append(f"![{part.title}: how the time grows](benchmarks-scale-{name}.svg)")
    return "\n\n".join(pieces) + "\n"


def run(plan: Plan, names: list[str]) -> dict[str, Section | str]:
    found: dict[str, Section | str] = {}
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found[name] = SECTIONS[name](plan)
        except Failed as reason:
            found[name] = str(reason)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to try it out")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--rows", type=int, default=30_000_000, help="the most rows of the growth")
    parser.add_argument("--folder", type=Path, help="where the rows are written, and kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page there, and its picture beside it")
    options = parser.parse_args()
    report.quieten()
    before, start = machine.load(), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        plan = Plan(options.quick, options.folder or Path(temporary), options.rows)
        found = run(plan, options.only)
    facts = [
        f"on {date.today().isoformat()}, in {(time.perf_counter() - start) / 60:.0f} minutes.",
        *machine.described(),
        f"{', '.join(map(machine.version, ('duckdb', 'dask', 'distributed')))}.",
        f"Load averages over 1, 5 and 15 minutes: {before} at the start, {machine.load()} at the end.",
    ]
    given = " --quick" * options.quick + " --write docs/benchmarks-scale.md" * bool(options.write)
    head = HEAD.format(arguments=given, machine=report.wrapped(" ".join(facts)))
    print(page(found, head, None))
    if options.write:
        options.write.write_text(page(found, head, options.write.parent), encoding="utf-8")
    if any(isinstance(part, str) for part in found.values()):
        sys.exit("some sections failed; see above")


if __name__ == "__main__":
    main()
