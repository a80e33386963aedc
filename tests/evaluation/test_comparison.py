"""Comparison over data sets: ranks and tests, failures, and a cache that survives being killed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import run_script
from scipy import stats
from sklearn.dummy import DummyClassifier

import bntk
from bntk.errors import DataError, EvaluationError, UnknownNameError
from bntk.evaluation import Comparison, compare, cross_validate

SECONDS = ["fit_seconds", "predict_seconds"]
MODELS = {"nb": bntk.NaiveBayes(), "tan": bntk.TAN(), "aode": bntk.AODE(), "none": DummyClassifier()}


def rows(name: str, n: int = 150):
    sample = bntk.datasets.network(name).sample(n, seed=1).to_pandas().astype(object)
    return sample.iloc[:, :-1], sample.iloc[:, -1]


DATA = {name: rows(name) for name in ("asia", "cancer", "survey", "student", "fire")}


@pytest.fixture(scope="module")
def result() -> Comparison:
    return compare(MODELS, DATA, cv=3, repeats=2, scoring=["log_loss", "accuracy"])


def test_each_data_set_is_cross_validated(result):
    for name, (X, y) in DATA.items():
        one = cross_validate(MODELS, X, y, cv=3, repeats=2, scoring=["log_loss", "accuracy"])
        part = result.frame[result.frame["dataset"] == name].drop(columns=["dataset", *SECONDS])
        pd.testing.assert_frame_equal(part.reset_index(drop=True), one.frame.drop(columns=SECONDS))
        for model in MODELS:
            assert result.means.loc[name, model] == pytest.approx(one.values(model).mean())
            assert result.deviations.loc[name, model] == pytest.approx(one.values(model).std())
    assert result.times.loc[("asia", "tan"), "fit_seconds"] > 0
    assert result.n_computed == 5 * 4 * 6


def test_ranks_and_tests_are_those_of_scipy(result):
    for measure, sign in (("log_loss", 1), ("accuracy", -1)):
        by = result.by(measure)
        rounded = by.means.map(lambda v: float(f"{v:.12g}"))
        np.testing.assert_array_equal(by.ranks, [stats.rankdata(sign * row) for row in rounded.to_numpy()])
        expected = stats.friedmanchisquare(*rounded.to_numpy().T)
        assert by.friedman.statistic == pytest.approx(expected.statistic)
        assert by.friedman.p == pytest.approx(expected.pvalue)
        gap = abs(by.ranks["nb"].mean() - by.ranks["none"].mean()) / np.sqrt(4 * 5 / (12 * 5))
        assert by.nemenyi.p.loc["nb", "none"] == pytest.approx(stats.studentized_range.sf(gap, 4, np.inf))
        pair = by.pairs.loc[("nb", "none")]
        assert pair["paired_t"] == pytest.approx(stats.ttest_rel(rounded["nb"], rounded["none"]).pvalue)
        assert pair["wilcoxon"] == pytest.approx(stats.wilcoxon(rounded["nb"], rounded["none"]).pvalue)
        assert pair["wilcoxon_holm"] >= pair["wilcoxon"]
        assert pair["nemenyi"] == by.nemenyi.p.loc["nb", "none"]
        better = sign * (rounded["nb"] - rounded["none"]) < 0
        assert (pair["wins"], pair["losses"] + pair["ties"]) == (better.sum(), (~better).sum())


def test_two_estimators_are_compared_on_each_data_set_split_by_split(result):
    found = result.differences("tan", "nb")
    part = result.frame[result.frame["dataset"] == "survey"]
    first, second = (part.loc[part["estimator"] == name, "log_loss"].to_numpy() for name in ("tan", "nb"))
    corrected = bntk.evaluation.corrected_t(first, second, part["n_train"], part["n_test"])
    assert found.loc["survey", "difference"] == pytest.approx(corrected.mean)
    assert found.loc["survey", "corrected_t"] == pytest.approx(corrected.p)
    assert found.loc["survey", "paired_t"] == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_rank_correlations_are_spearmans_with_larger_is_better(result):
    found = result.rank_correlation("log_loss", "accuracy")
    means = {m: result.by(m).means for m in ("log_loss", "accuracy")}
    for name in DATA:
        loss, accuracy = means["log_loss"].loc[name], means["accuracy"].loc[name]
        if len(set(accuracy.round(12))) > 1:
            expected = stats.spearmanr(-loss.round(12), accuracy.round(12)).statistic
            assert found.by_dataset[name] == pytest.approx(expected)
        else:
            assert np.isnan(found.by_dataset[name])
    assert found.mean == pytest.approx(np.nanmean(found.by_dataset))
    assert result.rank_correlation("log_loss", "log_loss").mean == pytest.approx(1)
    assert result.rank_correlation("log_loss", "log_loss").pooled == pytest.approx(1)


def test_the_summary_counts_wins_and_sorts_by_rank(result):
    told = result.summary()
    assert told["mean_rank"].is_monotonic_increasing
    best = result.means.round(12).eq(result.means.round(12).min(axis=1), axis=0).sum()
    assert told["wins"].to_dict() == best.to_dict()
    assert "by log_loss" in repr(result)
    assert "Friedman" in repr(result)


def test_data_sets_may_be_read_when_it_is_their_turn():
    read = []

    def reader(name):
        return lambda: read.append(name) or DATA[name]

    found = compare({"nb": bntk.NaiveBayes()}, {name: reader(name) for name in ("asia", "fire")}, cv=2)
    assert read == ["asia", "fire"]
    assert found.datasets == ["asia", "fire"]
    with pytest.raises(DataError, match="there is one estimator"):
        found.ranks


def test_a_failure_names_data_set_estimator_and_split():
    class Picky(DummyClassifier):
        def fit(self, X, y):
            if "smoke" in X.columns:
                raise RuntimeError("no smoking")
            return super().fit(X, y)

    models = {"nb": bntk.NaiveBayes(), "picky": Picky()}
    data = {name: DATA[name] for name in ("student", "asia", "fire")}
    with pytest.raises(EvaluationError, match="picky on 'asia' failed in repeat 0, fold 0: RuntimeError: no smoking"):
        compare(models, data, cv=2, scoring="accuracy")
    found = compare(models, data, cv=2, scoring="accuracy", errors="record")
    assert set(found.failures["dataset"]) <= {"asia", "fire"}
    assert len(found.failures[found.failures["dataset"] == "asia"]) == 2
    assert "asia" not in found.ranks.index
    assert "student" in found.ranks.index


def test_errors_say_what_is_wrong(result):
    with pytest.raises(DataError, match="data set 'fire': the measure mae needs ordered classes"):
        compare({"nb": bntk.NaiveBayes()}, {"fire": (DATA["fire"][0], list("abc") * 50)}, scoring="mae")
    with pytest.raises(TypeError, match="data set 'x' must be a pair"):
        compare({"nb": bntk.NaiveBayes()}, {"x": DATA["asia"][0]})
    with pytest.raises(ValueError, match="mapping"):
        compare({"nb": bntk.NaiveBayes()}, [DATA["asia"]])
    with pytest.raises(UnknownNameError, match="'log_loss', 'accuracy'"):
        result.by("auc")
    alone = compare({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, {"asia": DATA["asia"]}, cv=2)
    with pytest.raises(DataError, match="two or more"):
        alone.friedman
    assert "on 1 data sets" in repr(alone)


# ---- the cache -------------------------------------------------------------------------------------------------------


def cells(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_is_in_the_cache_is_not_computed_again(tmp_path):
    X, y = DATA["asia"]
    options = {"cv": 3, "scoring": ["accuracy", "auc", "recall_by_class"], "cache": tmp_path / "new" / "cells"}
    first = cross_validate(MODELS, X, y, **options)
    second = cross_validate(MODELS, X, y, **options)
    assert (first.n_computed, second.n_computed) == (12, 0)
    pd.testing.assert_frame_equal(first.frame, second.frame, check_exact=True)  # times, too
    renamed = {name.upper(): model for name, model in MODELS.items()}
    assert cross_validate(renamed, X, y, **options).n_computed == 0
    assert cross_validate(MODELS, X, y, **options, n_jobs=2).n_computed == 0


def test_whatever_changes_the_result_is_computed_again(tmp_path):
    X, y = DATA["asia"]
    options = {"cv": 2, "scoring": ["accuracy"], "cache": tmp_path}
    nb = {"nb": bntk.NaiveBayes()}
    assert cross_validate(nb, X, y, **options).n_computed == 2
    flipped = y.copy()
    flipped.iloc[0] = "no" if y.iloc[0] == "yes" else "yes"
    other = X.copy()
    other.iloc[5, 0] = "no" if X.iloc[5, 0] == "yes" else "yes"
    assert cross_validate({"nb": bntk.NaiveBayes(prior=2)}, X, y, **options).n_computed == 2
    assert cross_validate(nb, X, flipped, **options).n_computed == 2
    assert cross_validate(nb, other, y, **options).n_computed == 2
    assert cross_validate(nb, X, y, **options, random_state=1).n_computed == 2
    assert cross_validate(nb, X, y, **{**options, "scoring": ["auc"]}).n_computed == 2
    assert cross_validate(nb, X, y, **options, relearn="parameters").n_computed == 2
    assert cross_validate(nb, X, y, **options).n_computed == 0


def test_another_version_does_not_take_old_cells(tmp_path, monkeypatch):
    X, y = DATA["asia"]
    options = {"cv": 2, "scoring": ["accuracy"], "cache": tmp_path}
    assert cross_validate(DummyClassifier(), X, y, **options).n_computed == 2
    monkeypatch.setattr(bntk, "__version__", "99")
    assert cross_validate(DummyClassifier(), X, y, **options).n_computed == 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": 0, "values": {}}', "\x00"])
def test_a_damaged_cell_is_computed_again(tmp_path, content):
    X, y = DATA["asia"]
    options = {"cv": 2, "scoring": ["accuracy"], "cache": tmp_path}
    first = cross_validate(bntk.NaiveBayes(), X, y, **options)
    victim = sorted(tmp_path.iterdir())[0]
    victim.write_text(content)
    second = cross_validate(bntk.NaiveBayes(), X, y, **options)
    assert second.n_computed == 1
    pd.testing.assert_frame_equal(second.frame.drop(columns=SECONDS), first.frame.drop(columns=SECONDS))
    assert json.loads(victim.read_text())["values"]


def test_undefined_values_survive_the_cache_and_files_are_plain_json(tmp_path):
    X, y = DATA["asia"]
    train, test = np.arange(100), np.flatnonzero(y.to_numpy() == "yes")[:5]
    options = {"cv": [(train, test)], "scoring": ["auc", "accuracy"], "cache": tmp_path}
    first, second = (cross_validate(bntk.NaiveBayes(), X, y, **options).frame for _ in range(2))
    assert np.isnan(first["auc"].item())
    pd.testing.assert_frame_equal(first, second, check_exact=True)

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    for path in tmp_path.iterdir():
        json.loads(path.read_text(), parse_constant=refuse)


def test_failures_are_not_kept(tmp_path):
    X, y = DATA["asia"]

    class Refusing(DummyClassifier):
        def fit(self, X, y):
            raise RuntimeError("not today")

    cross_validate(Refusing(), X, y, cv=2, scoring="accuracy", errors="record", cache=tmp_path)
    assert not cells(tmp_path)


SCRIPT = """
import os, signal, sys
import bntk
from bntk.evaluation import compare

