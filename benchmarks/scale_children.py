"""What is measured in a process of its own, whose memory is its own: ``python -m benchmarks.scale_children NAME``.

Each function takes and gives what JSON can hold. Kernels are compiled, or read from the cache, before time is taken.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import scale_data

ENOUGH = 6.0  # seconds of repetitions


class Failed(Exception):  # noqa: N818
    """A process that ended without an answer; the message says why."""


def run(name: str, limit: float = 24 * 3600, **arguments: Any) -> dict[str, Any]:
    """The answer of one of the functions below, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale_children", name, json.dumps(arguments)]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        raise Failed(f"over {limit:,.0f} s") from None
    if done.returncode:
        raise Failed(f"fails: {(done.stderr.strip().splitlines() or ['?'])[-1][:300]}")
    return json.loads(done.stdout.splitlines()[-1])


def resident(field: str) -> float:
    """``VmHWM``, the most memory that was ever resident in this process, or ``VmRSS``, what is now; in bytes.

    The former is what ``ru_maxrss`` should be, which a process inherits from the one that has started it.
    """
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024.0 * int(next(line for line in text.splitlines() if line.startswith(field)).split()[1])


def bytes_read() -> int:
    """The bytes that this process has read from files."""
    try:
        return int(Path("/proc/self/io").read_text().split()[1])
    except OSError:
        return 0


def shortest(work: Callable[[], Any], repeats: int = 5) -> float:
    times: list[float] = []
    while len(times) < repeats and sum(times) <= ENOUGH:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


# ---- streams ---------------------------------------------------------------------------------------------------------


def learn(folder: str, model: str) -> dict[str, Any]:
    """Learn a classifier or a network from a folder by ``bntk.scan``."""
    import bntk

    with tempfile.TemporaryDirectory() as warm:  # kernels, and the modules that the first use imports
        _learn(bntk.scan(scale_data.write(Path(warm), 20_000)), model)
    rows, before, read = bntk.scan(folder), resident("VmRSS"), bytes_read()
    start = time.perf_counter()
    found = _learn(rows, model)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds, "peak": resident("VmHWM"), "before": before, "passes": rows.passes,
        "read": bytes_read() - read, "arcs": len(found.arcs),
    }  # fmt: skip


def _learn(rows: Any, model: str) -> Any:
    import bntk

    if model == "tan":
        return bntk.TAN().fit(rows, "class").dag_
    return bntk.learn_structure(rows, "bic", search="hc").dag


def pairs(
    folder: str, columns: Sequence[str], given_class: bool, read_too: bool = True, threads: int | None = None
) -> dict[str, Any]:
    """A pass that counts all pairs of columns, beside pyarrow reading and decoding the same columns."""
    import pyarrow.dataset
    from pyarrow import parquet

    import bntk

    bntk.set_threads(threads)
    coding = bntk.scan(folder, columns=columns).counter().coding

    def count() -> None:
        again = bntk.scan(folder, columns=columns, variables=coding.variables).counter()
        again.pairs("class" if given_class else None)

    def read_dataset() -> None:
        for _ in pyarrow.dataset.dataset(folder, exclude_invalid_files=True).to_batches(columns=list(columns)):
            pass

    def read_files() -> None:
        for path in sorted(Path(folder).glob("*.parquet")):
            for _ in parquet.ParquetFile(path).iter_batches(1 << 17, columns=list(columns)):
                pass

    count()
    read = bytes_read()
    count()
    read = bytes_read() - read
    answer = {"seconds": shortest(count), "read": read}
    return {**answer, "dataset": shortest(read_dataset), "files": shortest(read_files)} if read_too else answer


def counting(folder: str, copies: int) -> dict[str, Any]:
    """Seconds for a row and pair of features given the class, of coded rows in memory, with one thread."""
    import numpy as np

    import bntk
    from bntk.learning.counts import TableCounter

    codes = scale_data.codes_of_piece(0, 125_000)
    features = [codes[i % scale_data.N_FEATURES] for i in range(copies * scale_data.N_FEATURES)]
    cards = [scale_data.CARDS[i % scale_data.N_FEATURES] for i in range(len(features))]
    variables = [bntk.Variable(f"x{i}", range(card)) for i, card in enumerate(cards)]
    table = bntk.Table.from_codes(
        np.array([*features, codes[-1]]), [*variables, bntk.Variable("class", range(scale_data.N_CLASSES))]
    )
    bntk.set_threads(1)
    TableCounter(table).pairs("class")
    seconds = shortest(lambda: TableCounter(table).pairs("class"))
    return {"seconds": seconds / (table.n_rows * math.comb(len(features), 2))}


