"""The data of the outside references, coded against the levels that they declare."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from bntk import Table, Variable, read_table

ORACLE = Path(__file__).parents[1] / "oracle"


@pytest.mark.parametrize("name", ["mixed", "mixed_missing", "net8", "net8_missing", "sparse", "binary"])
def test_coding_against_declared_levels_equals_pandas(name):
    levels = json.loads((ORACLE / f"{name}.levels.json").read_text())
    variables = [Variable(column, states) for column, states in levels.items()]
    table = read_table(ORACLE / f"{name}.csv", variables=variables, unseen="error")
    frame = pd.read_csv(ORACLE / f"{name}.csv", dtype=str)
    for variable, codes in zip(table.variables, table.codes, strict=True):
        expected = pd.Categorical(frame[variable.name], list(variable.states)).codes.astype(int)
        expected[expected < 0] = variable.n_states
        assert codes.tolist() == expected.tolist()
    assert Table.from_frame(frame, variables, unseen="error") == table
