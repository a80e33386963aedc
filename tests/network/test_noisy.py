import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bntk import CPT, BayesianNetwork, NoisyMax, NoisyOr, Variable
from bntk.errors import NetworkError


@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.integers(2, 4))
def test_noisy_max_is_the_maximum_of_independent_causes(seed, n_parents, r):
    rng = np.random.default_rng(seed)
    child = Variable("child", range(r))
    parents = [Variable(f"p{i}", range(rng.integers(1, 4))) for i in range(n_parents)]
    effects = {p: rng.dirichlet(np.ones(r), size=p.n_states) for p in parents}
    leak = rng.dirichlet(np.ones(r))
    values = NoisyMax(child, effects, leak).to_cpt().values
    for configuration in np.ndindex(*values.shape[:-1]):
        causes = [leak, *(effects[p][k] for p, k in zip(parents, configuration, strict=True))]
        expected = np.zeros(r)
        for outcome in itertools.product(range(r), repeat=len(causes)):
            expected[max(outcome)] += np.prod([c[k] for c, k in zip(causes, outcome, strict=True)])
        np.testing.assert_allclose(values[configuration], expected, atol=1e-14)


def test_noisy_or_is_its_formula_and_a_local_distribution_of_a_network():
    flu, cold, fever = (Variable(n, ["no", "yes"]) for n in ("flu", "cold", "fever"))
    noisy = NoisyOr(fever, {flu: 0.8, cold: 0.4}, leak=0.05)
    network = BayesianNetwork("flu->fever<-cold", [CPT(flu, [0.9, 0.1]), CPT(cold, [0.7, 0.3]), noisy])
    for f, c in itertools.product([0, 1], repeat=2):
        off = (1 - 0.05) * (1 - 0.8) ** f * (1 - 0.4) ** c
        given_states = {"flu": flu.states[f], "cold": cold.states[c]}
        assert network.cpt("fever").probability("no", given_states) == pytest.approx(off, abs=1e-15)
    assert noisy.n_parameters == 3
    assert network.cpt("fever").n_parameters == 4


def test_bad_parameters_are_refused_by_name():
    two, three = Variable("two", [0, 1]), Variable("three", [0, 1, 2])
    with pytest.raises(NetworkError, match="'three' has 3: use NoisyMax"):
        NoisyOr(two, {three: 0.5})
    with pytest.raises(NetworkError, match="probability of 'b' must be a number from 0 to 1, not 1.5"):
        NoisyOr(two, {Variable("b", [0, 1]): 1.5})
    with pytest.raises(NetworkError, match=r"leak must be a number from 0 to 1, not -0.1"):
        NoisyOr(two, {}, leak=-0.1)
    with pytest.raises(NetworkError, match=r"the effect of 'three' has shape \(2, 2\), expected \(3, 2\)"):
        NoisyMax(two, {three: [[1, 0], [0, 1]]})
    with pytest.raises(NetworkError, match="sums to 0.5"):
        NoisyMax(two, {}, leak=[0.5, 0.0])
