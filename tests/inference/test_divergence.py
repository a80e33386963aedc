"""The divergence of two networks, compared with their joint distributions by enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_networks import joint, networks, random_network

import bntk
from bntk import Variable
from bntk.errors import NetworkError


def kullback_leibler(p, q):
    inside = p > 0
    with np.errstate(divide="ignore"):
        return float((p[inside] * (np.log(p[inside]) - np.log(q[inside]))).sum())


@settings(max_examples=50)
@given(networks(), st.integers(0, 2**32 - 1), st.booleans())
def test_the_sum_over_variables_is_that_of_the_joint_distributions(network, seed, zeros):
    other = random_network(seed, len(network.names), zeros=zeros)
    states = {v.name: v.states for v in network.variables}
    cpts = []
    rng = np.random.default_rng(seed)
    for name in other.names:  # the structure of the other network over the states of the first
        parents = [network.variable(p) for p in other.dag.parents(name)]
        values = rng.dirichlet(np.ones(len(states[name])), [p.n_states for p in parents])
        cpts.append(bntk.CPT(network.variable(name), values, parents))
    other = bntk.BayesianNetwork(other.dag, cpts)
    found = network.divergence(other)
    assert found["divergence"].sum() == pytest.approx(kullback_leibler(joint(network), joint(other)), abs=1e-10)
    assert network.divergence(network)["divergence"].abs().max() == 0


@settings(max_examples=40)
@given(networks())
def test_the_entropy_is_that_of_the_joint_distribution(network):
    p = joint(network)
    p = p[p > 0]
    assert network.entropy() == pytest.approx(-(p * np.log(p)).sum(), abs=1e-11)


def test_what_is_possible_but_excluded_is_infinitely_far():
    bn = bntk.datasets.sprinkler()
    sure = bn.with_rows("wet", {"yes": 1})
    assert bn.divergence(sure)["divergence"].sum() == np.inf
    found = sure.divergence(bn)
    assert found["divergence"].iloc[0] == np.inf  # wet grass without rain or sprinkler
    assert found.loc["wet", "difference"] == 1


def test_variables_and_states_must_be_the_same():
    bn = bntk.datasets.sprinkler()
    with pytest.raises(NetworkError, match="only one of the networks has the variable 'wet'"):
        bn.divergence(bn.remove_variable("wet"))
    with pytest.raises(NetworkError, match="'wet' has the states"):
        bn.divergence(bn.rename_states("wet", {"no": "dry"}))
    with pytest.raises(NetworkError, match="only one of the networks has the variable 'more'"):
        bn.divergence(bn.add_variable(Variable("more", [0, 1])))


def test_the_divergence_is_that_of_pyagrum_which_has_bits(tmp_path):
    gum = pytest.importorskip("pyagrum")
    one, two = bntk.datasets.student(), bntk.datasets.student()
    for number, name in enumerate(two.names):
        values = np.random.default_rng(number).dirichlet(
            np.ones(two.variable(name).n_states), two.cpt(name).values.shape[:-1]
        )
        two = two.with_cpt(name, values)
    paths = [str(tmp_path / name) for name in ("one.bif", "two.bif")]
    for network, path in zip((one, two), paths, strict=True):
        network.save(path)
    theirs = [gum.loadBN(path) for path in paths]  # kept, since pyAgrum does not keep them alive
    expected = gum.ExactBNdistance(*theirs).compute()["klPQ"]
    assert one.divergence(two)["divergence"].sum() / np.log(2) == pytest.approx(expected, rel=1e-5)
