"""Accuracy compared with Weka's on UCI sets: the same rows, the same ten folds, discretised inside each fold.

python -m benchmarks.accuracy UCI WEKA [--classifiers NB TAN ...] [--sets iris glass ...] [--details]

UCI holds ``NAME.csv.gz`` (the class last) and ``ATTRIBUTES.csv.gz`` (which columns are nominal, and their values); WEKA
holds ``results.csv`` and ``folds/NAME.folds.txt`` (the fold of each row). Printed for each set and classifier: our
accuracy, Weka's, and the difference in standard errors, the fold-to-fold deviation of the two over the root of ten.
TAN by log-likelihood is compared with Weka's TAN by entropy, others with its Bayesian TAN. Weka has no k-dependence
classifier; its K2 search with at most two parents, the class and another, is the nearest.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import bntk
from benchmarks.report import table

Maker = Callable[[], object]

#: Ours, and the column of Weka's results that it is compared with.
CLASSIFIERS: dict[str, tuple[str, Maker]] = {
    "NB": ("NaiveBayes", lambda: bntk.NaiveBayes(numeric="mdl")),
    "TAN": ("BN-TAN-ENTROPY", lambda: bntk.TAN(numeric="mdl")),
    "TAN-aic": ("BN-TAN-BAYES", lambda: bntk.TAN(criterion="aic", numeric="mdl")),
    "TAN-state": ("BN-TAN-BAYES", lambda: bntk.TAN(criterion="aic", missing="state", numeric="mdl")),
    "AODE": ("AODE", lambda: bntk.AODE(numeric="mdl")),
    "WAODE": ("WAODE", lambda: bntk.AODE(weights="mi", numeric="mdl")),
    "KDB1": ("BN-K2-P2", lambda: bntk.KDB(1, numeric="mdl")),
    "KDB2": ("BN-K2-P2", lambda: bntk.KDB(2, numeric="mdl")),
    "SKDB": ("BN-K2-P2", lambda: bntk.SelectiveKDB(numeric="mdl")),
}
#: Sets that have another name in the results.
OTHER_NAMES = {"heart-c": "cleve", "credit-a": "crx"}
#: Sets whose missing values were a state in the data that Weka was given.
MISSING_IS_A_STATE = {"anneal"}


def read_set(uci: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """The features, nominal ones with their declared values, and the class."""
    name = OTHER_NAMES.get(name, name)
    frame = pd.read_csv(uci / f"{name}.csv.gz", dtype=str, keep_default_na=False, na_values=["", "?"])
    described = pd.read_csv(uci / "ATTRIBUTES.csv.gz", dtype=str, keep_default_na=False)
    described = described[described["dataset"] == name].set_index("attribute")
    *features, target = frame.columns
    X = frame[features].copy()
    for column in features:
        if described.loc[column, "type"] == "numeric":
            X[column] = pd.to_numeric(X[column])
        else:
            values = described.loc[column, "values"]
            if name in MISSING_IS_A_STATE:
                X[column], values = X[column].fillna("?"), f"{values}|?"
            seen = sorted(X[column].dropna().unique())
            X[column] = pd.Categorical(X[column], values.split("|") if set(seen) <= set(values.split("|")) else seen)
    return X, frame[target]


def accuracies(make: Maker, X: pd.DataFrame, y: pd.Series, folds: np.ndarray) -> np.ndarray:
    """Accuracy in per cent in each fold."""
    splits = [(folds != fold, folds == fold) for fold in np.unique(folds)]
    result = bntk.evaluation.cross_validate(make(), X, y, cv=splits, scoring="accuracy")
    return 100 * result.frame["accuracy"].to_numpy()


def compare(options: argparse.Namespace) -> None:
    weka = pd.read_csv(options.weka / "results.csv").set_index(["dataset", "classifier"])
    sets = options.sets or sorted({name for name, _ in weka.index})
    lines = []
    for name in sets:
        X, y = read_set(options.uci, name)
        folds = np.loadtxt(options.weka / "folds" / f"{name}.folds.txt", dtype=int)
        if len(folds) != len(X):
            print(f"{name}: {len(X)} rows, but {len(folds)} fold numbers: left out")
            continue
        for short in options.classifiers:
            column, make = CLASSIFIERS[short]
            if (name, column) not in weka.index:
                continue
            theirs = weka.loc[(name, column)]
            ours = accuracies(make, X, y, folds)
            error = np.hypot(ours.std(ddof=1), theirs["fold_acc_sd"]) / np.sqrt(10)
            sizes = np.bincount(folds)[np.unique(folds)]
            mean = float(np.average(ours, weights=sizes))
            difference = mean - theirs["accuracy_pct"]
            lines.append((name, short, mean, theirs["accuracy_pct"], difference, difference / max(error, 1e-9)))
    frame = pd.DataFrame(lines, columns=["set", "classifier", "bntk", "weka", "difference", "errors"])
    if options.details:
        print(frame.round(2).to_string(index=False), end="\n\n")
    rows = []
    for short, part in frame.groupby("classifier", sort=False):
        worst = part.loc[part["errors"].idxmin()]
        means = [f"{part[column].mean():.2f}" for column in ("bntk", "weka")]
        rows.append([str(short), str(len(part)), *means, f"{worst['errors']:+.1f} ({worst['set']})"])
    print(table(["classifier", "sets", "bntk", "Weka", "worst, standard errors"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("weka", type=Path)
    parser.add_argument("--classifiers", nargs="+", choices=list(CLASSIFIERS), default=list(CLASSIFIERS))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--details", action="store_true")
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
