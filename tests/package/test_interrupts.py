"""Real Ctrl-C in processes of their own: it is answered soon, once, and no result that was cut off is used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from processes import run_python

import bntk

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as of POSIX")

# What would take minutes; a busy machine may take some seconds for anything.
SOON = 20.0


def interrupted(code: str, seconds: float) -> tuple[int, str, str]:
    """Exit code, output and errors of a process that gets Ctrl-C some seconds after it has printed a line."""
    done = run_python(code, interrupt_after=seconds, timeout=SOON)
    return done.returncode, done.stdout, done.stderr


NETWORK = """
import bntk
from bntk.inference.approximate.sampling import gibbs
bn = bntk.datasets.random_network(30, max_parents=3, seed=1)
target, given = bn.names[-1], {bn.names[0]: bn.variables[0].states[0]}
"""
ROWS = "rows = bntk.datasets.with_missing(bn.sample(10**5), 0.2, seed=1)\n"
#: Work that takes long, and the same with fewer steps, after which all kernels are compiled and loaded.
LONG = {
    "sample": ("bn.sample({n})", 10**8, 10**4),
    "weighting": ("bn.query(target, given, engine='weighting', n={n})", 10**8, 10**4),
    "gibbs": ("bn.query(target, given, engine='gibbs', n={n})", 10**8, 10**4),
    "burn-in": ("gibbs(bn, n=8, burn_in={n})", 10**8, 10**4),
    "rows": ("[bn.posterior(rows, bn.names[3]) for _ in range({n})]", 10**6, 1),
    "counts": ("[bntk.fit(bn.dag, rows) for _ in range({n})]", 10**6, 1),
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_is_ended_soon(name: str) -> None:
    work, many, few = LONG[name]
    rows = ROWS if "rows" in work else ""
    script = f"{NETWORK}{rows}{work.format(n=few)}\nprint('go', flush=True)\n{work.format(n=many)}\nprint('ended')"
    code, out, err = interrupted(script, 0.3)
    assert code == -signal.SIGINT
    assert out == ""
    assert err.strip().endswith("KeyboardInterrupt")


LEARNING = f"""{NETWORK}rows = bn.sample(1000)
bntk.learn(rows, "bic", search=bntk.search.HillClimbing(restarts=1))
search = bntk.search.HillClimbing(restarts=10**9)
print("go", flush=True)
"""


def test_a_search_gives_its_best_so_far_and_the_script_goes_on() -> None:
    search = "found = bntk.learn(rows, 'bic', search=search)"
    told = "print(found.report.interrupted, found.dag.n_arcs > 5)"
    code, out, err = interrupted(f"{LEARNING}{search}\n{told}", 0.5)
    assert (code, out) == (0, "True True\n")
    assert err.count("InterruptedWarning") == 1
    assert "Traceback" not in err


def test_a_loop_over_searches_ends() -> None:
    search = "    bntk.learn(rows, 'bic', search=search, seed=seed)\n    print(seed)"
    code, out, err = interrupted(f"{LEARNING}for seed in range(10**6):\n{search}", 0.5)
    assert code == -signal.SIGINT
    assert out == "0\n"
    assert err.count("InterruptedWarning") == 1


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows on which a search takes long."""
    rows = bntk.datasets.random_network(20, max_parents=3, seed=1).sample(50_000, seed=1)
    file = tmp_path_factory.mktemp("interrupts") / "rows.csv"
    rows.to_pandas().to_csv(file, index=False)
    return file


def command(words: list[str]) -> str:
    return f"import sys\nfrom bntk.cli import main\nprint('go', flush=True)\nsys.exit(main({words!r}))"


@pytest.mark.parametrize("seconds", np.random.default_rng(0).uniform(0.1, 2.5, size=3).round(2).tolist())
@pytest.mark.parametrize("jobs", [1, 2])
def test_evaluate_ends_with_its_own_exit_code_and_one_line(csv: Path, seconds: float, jobs: int) -> None:
    target = csv.read_text().split(",", 1)[0]
    words = ["evaluate", str(csv), "--target", target, "--model", "ban", "--score", "loo", "--jobs", str(jobs)]
    code, out, err = interrupted(command(words), seconds)
    assert (code, out, err) == (130, "", "bntk: interrupted\n")


def test_learn_saves_the_best_so_far_and_says_so(csv: Path, tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    target = csv.read_text().split(",", 1)[0]
    words = ["learn", str(csv), "--target", target, "--model", "ban", "--score", "loo", "-o", str(found)]
    code, _, err = interrupted(command(words), 1.5)
    if code == 130:  # the machine is so busy that it had not begun
        assert (err, found.exists()) == ("bntk: interrupted\n", False)
        return
    assert code == 0
    assert err == "bntk: note: the search was interrupted; the best structure so far is saved\n"
    assert bntk.load(found).search_.interrupted


def children_of(process: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split()
    pairs = list(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))
    mine = [pid for pid, parent in pairs if parent == process]
    return [*mine, *(other for pid in mine for other in children_of(pid))]


def is_alive(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux lists them")
def test_processes_of_jobs_do_not_outlive_a_command_that_is_interrupted(csv: Path) -> None:
    target = csv.read_text().split(",", 1)[0]
    words = ["evaluate", str(csv), "--target", target, "--model", "ban", "--score", "loo", "--jobs", "2"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # inherited, unlike one that is ignored
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", command(words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        waited = time.monotonic()
        while len(children_of(process.pid)) < 2 and time.monotonic() - waited < SOON:
            time.sleep(0.1)
        time.sleep(1.0)
        children = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=SOON)
        ended = time.monotonic()
        while any(map(is_alive, children)) and time.monotonic() - ended < SOON:
            time.sleep(0.1)
    assert not any(map(is_alive, children))
