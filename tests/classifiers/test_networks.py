"""Naive Bayes, TAN and FAN against R's bnclassify, and every network classifier against enumeration."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from references import ORACLE, declared, oracle_json, oracle_table, read_json, reference_table, shared

import bntk

MODELS = {
    "nb": lambda prior: bntk.NaiveBayes(prior=prior),
    "tan_cl_loglik": lambda prior: bntk.TAN(prior=prior),
    "tan_cl_aic": lambda prior: bntk.FAN(criterion="aic", prior=prior),
    "tan_cl_bic": lambda prior: bntk.FAN(criterion="bic", prior=prior),
}
SMOOTH = {"0": "mle", "0.5": 0.5, "1": 1.0}


def rows_of(table: bntk.Table, target: str = "class") -> tuple[pd.DataFrame, pd.Series]:
    frame = table.to_pandas()
    for v in table.variables:
        frame[v.name] = pd.Categorical(frame[v.name], v.states)
    return frame.drop(columns=target), frame[target].astype(str)


def compare(reference: dict[str, Any], classifier: Any, X: pd.DataFrame, y: pd.Series) -> None:
    classifier.fit(X, y)
    assert {tuple(arc) for arc in reference["arcs"]} == set(classifier.dag_.arcs)
    labels = reference.get("classes", classifier.classes_.tolist())
    for child, table in reference["cpts"].items():
        cpt = classifier.network_.cpt(child)
        ours = np.asarray(cpt.values)
        expected = reference_table(table, tuple(v.name for v in cpt.parents))
        # States of the class are in another order there.
        for axis, v in enumerate([*cpt.parents, cpt.child]):
            if v.name == y.name:
                expected = np.take(expected, [labels.index(label) for label in v.states], axis=axis)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)
    posteriors = np.array(reference.get("posteriors", reference.get("predict_first", [])), dtype=float)
    if not posteriors.size:  # gRain refuses some rows
        return
    order = [labels.index(label) for label in classifier.classes_]
    ours = classifier.predict_proba(X)[: len(posteriors)]
    np.testing.assert_allclose(ours, posteriors[:, order], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("smooth", SMOOTH)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["mixed", "mixed_missing", "binary", "sparse"])
def test_models_equal_bnclassify(name: str, model: str, smooth: str) -> None:
    reference = oracle_json(f"{name}_models")[f"{model}__smooth{smooth}"]
    X, y = rows_of(oracle_table(name))
    classifier = MODELS[model](SMOOTH[smooth])
    compare(reference, classifier, X, y)
    whole = X.assign(**{"class": y})
    assert classifier.network_.log_likelihood(whole) == pytest.approx(reference["logLik"], rel=1e-9)
    assert classifier.network_.n_parameters == reference["nparams"]
    own = classifier.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(classifier.classes_, y)]
    assert own.sum() == pytest.approx(reference["cLogLik"], rel=1e-9)
    assert classifier.score(X, y) == pytest.approx(reference["train_accuracy"], abs=1e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["car", "voting", "voting_complete"])
def test_models_equal_bnclassify_on_public_data(name: str, model: str) -> None:
    folder = shared("oracle/bnclassify")
    path = folder / f"{name}_models.json"
    references = read_json(path if path.exists() else folder / f"{name}_models.json.gz")
    variables = declared(folder / f"{name}.levels.json")
    table = bntk.read_table(folder / f"{name}.csv", variables=variables, unseen="error")
    target = next(iter(references[f"{model}__smooth1"]["families"].values()))[-1]
    X, y = rows_of(table, target)
    for smooth, prior in SMOOTH.items():
        reference, classifier = references[f"{model}__smooth{smooth}"], MODELS[model](prior)
        if (name, model) == ("voting", "tan_cl_loglik"):
            # With missing cells it compares mutual information, not their sums over the rows, so its tree is another.
            structure = bntk.DAG([*X.columns, target], map(tuple, reference["arcs"]))
            classifier = bntk.BayesNetClassifier(structure=structure, prior=prior)
        compare(reference, classifier, X, y)


def test_models_of_complete_rows_predict_rows_with_missing_cells() -> None:
    references = oracle_json("mixed_models_on_missing_rows")
    X, y = rows_of(oracle_table("mixed"))
    holes, _ = rows_of(oracle_table("mixed_missing"))
    for key, reference in references.items():
        model, _, smooth = key.partition("__smooth")
        if model not in MODELS:
            continue
        classifier = MODELS[model](SMOOTH[smooth]).fit(X, y)
        classes = reference.get("classes", ["u", "w", "v"])
        order = [classes.index(label) for label in classifier.classes_]
        expected = np.array(reference["posteriors"], dtype=float)[:, order]
        np.testing.assert_allclose(classifier.predict_proba(holes), expected, rtol=1e-9, atol=1e-11)


def test_rows_with_states_that_training_never_saw() -> None:
    references = json.loads((shared("oracle/portable") / "sparse_models_on_new_rows.json").read_text())
    X, y = rows_of(oracle_table("sparse"))
    variables = declared(ORACLE / "sparse.levels.json")
    new, _ = rows_of(bntk.read_table(shared("oracle/portable") / "sparse_new.csv", variables=variables))
    for key, reference in references.items():
        model, _, smooth = key.partition("__smooth")
        if model in MODELS:
            classifier = MODELS[model](SMOOTH[smooth]).fit(X, y)
            order = [reference["classes"].index(label) for label in classifier.classes_]
            expected = np.array(reference["posteriors"], dtype=float)[:, order]
            np.testing.assert_allclose(classifier.predict_proba(new), expected, rtol=1e-9, atol=1e-11)


def enumerated(network: bntk.BayesianNetwork, row: dict[str, Any], target: str) -> np.ndarray:
    """The posterior of the target by summing the joint over every completion of a row."""
    scores = np.zeros(network.variable(target).n_states)
    unknown = [v for v in network.variables if row.get(v.name) is None and v.name != target]
    for c, label in enumerate(network.variable(target).states):
        for states in itertools.product(*(v.states for v in unknown)):
            whole = {**row, **{v.name: s for v, s in zip(unknown, states, strict=True)}, target: label}
            scores[c] += np.exp(
                sum(np.log(cpt[tuple(whole[v.name] for v in (*cpt.parents, cpt.child))]) for cpt in tables(network))
            )
    return scores / scores.sum()


def tables(network: bntk.BayesianNetwork) -> list[Any]:
    class Lookup:
        def __init__(self, cpt: bntk.CPT) -> None:
            self.parents, self.child, self.values = cpt.parents, cpt.child, cpt.values

        def __getitem__(self, states: tuple[Any, ...]) -> float:
            family = (*self.parents, self.child)
            return float(self.values[tuple(v.code(s) for v, s in zip(family, states, strict=True))])

    return [Lookup(cpt) for cpt in network.cpts]


@pytest.mark.parametrize(
    "classifier",
    [
        bntk.NaiveBayes(),
        bntk.TAN(),
        bntk.TAN(root="f4", prior=0.5),
        bntk.FAN(),
        bntk.BAN(),
        bntk.BayesNetClassifier(),
        bntk.BayesNetClassifier(structure="f1 -> class -> f2 <- f3; class -> f4; f2 -> f5"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:missing values in")
def test_rows_with_missing_cells_equal_enumeration(classifier: Any) -> None:
    X, y = rows_of(oracle_table("mixed_missing"))
    classifier.fit(X, y)
    rng = np.random.default_rng(0)
    rows = X.iloc[:12].astype(object).mask(rng.random((12, X.shape[1])) < 0.4)
    expected = [
        enumerated(classifier.network_, {k: None if pd.isna(v) else v for k, v in row.items()}, "class")
        for row in rows.to_dict("records")
    ]
    np.testing.assert_allclose(classifier.predict_proba(rows), expected, rtol=1e-9)
    joint = classifier.log_joint(rows)
    np.testing.assert_allclose(joint - joint.max(1, keepdims=True), np.log(expected) - np.log(expected).max(1)[:, None])
    evidence = classifier.network_.row_log_likelihood(rows.assign(**{"class": None}))
    np.testing.assert_allclose(np.logaddexp.reduce(joint, axis=1), evidence)


def test_root_is_honoured() -> None:
    X, y = rows_of(oracle_table("mixed"))
    for root in X.columns:
        assert bntk.TAN(root=root).fit(X, y).dag_.parents(root) == ("class",)


def test_backoff_is_naive_bayes_where_there_are_no_rows() -> None:
    X = pd.DataFrame({"a": pd.Categorical(["x", "x", "x", "y"], ["x", "y", "z"]), "b": ["p", "q", "p", "p"]})
    y = ["no", "no", "yes", "yes"]
    tan, nb = bntk.TAN().fit(X, y), bntk.NaiveBayes(prior=1).fit(X, y)
    assert tan.dag_.parents("b") == ("a", "class")
    np.testing.assert_allclose(tan.network_.cpt("b").values[2], nb.network_.cpt("b").values)  # a = z was never seen
    counted = tan.network_.cpt("b").counts[0]
    np.testing.assert_allclose(
        tan.network_.cpt("b").values[0],
        (counted + 5 * nb.network_.cpt("b").values) / (counted.sum(1, keepdims=True) + 5),
    )


def test_four_hundred_features_with_ten_values_do_not_underflow() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=100)
    X = pd.DataFrame({f"x{i}": (rng.integers(10, size=100) + y).astype(str) for i in range(400)})
    for classifier in (bntk.NaiveBayes(), bntk.TAN()):
        log_proba = classifier.fit(X, y).predict_log_proba(X)
        assert np.isfinite(log_proba).all()
        np.testing.assert_allclose(np.logaddexp.reduce(log_proba, axis=1), 0, atol=1e-9)
        assert np.isfinite(classifier.log_joint(X)).all()
        assert classifier.log_joint(X).max() < -500


def test_the_network_tells_how_it_was_learned() -> None:
    X, y = rows_of(oracle_table("mixed"))
    tan = bntk.TAN().fit(X, y)
    assert tan.network_.report is tan.search_
    assert tan.partial_fit(X, y).network_.report is tan.search_
    incomplete = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    assert isinstance(bntk.TAN(missing="em").fit(incomplete, y).network_.report, bntk.learning.em.EMResult)
    both = bntk.MDBNC().fit(X.iloc[:, 1:], pd.DataFrame({"one": y, "other": X.iloc[:, 0]}))
    assert both.network_.report is both.search_
