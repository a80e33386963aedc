"""One network with several classes: equal to enumeration for every structure, with and without missing cells."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import bntk
from bntk.data.labels import read_labels
from bntk.errors import DataError, TooLargeError
from bntk.learning.learn import learn_structure
from bntk.learning.space import named as spaces

SHAPES = [
    {"class_shape": "empty", "feature_shape": "empty"},
    {"class_shape": "tree", "feature_shape": "tree"},
    {"class_shape": "forest", "feature_shape": "forest", "bridge": "discard"},
    {"class_shape": "polytree", "feature_shape": "empty", "bridge": "all"},
    {"class_shape": "dag", "feature_shape": "dag", "max_bridge_parents": 1},
    {"class_shape": "tree", "feature_shape": "polytree", "max_bridge_parents": 2},
]


def problem(n=300, seed=0, missing=0.0):
    """Five features of up to three states and three classes, one of which has three states; all depend on another."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.6, b == 1, rng.integers(0, 2, n)).astype(int)
    noisy = lambda x, k, p: np.where(rng.random(n) < p, x % k, rng.integers(0, k, n))  # noqa: E731
    x0 = noisy(a + b, 3, 0.7)
    x1 = noisy(x0 + c, 2, 0.8)
    x2 = noisy(b * c, 3, 0.8)
    x3 = noisy(x2 + a, 3, 0.6)
    x4 = rng.integers(0, 2, n)
    X = pd.DataFrame({f"f{i}": x.astype(float) for i, x in enumerate([x0, x1, x2, x3, x4])})
    if missing:
        X = X.mask(rng.random(X.shape) < missing)
    words = {"a": np.array(["n", "y"])[a], "b": np.array(["lo", "mid", "hi"])[b], "c": c}
    return X, pd.DataFrame(words)


def joint_by_enumeration(network, codes, n_features):
    """P(classes, observed features) for each row of codes (n_features, n_rows) and each joint state of the classes."""
    cards = [v.n_states for v in network.variables]
    states = list(itertools.product(*map(range, cards[n_features:])))
    at = {name: i for i, name in enumerate(network.names)}
    found = np.zeros((codes.shape[1], len(states)))
    for row, column in enumerate(codes.T):
        free = [range(card) if code == card else [code] for code, card in zip(column, cards, strict=False)]
        for features in itertools.product(*free):
            for s, labels in enumerate(states):
                whole = (*features, *labels)
                found[row, s] += np.prod(
                    [cpt.values[tuple(whole[at[v.name]] for v in cpt.family)] for cpt in network.cpts]
                )
    return found, states


