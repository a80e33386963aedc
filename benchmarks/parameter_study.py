"""Do the parameters of the classifiers matter? The assignment of Mauá's lecture notes (section 11) on UCI sets.

python -m benchmarks.parameter_study UCI [--quick] [--sets iris glass ...] [--cache FOLDER] [--jobs 2]
                                    [--write docs/parameter-study.md]

UCI holds ``NAME.csv.gz`` and ``ATTRIBUTES.csv.gz``, see ``benchmarks.compare_uci``. Each set is split into training
(70 %) and test rows, stratified, three times. On the training part, five-fold cross-validation chooses the parameters
of naive Bayes (equivalent sample size), TAN (equivalent sample size of each class, for weights and tables) and AODE
(pseudo-count, least count of a superparent, and whether it is counted in all rows or in each class). The classifier
with the chosen parameters, learned from all training rows, is then judged on the test part, beside the one with default
parameters. The same for AMODE on sets with several labels, if ``--multilabel FOLDER`` is given. With ``--cache``, a run
that was stopped goes on after the last set that it finished; after a change of the code, take another folder. What came
out is in docs/parameter-study.md.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import StratifiedShuffleSplit

import bntk
from benchmarks import machine
from benchmarks.accuracy import read_set
from benchmarks.compare_uci import QUICK, SETS, _markdown
from bntk.evaluation import MultilabelStratifiedKFold, cross_validate, mean_accuracy, wilcoxon
from bntk.io.files import write_text

SPLITS, TEST, FOLDS = 3, 0.3, 5
SIZES = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
ALPHAS, COUNTS = (0.01, 0.1, 0.5, 1.0), (1, 5, 10, 30, 100)


class Study(NamedTuple):
    """A classifier, its default, and the parameters that are tried, by a short text of each."""

    default: Any
    settings: dict[str, Any]


def studies() -> dict[str, Study]:
    """The three classifiers of one class variable of the assignment."""
    naive = {f"ess {size:g}": bntk.NaiveBayes(prior=bntk.priors.BDeu(size)) for size in SIZES}
    tan = {f"ess {size:g}": _tan(size) for size in SIZES}
    aode = {
        f"alpha {alpha:g}, {count} {'>=' if count == 'state' else '>'} {m}": bntk.AODE(prior=alpha, m=m, count=count)
        for alpha, m, count in product(ALPHAS, COUNTS, ("state", "class"))
    }
    return {
        "naive Bayes": Study(bntk.NaiveBayes(), naive),
        "TAN": Study(bntk.TAN(), tan),
        "AODE": Study(bntk.AODE(), aode),
    }


def _tan(size: float) -> bntk.TAN:
    """Weights and tables with an equivalent sample of this size in each class (section 3)."""
    return bntk.TAN(criterion=bntk.scores.BDeu.per_class(size), prior=bntk.priors.BDeu.per_class(size))


# ---- one class variable ----------------------------------------------------------------------------------------------


def study_set(read: Callable[[], tuple[pd.DataFrame, pd.Series]], name: str) -> list[dict[str, Any]]:
    """A row for each split and classifier: what was chosen, and accuracy and log loss on the test rows."""
    X, y = read()
    common = y.map(y.value_counts()) > 1  # a class with one row cannot be in both parts
    X, y = X[common].reset_index(drop=True), y[common].reset_index(drop=True)
    rows = []
    for split, (train, test) in enumerate(StratifiedShuffleSplit(SPLITS, test_size=TEST, random_state=0).split(X, y)):
        there = X.iloc[train], y.iloc[train]
        for kind, study in studies().items():
            chosen = choose(study.settings, *there)
            pair = {"default": study.default, "chosen": study.settings[chosen]}
            judged = cross_validate(pair, X, y, cv=[(train, test)], scoring=["accuracy", "log_loss"])
            measured = judged.frame.set_index("estimator")[["accuracy", "log_loss"]].stack()
            rows.append({"set": name, "split": split, "classifier": kind, "setting": chosen}
                        | {f"{measure} {which}": value for (which, measure), value in measured.items()})  # fmt: skip
    return rows


def choose(settings: Mapping[str, Any], X: pd.DataFrame, y: pd.Series) -> str:
    """The setting with the best accuracy in five folds; of equals the one with the lowest log loss."""
    found = cross_validate(settings, X, y, cv=FOLDS, scoring=["accuracy", "log_loss"])
    means = found.frame.groupby("estimator", sort=False)[["accuracy", "log_loss"]].mean().round(12)
    return str(means.sort_values(["accuracy", "log_loss"], ascending=[False, True], kind="stable").index[0])


def table_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over sets and splits, by classifier: default beside chosen, and the test of no difference."""
    lines = {}
    for kind, part in frame.groupby("classifier", sort=False):
        by_set = part.groupby("set", sort=False)[[c for c in part if c.startswith(("accuracy", "log_loss"))]].mean()
        line = {}
        for measure, factor in (("accuracy", 100), ("log_loss", 1)):
            default, chosen = by_set[f"{measure} default"], by_set[f"{measure} chosen"]
            better = (chosen - default) * (1 if measure == "accuracy" else -1)
            line |= {
                f"{measure}, default": f"{factor * default.mean():.{2 if factor > 1 else 4}f}",
                f"{measure}, chosen": f"{factor * chosen.mean():.{2 if factor > 1 else 4}f}",
                f"sets better / worse by {measure}": f"{(better > 1e-12).sum()} / {(better < -1e-12).sum()}",
                f"p ({measure})": f"{wilcoxon(chosen.tolist(), default.tolist()).p:.3f}",
            }
        lines[str(kind)] = line
    return pd.DataFrame(lines).T


