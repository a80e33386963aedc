"""Classifiers of several class variables: published accuracies, those of MEKA, time, memory, and growth.

python -m benchmarks.reproduce_multilabel DATA [--sets emotions ...] [--classifiers AMODE ...] [--folds 10]
    [--cache FOLDER] [--write docs/multilabel.md]
python -m benchmarks.reproduce_multilabel DATA --meka [--folds 10]
python -m benchmarks.reproduce_multilabel --growth docs/multilabel-growth.svg

DATA holds Mulan's files: ``NAME.xml``, and ``NAME.arff.gz`` or ``NAME-train`` and ``NAME-test``, which are joined.

The first prints a row for each set and classifier: the mean accuracy, its standard error over the folds, and the
published one; the share of rows in which all labels are right; the seconds of all folds, learning and predicting; and
the most memory that one fold takes beside the data (traced in a run of its own, as tracing takes time). The published
figures are those of the lecture notes of D. D. Maua on Bayesian network classifiers (2016), section 6: binary relevance
and an ensemble of chains with naive Bayes, the same ensemble with decision trees (ECC-J48), and the average of
multi-dimensional one-dependence classifiers (ML-NB there, AMODE here). The folds here are other ones, made by iterative
stratification, the same for all classifiers. Numbers are cut into intervals inside each fold, but for trees, and no
features are selected beforehand. J48, which is C4.5, is approximated by scikit-learn's tree: by entropy instead of the
gain ratio, with at least two rows in each leaf as J48 has by default (-M 2), and not pruned.

With ``--cache`` the figures of each set and classifier are kept as a small file, so that a run that was stopped goes on
where it was, and a classifier can be added without running the others. ``--write`` puts the table into the page.

The second compares methods that MEKA has, too, with figures that MEKA 1.9.1 gave. The third measures how the time to
learn and to predict grows with the numbers of labels and of features, on generated rows, and draws it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import bntk
from bntk.evaluation import MultilabelStratifiedKFold
from bntk.evaluation.metrics import global_accuracy, mean_accuracy

Make = Callable[[], Any]


def ecc_j48() -> Any:
    """Ten chains of trees. States become numbers once for all of them; no set has more than two, so in any order."""
    as_numbers = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    states = make_column_transformer(
        (as_numbers, make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0)
    return make_pipeline(states, bntk.ChainEnsemble(tree, n_chains=10))


CLASSIFIERS: dict[str, Make] = {
    "BR-NB": lambda: bntk.BinaryRelevance(bntk.NaiveBayes(numeric="mdl")),
    "ECC-NB": lambda: bntk.ChainEnsemble(bntk.NaiveBayes(numeric="mdl"), n_chains=10),
    "ECC-J48": ecc_j48,
    "AMODE": lambda: bntk.AMODE(numeric="mdl"),
    "MDBNC": lambda: bntk.MDBNC(numeric="mdl"),
    # Not in the table unless asked for: a weaker prior than Laplace's rule, for sets with very rare labels.
    "BR-NB, alpha 0.01": lambda: bntk.BinaryRelevance(bntk.NaiveBayes(prior=0.01, numeric="mdl")),
}
IN_TABLE = list(CLASSIFIERS)[:5]
#: Mean accuracies in percent.
PUBLISHED = {
    "emotions": {"BR-NB": 77.6, "ECC-NB": 78.1, "ECC-J48": 78.0, "AMODE": 78.0},
    "scene": {"BR-NB": 82.6, "ECC-NB": 83.5, "ECC-J48": 88.3, "AMODE": 88.0},
    "yeast": {"BR-NB": 70.3, "ECC-NB": 70.3, "ECC-J48": 77.1, "AMODE": 77.3},
    "slashdot": {"BR-NB": 95.9, "ECC-NB": 95.9, "ECC-J48": 95.9, "AMODE": 95.9},
    "genbase": {"BR-NB": 99.6, "ECC-NB": 99.6, "ECC-J48": 99.8, "AMODE": 99.8},
    "cal500": {"BR-NB": 61.5, "ECC-NB": 57.0, "ECC-J48": 61.4, "AMODE": 85.9},
}
#: Columns that name the row, so that nothing can be learned from them.
IDENTIFIERS = {"genbase": ["protein"]}

LIKE_MEKA: dict[str, Make] = {
    "BR-NB": lambda: bntk.BinaryRelevance(bntk.NaiveBayes(numeric="mdl")),
    "BR-TAN": lambda: bntk.BinaryRelevance(bntk.TAN(numeric="mdl")),
    "CC-NB": lambda: bntk.ClassifierChain(bntk.NaiveBayes(numeric="mdl")),
    "CC-TAN": lambda: bntk.ClassifierChain(bntk.TAN(numeric="mdl")),
    "BCC-NB": lambda: bntk.BayesianChain(bntk.NaiveBayes(numeric="mdl")),
    "BCC-TAN": lambda: bntk.BayesianChain(bntk.TAN(numeric="mdl")),
    "LP-NB": lambda: bntk.LabelPowerset(bntk.NaiveBayes(numeric="mdl")),
}
#: Mean and global accuracy in percent and CPU seconds (learning and predicting) that MEKA 1.9.1 gave with ten folds and
#: the same kind of cut points; its "Music" is emotions with one row and one feature less. TAN on yeast: two folds only.
MEKA = {
    "emotions": {
        "BR-NB": (76.9, 23.8, 0.09),
        "BR-TAN": (78.3, 24.7, 0.44),
        "CC-NB": (77.3, 25.0, 0.05),
        "CC-TAN": (78.2, 25.0, 0.44),
        "BCC-NB": (76.9, 24.3, 0.05),
        "BCC-TAN": (78.2, 25.8, 0.43),
        "LP-NB": (75.7, 28.2, 0.02),
    },
    "yeast": {
        "BR-NB": (74.4, 10.3, 0.70),
        "BR-TAN": (80.0, 15.3, 11.0),
        "CC-NB": (73.7, 12.9, 0.75),
        "CC-TAN": (79.7, 22.1, 13.1),
        "BCC-NB": (74.5, 10.1, 0.73),
        "BCC-TAN": (79.9, 15.1, 10.6),
        "LP-NB": (72.8, 9.1, 0.40),
    },
    "scene": {"BR-NB": (83.6, 29.2, 1.14)},
}


def read_set(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The features and labels of all rows."""
    whole = folder / f"{name}.arff.gz"
    paths = [whole] if whole.exists() else [folder / f"{name}-{part}.arff.gz" for part in ("train", "test")]
    parts = [bntk.read_multilabel(path, folder / f"{name}.xml") for path in paths]
    X, Y = (pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True))
    return X.drop(columns=IDENTIFIERS.get(name, [])), Y


