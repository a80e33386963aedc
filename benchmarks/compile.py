"""What the compiler costs on an empty kernel cache: first commands and first calls, and the kernels that they compile.

python -m benchmarks.compile [--quick] [--only commands calls kernels]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import bntk
from benchmarks import report
from benchmarks.measure import Options, Time
from benchmarks.report import Section

TITLE = "The first minute: what is compiled"

#: First commands, run in a folder with small files.
COMMANDS = (
    "demo",
    "query asia lung --given dysp=yes",
    "sample asia -n 1000 -o drawn.csv",
    "learn asia.csv -o learned.bif",
    "fit asia asia.csv -o fitted.bif",
    "fit asia holes.csv --missing em -o fitted.bif",
    *(
        f"learn cars.csv --target class --model {model} -o model.json"
        for model in ("nb", "tan", "fan", "ban", "kdb", "stan", "aode", "a2de", "skdb")
    ),
    "evaluate cars.csv --target class --model tan",
    "predict tan.json holed.csv -o labels.csv",
    "predict aode.json holed.csv -o labels.csv",
)

#: First calls on small data; ``rows`` and ``holes`` (with missing values) are of asia, ``drawn`` and ``gaps`` of 40
#: variables.
CALLS = (
    "asia.query('lung', {'dysp': 'yes'})",
    "asia.mpe({'dysp': 'yes'})",
    "large.query(large.names[0])",
    "large.mpe()",
    "large.value_of_information(large.names[0])",
    "large.sample(100, given={large.names[-1]: large.variables[-1].states[0]})",
    "large.posterior(gaps, large.names[0])",
    "bntk.fit(large.dag, gaps, missing='em', prior=1)",
    "bntk.learn(drawn)",
    "asia.query('lung', {'dysp': 'yes'}, engine='loopy')",
    "asia.sample(100, given={'dysp': 'yes'})",
    "bntk.fit(asia.dag, rows)",
    "bntk.fit(asia.dag, holes, missing='em')",
    "asia.log_likelihood(holes)",
    "asia.posterior(holes, 'lung')",
    "asia.impute(holes)",
    "bntk.learn(rows)",
    "bntk.learn(rows, search='hc')",
    "bntk.learn(rows, search='order')",
    "bntk.NaiveBayes().fit(X, y).predict(X)",
    "bntk.TAN().fit(X, y).predict(incomplete)",
    "bntk.TAN(criterion='loo').fit(X, y).predict(X)",
    "bntk.KDB().fit(X, y).predict(X)",
    "bntk.SelectiveKDB().fit(X, y).predict(X)",
    "bntk.STAN().fit(X, y).predict(X)",
    "bntk.BAN().fit(X, y).predict(X)",
    "bntk.AODE().fit(X, y).predict(X)",
    "bntk.A2DE().fit(X, y).predict(X)",
    "bntk.TAN().fit(numbers, kinds).predict(numbers)",
    "bntk.NaiveBayes(numeric='gaussian').fit(numbers, kinds).predict(numbers)",
    "bntk.NaiveBayes(numeric='kde').fit(numbers, kinds).predict(numbers)",
    "bntk.MDBNC().fit(X, Y).predict(X)",
    "bntk.read_table('cars.csv')",
)

#: Run in the new process: watches the compiler, and writes what it compiled to the file named by the first argument.
WATCH = """
import json, sys, threading, time
from numba.core import event

class Watch(event.Listener):
    def __init__(self):
        self.open, self.kernels = threading.local(), []
    def on_start(self, event):
        if not hasattr(self.open, "stack"):
            self.open.stack = []
        self.open.stack.append([time.thread_time(), 0.0])
    def on_end(self, event):
        began, within = self.open.stack.pop()
        seconds = time.thread_time() - began
        if self.open.stack:
            self.open.stack[-1][1] += seconds
        function = event.data["dispatcher"].py_func
        self.kernels.append((f"{function.__module__}.{function.__name__}", str(event.data["args"]), seconds - within))

watch = Watch()
event.register("numba:compile", watch)
path, before, code = sys.argv[1:4]
scope = {}
exec(before, scope)
watch.kernels.clear()
start, cpu, error = time.perf_counter(), time.process_time(), ""
try:
    exec(code, scope)
except BaseException as raised:
    error = repr(raised)
wall, cpu = time.perf_counter() - start, time.process_time() - cpu
with open(path, "w") as file:
    json.dump({"kernels": watch.kernels, "wall": wall, "cpu": cpu, "error": error}, file)
