"""Faults: writes that fail at every step, errors in the middle of any call, many threads, forks, other hash seeds."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import bntk
from benchmarks.torture import networks
from benchmarks.torture.case import Case, kind
from benchmarks.torture.evidence import evidence
from benchmarks.torture.files import folder
from bntk._threads import using_threads
from bntk.errors import BntkError
from bntk.io import FORMATS

SOURCES = os.path.dirname(bntk.__file__)
NAMES = ["asia", "sprinkler"]


def digest(answer: Any) -> str:
    """The bits of an answer."""
    return hashlib.sha256(pickle.dumps(answer)).hexdigest()[:16]


def subject(case: Case) -> bntk.BayesianNetwork:
    """A small network of ours, or a random one without tiny numbers."""
    if case.chance(0.3):
        return getattr(bntk.datasets, case.pick(NAMES))()
    return networks.network(case, entries=500, tables=("plain", "zeros", "skewed"))


# ---- files -----------------------------------------------------------------------------------------------------------


class _Failing:
    """A file that fails when it is written to, flushed or closed, as a full disk makes it."""

    def __init__(self, file: Any, step: Callable[[str], None]) -> None:
        self._file, self._step = file, step

    def write(self, data: bytes) -> int:
        """Half of it, then the fault."""
        self._file.write(data[: len(data) // 2])
        self._step("write")
        return int(self._file.write(data[len(data) // 2 :]))

    def flush(self) -> None:
        self._step("flush")
        self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Failing:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()


@contextmanager
def failing(at: int, error: Callable[[], BaseException]) -> Iterator[list[str]]:
    """The step of that number of writing a file fails; gives the steps that were reached."""
    reached: list[str] = []

    def step(what: str) -> None:
        reached.append(what)
        if len(reached) == at:
            raise error()

    def before(what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            step(what)
            return call(*args, **options)

        return run

    fdopen = os.fdopen
    with (
        mock.patch.object(os, "fdopen", lambda *a, **o: _Failing(fdopen(*a, **o), step)),
        mock.patch.object(os, "fsync", before("fsync", os.fsync)),
        mock.patch.object(os, "chmod", before("chmod", os.chmod)),
        mock.patch.object(os, "replace", before("replace", os.replace)),
        mock.patch.object(tempfile, "mkstemp", before("mkstemp", tempfile.mkstemp)),
    ):
        yield reached


@kind("saves", 0.5)
def saves(case: Case) -> None:
    """A save that fails at any step leaves the old file as it was, and nothing beside it; the error names the file."""
    made: Any = subject(case)
    suffix = case.pick(sorted({form.names[0] for form in FORMATS.classes.values()}))
    if case.chance(0.4):
        rows = bntk.datasets.asia().sample(20, seed=case.number).to_pandas()
        made, suffix = bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]), ".json"
    if case.chance(0.3):
        suffix += ".gz"
    errors = {
        "no space": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        "no memory": MemoryError,
        "an interrupt": KeyboardInterrupt,
    }
    what = case.pick(errors)
    case.note(suffix=suffix, error=what, made=made)
    with folder() as place:
        path = place / f"x{suffix}"
        existed = case.chance(0.7)
        if existed:
            path.write_bytes(b"the old file")
        for at in range(1, 30):
            raised: BaseException | None = None
            with failing(at, errors[what]) as steps:
                try:
                    made.save(path)
                except BaseException as error:  # an interrupt is one
                    raised = error
            if not steps and isinstance(raised, BntkError):  # a name that the format cannot hold
                case.check("a refused save", not existed or path.read_bytes() == b"the old file")
                return
            if len(steps) < at:
                case.check("a save without a fault", raised is None and len(list(place.iterdir())) == 1, repr(raised))
                return
            if raised is None:  # a step that may fail, as setting permissions
                case.check("a save in spite of a fault", steps[-1] == "chmod", steps)
                continue
            told = f"{what} at {steps[-1]}"
            case.check(f"{told}: the error", isinstance(raised, (type(errors[what]()), BntkError)), repr(raised))
            if what == "no space":
                case.check(f"{told}: names the file", path.name in str(raised), str(raised))
            kept = path.read_bytes() if path.exists() else None
            case.check(f"{told}: the old file", kept == (b"the old file" if existed else None), lambda kept=kept: kept)
            left = sorted(each.name for each in place.iterdir() if each != path)
            case.check(f"{told}: nothing is left", not left, left)


# ---- errors in the middle --------------------------------------------------------------------------------------------


@contextmanager
def interrupted(at: int, error: type[BaseException]) -> Iterator[list[int]]:
    """The call of that number of a function of bntk raises; gives the number of calls."""
    calls = [0]

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCES):
            calls[0] += 1
            if calls[0] == at:
                raise error("injected")

    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook


def actions(case: Case, network: bntk.BayesianNetwork) -> dict[str, Callable[[bntk.BayesianNetwork], Any]]:
    """Things to ask a network, each with an answer whose bits can be compared."""
    found = evidence(case, network)
    if network.log_probability(found.given, found.soft) == -math.inf:
        found.given, found.soft = {}, {}
    table = bntk.Table.from_codes(
        np.array([case.rng.integers(v.n_states + 1, size=8) for v in network.variables]), network.variables
    )
    names = [case.pick(network.names)]
    return {
        "query": lambda bn: bn.query(names, found.given, found.soft).values,
        "marginals": lambda bn: [d.values for d in bn.marginals(found.given, found.soft).values()],
        "mpe": lambda bn: sorted(map(repr, bn.mpe(found.given, found.soft).items())),
        "row_log_likelihood": lambda bn: bn.row_log_likelihood(table),
        "posterior": lambda bn: bn.posterior(table, names)[names[0]].to_numpy(),
        "impute": lambda bn: bn.impute(table).codes,
        "sample": lambda bn: bn.sample(50, 3, found.given, found.soft).codes,
        "fit": lambda bn: [c.values for c in bntk.fit(bn.dag, table, 1.0).cpts],
    }


@kind("memory", 1)
def memory(case: Case) -> None:
    """A call that ends in an error in its middle changes nothing: afterwards the answers have the same bits."""
    network = subject(case)
    asked = actions(case, network)
    expected = {what: digest(call(networks.again(network))) for what, call in asked.items()}
    for what, call in asked.items():
        with interrupted(-1, MemoryError) as calls:
            call(networks.again(network))
        victim, at = networks.again(network), int(case.rng.integers(1, calls[0] + 1))
        error = case.pick([MemoryError, KeyboardInterrupt])
        case.note(what=what, at=at, error=error)
        try:
            with interrupted(at, error):
                answer = call(victim)
        except (error, BntkError):
            case.comparisons += 1
        else:  # fewer calls than before, or an error where Python ignores it, as in a generator that is closed
            case.check(f"{what} in spite of an error", digest(answer) == expected[what], "other bits than without")
        for other in dict.fromkeys([what, case.pick(asked)]):
            answer = case.answer(
                f"{other} after an error in {what}", lambda other=other, victim=victim: asked[other](victim)
            )
            case.check(f"{other} after an error in {what}", digest(answer) == expected[other], "other bits than before")


# ---- threads and processes -------------------------------------------------------------------------------------------


@kind("threads", 1)
def threads(case: Case) -> None:
    """Eight threads that ask one network at the same time get the bits that one alone gets."""
    network = subject(case)
    asked = actions(case, network)
    expected = {what: digest(call(networks.again(network))) for what, call in asked.items()}
    shared, barrier = networks.again(network), threading.Barrier(8)
    plans = [case.some(asked, 4) for _ in range(8)]
    found: list[tuple[str, str]] = []

    def work(plan: list[str]) -> None:
        barrier.wait()
        for what in plan:
            try:
                found.append((what, digest(asked[what](shared))))
            except Exception as error:
                found.append((what, repr(error)))

    workers = [threading.Thread(target=work, args=(plan,)) for plan in plans]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    case.check("every thread has finished", len(found) == sum(map(len, plans)), f"{len(found)} answers")
    for what, bits in found:
        case.check(f"{what} in eight threads", bits == expected[what], bits)


@kind("forks", 0.3)
def forks(case: Case) -> None:
    """A forked process answers with the same bits, also after its parent has used threads."""
    if not hasattr(os, "fork"):
        return
    network = subject(case)
    asked = actions(case, network)
    with using_threads(2):
        expected = [digest(call(network)) for call in asked.values()]
        bntk.datasets.asia().sample(200_000, seed=1)
        found = in_fork(lambda: "\n".join(digest(call(network)) for call in asked.values()))
    if case.check("a fork answers within a minute", found is not None):
        for what, ours, old in zip(asked, (found or "").split("\n"), expected, strict=True):
            case.check(f"{what} in a fork", ours == old, ours)


def in_fork(work: Callable[[], str], seconds: float = 60.0) -> str | None:
    """What a forked process says; None if it does not answer."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = work()
        except BaseException as error:
            text = repr(error)
        os.write(writer, text.encode()[:60_000])
        os._exit(0)
    os.close(writer)
    try:
        if not select.select([reader], [], [], seconds)[0]:
            return None
        return os.read(reader, 60_000).decode()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)


