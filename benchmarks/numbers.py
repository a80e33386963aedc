"""Few whole numbers as states, as the rule has them, beside all numbers cut, on UCI sets as pandas reads them.

python -m benchmarks.numbers UCI [--sets monk1 ...] [--cache FOLDER] [--jobs 2]

UCI holds ``INDEX.csv`` and ``NAME.csv.gz`` (the class last). Sets with a nominal class, 100 to 5,000 rows and a column
that the two ways read differently: at most ten different whole numbers. Other numbers are cut and interpolated by both.
Five stratified folds, the same for both; mean accuracy and log loss. With a cache, a run that was stopped goes on where
it was. What came out is in docs/numbers.md.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import bntk
from bntk.data.numbers import columns_of_numbers, has_few_whole
from bntk.evaluation import compare

CLASSIFIERS: dict[str, Any] = {
    "NaiveBayes": bntk.NaiveBayes, "TAN": bntk.TAN, "AODE": bntk.AODE, "SelectiveKDB": bntk.SelectiveKDB,
}  # fmt: skip


#: Few whole numbers as states, or cut as all others.
WAYS = ("states", "all cut")


class Cut(ClassifierMixin, BaseEstimator):
    """A classifier with all columns of numbers cut, and interpolated."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Cut:
        ways = dict.fromkeys(columns_of_numbers([*X.items()]), "smooth")
        self.fitted_ = clone(self.classifier).set_params(numeric=ways).fit(X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.fitted_.predict(X)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.fitted_.predict_proba(X)


def read(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """The features and the class of a set, with the types that pandas guesses."""
    rows = pd.read_csv(folder / f"{name}.csv.gz", na_values="?")
    rows.columns = rows.columns.astype(str)
    y = rows.iloc[:, -1].astype(str)
    often = y.map(y.value_counts()) >= 5
    return rows.iloc[:, :-1][often].reset_index(drop=True), y[often].reset_index(drop=True)


def concerned(folder: Path) -> list[str]:
    """The sets on which the two ways differ."""
    index = pd.read_csv(folder / "INDEX.csv")
    index = index[(index["target"] == "nominal") & index["rows"].between(100, 5000)]
    return [
        name
        for name in index["name"]
        if any(has_few_whole(own) for own in columns_of_numbers([*read(folder, name)[0].items()]).values())
    ]


def main() -> None:
    """Compare, and print a Markdown table of means over the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    sets = options.sets or concerned(options.uci)
    estimators = {f"{name} {WAYS[0]}": kind() for name, kind in CLASSIFIERS.items()}
    estimators |= {f"{name} {WAYS[1]}": Cut(kind()) for name, kind in CLASSIFIERS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without a value in a fold, states that only test rows have
        found = compare(
            estimators, {name: read(options.uci, name) for name in sets}, cv=5, scoring=["accuracy", "log_loss"],
            n_jobs=options.jobs, progress=True, cache=options.cache,
        )  # fmt: skip
    accuracy, loss = found.by("accuracy").means.mean(), found.by("log_loss").means.mean()
    print(f"\n{len(sets)} sets: {', '.join(sets)}\n")
    print(f"| classifier | accuracy, {WAYS[0]} | {WAYS[1]} | log loss, {WAYS[0]} | {WAYS[1]} |\n" + "| --- " * 5 + "|")
    for name in CLASSIFIERS:
        numbers = [of[f"{name} {way}"] for of in (accuracy, loss) for way in WAYS]
        print(f"| {name} | {100 * numbers[0]:.1f} | {100 * numbers[1]:.1f} | {numbers[2]:.3f} | {numbers[3]:.3f} |")


if __name__ == "__main__":
    main()
