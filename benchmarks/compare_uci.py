"""Every classifier of one class variable on UCI sets, with tests of the differences.

python -m benchmarks.compare_uci UCI [--quick] [--sets iris glass ...] [--only tan aode ...] [--cache FOLDER]
                                     [--write docs/uci.md] [--jobs 2]

UCI holds ``NAME.csv.gz`` (the class last) and ``ATTRIBUTES.csv.gz`` (which columns are nominal, and their values). All
classifiers have their default parameters, and see the same five stratified folds; numbers are cut inside each fold.
Beside them, with scikit-learn's defaults, random forests, histogram gradient boosting and logistic regression, which
get nominal columns one-hot coded and, but for boosting, missing numbers replaced by medians. With a cache, a run that
was stopped goes on where it was. What came out is in docs/uci.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bntk
from benchmarks import machine
from benchmarks.accuracy import read_set
from bntk.evaluation import Comparison, compare

SETS = (
    "australian", "autos", "balance-scale", "breast-cancer", "breast-w", "car", "cleve", "cmc", "colic", "dermatology",
    "diabetes", "ecoli", "german", "glass", "haberman", "heart-statlog", "hepatitis", "ionosphere", "iris", "labor",
    "lymphography", "monk1", "monk2", "new-thyroid", "primary-tumor", "sonar", "soybean", "tic-tac-toe", "vehicle",
    "vote", "vowel", "zoo",
)  # fmt: skip
QUICK = ("iris", "labor", "lymphography", "monk1")
MEASURES = ["accuracy", "log_loss", "brier", "auc", "calibration_error"]


def ours() -> dict[str, Any]:
    """Every classifier of one class variable, by its name in the command."""
    return {
        "nb": bntk.NaiveBayes(), "tan": bntk.TAN(), "fan": bntk.FAN(), "ban": bntk.BAN(), "kdb": bntk.KDB(2),
        "skdb": bntk.SelectiveKDB(), "stan": bntk.STAN(), "stand": bntk.STAND(), "spode": bntk.SPODE(),
        "aode": bntk.AODE(), "aode by class": bntk.AODE(count="class", m=30), "a2de": bntk.A2DE(),
        "semi": bntk.SemiNaiveBayes(), "manb": bntk.MANB(), "awnb": bntk.AWNB(), "awtan": bntk.AWNB(bntk.TAN()),
        "wanbia": bntk.WANBIA(), "dag": bntk.BayesNetClassifier(), "rmcv": bntk.RMCV(criterion="accuracy"),
        "ekdb": bntk.EnsembleKDB(),
    }  # fmt: skip


def others() -> dict[str, Any]:
    """Classifiers of scikit-learn with its defaults."""
    return {
        "random forest": _columns(RandomForestClassifier(random_state=0), impute=True),
        "boosting": _columns(HistGradientBoostingClassifier(random_state=0), impute=False),
        "logistic": _columns(LogisticRegression(max_iter=2000), impute=True),
    }


def _columns(classifier: Any, impute: bool) -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    labels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers if impute else "passthrough", make_column_selector(dtype_include="number")),
        (labels, make_column_selector(dtype_exclude="number")),
        verbose_feature_names_out=False,
    )
    return make_pipeline(columns, classifier)


def run(options: argparse.Namespace) -> Comparison:
    """Cross-validate everything that is asked for."""
    estimators = {**ours(), **others()}
    chosen = {name: estimators[name] for name in options.only or estimators}
    sets = options.sets or (QUICK if options.quick else SETS)
    datasets: dict[str, Callable[[], Any]] = {name: partial(read_set, options.uci, name) for name in sets}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with few rows, columns without a value in a fold
        return compare(
            chosen, datasets, cv=2 if options.quick else 5, scoring=MEASURES, n_jobs=options.jobs, progress=True,
            cache=options.cache,
        )  # fmt: skip


# ---- the page --------------------------------------------------------------------------------------------------------

HEAD = """\
# Classifiers on UCI sets

Written by `python -m benchmarks.compare_uci UCI --write docs/uci.md`: {n} classifiers with their default parameters on
{sets} sets, {folds} stratified folds, the same for all; numbers are cut inside each fold. `aode by class` is
`AODE(count="class", m=30)`, `awtan` is `AWNB(TAN())`, and `rmcv` goes by accuracy, as its default needs an order of the
classes. {machine}

The diagrams show mean ranks over the sets (1 is the best). Classifiers that a bar connects do not differ significantly
by the Nemenyi test (alpha = 0.05), which follows a Friedman test. The sets are small, so that a difference of ranks
says more than one of means: a mean over sets is dominated by those that are hard.
"""


def page(result: Comparison, folder: Path, stem: str) -> str:
    """The text of the page; the pictures go to the folder."""
    folds = int(result.frame["fold"].nunique())
    head = HEAD.format(n=len(result.estimators), sets=len(result.datasets), folds=folds, machine=machine.described()[0])
    parts = [head]
    for measure, title in (("accuracy", "Accuracy"), ("log_loss", "Log loss")):
        by = result.by(measure)
        _save(by.plot(title=f"{title}: mean ranks on {len(result.datasets)} sets"), folder / f"{stem}-{measure}.svg")
        parts.append(
            f"## {title}\n\n![Critical difference diagram of {measure}]({stem}-{measure}.svg)\n\n{by.friedman}\n"
        )
    _save(result.plot_scatter(), folder / f"{stem}-scatter.svg")
    parts.append(
        "## Accuracy against likelihood\n\nDoes a classifier that gives the true classes a higher probability also "
        f"predict more of them?\n\n![Accuracy against log loss]({stem}-scatter.svg)\n\n{result.rank_correlation()}\n"
    )
    parts.append(f"## Means over the sets\n\n{_markdown(_means(result))}\n")
    parts.append(f"## Accuracy of each set\n\n{_markdown((100 * result.by('accuracy').means).round(1))}\n")
    return "\n".join(parts)


def _means(result: Comparison) -> pd.DataFrame:
    table = pd.DataFrame({measure: result.by(measure).means.mean() for measure in MEASURES})
    table["rank by accuracy"] = result.by("accuracy").ranks.mean()
    table["rank by log loss"] = result.by("log_loss").ranks.mean()
    table["accuracy"] *= 100
    return table.sort_values("rank by accuracy").round(
        {"accuracy": 2, "log_loss": 4, "brier": 4, "auc": 4, "calibration_error": 4, "rank by accuracy": 2,
         "rank by log loss": 2}
    )  # fmt: skip


def _markdown(table: pd.DataFrame) -> str:
    rows = [["", *map(str, table.columns)], ["---"] * (len(table.columns) + 1)]
    rows += [[str(name), *map(str, row)] for name, row in zip(table.index, table.to_numpy().tolist(), strict=True)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _save(axes: Any, path: Path) -> None:
    axes.figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--quick", action="store_true", help="four small sets, two folds")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--only", nargs="+", metavar="CLASSIFIER")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    result = run(options)
    print(result)
    print(result.by("log_loss"))
    if options.write:
        text = page(result, options.write.parent, options.write.stem)
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
