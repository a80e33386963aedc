"""Questions by name equal enumeration of the joint distribution."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from inference.brute_force import given, onto, random_likelihood
from random_networks import joint, networks, random_network

import bntk
from bntk.errors import DataError, ImpossibleEvidence, TooLargeError, UnknownNameError
from bntk.inference import choose
from bntk.inference import query as query_module
from bntk.inference.exact import program as program_module
from bntk.inference.exact.program import compile_network
from bntk.inference.results import Distribution

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40)


def evidence(network, seed):
    """Hard, set and soft evidence as a user gives it, and as likelihoods by position."""
    cards = [v.n_states for v in network.variables]
    rng = np.random.default_rng(seed)
    hard, soft, vectors = {}, {}, {}
    for v, numbers in random_likelihood(seed, cards).items():
        variable = network.variables[v]
        possible = [variable.states[code] for code in np.flatnonzero(numbers)]
        if not possible:
            continue
        vectors[v] = numbers
        if not np.isin(numbers, (0, 1)).all():
            (hard if rng.random() < 0.5 else soft)[variable.name] = dict(zip(variable.states, numbers, strict=True))
        else:
            hard[variable.name] = possible[0] if len(possible) == 1 else set(possible)
    return hard, soft, vectors


def some_targets(network, seed):
    rng = np.random.default_rng(seed)
    n = len(network.names)
    return rng.permutation(n)[: rng.integers(1, min(n, 3) + 1)].tolist()


@pytest.fixture(params=["whole program", "programs for parts"])
def policy(request, monkeypatch):
    """Small networks are answered by one program, large ones by programs for the tables that matter."""
    if request.param != "whole program":
        monkeypatch.setattr(choose, "WHOLE_ENTRIES", -1)


def check_query(network, seed):
    hard, soft, vectors = evidence(network, seed)
    whole = given(joint(network), vectors)
    at = some_targets(network, seed)
    names = [network.names[v] for v in at]
    assert network.probability(hard, soft) == pytest.approx(whole.sum(), rel=1e-9)
    if whole.sum() == 0:
        with pytest.raises(ImpossibleEvidence):
            network.marginals(hard, soft)
        return
    np.testing.assert_allclose(
        network.query(names, hard, soft).values, onto(whole, at) / whole.sum(), rtol=1e-9, atol=1e-13
    )
    posteriors = network.marginals(hard, soft)
    assert posteriors.log_probability == pytest.approx(math.log(whole.sum()), abs=1e-10)
    unobserved = [v for v in range(whole.ndim) if np.count_nonzero(vectors.get(v, [1, 1])) > 1]
    assert list(posteriors) == [network.names[v] for v in unobserved]
    for v in unobserved:
        expected = onto(whole, [v]) / whole.sum()
        np.testing.assert_allclose(posteriors[network.names[v]].values, expected, rtol=1e-9, atol=1e-13)


@few
@drawn(networks(), seeds)
def test_posteriors_and_probabilities_equal_enumeration(network, seed):
    check_query(network, seed)


@few
@drawn(networks(), seeds)
def test_programs_for_parts_of_a_network_give_the_same(network, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "WHOLE_ENTRIES", -1)
        check_query(network, seed)


@few
@drawn(networks(), seeds)
def test_explanations_equal_brute_force(network, seed):
    hard, soft, vectors = evidence(network, seed)
    whole = given(joint(network), vectors)
    assume(whole.sum() > 0)
    at = some_targets(network, seed)
    table = onto(whole, at) / whole.sum()
    best = network.map([network.names[v] for v in at], hard, soft)
    assert best.probability == pytest.approx(table.max(), rel=1e-9)
    states = {**{n: s for n, s in hard.items() if isinstance(s, str)}, **best}
    where = tuple(network.variables[v].code(states.get(network.names[v], onlyone(vectors, network, v))) for v in at)
    assert table[where] == pytest.approx(table.max(), rel=1e-9)

    explained = network.mpe(hard, soft)
    assert explained.probability == pytest.approx(whole.max() / whole.sum(), rel=1e-9)
    everything = [v.code(explained.get(v.name, onlyone(vectors, network, i))) for i, v in enumerate(network.variables)]
    assert whole[tuple(everything)] == pytest.approx(whole.max(), rel=1e-9)


def onlyone(vectors, network, v):
    """The state of a variable that evidence leaves only one of."""
    return network.variables[v].states[int(np.argmax(vectors.get(v, [1])))]


def test_a_probability_too_large_for_a_float_is_told_and_its_log_is_right():
    asia, soft = bntk.datasets.asia(), {"xray": [1e200, 1e200], "dysp": [1e200, 1e200]}
    assert asia.log_probability(soft=soft) == pytest.approx(400 * math.log(10))
    with pytest.raises(DataError, match=r"too large for a float.*log_probability"):
        asia.probability(soft=soft)


@few
@drawn(networks(), seeds)
def test_jeffrey_s_rule_is_its_formula(network, seed):
    rng = np.random.default_rng(seed)
    whole = joint(network)
    v = int(rng.integers(whole.ndim))
    prior = onto(whole, [v])
    new = np.where(prior > 0, rng.random(prior.size), 0)
    new /= new.sum()
    at = [t for t in some_targets(network, seed) if t != v]
    assume(at)
    table = onto(whole, [v, *at])
    expected = np.tensordot(np.divide(new, prior, out=np.zeros_like(new), where=prior > 0), table, axes=1)
    answer = network.jeffrey([network.names[t] for t in at], {network.names[v]: new})
    np.testing.assert_allclose(answer.values, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(network.jeffrey(network.names[v], {network.names[v]: new}).values, new, atol=1e-12)


def test_several_new_beliefs_hold_at_the_same_time():
    asia = bntk.datasets.asia()
    beliefs = {"lung": [0.2, 0.8], "dysp": {"yes": 0.6, "no": 0.4}, "xray": [0.5, 0.5]}
    for name, belief in beliefs.items():
        expected = [belief["no"], belief["yes"]] if isinstance(belief, dict) else belief
        answer = asia.jeffrey(name, beliefs, {"smoke": "no"})
        np.testing.assert_allclose(answer.values, expected, atol=1e-9)
    # The nearest such distribution is the old one times a factor for each variable: odds ratios stay.
    old, new = asia.query(["lung", "dysp"]), asia.jeffrey(["lung", "dysp"], {k: beliefs[k] for k in ("lung", "dysp")})

    def odds_ratio(d):
        (a, b), (c, e) = d.values
        return a * e / (b * c)

    assert odds_ratio(new) == pytest.approx(odds_ratio(old), rel=1e-8)


@pytest.mark.parametrize(
    ("beliefs", "given", "message"),
    [
        ({"lung": [0.5, 0.6]}, None, "must sum to 1"),
        ({"lung": [0.5, 0.5]}, {"lung": "no"}, "'lung' is given"),
        ({"either": [0.5, 0.5]}, {"lung": "yes"}, "either='no' a probability of 0.5, but it has none"),
        ({"lung": [0.1, 0.9], "either": [0.9, 0.1]}, None, "contradict each other"),
        ("lung", None, "must map"),
    ],
)
def test_beliefs_that_cannot_hold_are_refused(beliefs, given, message, monkeypatch):
    monkeypatch.setattr(query_module, "MOST_ROUNDS", 30)
    with pytest.raises(DataError, match=message):
        bntk.datasets.asia().jeffrey("smoke", beliefs, given)


@few
@drawn(networks(), seeds)
def test_an_intervention_is_the_truncated_factorisation(network, seed):
    rng = np.random.default_rng(seed)
    at = some_targets(network, seed)
    states = {network.names[v]: network.variables[v].states[rng.integers(network.variables[v].n_states)] for v in at}
    mutilated = network.do(states)
    expected = np.ones([v.n_states for v in network.variables])
    for v, cpt in enumerate(network.cpts):  # the product of all tables but those of the variables that are set
        axes = [v] if v in at else [*network.dag.parent_indices[v], v]
        table = np.eye(cpt.child.n_states)[cpt.child.code(states[cpt.name])] if v in at else cpt.values
        shape = [n if a in axes else 1 for a, n in enumerate(expected.shape)]
        expected = expected * table.transpose(np.argsort(axes)).reshape(shape)
    for v, name in enumerate(network.names):
        np.testing.assert_allclose(mutilated.query(name).values, onto(expected, [v]), rtol=1e-9, atol=1e-13)
    assert all(not mutilated.dag.parents(name) for name in states)
    with pytest.raises(UnknownNameError, match="no state 'nowhere'"):
        network.do({network.names[0]: "nowhere"})


def test_a_target_that_is_given_has_its_posterior_with_its_own_finding(policy):
    asia = bntk.datasets.asia()
    np.testing.assert_array_equal(asia.query("lung", {"lung": "yes"}).values, [0, 1])
    both = asia.query(["lung", "smoke", "tub"], {"lung": "yes"})
    np.testing.assert_array_equal(both.values[0], 0)
    np.testing.assert_allclose(both.values[1], asia.query(["smoke", "tub"], {"lung": "yes"}).values, atol=1e-12)
    prior = asia.query("lung").values
    np.testing.assert_allclose(asia.query("lung", soft={"lung": [1, 4]})["yes"], 4 * prior[1] / (prior @ [1, 4]))
    assert asia.map(["lung", "tub"], {"lung": "yes"}) == {"tub": "no"}


def test_any_targets_have_a_joint_distribution(policy):
    network = random_network(7, 6, max_states=3)
    names = list(reversed(network.names))
    np.testing.assert_allclose(network.query(names).values, joint(network).transpose(), atol=1e-13)


def test_a_plan_says_how_evidence_shrinks_the_tables():
    asia = bntk.datasets.asia()
    smoke, tree = asia.dag.index("smoke"), compile_network(asia).tree
    halves = [size // 2 if smoke in clique else size for size, clique in zip(tree.sizes, tree.cliques, strict=True)]
    plan, given = asia.plan(), asia.plan(given=["smoke"])
    assert plan.total_entries == plan.open_entries == given.total_entries == sum(tree.sizes)
    assert (given.open_entries, given.largest_open) == (sum(halves), max(halves))
    assert f"with the evidence: {sum(halves)} entries" in str(given)
    assert "with the evidence" not in str(plan)


@pytest.mark.parametrize(("targets", "error"), [([], DataError), (["a", "a"], DataError), ("b", UnknownNameError)])
def test_targets_are_checked(targets, error):
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(bntk.Variable("a", [0, 1]), [0.5, 0.5])])
    with pytest.raises(error):
        network.query(targets)


def test_limits_are_said_before_anything_is_run(monkeypatch):
    asia = bntk.datasets.asia()
    with pytest.raises(TooLargeError, match="max_entries"):
        bntk.datasets.asia().marginals(max_entries=10)
    plan = asia.plan()
    assert plan.n_variables == 8
    assert "cliques" in str(plan)
    monkeypatch.setattr(choose, "WHOLE_ENTRIES", -1)
    fresh = bntk.datasets.asia()
    assert fresh.plan().total_entries == plan.total_entries
    with pytest.raises(TooLargeError):
        fresh.marginals(max_entries=10)
    assert fresh.plan("bronc", ["smoke"]).n_variables == 2
    assert fresh.plan("bronc", {"smoke": "no"}) == fresh.plan("bronc", "smoke")
    monkeypatch.setattr(choose, "MAP_ENTRIES", 2)
    with pytest.raises(TooLargeError, match="query fewer targets"):
        fresh.map(["asia", "dysp"])


# ---- labels ----------------------------------------------------------------------------------------------------------

GRADE = bntk.Variable("grade & co.", [3, 1, 2], ordered=True)
PASSED = bntk.Variable("passed?", [True, False])
SCHOOL = bntk.BayesianNetwork.from_cpts(
    [bntk.CPT(GRADE, [0.2, 0.5, 0.3]), bntk.CPT(PASSED, [[0.1, 0.9], [1, 0], [0.7, 0.3]], [GRADE])]
)


def test_labels_survive():
    answer = SCHOOL.query("grade & co.", {"passed?": True})
    assert list(answer.to_dict()) == [3, 1, 2]
    assert answer[1] == pytest.approx(0.5 / 0.73)
    assert answer.mode() == {"grade & co.": 1}
    series = answer.to_series()
    assert list(series.index) == [3, 1, 2]
    assert series.loc[2] == pytest.approx(0.21 / 0.73)
    frame = SCHOOL.query(["passed?", "grade & co."]).to_frame()
    assert list(frame.columns) == ["passed?", "grade & co.", "p"]
    assert frame["grade & co."].cat.ordered
    assert list(frame["grade & co."].cat.categories) == [3, 1, 2]
    assert frame["p"].sum() == pytest.approx(1)
    assert SCHOOL.mpe() == {"grade & co.": 1, "passed?": True}
    assert "&amp;" in answer._repr_html_()


def test_a_joint_distribution_is_looked_up_summed_and_printed():
    both = SCHOOL.query(["grade & co.", "passed?"])
    assert both[1, True] == both.probability({"grade & co.": 1, "passed?": True}) == pytest.approx(0.5)
    assert both.probability({"passed?": False}) == pytest.approx(0.27)
    assert both.marginal(["passed?", "grade & co."]).values.shape == (2, 3)
    assert both.marginal("passed?").is_close(SCHOOL.query("passed?"))
    assert both.entropy() == pytest.approx(-sum(p * math.log(p) for p in both.values.ravel() if p > 0))
    assert both.to_series().loc[(3, True)] == pytest.approx(0.02)
    assert both == pickle.loads(pickle.dumps(both))
    assert both != SCHOOL.query("passed?")
    assert repr(both).splitlines()[:3] == [
        "P(grade & co., passed?)",
        "grade & co.  passed?",
        "3            True     0.0200",
    ]
    with pytest.raises(DataError, match="a state for each variable"):
        both[1]
    with pytest.raises(UnknownNameError, match="is not about 'x'"):
        both.p(x=1)
    with pytest.raises(TypeError):
        iter(both)
    with pytest.raises(ValueError):
        both.values[0] = 1


def test_large_distributions_are_printed_in_part():
    many = bntk.Variable("many", range(100))
    answer = Distribution([many], np.full(100, 0.01))
    assert repr(answer).endswith("... 84 more joint states")
    assert "36 more" in answer._repr_html_()
    with pytest.raises(DataError, match="shape"):
        Distribution([many], [0.5, 0.5])


def test_marginals_and_explanations_are_labelled():
    posteriors = bntk.datasets.asia().marginals({"smoke": "no"})
    frame = posteriors.to_frame()
    assert len(frame) == 14
    assert list(frame.columns) == ["variable", "state", "p"]
    assert "<table>" in posteriors._repr_html_()
    with pytest.raises(UnknownNameError, match="observed or unknown"):
        posteriors["smoke"]
    best = bntk.datasets.asia().mpe()
    again = pickle.loads(pickle.dumps(best))
    assert (again, again.log_probability) == (best, best.log_probability)


@settings(max_examples=20)
@drawn(seeds)
def test_joints_are_right_where_evidence_leads_to_other_cliques(seed):
    network = random_network(seed, 7, max_parents=4, zeros=bool(seed % 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "WHOLE_ENTRIES", -1 if seed % 3 else 1 << 16)
        patch.setattr(choose, "RECOMPILE_ENTRIES", 0)
        check_query(network, seed)


def test_the_whole_network_is_triangulated_once_however_many_parts_are_queried(monkeypatch):
    network = random_network(2, 60, max_parents=1, max_states=2)
    monkeypatch.setattr(choose, "WHOLE_ENTRIES", -1)
    monkeypatch.setattr(choose, "MEDIUM_ENTRIES", -1)
    compiled = []
    before = program_module.compile_factors
    monkeypatch.setattr(
        program_module, "compile_factors", lambda *a, **o: compiled.append(len(o["variables"])) or before(*a, **o)
    )
    for name in network.names:
        network.query(name)
    assert compiled.count(60) <= 1
