"""The pages for users of other packages: pairs of lines, theirs and ours, which are run from top to bottom."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import bntk

DOCS = Path(__file__).parents[2] / "docs"


class Page:
    """One of the pages: what each row does, with the code of both columns."""

    def __init__(self, name: str) -> None:
        self.path = DOCS / name
        text = self.path.read_text(encoding="utf-8")
        rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| ")]
        cells = [[cell.strip() for cell in row] for row in rows]
        self.pairs = {
            task: (code(theirs), code(ours)) for task, theirs, ours in cells if task.strip("*- ") == task != ""
        }
        self.beginnings = re.findall(r"```python\n(.*?)```", text, flags=re.S)

    def ours(self, folder: Path, **names: Any) -> dict[str, Any]:
        """What the lines of our column give, by row, in a folder of their own."""
        with contextlib.chdir(folder):
            for block in self.beginnings[:1]:
                exec(block, names)
            return {task: run(ours, names) for task, (_, ours) in self.pairs.items()}

    def theirs(self, folder: Path) -> dict[str, Any]:
        """What the lines of the other column give, by row. Their warnings are no concern of ours."""
        names: dict[str, Any] = {}
        with contextlib.chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for block in self.beginnings:
                exec(block, names)
            return {task: run(theirs, names) for task, (theirs, _) in self.pairs.items()}


def code(cell: str) -> str:
    r"""The lines of a cell: what stands in backquotes at its start and after each line break; ``\|`` is a bar."""
    return "\n".join(re.findall(r"(?:^|<br>)`([^`]+)`", cell)).replace(r"\|", "|")


def run(lines: str, names: dict[str, Any]) -> Any:
    """Run lines and give what the last one computes or assigns."""
    *before, last = ast.parse(lines).body
    if isinstance(last, ast.Expr):
        last = ast.Assign([ast.Name("_", ast.Store())], last.value)
    exec(compile(ast.fix_missing_locations(ast.Module([*before, last], [])), lines, "exec"), names)
    return names[last.targets[-1].id] if isinstance(last, ast.Assign) else None


def pair_set(arcs: Iterable[tuple[str, str]]) -> set[frozenset[str]]:
    """Arcs without their direction."""
    return {frozenset(arc) for arc in arcs}


def same_network(
    one: bntk.BayesianNetwork, other: bntk.BayesianNetwork, rtol: float = 1e-9, atol: float = 1e-15
) -> None:
    """The same arcs and tables, whatever the order of nodes, parents and states."""
    assert {*one.dag.arcs} == {*other.dag.arcs}
    for cpt in other.cpts:
        family = [variable.name for variable in cpt.family]
        table = one.query(family).values
        for axis, variable in enumerate(cpt.family):
            states = one.variable(variable.name).states
            assert {*states} == {*variable.states}
            table = table.take([states.index(state) for state in variable.states], axis)
        np.testing.assert_allclose(table, other.query(family).values, rtol=rtol, atol=atol)


def sampled_alike(theirs: Any, ours: bntk.Table) -> None:
    """Two samples of 1,000 rows: the frequencies of "yes" are within five standard errors."""
    frame = ours.to_pandas()
    assert {*frame} == {*theirs}
    assert len(frame) == len(theirs) == 1000
    for name in frame:
        p, q = (frame[name] == "yes").mean(), (theirs[name] == "yes").mean()
        assert abs(p - q) < 5 * np.sqrt((p * (1 - p) + q * (1 - q) + 1e-3) / 1000)