class Measured(NamedTuple):
    """Of one classifier on one set."""

    accuracies: list[float]  # the mean accuracy in each fold
    whole: float  # the share of all rows in which each label is right
    learning: float  # seconds, all folds
    predicting: float
    inference: str
    megabytes: float = float("nan")  # at a time, in one fold

    @property
    def mean(self) -> str:
        return f"{100 * np.mean(self.accuracies):.1f}"

    @property
    def error(self) -> str:
        return f"{100 * np.std(self.accuracies, ddof=1) / np.sqrt(len(self.accuracies)):.2f}"


def measure(make: Make, X: pd.DataFrame, Y: pd.DataFrame, n_folds: int) -> Measured:
    """Cross-validate a classifier."""
    few = np.arange(min(len(X), 60))  # kernels are compiled before the clock runs
    make().fit(X.iloc[few, :5], Y.iloc[few, :3]).predict(X.iloc[few, :5])
    accuracies, right, learning, predicting = [], 0.0, 0.0, 0.0
    for train, test in MultilabelStratifiedKFold(n_folds).split(X, Y):
        start = time.perf_counter()
        model = make().fit(X.iloc[train], Y.iloc[train])
        between = time.perf_counter()
        predicted = model.predict(X.iloc[test])
        learning, predicting = learning + between - start, predicting + time.perf_counter() - between
        accuracies.append(mean_accuracy(Y.iloc[test], predicted))
        right += len(test) * global_accuracy(Y.iloc[test], predicted)
    inference = str(getattr(model, "inference_", "")).split(":")[0]
    return Measured(accuracies, right / len(Y), learning, predicting, inference)


