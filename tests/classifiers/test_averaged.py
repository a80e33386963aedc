"""AODE and A2DE: equal to bnclassify, to enumeration over their member networks, and to plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import declared, oracle_json, oracle_table, read_json, shared
from sklearn.base import clone

import bntk
from bntk.classifiers import averaged
from bntk.classifiers.averaged import A2DE, AODE
from bntk.errors import DataError, TooLargeError, UnknownNameError
from bntk.learning.priors import Backoff, BDeu, Dirichlet

KINDS = {AODE: 1, A2DE: 2}


def features_and_class(table, target="class"):
    frame = table.to_pandas()  # its columns are categorical, so that states without rows are declared
    return frame.drop(columns=target), frame[target].to_numpy(dtype=str)


def in_order(model, X, classes):
    """The posteriors with the classes in the given order."""
    return model.predict_proba(X)[:, [list(model.classes_).index(c) for c in classes]]


def random_rows(seed, n_rows=60, cards=(2, 3, 2, 4), n_classes=3, missing=0.0):
    """A table of features that depend on the class and on each other, and labels; all states and classes occur."""
    g = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), g.integers(0, n_classes, n_rows - n_classes)])
    codes = np.empty((len(cards), n_rows), dtype=np.uint8)
    last = y
    for j, r in enumerate(cards):
        noise = g.integers(0, r, n_rows)
        codes[j] = np.where(g.random(n_rows) < 0.5, (last + y) % r, noise)
        last = codes[j]
    codes = np.where(g.random(codes.shape) < missing, np.array(cards)[:, None], codes).astype(np.uint8)
    for j, r in enumerate(cards):
        codes[j, :r] = np.arange(r)
    return bntk.Table.from_codes(codes, [bntk.Variable(f"x{j}", range(r)) for j, r in enumerate(cards)]), y


def member_joint(network, row):
    """P(class, observed features) of a network by enumeration of the missing ones."""
    *features, target = network.variables
    holes = [j for j, v in enumerate(features) if row[j] == v.n_states]
    joint = np.zeros(target.n_states)
    for filling in product(*(range(features[j].n_states) for j in holes)):
        full = list(row)
        for j, x in zip(holes, filling, strict=True):
            full[j] = x
        for c in range(target.n_states):
            states = {v.name: code for v, code in zip(network.variables, [*full, c], strict=True)}
            p = 1.0
            for cpt in network.cpts:
                p *= cpt.values[tuple(states[v.name] for v in cpt.family)]
            joint[c] += p
    return joint


def plain_posteriors(model, X, train):
    """What the docstrings say, from the member networks alone; ``train`` holds the rows they were fitted with."""
    n = KINDS[type(model)]
    naive = bntk.NaiveBayes(prior=model.prior, class_prior=model.class_prior).fit(*train).network_
    levels = [
        [(chosen, [X.names.index(name) for name in chosen]) for chosen in combinations(X.names, order)]
        for order in range(n, 0, -1)
    ]
    lower = AODE(m=model.m, prior=model.prior, class_prior=model.class_prior).fit(*train)
    found = []
    for row in X.codes.T:
        joints = []
        for order, members in zip(range(n, 0, -1), levels, strict=True):
            source = model if order == n else lower
            for names, at in members:
                values = train[0].codes[at]
                if model.m == 0 or (
                    all(row[v] < X.cards[v] for v in at) and (values == row[at][:, None]).all(axis=0).sum() >= model.m
                ):
                    joints.append(member_joint(source.member(*names), row))
            if joints:
                break
        joint = np.mean(joints, axis=0) if joints else member_joint(naive, row)
        found.append(joint)
    return np.array(found)


# ---- outside references ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smooth", ["0.5", "1"])
@pytest.mark.parametrize("name", ["mixed", "mixed_missing", "binary", "sparse"])
def test_posteriors_equal_those_of_bnclassify(name, smooth):
    X, y = features_and_class(oracle_table(name))
    expected = oracle_json(f"{name}_aode")[f"smooth{smooth}"]
    model = AODE(m=0, prior=float(smooth)).fit(X, y)
    assert np.allclose(in_order(model, X, expected["classes"]), expected["posteriors"], rtol=1e-9, atol=0)


@pytest.mark.parametrize("smooth", ["0.5", "1"])
def test_posteriors_of_rows_with_states_never_seen_together_equal_those_of_bnclassify(smooth):
    X, y = features_and_class(oracle_table("sparse"))
    new, _ = features_and_class(oracle_table("sparse_new"))
    expected = oracle_json("sparse_models_on_new_rows")[f"aode__smooth{smooth}"]
    model = AODE(m=0, prior=float(smooth)).fit(X, y)
    assert np.allclose(in_order(model, new, expected["classes"]), expected["posteriors"], rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["car", "voting", "voting_complete"])
def test_posteriors_on_uci_data_equal_those_of_bnclassify(name):
    folder = shared("oracle/bnclassify")
    table = bntk.read_table(folder / f"{name}.csv", variables=declared(folder / f"{name}.levels.json"), unseen="error")
    target = "class" if "class" in table.names else "Class"
    X, y = features_and_class(table, target)
    reference = read_json(folder / f"{name}_aode.json")
    for smooth in ("0.5", "1"):
        expected = reference[f"predict_first50_smooth{smooth}"]
        got = in_order(AODE(m=0, prior=float(smooth)).fit(X, y), X.iloc[:50], expected["classes"])
        assert np.allclose(got, expected["p"], rtol=1e-9, atol=0)


def test_members_are_the_spodes_of_bnclassify():
    X, y = features_and_class(oracle_table("mixed"))
    model = AODE().fit(X, y)
    reference = oracle_json("mixed_aode")
    assert [name for (name,) in model.superparents_] == reference["superparents"]
    for name in reference["superparents"]:
        assert set(model.member(name).dag.arcs) == {tuple(arc) for arc in reference["spodes"][name]["arcs"]}


# ---- brute force -----------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([AODE, A2DE]),
    m=st.sampled_from([0, 1, 4, 9, 1000]),
    missing=st.sampled_from([0.0, 0.25]),
    prior=st.sampled_from([1.0, 0.3, BDeu(5.0), Dirichlet({"x1": [0.5, 1.0, 2.0]}), Backoff(rows=3.0)]),
)
def test_joint_probabilities_equal_enumeration_over_the_members(seed, kind, m, missing, prior):
    train = random_rows(seed, n_rows=40, missing=missing)
    X, _ = random_rows(seed + 1, n_rows=12, missing=missing)
    model = kind(m=m, prior=prior).fit(*train)
    expected = plain_posteriors(model, X, train)
    assert np.allclose(np.exp(model.log_joint(X)), expected, rtol=1e-10, atol=0)
    assert np.allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-10, atol=0)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_member_of_aode_is_the_network_fitted_to_its_structure(missing):
    X, y = random_rows(3, missing=missing)
    model = AODE(prior=0.7).fit(X, y)
    member = model.member("x2")
    rows = X.to_pandas().assign(**{"class": y})
    fitted = bntk.fit(member.dag, rows, 0.7, variables=member.variables, missing="available")
    for ours, theirs in zip(member.cpts, fitted.cpts, strict=True):
        assert ours.family == theirs.family
        assert np.allclose(ours.values, theirs.values, rtol=1e-14, atol=0)
        assert np.array_equal(ours.counts, theirs.counts)


def test_a_member_of_a2de_has_the_smoothed_frequencies_of_pairs_and_triples():
    X, y = random_rows(5)
    a, b, c, _ = X.codes
    member = A2DE(prior=0.5).fit(X, y).member("x2", "x0")
    both = member.cpt("x0").values[:, :, None] * member.cpt("x2").values.swapaxes(0, 1)  # (class, x0, x2)
    for k, s, t in product(range(3), range(2), range(2)):
        here = (y == k) & (a == s) & (c == t)
        assert both[k, s, t] == pytest.approx((here.sum() + 0.5) / ((y == k).sum() + 4 * 0.5))
        for x in range(3):
            expected = ((here & (b == x)).sum() + 0.5) / (here.sum() + 3 * 0.5)
            assert member.cpt("x1").values[s, t, k, x] == pytest.approx(expected)


def test_tables_may_be_shrunk_towards_those_given_the_class():
    X, y = random_rows(9)
    a, b = X.codes[:2]
    values = AODE(prior=Backoff(rows=3.0, alpha=0.5)).fit(X, y).member("x0").cpt("x1").values
    for s, k, x in product(range(2), range(3), range(3)):
        simple = (((y == k) & (b == x)).sum() + 0.5) / ((y == k).sum() + 3 * 0.5)
        here = (y == k) & (a == s)
        assert values[s, k, x] == pytest.approx(((here & (b == x)).sum() + 3 * simple) / (here.sum() + 3))


def test_the_posterior_without_smoothing_ignores_members_that_exclude_the_row():
    X, y = random_rows(7, n_rows=80)
    for kind in KINDS:
        model = kind(prior="mle").fit(X, y)
        expected = plain_posteriors(model, X, (X, y))
        assert np.allclose(np.exp(model.log_joint(X)), expected, rtol=1e-10, atol=0)


# ---- who takes part --------------------------------------------------------------------------------------------------


def test_rows_without_a_member_that_was_seen_often_enough_get_naive_bayes():
    X, y = random_rows(11, n_rows=50)
    naive = bntk.NaiveBayes().fit(X, y)
    for kind in KINDS:
        assert np.allclose(kind(m=51).fit(X, y).log_joint(X), naive.log_joint(X), rtol=1e-12)


def test_with_a_threshold_members_with_a_missing_superparent_do_not_take_part():
    X, y = random_rows(13)
    codes = X.codes.copy()[:, :1]
    codes[1:] = X.cards[1:, None]
    row = bntk.Table.from_codes(codes, X.variables)
    model = AODE(m=1).fit(X, y)
    assert np.allclose(np.exp(model.log_joint(row))[0], member_joint(model.member("x0"), codes[:, 0]), rtol=1e-12)


def test_a_row_with_every_cell_missing_gets_the_class_prior():
    X, y = random_rows(17)
    empty = bntk.Table.from_codes(np.array(X.cards, dtype=np.uint8)[:, None], X.variables)
    for kind, m in product(KINDS, (0, 1, 30)):
        model = kind(m=m, class_prior=[0.2, 0.5, 0.3]).fit(X, y)
        assert np.allclose(model.predict_proba(empty), [[0.2, 0.5, 0.3]], rtol=1e-12)
        assert np.allclose(np.exp(model.log_joint(empty)), [[0.2, 0.5, 0.3]], rtol=1e-12)


def test_members_are_weighted_by_mutual_information():
    X, y = random_rows(19, n_rows=200)
    model = AODE(m=0, weights="mi").fit(X, y)
    for j, weight in enumerate(model.weights_):
        joint = np.array([[np.mean((y == c) & (X.codes[j] == x)) for x in range(X.cards[j])] for c in range(3)])
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        assert weight == pytest.approx(sum(p * math.log(p / q) for p, q in zip(joint.flat, apart.flat) if p > 0))
    rows = X.take(slice(0, 10))
    members = [model.member(*names) for names in model.superparents_]
    expected = [np.average([member_joint(b, r) for b in members], axis=0, weights=model.weights_) for r in rows.codes.T]
    assert np.allclose(np.exp(model.log_joint(rows)), expected, rtol=1e-10, atol=0)


def test_a_feature_that_says_nothing_has_no_weight():
    X = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"]}
    y = [0, 0, 1, 1]
    model = AODE(weights="mi").fit(X, y)
    assert np.allclose(model.weights_, [0.0, math.log(2)], atol=1e-15)
    only = model.member("b")
    row = [0, 1]
    joint = member_joint(only, row)
    assert np.allclose(model.predict_proba({"a": ["x"], "b": ["v"]})[0], joint / joint.sum(), rtol=1e-12)


@pytest.mark.parametrize("n_features", [1, 2])
def test_few_features_are_enough(n_features):
    X, y = random_rows(23, cards=(3, 2)[:n_features])
    for kind, m in product(KINDS, (0, 1)):
        model = kind(m=m).fit(X, y)
        assert np.allclose(np.exp(model.log_joint(X)), plain_posteriors(model, X, (X, y)), rtol=1e-10, atol=0)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_four_hundred_features_of_ten_values_do_not_underflow():
    """The joints are near 10^-400; the posterior is compared with one computed in whole numbers."""
    g = np.random.default_rng(29)
    n, r, n_rows = 400, 10, 300
    y = g.integers(0, 2, n_rows)
    codes = np.where(g.random((n, n_rows)) < 0.05, y * 3, g.integers(0, r, (n, n_rows))).astype(np.uint8)
    X = bntk.Table.from_codes(codes, [bntk.Variable(f"x{j}", range(r)) for j in range(n)])
    model = AODE(m=0).fit(X, y)
    new = g.integers(0, r, n)
    equal = codes == new[:, None]
    joint = []
    for c in range(2):
        inside = y == c
        total = Fraction(0)
        single = (equal & inside).sum(axis=1)
        together = (equal & inside).astype(np.int64) @ equal.T.astype(np.int64)
        for i in range(n):
            top, bottom = int(single[i]) + 1, int(inside.sum()) + r
            for j in range(n):
                if j != i:
                    top *= int(together[i, j]) + 1
                    bottom *= int(single[i]) + r
            total += Fraction(top, bottom)
        joint.append(total * Fraction(int(inside.sum()) + 1, n_rows + 2) / n)
    row = bntk.Table.from_codes(new.astype(np.uint8)[:, None], X.variables)
    exact = [float(p / sum(joint)) for p in joint]
    assert np.allclose(model.predict_proba(row)[0], exact, rtol=1e-9, atol=0)
    logs = [math.log(p.numerator) - math.log(p.denominator) for p in joint]
    assert max(logs) < -800  # no number of the machine
    assert np.allclose(model.log_joint(row)[0], logs, rtol=1e-12)


def test_classes_that_are_alike_tie_and_the_first_is_chosen():
    X = {"a": ["x", "y"] * 4, "b": ["u", "u", "v", "v"] * 2}
    y = ["q"] * 4 + ["p"] * 4
    for kind in KINDS:
        model = kind().fit(X, y)
        first, second = model.predict_proba(X).T
        assert np.array_equal(first, second)
        assert set(model.predict(X)) == {"p"}


def test_an_impossible_row_gets_equal_probabilities():
    model = AODE(prior="mle").fit({"a": ["x", "y"], "b": ["u", "v"]}, [0, 1])
    assert np.array_equal(model.predict_proba({"a": ["x"], "b": ["v"]}), [[0.5, 0.5]])


# ---- invariances -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [0, 3])
def test_rows_in_parts_are_as_good_as_all_rows_at_once(kind, m):
    X, y = random_rows(31, n_rows=120, missing=0.1)
    whole = kind(m=m, class_prior="uniform").fit(X, y)
    parts = kind(m=m, class_prior="uniform")
    for begin in range(0, 120, 40):
        parts.partial_fit(X.take(slice(begin, begin + 40)), y[begin : begin + 40], classes=[0, 1, 2])
    assert np.array_equal(parts.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_is_a_number_of_repetitions(kind):
    X, y = random_rows(37, missing=0.1)
    times = np.arange(60) % 3 + 1
    repeated = np.repeat(np.arange(60), times)
    weighted = kind(m=5).fit(X, y, sample_weight=times)
    again = kind(m=5).fit(X.take(repeated), y[repeated])
    assert np.allclose(weighted.predict_proba(X), again.predict_proba(X), rtol=1e-12, atol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [0, 2])
def test_the_order_of_columns_does_not_matter(kind, m):
    X, y = random_rows(41, n_rows=90, cards=(2, 3, 2, 4, 5), missing=0.1)
    turned = X.select(X.names[::-1])
    expected = kind(m=m).fit(X, y).predict_proba(X)
    assert np.allclose(kind(m=m).fit(turned, y).predict_proba(turned), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_threads_nor_the_other_rows_matter(kind, monkeypatch):
    X, y = random_rows(43, n_rows=700, missing=0.05)
    monkeypatch.setattr(averaged, "ROWS", 64)  # so that there are several pieces
    one = kind(m=2, n_jobs=1).fit(X, y).predict_proba(X)
    assert np.array_equal(kind(m=2, n_jobs=3).fit(X, y).predict_proba(X), one)
    model = kind(m=2).fit(X, y)
    alone = np.concatenate([model.predict_proba(X.take([row])) for row in range(30)])
    assert np.allclose(alone, one[:30], rtol=1e-12, atol=0)


def test_features_with_hundreds_of_states_have_look_up_tables_of_their_own():
    g = np.random.default_rng(47)
    X = {"many": g.integers(0, 300, 2000).astype(str), "few": g.integers(0, 2, 2000).astype(str)}
    y = (g.random(2000) < 0.5).astype(int)
    model = AODE(m=0).fit(X, y)
    rows = {name: column[:3] for name, column in X.items()}
    codes = model.features_.read(rows).table.codes
    expected = [np.mean([member_joint(model.member(name), row) for name in X], axis=0) for row in codes.T]
    assert np.allclose(np.exp(model.log_joint(X))[:3], expected, rtol=1e-10, atol=0)


# ---- refusals, and the estimator -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_tables_that_are_too_large_are_refused_before_they_are_made(kind):
    X, y = random_rows(53)
    with pytest.raises(TooLargeError, match=rf"{kind.__name__} for 4 features with 11 states .* max_entries = 100"):
        kind(max_entries=100).fit(X, y)


def test_unknown_options_are_refused():
    X, y = random_rows(53)
    with pytest.raises(ValueError, match="weights='gain' is not known"):
        AODE(weights="gain").fit(X, y)
    with pytest.raises(ValueError, match="m=-1 must be a number of rows"):
        AODE(m=-1).fit(X, y)
    with pytest.raises(ValueError, match="class_prior must be 3 probabilities"):
        AODE(class_prior=[0.5, 0.5]).fit(X, y)
    with pytest.raises(UnknownNameError, match="no variable 'z'"):
        AODE().fit(X, y).member("z")
    with pytest.raises(DataError, match="two different features"):
        A2DE().fit(X, y).member("x0", "x0")


def test_parameters_survive_cloning():
    model = clone(A2DE(m=7, weights="mi", prior=0.5))
    assert (model.m, model.weights, model.prior) == (7, "mi", 0.5)
