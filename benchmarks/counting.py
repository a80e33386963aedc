"""Counting: all class-conditional pair tables beside numpy, pandas and scipy; families; planes against increments.

    python -m benchmarks.counting             all pair tables, then families
    python -m benchmarks.counting --quick     a smoke run of a few seconds
    python -m benchmarks.counting --model     where planes and increments meet, for planes.MOST_PRODUCTS

Times are the best of several runs, without compiling. A star marks a time that is extrapolated: numpy and pandas from a
sample of pairs, scipy from a sample of rows. Every sampled pair is checked to be equal. Peak memory is measured in a
fresh process: the high-water mark of its resident memory (VmHWM of /proc/self/status, reset just before the call, so
allocations inside kernels are seen too) less the resident memory before the call; the coded data are added to both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

if __package__ in (None, ""):  # run as a file
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd
from numba import njit
from scipy import sparse

import bntk
from bntk import Table, Variable
from bntk.learning.counts import PairTables, TableCounter, kernels, plane_kernels, planes


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
        return f"{self.rows:>9,} x {self.features:<3} {self.states} states {self.classes:>2} classes"


CASES = [Case(10_000, 50, 3, 2), Case(100_000, 100, 4, 3), Case(1_000_000, 50, 3, 2), Case(8_500, 200, 2, 10)]
QUICK = [Case(1_000, 10, 3, 2), Case(20_000, 20, 4, 3)]


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the quickest of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


# ---------------------------------------------------------------- the others, and ours


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


def ours(counter: TableCounter, threads: int, repeats: int) -> float:
    bntk.set_threads(threads)
    seconds = best_time(lambda: counter.pairs("class"), repeats)
    bntk.set_threads(None)
    return seconds


# ---------------------------------------------------------------- all pairs


def compare(case: Case, repeats: int) -> dict[str, tuple[float, bool]]:
    """Seconds of each way, and whether they are extrapolated."""
    table = case.table()
    counter = TableCounter(table)
    pairs = counter.pairs("class")
    all_pairs = list(combinations(range(case.features), 2))
    times = {f"ours {t}": (ours(counter, t, repeats), False) for t in (1, 2)}

    # Whole runs of one i, as a full run has them, so that the shared index is paid as often as there.
    most = max(case.features - 1, int(1e9 / (5 * case.rows)))
    sample = all_pairs[:most]
    share = case.n_pairs / len(sample)
    check(pairs, by_bincount(table, case, sample))
    seconds = best_time(lambda: by_bincount(table, case, sample), 3)
    times["bincount"] = seconds * share, share > 1

    frame = pd.DataFrame(table.codes.T, columns=list(table.names))
    few = all_pairs[:: max(1, len(all_pairs) // 3)][:3]
    check(pairs, by_crosstab(frame, case, few))
    times["crosstab"] = best_time(lambda: by_crosstab(frame, case, few), 1) * case.n_pairs / len(few), True

    rows = min(case.rows, int(2e8 / case.features**2))
    products = by_sparse(table, case, rows)
    if rows == case.rows:
        check(pairs, {(i, j): products[:, i, j] for i, j in sample})
    times["scipy"] = best_time(lambda: by_sparse(table, case, rows), 1) * case.rows / rows, rows < case.rows
    return times


def report_pairs(cases: list[Case], repeats: int) -> None:
    print("All class-conditional pair tables, seconds (* extrapolated), and times as fast as numpy.bincount")
    print(
        f"{'':38}{'1 thread':>9}{'2 threads':>11}{'bincount':>12}{'crosstab':>11}{'scipy':>12}"
        f"{'x bincount':>12}{'ns/row,pair':>12}{'peak MB':>9}{'allowed':>9}"
    )
    for case in cases:
        times = compare(case, repeats)
        others = [f"{s:.3g}{'*' if guessed else ' '}" for s, guessed in list(times.values())[2:]]
        one, two, reference = times["ours 1"][0], times["ours 2"][0], times["bincount"][0]
        ratio = f"{reference / one:.0f} / {reference / two:.0f}"
        peak, allowed = peak_memory(case)
        print(
            f"{case!s:38}{one:>9.4f}{two:>11.4f}{others[0]:>12}{others[1]:>11}{others[2]:>12}{ratio:>12}"
            f"{one / case.rows / case.n_pairs * 1e9:>12.3f}{peak:>9.1f}{allowed:>9.1f}"
        )


def first_call() -> None:
    """Time of the very first call, and whether the kernels had to be compiled for it."""
    counter = TableCounter(Case(100, 4, 3, 2).table())
    start = time.perf_counter()
    counter.pairs("class")
    counter.tables([["x0", "x1"]])
    seconds = time.perf_counter() - start
    compiled = [k for k in (plane_kernels.count_tile, kernels.count_families) if sum(k.stats.cache_misses.values())]
    origin = "compiled now, kept on disk" if compiled else "loaded from the cache on disk"
    print(f"First call: {seconds:.2f} s (kernels {origin})\n")


# ---------------------------------------------------------------- memory


def peak_memory(case: Case) -> tuple[float, float]:
    """Peak megabytes of counting all pairs in a fresh process, and twice the coded data plus the tables."""
    arguments = [str(number) for number in (case.rows, case.features, case.states, case.classes)]
    command = [sys.executable, str(Path(__file__).resolve()), "--memory", *arguments]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(answer[0]), float(answer[1])


def measure_memory(case: Case) -> None:
    """Print what :func:`peak_memory` returns; runs in the fresh process."""
    TableCounter(Case(100, 4, 3, 2).table()).pairs("class")
    table = case.table()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark is now the resident memory
        before = resident("VmRSS")
        pairs = TableCounter(table).pairs("class")
        extra = resident("VmHWM") - before
    except OSError:  # no such files outside of Linux
        pairs, extra = TableCounter(table).pairs("class"), float("nan")
    coded, tables = table.codes.nbytes, pairs.counts.nbytes + pairs.single_counts.nbytes
    print((extra + coded) / 1e6, (2 * coded + tables) / 1e6)


def resident(field: str) -> float:
    """A figure of resident memory of this process, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return 1024.0 * int(line.split()[1])


