"""What the compiler costs on an empty kernel cache: first commands and first calls, and the kernels that they compile.

python -m benchmarks.compile [--quick] [--only commands calls kernels]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TITLE = "Compiling"

#: First commands, with small files in the folder where they run.
COMMANDS = (
    "demo",
    "info asia",
    "query asia lung --given dysp=yes",
    "query alarm LVFAILURE --given CATECHOL=HIGH",
    "query alarm --map all --given CATECHOL=HIGH",
    "sample asia -n 1000 -o drawn.csv",
    "learn asia.csv -o asia.bif",
    "learn holes.csv -o holes.bif",
    "fit asia asia.csv -o fitted.bif",
    "fit asia holes.csv --em -o fitted.bif",
    *(
        f"learn cars.csv --target class --model {model} -o model.json"
        for model in ("nb", "tan", "fan", "ban", "kdb", "stan", "aode", "a2de", "skdb", "semi-naive", "manb")
    ),
    "learn numbers.csv --target kind --model tan -o model.json",
    "learn numbers.csv --target kind --model nb --numeric gaussian -o model.json",
    "evaluate cars.csv --target class --model tan",
    "predict tan.json cars.csv -o labels.csv",
    "predict tan.json holed.csv -o labels.csv",
    "predict aode.json holed.csv -o labels.csv",
)

#: First calls; ``asia``, ``rows`` and ``holes`` (with missing values) are there.
CALLS = (
    "asia.query('lung', given={'dysp': 'yes'})",
    "asia.marginals(given={'dysp': 'yes'})",
    "asia.mpe({'dysp': 'yes'})",
    "alarm.query('LVFAILURE', given={'CATECHOL': 'HIGH'})",
    "alarm.mpe({'CATECHOL': 'HIGH'})",
    "asia.query('lung', given={'dysp': 'yes'}, method='loopy')",
    "asia.sample(100, given={'dysp': 'yes'})",
    "bntk.fit(asia.dag, rows)",
    "bntk.fit(asia.dag, holes, method='em')",
    "asia.log_likelihood(rows)",
    "asia.log_likelihood(holes)",
    "asia.posterior(rows, ['lung'])",
    "asia.posterior(holes, ['lung'])",
    "alarm.posterior(alarm_holes, ['LVFAILURE'])",
    "asia.impute(holes)",
    "bntk.learn(rows)",
    "bntk.learn(rows, search='hill climbing')",
    "bntk.learn(rows, search='tabu')",
    "bntk.learn(rows, search='ges')",
    "bntk.learn(rows, search='pc')",
    "bntk.score(asia.dag, rows, bntk.scores.LOO('dysp'))",
    "bntk.NaiveBayes().fit(X, y).predict(X)",
    "bntk.TAN().fit(X, y).predict(X)",
    "bntk.TAN(criterion='loo').fit(X, y).predict(X)",
    "bntk.KDB().fit(X, y).predict(X)",
    "bntk.AODE().fit(X, y).predict(X)",
    "bntk.A2DE().fit(X, y).predict(X)",
    "bntk.TAN().fit(iris, kinds).predict(iris)",
    "bntk.NaiveBayes(numeric='gaussian').fit(iris, kinds).predict(iris)",
    "bntk.NaiveBayes(numeric='kde').fit(iris, kinds).predict(iris)",
    "bntk.MDBNC().fit(X, Y).predict(X)",
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

FILES = """
import numpy as np, bntk
asia = bntk.datasets.asia()
rows = asia.sample(200)
holes = bntk.datasets.with_missing(rows, 0.1)
"""

BEFORE_CALL = (
    FILES
    + """
alarm = bntk.datasets.load("alarm")
rng = np.random.default_rng(0)
X, y = rows.select([n for n in rows.names if n != "dysp"]), np.array(["no", "yes"])[rows.column("dysp")]
Y = np.stack([y, y[::-1]], axis=1)
iris, kinds = rng.normal(size=(150, 4)), np.arange(150) % 3
"""
)


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
