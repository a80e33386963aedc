"""The plan of an evaluation on one data set: everything is read and checked before the first cell is computed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bntk import _checking
from bntk._warnings import warn
from bntk.classifiers.base import _rows_of
from bntk.errors import ArgumentError, EvaluationError
from bntk.evaluation.cache import FORMAT
from bntk.evaluation.digest import data_digest, digest, version_of
from bntk.evaluation.result import COSTS, PLACE, CrossValidation
from bntk.evaluation.running import Outcome, Task, Warned, kept, run_tasks
from bntk.evaluation.scoring import Scoring, resolve
from bntk.evaluation.splits import Split, make_splits
from bntk.evaluation.structure import Learner, check_has_structure, keeping_structure
from bntk.evaluation.targets import Target


def named_estimators(estimators: Any) -> dict[str, Any]:
    """Estimators by name; one by itself has the name of its class."""
    if not isinstance(estimators, Mapping):
        estimators = {type(estimators).__name__: estimators}
    if not estimators:
        raise ValueError("there are no estimators to evaluate")
    for name, estimator in estimators.items():
        if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
            hint = "; give an object, as in TAN()" if isinstance(estimator, type) else ""
            raise ArgumentError(f"{name!r} is no estimator with fit and predict: {estimator!r}{hint}")
    return {str(name): estimator for name, estimator in estimators.items()}


def check_errors(errors: str) -> None:
    """Refuse an unknown way to treat failures."""
    _checking.one_of("errors", errors, ("raise", "record"))


@dataclass(frozen=True)
class Plan:
    """What is to be done on one data set: all cells, checked before the first one is computed."""

    estimators: dict[str, Any]
    X: Any
    target: Target
    splits: list[Split]
    scorings: list[Scoring]
    relearn: str

    @classmethod
    def make(
        cls, estimators: dict[str, Any], X: Any, y: Any, cv: Any, repeats: int, scoring: Any, relearn: str,
        unlabelled: str, groups: Any, random_state: int,
    ) -> Plan:  # fmt: skip
        """Read and check everything."""
        _checking.one_of("relearn", relearn, ("all", "parameters"))
        if relearn == "parameters":
            for name, estimator in estimators.items():
                check_has_structure(name, estimator)
        target = Target.read(y)
        target.check(X, estimators, unlabelled)
        splits = make_splits(X, target, cv, repeats, random_state, unlabelled, groups)
        return cls(estimators, X, target, splits, resolve(scoring, target, estimators), relearn)

    @property
    def n_cells(self) -> int:
        """The number of estimators times that of splits."""
        return len(self.estimators) * len(self.splits)

    def run(self, folder: Path | None, n_jobs: int | None, errors: str, bar: Any, dataset: str = "") -> CrossValidation:
        """Compute all cells that the cache does not have."""
        tasks = self._tasks(folder)
        found: list[Outcome | None] = [kept(task) for task in tasks]
        bar.update(sum(outcome is not None for outcome in found))
        todo = [i for i, outcome in enumerate(found) if outcome is None]
        ready = self._with_structures([tasks[i] for i in todo])
        warned: list[tuple[str, Warned]] = []
        with closing(run_tasks(ready, n_jobs)) as outcomes:
            for i, outcome in zip(todo, outcomes, strict=True):
                if outcome.error and errors == "raise":
                    raise _failure(tasks[i], outcome, dataset)
                warned += [(tasks[i].name, each) for each in outcome.warned]
                found[i] = outcome
                bar.set_description(f"{dataset} {tasks[i].name}".strip(), refresh=False)
                bar.update()
        _warn_again(warned, dataset)
        return self._result(tasks, [outcome for outcome in found if outcome is not None])

    def _tasks(self, folder: Path | None) -> list[Task]:
        """One per split and estimator, with the files where they are kept."""
        learners = {name: Learner(estimator) for name, estimator in self.estimators.items()}
        paths: dict[tuple[str, int], Path] = {}
        if folder is not None:
            about = [FORMAT, version_of("bntk"), self.relearn, self.scorings, list(self.target.classes)]
            data = digest(about, data_digest(self.X), data_digest_of_labels(self.target))
            parts = [digest(split.train, split.test) for split in self.splits]
            for name, estimator in self.estimators.items():
                own = digest(estimator)
                paths |= {(name, i): folder / f"{digest(data, own, part)}.json" for i, part in enumerate(parts)}
        return [
            Task(name, learner, self.X, self.target, split, self.scorings, paths.get((name, i)))
            for i, split in enumerate(self.splits)
            for name, learner in learners.items()
        ]

    def _with_structures(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks with learners that keep their structures, found in all rows, where that is wanted."""
        if self.relearn == "all":
            return list(tasks)
        rows = np.flatnonzero(self.target.known)
        X, y = _rows_of(self.X, rows), self.target.rows(rows)
        learners = {name: keeping_structure(self.estimators[name], X, y) for name in {task.name for task in tasks}}
        return [replace(task, learner=learners[task.name]) for task in tasks]

    def _result(self, tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> CrossValidation:
        import pandas as pd

        columns = [column for each in self.scorings for column in each.columns(self.target)]
        rows, failures = [], []
        for task, outcome in zip(tasks, outcomes, strict=True):
            place = [task.name, task.split.repeat, task.split.fold]
            if outcome.record is None:
                failures.append([*place, outcome.error])
                values = [math.nan] * (len(columns) + 2)
            else:
                values = [outcome.record["values"][column] for column in columns]
                values += [outcome.record["fit_seconds"], outcome.record["predict_seconds"]]
            rows.append([*place, *values, len(task.split.train), len(task.split.test)])
        frame = pd.DataFrame(rows, columns=[*PLACE, *columns, *COSTS])
        order = {name: k for k, name in enumerate(self.estimators)}
        frame = frame.sort_values("estimator", key=lambda names: names.map(order), kind="stable", ignore_index=True)
        better = {column: each.greater_is_better for each in self.scorings for column in each.columns(self.target)}
        failed = pd.DataFrame(failures, columns=[*PLACE, "error"])
        return CrossValidation(frame, better, failed, sum(outcome.computed for outcome in outcomes))


def _warn_again(warned: Sequence[tuple[str, Warned]], dataset: str) -> None:
    """The warnings of all cells, one for each cause, with the estimators that have met it."""
    first: dict[tuple[type[Warning], Hashable], tuple[Warned, dict[str, None]]] = {}
    for name, each in warned:
        for cause in each.causes:
            first.setdefault((each.category, cause), (each, {}))[1][name] = None
    names: dict[Warned, dict[str, None]] = {}
    for each, of in first.values():
        names.setdefault(each, {}).update(of)
    for each, of in names.items():
        where = f" on {dataset!r}" if dataset else ""
        warn(f"{', '.join(of)}{where}: {each.text}", each.category, [(dataset, tuple(of), each.causes)])


def data_digest_of_labels(target: Target) -> str:
    """The digest of the labels of all rows."""
    return data_digest(target.y) if target.several else digest(target.codes, list(target.classes), target.has_order)


def _failure(task: Task, outcome: Outcome, dataset: str) -> EvaluationError:
    where = f" on {dataset!r}" if dataset else ""
    error = EvaluationError(
        f"{task.name}{where} failed in repeat {task.split.repeat}, fold {task.split.fold}: {outcome.error}"
    )
    error.add_note(outcome.trace)
    error.add_note("errors='record' goes on without it")
    return error
