"""Searches for classifiers: bntk compared with what was recorded of R's bnclassify, and how their cost grows.

python -m benchmarks.wrappers [--quick] [--only wrappers candidates dependence]
"""

from __future__ import annotations

import numpy as np

import bntk
from benchmarks import report
from benchmarks.measure import Options, Time, best
from benchmarks.report import Section
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure
from bntk.learning.scores import Accuracy
from bntk.learning.search import BackwardJoining, ForwardJoining, GreedyAdditions, Search, SuperparentAdditions
from bntk.learning.space import Space
from bntk.learning.space import named as spaces

TITLE = "Wrapper searches"
# CPU seconds of bnclassify 0.4.8, by rows and features; one run each, on other data of this shape.
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


def wrappers(options: Options) -> Section:
    section = Section(
        "Searches by accuracy in ten folds",
        "Features of 3 states, 2 classes. bnclassify 0.4.8 is not run here: its CPU seconds were recorded once, on a "
        "machine of the same kind and other data of the same shape. The number of steps depends on the data and "
        "that of bnclassify's runs was not recorded, so the ratios say how the two compare in size, no more.",
        ["data", "search", "bntk", "bnclassify, recorded", "ratio", "steps", "candidates", "time for each"],
    )
    for (n_rows, n_features), recorded in RECORDED.items():
        table = generate(n_rows, n_features)
        for name in recorded:
            search, space, score = SEARCHES[name], space_for(name, table), Accuracy(target="class")
            learn_structure(table, score, space, search)  # compiles
            ours, found = best(lambda: learn_structure(table, score, space, search), options.pick(7, 3))  # noqa: B023
            peer, case = Time(recorded[name]), f"{n_rows:,} x {n_features}"
            ratio = section.ratio(f"{case}, {name}", "bnclassify, recorded", peer, ours)
            steps = len(found.trace) - 1
            section.add(case, name, ours, peer, ratio, steps, f"{found.n_evaluated:,}", ours / found.n_evaluated)
    return section


def candidates(options: Options) -> Section:
    section = Section(
        "One candidate structure",
        "An arc between two features of naive Bayes, evaluated by accuracy in ten folds, 2,000 rows: the first time, "
        "and when a later step needs it again. The time should not depend on the number of features.",
        ["features", "candidates", "first", "again"],
        axes=("features", "seconds for a candidate"),
    )
    for n_features in options.pick((20, 50, 100, 200), (20, 50)):
        table = generate(2_000, n_features)
        *features, target = table.names
        dag = DAG(table.names, [(target, name) for name in features])
        moves = spaces.fan(features, target).walk(dag).moves()
        moves = moves[np.random.default_rng(0).permutation(len(moves))[:2_000]]
        moves = moves[np.lexsort(moves.T)]
        runs: list[list[float]] = []
        for _ in range(6):
            evaluator = Accuracy(target=target).evaluator(TableCounter(table), dag)
            evaluator.total()
            runs.append([best(lambda: evaluator.gains(moves), 1)[0].seconds for _ in range(2)])  # noqa: B023
        first, again = (Time(seconds) / len(moves) for seconds in np.min(runs, axis=0))
        section.add(n_features, f"{len(moves):,}", first, again)
        section.point("first", n_features, first)
        section.point("again", n_features, again)
    return section


def dependence(options: Options) -> Section:
    section = Section(
        "K-dependence",
        "Features of 3 states, 2 classes: counting all pairs given the class, fitting KDB(2), and fitting "
        "SelectiveKDB(5), which chooses the number of features and of parents by leave-one-out.",
        ["data", "pairs", "KDB(2)", "SelectiveKDB(5)"],
    )
    for n_rows, n_features in options.pick([(10_000, 50), (100_000, 100)], [(10_000, 50)]):
        table = generate(n_rows, n_features)
        X, y = table.select(table.names[:-1]), np.asarray(table.column("class"))
        for classifier in (bntk.KDB(2), bntk.SelectiveKDB(5)):
            classifier.fit(X.take(slice(500)), y[:500])  # compiles
        section.add(
            f"{n_rows:,} x {n_features}",
            best(lambda: TableCounter(table).pairs("class"))[0],  # noqa: B023
            best(lambda: bntk.KDB(2).fit(X, y))[0],  # noqa: B023
            best(lambda: bntk.SelectiveKDB(5).fit(X, y), 1)[0],  # noqa: B023
        )
    return section


PARTS = {"wrappers": wrappers, "candidates": candidates, "dependence": dependence}

if __name__ == "__main__":
    report.main()
