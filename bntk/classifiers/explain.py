"""Why rows get their classes: the log odds of two classes as a sum over the prior and the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bntk._checking import class_place, whole_number
from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.features import Rows
from bntk.classifiers.interpolation import CODINGS_AT_ONCE, average, codings_of
from bntk.classifiers.shares import less, shared
from bntk.data.numbers import DRAWN
from bntk.data.table import Table, code_dtype
from bntk.errors import DataError
from bntk.inference.rows import log_joint_rows
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Explanations"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Log odds below this are rounding.
NOTHING = 1e-12
#: What a mean of probabilities adds to the mean of log odds.
AVERAGING = "averaging, and features together"
#: What is left of a sum over families, and of what is lost when a feature is left out.
AROUND_MISSING, TOGETHER = "features with missing values around them", "features together"


class Odds(NamedTuple):
    """The two classes that each row is explained for: states of the class variable."""

    of: NDArray[np.intp]
    against: NDArray[np.intp]

    def __call__(self, scores: Floats) -> Floats:
        """The difference of the log scores of the two classes, (n_rows, n_classes) or (1, n_classes)."""
        rows = np.arange(len(scores)) if len(scores) == len(self.of) else 0
        return np.asarray(scores[rows, self.of] - scores[rows, self.against])

    def take(self, rows: NDArray[np.intp] | slice) -> Odds:
        """Those of some rows."""
        return Odds(self.of[rows], self.against[rows])


@dataclass(frozen=True, eq=False, repr=False)
class Explanations:
    """Why rows get their classes: what the prior and each feature add to the log odds of a class against another.

    The result of :meth:`BayesClassifier.explain_rows <bntk.classifiers.BayesClassifier.explain_rows>`.

    Attributes
    ----------
    log_odds : DataFrame
        A row for each row of X, with its index. The columns are the class, for its prior, then the features in the
        order of X, and, where something is left that no feature adds by itself, a last one for that. A feature that is
        missing in a row adds 0. Features that add nothing in any row, and that the model does not use, are left out.
    states : DataFrame
        The state of each feature in each row, of the same shape; None where it is missing, and for the other columns.
    of, against : ndarray of shape (n_rows,)
        The two classes of each row.
    """

    log_odds: pd.DataFrame
    states: pd.DataFrame
    of: NDArray[Any]
    against: NDArray[Any]
    _present: Mask
    _left: tuple[str, ...]
    _in_use: frozenset[str]

    def __len__(self) -> int:
        return len(self.log_odds)

    @cached_property
    def total(self) -> pd.Series:
        """The log odds of each row, which all contributions sum to."""
        return self.log_odds.sum(axis=1).rename("log_odds")

    @cached_property
    def mean_abs(self) -> pd.Series:
        """The mean size of the contributions of each feature, the largest first: how much it matters in these rows."""
        features = self.log_odds.iloc[:, 1 : -1 if self._left else None]
        return features.abs().mean().sort_values(ascending=False, kind="stable")

    def row(self, i: int) -> pd.DataFrame:
        """The explanation of the row at position ``i``, as :meth:`BayesClassifier.explain` gives it."""
        import pandas as pd

        i = whole_number("i", i, -len(self), len(self) - 1)
        values, names = self.log_odds.to_numpy()[i], [*self.log_odds.columns]
        states, present = self.states.to_numpy()[i], self._present[i]
        if self._left:
            names[-1] = self._left[i]
        others = [
            c for c in range(1, len(names)) if present[c] and (abs(values[c]) > NOTHING or names[c] in self._in_use)
        ]
        others.sort(key=lambda c: -abs(values[c]))
        chosen = [0, *others]
        index = pd.Index([names[c] for c in chosen], name=f"{self.of[i]} against {self.against[i]}")
        of_states = pd.Series([states[c] for c in chosen], index=index, dtype=object)
        return pd.DataFrame({"state": of_states, "log_odds": values[chosen]}, index=index)

    def to_frame(self) -> pd.DataFrame:
        """All contributions below each other, with the columns row, of, against, feature, state and log_odds."""
        import pandas as pd

        n, names = len(self), self.log_odds.columns
        rows, columns = np.nonzero(self._present)
        return pd.DataFrame({
            "row": self.log_odds.index.to_numpy()[rows], "of": self.of[rows], "against": self.against[rows],
            "feature": names.to_numpy()[columns], "state": self.states.to_numpy().reshape(n, -1)[rows, columns],
            "log_odds": self.log_odds.to_numpy()[rows, columns],
        })  # fmt: skip

    def plot(
        self, most: int = 15, *, ax: Axes | None = None, title: str | None = None,
        figsize: tuple[float, float] | None = None, font_size: float | None = None,
    ) -> Axes:  # fmt: skip
        """Draw the contributions, a line for each feature and a point for each row.

        See :func:`bntk.viz.plot_explanations`.
        """
        from bntk.viz.explanations import plot_explanations

        return plot_explanations(self, most, ax, title, figsize, font_size)

    def __repr__(self) -> str:
        pairs = {*zip(self.of.tolist(), self.against.tolist(), strict=True)}
        question = "{} against {}".format(*pairs.pop()) if len(pairs) == 1 else "each class against the next"
        most = "\n".join(f"{name}  {value:.3f}" for name, value in self.mean_abs.head(10).items())
        return f"Explanations of {len(self):,} rows, {question}; mean size of contributions:\n{most}"


def explain_row(classifier: BayesClassifier, X: Any, of: Any = None, against: Any = None) -> pd.DataFrame:
    """The log odds of one row, taken apart; see :meth:`BayesClassifier.explain`."""
    import pandas as pd

    if isinstance(X, pd.Series):  # frame.iloc[i]: a row of a data frame, whose index has the names of columns
        X = X.to_frame().T.infer_objects()
    with using_threads(classifier.n_jobs):
        readings = classifier._readings(X)
        n_rows = readings[0][1].table.n_rows
        if n_rows != 1:
            raise DataError(
                f"one row is explained at a time; X has {n_rows} rows: give X.iloc[i], or take explain_rows(X)"
            )
        return _explained(classifier, readings, None, of, against).row(0)


def explain_rows(classifier: BayesClassifier, X: Any, of: Any = None, against: Any = None) -> Explanations:
    """The log odds of rows, taken apart; see :meth:`BayesClassifier.explain_rows`."""
    import pandas as pd

    index = X.index if isinstance(X, pd.DataFrame) else None
    with using_threads(classifier.n_jobs):
        return _explained(classifier, classifier._readings(X), index, of, against)


def _explained(
    classifier: BayesClassifier, readings: list[tuple[BayesClassifier, Rows]], index: Any, of: Any, against: Any
) -> Explanations:
    import pandas as pd

    first, n = readings[0][1], readings[0][1].table.n_rows
    if issparse(first.numbers):
        raise DataError("explanations are of rows with all cells: give some rows of X, X[:10].toarray()")
    scores = [model._row_scores(rows) for model, rows in readings]
    total = scores[0] if len(scores) == 1 else average(scores)
    odds = _two_classes(classifier, total, of, against)
    names = [classifier._class_variable.name, *classifier.features_.names]
    at = {name: place for place, name in enumerate(names)}
    values, present = np.zeros((len(names), n)), np.zeros((len(names), n), dtype=bool)
    averaged = np.full(n, len(readings) > 1)
    for model, rows in readings:
        for block in _blocks(rows):
            part, several = _parts_of_rows(model, _some(rows, block), odds.take(block))
            averaged[block] |= several
            for name, contribution in part.items():
                values[at[name], block] += contribution.values / len(readings)
                present[at[name], block] |= contribution.present
    left = odds(total) - values.sum(axis=0)
    in_use = frozenset(getattr(classifier, "features_in_use_", ()))
    kept = [
        place for place, name in enumerate(names)
        if place == 0 or (present[place] & ((np.abs(values[place]) > NOTHING) | (name in in_use))).any()
    ]  # fmt: skip
    states = _states(classifier, first, names)[kept]
    columns = [names[place] for place in kept]
    values, present, of_rows = values[kept], present[kept], ()
    if not (np.abs(left) <= NOTHING).all():
        of_rows = tuple(np.where(averaged, AVERAGING, _left_by(classifier)).tolist())
        columns.append(AVERAGING if averaged.any() else _left_by(classifier))
        values, present = np.vstack([values, left]), np.vstack([present, np.ones((1, n), dtype=bool)])
        states = np.vstack([states, np.full((1, n), None)])
    classes = classifier.class_order_
    return Explanations(
        pd.DataFrame(values.T, index=index, columns=columns), pd.DataFrame(states.T, index=index, columns=columns),
        classes[odds.of], classes[odds.against], np.ascontiguousarray(present.T), of_rows, in_use,
    )  # fmt: skip


def _two_classes(classifier: BayesClassifier, total: Floats, of: Any, against: Any) -> Odds:
    """Positions of the two classes of each row; those that are not named are the most probable ones."""
    classes = classifier.class_order_.tolist()
    if len(classes) < 2:
        raise DataError(f"there is only one class, {classes[0]!r}, so that there are no odds to explain")
    asked_for, asked_against = (None if label is None else class_place(label, classes) for label in (of, against))
    if asked_for is not None and asked_for == asked_against:
        raise DataError(f"a class has no odds against itself: {of!r}")
    tried = classifier._sorted_states  # of equally probable classes, predict takes the first of ``classes_``
    ranked = tried[np.argsort(-total[:, tried], axis=1, kind="stable")]

    def best_but(code: Any) -> NDArray[np.intp]:
        return np.where(ranked[:, 0] != code, ranked[:, 0], ranked[:, 1])

    n = len(total)
    first = best_but(-1 if asked_against is None else asked_against)
    of_codes = first if asked_for is None else np.full(n, asked_for)
    return Odds(of_codes, best_but(of_codes) if asked_against is None else np.full(n, asked_against))


def _states(classifier: BayesClassifier, rows: Rows, names: Sequence[str]) -> NDArray[np.object_]:
    """The state of each column in each row: the interval that has the number, in the first of several models."""
    found = np.full((len(names), rows.table.n_rows), None, dtype=object)
    at = {name: place for place, name in enumerate(names)}
    for variable, codes in zip(rows.table.variables, rows.table.codes, strict=True):
        states = np.empty(variable.n_states + 1, dtype=object)
        states[:-1], states[-1] = [*variable.states], None
        found[at[variable.name]] = states[codes]
    for name, numbers in zip(classifier.features_.continuous, rows.numbers, strict=True):
        found[at[name]] = [None if number != number else number for number in numbers.tolist()]
    return found


def _left_by(classifier: BayesClassifier) -> str:
    return AROUND_MISSING if _is_sum(classifier) else TOGETHER


def _is_sum(classifier: BayesClassifier) -> bool:
    """Whether the log scores are a sum over the families of a network."""
    return isinstance(classifier, NetworkClassifier) and classifier._is_additive


# ---- rows and their codings ------------------------------------------------------------------------------------------


class Contribution(NamedTuple):
    """What a feature adds to the log odds of rows, 0 where it adds nothing, and where it is present."""

    values: Floats
    present: Mask


def _blocks(rows: Rows) -> Iterator[slice]:
    n_codings = 1 if rows.places is None else len(rows.places.among) + 1
    size = max(1, CODINGS_AT_ONCE // n_codings)
    return (slice(start, start + size) for start in range(0, rows.table.n_rows, size))


def _some(rows: Rows, block: slice) -> Rows:
    places = None if rows.places is None else rows.places._replace(among=rows.places.among[:, block])
    table = Table._make(rows.table.codes[:, block], rows.table.variables)
    return Rows(table, rows.numbers[:, block], places)


def _parts_of_rows(classifier: BayesClassifier, rows: Rows, odds: Odds) -> tuple[dict[str, Contribution], Any]:
    """The parts of the log odds by name, and in which rows they are the mean over several codings."""
    if rows.places is None:
        return _parts(classifier, rows, odds), False
    codings, n = codings_of(rows.table, rows.places), rows.table.n_rows
    apart = Rows(codings.table, np.ascontiguousarray(rows.numbers[:, codings.rows]))
    found = {}
    for name, part in _parts(classifier, apart, odds.take(codings.rows)).items():
        shares = np.where(part.present, codings.shares, 0.0)
        values = np.bincount(codings.rows, shares * np.where(part.present, part.values, 0.0), n)
        found[name] = Contribution(values.astype(np.float64), np.bincount(codings.rows, part.present, n) > 0)
    return found, np.bincount(codings.rows, minlength=n) > 1


def _parts(classifier: BayesClassifier, rows: Rows, odds: Odds) -> dict[str, Contribution]:
    """The parts of the log odds of rows without numbers between intervals."""
    if _is_sum(classifier):
        parts = FamilyParts(classifier.network_, rows.table, odds).found()
    else:
        parts = _omission_parts(classifier, rows, odds)
    return parts | _density_parts(classifier, rows, odds)


# ---- a sum over families ---------------------------------------------------------------------------------------------


class FamilyParts:
    """The prior of the class, its parents, its children, and the other parents of these, as far as they are observed.

    With parents S of the class, log P(c | S) = log P(c) + [log P(c | S) - log P(c)], and the bracket is shared among S.
    The table of a child x is its own, except for what parents T add that have no arc from or to the class: of
    log P(x | c, ..., T) the child has log P(x | c, ...), and T share the rest.
    """

    def __init__(self, network: BayesianNetwork, table: Table, odds: Odds) -> None:
        self.network, self.odds = network, odds
        self.target, self.codes = len(network.cpts) - 1, table.codes.astype(np.int64)
        self.cards = np.array([cpt.child.n_states for cpt in network.cpts])
        self.seen = self.codes < self.cards[:-1, None]
        self._values = np.zeros((len(self.cards), table.n_rows))
        self._present = np.zeros((len(self.cards), table.n_rows), dtype=bool)

    def found(self) -> dict[str, Contribution]:
        """All of them by name."""
        dag, n = self.network.dag, self.codes.shape[1]
        above, below = dag.parent_indices[self.target], dag.child_indices[self.target]
        self._add(self.target, np.arange(n), self._log_joint([()], np.arange(1))[0])
        for players, rows in _patterns(self.seen, above):
            for v, share in shared(players, lambda sets, rows=rows: self._log_joint(sets, rows)).items():  # type: ignore[misc]
                self._add(v, rows, share)
        around = {self.target, *above, *below}
        for child in below:
            self._add_child(child, [v for v in dag.parent_indices[child] if v not in around])
        used = np.flatnonzero(self._present.any(axis=1)).tolist()
        return {self.network.names[v]: Contribution(self._values[v], self._present[v]) for v in used}

    def _add(self, v: int, rows: NDArray[np.intp], scores: Floats) -> None:
        self._values[v, rows] += self.odds.take(rows)(scores)
        self._present[v, rows] = True

    def _add_child(self, child: int, apart: list[int]) -> None:
        """What a child adds, where all of its parents are seen; else it is among those with missing values around."""
        parents = [v for v in self.network.dag.parent_indices[child] if v != self.target]
        rows = np.flatnonzero(self.seen[[child, *parents]].all(axis=0))
        if not len(rows):
            return
        own = self._table(child, rows)
        if apart:
            beside = [v for v in parents if v not in apart]

            def log_table(sets: Sequence[Sequence[int]]) -> Floats:
                """log P(child | class, beside, set) for each set."""
                with_child = self._log_joint([(*beside, *some, child) for some in sets], rows)
                return less(with_child, self._log_joint([(*beside, *some) for some in sets], rows))

            given = shared(apart, log_table)
            finite = np.all([np.isfinite(share).all(axis=1) for share in given.values()], axis=0)
            for v, share in given.items():
                self._add(v, rows[finite], share[finite])
            own = own - np.where(finite[:, None], sum(given.values()), 0.0)
        self._add(child, rows, own)

    def _log_joint(self, sets: Sequence[Sequence[int]], rows: NDArray[np.intp]) -> Floats:
        """log P(class, observed values of a set of variables) for each set and row, shape (sets, rows, classes)."""
        dtype, size = code_dtype(self.network.variables), max(1, CODINGS_AT_ONCE // len(sets))
        found = []
        for start in range(0, len(rows), size):
            some_rows = rows[start : start + size]
            codes = np.repeat(self.cards[:, None].astype(dtype), len(sets) * len(some_rows), axis=1)
            of_sets = codes.reshape(len(self.cards), len(sets), len(some_rows))
            for place, some in enumerate(sets):
                for v in some:
                    of_sets[v, place] = self.codes[v, some_rows]
            found.append(log_joint_rows(self.network, codes, self.target).reshape(len(sets), len(some_rows), -1))
        return np.concatenate(found, axis=1)

    def _table(self, v: int, rows: NDArray[np.intp]) -> Floats:
        """log P(value of v | its parents, class) in each class, all of its parents observed."""
        family = (*self.network.dag.parent_indices[v], v)
        with np.errstate(divide="ignore"):
            table = np.log(np.moveaxis(self.network.cpts[v].values, family.index(self.target), -1))
        return np.asarray(table[tuple(self.codes[u, rows] for u in family if u != self.target)])


def _patterns(seen: Mask, among: Sequence[int]) -> Iterator[tuple[list[int], NDArray[np.intp]]]:
    """Which of some variables are seen, and the rows in which just these are."""
    if not among:
        return
    patterns, places = np.unique(seen[list(among)].T, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        if pattern.any():
            yield [v for v, there in zip(among, pattern, strict=True) if there], np.flatnonzero(places.ravel() == k)


# ---- what is lost without a feature ----------------------------------------------------------------------------------


def _omission_parts(classifier: BayesClassifier, rows: Rows, odds: Odds) -> dict[str, Contribution]:
    """What is lost when a feature is left out, all others kept; and the prior, with nothing observed.

    Numbers that have a density are parts of their own, see :func:`_density_parts`; those that are cut anew for each
    member of an ensemble are left out like states.
    """
    table, variables, n = rows.table, rows.table.variables, rows.table.n_rows
    ways = classifier.features_.continuous
    drawn = [i for i, way in enumerate(ways.values()) if way == DRAWN]
    numbers = np.full_like(rows.numbers, np.nan)
    numbers[drawn] = rows.numbers[drawn]

    def scores(codes: NDArray[Any], own: Floats) -> Floats:
        return classifier._row_scores(Rows(Table._make(codes.astype(code_dtype(variables)), variables), own))

    whole = scores(table.codes, numbers)
    nothing = np.array([variable.n_states for variable in variables], dtype=np.int64).reshape(-1, 1)
    prior = odds(scores(nothing, np.full((len(ways), 1), np.nan)))
    found = {classifier._class_variable.name: Contribution(np.broadcast_to(prior, n), np.ones(n, dtype=bool))}

    def without(seen: Mask, codes: NDArray[Any], own: Floats) -> Contribution:
        at, values = np.flatnonzero(seen), np.zeros(n)
        if len(at):
            values[at] = odds.take(at)(whole[at] - scores(codes[:, at], own[:, at]))
        return Contribution(values, seen)

    for v, variable in enumerate(variables):
        codes = table.codes.copy()
        codes[v] = variable.n_states
        found[variable.name] = without(table.codes[v] != variable.n_states, codes, numbers)
    for i in drawn:
        own = numbers.copy()
        own[i] = np.nan
        found[[*ways][i]] = without(~np.isnan(numbers[i]), table.codes, own)
    return found


def _density_parts(classifier: BayesClassifier, rows: Rows, odds: Odds) -> dict[str, Contribution]:
    """Each number by itself: a missing one adds nothing, so that all others are taken as missing."""
    found = {}
    for i, (name, way) in enumerate(classifier.features_.continuous.items()):
        if way == DRAWN:
            continue
        alone = np.full_like(rows.numbers, np.nan)
        alone[i] = rows.numbers[i]
        log_density = np.asarray(classifier._log_densities(Rows(rows.table, alone)))
        present = ~np.isnan(rows.numbers[i])
        found[name] = Contribution(np.where(present, odds(log_density), 0.0), present)
    return found
