"""The lines of docs/from-pyagrum.md: what pyAgrum computes, we compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from moving.pages import Page, pair_set, same_network, sampled_alike

import bntk

# With numpy 2.5, pyAgrum does what numpy advises against.
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

PAGE = Page("from-pyagrum.md")
NAMES = bntk.datasets.asia().names

# pyAgrum reads the numbers of a BIF file in single precision.
SINGLE = 3e-7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pyagrum")


@pytest.fixture(scope="module")
def ours(folder) -> dict[str, Any]:
    return PAGE.ours(folder)


@pytest.fixture(scope="module")
def theirs(folder) -> dict[str, Any]:
    pytest.importorskip("pyagrum", "3.3", reason="pyagrum 3.3 (the extra [dev] or [bench]) is not installed")
    return PAGE.theirs(folder)


def from_pyagrum(network: Any) -> bntk.BayesianNetwork:
    """A network of pyAgrum, node by node; states keep their labels."""
    variables = {name: bntk.Variable(name, network.variable(name).labels()) for name in network.names()}
    cpts = []
    for name in network.names():
        parents = [p for p in network.cpt(name).names if p != name]
        axes = [network.cpt(name).names[::-1].index(p) for p in [*parents, name]]
        table = network.cpt(name).toarray().transpose(axes)
        table = table / table.sum(axis=-1, keepdims=True)
        cpts.append(bntk.CPT(variables[name], table, [variables[p] for p in parents]))
    return bntk.BayesianNetwork.from_cpts(cpts)


def same_networks(theirs: Any, ours: bntk.BayesianNetwork) -> None:
    same_network(from_pyagrum(theirs), ours, rtol=SINGLE)


def converged(theirs: Any, ours: bntk.BayesianNetwork) -> None:
    """Iterations that both end where the likelihood no longer changes in its twelfth digit."""
    same_network(from_pyagrum(theirs), ours, rtol=SINGLE, atol=1e-8)


def close(theirs: Any, ours: Any) -> None:
    np.testing.assert_allclose(getattr(ours, "values", ours), theirs, rtol=SINGLE)


def same_joint(theirs: Any, ours: bntk.inference.Distribution) -> None:
    axes = [theirs.names[::-1].index(variable.name) for variable in ours.variables]
    close(theirs.toarray().transpose(axes), ours)


def same_divergence(theirs: float, ours: float) -> None:
    """A sum of differences, each of them of numbers in single precision."""
    assert ours == pytest.approx(theirs * np.log(2), rel=10 * SINGLE)


def same_marginals(theirs: dict[str, np.ndarray], ours: Any) -> None:
    assert {*theirs} == {*ours, "xray"}
    for name in ours:
        close(theirs[name], ours[name])


def arcs(dag: Any) -> list[tuple[str, str]]:
    return [(NAMES[a], NAMES[b]) for a, b in dag.arcs()]


def no_worse(score: str) -> Any:
    """Greedy searches end in one of several optima; ours is as good or better."""

    def compare(theirs: Any, ours: bntk.DAG) -> None:
        rows = bntk.datasets.asia().sample(2000, seed=1)
        assert bntk.score(ours, rows, score) >= bntk.score(bntk.DAG(NAMES, arcs(theirs)), rows, score) - 1e-6

    return compare


def obeyed(theirs: Any, ours: bntk.DAG) -> None:
    earlier, later = ("asia", "smoke"), ("tub", "lung", "bronc")
    for found in (arcs(theirs), ours.arcs):
        assert ("asia", "tub") in found
        assert not [(a, b) for a, b in found if a in later and b in earlier]


def same_class(theirs: Any, ours: Any) -> None:
    assert {*arcs(theirs)} == {*ours.directed}
    assert pair_set((NAMES[a], NAMES[b]) for a, b in theirs.edges()) == pair_set(ours.undirected)


def same_blanket(theirs: set[int], ours: tuple[str, ...]) -> None:
    """pyAgrum counts the variable itself."""
    assert {NAMES[node] for node in theirs} == {"lung", *ours}


SAME = {
    "a file read": same_networks,
    "a file written": lambda theirs, ours: None,  # see the test of both files
    "a network by hand": same_networks,
    "a random network": lambda theirs, ours: close(theirs.size(), len(ours.names)),
    "a table looked up": lambda theirs, ours: close(theirs.transpose(1, 0, 2), ours),
    "some probabilities changed": same_networks,
    "an arc reversed": same_networks,
    "a variable renamed": same_networks,
    "a posterior": close,
    "in one call": close,
    "several variables": same_joint,
    "likelihoods as evidence": close,
    "the probability of findings": close,
    "all variables": same_marginals,
    "an approximate posterior": close,
    "an intervention": same_joint,
    "rows sampled": sampled_alike,
    "the divergence of two networks": same_divergence,
    "parameters, maximum likelihood": same_networks,
    "parameters, smoothed": same_networks,
    "parameters with missing values": converged,
    "the score of a structure": lambda theirs, ours: close(theirs * np.log(2), ours),
    "a structure by hill climbing": no_worse("bic"),
    "with a tabu list": no_worse("bdeu"),
    "constraints": obeyed,
    "naive Bayes": same_networks,
    "TAN, predictions": np.testing.assert_array_equal,
    "the equivalence class": same_class,
    "a Markov blanket": same_blanket,
    "d-separation": close,
}


def test_every_row_is_compared():
    assert {*SAME} == {*PAGE.pairs}


@pytest.mark.parametrize("task", SAME)
def test_both_columns_give_the_same(task, theirs, ours):
    SAME[task](theirs[task], ours[task])


def test_files_of_either_are_read_by_us(theirs, ours, folder):
    same_network(bntk.load(folder / "theirs.net"), bntk.load(folder / "ours.net"), rtol=SINGLE)


def test_our_lines_run_without_pyagrum(ours):
    assert ours["a posterior"]["yes"] == pytest.approx(0.4887, abs=5e-5)
