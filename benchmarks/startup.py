"""What a start costs: ``import bntk``, the first call of each group of kernels, the same on the second start; and the
``bntk`` command, beside importing what it cannot do without, and beside a first answer of the peers.

python -m benchmarks.startup [--quick]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import bntk
from benchmarks import report
from benchmarks.measure import Options, Time, digits, installed
from benchmarks.report import Section

TITLE = "The first minute"
STEPS = {
    "import bntk": "import bntk",
    "build and show a network": "import bntk; repr(bntk.datasets.asia())",
    "a posterior": "import bntk; bntk.datasets.asia().query('lung', given={{'dysp': 'yes'}})",
    "sample 1,000 rows": "import bntk; bntk.datasets.asia().sample(1000)",
    "fit": "import bntk; bn = bntk.datasets.asia(); bntk.fit(bn.dag, bn.sample(1000))",
    "log-likelihood": "import bntk; bn = bntk.datasets.asia(); bn.log_likelihood(bn.sample(1000))",
    "all pairs given a class": (
        "import bntk; from bntk.learning.counts import TableCounter; "
        "TableCounter(bntk.datasets.asia().sample(1000)).pairs('dysp')"
    ),
    "learn a structure": "import bntk; bntk.learn(bntk.datasets.asia().sample(1000))",
    "read a CSV file": "import bntk; bntk.read_table({csv!r})",
}
PEERS = ("pyAgrum", "pybnesian", "pgmpy")


def seconds(code: str, cache: str) -> float:
    script = f"import numpy, time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1])


def startup(options: Options) -> Section:
    section = Section(
        "What a start costs",
        'Time beyond importing numpy, in a new process: "compiled" with an empty kernel cache, one run; "cached" '
        "with the cache that this run left on disk, the shortest of three (most of it is importing numba). The peers "
        "have nothing to compile.",
        ["", "compiled", "cached"],
    )
    with tempfile.TemporaryDirectory() as folder:
        csv = os.path.join(folder, "rows.csv")
        with open(csv, "w") as file:
            file.write("a,b\n" + "x,1\ny,2\n" * 500)
        for number, (name, code) in enumerate(list(STEPS.items())[: options.pick(None, 3)]):
            cache = os.path.join(folder, str(number))
            first = seconds(code.format(csv=csv), cache)
            again = min(seconds(code.format(csv=csv), cache) for _ in range(3))
            section.add(name, Time(first), Time(again))
        for peer in PEERS:
            code = f"import {peer.lower()}"
            time = Time(min(seconds(code, folder) for _ in range(3))) if installed(peer) else Time(note="not installed")
            section.add(code, "", time)
    return section


# ---- the command -----------------------------------------------------------------------------------------------------

#: Commands, and what they are compared with: those that read no rows need numpy only.
COMMANDS = {
    "import numpy": ["--version", "--help", "info {bif}", "query asia lung --given xray=yes",
                     "query {bif} CVP --given HR=LOW", "convert {bif} {folder}/copy.net"],
    "import sklearn": ["learn {csv} --target dysp --model tan -o {folder}/dysp.json", "info {folder}/dysp.json",
                       "predict {folder}/dysp.json {csv} -o {folder}/labels.csv",
                       "evaluate {csv} --target dysp --model nb"],
}  # fmt: skip
#: Import, load alarm and one posterior, in a process of its own.
FIRST_ANSWERS = {
    "bntk": "import bntk; bntk.load({bif!r}).query('CVP', given={{'HR': 'LOW'}})",
    "pyAgrum": (
        "import pyagrum; e = pyagrum.LazyPropagation(pyagrum.loadBN({bif!r})); e.setEvidence({{'HR': 'LOW'}}); "
        "e.posterior('CVP')"
    ),
    "pgmpy": (
        "from pgmpy.readwrite import BIFReader; from pgmpy.inference import VariableElimination as V; "
        "V(BIFReader({bif!r}).get_model()).query(['CVP'], evidence={{'HR': 'LOW'}}, show_progress=False)"
    ),
}


def processor_seconds(words: Sequence[str], repeats: int) -> Time:
    """What a process of Python takes of the processor, from its start to its end: the least of several, all warm."""
    # Python keeps the code of modules that it has compiled, unless it is told not to; so do installers.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], capture_output=True, env=environment, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Time(min(taken[1:]))


def command(options: Options) -> Section:
    section = Section(
        "The command, and a first answer",
        "Time of the processor for a whole process, with warm caches, the shortest of seven, and how many times as "
        "much that is as the import named. The first answers import, load alarm and ask for one posterior.",
        ["process", "time", "compared with", "times"],
    )
    repeats = options.pick(7, 1)
    with tempfile.TemporaryDirectory() as folder:
        places = {"folder": folder, "csv": os.path.join(folder, "asia.csv"), "bif": os.path.join(folder, "alarm.bif")}
        bntk.datasets.asia().sample(1000).to_pandas().to_csv(places["csv"], index=False)
        bntk.load(options.network("alarm")).save(places["bif"])
        base = {code: processor_seconds(["-c", code], repeats) for code in COMMANDS}
        for code, lines in COMMANDS.items():
            section.add(code, base[code], "", "")
            for line in lines:
                time = processor_seconds(["-m", "bntk", *line.format(**places).split()], repeats)
                shown = line.format(folder="", csv="asia.csv", bif="alarm.bif").replace(" /", " ")
                section.add(f"bntk {shown}", time, code, digits(time.seconds / base[code].seconds))
        for name, code in FIRST_ANSWERS.items():
            if name != "bntk" and not installed(name):
                section.add(f"{name}: a first answer", Time(note="not installed"), "", "")
                continue
            time = processor_seconds(["-c", code.format(**places)], repeats)
            section.add(
                f"{name}: a first answer", time, "import numpy", digits(time.seconds / base["import numpy"].seconds)
            )
    return section


PARTS = {"startup": startup, "command": command}

if __name__ == "__main__":
    report.main()
