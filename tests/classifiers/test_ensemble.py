"""An ensemble of k-dependence classifiers: each member is a network, chosen by leave-one-out, and all are averaged."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from processes import HASH_SEEDS, run_python
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.classifiers import ensemble_kernels as kernels
from bntk.classifiers.chains import ChainTables, Member, TrainingRows, smoothing_of
from bntk.classifiers.combining import member_weights, temperature, tempered
from bntk.classifiers.drawing import Column
from bntk.errors import ArgumentError, DataError
from bntk.learning.priors import HDP, Backoff


def mixed(n: int = 240, missing: float = 0.0, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Labels, numbers, and a class that depends on two of them together."""
    generator = np.random.default_rng(seed)
    colour = generator.choice(["red", "green", "blue"], n)
    shape = generator.choice(["round", "square"], n)
    size, weight = generator.normal(size=n), generator.exponential(size=n)
    kind = np.where((colour == "red") ^ (size > 0.3), "a", np.where(weight > 1, "b", "c"))
    X = pd.DataFrame({"colour": colour, "size": size, "shape": shape, "weight": weight}).astype({"colour": object})
    X = X.mask(generator.random(X.shape) < missing)
    return X, pd.Series(kind, name="kind")


# ---- one member ------------------------------------------------------------------------------------------------------


def chain_by_hand(train, classes, weights, row, feature, chain, n_classes, r, prior):
    """theta along the chain, from the formula, by looking at all rows at every level."""
    rows = [q for q in range(len(classes)) if train[feature][q] < r]
    found = np.empty(n_classes)
    for c in range(n_classes):
        own = sum(weights[q] for q in rows if classes[q] == c)
        cell = sum(weights[q] for q in rows if classes[q] == c and train[feature][q] == row[feature])
        found[c] = (cell + prior.alpha) / (own + prior.alpha * r)
    for parent, card in chain:
        if row[parent] >= card:
            break
        rows = [q for q in rows if train[parent][q] == row[parent]]
        for c in range(n_classes):
            own = sum(weights[q] for q in rows if classes[q] == c)
            cell = sum(weights[q] for q in rows if classes[q] == c and train[feature][q] == row[feature])
            found[c] = (cell + prior.rows * found[c]) / (own + prior.rows)
    return found


def small_rows(seed: int, n: int = 90, missing: float = 0.0):
    generator = np.random.default_rng(seed)
    cards = np.array([2, 3, 4, 2], dtype=np.int64)
    codes = np.array([generator.integers(0, card, n) for card in cards], dtype=np.uint16)
    codes = np.where(generator.random(codes.shape) < missing, cards[:, None], codes).astype(np.uint16)
    classes = (codes[0] % 2 + (codes[1] == 1) + generator.integers(0, 2, n)) % 3
    return codes, cards, classes.astype(np.int64), generator.choice([1.0, 2.0, 0.5], n)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("few", [0, 3, 1000])
def test_tables_are_what_the_formula_says_however_they_are_kept(few, missing, monkeypatch):
    monkeypatch.setattr("bntk.classifiers.chains.FEW_ROWS", few)
    monkeypatch.setattr("bntk.classifiers.chains.FEW_ROWS_A_CLASS", 0)
    codes, cards, classes, weights = small_rows(1, missing=missing)
    columns = [bntk.Variable(f"x{i}", range(card)) for i, card in enumerate(cards.tolist())]
    chains = (np.array([], dtype=np.int64), np.array([2]), np.array([0, 2]), np.array([1, 0, 2]))
    order = np.array([2, 0, 1, 3])
    prior = Backoff(rows=2.5, alpha=0.7)
    member = Member((), order, tuple(np.asarray(chain, dtype=np.int64) for chain in chains))
    training = TrainingRows(codes, np.empty((0, len(classes))), classes, weights)
    tables = ChainTables.make(member, training, columns, 3, smoothing_of(prior), None)
    others, *_ = small_rows(2, n=40, missing=missing)
    proba, evidence = tables.predict(others, np.empty((0, 40)))
    counts = np.bincount(classes, weights, 3) + prior.alpha
    for i in range(40):
        joint = counts / counts.sum()
        for feature, chain in zip(order, chains, strict=True):
            if others[feature, i] < cards[feature]:
                parents = [(int(p), cards[p]) for p in chain]
                joint = joint * chain_by_hand(
                    codes, classes, weights, others[:, i], feature, parents, 3, cards[feature], prior
                )
        np.testing.assert_allclose(proba[i], joint / joint.sum(), rtol=1e-10)
        np.testing.assert_allclose(evidence[i], np.log(joint.sum()), rtol=1e-10)