def marginals_of(joint, states, cards):
    found = [np.zeros((len(joint), card)) for card in cards]
    for s, labels in enumerate(states):
        for table, label in zip(found, labels, strict=True):
            table[:, label] += joint[:, s]
    return [table / table.sum(axis=1, keepdims=True) for table in found]


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_marginals_joint_and_best_labels_equal_enumeration(options, missing):
    X, Y = problem(missing=missing)
    model = bntk.MDBNC(numeric="category", **options).fit(X, Y)
    some = X.head(40)
    codes = model.features_.read(some).table.codes
    joint, states = joint_by_enumeration(model.network_, codes, 5)
    for found, expected in zip(model.predict_proba(some), marginals_of(joint, states, (2, 3, 2)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_joint_proba(some), posterior, atol=1e-12)
    best = np.array(states)[joint.argmax(axis=1)].T
    pd.testing.assert_frame_equal(
        model.set_params(loss="subset").predict(some), model.labels_.decode(best, some), check_dtype=False
    )
    truth = model.labels_.encode(Y.head(40)).T
    of_truth = [joint[row, states.index(tuple(labels))] for row, labels in enumerate(truth.tolist())]
    np.testing.assert_allclose(model.log_joint(some, Y.head(40)), np.log(of_truth), atol=1e-10)
    assert model.inference_.startswith("exact")


@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_structures_are_legal(options):
    X, Y = problem()
    model = bntk.MDBNC(numeric="category", **options).fit(X, Y)
    shapes = {"class_shape": options["class_shape"], "feature_shape": options["feature_shape"]}
    bridge, limit = options.get("bridge", "discard"), options.get("max_bridge_parents", 3)
    space = spaces.mdbnc(X.columns, Y.columns, bridge=bridge, max_bridge_parents=limit, **shapes)
    assert space.violations(model.dag_) == []
    assert model.search_.score == pytest.approx(
        learn_structure(table_of(model, X, Y), "bic", space, start=model.dag_, search="hc").score, rel=1e-3
    )


def table_of(model, X, Y):
    codes = np.vstack([model.features_.read(X).table.codes, model.labels_.encode(Y)]).astype(np.uint8)
    return bntk.Table.from_codes(codes, model.network_.variables)


def test_without_arcs_among_features_the_parts_are_the_best_structure():
    X, Y = problem()
    model = bntk.MDBNC(class_shape="dag", feature_shape="empty", numeric="category").fit(X, Y)
    space = spaces.mdbnc(X.columns, Y.columns, class_shape="dag", feature_shape="empty")
    best = learn_structure(table_of(model, X, Y), "bic", space, search="exact")
    assert model.search_.exact
    assert model.search_.score == pytest.approx(best.score, abs=1e-9)


def test_steps_find_what_looking_at_all_sets_finds_here(monkeypatch):
    X, Y = problem()
    options = {"class_shape": "tree", "feature_shape": "forest", "bridge": "optional", "numeric": "category"}
    best = bntk.MDBNC(**options).fit(X, Y).search_
    monkeypatch.setattr("bntk.learning.search.subgraphs.MAX_FAMILIES", 0)
    steps = bntk.MDBNC(**options).fit(X, Y).search_
    assert not steps.exact
    assert steps.score <= best.score + 1e-9
    assert steps.score == pytest.approx(best.score, rel=0.01)


def test_a_named_search_is_one_search_in_the_whole_space():
    X, Y = problem()
    model = bntk.MDBNC(numeric="category", bridge="optional", search="hc").fit(X, Y)
    assert "HillClimbing" in model.search_.search
    best = bntk.MDBNC(numeric="category", bridge="optional").fit(X, Y).search_
    assert best.exact
    assert model.search_.score <= best.score + 1e-9


@pytest.mark.parametrize("shape", ["tree", "forest"])
def test_small_trees_of_features_are_the_best_together_with_the_bridge(shape):
    X, Y = problem()
    model = bntk.MDBNC(class_shape="tree", feature_shape=shape, bridge="optional", numeric="category").fit(X, Y)
    space = spaces.mdbnc(X.columns, Y.columns, feature_shape=shape)
    best = learn_structure(table_of(model, X, Y), "bic", space, search="spanning_tree")
    assert best.exact
    assert model.search_.exact
    assert model.search_.score == pytest.approx(best.score, abs=1e-9)


def test_missing_labels_and_features_leave_rows_for_the_tables_in_which_they_are_complete():
    X, Y = problem(missing=0.2)
    holes = Y.mask(np.random.default_rng(1).random(Y.shape) < 0.2)
    model = bntk.MDBNC(class_shape="tree", feature_shape="forest", numeric="category", prior=1.0).fit(X, holes)
    table = table_of(model, X, holes)
    expected = bntk.fit(model.dag_, table, 1.0, missing="available")
    for cpt, other in zip(model.network_.cpts, expected.cpts, strict=True):
        np.testing.assert_allclose(cpt.values, other.values, atol=1e-12)


def test_missing_labels_are_summed_out_of_the_log_joint():
    X, Y = problem()
    model = bntk.MDBNC(numeric="category").fit(X, Y)
    some, truth = X.head(20), Y.head(20).astype(object)
    codes = model.features_.read(some).table.codes
    joint, _ = joint_by_enumeration(model.network_, codes, 5)
    nothing = truth.mask(np.ones(truth.shape, dtype=bool))
    np.testing.assert_allclose(model.log_joint(some, nothing), np.log(joint.sum(axis=1)), atol=1e-10)


def test_em_and_a_state_for_missing_cells():
    X, Y = problem(missing=0.2)
    options = {"class_shape": "tree", "feature_shape": "empty", "numeric": "category", "prior": 1.0}
    by_em = bntk.MDBNC(missing="em", **options).fit(X, Y)
    expected = bntk.fit(by_em.dag_, table_of(by_em, X, Y), 1.0, missing="em")
    np.testing.assert_allclose(by_em.network_.cpt("f0").values, expected.cpt("f0").values, atol=1e-9)
    by_state = bntk.MDBNC(missing="state", **options).fit(X, Y)
    assert by_state.network_.variable("f0").n_states == 4


def test_backoff_leans_on_the_tables_given_the_classes_alone():
    X, Y = problem()
    lean = bntk.MDBNC(numeric="category", feature_shape="tree", prior="backoff").fit(X, Y)
    plain = bntk.MDBNC(numeric="category", feature_shape="tree", prior=1.0).fit(X, Y)
    child = next(v for v in X.columns if any(p in X.columns for p in lean.dag_.parents(v)))
    classes = [p for p in lean.dag_.parents(child) if p in Y.columns]
    base = bntk.fit("; ".join([*(f"{c} -> {child}" for c in classes), child]), table_of(lean, X, Y), 1.0).cpt(child)
    order = [v.name for v in base.parents]
    assert order == classes
    counts = plain.network_.cpt(child).counts
    expected = counts + 5 * base.values
    np.testing.assert_allclose(lean.network_.cpt(child).values, expected / expected.sum(axis=-1, keepdims=True))


def test_loopy_propagation_is_close_where_cliques_are_too_large_and_exact_without_loops():
    X, Y = problem()
    exact = bntk.MDBNC(class_shape="tree", feature_shape="empty", numeric="category").fit(X, Y)
    loopy = bntk.MDBNC(class_shape="tree", feature_shape="empty", numeric="category", max_entries=2).fit(X, Y)
    assert loopy.inference_.startswith("loopy")
    for found, expected in zip(loopy.predict_proba(X), exact.predict_proba(X), strict=True):
        assert np.abs(found - expected).mean() < 0.05
    assert np.mean(loopy.predict(X) == exact.predict(X)) > 0.9
    options = {"class_shape": "tree", "feature_shape": "empty", "numeric": "category", "max_bridge_parents": 1}
    without_loops, same = (bntk.MDBNC(max_entries=e, **options).fit(X, Y) for e in (2, 1 << 20))
    for found, expected in zip(without_loops.predict_proba(X), same.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(without_loops.log_joint(X, Y), same.log_joint(X, Y), atol=1e-6)
    for model in (without_loops, same):
        model.set_params(loss="subset")
    pd.testing.assert_frame_equal(without_loops.predict(X), same.predict(X))


def test_impossible_labels_and_rows_are_so_by_loopy_propagation_too():
    X, Y = problem()
    Y["b"] = np.where(Y["a"] == Y["a"].max(), Y["b"].min(), Y["b"])  # tables with zeros
    X["f0"] = X["f1"] = Y["a"].map({a: i for i, a in enumerate(sorted(Y["a"].unique()))}).astype(float)
    options = {
        "class_shape": "tree",
        "feature_shape": "empty",
        "max_bridge_parents": 1,
        "numeric": "category",
        "prior": "mle",
    }
    exact, loopy = (bntk.MDBNC(max_entries=e, **options).fit(X[:40], Y[:40]) for e in (1 << 20, 1))
    assert loopy.inference_.startswith("loopy")
    rows = pd.DataFrame(np.random.default_rng(0).permuted(X.to_numpy(), axis=0), columns=X.columns)
    impossible = ~np.isfinite(exact.log_joint(rows, Y.mask(Y.notna())))
    assert 0 < impossible.mean() < 1
    for a, b in zip(exact.predict_proba(rows), loopy.predict_proba(rows), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
        np.testing.assert_allclose(a[impossible], 1 / a.shape[1])
    np.testing.assert_allclose(exact.log_joint(rows, Y), loopy.log_joint(rows, Y), atol=1e-5)


def test_rows_are_answered_alike_alone_and_together():
    X, Y = problem(missing=0.3)
    model = bntk.MDBNC(numeric="category", feature_shape="tree").fit(X, Y)
    together = model.predict_proba(X.head(30))
    for row in range(30):
        for alone, table in zip(model.predict_proba(X.iloc[[row]]), together, strict=True):
            np.testing.assert_allclose(alone[0], table[row], atol=1e-12)


def test_thousands_of_features_do_not_underflow():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (60, 3))
    X = np.where(rng.random((60, 2000)) < 0.9, Y[:, np.arange(2000) % 3], rng.integers(0, 2, (60, 2000)))
    model = bntk.MDBNC(feature_shape="empty", numeric="category", max_bridge_parents=1).fit(X, Y)
    assert all(np.isfinite(table).all() for table in model.predict_proba(X))
    assert (model.predict(X) == Y).all()


def test_permuting_columns_keeps_the_score():
    X, Y = problem()
    for options in SHAPES:
        one = bntk.MDBNC(numeric="category", **options).fit(X, Y)
        other = bntk.MDBNC(numeric="category", **options).fit(X[X.columns[::-1]], Y[["c", "a", "b"]])
        assert other.search_.score == pytest.approx(one.search_.score, rel=1e-9)


def test_predictions_have_the_form_of_the_labels():
    X, Y = problem()
    X.index = Y.index = np.arange(len(X)) + 1000
    found = bntk.MDBNC().fit(X, Y).predict(X.tail(4))
    assert list(found.columns) == ["a", "b", "c"]
    assert found.index.tolist() == X.tail(4).index.tolist()
    assert set(found["b"]) <= {"lo", "mid", "hi"}
    other = bntk.MDBNC().fit(pl.from_pandas(X), pl.from_pandas(Y)).predict(pl.from_pandas(X.tail(4)))
    assert isinstance(other, pl.DataFrame)
    assert other["b"].to_list() == found["b"].tolist()
    plain = bntk.MDBNC().fit(X.to_numpy(), Y.to_numpy(dtype=object)).predict(X.to_numpy()[-4:])
    assert plain.tolist() == found.to_numpy(dtype=object).tolist()
    numbers = bntk.MDBNC().fit(X, Y[["c"]].to_numpy()).predict(X)
    assert numbers.dtype.kind == "i"
    assert numbers.shape == (300, 1)


def test_it_is_an_estimator_of_scikit_learn():
    X, Y = problem()
    model = bntk.MDBNC(criterion="bdeu", max_bridge_parents=2)
    assert model.get_params()["criterion"] == "bdeu"
    assert clone(model).get_params() == model.get_params()
    model.fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.predict(X), model.predict(X))
    assert model.score(X, Y) == pytest.approx((model.predict(X) == Y).to_numpy().all(axis=1).mean())
    model.set_params(loss="subset")
    assert model.score(X, Y) == pytest.approx((model.predict(X) == Y).to_numpy().all(axis=1).mean())
    assert 0.4 < cross_val_score(bntk.MDBNC(), X, Y, cv=KFold(5)).mean() < 1


def test_the_same_data_give_the_same_classifier():
    X, Y = problem(missing=0.1)
    one, two = (bntk.MDBNC(class_shape="dag", feature_shape="dag", n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert one.dag_ == two.dag_
    for a, b in zip(one.predict_proba(X), two.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_very_many_classes_and_features_need_no_special_care():
    rng = np.random.default_rng(0)
    Y = np.zeros((300, 40), dtype=int)
    for j in range(40):
        Y[:, j] = rng.random(300) < np.where(Y[:, j - 1] == 1, 0.7, 0.2)
    X = np.where(rng.random((300, 200)) < 0.85, Y[:, rng.integers(40, size=200)], rng.integers(0, 2, (300, 200)))
    model = bntk.MDBNC(numeric="category").fit(X[:200], Y[:200])
    simple = bntk.MDBNC(class_shape="tree", max_bridge_parents=1, numeric="category").fit(X[:200], Y[:200])
    assert simple.inference_.startswith("exact")
    alone = bntk.BinaryRelevance(bntk.NaiveBayes(numeric="category")).fit(X[:200], Y[:200])
    least = max(0.9, (alone.predict(X[200:]) == Y[200:]).mean())
    assert (model.predict(X[200:]) == Y[200:]).mean() > least
    assert (simple.predict(X[200:]) == Y[200:]).mean() > least


def test_numbers_are_cut_where_any_class_asks_for_it():
    rng = np.random.default_rng(0)
    x = rng.random(400)
    Y = np.column_stack([x > 0.3, x > 0.7]).astype(int)
    model = bntk.MDBNC().fit(x[:, None], Y)
    np.testing.assert_allclose(model.features_.cuts["x0"], [0.3, 0.7], atol=0.02)
    assert (model.predict(x[:, None]) == Y).mean() > 0.98


def test_features_in_use():
    X, Y = problem(n=2000)
    model = bntk.MDBNC(numeric="category", feature_shape="empty").fit(X, Y)
    assert model.features_in_use_ == ["f0", "f1", "f2", "f3"]


def test_weights_count_as_rows():
    X, Y = problem(n=120)
    twice = np.r_[np.arange(120), np.arange(40)]
    weights = np.r_[np.full(40, 2.0), np.ones(80)]
    weighted = bntk.MDBNC(numeric="category").fit(X, Y, sample_weight=weights)
    repeated = bntk.MDBNC(numeric="category").fit(X.iloc[twice], Y.iloc[twice])
    for a, b in zip(weighted.predict_proba(X), repeated.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_errors_say_what_is_wrong():
    X, Y = problem()
    with pytest.raises(ValueError, match=r"shape \(n_rows, n_targets\)"):
        bntk.MDBNC().fit(X, Y["a"].to_numpy())
    with pytest.raises(ValueError, match="X has 300 rows, but Y has 299"):
        bntk.MDBNC().fit(X, Y.iloc[1:])
    with pytest.raises(ValueError, match="loss must be"):
        bntk.MDBNC(loss="zero").fit(X, Y)
    with pytest.raises(ValueError, match="bridge must be"):
        bntk.MDBNC(bridge="none").fit(X, Y)
    with pytest.raises(ValueError, match="gaussian"):
        bntk.MDBNC(numeric="gaussian").fit(X, Y)
    with pytest.raises(DataError, match="sum over families"):
        bntk.MDBNC(criterion=bntk.scores.Accuracy(target="a")).fit(X, Y)
    with pytest.raises(ValueError, match="the class 'z' of 'a' in row 0"):
        bntk.MDBNC().fit(X, Y).log_joint(X.head(1), Y.head(1).assign(a="z"))
    wide = np.random.default_rng(0).integers(0, 2, (300, 17))
    with pytest.raises(TooLargeError, match="131,072 combinations"):
        bntk.MDBNC().fit(X, wide).predict_joint_proba(X)


def test_labels_of_any_kind_are_read_and_given_back():
    frames = [
        np.array([[0, 1], [1, 1], [2, 0]]),
        [["u", 1], ["v", 2], ["u", 1]],
        {"p": [True, False, True], "q": ["a", "b", "c"]},
        pd.DataFrame({"p": pd.Categorical(["u", "v", "u"]), "q": [1, 0, 1]}),
        pl.DataFrame({"p": ["u", "v", "u"], "q": [1, 0, 1]}),
        bntk.Table.from_columns({"p": ["u", "v", "u"], "q": [1, 0, 1]}),
    ]
    for Y in frames:
        labels, codes = read_labels(Y, 3)
        np.testing.assert_array_equal(labels.encode(Y), codes)
        again, same = read_labels(labels.decode(codes), 3)
        np.testing.assert_array_equal(same, codes)
        assert [c.tolist() for c in again.classes] == [c.tolist() for c in labels.classes]
    labels, codes = read_labels(np.array([[0, np.nan], [1, 1]]), missing=True)
    assert codes.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="the label of 'y1' in row 0 is missing"):
        read_labels(np.array([[0, np.nan], [1, 1]]))
    with pytest.raises(ValueError, match="'y0' holds continuous numbers"):
        read_labels(np.array([[0.5], [1]]))


def test_a_class_named_as_a_feature_gets_an_underscore():
    X, Y = problem()
    model = bntk.MDBNC(feature_shape="empty").fit(X, Y.rename(columns={"a": "f0"}))
    assert "f0_" in model.network_.names
    assert list(model.predict(X).columns) == ["f0", "b", "c"]
