"""Inference: bntk beside pyAgrum, pgmpy and pybnesian, in one run on the same networks and evidence.

python -m benchmarks.inference [--quick] [--only a|check|b|c|d]   (peers: pip install "bntk[bench]"; absent: skipped)

(a) All posteriors for up to 100 evidence sets of five findings from a sampled row. bntk is measured set by set
    (``calibrate``), and with all sets as rows of one table (``marginals_rows``); pyAgrum by LazyPropagation, pgmpy by
    variable elimination. "pattern" is the first set with its observed variables: large networks are triangulated for
    them, and that is kept. "of copy" is how long both passes take, in terms of copying all clique entries once.
(check) All posteriors beside pyAgrum's, on every network there is.
(b) The posterior of one variable for 10,000 rows with a fifth of the cells missing. (c) EM. (d) A million rows drawn.

Peers run in a process of their own up to a time limit; what they finished until then is averaged. Their answers in (a)
and (b) are compared with ours. Networks are those that pgmpy's wheel carries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import bntk
from benchmarks import inference_peers as peers
from bntk.inference.program import Program, compile_network

#: Evidence sets for each network.
NETWORKS = {
    "alarm": 100, "hailfinder": 100, "hepar2": 100, "win95pts": 100, "andes": 100, "pigs": 50, "barley": 10,
    "diabetes": 5, "link": 3, "munin1": 3,
}  # fmt: skip
TARGETS = {"alarm": "HYPOVOLEMIA", "insurance": "PropCost", "child": "Disease", "hailfinder": "R5Fcst"}
PGMPY = {"alarm": 5, "hepar2": 2, "win95pts": 2}  # networks on which it needs seconds, and how many sets


def best(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Shortest wall time of several runs, and the last result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def with_threads(threads: int, work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    bntk.set_threads(threads)
    try:
        return best(work, repeats)
    finally:
        bntk.set_threads(None)


def ratio(peer: float, ours: float) -> str:
    return "-" if np.isnan(peer / ours) else f"{peer / ours:,.0f}x"


def shown(seconds: float) -> str:
    if np.isnan(seconds):
        return "-"
    unit, scale = ("s", 1.0) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    return f"{seconds * scale:.3g} {unit}"


# ---- (a) all posteriors ----------------------------------------------------------------------------------------------


def evidence_sets(network: bntk.BayesianNetwork, n: int) -> list[dict[str, int]]:
    """Five findings each, from rows of a sample, so that they are possible."""
    rng = np.random.default_rng(1)
    rows = network.sample(n, seed=1).codes
    chosen = [rng.choice(len(rows), 5, replace=False).tolist() for _ in range(n)]
    return [{network.names[v]: int(rows[v, i]) for v in variables} for i, variables in enumerate(chosen)]


def set_by_set(program: Program, network: bntk.BayesianNetwork, sets: list[dict[str, int]]) -> list[np.ndarray]:
    answers = []
    for findings in sets:
        at = {network.dag.index(name): state for name, state in findings.items()}
        found = program.calibrate({v: np.eye(program.cards[v])[state] for v, state in at.items()})
        answers.append(np.concatenate([found.marginal(v) for v in range(len(program.cards))]))
    return answers


def as_rows(program: Program, network: bntk.BayesianNetwork, sets: list[dict[str, int]]) -> list[np.ndarray]:
    codes = np.repeat(np.array(program.cards)[:, None], len(sets), axis=1)
    for i, findings in enumerate(sets):
        for name, state in findings.items():
            codes[network.dag.index(name), i] = state
    return list(np.hstack(program.marginals_rows(codes.astype(np.uint8))))


def first_of_each_pattern(network: bntk.BayesianNetwork, sets: list[dict[str, int]]) -> float:
    """Seconds for the sets when no set with the same observed variables was seen before."""
    network._cache.pop("programs", None)
    program = compile_network(network)
    program.calibrate().marginal(0)  # the engine of the whole network is not counted
    start = time.perf_counter()
    set_by_set(program, network, sets)
    return time.perf_counter() - start


def seconds_to_copy(entries: int) -> float:
    """Copying an array of so many numbers that is larger than the cache, by the mean over a large one."""
    source = np.ones(1 << 24)
    target = np.ones_like(source)
    seconds, _ = best(lambda: np.copyto(target, source), 5)
    return seconds / source.size * entries


def all_posteriors(quick: bool) -> None:
    print(
        "(a) all posteriors given five findings: seconds for each evidence set, and how many times longer peers take\n"
    )
    print(
        f"{'':<11}{'sets':>5}{'entries':>9}{'given':>9}{'compile':>9}{'pattern':>9}{'bntk':>9}{'1 thread':>9}"
        f"{'rows':>9}{'1 thread':>9}{'ns/entry':>9}{'of copy':>8}{'pyAgrum':>9}{'/ bntk':>8}{'/ rows':>8}{'differ':>9}"
        f"{'pgmpy':>9}{'/ bntk':>8}"
    )
    for name, n in NETWORKS.items():
        one_network(name, min(n, 10) if quick else n, limit=5 if quick else 45)


def one_network(name: str, n: int, limit: float) -> None:
    network = bntk.load(peers.network_path(name))
    sets = evidence_sets(network, n)
    seconds_to_compile, program = best(lambda: compile_network(network), 1)
    set_by_set(program, network, sets[:2])  # loads or compiles the kernels
    entries = program.plan.total_entries
    pattern = first_of_each_pattern(network, sets)
    program = compile_network(network)
    left = np.mean([program.plan_given(map(network.dag.index, findings)).open_entries for findings in sets])
    repeats = 3 if entries < 1e7 else 1
    two, answers = best(lambda: set_by_set(program, network, sets), repeats)
    one, _ = with_threads(1, lambda: set_by_set(program, network, sets), repeats)
    rows = rows_one = float("nan")
    if entries < 1e6:
        as_rows(program, network, sets[:2])
        rows, same = best(lambda: as_rows(program, network, sets), repeats)
        rows_one, _ = with_threads(1, lambda: as_rows(program, network, sets), repeats)
        assert np.allclose(same, answers, atol=1e-9), f"{name}: rows and single sets differ"
    peer, difference = pyagrum_mean(name, sets, answers, limit)
    other = pgmpy_mean(name, sets, limit)
    print(
        f"{name:<11}{n:>5}{entries:>9.1e}{left:>9.1e}{shown(seconds_to_compile):>9}{shown(pattern / n):>9}"
        f"{shown(two / n):>9}{shown(one / n):>9}{shown(rows / n):>9}{shown(rows_one / n):>9}"
        f"{two / n / left * 1e9:>9.2f}{two / n / seconds_to_copy(left):>7.1f}x"
        f"{shown(peer):>9}{ratio(peer, two / n):>8}{ratio(peer, rows / n):>8}{difference:>9}"
        f"{shown(other):>9}{ratio(other, two / n):>8}",
        flush=True,
    )


def pyagrum_mean(name: str, sets: list[dict[str, int]], answers: list[np.ndarray], limit: float) -> tuple[float, str]:
    """Mean seconds of the sets that were finished, without the first unless it is the only one; largest difference."""
    if not peers.installed("pyagrum"):
        return float("nan"), "-"
    marks = peers.finished_within(limit, peers.pyagrum_marginals, name, sets)
    if not marks:
        return float("nan"), f">{limit:.0f} s"
    difference = max(float(np.abs(theirs - ours).max()) for (_, theirs), ours in zip(marks, answers, strict=False))
    return float(np.mean([seconds for seconds, _ in marks[1:] or marks])), f"{difference:.0e}"


def pgmpy_mean(name: str, sets: list[dict[str, int]], limit: float) -> float:
    if name not in PGMPY or not peers.installed("pgmpy"):
        return float("nan")
    marks = peers.finished_within(limit, peers.pgmpy_marginals, name, sets[: PGMPY[name]])
    return float(np.mean([seconds for seconds, _ in marks])) if marks else float("nan")


# ---- (check) every network beside pyAgrum ---------------------------------------------------------------------------


def check_posteriors(quick: bool) -> None:
    """All posteriors of a few evidence sets, on every network among the peers' files."""
    limit, n = (5, 3) if quick else (60, 10)
    print(f"\n(check) all posteriors beside pyAgrum's: sets that it finished within {limit} s, largest difference\n")
    worst = 0.0
    for path in sorted(peers.network_path("alarm").parent.glob("*.bif.gz")):
        name = path.name.removesuffix(".bif.gz")
        try:
            network = bntk.load(path)
            sets = evidence_sets(network, n)
            answers = set_by_set(compile_network(network), network, sets)
        except (bntk.errors.ParseError, bntk.errors.TooLargeError) as error:
            print(f"{name:<12} not answered by bntk: {str(error).splitlines()[0]}", flush=True)
            continue
        if not peers.installed("pyagrum"):
            return
        marks = peers.finished_within(limit, peers.pyagrum_marginals, name, sets)
        if not marks:
            print(f"{name:<12} pyAgrum finished none", flush=True)
            continue
        pairs = zip(marks, answers, strict=False)
        difference = max(float(np.abs(theirs - ours).max()) for (_, theirs), ours in pairs)
        worst = max(worst, difference)
        print(f"{name:<12}{len(marks):>4} of {n} sets, {difference:.1e}", flush=True)
    print(f"largest difference {worst:.1e}")
    assert worst < 1e-8