@pytest.mark.parametrize("kind", ["rmse", "log", "zero_one"])
@pytest.mark.parametrize("copies", [False, True])
def test_leave_one_out_equals_learning_from_all_other_rows(kind, copies):
    codes, cards, classes, _ = small_rows(3, n=40)
    weights = np.random.default_rng(5).integers(1, 4, 40).astype(float) if copies else np.ones(40)
    left = weights if copies else np.ones(40)
    order, parents = np.array([1, 0, 3, 2]), np.array([[1, 0], [0, 0], [3, 1], [0, 1]])
    n_parents, prior = np.array([1, 0, 2, 2]), Backoff(rows=3, alpha=1)
    counts = np.bincount(classes, weights, 3)
    losses, probabilities = {}, {}
    for k, n in itertools.product(range(3), range(5)):
        found = np.empty((40, 3))
        for i in range(40):
            own = weights.copy()
            own[i] -= left[i]
            joint = np.bincount(classes, own, 3) + 1
            for feature in order[:n]:
                chain = [(int(p), cards[p]) for p in parents[feature, : min(k, n_parents[feature])]]
                joint = joint * chain_by_hand(
                    codes, classes, own, codes[:, i], feature, chain, 3, cards[feature], prior
                )
            found[i] = joint / joint.sum()
        p = found[np.arange(40), classes]
        each = {"rmse": (1 - p) ** 2, "log": -np.log(p), "zero_one": p < found.max(axis=1)}[kind]
        losses[n, k], probabilities[n, k] = float(weights @ each), found
    log_prior = counts + 1 - left[:, None] * (classes[:, None] == np.arange(3))
    log_prior = np.log(log_prior / log_prior.sum(axis=1, keepdims=True))
    got = np.empty((40, 3))
    code = {"rmse": kernels.SQUARED, "log": kernels.LOG, "zero_one": kernels.ZERO_ONE}[kind]
    k, n, loss = kernels.leave_one_out(
        codes, cards, classes, weights, left, np.arange(40), weights, log_prior, order, parents, n_parents, 2,
        smoothing_of(prior), code, got,
    )  # fmt: skip
    assert loss == pytest.approx(min(losses.values()), rel=1e-9)
    assert losses[n, k] == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(got, probabilities[n, k], rtol=1e-9)


@pytest.mark.parametrize("prior", [Backoff(), 0.5, HDP(iterations=20, burn_in=5)])
def test_each_member_is_a_network_with_the_same_probabilities(prior):
    X, y = mixed()
    ensemble = bntk.EnsembleKDB(6, max_k=3, prior=prior).fit(X, y)
    others, _ = mixed(60, seed=9)
    members = ensemble.member_proba(others)
    for i in range(6):
        network = ensemble.member(i)
        assert network.names[-1] == "kind"
        assert len(network.dag.children("kind")) == ensemble.n_features_used_[i]
        np.testing.assert_allclose(network.posterior(others, "kind").to_numpy(), members[i], atol=1e-12)


def test_the_ensemble_is_the_weighted_mean_raised_to_a_power():
    X, y = mixed()
    ensemble = bntk.EnsembleKDB(8).fit(X, y)
    mean = np.tensordot(ensemble.weights_, ensemble.member_proba(X), 1) ** ensemble.temperature_
    np.testing.assert_allclose(ensemble.predict_proba(X), mean / mean.sum(axis=1, keepdims=True), atol=1e-12)
    assert ensemble.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("prior", ["backoff", "mle", 0.5, HDP(iterations=5, burn_in=0)])
def test_a_member_may_have_no_features(prior, tmp_path):
    X, y = mixed()
    X = X.assign(colour="red", shape="round", size=2.5, weight=1)
    ensemble = bntk.EnsembleKDB(3, prior=prior).fit(X, y)
    assert ensemble.n_features_used_.tolist() == [0, 0, 0]
    shares = y.value_counts(normalize=True).sort_index()
    np.testing.assert_allclose(ensemble.member_proba(X[:2]), np.tile(shares, (3, 2, 1)), atol=0.01)
    assert ensemble.feature_importances_.tolist() == [0, 0, 0, 0]
    assert ensemble.member(0).dag.n_arcs == 0
    ensemble.save(tmp_path / "none.json")
    assert (bntk.load(tmp_path / "none.json").predict_proba(X) == ensemble.predict_proba(X)).all()
    assert (ensemble.partial_fit(X, y).predict(X) == shares.idxmax()).all()


