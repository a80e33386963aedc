"""Effects from rows: equal to the truth on rows that have the exact shares, with intervals, and with what rows lack."""

import numpy as np
import pandas as pd
import pytest
from causal.drawn import drawn_network
from hypothesis import given, settings
from hypothesis import strategies as st

import bntk
from bntk.causal import adjustment_formula, estimate_effect, estimate_path_effect
from bntk.errors import DataError, TooLargeError, UnknownNameError


def exact_rows(bn, latent=()):
    """All joint states of the observed variables, each with its probability as its weight."""
    names = [name for name in bn.names if name not in latent]
    joint = bn.query(names)
    codes = np.indices(joint.values.shape).reshape(len(names), -1)
    return bntk.Table.from_codes(codes, joint.variables), joint.values.ravel() * 1000


CASES = [
    ("x -> y; z -> x; z -> y", ()),
    ("x -> m -> y; u -> x; u -> y", ("u",)),  # front door
    ("u -> a; u -> y; a -> x -> y", ("u",)),
    ("x -> y; u -> x; u -> m; v -> m; v -> y", ("u", "v")),  # M-bias
    ("w -> z -> x -> y; u -> w; u -> x; v -> w; v -> y", ("u", "v")),  # napkin
    ("x -> m -> y; x -> y; z -> m; z -> x", ()),
]


