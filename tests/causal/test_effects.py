"""Effects in a network, along paths, and their results."""

import itertools

import numpy as np
import pytest
from causal.drawn import drawn_network
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.causal.effects import carrying_children
from bntk.errors import DataError, GraphError, ImpossibleEvidence, TooLargeError, UnknownNameError


def truncated(bn, y, seen_by, given=None):
    """P(y | given) where each child in ``seen_by`` sees a state of x that is given, by enumeration of all variables."""
    names, total = bn.names, np.zeros(bn.variable(y).n_states)
    for states in itertools.product(*(range(v.n_states) for v in bn.variables)):
        world = dict(zip(names, states))
        if any(world[name] != state for name, state in (given or {}).items()):
            continue
        p = 1.0
        for cpt in bn.cpts:
            own = {parent.name: seen_by.get((parent.name, cpt.name), world[parent.name]) for parent in cpt.parents}
            p *= cpt.values[(*own.values(), world[cpt.name])]
        total[world[y]] += p
    return total / total.sum()


# ---- effects ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_effects_are_those_of_the_network_after_the_intervention(seed):
    bn = drawn_network("z -> x -> m -> y; z -> y; m -> w", seed, cards=3)
    found = bn.effect("y", {"x": 2}, {"w": 1}, versus={"x": 0}, by="z")
    assert len(found.strata) == 3
    for k, stratum in enumerate(found.strata):
        one, other = (bn.do({"x": s}).query("y", {"w": 1, **stratum}).values for s in (2, 0))
        assert np.allclose(found.p[k], [one, other])
    frame = found.to_frame()
    treated = frame[frame["x"] == 2]
    assert np.allclose(treated["difference"], (found.p[:, 0] - found.p[:, 1]).ravel())
    assert np.allclose(treated["ratio"], (found.p[:, 0] / found.p[:, 1]).ravel())
    means = found.means()
    assert np.allclose(means[means["x"] == 2]["difference"], (found.p[:, 0] - found.p[:, 1]) @ [0, 1, 2])


def test_a_named_variable_is_set_to_all_of_its_states():
    bn = drawn_network("x -> y; z -> y", 0, cards=3)
    found = bn.effect("y", ["x", "z"])
    assert len(found.question.settings) == 9
    assert np.allclose(found.p[0, 5], bn.do({"x": 1, "z": 2}).query("y").values)
    with pytest.raises(DataError, match="9 settings"):
        found.distribution


def test_several_outcomes_have_a_joint_distribution():
    bn = drawn_network("x -> y; x -> z", 1)
    found = bn.effect(["y", "z"], {"x": 1}, versus={"x": 0})
    assert np.allclose(found.distribution.values, bn.do({"x": 1}).query(["y", "z"]).values)
    assert set(found.difference) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    with pytest.raises(DataError, match="no numbers"):
        found.average


def test_numbers_of_states():
    bn = bntk.datasets.sprinkler()
    with pytest.raises(DataError, match="give values="):
        bn.effect("wet", {"rain": "yes"}, versus={"rain": "no"}).average
    found = bn.effect("wet", {"rain": "yes"}, versus={"rain": "no"}, values={"no": 0, "yes": 10})
    assert found.average == pytest.approx(10 * found.difference["yes"])
    assert found.average_ratio == pytest.approx(found.ratio["yes"])
    assert found.mean == pytest.approx(10 * found["yes"])
    with pytest.raises(DataError, match="lacks the state 'yes'"):
        bn.effect("wet", {"rain": "yes"}, values={"no": 0})
    with pytest.raises(DataError, match="each of the 2 states"):
        bn.effect("wet", {"rain": "yes"}, values=[1, 2, 3])
    with pytest.raises(DataError, match="bootstrap"):
        found.interval()


def test_strata_that_are_impossible_are_named():
    x, z, y = (bntk.Variable(name, ["a", "b"]) for name in "xzy")
    bn = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(z, [1, 0]), bntk.CPT(x, [0.5, 0.5]), bntk.CPT(y, [[[0.1, 0.9], [0.2, 0.8]]] * 2, [x, z])]
    )
    found = bn.effect("y", {"x": "a"}, by="z")
    assert found.strata == [{"z": "a"}]
    assert "z='b' is impossible" in repr(found)
    with pytest.raises(ImpossibleEvidence, match="z='b'"):
        bn.effect("y", {"x": "a"}, {"z": "b"})


