"""The lines of docs/from-pgmpy.md: what pgmpy computes, we compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from moving.pages import Page, pair_set, same_network, sampled_alike

import bntk

PAGE = Page("from-pgmpy.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pgmpy")


@pytest.fixture(scope="module")
def ours(folder: Path) -> dict[str, Any]:
    return PAGE.ours(folder)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> dict[str, Any]:
    pytest.importorskip("pgmpy", "1.1", reason="pgmpy 1.1 (the extra [pgmpy]) is not installed")
    return PAGE.theirs(folder)


def probabilities(factor: Any, names: list[str]) -> np.ndarray:
    """A factor of pgmpy with the axes and states in our order."""
    table = np.asarray(factor.values).transpose([factor.variables.index(name) for name in names])
    for axis, name in enumerate(names):
        table = table.take([factor.state_names[name].index(state) for state in ("no", "yes")], axis)
    return table


def same_distribution(theirs: Any, ours: Any) -> None:
    np.testing.assert_allclose(ours.values, probabilities(theirs, list(ours.names)), rtol=1e-9)


def same_table(theirs: Any, ours: Any) -> None:
    np.testing.assert_allclose(ours, np.moveaxis(np.asarray(theirs), 0, -1), rtol=1e-9)


def same_cpts(theirs: Any, ours: bntk.BayesianNetwork) -> None:
    same_network(bntk.io.from_pgmpy(theirs), ours)


def equal(theirs: Any, ours: Any) -> None:
    assert ours == pytest.approx(theirs, rel=1e-9)


def same_arcs(theirs: Any, ours: bntk.DAG) -> None:
    assert {*theirs.edges()} == {*ours.arcs}


def same_skeleton(theirs: Any, ours: bntk.DAG) -> None:
    assert pair_set(theirs.edges()) == pair_set(ours.arcs)


def same_class(theirs: Any, ours: bntk.DAG) -> None:
    """The structures say the same about independence."""
    assert ours.is_equivalent(bntk.DAG(ours.nodes, list(theirs.edges())))


def same_pdag(theirs: Any, ours: Any) -> None:
    assert {*theirs.directed_edges} == {*ours.directed}
    assert pair_set(theirs.undirected_edges) == pair_set(ours.undirected)


def no_worse(theirs: Any, ours: bntk.DAG) -> None:
    """Hill climbing of pgmpy ends in one of several optima; ours is as good or better."""
    rows = bntk.datasets.asia().sample(2000, seed=1)
    of_pgmpy = bntk.DAG(rows.names, list(theirs.edges()))
    assert bntk.score(ours, rows, "bic") >= bntk.score(of_pgmpy, rows, "bic") - 1e-6


def no_worse_with_arc(theirs: Any, ours: bntk.DAG) -> None:
    assert ours.has_arc("asia", "tub")
    assert theirs.has_edge("asia", "tub")
    no_worse(theirs, ours)


def same_files(theirs: Any, ours: Any) -> None:
    assert theirs is ours is None


def same_states(theirs: Any, ours: Any) -> None:
    assert dict(ours) == dict(theirs)


def same_labels(theirs: Any, ours: Any) -> None:
    for name in ("lung", "either"):
        assert list(ours[name]) == list(theirs[name])


def same_posteriors(theirs: Any, ours: Any) -> None:
    np.testing.assert_allclose(ours["lung"], theirs[["lung_no", "lung_yes"]], atol=1e-9)


def same_names(theirs: Any, ours: Any) -> None:
    assert {*ours} == {*theirs}


def same_trails(theirs: Any, ours: Any) -> None:
    """pgmpy counts the variable itself."""
    assert {"asia", *ours} == theirs["asia"]


SAME = {
    "a structure": same_arcs,
    "a table": lambda theirs, ours: same_table(theirs.values, ours.values),
    "tables put together": lambda theirs, ours: equal(theirs, ours.n_parameters == 3),
    "a file read": same_cpts,
    "a file written": same_files,
    "a table looked up": same_table,
    "a posterior": same_distribution,
    "several variables": same_distribution,
    "most probable states": same_states,
    "virtual evidence": same_distribution,
    "the probability of findings": equal,
    "an intervention": same_distribution,
    "labels of many rows": same_labels,
    "their probabilities": same_posteriors,
    "rows sampled": sampled_alike,
    "parameters, maximum likelihood": same_table,
    "more rows": same_table,
    "parameters, with a prior": same_cpts,
    "a structure by hill climbing": no_worse,
    "required and forbidden arcs": no_worse_with_arc,
    "by greedy equivalence search": same_class,
    "by independence tests": same_pdag,
    "a tree": same_skeleton,
    "the score of a structure": equal,
    "d-separation": equal,
    "active trails": same_trails,
    "a Markov blanket": same_names,
    "the equivalence class": same_pdag,
}


def test_every_row_is_compared():
    assert {*SAME} == {*PAGE.pairs}


@pytest.mark.parametrize("task", SAME)
def test_both_columns_give_the_same(task, theirs, ours):
    SAME[task](theirs[task], ours[task])


def test_files_of_either_are_read_by_us(theirs, ours, folder):
    same_network(bntk.load(folder / "theirs.bif"), bntk.load(folder / "ours.bif"))


def test_our_lines_run_without_pgmpy(ours):
    assert ours["a posterior"]["yes"] == pytest.approx(0.4887, abs=5e-5)