def chosen_table(frame: pd.DataFrame) -> pd.DataFrame:
    """How often each setting was chosen."""
    counts = frame.groupby(["classifier", "setting"], sort=False).size()
    shown = {kind: counts[kind].sort_values(ascending=False) for kind in frame["classifier"].unique()}
    return pd.DataFrame(
        {kind: "; ".join(f"{s}: {n}" for s, n in found.head(8).items()) for kind, found in shown.items()},
        index=["chosen most often"],
    ).T


# ---- several class variables -----------------------------------------------------------------------------------------


def study_labels(folder: Path, name: str) -> list[dict[str, Any]]:
    """AMODE with several equivalent sample sizes: a row for each of three splits."""
    X, Y = bntk.read_multilabel(folder / f"{name}.arff.gz", folder / f"{name}.xml")
    settings = {f"ess {size:g}": bntk.AMODE(prior=bntk.priors.BDeu(size)) for size in SIZES}
    rows = []
    for split, (train, test) in enumerate(MultilabelStratifiedKFold(3, seed=0).split(X, Y)):
        inner = list(MultilabelStratifiedKFold(3, seed=1).split(X.iloc[train], Y.iloc[train]))
        found = cross_validate(settings, X.iloc[train], Y.iloc[train], cv=inner, scoring="mean_accuracy")
        means = found.frame.groupby("estimator", sort=False)["mean_accuracy"].mean().round(12)
        chosen = str(means.idxmax())
        row: dict[str, Any] = {"set": name, "split": split, "setting": chosen}
        for which, model in (("default", bntk.AMODE()), ("chosen", settings[chosen])):
            fitted = clone(model).fit(X.iloc[train], Y.iloc[train])
            row[which] = mean_accuracy(Y.iloc[test], fitted.predict(X.iloc[test]))
        rows.append(row)
    return rows


# ---- the page --------------------------------------------------------------------------------------------------------

