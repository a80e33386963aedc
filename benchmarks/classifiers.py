"""Fitting and predicting classifiers: bntk compared with scikit-learn's CategoricalNB and pyAgrum's BNClassifier.

python -m benchmarks.classifiers [--quick] [--only complete missing inputs growth large]

``large``, with minutes of pyAgrum, runs only if named by ``--only``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

import bntk
from benchmarks import report
from benchmarks.measure import Options, Time, best, run_peer
from benchmarks.report import Section

TITLE = "Classifiers"
PEER_ROWS, STATES = 500, 3
MAKERS: dict[str, Callable[[], Any]] = {
    "NaiveBayes": lambda: bntk.NaiveBayes(numeric="category"),
    "TAN": lambda: bntk.TAN(numeric="category"),
    "KDB(2)": lambda: bntk.KDB(2, numeric="category"),
    "AODE": lambda: bntk.AODE(numeric="category"),
}


def made(n_rows: int, n_features: int, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, pd.Series]:
    """Rows in which each feature depends on the class and on the feature before it; labels are strings."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = np.empty((n_rows, n_features), dtype=np.int64)
    before = y
    for j in range(n_features):
        noise = rng.integers(STATES, size=n_rows)
        X[:, j] = before = np.where(rng.random(n_rows) < 0.4, (before + y) % STATES, noise)
    return X, pd.Series(np.array([f"class {k}" for k in range(n_classes)])[y], name="class")


def framed(X: np.ndarray) -> pd.DataFrame:
    """A frame of categorical columns with strings as categories."""
    states = pd.CategoricalDtype([f"state {k}" for k in range(STATES)])
    return pd.DataFrame({f"x{j}": pd.Categorical.from_codes(column, dtype=states) for j, column in enumerate(X.T)})


def with_missing(X: np.ndarray, share: float = 0.2) -> pd.DataFrame:
    return framed(X).mask(np.random.default_rng(1).random(X.shape) < share)


def fit_and_predict(make: Callable[[], Any], X: Any, y: Any) -> tuple[Time, Time]:
    fitted = make().fit(X, y)  # compiles
    fitted.predict_proba(X)
    return best(lambda: make().fit(X, y))[0], best(lambda: fitted.predict_proba(X))[0]


# ---- pyAgrum ---------------------------------------------------------------------------------------------------------


def pyagrum_classifier(method: str, X: np.ndarray, y: pd.Series) -> Iterator[Any]:
    """After fitting; after predicting a few rows."""
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    classifier = BNClassifier(learningMethod=method, type_processor=DiscreteTypeProcessor())
    frame, labels = framed(X).astype(str), y.astype(str)
    yield None
    classifier.fit(frame, labels)
    yield None
    classifier.predict_proba(frame.iloc[:PEER_ROWS])
    yield None


def pyagrum_rows_with_missing(X: np.ndarray, y: pd.Series, frame: pd.DataFrame) -> Iterator[Any]:
    """The posterior of the class in a few rows, by a query for each on a TAN."""
    import pyagrum
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    classifier = BNClassifier(learningMethod="TAN", type_processor=DiscreteTypeProcessor())
    classifier.fit(framed(X).astype(str), y.astype(str))
    engine = pyagrum.LazyPropagation(classifier.bn_)
    rows = [{k: str(v) for k, v in row.items() if pd.notna(v)} for row in frame.to_dict("records")]
    yield None
    for row in rows:
        engine.setEvidence(row)
        engine.makeInference()
        engine.posterior("class")
    yield None


# ---- sections --------------------------------------------------------------------------------------------------------


def complete(options: Options) -> Section:
    small = (10_000, 50)
    return complete_rows(options.pick([small, (100_000, 50), (100_000, 100)], [small]), small, 60)


def large(options: Options) -> Section:
    """Minutes of pyAgrum."""
    size = options.pick((100_000, 50), (20_000, 50))
    return complete_rows([size], size, 600)


def complete_rows(sizes: list[tuple[int, int]], with_pyagrum: tuple[int, int], limit: float) -> Section:
    section = Section(
        "Complete rows",
        f"{STATES} states, 2 classes; time to fit and to predict the probabilities of all rows, from a pandas frame "
        "of categorical columns, or where it says so from the array of whole numbers that scikit-learn gets; labels "
        "are strings. pyAgrum "
        f"gets strings, once, on {with_pyagrum[0]:,} rows; it predicts row by row, so {PEER_ROWS} rows are timed and "
        "scaled up. Ratios are to the bntk classifier of the same kind and input.",
        ["data", "classifier", "fit", "predict", "million rows/s", "fit: ratio", "predict: ratio"],
    )
    for size in sizes:
        X, y = made(*size)
        frame, case = framed(X), f"{size[0]:,} x {size[1]}"
        ours = {f"bntk, {name}": fit_and_predict(make, frame, y) for name, make in MAKERS.items()}
        ours["bntk, NaiveBayes, array"] = fit_and_predict(MAKERS["NaiveBayes"], X, y)
        for name, times in ours.items():
            section.add(case, name, *times, size[0] / times[1].seconds / 1e6, "", "")
        peers = {"scikit-learn, CategoricalNB": ("bntk, NaiveBayes, array", fit_and_predict(CategoricalNB, X, y))}
        for method in ("NaiveBayes", "TAN") if size == with_pyagrum else ():
            peers[f"pyAgrum, {method}"] = f"bntk, {method}", pyagrum_times(method, X, y, limit)
        for name, (mate, times) in peers.items():
            package = name.split(",")[0]
            ratios = [
                section.ratio(f"{case}, {name.split(', ')[1]}, {step}", package, theirs, own)
                for step, theirs, own in zip(("fit", "predict"), times, ours[mate], strict=True)
            ]
            section.add(case, name, *times, "", *ratios)
    return section


