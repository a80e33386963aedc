"""Accuracy and probabilities of every classifier beside forests, boosting and other peers, on UCI sets.

python -m benchmarks.accuracy_peers UCI [--half choosing|judging|all] [--sets iris glass ...] [--only tan aode ...]
                                        [--missing] [--quick] [--cache FOLDER] [--write docs/accuracy.md] [--jobs 1]
                                        [--no-seconds choosing]

UCI holds what ``benchmarks.compare_uci`` reads, and ``INDEX.csv`` (name, rows and type of the class of each set). Taken
are the sets with a nominal class and 100 rows or more, in the order of the index, at most 20,000 rows of each. The
1st, 3rd, 5th, ... are the half by which defaults are chosen, the 2nd, 4th, 6th, ... the half by which they are judged,
without variants of chosen sets. All classifiers see the same five stratified folds. Logarithms are of probabilities of
at least 1e-6. With one job, cells are run one after another, so that their times compare; peers use two threads.

With a cache, a run that was stopped goes on where it was. It knows a classifier by its parameters and the version of
bntk: after a change of the code, take another folder. After ``bntk warm-up``, times do not include compilation.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, LabelEncoder, OrdinalEncoder

from benchmarks import compare_uci, machine
from benchmarks.accuracy import read_set
from benchmarks.compare_uci import QUICK, _columns, _markdown, _save
from bntk.evaluation import Comparison, compare
from bntk.evaluation.measure_table import measure

#: Variants of sets of the choosing half, which do not judge.
VARIANTS = {"cleveland", "corral", "flare", "glass", "heart-statlog", "led7", "vowel-context", "waveform-40"}
LEAST_ROWS, MOST_ROWS = 100, 20_000
LEAST_PROBABILITY = 1e-6
MISSING_SHARE = 0.2
THREADS = 2
#: Classifiers with another setting than their default.
OTHER_SETTINGS = ("awtan", "aode by class")
#: The columns of results, and the measures in them.
MEASURES = {
    "accuracy": "accuracy", "log_loss": "clipped_log_loss", "brier": "brier", "calibration_error": "calibration_error",
}  # fmt: skip
TITLES = {"accuracy": "Accuracy", "log_loss": "Log loss", "brier": "Brier score", "calibration_error": "Calibration"}

# ---- classifiers -----------------------------------------------------------------------------------------------------


def ours() -> dict[str, Any]:
    """Every classifier of one class variable with its defaults, by its name in the command."""
    return {name: made for name, made in compare_uci.ours().items() if name not in OTHER_SETTINGS}


def peers() -> dict[str, Any]:
    """Classifiers of scikit-learn, and XGBoost and LightGBM where they are installed."""
    trees = {"n_estimators": 300, "n_jobs": THREADS, "random_state": 0}
    # Early stopping, the default for many rows, refuses a class of one row; and boosting refuses an empty column.
    boosting = make_pipeline(VarianceThreshold(), HistGradientBoostingClassifier(early_stopping=False, random_state=0))
    found = {
        "random forest": _columns(RandomForestClassifier(**trees), impute=True),
        "extra trees": _columns(ExtraTreesClassifier(**trees), impute=True),
        "boosting": _columns(boosting, impute=False),
        "logistic": _columns(LogisticRegression(max_iter=2000), impute=True),
        "categorical nb": _categorical(),
        "gaussian nb": _columns(GaussianNB(), impute=True),
    }
    try:
        from xgboost import XGBClassifier

        found["xgboost"] = _columns(Coded(XGBClassifier(n_jobs=THREADS, random_state=0)), impute=False)
    except ImportError:
        pass
    try:
        from lightgbm import LGBMClassifier

        lightgbm = LGBMClassifier(n_jobs=THREADS, random_state=0, verbosity=-1)
        found["lightgbm"] = _columns(Coded(lightgbm), impute=False)
    except ImportError:
        pass
    return found


class Coded(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are 0, 1, ... with any labels."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Coded:
        labels = LabelEncoder().fit(y)
        self.classes_ = labels.classes_
        self.classifier.fit(X, labels.transform(y))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[self.classifier.predict(X)]

    def predict_proba(self, X: Any) -> Any:
        return self.classifier.predict_proba(X)


def _categorical() -> Any:
    """Naive Bayes of codes: numbers in five bins; missing and unknown labels share the code 0."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        KBinsDiscretizer(5, encode="ordinal", strategy="quantile"),
    )
    labels = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1),
        FunctionTransformer(_from_zero),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (labels, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, CategoricalNB())


def _from_zero(codes: Any) -> Any:
    return codes + 1


