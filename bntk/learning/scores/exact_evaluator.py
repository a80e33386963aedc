"""The evaluator of predictive scores with ``missing="exact"``: the predictions are those of the network itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bntk.errors import DataError
from bntk.learning.scores.missing_sums import ExactTerms
from bntk.learning.scores.predictive_evaluator import PredictiveEvaluator, Signed, Task
from bntk.learning.scores.predictive_terms import LabelledRows, Matrix, Structure


class ExactPredictiveEvaluator(PredictiveEvaluator):
    """A predictive score with the missing cells of each row summed out, with a structure that changes by moves.

    The matrix of class log scores has one more term than that of :class:`PredictiveEvaluator`: the sums over missing
    cells, which depend on all families. They are computed for each structure, but only for rows with a missing cell in
    a family that a move changes. Rows without missing values, and data without any, cost what they do there.

    Parameters
    ----------
    score : PredictiveScore
        Must have a target.
    counter : Counter
        A :class:`TableCounter`: the rows themselves are needed.
    dag : DAG, optional
        The structure to begin with; by default without arcs.
    arc_weights : ndarray of shape (n, n), optional
        Finite numbers that arcs (row: tail, column: head) add to the score when they are there.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> rows = bntk.datasets.with_missing(bntk.datasets.asia().sample(100, seed=1), 0.1, seed=1)
    >>> evaluator = bntk.scores.LOO("lung", missing="exact").evaluator(TableCounter(rows))
    >>> lung, smoke = (rows.names.index(name) for name in ("lung", "smoke"))
    >>> before = evaluator.total()
    >>> gain = evaluator.change_gains([{smoke: frozenset([lung])}])[0]
    >>> evaluator.change({smoke: frozenset([lung])})
    >>> bool(abs(evaluator.total() - before - gain) < 1e-9)
    True
    """

    _terms: ExactTerms

    def _make_terms(self, rows: LabelledRows) -> ExactTerms:
        return ExactTerms(rows, self.names)

    def term(self, child: int, parents: Sequence[int]) -> Matrix:
        """Refused if values are missing: families that are added up are not the exact predictions then."""
        if self._terms.rows.has_missing.any():
            raise DataError(
                f"{type(self.score).__name__}(missing='exact') is no sum over families where values are missing, which "
                "this search needs: give missing='approximate', or search with HillClimbing or Tabu"
            )
        return super().term(child, parents)

    def change(self, change: Mapping[int, frozenset[int]]) -> None:
        """Give some nodes other parents, all at once."""
        super().change(change)
        self._forget()  # families without the class matter as well

    def _structure(self, change: Mapping[int, frozenset[int]] | None = None) -> Structure:
        """The structure held, or as it is after a change."""
        parents = enumerate(self._parents)
        return Structure(tuple(frozenset((change or {}).get(node, held)) for node, held in parents))

    def _held_terms(self) -> Signed:
        if not self._terms.rows.has_missing.any():
            return super()._held_terms()
        self._terms.hold(self._structure())
        return [*super()._held_terms(), (self._structure(), 1.0)]

    def _tasks(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> list[Task]:
        """The changes that matter. Each structure has sums of its own, so that there is no work to share."""
        if not self._terms.rows.has_missing.any():
            return super()._tasks(changes)
        tasks, held = [], self._structure()
        self._terms.hold(held)
        for place, change in enumerate(changes):
            after = self._structure(change)
            families = self._touched(change)
            sums = self._terms.matters(after.changed(held))
            if not families and not sums:
                continue
            signed: Signed = [(f, -1.0) for f, _ in families if f is not None]
            signed += [(f, 1.0) for _, f in families if f is not None]
            signed += [(held, -1.0), (after, 1.0)] if sums else []
            tasks.append(Task(signed, [None], [place]))
        return tasks
