"""Networks with tiny probabilities, and inference about them by enumeration in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

import bntk

#: Of x86: 64 bits for digits, and exponents down to 1e-4932. Elsewhere it may be a plain double, with which nothing can
#: be compared here.
Extended = np.longdouble
needs_extended = pytest.mark.skipif(np.finfo(Extended).minexp > -16000, reason="no extended precision here")


def tiny_network(seed: int, n: int = 6, least: float = 1e-300, zeros: float = 0.1) -> bntk.BayesianNetwork:
    """A random network with entries down to ``least``, some of them zero; node order is not a topological one."""
    rng = np.random.default_rng(seed)
    variables = [bntk.Variable(f"x{i}", [f"s{k}" for k in range(rng.integers(2, 4))]) for i in range(n)]
    order, cpts = rng.permutation(n), list[bntk.CPT]()
    for position, i in enumerate(order):
        chosen = rng.choice(order[:position], size=rng.integers(min(position, 2) + 1), replace=False)
        parents = [variables[p] for p in chosen]
        shape = [p.n_states for p in parents] + [variables[i].n_states]
        values = least ** (rng.random(shape) * (rng.random(shape) < 0.7))
        values[rng.random(shape) < 0.05] = 5e-324 if least < 1e-250 else least
        values[rng.random(shape) < zeros] = 0.0
        values[values.sum(axis=-1) == 0] = 1.0
        values /= values.max(axis=-1, keepdims=True)
        cpts.append(bntk.CPT(variables[i], values / values.sum(axis=-1, keepdims=True), parents))
    dag = bntk.DAG([v.name for v in variables], [(p.name, c.name) for c in cpts for p in c.parents])
    return bntk.BayesianNetwork(dag, cpts)


def extended_joint(bn: bntk.BayesianNetwork) -> np.ndarray:
    """The joint distribution, one axis a variable."""
    cards = [v.n_states for v in bn.variables]
    whole = np.ones(cards, Extended)
    for i, cpt in enumerate(bn.cpts):
        axes = [*bn.dag.parent_indices[i], i]
        shape = [cards[a] if a in axes else 1 for a in range(len(cards))]
        whole = whole * cpt.values.astype(Extended).transpose(np.argsort(axes)).reshape(shape)
    return whole


def given(joint: np.ndarray, likelihood: dict[int, np.ndarray]) -> np.ndarray:
    """The joint times likelihoods of some variables."""
    for v, vector in likelihood.items():
        joint = joint * np.asarray(vector, Extended).reshape([-1 if a == v else 1 for a in range(joint.ndim)])
    return joint


def onto(joint: np.ndarray, variables: tuple[int, ...]) -> np.ndarray:
    """The normalised sum over all other variables, axes in the order given."""
    kept = sorted(variables)
    table = joint.sum(axis=tuple(a for a in range(joint.ndim) if a not in kept))
    return (table / table.sum()).transpose([kept.index(v) for v in variables])


def row_likelihood(row: np.ndarray, cards: list[int]) -> dict[int, np.ndarray]:
    """The observed cells of a row."""
    return {v: np.eye(card)[row[v]] for v, card in enumerate(cards) if row[v] < card}


def assert_equal(found: object, expected: np.ndarray) -> None:
    """Equal to 1e-9 relative, for probabilities down to 1e-300."""
    found = np.asarray(found, Extended)
    small = expected < 1e-300
    assert np.all(np.where(small, found < 2e-300, np.abs(found - expected) <= 1e-9 * expected)), (found, expected)


def assert_same_log(found: float, expected: np.ndarray) -> None:
    """The log of a number, to 1e-9 relative; -inf for zero alone."""
    if expected == 0:
        assert found == -np.inf
    else:
        log = float(np.log(expected))
        assert abs(found - log) <= 1e-9 * max(1.0, abs(log)), (found, log)
