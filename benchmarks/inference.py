"""Inference: bntk compared with pyAgrum, pgmpy and pybnesian, on the same networks and evidence.

python -m benchmarks.inference [--quick] [--only marginals agreement rows em sampling] [--data FOLDER]
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import bntk
from benchmarks import inference_peers as peers
from benchmarks import report
from benchmarks.measure import Options, PeerRun, Time, best, run_peer, with_threads
from benchmarks.report import Section
from bntk.inference.exact.program import Program, compile_network

TITLE = "Inference"
#: Evidence sets for each network.
NETWORKS = {
    "alarm": 100, "hailfinder": 100, "hepar2": 100, "win95pts": 100, "andes": 50, "pigs": 20, "barley": 10,
    "diabetes": 5, "link": 3, "munin1": 3,
}  # fmt: skip
QUICK = {"alarm": 10, "andes": 5, "link": 2}
PGMPY = {"alarm": 5, "hepar2": 2, "win95pts": 2}  # networks on which it needs seconds, and how many sets
TARGETS = {"alarm": "HYPOVOLEMIA", "insurance": "PropCost", "child": "Disease", "hailfinder": "R5Fcst"}
Evidence = list[dict[str, int]]


# ---- all posteriors --------------------------------------------------------------------------------------------------


def evidence_sets(network: bntk.BayesianNetwork, n: int) -> Evidence:
    """Five findings each, from rows of a sample, so that they are possible."""
    rng = np.random.default_rng(1)
    rows = network.sample(n, seed=1).codes
    chosen = [rng.choice(len(rows), 5, replace=False).tolist() for _ in range(n)]
    return [{network.names[v]: int(rows[v, i]) for v in variables} for i, variables in enumerate(chosen)]


def set_by_set(program: Program, network: bntk.BayesianNetwork, sets: Evidence) -> list[np.ndarray]:
    answers = []
    for findings in sets:
        at = {network.dag.index(name): state for name, state in findings.items()}
        found = program.calibrate({v: np.eye(program.cards[v])[state] for v, state in at.items()})
        answers.append(np.concatenate([found.marginal(v) for v in range(len(program.cards))]))
    return answers


def as_rows(program: Program, network: bntk.BayesianNetwork, sets: Evidence) -> list[np.ndarray]:
    codes = np.repeat(np.array(program.cards)[:, None], len(sets), axis=1)
    for i, findings in enumerate(sets):
        for name, state in findings.items():
            codes[network.dag.index(name), i] = state
    return list(np.hstack(program.marginals_rows(codes.astype(np.uint8))))


def first_of_each_pattern(network: bntk.BayesianNetwork, sets: Evidence) -> Time:
    """Time for a set when none with the same observed variables was seen before."""
    network._cache.pop("programs", None)
    program = compile_network(network)
    program.calibrate().marginal(0)  # the engine of the whole network is not counted
    return best(lambda: set_by_set(program, network, sets), 1)[0] / len(sets)


def seconds_to_copy() -> float:
    """Copying one number of an array that is larger than the cache."""
    source = np.ones(1 << 24)
    target = np.ones_like(source)
    return best(lambda: np.copyto(target, source))[0].seconds / source.size


def largest_difference(peer: PeerRun, answers: list[np.ndarray]) -> str:
    """The largest difference of our answers from those that a peer finished."""
    found = [float(np.abs(theirs - ours).max()) for theirs, ours in zip(peer.answers, answers, strict=False)]
    return f"{max(found):.0e}" if found else ""


def marginals(options: Options) -> Section:
    limit = options.pick(30, 5)
    section = Section(
        "All posteriors given five findings",
        "Time for each evidence set: five findings from a sampled row, the posteriors of all variables. Large "
        'networks are triangulated for the observed variables, and that is kept: "first" is a set whose variables '
        'are observed for the first time. "Rows" runs all sets as one table. Entries are those of all cliques that '
        "the evidence leaves; the next columns are the time for each, both passes and all marginals included, and "
        "how many times as long as copying a number that is. pyAgrum is LazyPropagation, the mean of what it "
        f"finishes in {limit} s; pgmpy is variable elimination on a few sets of some networks.",
        ["network", "sets", "bntk, 1 thread", f"bntk, {bntk.n_threads()}", "first", "rows", "entries", "ns for each",
         "of a copy", "pyAgrum", "pyAgrum / bntk", "/ rows", "largest difference", "pgmpy", "pgmpy / bntk"],
    )  # fmt: skip
    copying = seconds_to_copy()
    for name, n in options.pick(NETWORKS, QUICK).items():
        add_marginals(section, name, options.network(name), n, limit, copying)
    return section


def add_marginals(section: Section, name: str, path: Path, n: int, limit: float, copying: float) -> None:
    network = bntk.load(path)
    sets = evidence_sets(network, n)
    set_by_set(compile_network(network), network, sets[:2])  # compiles
    first = first_of_each_pattern(network, sets)
    program = compile_network(network)
    left = float(np.mean([program.plan_given(map(network.dag.index, findings)).open_entries for findings in sets]))
    ours, answers = best(lambda: set_by_set(program, network, sets), 3)
    one = with_threads(1, lambda: set_by_set(program, network, sets), 3)
    ours, one = ours / n, one / n
    rows = Time(note="-")
    if program.plan.total_entries < 1e6:
        as_rows(program, network, sets[:2])
        rows, same = best(lambda: as_rows(program, network, sets), 3)
        rows = rows / n
        assert np.allclose(same, answers, atol=1e-9), f"{name}: rows and single sets differ"
    agrum = run_peer("pyAgrum", limit, peers.pyagrum_marginals, path, sets)
    pgmpy = (
        run_peer("pgmpy", limit, peers.pgmpy_marginals, path, sets[: PGMPY[name]]).mean()
        if name in PGMPY
        else Time(note="-")
    )
    each = ours.seconds / left
    section.add(
        name, n, one, ours, first, rows, f"{left:.1e}", each * 1e9, each / copying, agrum.mean(),
        section.ratio(name, "pyAgrum", agrum.mean(), ours),
        section.ratio(f"{name}, rows", "pyAgrum", agrum.mean(), rows),
        largest_difference(agrum, answers), pgmpy, section.ratio(name, "pgmpy", pgmpy, ours),
    )  # fmt: skip


# ---- every network, and pyAgrum ------------------------------------------------------------------------------------


def agreement(options: Options) -> Section:
    limit, n = options.pick((10, 5), (2, 2))
    section = Section(
        "Agreement on every network",
        f"All posteriors of {n} evidence sets on every network there is: largest difference from pyAgrum's, for the "
        f"sets that it finished within {limit} s.",
        ["network", "bntk, a set", "sets that pyAgrum finished", "largest difference"],
    )
    for path in sorted(options.networks().glob("*.bif.gz"))[: options.pick(None, 6)]:
        name = path.name.removesuffix(".bif.gz")
        try:
            network = bntk.load(path)
            sets = evidence_sets(network, n)
            start = time.perf_counter()
            answers = set_by_set(compile_network(network), network, sets)
        except (bntk.errors.ParseError, bntk.errors.TooLargeError) as error:
            section.add(name, str(error).splitlines()[0], "", "")
            continue
        each = Time(time.perf_counter() - start) / n
        peer = run_peer("pyAgrum", limit, peers.pyagrum_marginals, path, sets)
        difference = largest_difference(peer, answers)
        assert float(difference or 0) < 1e-8, f"{name}: {difference} off"
        section.add(name, each, f"{len(peer.marks)} of {n}" if peer.marks else peer.end, difference)
    section.remarks.append("The time is that of the first run in this process, compiling the network included.")
    return section


# ---- one posterior, many rows ----------------------------------------------------------------------------------------


def rows(options: Options) -> Section:
    n, limit, chunk = *options.pick((10_000, 30), (1_000, 5)), 250
    section = Section(
        "One posterior for many rows",
        f"`network.posterior` of one variable for {n:,} rows with 20 % of the values missing. pyAgrum is queried "
        f"row by row, for up to {limit} s.",
        [
            "network",
            "variable",
            "bntk, 1 thread",
            f"bntk, {bntk.n_threads()}",
            "pyAgrum",
            "pyAgrum / bntk",
            "largest difference",
        ],
    )
    for name, target_name in TARGETS.items():
        path = options.network(name)
        network = bntk.load(path)
        target = network.dag.index(target_name)
        codes = with_missing(network.sample(n, seed=2), 0.2)
        codes[target] = network.variables[target].n_states
        work = partial(network.posterior, bntk.Table.from_codes(codes, network.variables), target_name)
        work()  # compiles
        ours, answers = best(work)
        peer = run_peer("pyAgrum", limit, peers.pyagrum_rows, path, codes, target, chunk)
        time = peer.total().scaled(n / (chunk * len(peer.marks))) if peer.marks else peer.end
        pieces = np.split(answers.to_numpy(), range(chunk, n, chunk))
        ratio = section.ratio(name, "pyAgrum", time, ours)
        section.add(name, target_name, with_threads(1, work), ours, time, ratio, largest_difference(peer, pieces))
    return section


def with_missing(table: bntk.Table, share: float) -> np.ndarray:
    """The codes with some values missing."""
    gone = np.random.default_rng(3).random(table.codes.shape) < share
    return np.where(gone, table.cards[:, None], table.codes).astype(table.codes.dtype)


# ---- EM, sampling ----------------------------------------------------------------------------------------------------


def em(options: Options) -> Section:
    n, iterations, limit = options.pick(5_000, 500), 2, 60
    section = Section(
        "Expectation-maximisation",
        f"Parameters of alarm by EM from {n:,} rows with 10 % of the values missing: time for each iteration, of ten; "
        f"pyAgrum is allowed {iterations} and {limit} s.",
        ["", "bntk, 1 thread", f"bntk, {bntk.n_threads()}", "pyAgrum", "pyAgrum / bntk"],
    )
    path = options.network("alarm")
    network = bntk.load(path)
    codes = with_missing(network.sample(n, seed=4), 0.1)
    table = bntk.Table.from_codes(codes, network.variables)
    work = partial(bntk.fit_em, network.dag, table, max_iter=10, prior=1.0, tolerance=0.0)
    work()  # compiles
    ours, one = best(work, 3)[0] / 10, with_threads(1, work, 3) / 10
    columns = {}
    for variable, column in zip(network.variables, codes, strict=True):
        columns[variable.name] = np.array([*map(str, variable.states), "?"], dtype=object)[column]
    peer = run_peer("pyAgrum", limit, peers.pyagrum_em, path, pd.DataFrame(columns), iterations)
    each = peer.total() / (max(1, peer.answers[0]) if peer.answers else iterations)
    section.add("alarm", one, ours, each, section.ratio("alarm, an iteration", "pyAgrum", each, ours))
    return section


def sampling(options: Options) -> Section:
    n = options.pick(1_000_000, 100_000)
    section = Section(
        "Sampling",
        f"{n:,} rows of alarm.",
        ["", "bntk, 1 thread", f"bntk, {bntk.n_threads()}", "pybnesian", "pybnesian / bntk"],
    )
    path = options.network("alarm")
    network = bntk.load(path)
    network.sample(1_000)  # compiles
    work = partial(network.sample, n, seed=5)
    ours = best(work, 7)[0]
    peer = run_peer("pybnesian", 30, peers.pybnesian_sample, path, n, 5).shortest()
    section.add("alarm", with_threads(1, work, 7), ours, peer, section.ratio("alarm", "pybnesian", peer, ours))
    return section


PARTS = {
    "marginals": marginals, "agreement": agreement, "rows": rows, "em": em, "sampling": sampling,
}  # fmt: skip

if __name__ == "__main__":
    report.main()
