"""Whether any setting of numbers and prior serves a classifier better than its defaults.

python -m benchmarks.defaults UCI [--only tan aode ...] [--sets iris ...] [--most-rows 2000] [--cache FOLDER]
                                  [--jobs 2] [--write docs/defaults.md]

On the choosing half of :mod:`benchmarks.accuracy_peers`, at most so many rows of each set, and its folds: each
classifier of one class variable with its defaults, and with each pair of ``numeric`` = "mdl", "frequency", "smooth" and
``prior`` = 1, 0.5, ``BDeu(1)``, ``Backoff()``; mean log loss (of probabilities of at least 1e-6) and accuracy over the
sets. Where no column is cut, all ``numeric`` are the same, and are run once. A setting that is refused on some set
(tables that are too large) has no mean. With a cache, a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import bntk
from benchmarks import accuracy_peers, machine
from bntk.data.columns import columns_of
from bntk.data.numbers import columns_of_numbers, ways_of
from bntk.evaluation import compare
from bntk.evaluation.measure_table import measure

NUMERIC = ("mdl", "frequency", "smooth")
PRIORS: dict[str, Any] = {"1": 1.0, "0.5": 0.5, "BDeu(1)": bntk.priors.BDeu(1), "Backoff()": bntk.priors.Backoff()}
DEFAULT = "default"
#: Not defaults of a classifier, but other settings of one.
VARIANTS = ("awtan", "aode by class")


def settings(classifier: Any, has_numbers: bool, refused: set[str]) -> dict[str, Any]:
    """The classifier with its defaults, and with each pair of settings that it takes."""
    found = {DEFAULT: classifier}
    for numeric in NUMERIC if has_numbers else ("mdl",):
        for name, prior in PRIORS.items():
            if name not in refused:
                found[f"{numeric} {name}"] = clone(classifier).set_params(numeric=numeric, prior=prior)
    return found


def priors_refused(classifier: Any) -> set[str]:
    """The priors that a classifier does not take."""
    X = pd.DataFrame({"a": ["x", "z"] * 20, "b": ["u", "u", "v", "v"] * 10})
    refused = set()
    for name, prior in PRIORS.items():
        try:
            clone(classifier).set_params(prior=prior).fit(X, ["no", "yes", "yes", "no"] * 10)
        except bntk.errors.ArgumentError:
            refused.add(name)
    return refused


def has_numbers(X: pd.DataFrame) -> bool:
    """Whether the rule for numbers cuts some column."""
    columns = columns_of(X)
    return any(way != "category" for way in ways_of("auto", columns, columns_of_numbers(columns)).values())


def run(options: argparse.Namespace) -> dict[str, pd.DataFrame]:
    """The results of each classifier: one row for each set, setting and fold."""
    accuracy_peers.MOST_ROWS = options.most_rows
    sets = options.sets or accuracy_peers.halves(options.uci)["choosing"]
    described = "log loss of probabilities of at least 1e-6"
    measure("clipped_log_loss", described, greater_is_better=False, needs="probabilities")(
        accuracy_peers.clipped_log_loss
    )
    numbers = {name: has_numbers(accuracy_peers.read(options.uci, name, False)[0]) for name in sets}
    classifiers = {name: made for name, made in accuracy_peers.ours().items() if name not in VARIANTS}
    found = {}
    for name in options.only or classifiers:
        refused = priors_refused(classifiers[name])
        parts = []
        for cut in (True, False):
            of: dict[str, Callable[[], Any]] = {
                one: partial(accuracy_peers.read, options.uci, one, False) for one in sets if numbers[one] is cut
            }
            if not of:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parts.append(compare(
                    settings(classifiers[name], cut, refused), of, cv=5, errors="record", n_jobs=options.jobs,
                    scoring={"accuracy": "accuracy", "log_loss": "clipped_log_loss"}, progress=True,
                    cache=options.cache,
                ))  # fmt: skip
        found[name] = pd.concat([_all_ways(part.frame) for part in parts], ignore_index=True)
        print(name, *lines(name, found[name]), sep="\n", flush=True)
    return found


def _all_ways(frame: pd.DataFrame) -> pd.DataFrame:
    """Results of sets without numbers count for every way to cut them."""
    if any(f"{NUMERIC[1]} " in name for name in frame["estimator"]):
        return frame
    same = [
        frame[frame["estimator"].str.startswith("mdl ")].assign(
            estimator=lambda part, way=way: part["estimator"].str.replace("mdl ", f"{way} ", regex=False)
        )
        for way in NUMERIC[1:]
    ]
    return pd.concat([frame, *same])


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy and log loss of each setting over the sets on which the default did not fail, the default first."""
    means = frame.groupby(["dataset", "estimator"])[["accuracy", "log_loss"]].mean().unstack()
    whole = means[means["log_loss"][DEFAULT].notna()]
    table = whole.mean(skipna=False).unstack(0)
    table["sets"] = len(whole)
    return table.loc[[DEFAULT, *(name for name in table.index if name != DEFAULT)]]


def lines(name: str, frame: pd.DataFrame) -> list[str]:
    """The default of a classifier beside the best of the settings."""
    table = summary(frame)
    others = table.drop(index=DEFAULT)["log_loss"]
    default = table.loc[DEFAULT, "log_loss"]
    verdict = "none is better" if default <= others.min() else "BETTER THAN THE DEFAULT"
    return [f"{name}: default {default:.4f}, best {others.idxmin()} {others.min():.4f}: {verdict}", table.to_string()]


HEAD = """\
# The defaults of classifiers

Written by `python -m benchmarks.defaults UCI --most-rows {rows} --write docs/defaults.md`. Does another way with
numbers, or another prior, predict better than what a classifier does by default? Mean log loss (of probabilities of at
least 1e-6) over the sets of the [choosing half](accuracy.md), at most {rows:,} rows of each, five stratified folds.
Each number is the mean over all sets; `–`: on some set the tables are too large. {machine}

| classifier | `numeric` | `prior` | sets | default | {heads} |
| --- | --- | --- | --- | --- | {rules} |
"""


def page(found: dict[str, pd.DataFrame], options: argparse.Namespace) -> str:
    """The text of the page."""
    names = [f"{numeric} {prior}" for numeric in NUMERIC for prior in PRIORS]
    heads = " | ".join(f"{name.partition(' ')[0]}, {name.partition(' ')[2]}" for name in names)
    text = HEAD.format(
        rows=options.most_rows, heads=heads, rules=" | ".join("---" for _ in names), machine=machine.described()[0]
    )
    classifiers = accuracy_peers.ours()
    for name, frame in found.items():
        table = summary(frame)
        losses = [table["log_loss"].get(each, float("nan")) for each in names]
        shown = ["–" if np.isnan(loss) else f"{loss:.4f}" for loss in losses]
        made = classifiers[name]
        row = table.iloc[0]
        first = f"`{type(made).__name__}` | `{made.numeric!r}` | `{made.prior!r}` | {row['sets']:.0f}"
        text += f"| {first} | {row['log_loss']:.4f} | {' | '.join(shown)} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--only", nargs="+", metavar="CLASSIFIER")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--most-rows", type=int, default=2000)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    found = run(options)
    if options.write:
        options.write.write_text(page(found, options), encoding="utf-8")


if __name__ == "__main__":
    main()
