"""Counting: class-conditional pair tables compared with numpy, scipy and pandas; families; planes or increments.

python -m benchmarks.counting [--quick] [--only pairs families model]

``model`` shows where planes and increments meet, for ``planes.MOST_PRODUCTS``; it runs only if named by ``--only``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from numba import njit
from scipy import sparse

import bntk
from benchmarks import report
from benchmarks.measure import Options, Time, best, run_peer, with_threads
from benchmarks.report import Section
from bntk import Table, Variable
from bntk.learning.counts import PairTables, TableCounter, planes

TITLE = "Counting"


@dataclass(frozen=True)
class Case:
    """A random table: features of equally many states, and a class."""

    rows: int
    features: int
    states: int
    classes: int

    @property
    def n_pairs(self) -> int:
        return self.features * (self.features - 1) // 2

    def table(self) -> Table:
        rng = np.random.default_rng(0)
        codes = np.empty((self.features + 1, self.rows), dtype=np.uint8)
        for column in codes[:-1]:
            column[:] = rng.integers(0, self.states, self.rows, dtype=np.uint8)
        codes[-1] = rng.integers(0, self.classes, self.rows, dtype=np.uint8)
        features = [Variable(f"x{i}", range(self.states)) for i in range(self.features)]
        return Table.from_codes(codes, [*features, Variable("class", range(self.classes))])

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.features}, {self.states} states, {self.classes} classes"


CASES = [Case(10_000, 50, 3, 2), Case(100_000, 100, 4, 3), Case(1_000_000, 50, 3, 2), Case(8_500, 200, 2, 10)]
QUICK = [Case(10_000, 50, 3, 2), Case(20_000, 20, 4, 3)]


# ---- the others ------------------------------------------------------------------------------------------------------


def by_bincount(table: Table, case: Case, sample: Iterable[tuple[int, int]]) -> dict[tuple[int, int], np.ndarray]:
    """numpy.bincount, vectorised: class and first variable make one index, kept for all pairs of that variable."""
    K, r, classes = case.classes, case.states, table.codes[-1].astype(np.int64)
    tables, previous, index = {}, -1, classes
    for i, j in sample:
        if i != previous:
            previous, index = i, (classes * r + table.codes[i]) * r
        tables[i, j] = np.bincount(index + table.codes[j], minlength=K * r * r).reshape(K, r, r)
    return tables


def by_crosstab(
    frame: pd.DataFrame, case: Case, sample: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], np.ndarray]:
    K, r = case.classes, case.states
    full = pd.MultiIndex.from_product([range(K), range(r)])
    tables = {}
    for i, j in sample:
        crossed = pd.crosstab([frame["class"], frame[f"x{i}"]], frame[f"x{j}"])
        tables[i, j] = crossed.reindex(index=full, columns=range(r), fill_value=0).to_numpy().reshape(K, r, r)
    return tables


def by_sparse(table: Table, case: Case, rows: int) -> np.ndarray:
    """scipy: for each class, the product of the sparse one-hot matrix with itself."""
    n, r = case.features, case.states
    products = []
    for k in range(case.classes):
        chosen = np.flatnonzero(table.codes[-1, :rows] == k)
        columns = (table.codes[:-1, chosen].T + np.arange(n, dtype=np.int32) * r).ravel()
        shape = (len(chosen), n * r)
        one_hot = sparse.csr_matrix((np.ones(columns.size, np.int32), columns, np.arange(len(chosen) + 1) * n), shape)
        products.append((one_hot.T @ one_hot).toarray().reshape(n, r, n, r).transpose(0, 2, 1, 3))
    return np.array(products)


def check(pairs: PairTables, tables: dict[tuple[int, int], np.ndarray]) -> None:
    for (i, j), expected in tables.items():
        np.testing.assert_array_equal(pairs.table(i, j), expected)


# ---- all pairs -------------------------------------------------------------------------------------------------------


def pairs(options: Options) -> Section:
    section = Section(
        "All class-conditional pair tables",
        "The tables of all pairs of features given the class, from coded random data. numpy counts each pair with "
        "one vectorised bincount, scipy multiplies sparse one-hot matrices, pandas is crosstab; where all pairs or "
        "rows would take long, they count some. Every pair that numpy and pandas count is checked to equal ours. Peak "
        "memory is that of a fresh process, the coded data included; allowed is twice the coded data plus the tables.",
        ["data", "bntk, 1 thread", f"bntk, {bntk.n_threads()}", "numpy.bincount", "scipy", "pandas.crosstab",
         "bincount / bntk", "MB at the peak", "allowed"],
    )  # fmt: skip
    for case in options.pick(CASES, QUICK):
        table = case.table()
        found = TableCounter(table).pairs("class")
        # A counter remembers its pairs: each time a new one counts.
        one = with_threads(1, lambda: TableCounter(table).pairs("class"), 9)  # noqa: B023
        ours, _ = best(lambda: TableCounter(table).pairs("class"), 9)  # noqa: B023
        by_numpy, by_scipy, by_pandas = (time(case, table, found) for time in (numpy_time, scipy_time, pandas_time))
        ratio = section.ratio(str(case), "numpy.bincount", by_numpy, ours)
        section.ratio(str(case), "scipy", by_scipy, ours)
        section.ratio(str(case), "pandas.crosstab", by_pandas, ours)
        [(peak, allowed)] = run_peer("bntk", 120, memory, case).answers
        section.add(case, one, ours, by_numpy, by_scipy, by_pandas, ratio, float(peak), float(allowed))
    return section


def numpy_time(case: Case, table: Table, found: PairTables) -> Time:
    # Whole runs of one i, as a full run has them, so that the shared index is paid as often as there.
    most = max(case.features - 1, int(1e9 / (5 * case.rows)))
    sample = list(combinations(range(case.features), 2))[:most]
    seconds, tables = best(lambda: by_bincount(table, case, sample), 3)
    check(found, tables)
    return seconds.scaled(case.n_pairs / len(sample))


def scipy_time(case: Case, table: Table, found: PairTables) -> Time:
    rows = min(case.rows, int(2e8 / case.features**2))
    seconds, products = best(lambda: by_sparse(table, case, rows), 2)
    if rows == case.rows:
        check(found, {(i, j): products[:, i, j] for i, j in combinations(range(case.features), 2)})
    return seconds.scaled(case.rows / rows)


def pandas_time(case: Case, table: Table, found: PairTables) -> Time:
    frame = pd.DataFrame(table.codes.T, columns=list(table.names))
    few = list(combinations(range(case.features), 2))[:: case.n_pairs // 3][:3]
    seconds, tables = best(lambda: by_crosstab(frame, case, few), 1)
    check(found, tables)
    return seconds.scaled(case.n_pairs / len(few))


def memory(case: Case) -> Iterator[tuple[float, float]]:
    """Peak megabytes of counting all pairs in this fresh process, and twice the coded data plus the tables.

    The peak is the high-water mark of the resident memory, reset just before, so allocations inside kernels are seen.
    """
    TableCounter(Case(100, 4, 3, 2).table()).pairs("class")
    table = case.table()
    yield 0.0, 0.0
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now the resident memory
        before = resident("VmRSS")
        found = TableCounter(table).pairs("class")
        extra = resident("VmHWM") - before
    except OSError:  # no such files outside of Linux
        found, extra = TableCounter(table).pairs("class"), float("nan")
    coded, tables = table.codes.nbytes, found.counts.nbytes + found.single_counts.nbytes
    yield (extra + coded) / 1e6, (2 * coded + tables) / 1e6


def resident(field: str) -> float:
    """A figure of resident memory of this process, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024.0 * int(line.split()[1])


