"""What would have been, against the enumeration of response functions and published bounds."""

import itertools

import numpy as np
import pytest
from causal.drawn import drawn_network
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.errors import DataError, ImpossibleEvidence, TooLargeError, UnknownNameError


def response_functions(cpt):
    """Each function from parent configurations to states, as an array of the shape of the parents."""
    shape = cpt.values.shape[:-1]
    q = int(np.prod(shape))
    for states in itertools.product(range(cpt.child.n_states), repeat=q):
        yield np.array(states).reshape(shape)


def independent_noise(cpt):
    """The response functions with the product of the probabilities of their states."""
    for r in response_functions(cpt):
        yield r, float(np.prod(np.take_along_axis(cpt.values, r[..., None], axis=-1)))


def monotone_noise(cpt):
    """The response functions of one uniform number: the intervals between all ends of cumulated probabilities."""
    ends = np.cumsum(cpt.values, axis=-1)
    cuts = np.unique(np.concatenate([[0.0], ends.ravel().clip(0, 1), [1.0]]))
    for low, high in itertools.pairwise(cuts):
        u = (low + high) / 2
        yield np.minimum((ends < u).sum(axis=-1), cpt.child.n_states - 1), float(high - low)


def by_enumeration(bn, y, do, observed, noise_of):
    """P(y under do | observed), by all combinations of response functions."""
    names, order = bn.names, bn.dag.topological_order
    joint, total = np.zeros(bn.variable(y).n_states), 0.0
    for choice in itertools.product(*(list(noise_of(bn.cpt(name))) for name in order)):
        p = float(np.prod([weight for _, weight in choice]))
        if not p:
            continue
        worlds = []
        for changed in ({}, do):
            world = {}
            for name, (response, _) in zip(order, choice):
                own = int(response[tuple(world[parent] for parent in bn.dag.parents(name))])
                world[name] = changed.get(name, own)
            worlds.append(world)
        if all(worlds[0][name] == state for name, state in observed.items()):
            total += p
            joint[worlds[1][y]] += p
    assert len(names)
    return joint / total


GRAPHS = ["x -> y", "x -> m -> y; x -> y", "z -> x -> y; z -> y", "x -> m -> y; z -> m; z -> y"]


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("coupling", "noise"), [("independent", independent_noise), ("monotone", monotone_noise)])
def test_couplings_equal_enumeration_of_their_response_functions(graph, coupling, noise):
    bn = drawn_network(graph, 3)
    observed = [{}, {"x": 1, "y": 1}, {"y": 0}, {"x": 0}]
    observed += [{"m": 1, "y": 1}] if "m" in bn.names else []
    for state, seen in itertools.product((0, 1), observed):
        found = bn.counterfactual("y", {"x": state}, seen, coupling=coupling)
        assert np.allclose(found.distribution.values, by_enumeration(bn, "y", {"x": state}, seen, noise))


@pytest.mark.parametrize("coupling", ["independent", "monotone"])
def test_three_states(coupling):
    bn = drawn_network("x -> m -> y", 5, cards=3)
    noise = independent_noise if coupling == "independent" else monotone_noise
    # 27 response functions of each of two tables, three of x.
    given = {"x": 2, "y": 1}
    found = bn.counterfactual("y", {"x": 0}, given, coupling=coupling)
    assert np.allclose(found.distribution.values, by_enumeration(bn, "y", {"x": 0}, given, noise))


@given(st.integers(0, 10_000), st.sampled_from(GRAPHS), st.sampled_from(["independent", "monotone"]))
@settings(max_examples=20, deadline=None)
def test_what_is_set_to_what_was_observed_changes_nothing(seed, graph, coupling):
    bn = drawn_network(graph, seed, cards=3)
    given = {"x": 1, "y": 2}
    found = bn.counterfactual("y", {"x": 1}, given, coupling=coupling, bounds=True)
    assert np.allclose(found.distribution.values, [0, 0, 1])
    assert found.identified
    for name in bn.names:
        if name not in ("x", "y"):
            same = bn.counterfactual(name, {"x": 1}, given, coupling=coupling)
            assert np.allclose(same.distribution.values, bn.query(name, given).values)


@given(st.integers(0, 10_000), st.sampled_from(GRAPHS), st.sampled_from(["independent", "monotone"]))
@settings(max_examples=20, deadline=None)
def test_without_observations_it_is_the_effect(seed, graph, coupling):
    bn = drawn_network(graph, seed)
    found = bn.counterfactual("y", {"x": 1}, coupling=coupling, bounds=True)
    assert np.allclose(found.distribution.values, bn.effect("y", {"x": 1}).distribution.values)
    assert found.identified


def test_what_is_not_affected_is_what_was_observed():
    bn = drawn_network("z -> x -> y; z -> y", 1)
    found = bn.counterfactual("z", {"x": 1}, {"z": 0, "y": 1}, bounds=True)
    assert found.distribution.values.tolist() == [1, 0]
    joint = bn.counterfactual(["z", "y"], {"x": 1}, {"z": 0, "x": 0, "y": 1})
    assert np.allclose(joint.distribution.marginal("y").values, bn.counterfactual(
        "y", {"x": 1}, {"z": 0, "x": 0, "y": 1}).distribution.values)  # fmt: skip


