"""Average multi-dimensional one-dependence: equal to the formula, summed by brute force."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

import bntk
from bntk.errors import TooLargeError
from bntk.inference.exact.log_tree import IsolatedVariable
from bntk.learning.learn import learn_structure
from bntk.learning.space import named as spaces


def problem(n=250, m=4, seed=0, missing=0.0):
    """Six features and m classes; the first class has three states, and some features depend on two classes."""
    rng = np.random.default_rng(seed)
    Y = [rng.integers(0, 3, n)]
    for _ in range(m - 1):
        Y.append(np.where(rng.random(n) < 0.6, Y[rng.integers(len(Y))] % 2, rng.integers(0, 2, n)))
    X = []
    for i in range(6):
        signal = Y[i % m] + (Y[(i + 1) % m] if i % 2 else 0)
        X.append(np.where(rng.random(n) < 0.8, signal % 3, rng.integers(0, 3, n)))
    features = pd.DataFrame({f"f{i}": x.astype(float) for i, x in enumerate(X)})
    if missing:
        features = features.mask(rng.random(features.shape) < missing)
    return features, pd.DataFrame({f"c{j}": y for j, y in enumerate(Y)})


def joint_by_the_formula(model, X, Y):
    """prod_i P(a_i | pa_i) 1/m sum_k P(c_k) prod_{l != k} P(c_l | c_k), from counts of the rows with alpha = 1.

    Tables are counted here from the data, row by row; a row with a missing cell counts where it is complete.
    """
    names, cards = list(Y.columns), [int(Y[c].max()) + 1 for c in Y]
    states = list(itertools.product(*map(range, cards)))

    def smoothed(child, child_states, given):
        table = {}
        for at in itertools.product(*(range(n) for _, n in given)):
            rows = np.ones(len(X), dtype=bool)
            for (v, _), state in zip(given, at, strict=True):
                rows &= (both[v] == state).to_numpy()
            counts = np.array([(rows & (both[child] == s).to_numpy()).sum() for s in child_states]) + 1.0
            table[at] = counts / counts.sum()
        return table

    both = pd.concat([X, Y], axis=1)
    size = dict(zip(names, cards, strict=True))
    alone = {k: smoothed(k, range(size[k]), [])[()] for k in names}
    pairs = {(j, k): smoothed(j, range(size[j]), [(k, size[k])]) for j in names for k in names if j != k}
    average = np.zeros(len(states))
    for s, labels in enumerate(states):
        at = dict(zip(names, labels, strict=True))
        for k in names:
            rest = [pairs[j, k][at[k],][at[j]] for j in names if j != k]
            average[s] += alone[k][at[k]] * np.prod(rest) / len(names)
    joint = np.tile(average, (len(X), 1))
    for f in X:
        parents = [(p, size[p]) for p in model.search_.dag.parents(f)]
        values = sorted(X[f].dropna().unique())
        table = smoothed(f, values, parents)
        for s, labels in enumerate(states):
            at = dict(zip(names, labels, strict=True))
            given = table[tuple(at[p] for p, _ in parents)]
            joint[:, s] *= [1.0 if np.isnan(x) else given[values.index(x)] for x in X[f]]
    return joint, states


@pytest.fixture(params=["one table", "members", "members with missing cells"])
def fitted(request, monkeypatch):
    if request.param != "one table":
        monkeypatch.setattr("bntk.classifiers.multidim.amode.ONE_TABLE", 1)
    X, Y = problem(missing=0.2 if "missing" in request.param else 0.0)
    if "missing" in request.param:
        Y = Y.mask(np.random.default_rng(3).random(Y.shape) < 0.15)
    return bntk.AMODE(numeric="category").fit(X, Y), X, Y


def test_posteriors_equal_the_formula(fitted):
    model, X, Y = fitted
    joint, states = joint_by_the_formula(model, X, Y)
    assert any(len(model.search_.dag.parents(f)) == 2 for f in X)
    labels = np.array(states)
    for j, table in enumerate(model.predict_proba(X)):
        expected = np.array([joint[:, labels[:, j] == s].sum(axis=1) for s in range(table.shape[1])]).T
        np.testing.assert_allclose(table, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    found = model.predict(X)
    best = [table.argmax(axis=1) for table in model.predict_proba(X)]
    np.testing.assert_array_equal(found.to_numpy(), np.array(best).T)
    np.testing.assert_allclose(model.predict_joint_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    complete = Y.notna().all(axis=1).to_numpy()
    codes = Y[complete].to_numpy(dtype=int).tolist()
    expected = np.log(
        [joint[row, states.index(tuple(y))] for row, y in zip(np.flatnonzero(complete), codes, strict=True)]
    )
    np.testing.assert_allclose(model.log_joint(X[complete], Y[complete]), expected, atol=1e-10)


def test_subset_loss_gives_the_best_combination_of_labels():
    X, Y = problem()
    model = bntk.AMODE(numeric="category", loss="subset").fit(X, Y)
    joint, states = joint_by_the_formula(model, X, Y)
    np.testing.assert_array_equal(model.predict(X).to_numpy(), np.array(states)[joint.argmax(axis=1)])


def test_the_average_of_the_members_is_the_joint():
    X, Y = problem()
    model = bntk.AMODE(numeric="category").fit(X, Y)
    codes = np.vstack([model.features_.read(X).table.codes, model.labels_.encode(Y)])
    average = np.zeros(len(X))
    for name in Y.columns:
        network = model.member(name)
        assert network.dag.parents(name) == ()
        at = {v: i for i, v in enumerate(network.names)}
        tables = [cpt.values[tuple(codes[at[v.name]] for v in cpt.family)] for cpt in network.cpts]
        average += np.prod(tables, axis=0) / len(Y.columns)
    np.testing.assert_allclose(model.log_joint(X, Y), np.log(average), atol=1e-10)
    with pytest.raises(ValueError, match="'f0' is no class variable"):
        model.member("f0")


def test_the_bridge_is_the_best_by_the_score():
    X, Y = problem()
    for score in ("bic", "bdeu"):
        model = bntk.AMODE(numeric="category", criterion=score).fit(X, Y)
        variables = (*model.features_.variables, *model.labels_.variables())
        codes = np.vstack([model.features_.read(X).table.codes, model.labels_.encode(Y)]).astype(np.uint8)
        space = spaces.mdbnc(X.columns, Y.columns, class_shape="empty", feature_shape="empty", max_bridge_parents=2)
        best = learn_structure(bntk.Table.from_codes(codes, variables), score, space, search="exact")
        assert model.search_.exact
        assert model.search_.score == pytest.approx(best.score, abs=1e-9)


def test_loopy_propagation_is_exact_without_loops_and_close_with_them(monkeypatch):
    monkeypatch.setattr("bntk.classifiers.multidim.amode.ONE_TABLE", 1)
    X, Y = problem()
    for limit, most in ((1, 1e-5), (2, 0.1)):
        exact, loopy = (
            bntk.AMODE(numeric="category", max_bridge_parents=limit, max_entries=entries).fit(X, Y)
            for entries in (1 << 20, 1)
        )
        assert exact.inference_.startswith("exact")
        assert loopy.inference_.startswith("loopy")
        for a, b in zip(exact.predict_proba(X), loopy.predict_proba(X), strict=True):
            assert np.abs(a - b).mean() < most


LOGS = st.one_of(st.floats(-2000, 0), st.just(-np.inf))


@given(st.data(), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_a_class_that_shares_no_feature_is_summed_as_logs_would_be(data, n_states, n_rows, n_components):
    by_rows = data.draw(arrays(float, (n_states, n_rows, 1), elements=LOGS))
    own = data.draw(arrays(float, (n_states, 1, n_components), elements=LOGS))
    shares = data.draw(arrays(float, (n_rows, n_components), elements=st.floats(0, 1)))
    alone = IsolatedVariable(by_rows, own, n_rows)
    both = by_rows + own
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(both, axis=0)
    np.testing.assert_allclose(alone.log_z, log_z, rtol=1e-12, atol=1e-12)
    given_each = np.where(np.isfinite(log_z), np.exp(both - np.where(np.isfinite(log_z), log_z, 0.0)), 0.0)
    np.testing.assert_allclose(alone.marginal(shares), (given_each * shares).sum(axis=-1).T, atol=1e-12)


def test_rows_are_answered_alike_alone_and_together_and_by_any_threads(monkeypatch):
    monkeypatch.setattr("bntk.classifiers.multidim.amode.ONE_TABLE", 1)
    X, Y = problem(m=6, missing=0.1)
    model = bntk.AMODE(numeric="category", n_jobs=1).fit(X, Y)
    together = model.predict_proba(X)
    monkeypatch.setattr("bntk.inference.elimination.targets.ENTRIES_AT_ONCE", 1)  # one row at a time
    two = bntk.AMODE(numeric="category", n_jobs=2).fit(X, Y)
    for a, b, c in zip(together, model.predict_proba(X), two.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
        np.testing.assert_array_equal(b, c)


def test_many_classes_are_exact_with_few_parents():
    X, Y = problem(n=60, m=60)
    model = bntk.AMODE(numeric="category", max_bridge_parents=1).fit(X, Y)
    assert model.inference_.startswith("exact")
    assert model.predict(X).shape == (60, 60)
    with pytest.raises(TooLargeError, match="combinations of labels"):
        bntk.AMODE(loss="subset").fit(X, Y)


def test_one_class_is_naive_bayes():
    X, Y = problem()
    model = bntk.AMODE(numeric="category", max_bridge_parents=None).fit(X[["f0", "f3"]], Y[["c0"]])
    kept = model.features_in_use_
    naive = bntk.NaiveBayes(numeric="category", prior=1).fit(X[kept], Y["c0"])
    np.testing.assert_allclose(model.predict_proba(X[["f0", "f3"]])[0], naive.predict_proba(X[kept]), atol=1e-12)


def test_permuting_columns_changes_nothing():
    X, Y = problem()
    one = bntk.AMODE(numeric="category").fit(X, Y)
    other = bntk.AMODE(numeric="category").fit(X[X.columns[::-1]], Y[Y.columns[::-1]])
    assert other.search_.score == pytest.approx(one.search_.score, rel=1e-12)
    for a, b in zip(one.predict_proba(X), other.predict_proba(X[X.columns[::-1]])[::-1], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_it_is_an_estimator_of_scikit_learn():
    X, Y = problem()
    model = bntk.AMODE(criterion="bdeu", prior=0.5)
    assert model.get_params()["criterion"] == "bdeu"
    assert clone(model).get_params() == model.get_params()
    model.fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    pd.testing.assert_frame_equal(again.predict(X), model.predict(X))
    assert 0.6 < model.score(X, Y) < 1
    assert list(model.predict(X).columns) == list(Y.columns)


def test_the_same_data_give_the_same_classifier(fitted):
    model, X, Y = fitted
    again = bntk.AMODE(numeric="category", n_jobs=2).fit(X, Y)
    for a, b in zip(model.predict_proba(X), again.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)