class Logged(bntk.NaiveBayes):
    def fit(self, X, y):
        with open("fits.txt", "a") as log:
            log.write(f"{self.prior} {X.columns[0]} {y.index[0]} {len(y)}\\n")
            log.flush()
        done = len(open("fits.txt").readlines())
        if os.environ.get("KILL_AT") == str(done):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)

def rows(name):
    sample = bntk.datasets.network(name).sample(120, seed=1).to_pandas().astype(object)
    return sample.iloc[:, :-1], sample.iloc[:, -1]

if __name__ == "__main__":
    models = {"one": Logged(prior=1.0), "two": Logged(prior=2.0)}
    data = {name: rows(name) for name in ("asia", "cancer", "survey")}
    result = compare(models, data, cv=3, scoring=["accuracy", "log_loss"], cache=sys.argv[1])
    result.frame.drop(columns=["fit_seconds", "predict_seconds"]).to_csv(sys.argv[2], index=False)
    print(result.n_computed)
"""


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    script, log = tmp_path / "script.py", tmp_path / "fits.txt"
    script.write_text(SCRIPT)

    def run(cache: str, out: str, **environment: str) -> tuple[int, str, list[str]]:
        log.unlink(missing_ok=True)
        done = run_script(script, cache, out, cwd=tmp_path, env=environment)
        return done.returncode, done.stdout.strip(), log.read_text().splitlines()

    code, out, whole = run("undisturbed", "expected.csv")
    assert (code, out, len(whole)) == (0, "18", 18)
    code, _, before = run("cells", "nothing.csv", KILL_AT="8")
    assert code == -signal.SIGKILL
    assert before == whole[:8]  # killed in the eighth fit, so that seven cells are kept
    assert len(cells(tmp_path / "cells")) == 7
    code, out, after = run("cells", "found.csv")
    assert (code, out) == (0, "11")
    assert after == whole[7:]  # the eighth again, then those that were not begun; no finished one
    assert (tmp_path / "found.csv").read_text() == (tmp_path / "expected.csv").read_text()
    assert not (tmp_path / "nothing.csv").exists()


def test_a_cache_must_be_a_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="give a folder"):
        cross_validate(bntk.NaiveBayes(), *DATA["asia"], cache=file)