@pytest.mark.parametrize(("graph", "latent"), CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_on_exact_shares_it_is_the_effect(graph, latent, seed):
    bn = drawn_network(graph, seed)
    rows, weights = exact_rows(bn, latent)
    found = estimate_effect(bn.dag, rows, "y", {"x": 1}, versus={"x": 0}, latent=latent, weights=weights, resamples=0)
    assert np.allclose(found.p, bn.effect("y", {"x": 1}, versus={"x": 0}).p)
    assert not found.empty


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_strata_and_what_is_given(seed):
    bn = drawn_network("z -> x -> y; z -> y; g -> y; g -> x; x -> d", seed, cards=3)
    rows, weights = exact_rows(bn)
    options = {"versus": {"x": 2}, "weights": weights, "resamples": 0}
    found = estimate_effect(bn.dag, rows, "y", {"x": 1}, {"z": 1}, by="g", **options)
    assert np.allclose(found.p, bn.effect("y", {"x": 1}, {"z": 1}, versus={"x": 2}, by="g").p)
    late = estimate_effect(bn.dag, rows, "y", {"x": 1}, {"d": 1}, **options)  # observed after x was set
    assert np.allclose(late.p, bn.effect("y", {"x": 1}, {"d": 1}, versus={"x": 2}).p)
    both = estimate_effect(bn.dag, rows, ["y", "d"], "x", weights=weights, resamples=0)
    assert np.allclose(both.p, bn.effect(["y", "d"], "x").p)


def test_the_set_may_be_chosen_and_is_checked():
    bn = drawn_network("a -> z -> x -> y; a -> y; x -> m -> y", 3)
    rows, weights = exact_rows(bn)
    for adjust in ("a", ["z"], ["a", "z"]):
        found = estimate_effect(bn.dag, rows, "y", {"x": 1}, adjust=adjust, weights=weights, resamples=0)
        assert np.allclose(found.p, bn.effect("y", {"x": 1}).p)
    for adjust, reason in (((), "is open"), ("m", "forbidden")):
        with pytest.raises(DataError, match=reason):
            estimate_effect(bn.dag, rows, "y", {"x": 1}, adjust=adjust)
    with pytest.raises(DataError, match="descendant of 'x'"):
        estimate_effect(bn.dag, rows, "y", {"x": 1}, {"m": 1}, adjust="a")


def test_an_equivalence_class_is_adjusted_by_what_is_valid_in_all_its_dags():
    bn = drawn_network("a -> x <- b; x -> y; a -> y", 4)
    rows, weights = exact_rows(bn)
    found = estimate_effect(bn.dag.cpdag(), rows, "y", {"x": 1}, weights=weights, resamples=0)
    assert np.allclose(found.p, bn.effect("y", {"x": 1}).p)
    with pytest.raises(DataError, match="possible_effects"):
        estimate_effect(bntk.DAG.parse("x -> y").cpdag(), rows, "y", {"x": 1})


def test_what_is_not_identified_names_the_hedge():
    with pytest.raises(DataError, match="cannot be had"):
        estimate_effect("x -> y; u -> x; u -> y", {"x": [0, 1], "y": [0, 1]}, "y", {"x": 1}, latent="u")


def test_intervals_cover_the_truth_as_often_as_they_say():
    bn = drawn_network("z -> x -> y; z -> y", 11)
    truth = bn.effect("y", {"x": 1}, versus={"x": 0}).average
    covered = 0
    for seed in range(60):
        found = estimate_effect(
            bn.dag, bn.sample(400, seed=seed), "y", {"x": 1}, versus={"x": 0}, resamples=100, level=0.9
        )
        low, high = found.interval()
        covered += low <= truth <= high
    assert 46 <= covered <= 60  # 54 are expected; fewer than 46 have a probability below 0.001


def test_samples_depend_on_the_seed_alone():
    rows = drawn_network("z -> x -> y; z -> y", 5).sample(300, seed=0)
    one, same, other = (
        estimate_effect("z -> x -> y; z -> y", rows, "y", {"x": 1}, resamples=20, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.draws, same.draws)
    assert not np.array_equal(one.draws, other.draws)
    assert np.array_equal(
        one.draws[:5], estimate_effect("z -> x -> y; z -> y", rows, "y", {"x": 1}, resamples=5, seed=1).draws
    )


def test_weights_are_repetitions():
    rows = drawn_network("z -> x -> y; z -> y", 6).sample(100, seed=0)
    weights = np.random.default_rng(0).integers(0, 3, 100)
    weighted = estimate_effect("z -> x -> y; z -> y", rows, "y", "x", weights=weights, resamples=0)
    repeated = estimate_effect("z -> x -> y; z -> y", rows.take(np.repeat(range(100), weights)), "y", "x", resamples=0)
    assert np.allclose(weighted.p, repeated.p)


# ---- what rows lack --------------------------------------------------------------------------------------------------

ROWS = {
    "z": ["mild", "mild", "mild", "severe", "severe", "severe", "mild"],
    "x": ["no", "yes", "yes", "yes", "yes", "yes", "no"],
    "y": [0, 1, 0, 1, 1, 0, 1],
}


def test_a_stratum_without_rows_is_said_and_its_effect_is_not_made_up():
    found = estimate_effect("z -> x -> y; z -> y", ROWS, "y", {"x": "yes"}, versus={"x": "no"}, resamples=10)
    assert np.isnan(found.average)
    assert found.mean == pytest.approx(4 / 7 * 1 / 2 + 3 / 7 * 2 / 3)
    (lack,) = found.empty
    assert lack.states == {"x": "no", "z": "severe"}
    assert lack.rows == 3
    assert "no row has x='no', z='severe'" in repr(found)
    assert "rows are lacking" in repr(found)


def test_strata_without_rows_may_be_dropped():
    found = estimate_effect(
        "z -> x -> y; z -> y", ROWS, "y", {"x": "yes"}, versus={"x": "no"}, empty="drop", resamples=10
    )
    mild = estimate_effect(
        "z -> x -> y; z -> y", ROWS, "y", {"x": "yes"}, {"z": "mild"}, versus={"x": "no"}, resamples=0
    )
    assert found.average == pytest.approx(mild.average)
    assert [lack.rows for lack in found.empty] == [3]
    assert "left out" in repr(found)


def test_by_stratum_only_the_one_without_rows_is_undefined():
    found = estimate_effect("z -> x -> y; z -> y", ROWS, "y", {"x": "yes"}, versus={"x": "no"}, by="z", resamples=0)
    means = found.means().set_index(["z", "x"])["difference"]
    assert not np.isnan(means["mild", "yes"])
    assert np.isnan(means["severe", "yes"])
    assert len(found.empty) == 1


def test_a_combination_that_does_not_matter_is_not_reported():
    rows = {"z": [0, 0, 1, 1], "w": [0, 0, 1, 1], "x": [0, 1, 0, 1], "y": [0, 1, 1, 1]}
    found = estimate_effect("z -> x; w -> x; z -> y; w -> y; x -> y", rows, "y", {"x": 1}, versus={"x": 0}, resamples=0)
    assert not found.empty  # z and w are never different, so that nothing is needed of such rows
    assert not np.isnan(found.p).any()


def test_an_empty_combination_of_another_formula_is_named():
    rows = pd.DataFrame({"x": [0, 0, 1, 1], "m": [0, 0, 1, 1], "y": [0, 1, 1, 0]})
    found = estimate_effect("x -> m -> y; u -> x; u -> y", rows, "y", {"x": 1}, latent="u", resamples=0)
    assert np.isnan(found.p).all()
    assert {"x": 0, "m": 1} in [lack.states for lack in found.empty]
    with pytest.raises(DataError, match="another formula"):
        estimate_effect("x -> m -> y; u -> x; u -> y", rows, "y", {"x": 1}, latent="u", empty="drop")


def test_incomplete_rows_are_left_out_and_counted():
    rows = {"z": [0, None, 1, 1, 0, 0], "x": [0, 1, 0, 1, 1, 0], "y": [0, 1, 1, 1, None, 1]}
    found = estimate_effect("z -> x -> y; z -> y", rows, "y", {"x": 0}, resamples=0)
    assert "2 rows with missing values were left out" in repr(found)
    complete = {name: [column[k] for k in (0, 2, 3, 5)] for name, column in rows.items()}
    assert np.allclose(found.p, estimate_effect("z -> x -> y; z -> y", complete, "y", {"x": 0}, resamples=0).p)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"data": {"x": [0, 1], "y": [0, 1]}}, DataError, "no column 'z'.*latent="),
        ({"y": "Y"}, UnknownNameError, "did you mean 'y'"),
        ({"do": {"x": 5}}, UnknownNameError, "5"),
        ({"latent": "q"}, UnknownNameError, "no node 'q'"),
        ({"level": 1.5}, ValueError, "level must be a number between 0 and 1"),
        ({"resamples": -1}, ValueError, "resamples"),
        ({"empty": "ignore"}, ValueError, "empty must be 'leave' or 'drop'"),
        ({"do": {"z": 0}, "latent": "z"}, UnknownNameError, "'z'"),
        ({"weights": [0] * 4}, DataError, "weight 0"),
    ],
)
def test_wrong_arguments_are_refused(options, error, message):
    given = {"data": {"z": [0, 0, 1, 1], "x": [0, 1, 0, 1], "y": [0, 1, 1, 1]}, "y": "y", "do": {"x": 1}, **options}
    with pytest.raises(error, match=message):
        estimate_effect("z -> x -> y; z -> y", **given)


