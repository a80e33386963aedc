"""k-dependence classifiers and superparents beside plain statements of the algorithms."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import oracle_json, oracle_table
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.errors import TooLargeError
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.scores import BIC, LOO, Accuracy, Score
from bntk.learning.search.k_dependence import feature_information

Rows = list[list[int]]


def features_and_class(table: bntk.Table, target: str) -> tuple[bntk.Table, np.ndarray]:
    states = np.array(table.variables[table.names.index(target)].states, dtype=object)
    return table.select([name for name in table.names if name != target]), states[table.column(target)]


def frame(rows: Rows) -> tuple[dict[str, list[str]], list[int]]:
    """Columns a, b, c ... of labels, and the classes, which are the last cells."""
    *columns, y = (list(column) for column in zip(*rows, strict=True))
    return {"abcdefgh"[k]: [f"s{cell}" for cell in column] for k, column in enumerate(columns)}, y


def some_rows(n_features: int = 4) -> st.SearchStrategy[Rows]:
    row = st.tuples(*[st.integers(0, 2)] * n_features, st.integers(0, 1)).map(list)
    return st.lists(row, min_size=6, max_size=25).filter(lambda rows: len({row[-1] for row in rows}) == 2)


# ---- Sahami's algorithm --------------------------------------------------------------------------------------------


def entropy(rows: Rows, columns: tuple[int, ...]) -> float:
    cells = [tuple(row[c] for c in columns) for row in rows]
    return -sum(share * math.log(share) for share in (cells.count(cell) / len(cells) for cell in set(cells)))


def sahami(rows: Rows, k: int) -> list[set[int]]:
    """The feature parents of each feature: information on the class decides the order, CMI the parents."""
    n = len(rows[0]) - 1
    mi = [entropy(rows, (i,)) + entropy(rows, (n,)) - entropy(rows, (i, n)) for i in range(n)]
    parents: list[set[int]] = [set() for _ in range(n)]
    done: list[int] = []
    while len(done) < n:
        feature = max((i for i in range(n) if i not in done), key=lambda i: (round(mi[i], 9), -i))

        def cmi(j: int, i: int = feature) -> float:
            return entropy(rows, (i, n)) + entropy(rows, (j, n)) - entropy(rows, (i, j, n)) - entropy(rows, (n,))

        parents[feature] = set(sorted(done, key=lambda j: (-round(cmi(j), 9), j))[:k])
        done.append(feature)
    return parents


@settings(deadline=None)
@given(some_rows(), st.integers(0, 3))
def test_kdb_is_sahamis_algorithm(rows: Rows, k: int) -> None:
    X, y = frame(rows)
    kdb = bntk.KDB(k).fit(X, y)
    assume(all(variable.n_states > 1 for variable in kdb.features_.variables))  # constant ones have no arcs
    names = list(X)
    expected = {(names[p], names[i]) for i, parents in enumerate(sahami(rows, k)) for p in parents}
    assert {arc for arc in kdb.dag_.arcs if arc[0] != "class"} == expected
    assert all("class" in kdb.dag_.parents(name) for name in names)


@pytest.mark.parametrize("name", ["mixed", "mixed_missing", "binary", "sparse"])
def test_mutual_information_is_that_of_bnclassify(name: str) -> None:
    table, reference = oracle_table(name), oracle_json(f"{name}_cmi")
    target = table.names.index("class")
    features = [k for k in range(len(table.names)) if k != target]
    found = feature_information(TableCounter(table), target, features)
    names = [table.names[k] for k in features]
    expected = [reference["mi_with_class_nats"][name] for name in names]
    np.testing.assert_allclose(found.with_class, expected, rtol=1e-9, atol=1e-12)
    for pair in reference["pairs"]:
        one, other = names.index(pair["x"]), names.index(pair["y"])
        assert found.given_class[one, other] == pytest.approx(pair["cmi_nats"], rel=1e-9)
        assert found.given_class[other, one] == found.given_class[one, other]


def test_zero_parents_are_naive_bayes() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    naive = bntk.NaiveBayes(prior=1).fit(X, y)
    for none in (bntk.KDB(0, prior=1), bntk.KDB(k=0, prior="backoff")):
        np.testing.assert_allclose(none.fit(X, y).predict_proba(X), naive.predict_proba(X), rtol=1e-12)


def test_the_order_of_columns_does_not_matter() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    turned = X.select(X.names[::-1])
    for classifier in (bntk.KDB(2), bntk.SelectiveKDB(2), bntk.SPODE()):
        one = classifier.fit(X, y)
        arcs, score, posterior = set(one.dag_.arcs), one.search_.score, one.predict_proba(X)
        other = classifier.fit(turned, y)
        assert set(other.dag_.arcs) == arcs
        assert other.search_.score == pytest.approx(score, rel=1e-12)
        np.testing.assert_allclose(other.predict_proba(turned), posterior, rtol=1e-9)


def test_a_row_with_weight_two_is_two_rows() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    weights = 1 + np.arange(X.n_rows) % 2
    twice = np.repeat(np.arange(X.n_rows), weights)
    weighted = bntk.KDB(2).fit(X, y, sample_weight=weights)
    repeated = bntk.KDB(2).fit(X.take(twice), y[twice])
    assert weighted.dag_ == repeated.dag_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("name", ["mixed", "binary"])
def test_hill_climbing_ends_where_bnclassify_does(name: str) -> None:
    run = oracle_json(f"{name}_wrappers")
    table = oracle_table(name)
    X, y = features_and_class(table, "class")
    classifier = bntk.KDB(2, search="hc", criterion=Accuracy(folds=fold_numbers(run, table.n_rows)), prior=1.0)
    check_end(classifier.fit(X, y), run["kdb"], table)


@pytest.mark.parametrize("name", ["mixed", "binary"])
@pytest.mark.parametrize(("search", "recorded"), [("hc", "tan_hc"), ("superparent", "tan_hcsp")])
def test_tan_by_steps_ends_where_bnclassify_does(name: str, search: str, recorded: str) -> None:
    run = oracle_json(f"{name}_wrappers")
    table = oracle_table(name)
    X, y = features_and_class(table, "class")
    classifier = bntk.TAN(search=search, criterion=Accuracy(folds=fold_numbers(run, table.n_rows)), prior=1.0)
    check_end(classifier.fit(X, y), run[recorded], table)


def fold_numbers(runs: dict[str, Any], n_rows: int) -> np.ndarray:
    numbers = np.empty(n_rows, dtype=int)
    for fold, rows in enumerate(runs["folds"]["test_folds_1based"]):
        numbers[np.array(rows) - 1] = fold
    return numbers


def check_end(classifier: Any, run: dict[str, Any], table: bntk.Table) -> None:
    assert set(classifier.dag_.arcs) == {tuple(arc) for arc in run["arcs"]}
    assert classifier.search_.score == pytest.approx(run["scores_log"][-1], abs=1e-9)
    assert classifier.network_.n_parameters == run["nparams"]
    likelihood = classifier.network_.log_likelihood(table.select(classifier.dag_.nodes))
    assert likelihood == pytest.approx(run["logLik"], rel=1e-9)


# ---- TAN ---------------------------------------------------------------------------------------------------------


def test_a_score_of_predictions_makes_tan_go_by_steps() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    automatic, named = bntk.TAN(criterion=LOO()).fit(X, y), bntk.TAN(criterion="loo", search="hc").fit(X, y)
    assert automatic.dag_ == named.dag_
    assert "GreedyAdditions" in automatic.search_.search


@pytest.mark.parametrize("search", ["auto", "hc", "superparent"])
def test_the_root_of_tan_has_no_feature_as_parent(search: str) -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    for root in X.names:
        tan = bntk.TAN(search=search, criterion="bic", root=root).fit(X, y)
        assert tan.dag_.parents(root) == ("class",)
        assert all(len(tan.dag_.parents(name)) <= 2 for name in X.names)


def best_by_hand(table: bntk.Table, score: Score, arcs: list[tuple[str, str]]) -> tuple[float, list[float]]:
    """The score of a structure, and that of each structure with one more legal arc of either direction."""
    *features, target = table.names
    value = bntk.score(bntk.DAG(table.names, arcs), table, score)
    ahead = []
    for tail, head in permutations(features, 2):
        above = {tail}
        while grown := {a for a, b in arcs if b in above and a != target} - above:
            above |= grown
        if head not in above and all(b != head or a == target for a, b in arcs):
            ahead.append(bntk.score(bntk.DAG(table.names, [*arcs, (tail, head)]), table, score))
    return value, ahead


@pytest.mark.parametrize("kind", [LOO, partial(LOO, alpha=0.5), Accuracy])
@pytest.mark.parametrize("name", ["mixed", "binary", "sparse"])
def test_each_step_takes_the_best_legal_arc_of_either_direction(name: str, kind: Any) -> None:
    table = oracle_table(name)
    folds = {"folds": np.arange(table.n_rows) % 5} if kind is Accuracy else {}
    criterion = kind(target="class", **folds)
    table = table.select([*(v for v in table.names if v != "class"), "class"])
    X, y = features_and_class(table, "class")
    tan = bntk.TAN(search="hc", criterion=criterion, epsilon=0.001, both_directions=True).fit(X, y)
    arcs = [("class", feature) for feature in X.names]
    for step in tan.search_.trace[1:]:
        value, ahead = best_by_hand(table, criterion, arcs)
        assert step.score == pytest.approx(max(ahead), rel=1e-9)
        assert step.score >= value + 0.001 - 1e-9
        tail, head = step.what.removeprefix("add ").split(" -> ")
        arcs.append((tail, head))
        assert bntk.score(bntk.DAG(table.names, arcs), table, criterion) == pytest.approx(step.score, rel=1e-9)
    value, ahead = best_by_hand(table, criterion, arcs)
    assert max(ahead, default=-np.inf) < value + 0.001
    assert set(tan.dag_.arcs) == set(arcs)


def test_by_default_one_direction_is_tried_as_in_bnclassify() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    default = bntk.TAN(search="hc", criterion="loo").fit(X, y)
    both = bntk.TAN(search="hc", criterion="loo", both_directions=True).fit(X, y)
    assert default.dag_ == bntk.TAN(search="hc", criterion="loo", both_directions=False).fit(X, y).dag_
    assert both.search_.n_evaluated > default.search_.n_evaluated
    assert both.dag_ != default.dag_


# ---- selective k-dependence ------------------------------------------------------------------------------------------


def kdb_rows(seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=24)
    columns = [(y + (rng.random(24) < 0.3)) % 2, rng.integers(3, size=24), y ^ (rng.random(24) < 0.4)]
    return np.column_stack([*columns, y]).astype(int).tolist()


@cache
def refitted_posteriors(seed: int, k: int, alpha: float) -> list[list[list[float]]]:
    """P(class | features) of each row with the first 0, 1, 2 ... features, by fitting a network without it."""
    rows = kdb_rows(seed)
    n = len(rows[0]) - 1
    X, y = frame(rows)
    names, order = list(X), sahami_order(rows)
    parents = sahami(rows, k)
    whole = bntk.Table.from_columns({**X, "class": y})
    posteriors = []
    for used in range(n + 1):
        arcs = [("class", names[i]) for i in order[:used]]
        arcs += [(names[p], names[i]) for i in order[:used] for p in parents[i]]
        posteriors.append(list[list[float]]())
        for out in range(len(rows)):
            rest = whole.take([i for i in range(len(rows)) if i != out])
            network = bntk.fit(DAG([*names, "class"], arcs), rest, prior=alpha)
            posterior = network.query("class", {name: X[name][out] for name in names})
            posteriors[-1].append([posterior.probability({"class": c}) for c in (0, 1)])
    return posteriors


def refitted_losses(seed: int, k: int, alpha: float, loss: str) -> list[float]:
    """The leave-one-out loss with the first 0, 1, 2 ... features."""
    y = [row[-1] for row in kdb_rows(seed)]
    losses = []
    for posteriors in refitted_posteriors(seed, k, alpha):
        total = 0.0
        for posterior, label in zip(posteriors, y, strict=True):
            own = posterior[label]
            if loss == "rmse":
                total += (1 - own) ** 2
            elif loss == "log":
                total -= math.log(own)
            else:
                total += int(posterior[1] > posterior[0] * (1 + 1e-9)) != label
        losses.append(math.sqrt(total / len(y)) if loss == "rmse" else total / len(y))
    return losses


def sahami_order(rows: Rows) -> list[int]:
    n = len(rows[0]) - 1
    mi = [entropy(rows, (i,)) + entropy(rows, (n,)) - entropy(rows, (i, n)) for i in range(n)]
    return sorted(range(n), key=lambda i: (-round(mi[i], 9), i))


@pytest.mark.parametrize("loss", ["rmse", "log", "zero_one"])
@pytest.mark.parametrize("seed", range(3))
def test_selective_kdb_equals_refitting_without_each_row(loss: str, seed: int) -> None:
    X, classes = frame(kdb_rows(seed))
    chosen = bntk.SelectiveKDB(2, loss=loss, prior=0.7).fit(X, classes)
    losses = np.array([refitted_losses(seed, k, 0.7, loss) for k in range(3)])
    assert chosen.search_.score == pytest.approx(-losses.min(), rel=1e-9)
    k, used = np.unravel_index(int(np.argmax(losses <= losses.min() + 1e-9)), losses.shape)
    assert (chosen.k_, chosen.n_features_used_) == (k, used)
    best_of_k = [step.score for step in chosen.search_.trace]
    np.testing.assert_allclose(best_of_k, -losses.min(axis=1), rtol=1e-9)


def many_states(missing: float = 0.05) -> tuple[pd.DataFrame, pd.Series]:
    """Features of some hundred labels each, whose tables given a few others would fill any memory."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1000)
    X = pd.DataFrame({f"x{i}": 1000 + (rng.integers(0, 60, 1000) + y * 20 * (i + 1)) % 150 for i in range(8)})
    return ("s" + X.astype(str)).mask(rng.random(X.shape) < missing), pd.Series(np.array(list("abc"))[y], name="y")


