import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from inference.brute_force import given as times
from inference.brute_force import onto
from random_networks import joint, networks

import bntk
from bntk.errors import ImpossibleEvidence, NetworkError, UnknownNameError

ASIA = bntk.datasets.asia()


def random_findings(network: bntk.BayesianNetwork, seed: int) -> dict[str, object]:
    """A state, a set of states or likelihoods for some variables."""
    rng = np.random.default_rng(seed)
    findings: dict[str, object] = {}
    for variable in network.variables:
        kind = rng.integers(6)
        if kind == 0:
            findings[variable.name] = variable.states[rng.integers(variable.n_states)]
        elif kind == 1:
            findings[variable.name] = set(variable.states[: rng.integers(1, variable.n_states + 1)])
        elif kind == 2:
            findings[variable.name] = dict(zip(variable.states, rng.random(variable.n_states)))
    return findings


def enumerated(network: bntk.BayesianNetwork, findings: dict[str, object]) -> np.ndarray:
    """The joint with the findings, not normalised."""
    likelihood = {}
    for name, finding in findings.items():
        states = network.variable(name).states
        if isinstance(finding, dict):
            numbers = [finding[state] for state in states]
        elif isinstance(finding, set):
            numbers = [state in finding for state in states]
        else:
            numbers = [state == finding for state in states]
        likelihood[network.dag.index(name)] = np.array(numbers, dtype=float)
    return times(joint(network), likelihood)


def entropy(p: np.ndarray) -> float:
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def target_posterior(network, findings, target=0) -> np.ndarray:
    table = enumerated(network, findings)
    return onto(table, [target]) / table.sum()


# ---- value of information ----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_the_value_is_the_expected_loss_of_entropy(network, seed):
    findings = random_findings(network, seed)
    table = enumerated(network, findings)
    assume(table.sum() > 0)
    table /= table.sum()
    found = network.value_of_information("x0", findings)
    assert set(network.names) - set(findings) - {"x0"} <= set(found.index)
    assert not {name for name, finding in findings.items() if isinstance(finding, str)} & set(found.index)
    before = entropy(onto(table, [0]))
    for name, row in found.iterrows():
        other = onto(table, [network.dag.index(name)])
        pair = onto(table, [network.dag.index(name), 0])
        after = sum(other[k] * entropy(pair[k] / other[k]) for k in range(len(other)) if other[k] > 0)
        assert row["information"] == pytest.approx(before - after, abs=1e-9)
        if before > 1e-3:
            assert row["share"] == pytest.approx((before - after) / before, abs=1e-6)
    assert found["information"].is_monotonic_decreasing


def test_independent_variables_tell_nothing_and_candidates_are_respected():
    found = ASIA.value_of_information("smoke", candidates=["asia", "lung", "tub"])
    assert found.index[0] == "lung"
    np.testing.assert_allclose(found.loc[["asia", "tub"], "information"], 0, atol=1e-12)


def test_unknown_names_and_impossible_evidence_are_refused():
    with pytest.raises(UnknownNameError, match="nothing"):
        ASIA.value_of_information("lung", candidates=["nothing"])
    with pytest.raises(UnknownNameError, match="maybe"):
        ASIA.value_of_information("lung", {"xray": "maybe"})
    with pytest.raises(ImpossibleEvidence, match="tub='yes', either='no'"):
        ASIA.relevant_findings("smoke", {"tub": "yes", "xray": "no", "either": "no"})


# ---- relevant findings -------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_relevance_is_the_divergence_from_leaving_the_finding_out(network, seed):
    findings = random_findings(network, seed)
    assume(findings and enumerated(network, findings).sum() > 0)
    posterior = target_posterior(network, findings)
    found = network.relevant_findings("x0", findings)
    assert set(found.index) == set(findings)
    for name, row in found.iterrows():
        without = target_posterior(network, {k: v for k, v in findings.items() if k != name})
        used = posterior > 0
        expected = float((posterior[used] * np.log(posterior[used] / without[used])).sum())
        assert row["divergence"] == pytest.approx(expected, abs=1e-9)
        assert row["change"] == pytest.approx(np.abs(posterior - without).max(), abs=1e-9)


# ---- sensitivity -------------------------------------------------------------------------------------------------


def random_entry(network, seed):
    """A table with at least two states, an entry of it and the states of its parents."""
    rng = np.random.default_rng(seed)
    choices = [cpt for cpt in network.cpts if cpt.child.n_states > 1]
    assume(choices)
    cpt = choices[rng.integers(len(choices))]
    parents = {p.name: p.states[rng.integers(p.n_states)] for p in cpt.parents}
    return cpt, parents, cpt.child.states[rng.integers(cpt.child.n_states)]


def with_entry(network, cpt, parents, entry, x):
    """The network with one entry at x, the rest of the row in proportion."""
    values = cpt.values.copy()
    place = tuple(p.code(parents[p.name]) for p in cpt.parents)
    row, k = values[place].copy(), cpt.child.code(entry)
    others = np.arange(len(row)) != k
    row[others] = (1 - x) * (row[others] / row[others].sum() if row[others].sum() > 0 else 1 / others.sum())
    row[k] = x
    values[place] = row
    changed = bntk.CPT(cpt.child, values, cpt.parents)
    return bntk.BayesianNetwork(network.dag, [changed if c.name == cpt.name else c for c in network.cpts])