"""

BEFORE_CALL = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, bntk
asia, large = bntk.datasets.asia(), bntk.datasets.random_network(40, max_parents=3, seed=1)
rows, drawn = asia.sample(200), large.sample(200)
gaps = bntk.datasets.with_missing(drawn, 0.1)
holes = bntk.datasets.with_missing(rows, 0.1)
X, y = rows.select([n for n in rows.names if n != "dysp"]), rows.to_pandas()["dysp"]
Y, incomplete = rows.to_pandas()[["dysp", "xray"]], bntk.datasets.with_missing(X, 0.1)
numbers, kinds = np.random.default_rng(0).normal(size=(150, 4)), np.arange(150) % 3
"""


@dataclass(frozen=True)
class Compiled:
    """What one process compiled: name, signature and seconds of each kernel; and the CPU time of the whole call."""

    kernels: list[tuple[str, str, float]]
    cpu: float
    wall: float
    error: str

    @property
    def seconds(self) -> float:
        return sum(seconds for *_, seconds in self.kernels)


def compiled(before: str, code: str, cache: str, folder: str) -> Compiled:
    """Run code in a new process with that kernel cache; what comes before it is not counted."""
    with tempfile.TemporaryDirectory() as private:
        path = os.path.join(private, "kernels.json")
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        subprocess.run(
            [sys.executable, "-c", WATCH, path, before, code],
            env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return Compiled(**json.loads(Path(path).read_text()))


def _write_files(folder: str) -> None:
    """The files that commands read, made in this process."""
    asia, cars = bntk.datasets.asia().sample(200), bntk.datasets.network("car").sample(500)
    tables = {"asia": asia, "holes": bntk.datasets.with_missing(asia, 0.1), "cars": cars}
    X, y = cars.select([name for name in cars.names if name != "class"]), cars.to_pandas()["class"]
    for name, table in {**tables, "holed": bntk.datasets.with_missing(X, 0.1)}.items():
        table.to_pandas().to_csv(os.path.join(folder, f"{name}.csv"), index=False)
    bntk.TAN().fit(X, y).save(os.path.join(folder, "tan.json"))
    bntk.AODE().fit(X, y).save(os.path.join(folder, "aode.json"))


def _measure(section: Section, cases: dict[str, tuple[str, str]]) -> None:
    """A row for each case: what comes before and what is measured, in a process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        _write_files(folder)
        for name, (before, code) in cases.items():
            with tempfile.TemporaryDirectory() as cache:
                found = compiled(before, code, cache, folder)
            seconds: Counter[str] = Counter()
            for kernel, _, time in found.kernels:
                seconds[kernel.removeprefix("bntk.").rsplit(".", 1)[-1]] += time
            longest = ", ".join(f"{kernel} {time:.1f}" for kernel, time in seconds.most_common(4) if time >= 0.05)
            section.add(f"`{name}`", Time(found.seconds), len(found.kernels), Time(found.cpu), found.error or longest)


HEAD = ["", "compiling", "functions", "CPU time of all", "longest, in seconds"]
TEXT = (
    "CPU time in a new process with an empty kernel cache. Functions are all that numba compiled, parts of kernels and "
    "its own among them; the time of each is without those that it calls."
)


def commands(options: Options) -> Section:
    """First commands."""
    section = Section("First commands", TEXT, HEAD)
    run = "from bntk.cli import main; main({!r})"
    _measure(
        section,
        {f"bntk {line}": ("import bntk", run.format(line.split())) for line in COMMANDS[: options.pick(None, 3)]},
    )
    return section


def calls(options: Options) -> Section:
    """First calls."""
    section = Section("First calls on small data", TEXT, HEAD)
    _measure(section, {call: (BEFORE_CALL, call) for call in CALLS[: options.pick(None, 3)]})
    return section


def kernels(options: Options) -> Section:
    """Every kernel and signature that ``bntk warm-up`` compiles."""
    section = Section("All kernels", TEXT, ["kernel", "arguments", "compiling"])
    with tempfile.TemporaryDirectory() as cache:
        found = compiled("import bntk", "from bntk.warming import warm_up; warm_up()", cache, cache)
    for kernel, arguments, seconds in sorted(found.kernels, key=lambda each: -each[2])[: options.pick(None, 20)]:
        section.add(kernel.removeprefix("bntk."), arguments[:80], Time(seconds))
    return section


PARTS = {"commands": commands, "calls": calls}
EXTRA = {"kernels": kernels}

if __name__ == "__main__":
    report.main()