def peak_megabytes(make: Make, X: pd.DataFrame, Y: pd.DataFrame, n_folds: int) -> float:
    """The most memory in use at a time while one fold is learned and predicted, beside what was there before."""
    train, test = next(iter(MultilabelStratifiedKFold(n_folds).split(X, Y)))
    rows = X.iloc[train], Y.iloc[train], X.iloc[test]
    tracemalloc.start()
    make().fit(*rows[:2]).predict(rows[2])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def row(*cells: Any) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "set", "labels", "features", "classifier", "mean %", "+-", "published", "global %", "learning s", "predicting s",
    "peak MB", "inference",
)  # fmt: skip


def kept_or_measured(
    name: str, label: str, X: pd.DataFrame, Y: pd.DataFrame, n_folds: int, cache: Path | None
) -> Measured:
    """The figures of a classifier on a set, from the cache if they are there."""
    kept = cache / f"{name}-{label.replace(' ', '')}-{n_folds}.json" if cache else None
    if kept is not None and kept.exists():
        return Measured(**json.loads(kept.read_text(encoding="utf-8")))
    make = CLASSIFIERS[label]
    found = measure(make, X, Y, n_folds)._replace(megabytes=peak_megabytes(make, X, Y, n_folds))
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(found._asdict()), encoding="utf-8")
        part.replace(kept)  # a run that is stopped here leaves no half file
    return found


def published_cell(name: str, label: str) -> str:
    """What was published of a classifier, or the best of all where nothing was."""
    figures = PUBLISHED[name]
    if label in figures:
        return str(figures[label])
    best = [other.replace("AMODE", "ML-NB") for other in figures if figures[other] == max(figures.values())]
    return f"best: {max(figures.values())} ({'all' if len(best) == len(figures) else ', '.join(best)})"


def table_of(folder: Path, sets: list[str], classifiers: list[str], n_folds: int, cache: Path | None) -> list[str]:
    """Our figures beside the published ones, printed as they are found."""
    lines = [row(*HEAD), "|" + "---|" * len(HEAD)]
    print(*lines, sep="\n", flush=True)
    for name in sets:
        X, Y = read_set(folder, name)
        for label in classifiers:
            found = kept_or_measured(name, label, X, Y, n_folds, cache)
            mean = f"**{found.mean}**" if float(found.mean) >= max(PUBLISHED[name].values()) else found.mean
            of_set = (name, Y.shape[1], X.shape[1]) if label == classifiers[0] else ("", "", "")
            cells = (
                mean, found.error, published_cell(name, label), f"{100 * found.whole:.1f}", f"{found.learning:.1f}",
                f"{found.predicting:.1f}", f"{found.megabytes:.0f}", found.inference,
            )  # fmt: skip
            lines.append(row(*of_set, label, *cells))
            print(lines[-1], flush=True)
    return lines


def write_table(page: Path, lines: list[str]) -> None:
    """Replace the table of the same columns in a page."""
    text = page.read_text(encoding="utf-8").split("\n")
    start = text.index(row(*HEAD))
    end = next(i for i in range(start, len(text)) if not text[i].startswith("|"))
    page.write_text("\n".join([*text[:start], *lines, *text[end:]]), encoding="utf-8")


def print_meka(folder: Path, n_folds: int) -> None:
    """Our figures for methods that MEKA has, beside MEKA's."""
    print(row("set", "method", "mean %", "MEKA", "global %", "MEKA", "seconds per fold", "MEKA, CPU seconds"))
    print("|" + "---|" * 8)
    for name, figures in MEKA.items():
        X, Y = read_set(folder, name)
        for method, (mean, whole, seconds) in figures.items():
            found = measure(LIKE_MEKA[method], X, Y, n_folds)
            mine = (found.learning + found.predicting) / n_folds
            print(row(name, method, found.mean, mean, f"{100 * found.whole:.1f}", whole, f"{mine:.2f}", seconds),
                  flush=True)  # fmt: skip


# ---- growth ----------------------------------------------------------------------------------------------------------

GROWTH_ROWS, GROWTH_TESTED = 1000, 500
GROWING_LABELS, LABELS_THERE = (5, 10, 20, 40, 80, 160), 20
GROWING_FEATURES, FEATURES_THERE = (50, 100, 200, 400, 800, 1600), 200