def test_log_joint_and_probabilities_belong_together():
    X, y = mixed(missing=0.2)
    ensemble = bntk.EnsembleKDB(4).fit(X, y)
    joint = np.exp(ensemble.log_joint(X))
    np.testing.assert_allclose(joint / joint.sum(axis=1, keepdims=True), ensemble.predict_proba(X), rtol=1e-9)
    nothing = {name: [None] for name in X.columns}
    assert np.exp(ensemble.log_joint(nothing)).sum() == pytest.approx(1)


# ---- what is drawn ---------------------------------------------------------------------------------------------------


def test_cuts_are_between_different_values_and_more_often_where_the_class_changes():
    values = np.repeat(np.arange(20.0), 5)
    classes = (values > 12).astype(np.int64)
    column = Column.of(values, classes, 2, np.ones(100))
    drawn = [column.draw(np.random.default_rng(seed)) for seed in range(300)]
    points = np.concatenate(drawn)
    assert {*(points % 1)} == {0.5}
    assert all(1 <= len(cuts) <= 5 and (np.diff(cuts) > 0).all() for cuts in drawn)
    assert np.mean(points == 12.5) > 2 * np.mean(points == 5.5)


def test_a_column_without_different_values_is_not_cut():
    assert not len(Column.of(np.full(9, 3.0), np.zeros(9, np.int64), 2, np.ones(9)).draw(np.random.default_rng(0)))
    assert not len(Column.of(np.full(9, np.nan), np.zeros(9, np.int64), 2, np.ones(9)).draw(np.random.default_rng(0)))


def test_members_differ_and_are_drawn_anew_with_another_seed():
    X, y = mixed()
    one, again = (bntk.EnsembleKDB(10, random_state=1).fit(X, y).predict_proba(X) for _ in range(2))
    other = bntk.EnsembleKDB(10, random_state=2).fit(X, y)
    assert (one == again).all()
    assert not (one == other.predict_proba(X)).all()
    assert len({tuple(member.features.tolist()) for member in other._members}) > 3
    assert len({member.cuts[0].tobytes() for member in other._members}) > 3


def test_the_answer_does_not_depend_on_threads_or_on_the_rows_beside():
    X, y = mixed(missing=0.1)
    one = bntk.EnsembleKDB(7, n_jobs=1).fit(X, y)
    three = bntk.EnsembleKDB(7, n_jobs=3).fit(X, y)
    assert (one.predict_proba(X) == three.predict_proba(X)).all()
    alone = np.concatenate([three.predict_proba(X.iloc[[i]]) for i in range(10)])
    assert (alone == one.predict_proba(X)[:10]).all()


def test_the_answer_does_not_depend_on_the_hash_seed():
    code = (
        "import bntk, numpy as np, pandas as pd\n"
        "g = np.random.default_rng(0)\n"
        "X = pd.DataFrame({'a': g.normal(size=60), 'b': g.choice(['u', 'v', 'w'], 60)})\n"
        "y = np.where((X['a'] > 0) ^ (X['b'] == 'u'), 'p', 'q')\n"
        "print(bntk.EnsembleKDB(4).fit(X, y).predict_proba(X).tobytes().hex())"
    )
    first, second = (run_python(code, hash_seed=seed).stdout for seed in HASH_SEEDS[:2])
    assert first == second
    assert len(first) > 1000


def test_weights_are_copies_of_rows():
    X, y = mixed(120)
    copies = np.random.default_rng(3).integers(0, 3, 120)
    rows = np.repeat(np.arange(120), copies)
    weighted = bntk.EnsembleKDB(6).fit(X, y, sample_weight=copies)
    copied = bntk.EnsembleKDB(6).fit(X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-9)


def by_hand(ensemble, i, codes, classes, weights, row, left_out=None):
    """P(class | row) of a member from the formula, by its structure and weights of rows."""
    member, prior, r = ensemble._members[i], Backoff(), ensemble._tables[i].cards
    own = weights.copy()
    if left_out is not None:
        own[left_out] = 0.0
    joint = np.bincount(classes, own, 3) + prior.alpha
    for feature, chain in zip(member.features.tolist(), member.parents, strict=True):
        if row[feature] < r[feature]:
            parents = [(int(p), r[p]) for p in chain]
            joint = joint * chain_by_hand(codes, classes, own, row, feature, parents, 3, r[feature], prior)
    return joint / joint.sum()


