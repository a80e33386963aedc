"""Few whole numbers as states, as the rule has them, beside all numbers cut, on UCI sets as pandas reads them.

python -m benchmarks.numbers UCI [--ways] [--sets monk1 ...] [--cache FOLDER] [--jobs 2]

UCI holds ``INDEX.csv`` and ``NAME.csv.gz`` (the class last). Sets with a nominal class, 100 to 5,000 rows and a column
that the two ways read differently: at most ten different whole numbers. Other numbers are cut and interpolated by both.
With ``--ways``, instead: four ways to cut numbers on thirteen sets that have many, and log loss of probabilities of at
least 1e-6. Five stratified folds, the same for all; mean accuracy and log loss. With a cache, a run that was stopped
goes on where it was. What came out is in docs/numbers.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import bntk
from benchmarks.accuracy_peers import clipped_log_loss
from bntk.data.numbers import columns_of_numbers, has_few_whole
from bntk.evaluation import Comparison, compare
from bntk.evaluation.measure_table import measure

CLASSIFIERS: dict[str, Any] = {
    "NaiveBayes": bntk.NaiveBayes, "TAN": bntk.TAN, "AODE": bntk.AODE, "SelectiveKDB": bntk.SelectiveKDB,
}  # fmt: skip


OTHERS: dict[str, Any] = {"KDB": bntk.KDB, "A2DE": bntk.A2DE}
#: Few whole numbers as states, or cut as all others.
WAYS = ("states", "all cut")
WAYS_TO_CUT = ("mdl", "joint", "smooth", "averaged")
SETS_OF_NUMBERS = [
    "autos", "bupa", "cleve", "cmc", "ecoli", "german", "glass2", "heart-h", "hepatitis", "ionosphere", "vehicle",
    "vowel", "wdbc",
]  # fmt: skip


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


def compared(estimators: dict[str, Any], sets: list[str], options: argparse.Namespace) -> Comparison:
    """Five folds of each set; a cell that fails is recorded."""
    described = "log loss of probabilities of at least 1e-6"
    measure("clipped_log_loss", described, greater_is_better=False, needs="probabilities")(clipped_log_loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns without a value in a fold, states that only test rows have
        return compare(
            estimators, {name: read(options.uci, name) for name in sets}, cv=5, errors="record",
            scoring=["accuracy", "log_loss", "clipped_log_loss"], n_jobs=options.jobs, progress=True,
            cache=options.cache,
        )  # fmt: skip


def table(found: Comparison, classifiers: Iterable[str], ways: Iterable[str], loss: str) -> str:
    """A Markdown table: means over the sets on which no way of a classifier failed."""
    ways = [*ways]
    heads = [f"{title}, {way}" if i == 0 else way for title in ("accuracy", "log loss") for i, way in enumerate(ways)]
    lines = [f"| classifier | {' | '.join(heads)} |", "| --- " * (len(heads) + 1) + "|"]
    for name in classifiers:
        own = [f"{name} {way}" for way in ways]
        accuracy, losses = (found.by(each).means[own].dropna() for each in ("accuracy", loss))
        left_out = sorted(set(found.datasets) - set(losses.index))
        shown = [*(100 * accuracy.mean()).map("{:.1f}".format), *losses.mean().map("{:.3f}".format)]
        lines.append(f"| `{name}` | {' | '.join(shown)} |" + (f" without {', '.join(left_out)}" if left_out else ""))
    return "\n".join(lines)


def main() -> None:
    """Compare, and print a Markdown table of means over the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--ways", action="store_true", help="compare ways to cut numbers, instead of few whole numbers")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.ways:
        sets, ways, loss = options.sets or SETS_OF_NUMBERS, WAYS_TO_CUT, "clipped_log_loss"
        kinds = CLASSIFIERS | OTHERS
        estimators = {f"{name} {way}": kind(numeric=way) for name, kind in kinds.items() for way in ways}
    else:
        sets, ways, loss, kinds = options.sets or concerned(options.uci), WAYS, "log_loss", CLASSIFIERS
        estimators = {f"{name} {WAYS[0]}": kind() for name, kind in kinds.items()}
        estimators |= {f"{name} {WAYS[1]}": Cut(kind()) for name, kind in kinds.items()}
    print(f"\n{len(sets)} sets: {', '.join(sets)}\n")
    print(table(compared(estimators, sets, options), kinds, ways, loss))


if __name__ == "__main__":
    main()