# ---- (b) one posterior, many rows ------------------------------------------------------------------------------------


def many_rows(quick: bool) -> None:
    n = 1_000 if quick else 10_000
    print(f"\n(b) the posterior of one variable for {n:,} rows with 20 % missing cells, seconds\n")
    print(f"{'':<12}{'target':<13}{'bntk':>9}{'1 thread':>9}{'pyAgrum':>9}{'/ bntk':>9}{'differ':>9}")
    for name, target_name in TARGETS.items():
        network = bntk.load(peers.network_path(name))
        target = network.dag.index(target_name)
        codes = with_missing(network.sample(n, seed=2), 0.2)
        codes[target] = network.variables[target].n_states
        table = bntk.Table.from_codes(codes, network.variables)
        work = partial(network.posterior, table, target_name)
        work()  # loads or compiles the kernels
        two, answers = best(work, 5)
        one, _ = with_threads(1, work, 5)
        peer, difference = pyagrum_rows(name, codes, target, answers.to_numpy(), 5 if quick else 30)
        print(
            f"{name:<12}{target_name:<13}{shown(two):>9}{shown(one):>9}{shown(peer):>9}{ratio(peer, two):>9}"
            f"{difference:>9}",
            flush=True,
        )


def with_missing(table: bntk.Table, share: float) -> np.ndarray:
    """The codes with some cells missing."""
    gone = np.random.default_rng(3).random(table.codes.shape) < share
    return np.where(gone, table.cards[:, None], table.codes).astype(table.codes.dtype)


