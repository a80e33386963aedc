"""AODE and A2DE: equal to bnclassify, to enumeration over their member networks, and to plain Python."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from cases import examples
from hypothesis import assume, given, settings
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


# ---- plain Python: dicts and loops, for both counts ------------------------------------------------------------------


def tally(rows, labels, sample_weight, of):
    """How often each combination of the values of some features occurs in each class, where all are observed."""
    counts = {}
    for row, c, w in zip(rows, labels, sample_weight, strict=True):
        values = tuple(row[j] for j in of)
        if None not in values:
            counts[values, c] = counts.get((values, c), 0.0) + w
    return counts


def information(counts):
    """Mutual information of the values and the class, in nats, from a tally."""
    total = sum(counts.values())
    by_values, by_class = {}, {}
    for (values, c), n in counts.items():
        by_values[values] = by_values.get(values, 0.0) + n
        by_class[c] = by_class.get(c, 0.0) + n
    return sum(n / total * math.log(n * total / by_values[v] / by_class[c]) for (v, c), n in counts.items() if n)


def plain_joint(row, c, order, options, rows, labels, sample_weight, cards, n_classes):
    """P(c, row) as the docstrings of AODE (order 1) and A2DE (order 2) say; naive Bayes has the order 0."""
    alpha, m, count, weights = options
    n, counted = len(cards), tally(rows, labels, sample_weight, ())
    p_class = (counted.get(((), c), 0.0) + alpha) / (sum(counted.values()) + n_classes * alpha)
    total = taking_part = 0.0
    for parents in combinations(range(n), order):
        together = tally(rows, labels, sample_weight, parents)
        weight = information(together) if weights == "mi" and order else 1.0
        seen = tuple(row[j] for j in parents)
        per_class = [together.get((seen, k), 0.0) for k in range(n_classes)]
        if None in seen:
            takes_part = m == 0
        else:
            takes_part = order == 0 or (per_class[c] > m if count == "class" else sum(per_class) >= m)
        if not takes_part or weight <= 0:
            continue
        size = math.prod(cards[j] for j in parents)
        n_here = sum(x for (_, k), x in together.items() if k == c)
        for values in product(*(range(cards[j]) for j in parents)):
            if any(known is not None and known != x for known, x in zip(seen, values, strict=True)):
                continue
            p = p_class * (together.get((values, c), 0.0) + alpha) / (n_here + size * alpha) if order else p_class
            for j in (j for j in range(n) if j not in parents and row[j] is not None):
                triple = tally(rows, labels, sample_weight, (*parents, j))
                line = [triple.get(((*values, x), c), 0.0) for x in range(cards[j])]
                p *= (line[row[j]] + alpha) / (sum(line) + cards[j] * alpha)
            total += weight * p
        taking_part += weight
    if taking_part == 0:
        return plain_joint(row, c, order - 1, options, rows, labels, sample_weight, cards, n_classes)
    return total / taking_part


def table_of(rows, cards):
    codes = [[r if row[j] is None else row[j] for row in rows] for j, r in enumerate(cards)]
    variables = [bntk.Variable(f"x{j}", range(r)) for j, r in enumerate(cards)]
    return bntk.Table.from_codes(np.array(codes, dtype=np.uint8).reshape(len(cards), len(rows)), variables)


@st.composite
def small_data(draw, n_classes=2):
    cards = draw(st.lists(st.integers(2, 3), min_size=1, max_size=4))
    row = st.tuples(*(st.one_of(st.none(), st.integers(0, r - 1)) for r in cards))
    rows = draw(st.lists(row, min_size=n_classes, max_size=14))
    labels = [*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), min_size=12, max_size=12))][: len(rows)]
    times = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(rows), max_size=len(rows)))
    return cards, rows, labels, times, draw(st.lists(row, min_size=1, max_size=3))


@settings(max_examples=examples(40, 120), deadline=None)
@given(
    data=small_data(),
    kind=st.sampled_from([AODE, A2DE]),
    m=st.sampled_from([0, 1, 2.5]),
    count=st.sampled_from(["state", "class"]),
    weights=st.sampled_from([None, "mi"]),
    alpha=st.sampled_from([0.5, 1.0]),
)
def test_joint_probabilities_equal_dicts_and_loops_for_both_counts(data, kind, m, count, weights, alpha):
    cards, rows, labels, times, new = data
    model = kind(m=m, count=count, weights=weights, prior=alpha).fit(table_of(rows, cards), labels, sample_weight=times)
    options = (alpha, m, count, weights)
    times = [each * max(1.0, len(times) / sum(times)) for each in times]  # small weights are scaled up
    if weights == "mi":  # a weight that is zero but for rounding may go either way
        each = [information(tally(rows, labels, times, p)) for k in (1, 2) for p in combinations(range(len(cards)), k)]
        assume(all(value > 1e-9 for value in each))
    expected = [
        [plain_joint(row, c, KINDS[kind], options, rows, labels, times, cards, 2) for c in (0, 1)] for row in new
    ]
    assert np.allclose(np.exp(model.log_joint(table_of(new, cards))), expected, rtol=1e-9, atol=0)


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


def test_the_threshold_of_each_class_is_exceeded_not_reached():
    X = {"a": ["x", "x", "x", "y", "y"], "b": ["u", "v", "u", "v", "v"]}
    y = [0, 0, 1, 1, 1]
    row = {"a": ["x"], "b": ["v"]}  # class 0: x twice, v once; class 1: x once, v twice
    naive = np.exp(bntk.NaiveBayes().fit(X, y).log_joint(row))[0]
    for m, superparents in ((1, ("a", "b")), (2, (None, None))):
        model = AODE(m=m, count="class").fit(X, y)
        expected = [
            naive[c] if name is None else member_joint(model.member(name), [0, 1])[c]
            for c, name in enumerate(superparents)
        ]
        assert np.allclose(np.exp(model.log_joint(row))[0], expected, rtol=1e-12, atol=0)


def test_by_default_rows_of_all_classes_are_counted():
    X, y = random_rows(59, missing=0.1)
    for kind, m in product(KINDS, (0, 3)):
        assert np.array_equal(kind(m=m).fit(X, y).log_joint(X), kind(m=m, count="state").fit(X, y).log_joint(X))
    assert not np.allclose(AODE(m=3).fit(X, y).log_joint(X), AODE(m=3, count="class").fit(X, y).log_joint(X))


def test_a_classifier_that_counts_in_each_class_is_saved_and_explained(tmp_path):
    X, y = random_rows(61, missing=0.1)
    model = AODE(m=4, count="class", weights="mi").fit(X, y)
    model.save(tmp_path / "aode.json")
    again = bntk.load(tmp_path / "aode.json")
    assert again.count == "class"
    assert np.array_equal(again.log_joint(X), model.log_joint(X))
    first, second = np.sort(model.log_joint(X.take([5]))[0])[:-3:-1]
    assert model.explain(X.take([5]))["log_odds"].sum() == pytest.approx(first - second)


def test_a_row_with_every_cell_missing_gets_the_class_prior():
    X, y = random_rows(17)
    empty = bntk.Table.from_codes(np.array(X.cards, dtype=np.uint8)[:, None], X.variables)
    for kind, m, count in product(KINDS, (0, 1, 30), ("state", "class")):
        model = kind(m=m, count=count, class_prior=[0.2, 0.5, 0.3]).fit(X, y)
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
    model = AODE(prior=1, m=0).fit(X, y)
    new = g.integers(0, r, n)
    equal = codes == new[:, None]
    joint = []
    for c in range(2):
        inside = y == c
        single = (equal & inside).sum(axis=1)
        together = (equal & inside).astype(np.int64) @ equal.T.astype(np.int64)
        np.fill_diagonal(together, 0)  # so that a feature counts as one in the product over the others
        tops: Counter[int] = Counter()  # numerators, by the count that the denominator depends on
        for count, others in zip(single.tolist(), (together + 1).tolist(), strict=True):
            tops[count] += (count + 1) * math.prod(others)
        members = int(inside.sum()) + r
        total = sum(Fraction(top, members * (count + r) ** (n - 1)) for count, top in tops.items())
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
@pytest.mark.parametrize("count", ["state", "class"])
def test_rows_in_parts_are_as_good_as_all_rows_at_once(kind, m, count):
    X, y = random_rows(31, n_rows=120, missing=0.1)
    whole = kind(m=m, count=count, class_prior="uniform").fit(X, y)
    parts = kind(m=m, count=count, class_prior="uniform")
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
    with pytest.raises(ValueError, match="weights must be None or 'mi', not 'gain'"):
        AODE(weights="gain").fit(X, y)
    with pytest.raises(ValueError, match="count must be 'state' or 'class', not 'row'"):
        AODE(count="row").fit(X, y)
    with pytest.raises(ValueError, match="m must be a number from 0, not -1"):
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
