"""Searches for classifiers: bntk beside what was recorded of R's bnclassify, and how their cost grows.

python -m benchmarks.wrappers [--quick]

1. The wrapper searches, by accuracy in ten folds, on generated data with the shape of that on which bnclassify 0.4.8
   was timed once (CPU seconds, one run each, other data of this shape; R is not needed here). Ours are wall seconds
   with everything compiled, the shortest of several runs. The number of steps depends on the data, so the time for each
   candidate is given, too.
2. The time for one candidate structure with 20 to 200 features, when it is first seen and when it is seen again (in a
   later step of a search): it should not depend on their number.
3. Sahami's k-dependence and its selective form.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import bntk
from benchmarks.parameters import best
from bntk.graph.dag import DAG
from bntk.learning import spaces
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import Accuracy
from bntk.learning.search import BackwardJoining, ForwardJoining, GreedyAdditions, Search, SuperparentAdditions
from bntk.learning.space import Space

# Seconds of bnclassify, by rows and features.
RECORDED = {
    (1_000, 20): {"fssj": 0.48, "bsej": 3.7, "tan_hcsp": 0.68, "tan_hc": 3.0, "kdb(2)": 6.4},
    (10_000, 50): {"tan_hcsp": 3.9},
}
SEARCHES: dict[str, Search] = {
    "fssj": ForwardJoining(),
    "bsej": BackwardJoining(),
    "tan_hcsp": SuperparentAdditions(),
    "tan_hc": GreedyAdditions(both_directions=False),
    "kdb(2)": GreedyAdditions(),
}


def generate(n_rows: int, n_features: int, states: int = 3, classes: int = 2, seed: int = 0) -> bntk.Table:
    """Rows of a class and features that depend on it and, in chains of three, on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n_rows)
    columns = {}
    before = np.zeros(n_rows, dtype=int)
    for f in range(n_features):
        shape = (classes, states) if f % 3 else (classes, 1)
        cpt = rng.dirichlet(np.full(states, 3.0), size=shape)
        given = cpt[y, before if f % 3 else 0]
        before = (rng.random((n_rows, 1)) > given.cumsum(axis=1)[:, :-1]).sum(axis=1)
        columns[f"x{f}"] = before
    return bntk.Table.from_columns({**columns, "class": y})


def space_for(name: str, table: bntk.Table) -> Space:
    *features, target = table.names
    if name in ("fssj", "bsej"):
        return spaces.augmented(features, target, "dag", "discard")
    return spaces.kdb(features, target, 2) if name == "kdb(2)" else spaces.fan(features, target)


def compare(quick: bool) -> None:
    for (n_rows, n_features), recorded in RECORDED.items():
        table = generate(n_rows, n_features)
        print(f"\n{n_rows:,} rows, {n_features} features of 3 states, 2 classes, 10 folds")
        print(f"{'':<12}{'seconds':>9}{'bnclassify':>12}{'ratio':>8}{'steps':>7}{'candidates':>12}{'us each':>9}")
        for name, search in SEARCHES.items():
            if quick and n_rows > 1_000 and name not in recorded:
                continue
            space, score = space_for(name, table), Accuracy(target="class")
            learn_structure(table, score, space, search)  # compile
            seconds, found = best(lambda: learn_structure(table, score, space, search), 5)  # noqa: B023
            peer = recorded.get(name)
            beside = f"{peer:>12.2f}{peer / seconds:>7.0f}x" if peer else f"{'':>20}"
            each = 1e6 * seconds / found.n_evaluated
            print(f"{name:<12}{seconds:>9.4f}{beside}{len(found.trace) - 1:>7}{found.n_evaluated:>12,}{each:>9.0f}")


def growth() -> None:
    print("\none candidate (an arc between two features of naive Bayes), 2,000 rows, 10 folds")
    print(f"{'features':>9}{'candidates':>12}{'us each':>9}{'again':>9}")
    for n_features in (20, 50, 100, 200):
        table = generate(2_000, n_features)
        *features, target = table.names
        dag = DAG(table.names, [(target, name) for name in features])
        moves = spaces.fan(features, target).walk(dag).moves()
        moves = moves[np.random.default_rng(0).permutation(len(moves))[:2_000]]
        moves = moves[np.lexsort(moves.T)]
        seconds = {"first": math.inf, "again": math.inf}
        for _ in range(5):
            evaluator = Accuracy(target=target).evaluator(TableCounter(table), dag)
            evaluator.total()
            for when in seconds:
                seconds[when] = min(seconds[when], best(lambda: evaluator.gains(moves), 1)[0])  # noqa: B023
        each = [f"{1e6 * value / len(moves):>9.1f}" for value in seconds.values()]
        print(f"{n_features:>9}{len(moves):>12,}{''.join(each)}")


def dependence(quick: bool) -> None:
    shapes = [(10_000, 50)] if quick else [(10_000, 50), (100_000, 100)]
    print("\nk-dependence, 3 states, 2 classes: seconds to fit")
    print(f"{'rows':>9}{'features':>9}{'pairs':>9}{'KDB(2)':>9}{'SelectiveKDB(5)':>17}")
    for n_rows, n_features in shapes:
        table = generate(n_rows, n_features)
        features = table.select(table.names[:-1])
        y = np.asarray(table.column("class"))
        bntk.KDB(2).fit(features, y)
        pairs, _ = best(lambda: TableCounter(table).pairs("class"), 3)  # noqa: B023
        plain, _ = best(lambda: bntk.KDB(2).fit(features, y), 3)  # noqa: B023
        selective, _ = best(lambda: bntk.SelectiveKDB(5).fit(features, y), 1)  # noqa: B023
        print(f"{n_rows:>9,}{n_features:>9}{pairs:>9.3f}{plain:>9.3f}{selective:>17.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller data")
    quick = parser.parse_args().quick
    compare(quick)
    growth()
    dependence(quick)


if __name__ == "__main__":
    main()
