"""Any engine that maps partitions and adds results can be learned from: the recipes of the page on scale are run."""

from __future__ import annotations

import functools
import importlib.util
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.learning.counts import (
    Coding,
    Request,
    add_summaries,
    add_tables,
    count_partition,
    summarise_partition,
    variables_of_summary,
)

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"

pytestmark = pytest.mark.filterwarnings("ignore::bntk.errors.ColumnWarning", "ignore::bntk.errors.MissingValuesWarning")


def recipe(name: str) -> str:
    """The code of the page that defines a class, without the lines after it, which use it."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (block,) = [block for block in blocks if f"class {name}" in block]
    return re.split(r"\n\n\n(?=\w+ = |with )", block)[0]


def mixed_rows(n: int = 500) -> pd.DataFrame:
    """Text with missing cells, measurements and whole numbers."""
    generator = np.random.default_rng(2)
    frame = bntk.datasets.asia().sample(n, seed=3).to_pandas()[["smoke", "lung", "bronc", "dysp"]].astype(str)
    frame["age"] = generator.normal(50, 12, n).round(1)
    frame["visits"] = generator.integers(0, 4, n)
    frame.loc[generator.random(n) < 0.1, "smoke"] = None
    return frame


def written(frame: pd.DataFrame, folder: Path, sizes: tuple[int, ...] = (200, 1, 299)) -> list[Path]:
    paths, ends = [], np.cumsum(sizes)
    (folder / "rows").mkdir()
    for number, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        paths.append(folder / "rows" / f"{number}.parquet")
        frame.iloc[end - size : end].to_parquet(paths[-1], index=False)
    return paths


def test_the_two_functions_are_enough():
    frame = mixed_rows()[["smoke", "lung", "bronc"]]
    parts = [frame.iloc[:100], frame.iloc[100:120], frame.iloc[120:]]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        summary = functools.reduce(add_summaries, pool.map(summarise_partition, parts))
        variables = variables_of_summary(summary)
        request = Request(families=(("smoke", "lung"),), pairs=((None, ("smoke", "lung", "bronc")),))
        count = functools.partial(count_partition, coding=Coding(variables), request=request)
        tables = functools.reduce(add_tables, pool.map(count, parts))
    expected = bntk.learning.counts.TableCounter(bntk.Table.from_frame(frame))
    assert variables == expected.variables
    assert tables.n_rows == len(frame)
    np.testing.assert_array_equal(tables.families[0], expected.tables([["smoke", "lung"]])[0])
    np.testing.assert_array_equal(tables.pairs[0].counts, expected.pairs().counts)
    assert pickle.loads(pickle.dumps(tables)).n_rows == len(frame)


def run_script(code: str, folder: Path) -> str:
    """What a script prints: worker processes find its functions in its file."""
    path = folder / "script.py"
    path.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(path), str(folder)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def expected_of(frame: pd.DataFrame) -> str:
    tan = bntk.TAN().fit(frame.drop(columns="dysp"), frame["dysp"])
    return repr((str(bntk.learn(frame, "bic").dag), str(tan.dag_), [c.counts.tolist() for c in tan.network_.cpts]))


USE = """
def use(source):
    tan = bntk.TAN().fit(source, "dysp")
    print(repr((str(bntk.learn(source, "bic").dag), str(tan.dag_), [c.counts.tolist() for c in tan.network_.cpts])))
"""


def test_a_pool_of_processes(tmp_path):
    frame = mixed_rows()
    written(frame, tmp_path)
    code = f"""
import concurrent.futures, multiprocessing, pathlib, sys
import bntk
{recipe("FilePartitions")}
{USE}
if __name__ == "__main__":
    paths = sorted(pathlib.Path(sys.argv[1], "rows").glob("*.parquet"))
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        use(FilePartitions(paths, pool))
"""
    assert run_script(code, tmp_path) == expected_of(frame)


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="needs pyspark, of the extra [bench]")
@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java, which Spark runs on")
def test_spark(tmp_path):
    frame = mixed_rows()
    written(frame, tmp_path)
    code = f"""
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
import bntk
{recipe("SparkPartitions")}
{USE}
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.ui.showConsoleProgress", "false").getOrCreate()
)
use(SparkPartitions(spark.read.parquet(sys.argv[1] + "/rows").repartition(3).cache()))
spark.stop()
"""
    assert run_script(code, tmp_path) == expected_of(frame)
