"""Cases in several processes, within a budget of time or comparisons; a process that dies or hangs is a failure."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import time
from collections import defaultdict
from dataclasses import dataclass, field
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from benchmarks.torture.case import Failure, Kind, load_kinds, run_case

#: Seconds after which a case counts as hanging. Compiling kernels for the first time takes a while.
PATIENCE = 240.0


@dataclass
class Count:
    """What the cases of a kind came to."""

    cases: int = 0
    comparisons: int = 0
    failed: int = 0
    seconds: float = 0.0

    def add(self, other: Count) -> None:
        """Add the cases of another process."""
        self.cases += other.cases
        self.comparisons += other.comparisons
        self.failed += other.failed
        self.seconds += other.seconds


@dataclass
class Result:
    """Counts by kind, failures, and the time that it took."""

    seed: int
    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def comparisons(self) -> int:
        return sum(count.comparisons for count in self.counts.values())

    @property
    def cases(self) -> int:
        return sum(count.cases for count in self.counts.values())

    @property
    def failed(self) -> int:
        """The number of cases with a failure."""
        return sum(count.failed for count in self.counts.values())


def run_fixed(cases: dict[str, range], seed: int) -> Result:
    """Some cases of each kind in this process: the same whatever the machine and its speed."""
    kinds, result, start = load_kinds(), Result(seed), time.perf_counter()
    for name, numbers in cases.items():
        for number in numbers:
            _record(result, kinds[name], number)
    result.seconds = time.perf_counter() - start
    return result


def _record(result: Result, kind: Kind, number: int) -> None:
    start = time.perf_counter()
    case = run_case(kind, number, result.seed)
    done = Count(1, case.comparisons, int(bool(case.failures)), time.perf_counter() - start)
    result.counts[kind.name].add(done)
    result.failures += case.failures


# ---- several processes -----------------------------------------------------------------------------------------------


def run(
    seed: int,
    *,
    seconds: float | None = None,
    comparisons: int | None = None,
    only: list[str] | None = None,
    jobs: int = 2,
    tell: Any = lambda failure: None,
) -> Result:
    """Cases of all kinds, or of some, until the time is over or there are enough comparisons.

    Process j of ``jobs`` takes the numbers j, j + jobs, ... of every kind. ``tell`` is given each failure at once.
    """
    names = only or list(load_kinds())
    result, start = Result(seed), time.perf_counter()
    workers = [_Worker(j, jobs, seed, names) for j in range(jobs)]
    try:
        while True:
            for worker in workers:
                for failure in worker.collect(result):
                    tell(failure)
            passed = time.perf_counter() - start
            if (seconds is not None and passed >= seconds) or (comparisons and result.comparisons >= comparisons):
                break
            time.sleep(0.05)
    except KeyboardInterrupt:
        print("\nstopped; the counts so far:")
    for worker in workers:
        worker.stop.set()
    for worker in workers:
        for failure in worker.finish(result):
            tell(failure)
    result.seconds = time.perf_counter() - start
    return result


class _Worker:
    """A process that runs cases, and what the parent knows about it."""

    def __init__(self, index: int, jobs: int, seed: int, names: list[str]) -> None:
        self.arguments = index, jobs, seed, names
        self.context: SpawnContext = multiprocessing.get_context("spawn")
        self.stop = self.context.Event()
        self.skip: set[tuple[str, int]] = set()
        self._start()

    def _start(self) -> None:
        self.results: Any = self.context.Queue()
        # The case that is running: the position of its kind, its number, and when it began.
        self.current = self.context.Array("d", [-1.0, -1.0, time.time()], lock=False)
        self.process: SpawnProcess = self.context.Process(
            target=_work, args=(*self.arguments, self.skip, self.stop, self.results, self.current), daemon=False
        )
        self.process.start()

    def collect(self, result: Result) -> list[Failure]:
        """Take over what the process has found; start another one if it is dead or hangs."""
        failures = self._drain(result)
        position, number, began = self.current
        hangs = position >= 0 and time.time() - began > PATIENCE
        if hangs and self.process.is_alive():
            self.process.kill()
        if hangs or not self.process.is_alive():
            self.process.join()
            failures += self._drain(result)
            name = self.arguments[3][int(position)] if position >= 0 else "start"
            code = self.process.exitcode
            how = f"no answer within {PATIENCE:.0f} s" if hangs else f"the process died with exit code {code}"
            lost = Failure(f"{name}:{int(number)}", "the process", how)
            result.counts[name].add(Count(1, 1, 1))
            result.failures.append(lost)
            failures.append(lost)
            self.skip.add((name, int(number)))
            if position < 0 or len(self.skip) > 20:
                raise RuntimeError(f"process {self.arguments[0]} does not run: {how}")
            self._start()
        return failures

    def _drain(self, result: Result) -> list[Failure]:
        failures: list[Failure] = []
        try:
            while True:
                name, count, found = self.results.get_nowait()
                result.counts[name].add(count)
                result.failures += found
                failures += found
        except queue.Empty:
            return failures

    def finish(self, result: Result) -> list[Failure]:
        """Wait for the case that is running, and take over the rest."""
        failures: list[Failure] = []
        end = time.time() + PATIENCE
        while self.process.is_alive() and time.time() < end:
            failures += self._drain(result)
            time.sleep(0.02)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        return failures + self._drain(result)


def _work(
    index: int, jobs: int, seed: int, names: list[str], skip: set[Any], stop: Any, results: Any, current: Any
) -> None:
    """Run cases until told to stop: always of the kind that is furthest behind its share of the time."""
    signal.signal(signal.SIGINT, lambda *_: None)  # the parent decides what an interrupt means
    os.environ.setdefault("MPLBACKEND", "agg")
    import bntk

    bntk.set_threads(1)
    kinds = load_kinds()
    spent, following = dict.fromkeys(names, 0.0), dict.fromkeys(names, index)
    for name, number in skip:
        following[name] = max(following[name], number + jobs)
    while not stop.is_set():
        name = min(names, key=lambda each: spent[each] / kinds[each].share)
        number = following[name]
        following[name] += jobs
        current[0], current[1], current[2] = names.index(name), number, time.time()
        start = time.perf_counter()
        case = run_case(kinds[name], number, seed)
        taken = time.perf_counter() - start
        spent[name] += taken
        results.put((name, Count(1, case.comparisons, int(bool(case.failures)), taken), case.failures[:20]))