def test_of_many_states_so_many_parents_are_taken_as_there_is_room_for(tmp_path: Path) -> None:
    X, y = many_states()
    chosen = bntk.SelectiveKDB().fit(X, y)
    assert chosen.predict_proba(X[:5]).shape == (5, 3)
    assert max(cpt.values.size for cpt in chosen.network_.cpts) < 2**27 / 9
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    scanned = bntk.SelectiveKDB().fit(bntk.scan(tmp_path / "rows.csv"), "y")
    assert scanned.dag_ == chosen.dag_
    with pytest.raises(TooLargeError, match=r"fewer parents \(max_parents of a space, k of KDB\)"):
        bntk.KDB(5).fit(X, y)


@pytest.mark.parametrize("loss", ["log", "rmse"])
def test_tables_over_the_limit_are_not_chosen(loss: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (400, 4))
    X = "s" + pd.DataFrame(codes, columns=list("abcd")).astype(str)
    y = pd.Series((codes.sum(axis=1) % 3).astype(str), name="y")  # all four together
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    free = bntk.SelectiveKDB(loss=loss).fit(X, y)
    assert free.k_ == 3
    monkeypatch.setattr("bntk.learning.search.selection_in_passes.search_limit", lambda n: 3**4)  # two features above
    bounded = bntk.SelectiveKDB(loss=loss).fit(X, y)
    scanned = bntk.SelectiveKDB(loss=loss).fit(bntk.scan(tmp_path / "rows.csv"), "y")
    assert bounded.k_ <= 2
    assert scanned.dag_ == bounded.dag_
    assert [step.score for step in bounded.search_.trace] == pytest.approx([s.score for s in scanned.search_.trace])
    assert bounded.search_.trace[0].score == free.search_.trace[0].score


