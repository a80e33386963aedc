"""How often each learner reads the rows of a scan: ``python -m benchmarks.passes``.

Alarm, 37 variables, and, for classifiers, ``HYPOVOLEMIA`` as the class. Numbers of passes do not depend on the machine.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import bntk

N_ROWS = 100_000


def learners(dag: bntk.DAG) -> dict[str, Callable[[Any], Any]]:
    """What is learned from a scan."""
    classifiers: dict[str, Callable[[], Any]] = {
        "`NaiveBayes`": bntk.NaiveBayes,
        "`AODE`": bntk.AODE,
        "`TAN`": bntk.TAN,
        "`FAN`": bntk.FAN,
        '`SPODE(criterion="bic")`': lambda: bntk.SPODE(criterion="bic"),
        "`KDB`": bntk.KDB,
        "`SelectiveKDB(3)`": lambda: bntk.SelectiveKDB(3),
        '`STAN(criterion="bdeu")`': lambda: bntk.STAN(criterion="bdeu"),
        '`STAND(criterion="bdeu")`': lambda: bntk.STAND(criterion="bdeu"),
        '`BAN(search="hc")`': lambda: bntk.BAN(search="hc"),
        "`BAN`": bntk.BAN,
    }
    several = {"`MDBNC`": bntk.MDBNC, "`AMODE`": bntk.AMODE}
    found: dict[str, Callable[[Any], Any]] = {
        "`bntk.fit`": lambda rows: bntk.fit(dag, rows),
        "`bntk.fit_em`": lambda rows: bntk.fit_em(dag, rows, 1.0),
        "Chow-Liu tree": lambda rows: bntk.learn(rows, "loglik", bntk.spaces.tree(rows.names)),
        "hill climbing": lambda rows: bntk.learn(rows, "bic", search="hc"),
        "tabu search": lambda rows: bntk.learn(rows, "bic", search="tabu"),
        "order search": lambda rows: bntk.learn(rows, "bic", search="order"),
        "`bntk.learn`": lambda rows: bntk.learn(rows, "bic"),
        "exact search, 10 columns": lambda rows: bntk.learn(rows.select(rows.names[:10]), "bic", search="exact"),
    }
    for name, make in classifiers.items():
        found[name] = lambda rows, make=make: make().fit(rows, "HYPOVOLEMIA")
    for name, kind in several.items():
        found[name] = lambda rows, kind=kind: kind().fit(rows, ["HYPOVOLEMIA", "LVFAILURE", "ANAPHYLAXIS"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="alarm.bif.gz", help="the file of alarm, as from bnlearn's repository")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    options = parser.parse_args()
    network = bntk.load(options.network)
    frame = network.sample(options.rows, seed=1).to_pandas()
    pieces = np.array_split(np.arange(len(frame)), 8)
    warnings.simplefilter("ignore")
    print("| learner | passes |\n| --- | --- |")
    for name, learn in learners(network.dag).items():
        rows = bntk.scan(lambda: (frame.iloc[piece] for piece in pieces))
        passes: list[int] = []
        reduce = type(rows).reduce

        def counted(self: Any, *arguments: Any, passes: list[int] = passes, reduce: Any = reduce) -> Any:
            passes.append(1)
            return reduce(self, *arguments)

        type(rows).reduce = counted  # type: ignore[method-assign]
        try:
            learn(rows)
        finally:
            type(rows).reduce = reduce  # type: ignore[method-assign]
        print(f"| {name} | {len(passes)} |", flush=True)


if __name__ == "__main__":
    main()