# ---- bounds ----------------------------------------------------------------------------------------------------------


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.05, 0.95))
@settings(max_examples=30, deadline=None)
def test_necessity_and_sufficiency_have_the_bounds_of_tian_and_pearl(p1, p0, px):
    """Without confounding (Tian and Pearl 2000, equations 22 to 24 with P(y_x) = P(y | x))."""
    x, y = bntk.Variable("x", [0, 1]), bntk.Variable("y", [0, 1])
    bn = bntk.BayesianNetwork.from_cpts([bntk.CPT(x, [1 - px, px]), bntk.CPT(y, [[1 - p0, p0], [1 - p1, p1]], [x])])
    necessity = bn.counterfactual("y", {"x": 0}, {"x": 1, "y": 1}, bounds=True)
    assert necessity.bounds(0) == pytest.approx((max(0, (p1 - p0) / p1), min(1, (1 - p0) / p1)), abs=1e-7)
    sufficiency = bn.counterfactual("y", {"x": 1}, {"x": 0, "y": 0}, bounds=True)
    assert sufficiency.bounds(1) == pytest.approx((max(0, (p1 - p0) / (1 - p0)), min(1, p1 / (1 - p0))), abs=1e-7)
    # Under monotonicity both are identified, by the lower bounds (their equations 25 and 26).
    if p1 >= p0:
        assert necessity[0] == pytest.approx((p1 - p0) / p1, abs=1e-9)
        assert sufficiency[1] == pytest.approx((p1 - p0) / (1 - p0), abs=1e-9)


def test_the_example_of_radiation_and_leukaemia():
    """The counts of the example of Tian and Pearl 2000: necessity is at least as probable as the excess risk ratio."""
    exposed = bntk.Variable("exposed", ["no", "yes"])
    died = bntk.Variable("died", ["no", "yes"])
    p1, p0 = 30 / (30 + 69_130), 16 / (16 + 59_010)
    bn = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(exposed, [0.46, 0.54]), bntk.CPT(died, [[1 - p0, p0], [1 - p1, p1]], [exposed])]
    )
    found = bn.counterfactual("died", {"exposed": "no"}, {"exposed": "yes", "died": "yes"}, bounds=True)
    assert found["no"] == pytest.approx(1 - p0 / p1, abs=1e-9)
    assert found.bounds("no") == pytest.approx((1 - p0 / p1, 1.0), abs=1e-7)


def vertices_by_hand(cpt):
    """The vertices of the couplings of a binary table with one binary parent: the response functions 00, 01, 10, 11."""
    a, b = cpt.values[0, 1], cpt.values[1, 1]
    for both in (max(0.0, a + b - 1), min(a, b)):
        yield [1 - a - b + both, b - both, a - both, both]


def test_bounds_over_two_couplings_are_at_their_vertices():
    for seed in range(5):
        bn = drawn_network("x -> m -> y", seed)
        given = {"x": 1, "y": 1}
        found = bn.counterfactual("y", {"x": 0}, given, bounds=True)
        assert found.coupled == ("m", "y")
        answers = []
        for q_m, q_y in itertools.product(vertices_by_hand(bn.cpt("m")), vertices_by_hand(bn.cpt("y"))):
            weights = {"m": q_m, "y": q_y}

            def noise(cpt, weights=weights):
                if cpt.name in weights:
                    return zip(response_functions(cpt), weights[cpt.name])
                return independent_noise(cpt)

            answers.append(by_enumeration(bn, "y", {"x": 0}, given, noise))
        assert np.allclose(found.lower, np.min(answers, axis=0), atol=1e-7)
        assert np.allclose(found.upper, np.max(answers, axis=0), atol=1e-7)


@given(st.integers(0, 10_000), st.sampled_from(GRAPHS), st.integers(2, 3))
@settings(max_examples=8, deadline=None)
def test_couplings_are_within_the_bounds(seed, graph, cards):
    bn = drawn_network(graph, seed, cards if graph in ("x -> y",) else 2)
    given = {"x": 1, "y": 1}
    found = [bn.counterfactual("y", {"x": 0}, given, coupling=c, bounds=True) for c in ("monotone", "independent")]
    assert np.allclose(found[0].lower, found[1].lower)
    for one in found:
        assert (one.distribution.values >= one.lower - 1e-7).all()
        assert (one.distribution.values <= one.upper + 1e-7).all()