# ---------------------------------------------------------------- families


@njit(cache=True, nogil=True)
def count_plainly(codes, members, cards, out):
    """One increment a row straight into the table: what packing and lanes are measured against."""
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


def report_families(rows: int, repeats: int) -> None:
    print(f"\n37 families of alarm's shape, {rows:,} rows, seconds")
    print(f"{'':24}{'1 thread':>10}{'2 threads':>11}{'plain kernel':>14}{'numpy.bincount':>16}{'weighted, 2':>13}")
    for skewed in (True, False):
        table, families = family_case(rows, skewed)
        counter = TableCounter(table)
        weighted = TableCounter(table, np.random.default_rng(0).random(rows))
        cards = [[table.variables[v].n_states for v in family] for family in families]
        outs = [np.zeros(np.prod(card), dtype=np.int64) for card in cards]
        plan = [np.array(family) for family in families]

        def plain(table=table, plan=plan, outs=outs) -> None:
            for members, out in zip(plan, outs, strict=True):
                out[:] = 0
                count_plainly(table.codes, members, table.cards, out)

        def bincount(table=table, families=families, cards=cards) -> None:
            for family, card in zip(families, cards, strict=True):
                index = table.codes[family[0]].astype(np.int64)
                for v, c in zip(family[1:], card[1:], strict=True):
                    index = index * c + table.codes[v]
                np.bincount(index, minlength=int(np.prod(card)))

        plain()
        for counts, out in zip(counter.tables(families), outs, strict=True):
            np.testing.assert_array_equal(counts.ravel(), out)
        seconds = []
        for source, threads in ((counter, 1), (counter, 2), (weighted, 2)):
            bntk.set_threads(threads)
            source.tables(families)
            seconds.append(best_time(lambda source=source, families=families: source.tables(families), repeats))
        bntk.set_threads(None)
        print(
            f"{'skewed as alarm' if skewed else 'even':24}{seconds[0]:>10.4f}{seconds[1]:>11.4f}"
            f"{best_time(plain, repeats):>14.4f}{best_time(bincount, 3):>16.4f}{seconds[2]:>13.4f}"
        )


# ---------------------------------------------------------------- planes or increments


def report_model() -> None:
    print("All pairs of 24 features given a class, one thread, ns a row and pair; products at which the two would meet")
    print(f"{'rows':>8}{'classes':>9}{'states':>8}{'products':>10}{'planes':>9}{'increments':>12}{'meet at':>9}")
    bntk.set_threads(1)
    for rows, classes in ((100_000, 2), (100_000, 20), (10_000, 2), (10_000, 20), (1_000, 2), (1_000, 20)):
        for states in (2, 3, 4, 6, 8, 12, 16, 20):
            case = Case(rows, 24, states, classes)
            counter = TableCounter(case.table())
            seconds = []
            for most in (10**9, -1):  # all by planes, none by planes
                planes.MOST_PRODUCTS = most
                seconds.append(best_time(lambda counter=counter: counter.pairs("class"), 5))
            bits, increments = (s / rows / case.n_pairs * 1e9 for s in seconds)
            products = (states - 1) ** 2
            print(
                f"{rows:>8,}{classes:>9}{states:>8}{products:>10}{bits:>9.3f}{increments:>12.3f}"
                f"{products * increments / bits:>9.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--model", action="store_true", help="planes against increments")
    parser.add_argument("--memory", nargs=4, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        measure_memory(Case(*options.memory))
    elif options.model:
        report_model()
    else:
        first_call()
        report_pairs(QUICK if options.quick else CASES, 3 if options.quick else 9)
        report_families(50_000 if options.quick else 1_000_000, 3 if options.quick else 9)


if __name__ == "__main__":
    main()
