"""A few minutes of a new user, to be run by the Python of an environment that has bntk and nothing of this folder.

python -I benchmarks/smoke.py [FOLDER]     (-I: this folder is not on the path)

It fails where a file, a dependency or the command is missing, or where bntk is imported from FOLDER, the sources.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path


def imports(sources: str | None) -> None:
    """Every public name, from the installed package."""
    import bntk

    home = Path(bntk.__file__).resolve().parent
    assert sources is None or Path(sources).resolve() not in home.parents, f"{home} is not installed"
    assert version("bntk") == bntk.__version__
    assert requires("bntk"), "no dependency is declared"
    assert files("bntk").joinpath("py.typed").is_file()
    for name in bntk.__all__:
        getattr(bntk, name)


def uses(folder: Path) -> None:
    """Learning, questions, a classifier, files, a picture and the explorer's page."""
    import matplotlib

    matplotlib.use("agg")
    import numpy as np
    import pandas as pd

    import bntk

    asia = bntk.datasets.asia()
    rows = asia.sample(500, seed=1)
    learned = bntk.learn(rows, "bic")
    assert learned.dag.n_arcs > 3
    assert abs(asia.query("lung", {"xray": "yes"})["yes"] - 0.4887) < 1e-4
    numbers = np.random.default_rng(0).normal(size=(200, 3))
    X = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(d=np.where(numbers[:, 0] > 0, "x", "y"))
    y = np.where(numbers[:, 0] + numbers[:, 1] > 0, "p", "q")
    classifier = bntk.TAN().fit(X, y)
    assert classifier.score(X, y) > 0.8
    for name, thing in (("asia.bif", asia), ("asia.xdsl", asia), ("learned.json", learned), ("tan.json", classifier)):
        thing.save(folder / name)
        bntk.load(folder / name)
    asia.plot().figure.savefig(folder / "asia.png")
    asia.explore(folder / "asia.html")
    assert (folder / "asia.html").stat().st_size > 50_000, "the page lacks its scripts"
    rows.to_pandas().to_csv(folder / "rows.csv", index=False)


def commands(folder: Path) -> None:
    """The command, as a program of the environment and as a module."""
    script = str(Path(sysconfig.get_path("scripts")) / "bntk")
    calls = [
        [script, "--version"],
        [script, "query", "asia", "lung", "--given", "xray=yes"],
        [sys.executable, "-I", "-m", "bntk", "learn", "rows.csv", "--score", "bic", "-o", "found.bif"],
        [script, "info", "found.bif"],
    ]
    for call in calls:
        subprocess.run(call, cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    imports(sys.argv[1] if len(sys.argv) > 1 else None)
    with tempfile.TemporaryDirectory() as scratch:
        uses(Path(scratch))
        commands(Path(scratch))
    print("bntk", version("bntk"), "works with Python", sys.version.split()[0], flush=True)