def test_the_controlled_direct_effect_holds_the_mediator():
    bn = drawn_network("x -> m -> y; x -> y", 2)
    found = bn.effect("y", {"x": 1, "m": 0}, versus={"x": 0, "m": 0})
    table = bn.cpt("y").reorder(["x", "m"]).values
    assert found.difference[1] == pytest.approx(table[1, 0, 1] - table[0, 0, 1])


def test_it_shows_itself():
    bn = bntk.datasets.sprinkler()
    found = bn.effect("wet", {"rain": "yes"}, {"cloudy": "no"}, versus={"rain": "no"}, values=[0, 1])
    assert repr(found).splitlines()[0] == "P(wet | do(rain='yes'), cloudy='no'), versus do(rain='no')"
    assert "expected value" in repr(found)
    assert found._repr_html_().count("<table") == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": "Wet", "do": {"rain": "yes"}}, UnknownNameError, "did you mean 'wet'"),
        ({"y": "wet", "do": {"Rain": "yes"}}, UnknownNameError, "did you mean 'rain'"),
        ({"y": "wet", "do": {"rain": "Yes"}}, UnknownNameError, "did you mean 'yes'"),
        ({"y": "wet", "do": {"wet": "yes"}}, DataError, "'wet' is in do and in y"),
        ({"y": "wet", "do": {"rain": "yes"}, "given": {"rain": "no"}}, DataError, "either set or observed"),
        ({"y": "wet", "do": {"rain": "yes"}, "by": "rain"}, DataError, "cannot define strata"),
        ({"y": "wet", "do": {"rain": "yes"}, "given": {"wet": "no"}}, DataError, "'wet' is in y and in given"),
        ({"y": "wet", "do": {"rain": "yes"}, "versus": {"cloudy": "no"}}, DataError, "the same variables as do"),
        ({"y": "wet", "do": {}}, DataError, "do is empty"),
        ({"y": "wet", "do": []}, DataError, "do is empty"),
        ({"y": "wet", "do": 3}, ValueError, "do must be"),
        ({"y": ["wet", "wet"], "do": "rain"}, DataError, "twice"),
        ({"y": "wet", "do": {"rain": "yes"}, "given": ["cloudy"]}, DataError, "given must be a mapping"),
    ],
)
def test_wrong_questions_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        bntk.datasets.sprinkler().effect(**arguments)


def test_too_many_settings_are_refused():
    bn = drawn_network(bntk.DAG([f"x{k}" for k in range(15)]), 0)
    with pytest.raises(TooLargeError, match="16,384 joint states"):
        bn.effect("x14", [f"x{k}" for k in range(14)])


# ---- paths -----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_natural_effects_are_those_of_the_mediation_formula(seed):
    """Pearl 2001: sum over m of P(y | x, m) P(m | x*), here with a common cause c of mediator and outcome."""
    bn = drawn_network("c -> m -> y <- c; x -> m; x -> y; c -> x", seed)
    c = bn.cpt("c").values
    m = bn.cpt("m").reorder(["c", "x"]).values
    y = bn.cpt("y").reorder(["c", "x", "m"]).values
    direct = np.einsum("c,cm,cmy->y", c, m[:, 0], y[:, 1])
    indirect = np.einsum("c,cm,cmy->y", c, m[:, 1], y[:, 0])
    nothing = np.einsum("c,cm,cmy->y", c, m[:, 0], y[:, 0])
    found = bn.path_effect("y", {"x": 1}, {"x": 0}, along="x -> y")
    assert np.allclose(found.p, [[direct, nothing]])
    found = bn.path_effect("y", {"x": 1}, {"x": 0}, through="m")
    assert np.allclose(found.p, [[indirect, nothing]])
    assert np.allclose(found.p, bn.path_effect("y", {"x": 1}, {"x": 0}, along=["x", "m", "y"]).p)
    stratum = bn.path_effect("y", {"x": 1}, {"x": 0}, {"c": 1}, through="m")
    assert np.allclose(stratum.p[0, 0], truncated(bn, "y", {("x", "m"): 1, ("x", "y"): 0}, {"c": 1}))


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_paths_that_begin_alike_are_carried_together(seed):
    bn = drawn_network("x -> a -> y; x -> b -> y; a -> b; x -> y", seed)
    through_a = ["x -> a -> y", "x -> a -> b -> y"]
    found = bn.path_effect("y", {"x": 1}, {"x": 0}, along=through_a)
    assert np.allclose(found.p[0, 0], truncated(bn, "y", {("x", "a"): 1, ("x", "b"): 0, ("x", "y"): 0}))
    assert np.allclose(found.p[0, 1], bn.do({"x": 0}).query("y").values)
    everything = bn.path_effect("y", {"x": 1}, {"x": 0}, along=[*through_a, "x -> b -> y", "x -> y"])
    assert np.allclose(everything.p[0, 0], bn.do({"x": 1}).query("y").values)