HEAD = """\
# Parameters of the classifiers

D. D. Mauá's lecture notes (section 11) ask for the parameters of naive Bayes, TAN and AODE (there AODC) to be chosen by
cross-validation on the training rows, and for the classifiers to be judged on test rows. Here {sets} UCI sets are split
into 70 % training and 30 % test rows, stratified, {splits} times; on the training rows {folds} folds choose the setting
with the best accuracy (of equals, the one with the lowest log loss). Tried were

- naive Bayes: `prior=bntk.priors.BDeu(ess)`, ess in {sizes}; default: `prior={naive.prior!r}`;
- TAN: `criterion=bntk.scores.BDeu.per_class(ess)`, `prior=bntk.priors.BDeu.per_class(ess)`, the same values; default:
  conditional mutual information and `prior={tan.prior!r}`;
- AODE: `prior` in {alphas}, `m` in {counts}, counted in all rows (`count="state"`, at least `m`) or in each class
  (`count="class"`, more than `m`); default: `prior={aode.prior!r}`, `m={aode.m}`, `count={aode.count!r}`.

Written by `python -m benchmarks.parameter_study UCI --write docs/parameter-study.md`. {machine}

## Results

Means over the sets, on test rows; "better" counts the sets on which the chosen setting is better than the default, p is
that of Wilcoxon's signed-rank test over the sets.
"""


def page(frame: pd.DataFrame, labels: pd.DataFrame) -> str:
    head = HEAD.format(
        sets=frame["set"].nunique(), splits=SPLITS, folds=FOLDS, sizes=SIZES, alphas=ALPHAS, counts=COUNTS,
        naive=bntk.NaiveBayes(), tan=bntk.TAN(), aode=bntk.AODE(), machine=machine.described()[0],
    )  # fmt: skip
    parts = [head, _markdown(table_of(frame)), "", _markdown(chosen_table(frame))]
    if len(labels):
        means = labels.groupby("set", sort=False)[["default", "chosen"]].mean().mul(100).round(2)
        means["chosen settings"] = labels.groupby("set", sort=False)["setting"].agg(", ".join)
        parts += ["", "## Several class variables", "", LABELS.format(amode=bntk.AMODE()), "", _markdown(means)]
    parts += ["", "## Accuracy of each set", "", _markdown(_by_set(frame)), ""]
    return "\n".join(parts)


LABELS = """\
AMODE with `prior=bntk.priors.BDeu(ess)`, chosen by the mean accuracy in three folds of the training rows, judged on the
rest, in three splits; default: `prior={amode.prior!r}`. Mean accuracy in per cent."""


def _by_set(frame: pd.DataFrame) -> pd.DataFrame:
    means = frame.pivot_table(
        index="set", columns="classifier", values=["accuracy default", "accuracy chosen"], sort=False
    )
    ordered = [
        (which, kind) for kind in frame["classifier"].unique() for which in ("accuracy default", "accuracy chosen")
    ]
    table = means[ordered].mul(100).round(1)
    table.columns = [f"{kind}, {which.split()[1]}" for which, kind in ordered]
    return table


def rows_of(options: argparse.Namespace) -> Iterator[Any]:
    for name in options.sets or (QUICK if options.quick else SETS):
        read = partial(read_set, options.uci, name)
        yield delayed(_kept)(options.cache, name, partial(_quietly, study_set, read, name))


def _kept(folder: Path | None, name: str, work: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The rows of a set, as they are in the folder, or computed and put there."""
    path = None if folder is None else folder / f"{name}.json"
    if path is not None and path.exists():
        found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return found
    rows = work()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(rows))
    return rows


def _quietly(work: Callable[..., Any], *arguments: Any) -> Any:
    bntk.set_threads(1)  # processes take all cores
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with few rows, states that are in one part only
        return work(*arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--multilabel", type=Path, metavar="FOLDER")
    parser.add_argument("--labels", nargs="+", default=["flags", "emotions", "foodtruck"])
    parser.add_argument("--quick", action="store_true", help="four small sets")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--cache", type=Path, metavar="FOLDER")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    found = Parallel(n_jobs=options.jobs, verbose=5)(rows_of(options))
    frame = pd.DataFrame([row for rows in found for row in rows])
    several = [
        _kept(options.cache, f"labels-{name}", partial(study_labels, options.multilabel, name))
        for name in (options.labels if options.multilabel else [])
    ]
    labels = pd.DataFrame([row for rows in several for row in rows])
    text = page(frame, labels)
    print(text)
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