def pyagrum_times(method: str, X: np.ndarray, y: pd.Series, limit: float) -> tuple[Time, Time]:
    """Time to fit, and to predict all rows, scaled up from a few."""
    peer = run_peer("pyAgrum", limit, pyagrum_classifier, method, X, y)
    if not peer.marks:
        return peer.end, Time(note="-")
    fitting, *predicting = (Time(seconds) for seconds, _ in peer.marks)
    return fitting, predicting[0].scaled(len(X) / PEER_ROWS) if predicting else peer.end


def missing(options: Options) -> Section:
    section = Section(
        "Rows with missing values",
        "The same with 20 % of the values missing, which the networks sum out exactly. scikit-learn and pyAgrum's "
        f"classifier take no missing values; pyAgrum's network of a TAN is queried row by row for {PEER_ROWS} rows, "
        "scaled up.",
        ["data", "classifier", "fit", "predict", "predict: ratio"],
    )
    makers = {**MAKERS, 'TAN(missing="state")': lambda: bntk.TAN(missing="state")}
    for size in options.pick([(100_000, 50), (100_000, 100)], [(10_000, 50)]):
        X, y = made(*size)
        frame, case = with_missing(X), f"{size[0]:,} x {size[1]}"
        ours = {name: fit_and_predict(make, frame, y) for name, make in makers.items()}
        for name, times in ours.items():
            section.add(case, f"bntk, {name}", *times, "")
        peer = run_peer("pyAgrum", 60, pyagrum_rows_with_missing, X[:2_000], y[:2_000], frame.iloc[:PEER_ROWS])
        time = peer.total().scaled(size[0] / PEER_ROWS)
        section.add(
            case,
            "pyAgrum, TAN, one query per row",
            "",
            time,
            section.ratio(f"{case}, predict", "pyAgrum", time, ours["TAN"][1]),
        )
    return section


def inputs(options: Options) -> Section:
    section = Section(
        "Kinds of input",
        f"TAN, time to fit, by what X and y are; {STATES} states, 2 classes, 50 features. R's tree.bayes (bnlearn "
        "5.2.1) took 30 ms for the structure alone of 10,000 rows on a machine of this kind.",
        ["rows", "X", "y", "fit"],
    )
    for n_rows in options.pick([10_000, 1_000_000], [10_000]):
        X, y = made(n_rows, 50)
        frame, table = framed(X), bntk.Table.from_frame(framed(X))
        numbers = (y == "class 1").astype(int)
        cases = [
            ("frame of categoricals", frame, "categorical", y.astype("category")),
            ("frame of categoricals", frame, "strings", y),
            ("frame of categoricals", frame, "objects", y.astype(object)),
            ("frame of categoricals", frame, "whole numbers", numbers),
            ("Table", table, "categorical", y.astype("category")),
        ]
        for kind, data, labels, target in cases:
            section.add(f"{n_rows:,}", kind, labels, fit_and_predict(bntk.TAN, data, target)[0])
    return section


def growth(options: Options) -> Section:
    section = Section(
        "Growth",
        "TAN on complete rows from a frame: time to fit and to predict all rows.",
        ["rows", "features", "classes", "fit", "predict"],
        axes=("rows, 50 features", "seconds"),
    )
    sizes = [(10_000, 25, 2), (10_000, 100, 2), (10_000, 50, 10), (1_000, 50, 2), (10_000, 50, 2)]
    for n_rows, n_features, n_classes in sizes + options.pick([(100_000, 50, 2), (1_000_000, 50, 2)], []):
        X, y = made(n_rows, n_features, n_classes)
        fitting, predicting = fit_and_predict(bntk.TAN, framed(X), y)
        section.add(f"{n_rows:,}", n_features, n_classes, fitting, predicting)
        if (n_features, n_classes) == (50, 2):
            section.point("fit", n_rows, fitting)
            section.point("predict", n_rows, predicting)
    return section


PARTS = {"complete": complete, "missing": missing, "inputs": inputs, "growth": growth}
EXTRA = {"large": large}

if __name__ == "__main__":
    report.main()
