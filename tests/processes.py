"""Python processes for tests that need one of their own, without a second of imports for each.

A test that starts Python to import bntk waits for numba, pandas and scikit-learn to be imported first. Here one process
imports these, and nothing of bntk, and forks for each test: what a fork runs finds the packages of others imported, and
bntk as a new process does. Where processes cannot fork, each of them is started as usual.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Names and sets have another order in a process of another seed.
HASH_SEEDS = ("7", "0")


def run_python(
    code: str,
    *arguments: str,
    cwd: Path | str | None = None,
    env: dict[str, str] | None = None,
    hash_seed: str = HASH_SEEDS[0],
    interrupt_after: float | None = None,
    timeout: float = 300.0,
) -> subprocess.CompletedProcess[str]:
    """What ``python -c code *arguments`` prints, and its exit code.

    Parameters
    ----------
    env : dict of str to str, optional
        Variables besides those of this process; numba and numpy have read theirs already.
    hash_seed : str
        One of ``HASH_SEEDS``.
    interrupt_after : float, optional
        Send SIGINT so many seconds after the process has printed its first line, which is left out of what it printed.
    timeout : float
        Seconds, from the start or from SIGINT, after which ``subprocess.TimeoutExpired`` is raised.
    """
    command = [sys.executable, "-c", code, *arguments]
    variables = {**os.environ, **(env or {}), "PYTHONHASHSEED": hash_seed}
    if not hasattr(os, "fork"):
        assert interrupt_after is None
        return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=timeout)
    request = {
        "code": code, "arguments": arguments, "cwd": str(cwd or Path.cwd()), "env": variables,
        "interrupt_after": interrupt_after,
    }  # fmt: skip
    server = _server(hash_seed)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answered, _, _ = select.select([server.stdout], [], [], timeout + (interrupt_after or 0))
    if not answered:
        os.killpg(server.pid, signal.SIGKILL)
        _server.cache_clear()
        raise subprocess.TimeoutExpired(command, timeout)
    return subprocess.CompletedProcess(command, **json.loads(server.stdout.readline()))


def answers_of_processes(code: str, *arguments: str, threads: Sequence[int] = (1, 3)) -> set[str]:
    """What is printed by processes of these numbers of threads, each with another hash seed than the one before."""
    done = [
        run_python(code, *arguments, hash_seed=hash_seed, env={"BNTK_NUM_THREADS": str(n)})
        for hash_seed, n in zip(itertools.cycle(HASH_SEEDS), threads, strict=False)
    ]
    for each in done:
        assert each.returncode == 0, each.stderr
    return {each.stdout for each in done}


def run_script(path: Path | str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """What ``python path *arguments`` prints, and its exit code; the options are those of ``run_python``."""
    return run_python(f"import runpy; runpy.run_path({str(path)!r}, run_name='__main__')", *arguments, **options)


@functools.cache
def _server(hash_seed: str) -> subprocess.Popen[str]:
    """A process that forks; it ends with this one."""
    server = subprocess.Popen(
        [sys.executable, "-c", Path(__file__).read_text(encoding="utf-8")],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    """Close both of its pipes, which ends it, and wait for that."""
    with server:
        pass


def _serve() -> str:
    """Fork for each line of standard input; return, with the code to run, in the forks only."""
    for line in sys.stdin:
        request = json.loads(line)
        readable, writable = os.pipe()
        with tempfile.TemporaryFile("w+") as errors, os.fdopen(readable) as output:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(writable, 1)
                os.dup2(errors.fileno(), 2)
                os.close(writable)
                os.chdir(request["cwd"])
                os.environ.clear()
                os.environ.update(request["env"])
                sys.argv[1:] = request["arguments"]
                signal.signal(signal.SIGINT, signal.default_int_handler)
                return str(request["code"])
            os.close(writable)
            if request["interrupt_after"] is not None:
                output.readline()
                time.sleep(request["interrupt_after"])
                os.kill(child, signal.SIGINT)
            printed = output.read()
            _, status = os.waitpid(child, 0)
            errors.seek(0)
            answer = {"returncode": os.waitstatus_to_exitcode(status), "stdout": printed, "stderr": errors.read()}
        print(json.dumps(answer), flush=True)
    sys.exit()


def _import_others() -> None:
    import gc

    import numba
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.model_selection  # noqa: F401
    import tqdm  # noqa: F401

    numba.njit(lambda x: x)(1)  # imports the rest of numba
    gc.collect()
    gc.freeze()  # or forks would copy what their garbage collectors look at


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_others()
    # Not within a function, so that Python ends as it does after any script: exit code, tracebacks, signals.
    script = _serve()
    sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(script, "<string>", "exec"), vars(sys.modules["__main__"]))
