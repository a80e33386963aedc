"""The explorer's interpreter against Python on many random findings, and its speed and the sizes of files.

python -m benchmarks.explorer [--cases 10000] [--first-seed 0] [--data FOLDER] [--quick]

``--data`` has the networks alarm.bif.gz and so on, by default ../shared/data/networks. Milliseconds are of
Node, for one run after a finding was added or taken away: all posteriors, as the page needs them after a click. What a
browser takes for painting is measured by the tests of the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import bntk
from benchmarks.explorer.against_python import Question, differences, model, random_case, random_network
from benchmarks.explorer.node import NODE, Interpreter
from bntk.explore.case import empty_case
from bntk.explore.explorer import Page

NETWORKS = ("asia", "alarm", "hailfinder", "win95pts", "andes", "pigs")
CASES_OF_ONE = 4  # random cases of a random network


def main(arguments: list[str]) -> int:
    """Compare, measure, print; 1 if an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared/data/networks")
    parser.add_argument("--quick", action="store_true", help="100 cases, and few clicks")
    options = parser.parse_args(arguments)
    if NODE is None:
        print("Node is not installed: nothing can be measured")
        return 1
    n_cases, clicks = (100, 30) if options.quick else (options.cases, 300)
    with Interpreter() as interpreter:
        wrong = compare(interpreter, n_cases, options.first_seed)
        for name in NETWORKS:
            network = found(options.data, name)
            if network is not None:
                wrong += compare_cases(interpreter, network, name, 2 if options.quick else 6)
        print()
        print("| network | variables | clique entries | file, kB | first answer, ms | click, median ms | slowest, ms |")
        print("|---|---|---|---|---|---|---|")
        for name in NETWORKS:
            network = found(options.data, name)
            if network is not None:
                print(f"| {name} | {measured(interpreter, network, clicks)} |")
    return int(wrong > 0)


def found(folder: Path, name: str) -> bntk.BayesianNetwork | None:
    """A network by its name, from its file or embedded; None where there is neither."""
    path = folder / f"{name}.bif.gz"
    if path.exists():
        return bntk.load(path)
    return bntk.datasets.network(name) if name in bntk.datasets.names() else None


def compare(interpreter: Interpreter, n_cases: int, first_seed: int) -> int:
    """Random findings in random networks: how many answers differ."""
    wrong = impossible = 0
    for seed in range(first_seed, first_seed + -(-n_cases // CASES_OF_ONE)):
        network, rng = random_network(seed), np.random.default_rng(seed)
        target = int(rng.integers(len(network.names)))
        cases = [random_case(network, rng) for _ in range(CASES_OF_ONE)]
        interpreter.ask("model", model(network))
        for case, answer in zip(cases, interpreter.ask("cases", {"cases": cases, "target": target}), strict=True):
            question = Question(network, case, target)
            impossible += question.log_z == -np.inf
            for difference in differences(question, answer):
                wrong += 1
                print(f"seed {seed}, {case}: {difference}")
    print(f"{n_cases:,} random findings, {impossible:,} of them impossible: {wrong} answers differ from Python's")
    return wrong


def compare_cases(interpreter: Interpreter, network: bntk.BayesianNetwork, name: str, n_cases: int) -> int:
    """Random findings in one network."""
    rng = np.random.default_rng(1)
    target = int(rng.integers(len(network.names)))
    cases = [random_case(network, rng, 0.05 * (1 + k % 4)) for k in range(n_cases - n_cases // 2)]
    rows = network.sample(n_cases // 2, seed=1)
    cases += [observed(network, rows, k, rng, 0.3) for k in range(n_cases // 2)]
    interpreter.ask("model", model(network))
    wrong = 0
    for case, answer in zip(cases, interpreter.ask("cases", {"cases": cases, "target": target}), strict=True):
        for difference in differences(Question(network, case, target), answer):
            wrong += 1
            print(f"{name}, {case}: {difference}")
    print(f"{name}: {len(cases)} findings, {wrong} answers differ")
    return wrong


def observed(
    network: bntk.BayesianNetwork, rows: bntk.Table, row: int, rng: np.random.Generator, share: float
) -> dict[str, Any]:
    """Some cells of a row as observed states, so that they are possible."""
    chosen = np.flatnonzero(rng.random(len(network.names)) < share)
    return {**{part: {} for part in empty_case()}, "observed": {int(v): int(rows.codes[v, row]) for v in chosen}}


def measured(interpreter: Interpreter, network: bntk.BayesianNetwork, clicks: int) -> str:
    """Sizes and milliseconds of one network, as a row of the table."""
    page = Page(network, None, empty_case(), None)
    first = interpreter.ask("model", model(network))
    rng = np.random.default_rng(0)
    rows, cases, case = network.sample(clicks, seed=2), [], dict[int, int]()
    for click in range(clicks):
        v = int(rng.integers(len(network.names)))
        if click % 12 == 0:
            case, row = {}, click
        case = {u: state for u, state in case.items() if u != v} if v in case else {**case, v: int(rows.codes[v, row])}
        cases.append({"observed": case})
    times = interpreter.ask("timed", {"cases": cases, "ask": "run"})
    entries = sum(
        np.prod([network.variables[v].n_states for v in clique]) for clique in model(network)["tree"]["cliques"]
    )
    return (
        f"{len(network.names)} | {int(entries):,} | {len(page.html().encode()) / 1000:.0f} | {first:.1f} | "
        f"{np.median(times):.2f} | {max(times):.1f}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
