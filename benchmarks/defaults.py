"""Whether any setting of numbers and prior serves a classifier better than its defaults.

python -m benchmarks.defaults UCI [--only tan aode ...] [--sets iris ...] [--most-rows 2000 20000] [--cache FOLDER]
                                  [--settings "smooth 1" ...] [--jobs 2] [--write docs/defaults.md]

On the choosing half of :mod:`benchmarks.accuracy_peers`, at most so many rows of each set, and its folds: each
classifier of one class variable with its defaults, and with each pair of ``numeric`` = "mdl", "frequency", "smooth" and
``prior`` = 1, 0.5, ``BDeu(1)``, ``Backoff()``; mean log loss (of probabilities of at least 1e-6) and accuracy over the
sets. Where no column is cut, all ``numeric`` are the same, and are run once. A setting that is refused on some set
(tables that are too large) has no mean. With a cache, a run that was stopped goes on where it was, and sets that have
no more rows than an earlier run looked at are not run again. It does not know a change of the code.
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
#: What two settings may differ in mean log loss without one being better.
TIE = 0.0005


def settings(classifier: Any, has_numbers: bool, chosen: set[str]) -> dict[str, Any]:
    """The classifier with its defaults, and with each pair of settings that is chosen."""
    found = {DEFAULT: classifier}
    for numeric in NUMERIC if has_numbers else ("mdl",):
        for name, prior in PRIORS.items():
            ways = [numeric] if has_numbers else NUMERIC  # without numbers, all ways are the same
            if not chosen.isdisjoint(f"{way} {name}" for way in ways):
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


def run(options: argparse.Namespace, most_rows: int) -> dict[str, pd.DataFrame]:
    """The results of each classifier: one row for each set, setting and fold."""
    accuracy_peers.MOST_ROWS = most_rows
    sets = options.sets or accuracy_peers.halves(options.uci)["choosing"]
    described = "log loss of probabilities of at least 1e-6"
    measure("clipped_log_loss", described, greater_is_better=False, needs="probabilities")(
        accuracy_peers.clipped_log_loss
    )
    numbers = {name: has_numbers(accuracy_peers.read(options.uci, name, False)[0]) for name in sets}
    classifiers = accuracy_peers.ours()
    found = {}
    for name in options.only or classifiers:
        refused = priors_refused(classifiers[name])
        chosen = {f"{numeric} {prior}" for numeric in NUMERIC for prior in PRIORS if prior not in refused}
        chosen &= set(options.settings or chosen)
        parts = []
        for cut in (True, False):
            of: dict[str, Callable[[], Any]] = {
                one: partial(accuracy_peers.read, options.uci, one, False) for one in sets if numbers[one] is cut
            }
            if not of:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                part = compare(
                    settings(classifiers[name], cut, chosen), of, cv=5, errors="record", n_jobs=options.jobs,
                    scoring={"accuracy": "accuracy", "log_loss": "clipped_log_loss"}, progress=True,
                    cache=options.cache,
                )  # fmt: skip
            parts.append(part.frame if cut else _all_ways(part.frame))
        frame = pd.concat(parts, ignore_index=True)
        found[name] = frame[frame["estimator"].isin({DEFAULT, *chosen})]
        print(name, *lines(name, found[name]), sep="\n", flush=True)
    return found


def _all_ways(frame: pd.DataFrame) -> pd.DataFrame:
    """Results of sets without numbers count for every way to cut them."""
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
    verdict = "none is better" if default <= others.min() + TIE else "BETTER THAN THE DEFAULT"
    return [f"{name}: default {default:.4f}, best {others.idxmin()} {others.min():.4f}: {verdict}", table.to_string()]


HEAD = """\
# The defaults of classifiers

Written by `python -m benchmarks.defaults UCI --most-rows {rows} --write docs/defaults.md`. Does another way with
numbers, or another prior, predict better than what a classifier does by default? Mean log loss (of probabilities of at
least 1e-6) over the sets of the [choosing half](accuracy.md), five stratified folds. Each number is the mean over all
sets; `–`: the classifier has no such prior, or on some set the tables are too large. Less than {tie} is no difference.
`RMCV` goes by accuracy, as its default needs an order of the classes. {machine}
"""


def page(found: dict[int, dict[str, pd.DataFrame]]) -> str:
    """The text of the page: a table for each number of rows."""
    rows = " ".join(map(str, found))
    parts = [HEAD.format(rows=rows, tie=TIE, machine=machine.described()[0])]
    parts += [f"## At most {most:,} rows of each set\n\n{table(results)}" for most, results in found.items()]
    return "\n".join(parts)


def table(found: dict[str, pd.DataFrame]) -> str:
    """The mean log losses of all classifiers, with their defaults and with each setting."""
    names = [f"{numeric} {prior}" for numeric in NUMERIC for prior in PRIORS]
    names = [name for name in names if any((frame["estimator"] == name).any() for frame in found.values())]
    heads = ["classifier", "`numeric`", "`prior`", "sets", "default"]
    lines = [[*heads, *(name.replace(" ", ", ") for name in names)], ["---"] * (len(heads) + len(names))]
    classifiers = accuracy_peers.ours()
    for name, frame in found.items():
        means, made = summary(frame), classifiers[name]
        losses = [means["log_loss"].get(each, float("nan")) for each in [DEFAULT, *names]]
        shown = ["–" if np.isnan(loss) else f"{loss:.4f}" for loss in losses]
        n_sets = f"{means['sets'].iloc[0]:.0f}"
        lines.append([f"`{type(made).__name__}`", f"`{made.numeric!r}`", f"`{made.prior!r}`", n_sets, *shown])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("uci", type=Path)
    parser.add_argument("--only", nargs="+", metavar="CLASSIFIER")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--settings", nargs="+", help='some of them, such as "mdl 0.5"')
    parser.add_argument("--most-rows", type=int, nargs="+", default=[2000])
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    found = {most: run(options, most) for most in options.most_rows}
    if options.write:
        options.write.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