def result_bytes(folder: str) -> dict[str, Any]:
    """The size of what the first row group gives in a pass that counts all pairs given the class."""
    import pyarrow.parquet

    import bntk

    path = sorted(Path(folder).glob("*.parquet"))[0]
    rows = pyarrow.parquet.ParquetFile(path).read_row_group(0)
    variables = bntk.scan(folder).counter().variables
    source = bntk.scan(lambda: iter([rows]), variables=variables)
    sizes, reduce = [], source.reduce

    def watched(task: Callable[[Any], Any], *arguments: Any) -> Any:
        def measured(data: Any) -> Any:
            found = task(data)
            sizes.append(len(pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)))
            return found

        return reduce(measured, *arguments)

    source.reduce = watched  # type: ignore[method-assign, union-attr]
    source.counter().pairs("class")
    return {"bytes": sizes[0], "rows": rows.num_rows}


# ---- peers: the number of rows of each combination of two columns ---------------------------------------------------


def duckdb(folder: str, n_pairs: int) -> dict[str, Any]:
    """DuckDB, with the rows in its own memory as text, and as enumerated types."""
    import duckdb as engine

    connection = engine.connect()
    connection.execute(f"create table t as select * from '{folder}/*.parquet'")
    answer = {"text": _grouped(connection, "t", n_pairs)}
    for i, name in enumerate(scale_data.NAMES):
        connection.execute(f'create type e{i} as enum (select distinct "{name}" from t)')
    typed = ", ".join(f'"{name}"::e{i} as "{name}"' for i, name in enumerate(scale_data.NAMES))
    connection.execute(f"create table e as select {typed} from t")
    return {**answer, "enum": _grouped(connection, "e", n_pairs)}


def _grouped(connection: Any, table: str, n_pairs: int) -> float:
    start = time.perf_counter()
    for one, other in _some_pairs(n_pairs):
        connection.execute(f'select "{one}", "{other}", count(*) from {table} group by 1, 2').fetchall()
    return time.perf_counter() - start


def polars(folder: str, n_pairs: int) -> dict[str, Any]:
    """polars, with the rows in memory as categories, all groupings given at once."""
    import polars as pl

    frame = pl.read_parquet(f"{folder}/*.parquet").lazy()
    chosen = _some_pairs(n_pairs)
    start = time.perf_counter()
    for first in range(0, len(chosen), 49):
        pl.collect_all([frame.group_by(pair).len() for pair in map(list, chosen[first : first + 49])])
    return {"seconds": time.perf_counter() - start}


def _some_pairs(n: int) -> list[tuple[str, str]]:
    every = list(combinations(scale_data.NAMES, 2))
    return every[:: max(1, len(every) // n)][:n]


# ---- Dask ------------------------------------------------------------------------------------------------------------


def dask(folder: str, workers: int, persist: bool) -> dict[str, Any]:
    """A pass that counts all pairs given the class, with worker processes of one thread; without any, by a scan."""
    import bntk

    if not workers:
        bntk.set_threads(1)
        counter = bntk.scan(folder).counter()
        counter.pairs("class")
        return {"seconds": shortest(lambda: bntk.scan(folder, variables=counter.variables).counter().pairs("class"))}
    import logging

    import dask.dataframe as dd
    import distributed

    from bntk.learning.counts.dask_partitions import DaskPartitions

    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        frame = dd.read_parquet(folder, split_row_groups=True)
        if persist:
            frame = frame.persist()
            distributed.wait(frame)
        variables = DaskPartitions(frame).counter().variables

        def count() -> Any:
            return DaskPartitions(frame, variables=variables).counter().pairs("class")

        counted = count()
        before = sum(client.run(_incoming).values())
        count()
        moved = sum(client.run(_incoming).values()) - before
        start = time.perf_counter()
        client.submit(abs, -1, pure=False).result()
        trip = time.perf_counter() - start
        return {
            "seconds": shortest(count), "moved": moved, "partitions": frame.npartitions, "trip": trip,
            "table": counted.counts.nbytes + counted.single_counts.nbytes,
        }  # fmt: skip


def _incoming(dask_worker: Any) -> int:
    """The bytes that a worker has received from others."""
    return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)


def main() -> None:
    warnings.simplefilter("ignore")
    name, arguments = sys.argv[1:3]
    print(json.dumps(globals()[name](**json.loads(arguments))), flush=True)


if __name__ == "__main__":
    main()
