"""What a start costs: ``import bntk``, the first call of each group of kernels, and the same on the second start.

python -m benchmarks.startup

Every line is a new process. "compiled" runs with an empty kernel cache, "cached" with the cache that the run before
left on disk. numpy is imported first and not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

STEPS = {
    "import bntk": "import bntk",
    "build and show a network": "import bntk; repr(bntk.datasets.asia())",
    "sample 1,000 rows": "import bntk; bntk.datasets.asia().sample(1000)",
    "fit": "import bntk; bn = bntk.datasets.asia(); bntk.fit(bn.dag, bn.sample(1000))",
    "log-likelihood": "import bntk; bn = bntk.datasets.asia(); bn.log_likelihood(bn.sample(1000))",
    "all pairs given a class": (
        "import bntk; from bntk.learning.counts import TableCounter; "
        "TableCounter(bntk.datasets.asia().sample(1000)).pairs('dysp')"
    ),
    "triangulate": "import bntk; bntk.graph.best_elimination_order(bntk.datasets.asia().dag.moral_graph())",
    "read a CSV file": "import bntk; bntk.read_table({csv!r})",
}


def seconds(code: str, cache: str) -> float:
    script = f"import numpy, time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    print(f"{'seconds beyond numpy':<28}{'compiled':>10}{'cached':>10}")
    with tempfile.TemporaryDirectory() as folder:
        csv = os.path.join(folder, "rows.csv")
        with open(csv, "w") as file:
            file.write("a,b\n" + "x,1\ny,2\n" * 500)
        for number, (name, code) in enumerate(STEPS.items()):
            code = code.format(csv=csv)
            cache = os.path.join(folder, str(number))
            first = seconds(code, cache)
            second = min(seconds(code, cache) for _ in range(3))
            print(f"{name:<28}{first:>10.2f}{second:>10.2f}", flush=True)


if __name__ == "__main__":
    main()
