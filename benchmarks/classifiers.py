"""Fitting and predicting classifiers: bntk beside scikit-learn's CategoricalNB and pyAgrum's BNClassifier, in one run.

python -m benchmarks.classifiers [--quick] [--only complete missing growth]
                                                 (peers: pip install "bntk[bench]"; those absent are skipped)

1. Naive Bayes, TAN, AODE and KDB(2) on complete rows: seconds to fit and to predict the probabilities of all rows,
   from an array of whole numbers (every number is a state) and from a pandas frame of categorical columns.
2. The same with 20 % of the cells missing. The peers take no missing cells; pyAgrum's network is asked row by row.
3. How fitting and predicting grow with rows, features and classes.

Times are the shortest of several runs, with everything compiled. pyAgrum predicts row by row in Python: it is timed on
fewer rows, and the figure for all is extrapolated.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB

import bntk

PEER_ROWS, STATES = 500, 3
MAKERS: dict[str, Callable[[], Any]] = {
    "NB": lambda: bntk.NaiveBayes(numeric="category"),
    "TAN": lambda: bntk.TAN(numeric="category"),
    "AODE": lambda: bntk.AODE(numeric="category"),
    "KDB(2)": lambda: bntk.KDB(2, numeric="category"),
}


def made(n_rows: int, n_features: int, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which each feature depends on the class and on the feature before it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = np.empty((n_rows, n_features), dtype=np.int64)
    before = y
    for j in range(n_features):
        noise = rng.integers(STATES, size=n_rows)
        X[:, j] = before = np.where(rng.random(n_rows) < 0.4, (before + y) % STATES, noise)
    return X, y


def with_holes(X: np.ndarray, share: float = 0.2) -> pd.DataFrame:
    holes = np.random.default_rng(1).random(X.shape) < share
    return framed(X).mask(holes)


def framed(X: np.ndarray) -> pd.DataFrame:
    names = [f"x{j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=names).astype(pd.CategoricalDtype(range(STATES)))


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the shortest run, after one that is not counted."""
    work()
    shortest = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - start)
    return float(shortest)


def pyagrum_seconds(method: str, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Seconds to fit, and to predict all rows, extrapolated from a few."""
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    classifier = BNClassifier(learningMethod=method, type_processor=DiscreteTypeProcessor())
    frame, labels = framed(X).astype(str), pd.Series(y.astype(str), name="class")
    start = time.perf_counter()
    classifier.fit(frame, labels)
    fitted = time.perf_counter()
    classifier.predict_proba(frame.iloc[:PEER_ROWS])
    seconds = (time.perf_counter() - fitted) * len(X) / PEER_ROWS
    return fitted - start, seconds


def line(what: str, *seconds: float, note: str = "") -> None:
    print(f"{what:<34}" + "".join(f"{s:>12.4g}" for s in seconds) + f"  {note}", flush=True)


def complete(n_rows: int, n_features: int) -> None:
    X, y = made(n_rows, n_features)
    frame = framed(X)
    print(f"\n{n_rows:,} complete rows x {n_features} features, {STATES} states, 2 classes; seconds")
    print(f"{'':34}{'fit array':>12}{'predict':>12}{'fit frame':>12}{'predict':>12}{'scores only':>12}")
    for name, make in MAKERS.items():
        array_seconds = fit_and_predict(make, X, y)
        frame_seconds = fit_and_predict(make, frame, y)
        note = f"{n_rows / frame_seconds[1] / 1e6:.1f} million rows a second"
        line(f"bntk, {name}", *array_seconds, *frame_seconds, scores_only(make, frame, y), note=note)
    line("scikit-learn, CategoricalNB", *fit_and_predict(CategoricalNB, X, y))
    if importlib.util.find_spec("pyagrum"):
        for method in ("NaiveBayes", "TAN"):
            line(f"pyAgrum, {method}", *pyagrum_seconds(method, X, y), note=f"predict from {PEER_ROWS} rows")


def fit_and_predict(make: Callable[[], Any], X: Any, y: np.ndarray, repeats: int = 5) -> tuple[float, float]:
    fitted = make().fit(X, y)
    return best(lambda: make().fit(X, y), repeats), best(lambda: fitted.predict_proba(X), repeats)


def scores_only(make: Callable[[], Any], X: Any, y: np.ndarray) -> float:
    """Seconds for the class log scores of rows that are coded already."""
    fitted = make().fit(X, y)
    table = fitted.features_.read(X).table
    return best(lambda: fitted._log_scores(table))


def pyagrum_rows_with_holes(X: np.ndarray, y: np.ndarray, holes: pd.DataFrame) -> float:
    """Seconds for the posterior of the class in all rows, by a query for each of a few rows on a TAN."""
    import pyagrum
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    classifier = BNClassifier(learningMethod="TAN", type_processor=DiscreteTypeProcessor())
    classifier.fit(framed(X[:10_000]).astype(str), pd.Series(y[:10_000].astype(str), name="class"))
    engine = pyagrum.LazyPropagation(classifier.bn_)
    rows = [{k: str(v) for k, v in row.items() if pd.notna(v)} for row in holes.iloc[:PEER_ROWS].to_dict("records")]
    start = time.perf_counter()
    for row in rows:
        engine.setEvidence(row)
        engine.makeInference()
        engine.posterior("class")
    return (time.perf_counter() - start) * len(X) / PEER_ROWS


def missing(n_rows: int, n_features: int) -> None:
    X, y = made(n_rows, n_features)
    frame = with_holes(X)
    print(f"\n{n_rows:,} rows x {n_features} features with 20 % of the cells missing; seconds")
    print(f"{'':34}{'fit':>12}{'predict':>12}")
    for name, make in MAKERS.items():
        line(f"bntk, {name}", *fit_and_predict(make, frame, y, repeats=3))
    line('bntk, TAN(missing="state")', *fit_and_predict(lambda: bntk.TAN(missing="state"), frame, y))
    if importlib.util.find_spec("pyagrum"):
        line("pyAgrum, TAN, a query a row", np.nan, pyagrum_rows_with_holes(X, y, frame), note=f"from {PEER_ROWS} rows")


def growth(n_rows: int, n_features: int, n_classes: int) -> None:
    X, y = made(n_rows, n_features, n_classes)
    line(f"{n_rows:>9,} x {n_features}, {n_classes} classes", *fit_and_predict(bntk.TAN, framed(X), y, repeats=3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small data, to try it out")
    parts = ("complete", "missing", "growth")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = [(10_000, 50)] if options.quick else [(100_000, 50), (100_000, 100)]
    for part, run in (("complete", complete), ("missing", missing)):
        for size in sizes if part in options.only else ():
            run(*size)
    if "growth" in options.only:
        print("\nTAN, seconds to fit and to predict; complete rows from a frame")
        small = [(10_000, 25, 2), (10_000, 50, 2), (10_000, 100, 2), (10_000, 50, 10)]
        for n_rows, n_features, n_classes in small if options.quick else [*small, (100_000, 50, 2), (1_000_000, 50, 2)]:
            growth(n_rows, n_features, n_classes)


if __name__ == "__main__":
    main()
