"""One question at a time, by name: bntk compared with pyAgrum and pgmpy, question by question.

python -m benchmarks.questions [--quick] [--only queries posteriors first] [--data FOLDER]
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import bntk
from benchmarks import inference_peers as peers
from benchmarks import report
from benchmarks.measure import Options, PeerRun, Time, run_peer
from benchmarks.report import Section
from bntk._kernels import compiling_all

TITLE = "Questions"
N_FINDINGS = 5
#: Networks, and how many questions pgmpy is asked; it needs up to seconds for one.
NETWORKS = {"child": 20, "alarm": 20, "hepar2": 20, "win95pts": 20, "andes": 5, "pigs": 5, "link": 0, "munin1": 0}
QUICK = {"alarm": 5, "andes": 2}
Question = tuple[str, dict[str, int]]


def questions(network: bntk.BayesianNetwork, n: int, seed: int = 2) -> tuple[list[Question], list[Question]]:
    """A target and five findings from a sampled row, so that they are possible; and again from other rows."""
    rng = np.random.default_rng(seed)
    rows = network.sample(2 * n, seed=seed).codes
    chosen = [rng.choice(len(rows), N_FINDINGS + 1, replace=False).tolist() for _ in range(n)]
    names = network.names

    def asked(shift: int) -> list[Question]:
        return [
            (names[target], {names[v]: int(rows[v, i + shift]) for v in seen})
            for i, (target, *seen) in enumerate(chosen)
        ]

    return asked(0), asked(n)


@compiling_all()  # whatever the cache has: a time is that of compiled code
def answered(
    network: bntk.BayesianNetwork, wanted: Iterable[Question], ask: Callable[[str, dict[str, Any]], Any]
) -> tuple[list[float], list[Any]]:
    """Seconds and answer of each question; the findings are labels, as users have them."""
    seconds, answers = [], []
    labelled = [
        (target, {name: network.variable(name).states[state] for name, state in findings.items()})
        for target, findings in wanted
    ]
    gc.collect()
    gc.freeze()
    for target, given in labelled:
        start = time.perf_counter()
        answers.append(ask(target, given))
        seconds.append(time.perf_counter() - start)
    gc.unfreeze()
    return seconds, answers


def typical(seconds: Iterable[float]) -> Time:
    """The geometric mean: the ratio of two is the geometric mean of the ratios, question by question."""
    logs = [math.log(each) for each in seconds]
    return Time(math.exp(math.fsum(logs) / len(logs))) if logs else Time(note="-")


def typical_of(peer: PeerRun) -> Time:
    return typical(seconds for seconds, _ in peer.marks) if peer.marks else peer.end


def difference(theirs: list[Any], ours: list[Any]) -> str:
    found = [float(np.abs(one - other).max()) for one, other in zip(theirs, ours, strict=False)]
    return f"{max(found):.0e}" if found else ""


# ---- one posterior ---------------------------------------------------------------------------------------------------


def queries(options: Options) -> Section:
    n, limit = options.pick((100, 30), (20, 5))
    section = Section(
        "One posterior given five findings",
        f"Time of `network.query` for one unobserved variable, by name and labelled: {n} different questions to one "
        "network object, each with five findings from a sampled row on variables that were not observed before; then "
        "the same observed variables in other states. The geometric mean of all questions, so that ratios are "
        "geometric means of the ratios of each question. pyAgrum is LazyPropagation with one target, with one engine "
        "for all questions or a new one for each, whichever is faster; pgmpy is variable "
        "elimination, on fewer questions.",
        ["network", "bntk", "other states", "longest", "pyAgrum", "other states", "pgmpy", "pyAgrum / bntk",
         "other states", "pgmpy / bntk", "largest difference"],
    )  # fmt: skip
    for name, n_pgmpy in options.pick(NETWORKS, QUICK).items():
        path = options.network(name)
        network = bntk.load(path)
        new, again = questions(network, n)
        other = bntk.load(path)
        answered(other, new[:3], other.query)  # compiles kernels
        seconds, answers = answered(network, new, network.query)
        seconds_again, answers_again = answered(network, again, network.query)
        answers = [found.values for found in answers + answers_again]
        runs = [run_peer("pyAgrum", limit, peers.pyagrum_queries, path, new + again, fresh) for fresh in (False, True)]
        agrum = min(runs, key=lambda run: typical_of(run).seconds)
        first, second = (PeerRun(agrum.marks[part], agrum.end) for part in (slice(n), slice(n, None)))
        pgmpy = run_peer("pgmpy", limit, peers.pgmpy_queries, path, new[:n_pgmpy])
        ours, ours_again = typical(seconds), typical(seconds_again)
        section.add(
            name, ours, ours_again, Time(max(seconds + seconds_again)), typical_of(first), typical_of(second),
            typical_of(pgmpy) if n_pgmpy else Time(note="-"),
            section.ratio(name, "pyAgrum", typical_of(first), ours),
            section.ratio(f"{name}, other states", "pyAgrum", typical_of(second), ours_again),
            section.ratio(name, "pgmpy", typical_of(pgmpy), typical(seconds[: len(pgmpy.marks)]))
            if n_pgmpy else Time(note="-"),
            f"{difference(agrum.answers, answers)} {difference(pgmpy.answers, answers)}",
        )  # fmt: skip
    return section


# ---- all posteriors --------------------------------------------------------------------------------------------------


def posteriors(options: Options) -> Section:
    n, limit = options.pick((100, 30), (20, 5))
    section = Section(
        "All posteriors by name given five findings",
        "Time of `network.marginals`, and with every posterior looked at, for questions as above; the geometric mean. "
        "pyAgrum is LazyPropagation with all variables as targets, every posterior looked at.",
        ["network", "questions", "bntk", "all looked at", "pyAgrum", "pyAgrum / bntk", "largest difference"],
    )
    for name in options.pick(("child", "alarm", "hepar2", "win95pts", "andes"), ("alarm",)):
        path = options.network(name)
        network = bntk.load(path)
        wanted = questions(network, n)[0]

        def look(_: str, given: dict[str, Any], network: bntk.BayesianNetwork = network) -> list[np.ndarray]:
            return [posterior.values for posterior in network.marginals(given).values()]

        answered(network, wanted[:3], look)  # compiles kernels
        asked, _ = answered(network, wanted, lambda _, given, network=network: network.marginals(given))
        looked, answers = answered(network, wanted, look)
        agrum = run_peer("pyAgrum", limit, peers.pyagrum_posteriors, path, [findings for _, findings in wanted])
        section.add(
            name, n, typical(asked), typical(looked), typical_of(agrum),
            section.ratio(name, "pyAgrum", typical_of(agrum), typical(looked)),
            difference(agrum.answers, [np.concatenate(tables) for tables in answers]),
        )  # fmt: skip
    return section


# ---- the first question ----------------------------------------------------------------------------------------------


def first(options: Options) -> Section:
    sizes, repeats = options.pick(((50, 100, 200, 400, 800, 1600, 3200), 5), ((50, 200), 2))
    section = Section(
        "The first question about a network",
        "Time of the first `network.query` with five findings about a network object that was just made, against the "
        "number of variables: random networks of treewidth 4, two to four states, the geometric mean of "
        f"{repeats} networks. Kernels were compiled before. pyAgrum is a new LazyPropagation with one target.",
        ["variables", "bntk", "the next", "pyAgrum", "pyAgrum / bntk"],
        axes=("variables", "seconds"),
    )
    for size in sizes:
        ours, following, theirs = [], [], []
        for seed in range(repeats):
            made = bntk.datasets.random_network(size, n_states=(2, 4), treewidth=4, seed=seed)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "network.bif"
                made.save(path)
                wanted = questions(made, 2, seed)[0]
                network = bntk.load(path)
                if size == sizes[0] and seed == 0:
                    answered(made, wanted, made.query)  # compiles kernels
                seconds, _ = answered(network, wanted, network.query)
                agrum = run_peer("pyAgrum", 30, peers.pyagrum_queries, path, wanted[:1], True)
            ours.append(seconds[0])
            following.append(seconds[1])
            theirs += [each for each, _ in agrum.marks]
        section.point("bntk", size, typical(ours))
        section.point("pyAgrum", size, typical(theirs))
        section.add(
            size, typical(ours), typical(following), typical(theirs),
            section.ratio(f"{size} variables", "pyAgrum", typical(theirs), typical(ours)),
        )  # fmt: skip
    return section


PARTS = {"queries": queries, "posteriors": posteriors, "first": first}

if __name__ == "__main__":
    report.main()