def test_selective_kdb_with_all_features_is_kdb() -> None:
    X, y = features_and_class(oracle_table("mixed"), "class")
    chosen = bntk.SelectiveKDB(3, loss="log").fit(X, y)
    same = bntk.KDB(chosen.k_).fit(X, y)
    used = {name for name in X.names if chosen.dag_.parents(name)}
    assert len(used) == chosen.n_features_used_
    for name in used:
        assert chosen.dag_.parents(name) == same.dag_.parents(name)
    assert set(chosen.features_in_use_) == used


def test_features_that_say_nothing_are_not_used() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = {"copy": np.where(rng.random(400) < 0.1, 1 - y, y).astype(str), "noise": rng.integers(9, size=400).astype(str)}
    chosen = bntk.SelectiveKDB().fit(X, y)
    assert chosen.features_in_use_ == ["copy"]
    assert (chosen.k_, chosen.n_features_used_) == (0, 1)


# ---- superparents ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["loo", BIC(), Accuracy(folds=5)])
@pytest.mark.parametrize("name", ["mixed", "binary"])
def test_the_superparent_is_the_best_of_all(name: str, score: Any) -> None:
    X, y = features_and_class(oracle_table(name), "class")
    best = bntk.SPODE(criterion=score).fit(X, y)
    each = {parent: bntk.SPODE(criterion=score, superparent=parent).fit(X, y).search_.score for parent in X.names}
    top = max(each.values())
    assert best.superparent_ == next(parent for parent in X.names if each[parent] >= top - 1e-9)
    assert best.search_.score == pytest.approx(top, rel=1e-12)
    for parent in X.names:
        rule = LOO("class") if score == "loo" else score
        rule = rule.with_target("class") if isinstance(rule, Accuracy) else rule
        arcs = [("class", other) for other in X.names] + [(parent, other) for other in X.names if other != parent]
        table = bntk.Table.from_frame(X.to_pandas().assign(**{"class": y}))
        assert each[parent] == pytest.approx(bntk.score(DAG([*X.names, "class"], arcs), table, rule), rel=1e-9)