# ---- sets and measures -----------------------------------------------------------------------------------------------


def halves(uci: Path) -> dict[str, list[str]]:
    """The names of the sets by which defaults are chosen, and of those by which they are judged."""
    index = pd.read_csv(uci / "INDEX.csv")
    names = index.loc[(index["target"] == "nominal") & (index["rows"] >= LEAST_ROWS), "name"].tolist()
    return {"choosing": names[0::2], "judging": [name for name in names[1::2] if name not in VARIANTS]}


def read(uci: Path, name: str, missing: bool) -> tuple[pd.DataFrame, pd.Series]:
    """The features and the class of a set, of many rows some, and without some of the cells if that is asked for."""
    X, y = read_set(uci, name)
    generator = np.random.default_rng(0)
    if len(X) > MOST_ROWS:
        rows = np.sort(generator.choice(len(X), MOST_ROWS, replace=False))
        X, y = X.iloc[rows].reset_index(drop=True), y.iloc[rows].reset_index(drop=True)
    if missing:
        X = X.mask(generator.random(X.shape) < MISSING_SHARE)
    return X, y


def clipped_log_loss(of: Any) -> float:
    return float(-np.log(np.maximum(of.true_probabilities, LEAST_PROBABILITY)).mean())


def run(options: argparse.Namespace) -> Comparison:
    """Cross-validate everything that is asked for; a cell that fails is recorded."""
    estimators = {**ours(), **peers()}
    chosen = {name: estimators[name] for name in options.only or estimators}
    by_half = halves(options.uci)
    half = [name for key in by_half if options.half in (key, "all") for name in by_half[key]]
    sets = options.sets or (QUICK if options.quick else half)
    datasets: dict[str, Callable[[], Any]] = {
        name: partial(read, options.uci, name, options.missing) for name in sets
    }  # fmt: skip
    described = "log loss of probabilities of at least 1e-6"
    measure("clipped_log_loss", described, greater_is_better=False, needs="probabilities")(clipped_log_loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with few rows, columns without a value in a fold
        return compare(
            chosen, datasets, cv=2 if options.quick else 5, scoring=MEASURES, errors="record", n_jobs=options.jobs,
            progress=True, cache=options.cache,
        )  # fmt: skip


# ---- the page --------------------------------------------------------------------------------------------------------

HEAD = """\
# Accuracy beside other packages{title}

Written by `python -m benchmarks.accuracy_peers UCI{flags} --write PAGE`: {n} classifiers on {sets} sets, at most
{most:,} rows of each, {folds} stratified folds, the same for all. Ours have their default parameters (but `rmcv` goes
by accuracy, as its default needs an order of the classes), and cut numbers inside each fold. Forests and extra trees
have 300 trees; boosting is scikit-learn's of histograms, without early stopping; the other peers have their defaults.
Peers get nominal columns one-hot coded (the naive Bayes of categories: codes, and numbers in five bins), missing labels
as a category and missing numbers as medians; boosting, XGBoost and LightGBM get these as they are. {missing}

The sets are in two halves: the choosing half is the one that defaults were chosen by, so that its figures flatter ours;
the judging half is the one to judge them by. Variants of sets of the choosing half are left out of it ({variants}).
Log loss is of probabilities of at least 1e-6, the Brier score is summed over classes, the calibration error is that of
the most probable class in ten bins; all are means over folds, then over sets. A set with a cell that failed is left out
of means and ranks. {seconds} {machine} {versions}.

The diagrams show mean ranks over the sets (1 is the best). Classifiers that a bar connects do not differ significantly
by the Nemenyi test (alpha = 0.05), which follows a Friedman test.
"""


def groups(result: Comparison, uci: Path) -> dict[str, Comparison]:
    """The results on the judging half, on the choosing half and on other sets; not on those with a failure."""
    by_half = halves(uci)
    neither = [name for name in result.datasets if not any(name in names for names in by_half.values())]
    sets = {"judging half": by_half["judging"], "choosing half": by_half["choosing"], "other sets": neither}
    whole = result.frame[~result.frame["dataset"].isin(result.failures["dataset"])]
    parts = {title: whole[whole["dataset"].isin(names)] for title, names in sets.items()}
    return {title: replace(result, frame=part) for title, part in parts.items() if len(part)}


def summary(result: Comparison, seconds: bool = True) -> pd.DataFrame:
    """One row per classifier: means and mean ranks over the sets, and the sums of seconds."""
    table = pd.DataFrame({name: result.by(name).means.mean() for name in MEASURES}).round(4)
    table["accuracy"] = (100 * table["accuracy"]).round(2)
    if len(result.estimators) > 1:
        for name in ("accuracy", "log_loss", "brier"):
            table[f"rank by {name}"] = result.by(name).ranks.mean().round(2)
    if seconds:
        table = table.join(result.frame.groupby("estimator")[["fit_seconds", "predict_seconds"]].sum().round(1))
    return table.sort_values("log_loss", kind="stable")


def tests(result: Comparison, measure: str) -> str:
    """Friedman's test and the critical difference; nothing where there is too little to compare."""
    if min(len(result.estimators), result.by(measure).means.dropna().shape[0]) < 2:
        return ""
    by = result.by(measure)
    return f"{by.friedman}. Nemenyi: critical difference {by.nemenyi.critical_difference:.2f}."


def page(result: Comparison, options: argparse.Namespace) -> str:
    """The text of the page; the pictures go beside it."""
    flags = "".join(f" --{name}" for name in ("missing", "quick") if getattr(options, name))
    flags += "".join(f" --{name} ..." for name in ("sets", "only") if getattr(options, name))
    without = "[Another page](accuracy-missing.md) has the judging half with a fifth of all cells removed."
    if options.missing:
        without = f"{MISSING_SHARE:.0%} of all cells, drawn at random, were removed before."
    titles = [*groups(result, options.uci)]
    left_out = [title for title in titles if not _has_seconds(title, options)]
    seconds = "Seconds are sums over folds and sets, in one process."
    if left_out == titles:
        seconds = "Other work ran on the machine at the same time, so that seconds are left out."
    elif left_out:
        seconds += f" Those of the {' and the '.join(left_out)} are left out, as other work ran at the same time."
    head = HEAD.format(
        title=", with missing values" if options.missing else "",
        seconds=seconds, variants=", ".join(sorted(VARIANTS)),
        flags=f" --half {options.half}{flags}", n=len(result.estimators), sets=len(result.datasets), most=MOST_ROWS,
        folds=result.frame["fold"].nunique(), missing=without, machine=machine.described()[0],
        versions=", ".join(map(machine.version, ("bntk", "scikit-learn", "xgboost", "lightgbm"))),
    )  # fmt: skip
    parts = [head]
    for title, part in groups(result, options.uci).items():
        table = _markdown(summary(part, _has_seconds(title, options)))
        parts.append(f"## The {title}: {len(part.datasets)} sets\n\n{table}\n")
        for name in MEASURES:
            parts += _diagram(part, name, title, options.write)
    for name in ("accuracy", "log_loss"):
        means = result.by(name).means
        shown = (100 * means).round(1) if name == "accuracy" else means.round(3)
        parts.append(f"## {TITLES[name]} of each set\n\n{_markdown(shown)}\n")
    if len(result.failures):
        parts.append(f"## Cells that failed\n\n{_markdown(result.failures)}\n")
    return "\n".join(parts)


def _has_seconds(title: str, options: argparse.Namespace) -> bool:
    """Whether the seconds of a part of the page are given."""
    return not {"all", title.split()[0]} & {*options.no_seconds}


def _diagram(result: Comparison, name: str, title: str, path: Path) -> list[str]:
    said = tests(result, name)
    if not said:
        return []
    picture = f"{path.stem}-{title.split()[0]}-{name}.svg"
    axes = result.by(name).plot(title=f"{TITLES[name]}: mean ranks on {len(result.datasets)} sets")
    _save(axes, path.parent / picture)
    return [f"### {TITLES[name]}, {title}\n\n![Critical difference diagram of {name}]({picture})\n\n{said}\n"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--half", choices=["choosing", "judging", "all"], default="all")
    parser.add_argument("--quick", action="store_true", help="four small sets, two folds")
    parser.add_argument("--missing", action="store_true", help="remove 20 %% of the cells first")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--only", nargs="+", metavar="CLASSIFIER")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--no-seconds", nargs="+", default=[], choices=["choosing", "judging", "other", "all"], metavar="HALF",
        help="leave the seconds of these sets out of the page, as other work ran at the same time",
    )  # fmt: skip
    options = parser.parse_args()
    result = run(options)
    for title, part in groups(result, options.uci).items():
        print(f"{title}, {len(part.datasets)} sets\n{summary(part).to_string()}")
        said = {name: tests(part, name) for name in MEASURES}
        print("".join(f"{name}: {text}\n" for name, text in said.items() if text))
    if len(result.failures):
        print(result.failures.to_string(index=False))
    if options.write:
        options.write.write_text(page(result, options), encoding="utf-8")


if __name__ == "__main__":
    main()