# ---- families --------------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def count_plainly(codes, members, cards, out):
    """One increment per row straight into the table: what packing and lanes are measured against."""
    for row in range(codes.shape[1]):
        index = 0
        for variable in members:
            index = index * cards[variable] + codes[variable, row]
        out[index] += 1


def family_case(rows: int, skewed: bool) -> tuple[Table, list[list[int]]]:
    """37 variables and families of the shape of the alarm network: 2 to 4 states, none to three parents."""
    rng = np.random.default_rng(1)
    cards = rng.choice([2, 3, 4], 37, p=[0.45, 0.35, 0.2])
    rare = [0.04 if skewed else 1 / card for card in cards]
    chances = [[1 - (card - 1) * p, *[p] * (card - 1)] for card, p in zip(cards, rare, strict=True)]
    codes = np.array([rng.choice(len(p), rows, p=p) for p in chances], dtype=np.uint8)
    sizes = rng.choice([1, 2, 3, 4], 37, p=[0.3, 0.3, 0.3, 0.1])
    families = [rng.choice(37, size, replace=False).tolist() for size in sizes]
    return Table.from_codes(codes, [Variable(f"x{i}", range(card)) for i, card in enumerate(cards)]), families


def families(options: Options) -> Section:
    rows = options.pick(1_000_000, 50_000)
    section = Section(
        "Families",
        f"The tables of 37 families of alarm's shape (2 to 4 states, none to three parents) in {rows:,} rows. The "
        "plain kernel is compiled, too, and adds one for each row straight into the table; numpy makes an index and "
        "counts it.",
        [
            "data",
            "bntk, 1 thread",
            f"bntk, {bntk.n_threads()}",
            "with weights",
            "plain kernel",
            "numpy.bincount",
            "bincount / bntk",
        ],
    )
    for name, skewed in (("skewed as alarm", True), ("even", False)):
        table, chosen = family_case(rows, skewed)
        counter = TableCounter(table)
        weighted = TableCounter(table, np.random.default_rng(0).random(rows))
        outs = [np.zeros(np.prod(table.cards[family]), dtype=np.int64) for family in chosen]
        count_all_plainly(table, chosen, outs)
        for counts, out in zip(counter.tables(chosen), outs, strict=True):
            np.testing.assert_array_equal(counts.ravel(), out)
        weighted.tables(chosen)
        ours, by_numpy = best(lambda: counter.tables(chosen), 9)[0], best(lambda: bincount_all(table, chosen), 3)[0]  # noqa: B023
        section.add(
            name,
            with_threads(1, lambda: counter.tables(chosen), 9),  # noqa: B023
            ours,
            best(lambda: weighted.tables(chosen))[0],  # noqa: B023
            best(lambda: count_all_plainly(table, chosen, outs))[0],  # noqa: B023
            by_numpy,
            section.ratio(name, "numpy.bincount", by_numpy, ours),
        )
    return section


