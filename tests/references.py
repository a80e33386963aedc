"""Where the tests find numbers that we did not compute: tests/oracle, and ../shared where it is present."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bntk

HERE = Path(__file__).parent
ORACLE = HERE / "oracle"
SHARED = HERE.parent.parent / "shared"


def shared(path: str) -> Path:
    """A file or folder of ../shared; the test is skipped where it is absent."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"../shared/{path} is not here")
    return found


def read_json(path: Path) -> Any:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return json.loads(text)


def oracle_json(name: str) -> Any:
    return read_json(ORACLE / f"{name}.json")


def declared(levels: Path) -> list[bntk.Variable]:
    return [bntk.Variable(name, states) for name, states in read_json(levels).items()]


def oracle_table(name: str) -> bntk.Table:
    """A data set of tests/oracle, coded against its declared states."""
    return bntk.read_table(ORACLE / f"{name}.csv", variables=declared(ORACLE / f"{name}.levels.json"), unseen="error")


def bnlearn_table(name: str) -> bntk.Table:
    """A data set of R's bnlearn, coded against its declared states."""
    variables = declared(shared(f"oracle/bnlearn/{name}.levels.json"))
    return bntk.read_table(shared(f"data/bnlearn-data/{name}.csv.gz"), variables=variables, unseen="error")


def reference_table(entry: dict[str, Any], parents: tuple[str, ...]) -> np.ndarray:
    """A table of the references with the axes (parents..., child); undefined entries are NaN."""
    values = np.array(entry["values_colmajor"], dtype=float).reshape(entry["dim"], order="F")
    names = list(np.atleast_1d(entry["vars"]))
    return values.transpose([*(names.index(p) for p in parents), 0])


def true_network(name: str) -> bntk.BayesianNetwork:
    """The generating network of an oracle data set, from its JSON."""
    data = oracle_json(f"{name}_true")
    variables = {n: bntk.Variable(n, data["levels"][n]) for n in data["nodes"]}
    dag = bntk.DAG(data["nodes"], data["arcs"])
    cpts = [
        bntk.CPT(variables[n], reference_table(data["cpts"][n], dag.parents(n)), [variables[p] for p in dag.parents(n)])
        for n in data["nodes"]
    ]
    return bntk.BayesianNetwork(dag, cpts)
