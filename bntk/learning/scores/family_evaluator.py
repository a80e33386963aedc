"""The evaluator of decomposable scores: families are scored once, and a move costs what its families cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bntk.cpt import check_table_size
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import Counter
from bntk.learning.moves import ADD, REVERSE, Move, Moves, as_moves
from bntk.learning.scores.base import Evaluator
from bntk.learning.scores.decomposable import DecomposableScore
from bntk.learning.scores.store import Family, FamilyStore
from bntk.learning.scores.toggle_kernels import move_gains

Mask = NDArray[np.bool_]


class FamilyEvaluator(Evaluator):
    """The evaluator of a score that is a sum over families.

    The scores of families are remembered. Besides what every evaluator offers, it returns the scores of single families
    (:meth:`local`, :meth:`locals`), the gain of each change of one arc into a child (:meth:`toggles`), the weights of
    all pairs (:meth:`pair_weights`), and upper bounds for larger families (:meth:`bound`). Variables are given by their
    positions.

    Parameters
    ----------
    score : DecomposableScore
    counter : Counter
    dag : DAG, optional
        The structure to begin with; by default without arcs.
    arc_weights : ndarray of shape (n, n), optional
        Finite numbers that arcs (row: tail, column: head) add to the score when they are present.
    store : FamilyStore, optional
        The scores of families; by default they are counted when they are needed.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import TableCounter
    >>> from bntk.learning.moves import ADD, Move
    >>> from bntk.learning.scores import LogLikelihood
    >>> data = bntk.Table.from_columns({"rain": [0, 0, 1, 1], "wet": [0, 0, 1, 1]})
    >>> evaluator = LogLikelihood().evaluator(TableCounter(data))
    >>> float(evaluator.total()), evaluator.toggles(1)
    (-5.545177444479562, array([2.77258872,        nan]))
    >>> evaluator.apply(Move(ADD, tail=0, head=1))
    >>> float(evaluator.total())
    -2.772588722239781
    """

    def __init__(
        self,
        score: DecomposableScore,
        counter: Counter,
        dag: DAG | None = None,
        *,
        arc_weights: NDArray[np.float64] | None = None,
        store: FamilyStore | None = None,
    ) -> None:
        self.score = score
        self.counter = counter
        self.names = counter.names
        self._store = FamilyStore(score, counter) if store is None else store
        self._arc_weights = checked_arc_weights(arc_weights, len(self.names))
        self._families: list[Family] = [(child, ()) for child in range(len(self.names))]
        self._parents: list[frozenset[int]] = [frozenset()] * len(self.names)
        self._gain = np.full((len(self.names),) * 2, np.nan)  # of toggling (row: child, column: parent)
        if dag is not None:
            self.reset(dag)

    def by_family(self, search: str) -> FamilyEvaluator:
        """This evaluator: its score is a sum over families."""
        return self

    def limit_tables(self, most_entries: int) -> None:
        """Give families whose tables have more entries the score -inf, so that no search chooses them."""
        self._store.limit(most_entries)

    @property
    def most_entries(self) -> float:
        """The limit of :meth:`limit_tables`."""
        return self._store.most_entries

    @property
    def has_arc_weights(self) -> bool:
        """Whether arcs add to the score by themselves."""
        return self._arc_weights is not None

    def allows(self, move: Move) -> bool:
        """Whether a move keeps all tables within the limit of :meth:`limit_tables`."""
        kind, tail, head = move
        child, added = (head, tail) if kind == ADD else (tail, head)
        family = (child, (*self._families[child][1], added))
        return kind not in (ADD, REVERSE) or self._store._size(family) <= self._store.most_entries

    # ---------------------------------------------------------------- the structure

    @property
    def parents(self) -> Sequence[frozenset[int]]:
        """The structure held: the positions of the parents of each node."""
        return self._parents

    @property
    def n_evaluated(self) -> int:
        """How many families have been evaluated so far."""
        return self._store.n_evaluated

    def reset(self, dag: DAG) -> None:
        """Hold another structure; what has been learned about families is kept."""
        if dag.nodes != self.names:
            if set(dag.nodes) != set(self.names):
                differing = sorted(set(dag.nodes) ^ set(self.names))
                raise DataError(f"the structure and the data must have the same variables; they differ in {differing}")
            dag = dag.reorder(self.names)
        changed = [child for child, row in enumerate(dag.parent_indices) if row != self._families[child][1]]
        self._families = list(enumerate(dag.parent_indices))
        self._parents = list(map(frozenset, dag.parent_indices))
        self._gain[changed] = np.nan

    def apply(self, move: Move) -> None:
        """Make a move. That it keeps the structure acyclic and legal is the caller's business."""
        kind, tail, head = move
        if (tail in self._parents[head]) == (kind == ADD):
            there = "already there" if kind == ADD else "not there"
            raise ValueError(f"cannot {Move(*move).describe(self.names)}: the arc is {there}")
        self._toggle(head, tail)
        if kind == REVERSE:
            self._toggle(tail, head)

    def _toggle(self, child: int, parent: int) -> None:
        before = self._families[child]
        self._hold(child, tuple(sorted(self._parents[child] ^ {parent})))
        self._store.remember_toggle(before, parent, self._families[child])

    def _hold(self, child: int, parents: tuple[int, ...]) -> None:
        """Give a child other parents. Its gains are looked up when they are needed."""
        self._families[child], self._parents[child] = (child, parents), frozenset(parents)
        self._gain[child] = np.nan

    # ---------------------------------------------------------------- scores

    def total(self) -> float:
        """The score of the structure held."""
        values = self.locals(self._families)
        if self._store.most_entries < math.inf:
            self._refuse_too_large(values)
        return float(values.sum())

    def _refuse_too_large(self, values: NDArray[np.float64]) -> None:
        """Refuse a structure that a search begins with, and that has tables that cannot be stored."""
        for (child, parents), value in zip(self._families, values.tolist(), strict=True):
            if value == -math.inf:
                variables = self.counter.variables
                check_table_size(variables[child], [variables[v] for v in parents], int(self._store.most_entries))

    def local(self, child: int, parents: Iterable[int]) -> float:
        """The score of one family, arc weights included."""
        return float(self.locals([(child, parents)])[0])

    def locals(self, families: Iterable[tuple[int, Iterable[int]]]) -> NDArray[np.float64]:
        """The score of each of a batch of families (child, parents); rows are read once for all that are new."""
        keys = [(child, tuple(sorted(parents))) for child, parents in families]
        values = np.array(self._store.values(keys))
        if self._arc_weights is not None:
            values += [self._arc_weights[list(parents), child].sum() for child, parents in keys]
        return values

    def gains(self, moves: Moves) -> NDArray[np.float64]:
        """The gain of each move by itself; only the families that the moves need are evaluated."""
        moves = as_moves(moves)
        gains = np.empty(len(moves))
        unknown = np.zeros((len(self.names),) * 2, dtype=bool)
        if move_gains(moves, self._gain, gains, unknown):
            self._learn(unknown)
            move_gains(moves, self._gain, gains, unknown)
        return gains

    def toggles(self, child: int, among: Mask | None = None) -> NDArray[np.float64]:
        """The gain of adding each variable to the parents of a child, or of removing it when it is one.

        Parameters
        ----------
        child : int
        among : boolean array of shape (n,), optional
            The variables to look at; by default all but the child.

        Returns
        -------
        ndarray of shape (n,)
            NaN for the child itself and for variables not looked at.
        """
        wanted = np.ones(len(self.names), dtype=bool) if among is None else np.array(among, dtype=bool)
        wanted[child] = False
        self._learn_toggles(child, wanted)
        return np.where(wanted, self._gain[child], np.nan)

    def _learn(self, wanted: Mask) -> None:
        """Evaluate some toggles (row: child, column: parent)."""
        n = len(self.names)
        children = np.flatnonzero(wanted.any(axis=1)).tolist()
        # A search begins with all pairs of variables, and these are counted faster all at once.
        if 4 * len(children) > n and self._store.pairs_fit:
            orphans = [child for child in children if not self._parents[child]]
            if 4 * wanted[orphans].sum() > n * n:
                self._store.learn_all_pairs()
        for child in children:
            self._learn_toggles(child, wanted[child])

    def _learn_toggles(self, child: int, wanted: Mask) -> None:
        """Evaluate some toggles of a child, and fill in all of its gains that are known."""
        family = self._families[child]
        values = self._store.toggled(family, wanted)
        np.subtract(values, self._store.values([family])[0], out=self._gain[child])
        if self._arc_weights is not None:
            weights = self._arc_weights[:, child].copy()
            weights[list(family[1])] *= -1
            self._gain[child] += weights

    def extended(self, child: int, parents: Iterable[int], among: Mask) -> NDArray[np.float64]:
        """The gain of each of some variables as one more parent of a child that has these; NaN for all others."""
        family = child, tuple(sorted(parents))
        wanted = np.array(among, dtype=bool)
        wanted[[child, *family[1]]] = False
        gains = np.where(wanted, self._store.toggled(family, wanted), np.nan) - self._store.values([family])[0]
        return gains if self._arc_weights is None else gains + self._arc_weights[:, child]

    def enlarged(self, child: int, parents: Iterable[int], others: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of a family with each of some variables as one more parent, arc weights included.

        It is neither remembered nor counted (see :meth:`count_evaluated`). Threads may call this side by side where
        it is :attr:`for_threads`.
        """
        chosen = tuple(sorted(parents))
        values = self._store.enlarged((child, chosen), others)
        if self._arc_weights is not None:
            values += self._arc_weights[others, child] + self._arc_weights[list(chosen), child].sum()
        return values

    @property
    def for_threads(self) -> bool:
        """Whether threads may call :meth:`enlarged` side by side."""
        return self._store.for_threads

    def count_evaluated(self, n_families: int) -> None:
        """Add to the number of families that have been evaluated."""
        self._store.n_evaluated += n_families

    # ---------------------------------------------------------------- all pairs

    def pair_weights(
        self, target: str | int | None = None, among: Iterable[str | int] | Mask | None = None, *,
        same_rows: bool = False,
    ) -> NDArray[np.float64]:  # fmt: skip
        """The gain of an arc between each two variables when nothing, or only the target, is a parent yet.

        These are the weights of Chow-Liu trees (no target) and of tree-augmented naive Bayes, from one reading of the
        rows. For an equivalent score on complete data the matrix is symmetric.

        Parameters
        ----------
        target : variable, optional
            Parent of every other variable.
        among : iterable of variables, or boolean mask, optional
            The variables to pair; by default all but the target.
        same_rows : bool
            Matters only with missing values. By default both families have the score of :meth:`local`, on the rows
            that are complete in each. When True, both are evaluated on the rows complete in the pair and the target, so
            that the log-likelihood gives N times the conditional mutual information.

        Returns
        -------
        ndarray of shape (n, n)
            W[tail, head] = local(head, base + {tail}) - local(head, base) with base = {target} or {}. NaN on the
            diagonal and for variables that were not paired.
        """
        goal = None if target is None else self.counter._find(target)
        weights = self._store.pair_gains(goal, self._chosen(goal, among), same_rows)
        return weights if self._arc_weights is None else weights + self._arc_weights

    def _chosen(self, goal: int | None, among: Iterable[str | int] | Mask | None) -> list[int]:
        if among is None:
            return [v for v in range(len(self.names)) if v != goal]
        if isinstance(among, np.ndarray) and among.dtype == bool:
            return [int(v) for v in np.flatnonzero(among)]
        return [self.counter._find(v) for v in among]

    # ---------------------------------------------------------------- bounds

    def bound(self, child: int, parents: Iterable[int]) -> float:
        """A number that ``local(child, S)`` exceeds for no S that contains the parents, themselves included.

        See ``KernelScore.bound`` for the formulas; infinite when the score knows none.
        """
        return float(self.bounds([(child, parents)])[0])

    def bounds(self, families: Iterable[tuple[int, Iterable[int]]]) -> NDArray[np.float64]:
        """:meth:`bound` for a batch of families; rows are read at most once."""
        keys = [(child, tuple(sorted(parents))) for child, parents in families]
        bounds = self._store.bounds(keys)
        if self._arc_weights is not None:
            for f, (child, parents) in enumerate(keys):
                into = self._arc_weights[:, child]
                others = np.delete(into, [child, *parents])
                bounds[f] += into[list(parents)].sum() + others[others > 0].sum()
        return bounds

    # ---------------------------------------------------------------- several families at once

    def change_gains(self, changes: Sequence[Mapping[int, frozenset[int]]]) -> NDArray[np.float64]:
        """The gain of each change by itself; rows are read once for all new families."""
        nodes = [node for change in changes for node in change]
        after = self.locals([(node, parents) for change in changes for node, parents in change.items()])
        before = self.locals([(node, self._parents[node]) for node in nodes])
        gains = np.zeros(len(changes))
        np.add.at(gains, np.repeat(np.arange(len(changes)), [len(change) for change in changes]), after - before)
        return gains

    def change(self, change: Mapping[int, frozenset[int]]) -> None:
        """Give some nodes other parents, all at once."""
        for node, parents in change.items():
            self._hold(node, tuple(sorted(parents)))


def checked_arc_weights(weights: NDArray[np.float64] | None, n: int) -> NDArray[np.float64] | None:
    """A copy of the weights of arcs, with zeros on the diagonal."""
    if weights is None:
        return None
    checked = np.array(weights, dtype=np.float64)
    if checked.shape != (n, n):
        raise ValueError(f"arc weights must have the shape ({n}, {n}), one for each arc, not {checked.shape}")
    if not np.isfinite(checked[~np.eye(n, dtype=bool)]).all():
        raise ValueError("arc weights must be finite; an arc that is not allowed belongs in the space of the search")
    np.fill_diagonal(checked, 0.0)
    return checked
