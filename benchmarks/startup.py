"""What a start costs: ``import bntk``, the first call of each group of kernels, and the same on the second start.

python -m benchmarks.startup [--quick]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks import report
from benchmarks.measure import Options, Time, installed
from benchmarks.report import Section

TITLE = "Starting"
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


PARTS = {"startup": startup}

if __name__ == "__main__":
    report.main()