# ---- all of them -----------------------------------------------------------------------------------------------------

EVERY = [
    bntk.KDB(2), bntk.KDB(2, search="hc"), bntk.SelectiveKDB(3), bntk.SPODE(), bntk.TAN(search="hc"),
    bntk.TAN(search="superparent"),
]  # fmt: skip


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_missing_cells_are_no_obstacle(classifier: Any) -> None:
    X, y = features_and_class(oracle_table("mixed_missing"), "class")
    fitted = classifier.fit(X, y)
    posterior = fitted.predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert fitted.score(X, y) > np.mean(y == max(set(y), key=y.tolist().count))


@pytest.mark.parametrize("classifier", EVERY, ids=repr)
def test_one_feature_is_naive_bayes(classifier: Any) -> None:
    X = {"only": ["a", "a", "b", "b", "c", "c"] * 3}
    y = [0, 0, 1, 1, 0, 1] * 3
    one, naive = clone(classifier).set_params(prior=1).fit(X, y), bntk.NaiveBayes(prior=1).fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), naive.predict_proba(X))


def test_wrong_options_are_refused_by_name() -> None:
    X, y = {"a": ["x", "y"] * 5}, [0, 1] * 5
    with pytest.raises(ValueError, match="k must be a whole number from 0, not -1"):
        bntk.KDB(-1).fit(X, y)
    with pytest.raises(ValueError, match="max_k must be a whole number from 0"):
        bntk.SelectiveKDB(1.5).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="loss must be 'rmse'"):
        bntk.SelectiveKDB(loss="brier").fit(X, y)
    with pytest.raises(ValueError, match="search='sideways'"):
        bntk.KDB(search="sideways").fit(X, y)


@parametrize_with_checks([bntk.KDB(2), bntk.KDB(1, search="hc"), bntk.SelectiveKDB(2), bntk.SPODE()])
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)