def test_tables_of_members_are_counted_on_the_rows_that_were_drawn(tmp_path):
    X, y = mixed(60, missing=0.1)
    ensemble = bntk.EnsembleKDB(3, bootstrap=True, max_k=2, random_state=3).fit(X, y)
    classes, found = ensemble.classes_.searchsorted(y), ensemble.member_proba(X)
    left_out = np.empty((3, 60))
    for i, member in enumerate(ensemble._members):
        assert member.copies.sum() == 60
        assert member.copies.min() == 0
        codes, weights = ensemble._tables[i].train, member.copies.astype(float)
        for q in range(60):
            proba = by_hand(ensemble, i, codes, classes, weights, codes[:, q])
            np.testing.assert_allclose(found[i, q], proba, rtol=1e-9)
            left_out[i, q] = by_hand(ensemble, i, codes, classes, weights, codes[:, q], left_out=q)[classes[q]]
    # The weights of members come from predictions of each row without all its copies.
    np.testing.assert_allclose(ensemble.weights_, member_weights(left_out, np.ones(60)), rtol=1e-6)
    ensemble.save(tmp_path / "drawn.json")
    np.testing.assert_array_equal(bntk.load(tmp_path / "drawn.json").predict_proba(X), ensemble.predict_proba(X))
    before = ensemble.member(0).cpt("kind").values
    more, more_y = mixed(30, seed=8)
    ensemble.partial_fit(more, more_y)
    copies, more_classes = ensemble._members[0].copies, ensemble.classes_.searchsorted(more_y)
    counts = np.bincount(classes, copies, 3) + np.bincount(more_classes, minlength=3) + 1
    np.testing.assert_allclose(ensemble.member(0).cpt("kind").values, counts / counts.sum())
    assert not np.allclose(before, counts / counts.sum())


def test_rows_drawn_with_replacement_give_other_members():
    X, y = mixed()
    drawn = bntk.EnsembleKDB(6, bootstrap=True).fit(X, y)
    assert drawn.score(X, y) > 0.8
    assert not np.array_equal(drawn.weights_, bntk.EnsembleKDB(6).fit(X, y).weights_)


# ---- how members are put together ------------------------------------------------------------------------------------


def test_weights_raise_the_likelihood_of_the_mixture():
    generator = np.random.default_rng(0)
    proba, weights = generator.random((5, 200)) ** np.arange(1, 6)[:, None], generator.random(200)
    found = member_weights(proba, weights)
    equal = np.full(5, 0.2)
    assert weights @ np.log(found @ proba) > weights @ np.log(equal @ proba)
    assert (np.diff(found) < 0).all()


def test_a_temperature_is_found_again():
    generator = np.random.default_rng(1)
    truth = generator.dirichlet([0.5, 0.5, 0.5], 4000)
    classes = np.array([generator.choice(3, p=row) for row in truth])
    careful = np.exp(tempered(truth, 0.4))
    assert temperature(careful, classes, np.ones(4000)) == pytest.approx(2.5, rel=0.1)
    assert abs(np.log(temperature(careful[:3], classes[:3], np.ones(3)))) < 1.2


# ---- as the others ---------------------------------------------------------------------------------------------------