SCRIPT = """
import hashlib, numpy as np, bntk
bntk.set_threads(1)
rows = bntk.datasets.asia().sample(300, seed={seed})
frame = rows.to_pandas()
parts = [bntk.learn(rows, "bic", search="hc").dag, bntk.learn(rows, "bdeu").dag]
for name in ("TAN", "AODE", "KDB", "BAN"):
    made = getattr(bntk, name)().fit(frame.drop(columns="dysp"), frame["dysp"])
    parts.append(made.predict_proba(frame.drop(columns="dysp")).tobytes())
few = frame[["smoke", "xray", "tub"]]
parts.append(bntk.MDBNC().fit(few, frame[["dysp", "lung"]]).predict_proba(few)[0].tobytes())
parts.append(str(bntk.datasets.asia().query(["lung", "tub"], {{"xray": {{"yes"}}, "dysp": "no"}}).values.tobytes()))
print(hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest())
"""


@kind("hashes", 0.3)
def hashes(case: Case) -> None:
    """Two processes with other hash seeds learn, fit and answer to the same bits."""
    script, found = SCRIPT.format(seed=case.number), []
    root = str(Path(SOURCES).parent)
    for seed in case.rng.integers(1, 2**32 - 1, size=2):
        known = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": root}
        done = subprocess.run([sys.executable, "-c", script], env=known, capture_output=True, text=True, timeout=200)
        found.append(done.stdout.strip() or done.stderr[-2000:])
    case.note(script=script)
    case.check("the same bits with another hash seed", found[0] == found[1] and len(found[0]) == 64, found)