def test_too_many_response_functions_are_refused_with_the_figure():
    bn = drawn_network("x -> y; a -> y; b -> y; c -> y", 0)
    with pytest.raises(TooLargeError, match="65,536 response functions, more than 4,096"):
        bn.counterfactual("y", {"x": 0}, {"x": 1, "y": 1}, bounds=True)
    assert bn.counterfactual("y", {"x": 0}, {"x": 1, "y": 1})[1] <= 1
    chain = drawn_network("x -> a -> b -> c -> d -> e -> f -> g -> h -> i -> j -> y", 0)
    with pytest.raises(TooLargeError, match="linear programs, more than 2,000"):
        chain.counterfactual("y", {"x": 0}, {"x": 1, "y": 1}, bounds=True)


# ---- results and errors ----------------------------------------------------------------------------------------------


def test_it_shows_itself():
    bn = drawn_network("x -> y", 0)
    found = bn.counterfactual("y", {"x": 0}, {"x": 1, "y": 1}, bounds=True)
    assert repr(found).startswith("P(y | do(x=0); observed x=1, y=1)")
    assert "lower and upper: over all couplings" in repr(found)
    assert "<table" in found._repr_html_()
    assert list(found.to_frame().columns) == ["y", "p", "lower", "upper"]
    plain = bn.counterfactual("y", {"x": 0}, {"x": 1, "y": 1})
    assert list(plain.to_frame().columns) == ["y", "p"]
    with pytest.raises(DataError, match="ask with bounds=True"):
        plain.bounds(0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": "Y", "do": {"x": 0}}, UnknownNameError, "did you mean 'y'"),
        ({"y": "y", "do": {"X": 0}}, UnknownNameError, "did you mean 'x'"),
        ({"y": "y", "do": {"x": 7}}, UnknownNameError, "7"),
        ({"y": "y", "do": {"y": 1}}, DataError, "'y' is in do and in y"),
        ({"y": "y", "do": "x"}, DataError, "what each variable would have been set to"),
        ({"y": "y", "do": {}}, DataError, "do is empty"),
        ({"y": [], "do": {"x": 0}}, DataError, "y is empty"),
        ({"y": "y", "do": {"x": 0}, "given": {"w": 1}}, UnknownNameError, "given: there is no variable 'w'"),
        ({"y": "y", "do": {"x": 0}, "coupling": "mono"}, ValueError, "coupling must be 'monotone' or 'independent'"),
    ],
)
def test_wrong_questions_are_refused(arguments, error, message):
    bn = drawn_network("x -> y", 0)
    with pytest.raises(error, match=message):
        bn.counterfactual(**arguments)


def test_impossible_observations_are_named():
    x, y = bntk.Variable("x", [0, 1]), bntk.Variable("y", [0, 1])
    bn = bntk.BayesianNetwork.from_cpts([bntk.CPT(x, [0.5, 0.5]), bntk.CPT(y, [[1, 0], [0, 1]], [x])])
    with pytest.raises(ImpossibleEvidence, match="x=0, y=1"):
        bn.counterfactual("y", {"x": 1}, {"x": 0, "y": 1})
    assert bn.counterfactual("y", {"x": 1}, {"x": 0, "y": 0}, bounds=True).bounds(1) == (1, 1)


def test_names_with_a_star_are_not_mixed_up():
    bn = drawn_network("x -> y; y -> y*", 2)
    found = bn.counterfactual("y*", {"x": 0}, {"x": 1, "y*": 1})
    plain = drawn_network("x -> y; y -> z", 2)
    assert np.allclose(
        found.distribution.values, plain.counterfactual("z", {"x": 0}, {"x": 1, "z": 1}).distribution.values
    )


def test_linear_programs_and_vertices_agree(monkeypatch):
    from bntk.causal import counterfactuals

    bn, seen = drawn_network("z -> x -> y; z -> y", 4), {"x": 1, "y": 1}
    by_vertices = bn.counterfactual("y", {"x": 0}, seen, bounds=True)
    monkeypatch.setattr(counterfactuals, "MOST_BASES", 0)
    by_programs = bn.counterfactual("y", {"x": 0}, seen, bounds=True)
    assert np.allclose(by_vertices.lower, by_programs.lower, atol=1e-7)
    assert np.allclose(by_vertices.upper, by_programs.upper, atol=1e-7)


@given(st.integers(0, 100_000), st.sampled_from(["independent", "monotone"]))
@settings(max_examples=15, deadline=None)
def test_random_questions_in_random_networks(seed, coupling):
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(list("xyab"))]
    arcs = [(u, v) for k, u in enumerate(names) for v in names[k + 1 :] if rng.random() < 0.6]
    arcs = [(u, v) for u, v in arcs if sum(head == v for _, head in arcs) < 3]  # so that enumeration is quick
    bn = drawn_network("; ".join([*names, *(f"{u} -> {v}" for u, v in arcs)]), seed)
    seen = {name: int(rng.integers(2)) for name in names if rng.random() < 0.5}
    do = {name: int(rng.integers(2)) for name in ("x", "a") if name == "x" or rng.random() < 0.3}
    noise = independent_noise if coupling == "independent" else monotone_noise
    found = bn.counterfactual("y", do, seen, coupling=coupling)
    assert np.allclose(found.distribution.values, by_enumeration(bn, "y", do, seen, noise))
