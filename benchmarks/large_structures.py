"""Structures of hundreds of variables by the default search: ``python -m benchmarks.large_structures``.

Each case is searched in a process of its own, so that its memory is known. ``--networks`` names the folder with andes,
pigs, link and munin of bnlearn's repository; ``--write`` writes the page. Results are kept in the file that is named by
``--results``, one line a case, and a case that is there is not searched again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import bntk
from bntk.learning.learn import learn_structure

NETWORKS = ("andes", "pigs", "link", "munin")
N_ROWS = 5_000
MEGABYTE = 1 << 20


class Case(NamedTuple):
    """A network, the number of rows sampled from it, the score, and the seed of a random network."""

    network: str
    n_rows: int
    score: str
    seed: int = 1

    def load(self, folder: Path) -> bntk.BayesianNetwork:
        """The network: of a file, or a random one of so many binary variables and twice as many arcs."""
        if self.network in NETWORKS:
            return bntk.load(folder / f"{self.network}.bif.gz")
        n = int(self.network)
        return bntk.datasets.random_network(
            n, n_states=2, n_arcs=2 * n, treewidth=None, concentration=1, max_parents=4, seed=self.seed
        )


KNOWN = [Case(network, N_ROWS, "bic") for network in NETWORKS]
BY_BDEU = [Case(network, N_ROWS, "bdeu") for network in NETWORKS]
LARGE = [Case("1000", 20_000, "bic", seed) for seed in (0, 1)]
BY_SIZE = [Case(str(n), N_ROWS, "bic") for n in (125, 250, 500, 1000)]
BY_ROWS = [Case("250", n_rows, "bic") for n_rows in (5_000, 10_000, 20_000, 40_000)]


def measure(case: Case, folder: Path) -> dict[str, Any]:
    """Search, and compare with the structure that the rows come from."""
    network = case.load(folder)
    rows = network.sample(case.n_rows, seed=1)
    warm = bntk.datasets.random_network(120, seed=1, treewidth=2).sample(100, seed=1)
    learn_structure(warm, case.score)  # kernels are compiled, or read from the disk
    memory, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, (time.perf_counter(), time.process_time())
    found = learn_structure(rows, case.score)
    seconds, cpu_seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    true, learned = skeleton(network.dag), skeleton(found.dag)
    climbed = learn_structure(rows, case.score, search="hc", start=network.dag)
    return {
        "case": case,
        "variables": len(rows.names),
        "arcs": len(true),
        "found": len(learned),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "megabytes": 1024 * memory / MEGABYTE,
        "families": found.n_evaluated,
        "score": found.score,
        "truth": bntk.score(network.dag, rows, case.score),
        "f1": f1(true, learned),
        "climbed": climbed.score,
        "climbed_f1": f1(true, skeleton(climbed.dag)),
    }


def skeleton(dag: bntk.DAG) -> set[frozenset[str]]:
    """The arcs without their directions."""
    return {frozenset(arc) for arc in dag.arcs}


def f1(true: set[frozenset[str]], learned: set[frozenset[str]]) -> float:
    """F1 of a skeleton."""
    return 2 * len(true & learned) / (len(true) + len(learned))


def results(cases: list[Case], folder: Path, file: Path) -> dict[Case, dict[str, Any]]:
    """What the file has of each case; cases that it lacks are searched."""
    known = {}
    if file.exists():
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        known = {Case(*line["case"]): line for line in lines}
    for case in cases:
        if case not in known:
            words = [
                sys.executable,
                "-m",
                "benchmarks.large_structures",
                "--networks",
                str(folder),
                "--case",
                *map(str, case),
            ]
            line = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
            known[case] = json.loads(line)
            with file.open("a") as stream:
                stream.write(line + "\n")
            print(line, flush=True)
    return known


def table(cases: list[Case], known: dict[Case, dict[str, Any]]) -> str:
    """A table of some cases."""
    columns = (
        "network", "variables", "arcs", "rows", "score", "seconds", "CPU seconds", "memory, MB", "score less truth's",
        "arcs found", "F1 of skeleton", "climb from truth: score", "its F1",
    )  # fmt: skip
    rows = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for case in cases:
        if case not in known:
            continue
        line = known[case]
        name = case.network if case.network in NETWORKS else f"random, seed {case.seed}"
        rows.append(
            f"| {name} | {line['variables']:,} | {line['arcs']:,} | {case.n_rows:,} | {case.score.upper()} "
            f"| {line['seconds']:.1f} | {line['cpu_seconds']:.1f} | {line['megabytes']:,.0f} "
            f"| {line['score'] - line['truth']:+,.1f} | {line['found']:,} | {line['f1']:.3f} "
            f"| {line['climbed'] - line['truth']:+,.1f} | {line['climbed_f1']:.3f} |"
        )
    return "\n".join(rows)


def page(known: dict[Case, dict[str, Any]]) -> str:
    """The page of the documentation, with a section for each group of which something was measured."""
    parts = [HEAD]
    for text, cases in SECTIONS.items():
        if any(case in known for case in cases):
            parts.append(text.format(table(cases, known)))
    return "\n".join(parts)


HEAD = """\
# Structures of hundreds of variables

