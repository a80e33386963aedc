"""What is drawn has the distribution that it should have: chi-square tests with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_networks import joint, random_network
from scipy import stats

import bntk
from bntk.inference import gibbs, likelihood_weighting

#: The chance that a right sampler fails in one of the tests below, which have fixed seeds.
LEVEL = 1e-4
SEEDS = range(6)


def _given(bn: bntk.BayesianNetwork, findings: dict[str, str]) -> np.ndarray:
    """The joint distribution given findings."""
    table = joint(bn)
    for name, state in findings.items():
        v = bn.names.index(name)
        table = table * np.eye(table.shape[v])[bn.variables[v].code(state)].reshape(
            [-1 if a == v else 1 for a in range(table.ndim)]
        )
    return table / table.sum()


def _counts(table: bntk.Table, weights: np.ndarray | None = None) -> np.ndarray:
    shape = tuple(v.n_states for v in table.variables)
    return np.bincount(np.ravel_multi_index(tuple(table.codes), shape), weights, minlength=int(np.prod(shape))).reshape(
        shape
    )


def _fits(counts: np.ndarray, expected: np.ndarray) -> None:
    """Pearson's test of counts; rare cells are taken together, and impossible ones must be empty."""
    assert not counts[expected == 0].any()
    expected = expected * counts.sum()
    rare = expected < 5
    observed, wanted = [*counts[~rare], counts[rare].sum()], [*expected[~rare], expected[rare].sum()]
    if wanted[-1] < 5:  # too little even together: with the largest
        largest = int(np.argmax(wanted))
        observed[largest] += observed.pop()
        wanted[largest] += wanted.pop()
    if len(wanted) > 1:
        assert stats.chisquare(observed, wanted).pvalue > LEVEL


def _case(seed: int) -> tuple[bntk.BayesianNetwork, dict[str, str]]:
    """A small network with zeros, and two findings that are possible together."""
    bn = random_network(seed, 5, max_parents=2, max_states=3, zeros=True)
    row = bn.sample(1, seed=seed)
    names = [str(name) for name in np.random.default_rng(seed).choice(bn.names, size=2, replace=False)]
    return bn, {name: bn.variable(name).states[row.codes[row.index(name), 0]] for name in names}


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_drawn_forward(seed: int) -> None:
    bn, _ = _case(seed)
    _fits(_counts(bn.sample(20_000, seed=seed)), joint(bn))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_drawn_given_findings(seed: int) -> None:
    bn, findings = _case(seed)
    _fits(_counts(bn.sample(20_000, seed=seed, given=findings)), _given(bn, findings))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_drawn_given_likelihoods(seed: int) -> None:
    bn, findings = _case(seed)
    name = next(name for name in bn.names if name not in findings)
    v, vector = bn.names.index(name), np.linspace(0.2, 0.9, bn.variable(name).n_states)
    table = _given(bn, findings) * vector.reshape([-1 if a == v else 1 for a in range(len(bn.names))])
    _fits(_counts(bn.sample(20_000, seed=seed, given=findings, soft={name: vector})), table / table.sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_rows(seed: int) -> None:
    """Rows picked in proportion to their weights from many more have the posterior."""
    bn, findings = _case(seed)
    found = likelihood_weighting(bn, findings, n=400_000, seed=seed)
    n = min(4_000, int(found.effective_size / 40))  # so few that hardly any is picked twice
    picked = np.random.default_rng(seed).choice(len(found.weights), size=n, p=found.weights)
    _fits(_counts(found.table.take(picked)), _given(bn, findings))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_chains(seed: int) -> None:
    """Chains in a network without zeros, of which so few rows are kept that they are independent."""
    bn = random_network(seed, 4, max_parents=2, max_states=3)
    findings = {bn.names[0]: bn.variables[0].states[-1]}
    found = gibbs(bn, findings, n=4_000, burn_in=200, chains=8, thin=60, seed=seed)
    _fits(_counts(found.table), _given(bn, findings))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("engine", ["exact", "loopy"])
def test_cells_drawn_for_missing_ones(seed: int, engine: Any) -> None:
    bn, findings = _case(seed)
    if engine == "loopy" and any(len(parents) > 1 for parents in bn.dag.parent_indices):
        return  # not exact there
    row = [bn.variable(n).code(findings[n]) if n in findings else bn.variable(n).n_states for n in bn.names]
    rows = bntk.Table.from_codes(np.repeat(np.array(row)[:, None], 20_000, axis=1), bn.variables)
    _fits(_counts(bn.impute(rows, "sample", seed=seed, engine=engine)), _given(bn, findings))