def test_large_formulas_are_refused_before_they_are_evaluated():
    rng = np.random.default_rng(0)
    names = [f"z{k}" for k in range(8)]
    dag = bntk.DAG([*names, "x", "y"], [(z, end) for z in names for end in "xy"] + [("x", "y")])
    data = {name: rng.integers(10, size=50) for name in dag.nodes}
    with pytest.raises(TooLargeError, match="adjust for fewer variables"):
        estimate_effect(dag, data, "y", {"x": 1}, numeric="category")


def test_the_formula_of_adjustment():
    assert str(adjustment_formula(["y"], ["x"])) == "P(y | do(x)) = P(y | x)"
    assert str(adjustment_formula(["y"], ["x"], ["z"], ["g"])) == "P(y | do(x), g) = sum_{z} P(y | x, z, g) P(z | g)"


# ---- along paths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"along": "x -> y"}, {"through": "m"}, {"along": "x -> y", "by": "z"}])
def test_path_effects_on_exact_shares(options):
    bn = drawn_network("z -> x -> m -> y; x -> y; z -> y; z -> m", 8)
    rows, weights = exact_rows(bn)
    found = estimate_path_effect(bn.dag, rows, "y", {"x": 1}, {"x": 0}, weights=weights, resamples=0, **options)
    assert np.allclose(found.p, bn.path_effect("y", {"x": 1}, {"x": 0}, **options).p)


def test_path_effects_have_intervals_and_say_what_rows_lack():
    found = estimate_path_effect(
        "z -> x -> y; z -> y", ROWS, "y", {"z": "severe"}, {"z": "mild"}, along="z -> y", resamples=20
    )
    low, high = found.interval()
    assert low <= found.average <= high
    assert "P(y | ...) is taken to be uniform there" in repr(found)


@given(st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_whatever_is_estimated_on_exact_shares_is_the_effect(seed):
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(list("xyabcd"))]
    arcs = [(u, v) for k, u in enumerate(names) for v in names[k + 1 :] if rng.random() < 0.45]
    bn = drawn_network("; ".join([*names, *(f"{u} -> {v}" for u, v in arcs)]), seed)
    roles = dict(zip("abcd", rng.choice(["latent", "given", "by", "", ""], size=4), strict=True))
    latent, seen, by = ([name for name, role in roles.items() if role == part] for part in ("latent", "given", "by"))
    rows, weights = exact_rows(bn, latent)
    seen = {name: int(rng.integers(2)) for name in seen}
    try:
        found = estimate_effect(
            bn.dag, rows, "y", {"x": 1}, seen, versus={"x": 0}, by=by, latent=latent, weights=weights, resamples=0
        )
    except DataError as error:
        if "cannot be had" not in str(error):
            raise
        return
    assert np.allclose(found.p, bn.effect("y", {"x": 1}, seen, versus={"x": 0}, by=by).p)
