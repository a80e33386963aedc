"""Parameters of alarm from 1,000,000 rows: bntk beside pybnesian, pgmpy and pyAgrum, in one run on the same data.

python -m benchmarks.parameters [--quick]        (peers: pip install "bntk[bench]"; those absent are skipped)

The network is the alarm.bif.gz that pgmpy's wheel carries. Peers get a pandas frame of categorical columns; bntk is
measured from that frame (coding included) and from its own coded table. All likelihoods are checked to agree.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bntk


def alarm() -> bntk.BayesianNetwork:
    """The alarm network from the files of an installed pgmpy."""
    found = importlib.util.find_spec("pgmpy")
    if found is None or not found.submodule_search_locations:
        raise SystemExit('this benchmark reads alarm.bif.gz from pgmpy: pip install "bntk[bench]"')
    return bntk.load(Path(found.submodule_search_locations[0]) / "utils" / "example_models" / "alarm.bif.gz")


def best(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Shortest wall time of several runs, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def with_plain_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with categories of plain Python strings: pybnesian refuses the string type of pandas 3."""
    plain = {}
    for name, column in frame.items():
        labels = pd.Index(column.cat.categories.tolist(), dtype=object)
        plain[name] = pd.Categorical.from_codes(column.cat.codes, labels)
    return pd.DataFrame(plain)


def fit_pybnesian(dag: bntk.DAG, frame: pd.DataFrame) -> Any:
    from pybnesian import DiscreteBN

    network = DiscreteBN(list(dag.nodes), list(dag.arcs))
    network.fit(frame)
    return network


def fit_pgmpy(dag: bntk.DAG, frame: pd.DataFrame) -> Any:
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork(list(dag.arcs))
    network.fit(frame)
    return network


def fit_pyagrum(dag: bntk.DAG, frame: pd.DataFrame) -> Any:
    import pyagrum

    template = pyagrum.BayesNet()
    for name in dag.nodes:
        template.add(pyagrum.LabelizedVariable(name, name, [str(c) for c in frame[name].cat.categories]))
    for arc in dag.arcs:
        template.addArc(*arc)
    return pyagrum.BNLearner(frame, template).learnParameters(template.dag())


PEERS: dict[str, tuple[str, Callable[[bntk.DAG, pd.DataFrame], Any]]] = {
    "pybnesian": ("pybnesian", fit_pybnesian),
    "pgmpy": ("pgmpy", fit_pgmpy),
    "pyAgrum": ("pyagrum", fit_pyagrum),
}


def check_pgmpy(peer: Any, ours: bntk.BayesianNetwork) -> float:
    """Largest difference of an entry; pgmpy may order states its own way."""
    worst = 0.0
    for cpd in peer.get_cpds():
        cpt = ours.cpt(cpd.variable).reorder(cpd.variables[1:])
        order = [[v.states.index(s) for s in cpd.state_names[v.name]] for v in cpt.family]
        worst = max(worst, float(np.abs(np.moveaxis(cpd.values, 0, -1) - cpt.values[np.ix_(*order)]).max()))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 rows")
    rows = 20_000 if parser.parse_args().quick else 1_000_000
    logging.disable(logging.WARNING)

    truth = alarm()
    table = truth.sample(rows, seed=0)
    frame = with_plain_labels(table.to_pandas())
    dag = truth.dag
    print(f"parameters of alarm (37 tables) from {rows:,} rows, best of several runs, {bntk.n_threads()} threads\n")
    start = time.perf_counter()
    bntk.fit(dag, table.take(slice(1000)))
    print(f"first call in this process, compile or load of the kernels included: {time.perf_counter() - start:.2f} s\n")

    seconds, ours = best(lambda: bntk.fit(dag, table), 7)
    results = {"bntk, coded table": seconds}
    results["bntk, pandas frame"] = best(lambda: bntk.fit(dag, frame), 5)[0]
    reference = ours.log_likelihood(table)
    for name, (module, fit) in PEERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{name} is not installed: skipped")
            continue
        results[name], peer = best(lambda fit=fit: fit(dag, frame), 3 if name == "pybnesian" else 1)
        if name == "pybnesian":
            print(f"log-likelihood: bntk {reference:.6f}, pybnesian {peer.slogl(frame):.6f}")
        if name == "pgmpy":
            print(f"largest difference from a table entry of pgmpy: {check_pgmpy(peer, ours):.1e}")
    print(f"\n{'':<22}{'seconds':>9}{'/ bntk, frame':>15}{'/ bntk, coded':>15}")
    for name, seconds in results.items():
        ratios = [seconds / results[key] for key in ("bntk, pandas frame", "bntk, coded table")]
        print(f"{name:<22}{seconds:>9.3f}{ratios[0]:>15.1f}{ratios[1]:>15.1f}")


if __name__ == "__main__":
    main()
