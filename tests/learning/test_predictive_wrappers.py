"""Every candidate of the wrapper searches of R's bnclassify has the same accuracy here."""

from __future__ import annotations

import numpy as np
import pytest
from references import declared, oracle_json, oracle_table, read_json, shared

import bntk
from bntk.learning.counts import TableCounter
from bntk.learning.scores import Accuracy

ALGORITHMS = ["fssj", "bsej", "tan_hc", "tan_hcsp", "kdb"]


def fold_numbers(test_rows, n):
    numbers = np.full(n, -1)
    for fold, rows in enumerate(test_rows.values() if isinstance(test_rows, dict) else test_rows):
        numbers[np.array(rows) - 1] = fold
    assert (numbers >= 0).all()
    return numbers


def as_change(evaluator, candidate):
    """The parents of all features: the class for those in the model, and other features by its arcs."""
    where = {name: k for k, name in enumerate(evaluator.names)}
    change = {k: frozenset() for k in range(len(where))}
    for feature in candidate["features"]:
        change[where[feature]] = frozenset([evaluator.target])
    for tail, head in candidate["arcs"]:
        change[where[head]] |= {where[tail]}
    return change


def candidates(table, target, run, folds):
    """The evaluator without features, and each candidate as a change, with our score and the recorded one."""
    assert run["smooth"] == 1
    evaluator = Accuracy(fold_numbers(folds, table.n_rows), target=target).evaluator(TableCounter(table))
    changes = [as_change(evaluator, candidate) for step in run["trace"] for candidate in step["candidates"]]
    recorded = np.array([score for step in run["trace"] for score in step["scores"]])
    assert len(changes) > 1
    return evaluator, changes, evaluator.total() + evaluator.change_gains(changes), recorded


def share_left_to_chance(evaluator, change):
    """Of the rows whose label bnclassify draws: those with two classes whose probabilities differ by less than 1e-5."""
    evaluator.change(change)
    first, second = np.sort(evaluator._class_scores(), axis=0)[-1:-3:-1]
    return evaluator._row_weights[first - second < 1e-5].sum()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["binary", "mixed", "sparse"])
def test_candidates_on_generated_data_agree_with_bnclassify(name, algorithm):
    record = oracle_json(f"{name}_wrappers")
    folds = record["folds"]["test_folds_1based"]
    _, _, ours, recorded = candidates(oracle_table(name), "class", record[algorithm], folds)
    np.testing.assert_allclose(ours, recorded, rtol=0, atol=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["car", "voting_complete"])
def test_candidates_on_known_data_agree_with_bnclassify(name, algorithm):
    record = read_json(shared(f"oracle/bnclassify/{name}_wrappers.json.gz"))
    variables = declared(shared(f"oracle/bnclassify/{name}.levels.json"))
    table = bntk.read_table(shared(f"oracle/bnclassify/{name}.csv"), variables=variables, unseen="error")
    runs = [run for run in record.values() if run["alg"] == algorithm]
    assert runs
    for run in runs:
        evaluator, changes, ours, recorded = candidates(table, table.names[-1], run, run["test_folds_1based"])
        differing = np.flatnonzero(np.abs(ours - recorded) > 1e-9)
        assert len(differing) <= 1  # one candidate of all of these
        for k in differing:
            assert abs(ours[k] - recorded[k]) <= share_left_to_chance(evaluator, changes[k]) + 1e-9