def pyagrum_rows(name: str, codes: np.ndarray, target: int, answers: np.ndarray, limit: float) -> tuple[float, str]:
    """Seconds for all rows, scaled up when the limit came first."""
    if not peers.installed("pyagrum"):
        return float("nan"), "-"
    chunk = 250
    marks = peers.finished_within(limit, peers.pyagrum_rows, name, codes, target, chunk)
    if not marks:
        return float("nan"), "-"
    theirs = np.concatenate([answer for _, answer in marks])
    difference = float(np.abs(theirs - answers[: len(theirs)]).max())
    return sum(seconds for seconds, _ in marks) * codes.shape[1] / len(theirs), f"{difference:.0e}"


# ---- (c) EM, (d) sampling --------------------------------------------------------------------------------------------


def em(quick: bool) -> None:
    n = 500 if quick else 5_000
    print(f"\n(c) EM on {n:,} rows of alarm with 10 % missing cells, seconds for each iteration\n")
    try:
        from bntk.learning.em import fit_em
    except ImportError:
        print("bntk.learning.em is not there: skipped")
        return
    network = bntk.load(peers.network_path("alarm"))
    codes = with_missing(network.sample(n, seed=4), 0.1)
    table = bntk.Table.from_codes(codes, network.variables)
    options = {"prior": 1.0, "tolerance": 0.0}
    fit_em(network.dag, table, max_iter=1, **options)
    two, _ = best(lambda: fit_em(network.dag, table, max_iter=10, **options))
    one, _ = with_threads(1, lambda: fit_em(network.dag, table, max_iter=10, **options))
    peer = float("nan")
    if peers.installed("pyagrum"):
        columns = {}
        for variable, column in zip(network.variables, codes, strict=True):
            columns[variable.name] = np.array([*map(str, variable.states), "?"], dtype=object)[column]
        marks = peers.finished_within(10 if quick else 60, peers.pyagrum_em, "alarm", pd.DataFrame(columns), 3)
        if marks:
            seconds, iterations = marks[0]
            peer = seconds / max(1, iterations)
            print(f"pyAgrum: {iterations} iterations in {seconds:.1f} s")
    print(f"bntk {shown(two / 10)}, one thread {shown(one / 10)}; pyAgrum {shown(peer)} ({ratio(peer, two / 10)})")


def sampling(quick: bool) -> None:
    n = 100_000 if quick else 1_000_000
    print(f"\n(d) {n:,} rows of alarm, seconds\n")
    network = bntk.load(peers.network_path("alarm"))
    network.sample(1_000)
    two, _ = best(lambda: network.sample(n, seed=5), 7)
    one, _ = with_threads(1, lambda: network.sample(n, seed=5), 7)
    peer = float("nan")
    if peers.installed("pybnesian"):
        marks = peers.finished_within(30, peers.pybnesian_sample, "alarm", n, 5)
        peer = min((seconds for seconds, _ in marks), default=peer)
    print(f"bntk {shown(two)}, one thread {shown(one)}; pybnesian {shown(peer)} ({peer / two:.1f}x, {peer / one:.1f}x)")


PARTS = {"a": all_posteriors, "check": check_posteriors, "b": many_rows, "c": em, "d": sampling}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sets and rows, shorter limits")
    parser.add_argument("--only", choices=list(PARTS))
    options = parser.parse_args()
    print(f"bntk {bntk.__version__}, {bntk.n_threads()} threads\n")
    for letter, part in PARTS.items():
        if options.only in (None, letter):
            part(options.quick)


if __name__ == "__main__":
    main()
