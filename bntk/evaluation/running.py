"""The cells of an evaluation, one per estimator and split: computed, read from a cache, or recorded as failed."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bntk._interrupts import raising_interrupts
from bntk._threads import n_threads, using_threads
from bntk._warnings import causes_of
from bntk.classifiers.base import _rows_of
from bntk.errors import UnseenStateWarning
from bntk.evaluation.cache import read_cell, write_cell
from bntk.evaluation.predictions import read_predictions
from bntk.evaluation.scoring import Scoring
from bntk.evaluation.splits import Split
from bntk.evaluation.structure import Learner
from bntk.evaluation.targets import Target


@dataclass(frozen=True)
class Task:
    """One cell: an estimator is fitted to the training rows of a split, and measured on its test rows."""

    name: str
    learner: Learner
    X: Any
    target: Target
    split: Split
    scorings: Sequence[Scoring]
    path: Path | None = None


class Warned(NamedTuple):
    """A warning that was caught."""

    category: type[Warning]
    text: str
    causes: frozenset[Hashable]


@dataclass(frozen=True)
class Outcome:
    """What came out of a cell: a record, or an error, and the warnings on the way, with their causes."""

    record: dict[str, Any] | None
    error: str = ""
    trace: str = ""
    warned: tuple[Warned, ...] = ()
    computed: bool = True


def run_tasks(tasks: Sequence[Task], n_jobs: int | None) -> Generator[Outcome, None, None]:
    """The outcomes of the tasks, in their order whatever the number of processes."""
    from joblib import Parallel, delayed, effective_n_jobs

    workers = effective_n_jobs(n_jobs)
    if workers == 1 or len(tasks) < 2:
        yield from (run(task) for task in tasks)
        return
    # Each process has its share of the threads, so that they do not compete for the cores.
    threads = max(1, n_threads() // workers)
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(run)(task, threads) for task in tasks)
    try:
        for outcome in outcomes:  # noqa: UP028 - "yield from" would close it outside of what follows
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*tasks which were still being processed")
            outcomes.close()


def kept(task: Task) -> Outcome | None:
    """The outcome of a task from its cache; None where it is not there."""
    record = read_cell(task.path) if task.path is not None else None
    return None if record is None else Outcome(record, computed=False)


def run(task: Task, threads: int | None = None) -> Outcome:
    """Compute a cell, and keep it where there is a cache. A failure is an outcome, too."""
    with warnings.catch_warnings(record=True) as caught, using_threads(threads), raising_interrupts():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", UnseenStateWarning)  # a rare state may be in one fold only
        try:
            record = _record(task)
        except Exception as error:
            return Outcome(None, f"{type(error).__name__}: {error}", traceback.format_exc())
    if task.path is not None:
        write_cell(task.path, record)
    warned = (Warned(each.category, str(each.message), causes_of(each.message)) for each in caught)
    return Outcome(record, warned=tuple(dict.fromkeys(warned)))


def _record(task: Task) -> dict[str, Any]:
    split, target = task.split, task.target
    learner = task.learner.fresh()
    X, y = _rows_of(task.X, split.train), target.rows(split.train)
    began = time.perf_counter()
    learner.fit(X, y)
    fitted = time.perf_counter()
    X, y = _rows_of(task.X, split.test), target.rows(split.test)
    asked = time.perf_counter()
    said = learner.predict(X)
    answered = time.perf_counter()
    needs = {each.measure.needs for each in task.scorings if each.measure is not None}
    found = read_predictions(learner, said, X, target, split.test, needs)
    values: dict[str, float] = {}
    for each in task.scorings:
        values |= each.values(found, learner, X, y, target)
    return {
        "values": values,
        "fit_seconds": fitted - began,
        "predict_seconds": answered - asked,
        "n_train": len(split.train),
        "n_test": len(split.test),
    }
