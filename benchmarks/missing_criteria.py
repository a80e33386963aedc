"""Predictive scores with missing values: how far the approximation is from the exact value, and what each costs.

python -m benchmarks.missing_criteria [--quick]

From four embedded networks, 25 samples of 200 rows each, 30 % of the values missing at random. Naive Bayes, TAN, FAN
and two random trees are scored by leave-one-out, ``LOO(missing="approximate")`` and ``LOO(missing="exact")``; counted
are pairs of structures that the two scores rank in opposite order. Then the time for each structure that a search
looks at, in a tree over ``asia`` (300 rows) and over a random network of 30 variables (1,000 rows), 10 % missing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import combinations

import numpy as np

import bntk
from benchmarks.report import table
from bntk.learning.counts import TableCounter
from bntk.learning.learn import learn_structure

NETWORKS = {"asia": "dysp", "survey": "transport", "student": "letter", "coma": "headache"}
SCORES = {
    "LOO": bntk.scores.LOO,
    "LC": bntk.scores.LC,
    "CV, 10 folds": bntk.scores.CV,
    "accuracy": bntk.scores.Accuracy,
}


def structures(rows: bntk.Table, target: str, seed: int) -> list[bntk.DAG]:
    """Naive Bayes, TAN, FAN, and two trees of the features below the class whose arcs are drawn."""
    features = [name for name in rows.names if name != target]
    spaces = [
        (bntk.spaces.naive_bayes(features, target), "loglik"),
        (bntk.spaces.tan(features, target), "loglik"),
        (bntk.spaces.fan(features, target), "bic"),
    ]
    found = [learn_structure(rows, score, space).dag for space, score in spaces]
    rng = np.random.default_rng(seed)
    for _ in range(2):
        order = rng.permutation(features).tolist()
        arcs = [(target, name) for name in features]
        arcs += [(order[rng.integers(i)], order[i]) for i in range(1, len(order))]
        found.append(bntk.DAG(rows.names, arcs))
    return found


def reversals(n_samples: int) -> list[list[str]]:
    """For each network: pairs that the scores rank in opposite order, and the largest relative difference."""
    lines = []
    for name, target in NETWORKS.items():
        network = bntk.datasets.network(name)
        wrong = pairs = 0
        largest = 0.0
        for seed in range(n_samples):
            rows = bntk.datasets.with_missing(network.sample(200, seed=seed), 0.3, seed=seed)
            dags = list({str(dag): dag for dag in structures(rows, target, seed)}.values())
            near = [bntk.score(dag, rows, bntk.scores.LOO(target)) for dag in dags]
            exact = [bntk.score(dag, rows, bntk.scores.LOO(target, missing="exact")) for dag in dags]
            largest = max(largest, *(abs(a / b - 1) for a, b in zip(near, exact, strict=True)))
            for i, j in combinations(range(len(dags)), 2):
                pairs += 1
                wrong += (near[i] - near[j]) * (exact[i] - exact[j]) < 0
        lines.append([name, target, str(pairs), str(wrong), f"{100 * largest:.1f} %"])
    return lines


def costs() -> list[list[str]]:
    """Milliseconds for each structure that a step of a search looks at."""
    lines = []
    for name, network, n in (
        ("asia, 300 rows", bntk.datasets.asia(), 300),
        ("30 variables, 1,000 rows", bntk.datasets.random_network(30, treewidth=2, n_arcs=40, seed=1), 1000),
    ):
        rows = bntk.datasets.with_missing(network.sample(n, seed=1), 0.1, seed=1)
        target = rows.names[-1]
        features = [v for v in rows.names if v != target]
        tree = learn_structure(rows, "loglik", bntk.spaces.tan(features, target)).dag
        for label, score in SCORES.items():
            lines.append([name, label, *(f"{_each(score(target=target, missing=m), rows, tree):.3f}" for m in WAYS)])
    return lines


WAYS = ("approximate", "exact")


def _each(score: bntk.scores.Score, rows: bntk.Table, dag: bntk.DAG) -> float:
    evaluator = score.evaluator(TableCounter(rows), dag)
    evaluator.total()
    parents = [set(p) for p in dag.parent_indices]
    changes = [{v: frozenset(parents[v] | {u})} for v in range(len(parents)) for u in range(len(parents) - 1) if u < v]
    evaluator.change_gains(changes[:2])  # compiles
    start = time.perf_counter()
    evaluator.change_gains(changes)
    return 1e3 * (time.perf_counter() - start) / len(changes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three samples of each network")
    options = parser.parse_args()
    warnings.simplefilter("ignore", bntk.errors.BntkWarning)  # that trees are found from available cases
    lines = reversals(3 if options.quick else 25)
    print(table(["network", "class", "pairs", "in opposite order", "largest difference"], lines), end="\n\n")
    print(table(["rows", "score", "approximate, ms", "exact, ms"], costs()))


if __name__ == "__main__":
    main()