def test_a_recanting_witness_is_named():
    bn = drawn_network("x -> a -> y; a -> b -> y; x -> b", 0)
    with pytest.raises(DataError, match="'a' is a recanting witness"):
        bn.path_effect("y", {"x": 1}, {"x": 0}, along="x -> a -> y")
    with pytest.raises(DataError, match="'a' is a recanting witness"):
        bn.path_effect("y", {"x": 1}, {"x": 0}, through="b")
    assert carrying_children(bn.dag, "x", "y", through="a") == {"a"}


def all_paths(dag, x, y):
    if x == y:
        return [(y,)]
    return [(x, *rest) for child in dag.children(x) for rest in all_paths(dag, child, y)]


@given(st.integers(0, 10_000), st.integers(0, 2**12))
@settings(max_examples=60, deadline=None)
def test_sets_of_paths_are_refused_exactly_when_some_child_is_a_witness(seed, chosen):
    rng = np.random.default_rng(seed)
    names = ["x", "a", "b", "c", "y"]
    dag = bntk.DAG(names, [(names[i], names[j]) for i in range(5) for j in range(i + 1, 5) if rng.random() < 0.6])
    paths = all_paths(dag, "x", "y")
    some = [path for k, path in enumerate(paths) if chosen >> k & 1]
    if not some:
        return
    expected = set()
    witness = False
    for child in dag.children("x"):
        mine = [path in some for path in paths if path[1] == child]
        witness |= any(mine) and not all(mine)
        expected |= {child} if mine and all(mine) else set()
    if witness:
        with pytest.raises(DataError, match="recanting witness"):
            carrying_children(dag, "x", "y", along=[" -> ".join(path) for path in some])
    else:
        assert carrying_children(dag, "x", "y", along=[list(path) for path in some]) == expected
    for middle in ("a", "b", "c"):
        through = [path for path in paths if middle in path]
        if through:
            try:
                by_name = carrying_children(dag, "x", "y", through=middle)
            except DataError:
                by_name = None
            try:
                by_paths = carrying_children(dag, "x", "y", along=[list(path) for path in through])
            except DataError:
                by_paths = None
            assert by_name == by_paths


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, DataError, "say which paths"),
        ({"along": "x -> y", "through": "m"}, DataError, "say which paths"),
        ({"along": "x -> z -> y"}, DataError, "needs the arc x -> z"),
        ({"along": "m -> y"}, DataError, "leads from 'x' to 'y'"),
        ({"along": "x -> q -> y"}, GraphError, "q"),
        ({"through": "x"}, DataError, "where all paths begin or end"),
        ({"along": "x -> y", "given": {"m": 1}}, DataError, "a descendant of 'x'"),
        ({"along": "x -> y", "by": "m"}, DataError, "a descendant of 'x'"),
        ({"along": "x -> y", "do": {"x": 1, "z": 1}, "versus": {"x": 0, "z": 1}}, DataError, "one variable"),
    ],
)
def test_wrong_paths_are_refused(arguments, error, message):
    bn = drawn_network("x -> m -> y; x -> y; z -> y", 0)
    with pytest.raises((error, KeyError), match=message):
        bn.path_effect("y", **{"do": {"x": 1}, "versus": {"x": 0}, **arguments})