def count_all_plainly(table: Table, families: list[list[int]], outs: list[np.ndarray]) -> None:
    for family, out in zip(families, outs, strict=True):
        out[:] = 0
        count_plainly(table.codes, np.array(family), table.cards, out)


def bincount_all(table: Table, families: list[list[int]]) -> None:
    for family in families:
        index = table.codes[family[0]].astype(np.int64)
        for v in family[1:]:
            index = index * table.cards[v] + table.codes[v]
        np.bincount(index, minlength=int(np.prod(table.cards[family])))


# ---- planes or increments --------------------------------------------------------------------------------------------


def model(options: Options) -> Section:
    section = Section(
        "Planes or increments",
        "All pairs of 24 features given a class, one thread, ns per row and pair; products at which both are equal.",
        ["rows", "classes", "states", "products", "planes", "increments", "meet at"],
    )
    bntk.set_threads(1)
    usual = planes.MOST_PRODUCTS
    for rows in options.pick((100_000, 10_000, 1_000), (1_000,)):
        for classes, states in ((k, r) for k in (2, 20) for r in (2, 3, 4, 6, 8, 12, 16, 20)):
            case = Case(rows, 24, states, classes)
            table = case.table()
            each = []
            for planes.MOST_PRODUCTS in (10**9, -1):  # all by planes, none by planes
                each.append(best(lambda: TableCounter(table).pairs("class"))[0].seconds / rows / case.n_pairs * 1e9)  # noqa: B023
            products = (states - 1) ** 2
            section.add(rows, classes, states, products, *each, products * each[1] / each[0])
    planes.MOST_PRODUCTS = usual
    bntk.set_threads(None)
    return section


PARTS = {"pairs": pairs, "families": families}
EXTRA = {"model": model}

if __name__ == "__main__":
    report.main()