# Ten members: one or two that have drawn a fine cut may outvote class weights of 1000 and 0.0001, which a check gives.
@parametrize_with_checks([bntk.EnsembleKDB(10)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_more_rows_are_added_as_if_they_had_been_there_for_the_same_members():
    X, y = mixed(200)
    more, more_y = mixed(80, seed=4)
    grown = bntk.EnsembleKDB(5).fit(X, y)
    before = grown.predict_proba(X)
    grown.partial_fit(more, more_y)
    assert not np.array_equal(before, grown.predict_proba(X))
    tables = [
        ChainTables.make(member, grown._training, grown._columns, 3, smoothing_of(Backoff()), None)
        for member in grown._members
    ]
    assert grown._training.n_rows == 280
    both = pd.concat([X, more], ignore_index=True)
    rows = grown._read(both)
    codes = rows.table.codes.astype(np.uint16)
    again = np.array([table.predict(codes, rows.numbers)[0] for table in tables])
    np.testing.assert_array_equal(again, grown.member_proba(both))


def test_the_parts_of_an_explanation_sum_to_the_log_odds():
    X, y = mixed(missing=0.1)
    ensemble = bntk.EnsembleKDB(5).fit(X, y)
    for i in range(5):
        parts = ensemble.explain(X.iloc[[i]], of="a", against="c")
        joint = ensemble.predict_log_proba(X.iloc[[i]])[0]
        assert parts["log_odds"].sum() == pytest.approx(joint[0] - joint[2])
        assert {*parts.index} <= {"kind", *X.columns, "features together"}
    assert "size" in ensemble.explain(X.iloc[[2]].fillna({"size": 1.0})).index


def test_a_class_prior_is_used_and_missing_rows_have_it():
    X, y = mixed()
    ensemble = bntk.EnsembleKDB(4, class_prior=[0.2, 0.3, 0.5]).fit(X, y)
    nothing = ensemble.predict_proba({name: [None] for name in X.columns})[0]
    power = np.array([0.2, 0.3, 0.5]) ** ensemble.temperature_
    np.testing.assert_allclose(nothing, power / power.sum())


def test_numbers_may_be_cut_once_for_all_members():
    X, y = mixed()
    fixed = bntk.EnsembleKDB(4, numeric={"size": [0.3], "weight": "mdl"}).fit(X, y)
    assert all(network.variable("size").cuts == (0.3,) for network in map(fixed.member, range(4)))
    with pytest.raises(ArgumentError, match="no densities.*'size'"):
        bntk.EnsembleKDB(2, numeric="gaussian").fit(X, y)
    with pytest.raises(ArgumentError, match="'size' is to be interpolated, but 'weight'"):
        bntk.EnsembleKDB(2, numeric={"size": "smooth"}).fit(X, y)
    with pytest.raises(ValueError, match="drawn"):
        bntk.TAN(numeric="drawn").fit(X, y)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_members": 0}, "n_members"),
        ({"loss": "brier"}, "loss"),
        ({"bootstrap": 2}, "bootstrap"),
        ({"max_k": -1}, "max_k"),
        ({"prior": bntk.priors.BDeu(1)}, "chain of parents"),
    ],
)
def test_bad_parameters_are_named(options, said):
    X, y = mixed(40)
    with pytest.raises(ValueError, match=said):
        bntk.EnsembleKDB(**options).fit(X, y)


def test_parts_of_a_file_that_do_not_fit_are_refused():
    columns = [bntk.Variable("a", ["x", "y"]), "size"]
    chain = np.array([], dtype=np.int64)
    Member((np.array([0.5]),), np.array([1, 0]), (chain, np.array([1]))).check(columns, 2)
    for wrong in (
        Member((), np.array([1]), (chain,)),
        Member((np.array([2.0, 1.0]),), np.array([1]), (chain,)),
        Member((np.array([0.5]),), np.array([2]), (chain,)),
        Member((np.array([0.5]),), np.array([0, 0]), (chain, chain)),
        Member((np.array([0.5]),), np.array([0, 1]), (np.array([1]), chain)),
        Member((np.array([0.5]),), np.array([0]), ()),
        Member((np.array([0.5]),), np.array([1]), (chain,), np.array([1, 1, 1])),
        Member((np.array([0.5]),), np.array([1]), (chain,), np.array([-1, 3])),
    ):
        with pytest.raises(DataError):
            wrong.check(columns, 2)
    good = (np.array([[0, 2]], np.uint16), np.array([[1.0, np.nan]]), np.array([0, 1]), np.ones(2))
    TrainingRows(*good).check(columns, 2)
    for place, wrong in enumerate((good[0] + 1, good[1][:, :1], good[2] + 1, -good[3])):
        with pytest.raises(DataError):
            TrainingRows(*(wrong.astype(part.dtype) if i == place else part for i, part in enumerate(good))).check(
                columns, 2
            )


def test_the_members_are_drawn_as_a_picture():
    import matplotlib.pyplot as plt

    X, y = mixed()
    ensemble = bntk.EnsembleKDB(4).fit(X, y)
    axes = ensemble.plot_members(X, "b")
    assert axes.get_ylabel() == "P(kind = b)"
    line = axes.get_lines()[0].get_ydata()
    assert len(line) == 120  # every second of 240
    np.testing.assert_array_equal(line, np.sort(ensemble.predict_proba(X)[:, 1])[::2])
    plt.close("all")
    with pytest.raises(KeyError, match="no class"):
        ensemble.plot_members(X, "d")
    with pytest.raises(ValueError, match="i"):
        ensemble.member(4)


def test_what_only_numbers_together_tell_is_learned():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 3))
    y = (X[:, 0] > 0) ^ (X[:, 2] > 0)
    ensemble = bntk.EnsembleKDB().fit(X[:400], y[:400])
    assert ensemble.score(X[400:], y[400:]) > 0.9
    assert bntk.KDB(2, numeric="mdl").fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.7