@settings(max_examples=60, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_the_sensitivity_function_is_the_posterior_for_every_value_of_the_entry(network, seed):
    findings = random_findings(network, seed)
    assume(enumerated(network, findings).sum() > 1e-6)
    cpt, parents, entry = random_entry(network, seed)
    state = network.variable("x0").states[-1]
    found = network.sensitivity("x0", state, findings, table=cpt.name, entry=entry, parents=parents)
    assert found.posterior == pytest.approx(target_posterior(network, findings)[-1], abs=1e-9)
    assert found.value == cpt.probability(entry, parents)
    assert found.c * found.value + found.d == pytest.approx(1)
    for x in (0.0, 0.15, 0.5, 0.9, 1.0):
        changed = with_entry(network, cpt, parents, entry, x)
        if enumerated(changed, findings).sum() > 0:
            assert found(x) == pytest.approx(target_posterior(changed, findings)[-1], abs=1e-8)
        else:
            assert math.isnan(found(x)) or found.c * x + found.d < 1e-12


@settings(max_examples=60, deadline=None)
@given(networks(max_states=3), st.integers(0, 10**6))
def test_the_derivative_equals_a_finite_difference_for_one_entry_and_for_all(network, seed):
    findings = random_findings(network, seed)
    assume(enumerated(network, findings).sum() > 1e-3)
    cpt, parents, entry = random_entry(network, seed)
    x, h = cpt.probability(entry, parents), 1e-5
    assume(2 * h < x < 1 - 2 * h)
    up, down = (target_posterior(with_entry(network, cpt, parents, entry, x + s * h), findings)[-1] for s in (1, -1))
    state = network.variable("x0").states[-1]
    found = network.sensitivity("x0", state, findings, table=cpt.name, entry=entry, parents=parents)
    assert found.derivative == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-5)
    frame = network.sensitivities("x0", state, findings)
    text = ", ".join(f"{p.name}={parents[p.name]}" for p in cpt.parents)
    (row,) = frame[(frame.variable == cpt.name) & (frame.given == text) & (frame.state == entry)].itertuples()
    assert row.p == x
    assert row.derivative == pytest.approx(found.derivative, rel=1e-6, abs=1e-8)
    assert frame["derivative"].abs().is_monotonic_decreasing


def test_admissible_values_keep_the_posterior_within_limits():
    found = ASIA.sensitivity("lung", "yes", {"xray": "yes"}, table="xray", entry="yes", parents={"either": "no"})
    low, high = found.admissible(at_least=0.3, at_most=0.7)
    assert 0 < low < found.value < high < 1
    assert found(low) == pytest.approx(0.7)
    assert found(high) == pytest.approx(0.3)
    assert found.admissible() == (0, 1)
    assert found.admissible(at_least=0.99) is None


def test_an_entry_of_one_gives_way_to_the_others_equally():
    a = bntk.Variable("a", ["x", "y", "z"])
    network = bntk.BayesianNetwork("a", [bntk.CPT(a, [1.0, 0, 0])])
    found = network.sensitivity("a", "y", table="a", entry="x")
    assert (found.posterior, found.derivative) == (0, pytest.approx(-0.5))


def test_many_findings_do_not_underflow():
    hidden = bntk.Variable("h", [0, 1])
    leaves = [bntk.Variable(f"v{i}", [0, 1]) for i in range(600)]
    cpts = [bntk.CPT(hidden, [0.5, 0.5])]
    cpts += [bntk.CPT(v, [[0.99, 0.01], [0.989, 0.011]], [hidden]) for v in leaves]
    network = bntk.BayesianNetwork.from_cpts(cpts)
    found = network.sensitivity("h", 1, {v.name: 1 for v in leaves}, table="h", entry=1)
    ratio = 1.1**600
    assert found(0.5) == pytest.approx(ratio / (1 + ratio))
    assert np.isfinite([found.a, found.b, found.c, found.d]).all()


def test_a_variable_with_one_state_cannot_vary():
    only = bntk.BayesianNetwork("a", [bntk.CPT(bntk.Variable("a", ["x"]), [1.0])])
    with pytest.raises(NetworkError, match="one state"):
        only.sensitivity("a", "x", table="a", entry="x")


def test_the_ends_of_a_sensitivity_are_exact_where_the_evidence_almost_depends_on_the_entry():
    a, b = bntk.Variable("a", ["x", "y"]), bntk.Variable("b", ["u", "v"])
    tables = [bntk.CPT(a, [0.5, 0.5]), bntk.CPT(b, [[1e-30, 1 - 1e-30], [1.0, 0.0]], [a])]
    network = bntk.BayesianNetwork(bntk.DAG(["a", "b"], [("a", "b")]), tables)
    found = network.sensitivity("a", "x", {"b": "u"}, table="a", entry="x")
    assert (found(0), found(1)) == (0, 1)  # at 1 the evidence has the probability 1e-30, which a sum would lose
    assert found(0.5) == pytest.approx(found.posterior, rel=1e-12)
