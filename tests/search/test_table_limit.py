"""A search chooses only structures whose tables can be stored."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

import bntk
from bntk.errors import TooLargeError

LIMIT = 40


@pytest.fixture
def rows(monkeypatch):
    """Rows in which everything depends on everything, so that likelihood wants as many parents as possible."""
    monkeypatch.setattr("bntk.cpt.LEAST_SEARCH_ENTRIES", LIMIT)
    monkeypatch.setattr("bntk.cpt.MAX_TABLE_ENTRIES", LIMIT)
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 6, 400)
    return {f"x{i}": (hidden + rng.integers(0, 3, 400)) % (2 + i % 3) for i in range(6)}


def largest(dag: bntk.DAG, rows: dict) -> int:
    cards = {name: len(set(column.tolist())) for name, column in rows.items()}
    return max(cards[node] * math.prod(cards[p] for p in dag.parents(node)) for node in dag.nodes)


@pytest.mark.parametrize("score", ["loglik", "aic"])
@pytest.mark.parametrize("search", ["auto", "hc", "tabu", "order", "exact"])
def test_searches_keep_tables_within_the_limit(rows, score, search):
    found = bntk.learn_structure(rows, score, search=search)
    assert 10 < largest(found.dag, rows) <= LIMIT
    assert math.isfinite(found.score)
    assert found.score == pytest.approx(bntk.score(found.dag, rows, score))


def test_restarts_keep_tables_within_the_limit(rows):
    search = bntk.search.HillClimbing(restarts=20, perturb=15)
    for score in ("loglik", bntk.scores.LOO("x0")):
        found = bntk.learn_structure(rows, score, search=search, seed=3)
        assert largest(found.dag, rows) <= LIMIT


def test_the_exact_search_is_the_best_within_the_limit(rows):
    few = {name: rows[name] for name in ("x0", "x1", "x2", "x3")}
    found = bntk.learn_structure(few, "loglik", search="exact")
    best = -math.inf
    # Without penalty a complete DAG is best; within the limit, each node takes the best set of those before it.
    for order in permutations(few):
        total = 0.0
        for place, node in enumerate(order):
            sets = [some for n in range(place + 1) for some in combinations(order[:place], n)]
            dags = [bntk.DAG([*few], [(p, node) for p in some]) for some in sets]
            fitting = [dag for dag in dags if largest(dag, few) <= LIMIT]
            total += max(bntk.scores.score_by_node(dag, few, "loglik")[node] for dag in fitting)
        best = max(best, total)
    assert found.score == pytest.approx(best)


@pytest.mark.parametrize("criterion", [bntk.scores.LOO("x0"), bntk.scores.Accuracy(target="x0", folds=5)])
def test_predictive_scores_keep_tables_within_the_limit(rows, criterion):
    found = bntk.learn_structure(rows, criterion, search="hc")
    assert largest(found.dag, rows) <= LIMIT


def test_a_structure_that_must_have_too_large_a_table_is_refused_with_its_size(rows):
    space = bntk.spaces.dag(rows).restrict(required=[(f"x{i}", "x5") for i in range(4)])
    with pytest.raises(TooLargeError, match=r"x5.*entries"):
        bntk.learn_structure(rows, "bic", space, search="hc")


def test_scoring_a_given_structure_has_no_limit(rows):
    dag = bntk.DAG([*rows], [(f"x{i}", "x5") for i in range(4)])
    assert math.isfinite(bntk.score(dag, rows, "bic"))
