"""Why a row gets its class: the log odds of two classes as a sum over the prior and the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk._checking import class_place
from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.features import Rows
from bntk.classifiers.interpolation import average, codings_of
from bntk.classifiers.shares import less, shared
from bntk.data.numbers import DRAWN
from bntk.data.table import Table, code_dtype
from bntk.errors import DataError
from bntk.inference.rows import log_joint_rows
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: A part of the log scores: what it is called, the state that it speaks of, and what it adds in each class.
Part = tuple[str, Any, Floats]
#: A share of a row, as a classifier sees it: the classifier, the row, and the states of its features.
View = tuple[float, BayesClassifier, Rows, Table]

#: Log odds below this are rounding.
NOTHING = 1e-12
#: What a mean of probabilities adds to the mean of log odds.
AVERAGING = "averaging, and features together"


def explain_row(classifier: BayesClassifier, X: Any, of: Any = None, against: Any = None) -> pd.DataFrame:
    """The log odds of one row, taken apart; see :meth:`BayesClassifier.explain`."""
    import pandas as pd

    if isinstance(X, pd.Series):  # frame.iloc[i]: a row of a data frame, whose index has the names of columns
        X = X.to_frame().T.infer_objects()
    with using_threads(classifier.n_jobs):
        readings = classifier._readings(X)
        n_rows = readings[0][1].table.n_rows
        if n_rows != 1:
            raise DataError(f"one row is explained at a time; X has {n_rows} rows: give X.iloc[i]")
        scores = [model._row_scores(rows) for model, rows in readings]
        total = (scores[0] if len(scores) == 1 else average(scores))[0]
        of_code, against_code = _two_classes(classifier, total, of, against)
        views = [view for model, rows in readings for view in _views(model, rows, 1 / len(readings))]
        parts, rest = _mean_parts(views)

    def odds(scores: Floats) -> float:
        return float(scores[of_code] - scores[against_code])

    lines = [(name, state, odds(scores)) for name, state, scores in parts]
    lines.append((rest, None, odds(total) - sum(line[2] for line in lines)))
    first, *others = lines
    in_use = {*getattr(classifier, "features_in_use_", ())}
    others = [line for line in others if abs(line[2]) > NOTHING or line[0] in in_use]
    others.sort(key=lambda line: -abs(line[2]))
    names, states, values = zip(first, *others, strict=True)
    classes = classifier.class_order_
    index = pd.Index(names, name=f"{classes[of_code]} against {classes[against_code]}")
    return pd.DataFrame({"state": pd.Series(states, index=index, dtype=object), "log_odds": values}, index=index)


def _views(classifier: BayesClassifier, rows: Rows, share: float) -> list[View]:
    """A row as the classifier sees it: one coding, or several where its numbers are between intervals."""
    if rows.places is None:
        return [(share, classifier, rows, rows.table)]
    codings = codings_of(rows.table, rows.places)
    tables = [codings.table.take(np.array([k])) for k in range(codings.table.n_rows)]
    shares = (share * codings.shares).tolist()
    return [(part, classifier, rows._replace(table=own), rows.table) for part, own in zip(shares, tables, strict=True)]


def _mean_parts(views: Sequence[View]) -> tuple[list[Part], str]:
    """The parts of several views of a row, each with its share, and a name for what they do not explain.

    The state of a feature is that of the interval which has its number, in the first of several models.
    """
    sums: dict[str, Floats] = {}
    states: dict[str, Any] = {}
    for share, classifier, rows, table in views:
        parts, rest = _parts(classifier, rows)
        for name, state, scores in parts:
            sums[name] = sums.get(name, 0.0) + share * scores
            known = name in table.names and table.column(name)[0] < table.variable(name).n_states
            states.setdefault(name, table.variable(name).states[table.column(name)[0]] if known else state)
    return [(name, states[name], scores) for name, scores in sums.items()], rest if len(views) == 1 else AVERAGING


def _parts(classifier: BayesClassifier, rows: Rows) -> tuple[list[Part], str]:
    """The parts of the log scores of one row, the class prior first, and a name for what they do not explain."""
    if isinstance(classifier, NetworkClassifier) and classifier._is_additive:
        parts, rest = _family_parts(classifier.network_, rows.table), "features with missing values around them"
    else:
        parts, rest = _omission_parts(classifier, rows), "features together"
    return parts + _density_parts(classifier, rows), rest


def _two_classes(classifier: BayesClassifier, total: Floats, of: Any, against: Any) -> tuple[int, int]:
    """Positions of the two classes; those that are not named are the most probable ones."""
    classes = classifier.class_order_.tolist()
    if len(classes) < 2:
        raise DataError(f"there is only one class, {classes[0]!r}, so that there are no odds to explain")
    asked_for, asked_against = (None if label is None else class_place(label, classes) for label in (of, against))
    tried = classifier._sorted_states  # of equally probable classes, predict takes the first of ``classes_``
    ranked = tried[np.argsort(-total[tried], kind="stable")].tolist()
    first = ranked[0 if asked_against != ranked[0] else 1]
    of_code = first if asked_for is None else asked_for
    against_code = next(c for c in ranked if c != of_code) if asked_against is None else asked_against
    if of_code == against_code:
        raise DataError(f"a class has no odds against itself: {of!r}")
    return of_code, against_code


def _family_parts(network: BayesianNetwork, table: Table) -> list[Part]:
    """The prior of the class, its parents, its children, and the other parents of these, as far as they are observed.

    With parents S of the class, log P(c | S) = log P(c) + [log P(c | S) - log P(c)], and the bracket is shared among S.
    The table of a child x is its own, except for what parents T add that have no arc from or to the class: of
    log P(x | c, ..., T) the child has log P(x | c, ...), and T share the rest.
    """
    target, codes = len(network.cpts) - 1, table.codes[:, 0].astype(np.int64)
    dag, cards = network.dag, np.array([cpt.child.n_states for cpt in network.cpts])
    seen = {v for v in range(target) if codes[v] < cards[v]}
    above, below = set(dag.parent_indices[target]), set(dag.child_indices[target])
    query = _Query(network, codes, cards)
    shares: dict[int, Floats] = {target: query.log_joint([()])[0]}
    shares |= shared(sorted(above & seen), query.log_joint)
    for child in sorted(below & seen):
        parents = {*dag.parent_indices[child]} - {target}
        if not parents <= seen:
            continue  # among those with missing values around them
        apart = sorted(parents - above - below)
        beside = tuple(sorted(parents - {*apart}))

        def log_table(sets: Sequence[Sequence[int]], child: int = child, beside: Sequence[int] = beside) -> Floats:
            """log P(child | class, beside, set) for each set."""
            with_child = query.log_joint([(*beside, *some, child) for some in sets])
            return less(with_child, query.log_joint([(*beside, *some) for some in sets]))

        given = shared(apart, log_table)
        whole = query.table(child)
        if not all(np.isfinite(share).all() for share in given.values()):
            given = {}
        for v, share in given.items():
            shares[v] = shares.get(v, 0.0) + share
        shares[child] = shares.get(child, 0.0) + whole - sum(given.values())
    return [
        (network.names[v], None if v == target else network.cpts[v].child.states[codes[v]], share)
        for v, share in shares.items()
    ]


class _Query:
    """Log probabilities of parts of one row, in each class."""

    def __init__(self, network: BayesianNetwork, codes: NDArray[np.int64], cards: NDArray[np.int64]) -> None:
        self.network, self.codes, self.cards = network, codes, cards

    def log_joint(self, sets: Sequence[Sequence[int]]) -> Floats:
        """log P(class, observed values of a set of variables) for each set, shape (sets, classes)."""
        rows = np.repeat(self.cards[:, None], len(sets), axis=1)
        for place, some in enumerate(sets):
            rows[list(some), place] = self.codes[list(some)]
        return log_joint_rows(self.network, rows.astype(code_dtype(self.network.variables)), len(self.cards) - 1)

    def table(self, v: int) -> Floats:
        """log P(value of v | its parents, class) in each class, all of its parents observed."""
        family, target = (*self.network.dag.parent_indices[v], v), len(self.cards) - 1
        place = tuple(slice(None) if u == target else int(self.codes[u]) for u in family)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.network.cpts[v].values[place]))


def _omission_parts(classifier: BayesClassifier, rows: Rows) -> list[Part]:
    """What is lost when a feature is left out, all others kept; and the prior, with nothing observed.

    Numbers that have a density are parts of their own, see :func:`_density_parts`; those that are cut anew for each
    member of an ensemble are left out like states.
    """
    table, variables = rows.table, rows.table.variables
    ways = classifier.features_.continuous
    drawn = [i for i, way in enumerate(ways.values()) if way == DRAWN and not np.isnan(rows.numbers[i, 0])]
    seen = [v for v, variable in enumerate(variables) if table.codes[v, 0] != variable.n_states]
    n = len(seen) + len(drawn)
    codes = np.repeat(table.codes, n + 2, axis=1).astype(code_dtype(variables))
    numbers = np.full((len(ways), n + 2), np.nan)
    numbers[drawn] = rows.numbers[drawn]
    for column, v in enumerate(seen):
        codes[v, column] = variables[v].n_states
    for column, i in enumerate(drawn, start=len(seen)):
        numbers[i, column] = np.nan
    codes[:, -1], numbers[:, -1] = [variable.n_states for variable in variables], np.nan
    scores = classifier._row_scores(Rows(Table._make(codes, variables), numbers))
    names = [(variables[v].name, variables[v].states[table.codes[v, 0]]) for v in seen]
    names += [([*ways][i], float(rows.numbers[i, 0])) for i in drawn]
    parts: list[Part] = [(classifier._class_variable.name, None, scores[-1])]
    return parts + [(name, state, scores[-2] - scores[column]) for column, (name, state) in enumerate(names)]


def _density_parts(classifier: BayesClassifier, rows: Rows) -> list[Part]:
    """Each number by itself: a missing one adds nothing, so that all others are taken as missing."""
    parts: list[Part] = []
    for i, (name, way) in enumerate(classifier.features_.continuous.items()):
        if way == DRAWN or np.isnan(rows.numbers[i, 0]):
            continue
        alone = np.full_like(rows.numbers, np.nan)
        alone[i] = rows.numbers[i]
        log_density = classifier._log_densities(Rows(rows.table, alone))
        parts.append((name, float(rows.numbers[i, 0]), np.asarray(log_density)[0]))
    return parts