`bntk.learn_structure` with its defaults, which is {class}`BOSS(epsilon=1) <bntk.search.BOSS>` for more than 100
variables without missing values. Rows are sampled with `seed=1`. Each case ran once, in a process of its own with
compiled kernels. CPU seconds are the sum over the threads. Memory is what it takes in addition to the rows. A score
above the truth's is better than that of the structure that the rows come from. The last columns tell what hill climbing
makes of the true structure, which no search knows: the score less the truth's again, and F1.
`python -m benchmarks.large_structures` measures it and writes this page.
"""

SECTIONS = {
    """\
## Known networks

{}

Link is a pedigree: which allele a child inherits depends on a selector that tells nothing alone, and nothing with only
one of the two alleles. Hill climbing ends 188,000 nats of BIC below the true structure, since it adds one arc at a
time; with both alleles before a child in the order, growing its parents finds the selector.

The tables of munin have 80,592 free parameters, many more than 5,000 rows tell of, so that the best structure has far
fewer arcs than the true one.
""": KNOWN + BY_BDEU,
    """\
## A thousand variables

`random_network(1000, n_states=2, n_arcs=2000, treewidth=None, concentration=1, max_parents=4)`, with two
seeds. About 2 % of its arcs are not worth their BIC. Most arcs that are found and are not true are chance: for a
variable with few parents, one or two of a thousand others gain a little without being one, and a structure without
these arcs scores lower. So F1 falls a little as the score rises, also for a climb that begins with the truth. For this
reason the default leaves out arcs that gain less than 1; `search="boss"` keeps them, and scores some 40 nats more.

{}
""": LARGE,
    """\
## More variables

Every variable is looked at as one more parent of every set of up to two parents that is grown, so that parents are
found that tell nothing alone; of larger sets, only those that have gained something before. So twice as many variables,
with twice as many arcs, are up to four times as many families. Memory grows with the trees.

Before, all triples of variables are counted for pairs of parents that gain only together, unless that were more than
some seconds of work: of the 500 variables here, one is nearly the exclusive or of others, none of which gains alone.

{}
""": BY_SIZE,
    """\
## More rows

With more rows more arcs are worth their BIC, and time grows somewhat less than linearly with the rows, or linearly;
memory grows little.

{}
""": BY_ROWS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=Path, default=Path("../shared/data/networks"))
    parser.add_argument("--results", type=Path, default=Path("large_structures.jsonl"))
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--only", nargs="*", default=["known", "large", "size", "rows", "bdeu"])
    parser.add_argument(
        "--case", nargs=4, metavar=("NETWORK", "ROWS", "SCORE", "SEED"), help="one case, printed as a line"
    )
    options = parser.parse_args()
    if options.case:
        network, n_rows, score, seed = options.case
        print(json.dumps(measure(Case(network, int(n_rows), score, int(seed)), options.networks)))
        return
    groups = {"known": KNOWN, "large": LARGE, "size": BY_SIZE, "rows": BY_ROWS, "bdeu": BY_BDEU}
    known = results([case for name in options.only for case in groups[name]], options.networks, options.results)
    if options.write:
        options.write.write_text(page(known))


if __name__ == "__main__":
    main()
