"""Semi-naive Bayes: what is joined, what is left out, and R's bnclassify beside it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from references import oracle_json, oracle_table
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.graph.dag import DAG
from bntk.learning.scores import BIC, LOO, Accuracy

SEARCHES = ["fssj", "bsej", "filter"]


def features_and_class(table: bntk.Table, target: str = "class") -> tuple[bntk.Table, np.ndarray]:
    states = np.array(table.variables[table.names.index(target)].states, dtype=object)
    return table.select([name for name in table.names if name != target]), states[table.column(target)]


def exclusive_or(seed: int, n_rows: int = 400) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The class is the exclusive or of a and b, both nearly fair; c and d are noise."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(2, size=(4, n_rows))
    y = bits[0] ^ bits[1]
    return {name: column.astype(str) for name, column in zip("abcd", bits, strict=True)}, y


@pytest.mark.parametrize("search", ["fssj", "bsej"])
@pytest.mark.parametrize("name", ["mixed", "binary"])
def test_the_end_is_that_of_bnclassify(name: str, search: str) -> None:
    runs, table = oracle_json(f"{name}_wrappers"), oracle_table(name)
    run = runs[search]
    folds = np.empty(table.n_rows, dtype=int)
    for fold, rows in enumerate(runs["folds"]["test_folds_1based"]):
        folds[np.array(rows) - 1] = fold
    X, y = features_and_class(table)
    semi = bntk.SemiNaiveBayes(search=search, criterion=Accuracy(folds=folds), prior=1.0).fit(X, y)
    assert set(semi.dag_.arcs) == {tuple(arc) for arc in run["arcs"]}
    assert set(semi.features_in_use_) == set(run["features"])
    np.testing.assert_allclose(semi.search_.trace_frame()["score"], run["scores_log"], rtol=0, atol=1e-9)
    used = [*run["features"], "class"]
    cpts = [semi.network_.cpt(name) for name in used]
    small = bntk.BayesianNetwork(DAG(used, run["arcs"]), [cpts[used.index(name)] for name in used])
    assert small.n_parameters == run["nparams"]
    assert small.log_likelihood(table.select(used)) == pytest.approx(run["logLik"], rel=1e-9)


def test_bsej_finds_an_exclusive_or_that_naive_bayes_cannot_see() -> None:
    X, y = exclusive_or(0)
    semi = bntk.SemiNaiveBayes(search="bsej").fit(X, y)
    assert ("b", "a") in semi.dag_.arcs
    assert semi.score(X, y) == 1
    assert bntk.NaiveBayes().fit(X, y).score(X, y) < 0.7


def test_the_filter_joins_what_depends_and_leaves_out_what_says_nothing() -> None:
    X, y = exclusive_or(1)
    X["e"] = np.where(np.random.default_rng(5).random(len(y)) < 0.2, 1 - y, y).astype(str)
    semi = bntk.SemiNaiveBayes(search="filter").fit(X, y)
    assert {step.what for step in semi.search_.trace} == {"start", "join a to b", "remove c", "remove d"}
    assert semi.features_in_use_ == ["a", "b", "e"]
    assert semi.score(X, y) == 1


def test_the_filter_goes_where_no_feature_and_no_pair_of_groups_is_worth_a_step() -> None:
    table = oracle_table("mixed")
    X, y = features_and_class(table)
    semi = bntk.SemiNaiveBayes(search="filter").fit(X, y)
    arcs = set(semi.dag_.arcs)
    here = bntk.score(semi.dag_, table, BIC())
    groups: dict[frozenset[str], list[str]] = {}
    for name in semi.features_in_use_:
        near = {tail for tail, head in arcs if head == name} | {head for tail, head in arcs if tail == name}
        groups.setdefault(frozenset(near - {"class"} | {name}), []).append(name)
    assert len(groups) < len(X.names)
    for name in semi.features_in_use_:
        rest = [arc for arc in arcs if name not in arc]
        assert bntk.score(DAG(semi.dag_.nodes, rest), table, BIC()) < here + 0.01
    for one, other in combinations(groups, 2):
        more = [(tail, head) for tail in other for head in one]
        assert bntk.score(DAG(semi.dag_.nodes, [*arcs, *more]), table, BIC()) < here + 0.01


def test_groups_are_no_larger_than_allowed() -> None:
    X, y = features_and_class(bntk.datasets.asia().sample(2000, seed=1), "dysp")
    free = bntk.SemiNaiveBayes(search="filter").fit(X, y)
    assert max(len(free.dag_.parents(name)) for name in X.names) > 2
    pairs = bntk.SemiNaiveBayes(search="filter", max_parents=2).fit(X, y)
    assert max(len(pairs.dag_.parents(name)) for name in X.names) == 2


def test_any_score_can_judge() -> None:
    X, y = exclusive_or(2)
    for score in ("loo", "bdeu", LOO(alpha=0.5), Accuracy(folds="loo"), BIC()):
        semi = bntk.SemiNaiveBayes(search="bsej", criterion=score).fit(X, y)
        assert semi.score(X, y) == 1


@pytest.mark.parametrize("search", SEARCHES)
def test_missing_cells_are_no_obstacle(search: str) -> None:
    X, y = features_and_class(oracle_table("mixed_missing"))
    semi = bntk.SemiNaiveBayes(search=search).fit(X, y)
    np.testing.assert_allclose(semi.predict_proba(X).sum(axis=1), 1)
    assert semi.score(X, y) > 0.8


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_seed_gives_the_same_classifier(search: str) -> None:
    X, y = features_and_class(oracle_table("mixed"))

    def fitted(**options: Any) -> bntk.SemiNaiveBayes:
        return bntk.SemiNaiveBayes(search=search, **options).fit(X, y)

    one, other = fitted(random_state=3), fitted(random_state=3, n_jobs=1)
    assert one.dag_ == other.dag_
    assert one.search_.score == other.search_.score


def test_without_a_score_the_prior_of_the_classifier_judges() -> None:
    X, y = features_and_class(oracle_table("mixed"))
    default = bntk.SemiNaiveBayes(search="bsej", prior=0.3, random_state=4).fit(X, y)
    spelled = bntk.SemiNaiveBayes(search="bsej", prior=0.3, criterion=Accuracy(prior=0.3, seed=4)).fit(X, y)
    assert default.search_.trace[-1].score == spelled.search_.trace[-1].score
    assert default.dag_ == spelled.dag_


@parametrize_with_checks([bntk.SemiNaiveBayes(search=search) for search in SEARCHES])
def test_scikit_learn_finds_nothing_to_complain_about(estimator: Any, check: Any) -> None:
    check(estimator)
