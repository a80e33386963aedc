"""The lines of docs/from-bnclassify.md beside what bnclassify computed."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from moving.pages import Page
from references import ORACLE, oracle_json, reference_table

import bntk

PAGE = Page("from-bnclassify.md")
MODELS, RUNS = oracle_json("binary_models"), oracle_json("binary_wrappers")
TAN = MODELS["tan_cl_loglik__smooth1"]
CLASSES = oracle_json("binary.levels")["class"]
SORTED = np.argsort(CLASSES)  # scikit-learn has classes in sorted order


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bnclassify")
    shutil.copyfile(ORACLE / "binary.csv", folder / "binary.csv")
    folds = np.zeros(300, dtype=int)
    tests = RUNS["folds"]["test_folds_1based"]
    for fold, rows in enumerate(tests.values() if isinstance(tests, dict) else tests):
        folds[np.array(rows) - 1] = fold
    np.savetxt(folder / "folds.txt", folds, fmt="%d")
    return folder


@pytest.fixture(scope="module")
def ours(folder) -> dict[str, Any]:
    return PAGE.ours(folder)


@pytest.fixture(scope="module")
def rows(folder):
    frame = bntk.read_table(folder / "binary.csv").to_pandas()
    return frame.drop(columns="class")


def arcs(expected: list[list[str]]) -> Any:
    return lambda ours, rows: {*ours.arcs} == {*map(tuple, expected)}


def posteriors(expected: dict[str, Any]) -> Any:
    def compare(ours: Any, rows: Any) -> bool:
        probabilities = ours if isinstance(ours, np.ndarray) else ours.predict_proba(rows)
        np.testing.assert_allclose(probabilities, np.array(expected["posteriors"])[:, SORTED], rtol=0, atol=1e-11)
        return True

    return compare


def model(name: str) -> Any:
    """The same arcs, and the same probabilities of the classes of every row."""

    def compare(ours: Any, rows: Any) -> bool:
        expected = MODELS[name]
        return arcs(expected["arcs"])(ours.dag_, rows) and posteriors(expected)(ours, rows)

    return compare


def number(expected: float) -> Any:
    return lambda ours, rows: ours == pytest.approx(expected, rel=1e-12)


def labels(ours: np.ndarray, rows: Any) -> bool:
    return list(ours) == [CLASSES[k] for k in np.argmax(TAN["posteriors"], axis=1)]


def table(ours: np.ndarray, rows: Any) -> bool:
    return np.allclose(ours, reference_table(MODELS["nb__smooth1"]["cpts"]["f1"], ("class",))[SORTED], rtol=1e-12)


CMI = next(pair for pair in oracle_json("binary_cmi")["pairs"] if (pair["x"], pair["y"]) == ("f1", "f2"))
SAME = {
    "naive Bayes": model("nb__smooth1"),
    "without smoothing": model("nb__smooth0"),
    "TAN": model("tan_cl_loglik__smooth1"),
    "in one step": model("tan_cl_loglik__smooth0.5"),
    "a forest by AIC": model("tan_cl_aic__smooth1"),
    "a forest by BIC": model("tan_cl_bic__smooth1"),
    "AODE": posteriors(oracle_json("binary_aode")["smooth1"]),
    "model averaged naive Bayes": posteriors(oracle_json("binary_manb")["prior0.5_smooth1"]),
    "forward selection and joining": arcs(RUNS["fssj"]["arcs"]),
    "backward elimination and joining": arcs(RUNS["bsej"]["arcs"]),
    "hill climbing of a TAN": arcs(RUNS["tan_hc"]["arcs"]),
    "by super-parents": arcs(RUNS["tan_hcsp"]["arcs"]),
    "at most two more parents": arcs(RUNS["kdb"]["arcs"]),
    "probabilities": posteriors(TAN),
    "labels": labels,
    "accuracy": number(TAN["train_accuracy"]),
    "arcs": lambda ours, rows: {*ours} == {*map(tuple, TAN["arcs"])},
    "tables": table,
    "free parameters": number(TAN["nparams"]),
    "log-likelihood": number(TAN["logLik"]),
    "AIC": number(TAN["AIC"]),
    "BIC": number(TAN["BIC"]),
    "conditional log-likelihood": number(TAN["cLogLik"]),
    "conditional mutual information": number(CMI["cmi_nats"]),
}
ONLY_RUN = {
    "attribute-weighted",
    "weights by conditional likelihood",
    "cross-validation",
    "with structures learned again",
    "a plot",
}


def test_every_row_is_compared_or_said_to_be_only_run():
    assert {*PAGE.pairs} == {*SAME} | ONLY_RUN


@pytest.mark.parametrize("task", SAME)
def test_our_line_gives_what_bnclassify_gives(task, ours, rows):
    assert SAME[task](ours[task], rows)
