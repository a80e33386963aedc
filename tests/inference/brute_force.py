"""Inference by enumerating the joint distribution, for the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import bntk
from bntk.inference.exact.program import Factor, Program, compile_factors


def factors_of(network: bntk.BayesianNetwork) -> list[Factor]:
    """The tables of a network as factors."""
    families = [(*parents, node) for node, parents in enumerate(network.dag.parent_indices)]
    return [Factor(family, cpt.values) for family, cpt in zip(families, network.cpts, strict=True)]


def compiled(network: bntk.BayesianNetwork, **options: object) -> Program:
    cards = [variable.n_states for variable in network.variables]
    return compile_factors(factors_of(network), cards, **options)  # type: ignore[arg-type]


def product(factors: Sequence[Factor], cards: Sequence[int]) -> np.ndarray:
    """The product of factors, one axis a variable."""
    whole = np.ones(cards)
    for factor in factors:
        order = np.argsort(factor.variables)
        shape = [cards[v] if v in factor.variables else 1 for v in range(len(cards))]
        whole = whole * factor.values.transpose(order).reshape(shape)
    return whole


def given(joint: np.ndarray, likelihood: Mapping[int, np.ndarray]) -> np.ndarray:
    """The joint times the likelihoods of some variables."""
    for variable, vector in likelihood.items():
        joint = joint * np.asarray(vector, dtype=float).reshape([-1 if a == variable else 1 for a in range(joint.ndim)])
    return joint


def onto(joint: np.ndarray, variables: Sequence[int]) -> np.ndarray:
    """The joint summed over all other variables, axes in the order given."""
    kept = sorted(variables)
    table = joint.sum(axis=tuple(a for a in range(joint.ndim) if a not in kept))
    return table.transpose([kept.index(v) for v in variables])


def random_likelihood(seed: int, cards: Sequence[int]) -> dict[int, np.ndarray]:
    """Hard, set and soft evidence on some of the variables."""
    rng = np.random.default_rng(seed)
    likelihood = {}
    for variable, card in enumerate(cards):
        kind = rng.integers(6)
        if kind == 0:
            likelihood[variable] = np.eye(card)[rng.integers(card)]
        elif kind == 1:
            likelihood[variable] = (rng.random(card) < 0.6).astype(float)
        elif kind == 2:
            likelihood[variable] = rng.random(card) * 3
    return likelihood


def random_rows(seed: int, cards: Sequence[int], n: int = 90, missing: float = 0.4) -> np.ndarray:
    """Codes of uniformly drawn rows with missing cells; some rows occur twice."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(card, size=n) for card in cards]).reshape(len(cards), n)
    codes = np.where(rng.random(codes.shape) < missing, np.reshape(cards, (-1, 1)), codes)
    codes[:, n // 2 : n // 2 + 7] = codes[:, :7]
    return codes.astype(np.uint8)


def row_likelihood(row: np.ndarray, cards: Sequence[int]) -> dict[int, np.ndarray]:
    """The likelihood of the observed cells of a row."""
    return {v: np.eye(card)[row[v]] for v, card in enumerate(cards) if row[v] < card}
