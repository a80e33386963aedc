"""Noisy-OR and noisy-MAX against their definitions: independent causes, of which the highest effect is taken."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bntk import NoisyMax, NoisyOr, Variable


def _rows(rng: np.random.Generator, n: int, r: int) -> np.ndarray:
    """Distributions of which some entries are zero and some are tiny."""
    rows = rng.dirichlet(np.ones(r), size=n) * rng.choice([0.0, 1e-40, 1.0], size=(n, r), p=[0.2, 0.1, 0.7])
    rows[rows.sum(axis=1) == 0] = np.eye(r)[0]
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_parents=st.integers(0, 4), r=st.integers(1, 4))
def test_noisy_max_is_the_highest_of_independent_effects(seed: int, n_parents: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    child = Variable("child", [f"c{k}" for k in range(r)], ordered=True)
    parents = [Variable(f"p{i}", [f"s{k}" for k in range(rng.integers(1, 4))]) for i in range(n_parents)]
    effects = {parent: _rows(rng, parent.n_states, r) for parent in parents}
    leak = _rows(rng, 1, r)[0] if rng.random() < 0.5 else None
    cpt = NoisyMax(child, effects, leak).to_cpt()
    assert cpt.parents == tuple(parents)
    for states in product(*(range(parent.n_states) for parent in parents)):
        causes = [np.eye(r)[0] if leak is None else leak]
        causes += [effects[parent][state] for parent, state in zip(parents, states, strict=True)]
        expected = np.zeros(r)
        for levels in product(range(r), repeat=len(causes)):  # the level to which each cause raises the child
            expected[max(levels)] += np.prod([cause[level] for cause, level in zip(causes, levels, strict=True)])
        np.testing.assert_allclose(cpt.values[states], expected, rtol=1e-9, atol=0)


@settings(max_examples=60, deadline=None)
@given(
    probabilities=st.lists(st.floats(0, 1), max_size=5),
    leak=st.one_of(st.just(0.0), st.floats(0, 1)),
)
def test_noisy_or_is_off_when_no_cause_turns_it_on(probabilities: list[float], leak: float) -> None:
    parents = [Variable(f"p{i}", ["off", "on"]) for i in range(len(probabilities))]
    cpt = NoisyOr(Variable("child", ["off", "on"]), dict(zip(parents, probabilities, strict=True)), leak).to_cpt()
    for present in product(range(2), repeat=len(parents)):
        turns_on = [leak, *(p for p, on in zip(probabilities, present, strict=True) if on)]
        on, off = 0.0, float(np.prod([1 - p for p in turns_on]))
        for acts in product(range(2), repeat=len(turns_on)):  # which of the causes act
            chances = [p if act else 1 - p for p, act in zip(turns_on, acts, strict=True)]
            on += float(np.prod(chances)) if any(acts) else 0.0
        np.testing.assert_allclose(cpt.values[present], [off, on], rtol=1e-9, atol=1e-300)