def generate(n_labels: int, n_features: int, n_rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels in a chain, and features of two states, each of which depends on one label or two neighbours."""
    random = np.random.default_rng(n_labels * 10_000 + n_features)
    labels = np.zeros((n_labels, n_rows), dtype=np.int64)
    for j in range(n_labels):
        before = labels[j - 1] if j else labels[0]
        labels[j] = random.random(n_rows) < np.where(before == 1, 0.5, 0.15)
    parents = random.integers(n_labels, size=n_features)
    neighbours = np.where(random.random(n_features) < 0.3, np.minimum(parents + 1, n_labels - 1), parents)
    tables = random.beta(1, 1, size=(n_features, 2, 2))
    chances = tables[np.arange(n_features)[:, None], labels[parents], labels[neighbours]]
    values = np.where(random.random(chances.shape) < chances, "yes", "no")
    X = {f"f{i}": pd.Categorical(column, categories=["no", "yes"]) for i, column in enumerate(values)}
    return pd.DataFrame(X), pd.DataFrame(labels.T, columns=[f"c{j}" for j in range(n_labels)])


def seconds_of(make: Make, n_labels: int, n_features: int) -> tuple[float, float]:
    """To learn from 1,000 rows, and to predict 500 others; the better of two runs."""
    X, Y = generate(n_labels, n_features, GROWTH_ROWS + GROWTH_TESTED)
    learning, predicting = [], []
    for _ in range(2):
        start = time.perf_counter()
        model = make().fit(X[:GROWTH_ROWS], Y[:GROWTH_ROWS])
        between = time.perf_counter()
        model.predict(X[GROWTH_ROWS:])
        learning.append(between - start)
        predicting.append(time.perf_counter() - between)
    return min(learning), min(predicting)


def draw_growth(path: Path) -> None:
    """Measure and draw the seconds against the numbers of labels and of features; the figures are printed, too."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "multilabel"  # the same figures give the same file
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
    cases = {
        f"labels, with {FEATURES_THERE} features": [(n, n, FEATURES_THERE) for n in GROWING_LABELS],
        f"features, with {LABELS_THERE} labels": [(n, LABELS_THERE, n) for n in GROWING_FEATURES],
    }
    print(row("classifier", "labels", "features", "learning s", "predicting s"))
    print("|" + "---|" * 5)
    for panel, (title, sizes) in zip(panels, cases.items(), strict=True):
        for colour, label in enumerate(("BR-NB", "AMODE", "MDBNC")):
            found = [seconds_of(CLASSIFIERS[label], *size[1:]) for size in sizes]
            for (_, n_labels, n_features), (learning, predicting) in zip(sizes, found, strict=True):
                print(row(label, n_labels, n_features, f"{learning:.2f}", f"{predicting:.2f}"), flush=True)
            for part, (marker, what) in enumerate((("o-", "learn"), ("s:", "predict"))):
                panel.plot(
                    [size[0] for size in sizes], [times[part] for times in found], marker, color=f"C{colour}",
                    label=f"{label}, {what}",
                )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlabel=title)
        panel.set_xticks([size[0] for size in sizes], [str(size[0]) for size in sizes], minor=False)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel(f"seconds ({GROWTH_ROWS:,} and {GROWTH_TESTED:,} rows)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--classifiers", nargs="+", default=IN_TABLE, choices=list(CLASSIFIERS))
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep what is finished, and go on from there")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="replace the table in this page")
    parser.add_argument("--meka", action="store_true", help="methods that MEKA has, beside its figures")
    parser.add_argument("--growth", type=Path, metavar="PICTURE", help="seconds against labels and features")
    options = parser.parse_args()
    if options.growth:
        draw_growth(options.growth)
    elif options.data is None:
        parser.error("give the folder of the data, or --growth")
    elif options.meka:
        print_meka(options.data, options.folds)
    elif options.write and (options.sets, options.classifiers) != (list(PUBLISHED), IN_TABLE):
        parser.error("--write is for the whole table, all sets and classifiers")
    else:
        lines = table_of(options.data, options.sets, options.classifiers, options.folds, options.cache)
        if options.write:
            write_table(options.write, lines)


if __name__ == "__main__":
    main()
