"""Why a row gets its class: the log odds of two classes as a sum over the prior and the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bntk._threads import using_threads
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.features import Rows
from bntk.data.table import Table, code_dtype
from bntk.errors import DataError, UnknownNameError
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

#: A part of the log scores: what it is called, the state that it speaks of, and what it adds in each class.
Part = tuple[str, Any, Floats]

#: Log odds below this are rounding.
NOTHING = 1e-12


def explain_row(classifier: BayesClassifier, X: Any, of: Any = None, against: Any = None) -> pd.DataFrame:
    """The log odds of one row, taken apart; see :meth:`BayesClassifier.explain`."""
    import pandas as pd

    with using_threads(classifier.n_jobs):
        rows = classifier._read(X)
        if rows.table.n_rows != 1:
            raise DataError(f"one row is explained at a time; X has {rows.table.n_rows} rows: give X.iloc[[i]]")
        total = (classifier._log_scores(rows.table) + classifier._log_densities(rows))[0]
        of_code, against_code = _two_classes(classifier, total, of, against)
        if isinstance(classifier, NetworkClassifier) and classifier._is_additive:
            parts = _family_parts(classifier.network_, rows.table)
            rest = "features with missing values around them"
        else:
            parts = _omission_parts(classifier, rows.table)
            rest = "features together"
        parts += _density_parts(classifier, rows)

    def odds(scores: Floats) -> float:
        return float(scores[of_code] - scores[against_code])

    lines = [(name, state, odds(scores)) for name, state, scores in parts]
    lines.append((rest, None, odds(total) - sum(line[2] for line in lines)))
    first, *others = lines
    others = [line for line in others if abs(line[2]) > NOTHING]
    others.sort(key=lambda line: -abs(line[2]))
    names, states, values = zip(first, *others, strict=True)
    classes = classifier.class_order_
    index = pd.Index(names, name=f"{classes[of_code]} against {classes[against_code]}")
    return pd.DataFrame({"state": pd.Series(states, index=index, dtype=object), "log_odds": values}, index=index)


def _two_classes(classifier: BayesClassifier, total: Floats, of: Any, against: Any) -> tuple[int, int]:
    """Positions of the two classes; those that are not named are the most probable ones."""
    classes = classifier.class_order_.tolist()
    if len(classes) < 2:
        raise DataError(f"there is only one class, {classes[0]!r}, so that there are no odds to explain")
    for label in (of, against):
        if label is not None and label not in classes:
            raise UnknownNameError(f"there is no class {label!r}; the classes are {classes}")
    tried = classifier._sorted_states  # of equally probable classes, predict takes the first of ``classes_``
    ranked = tried[np.argsort(-total[tried], kind="stable")].tolist()
    first = ranked[0 if against is None or classes.index(against) != ranked[0] else 1]
    of_code = first if of is None else classes.index(of)
    against_code = next(c for c in ranked if c != of_code) if against is None else classes.index(against)
    if of_code == against_code:
        raise DataError(f"a class has no odds against itself: {of!r}")
    return of_code, against_code


def _family_parts(network: BayesianNetwork, table: Table) -> list[Part]:
    """The class's own table, and those of its children where all their cells are observed."""
    target = len(network.cpts) - 1
    codes = [*table.codes[:, 0].tolist(), slice(None)]
    parts: list[Part] = []
    for v in (target, *network.dag.child_indices[target]):
        family = (*network.dag.parent_indices[v], v)
        if any(u != target and codes[u] == network.cpts[u].child.n_states for u in family):
            continue
        variable = network.cpts[v].child
        with np.errstate(divide="ignore"):
            scores = np.log(network.cpts[v].values[tuple(codes[u] for u in family)])
        parts.append((variable.name, None if v == target else variable.states[codes[v]], scores))
    if not parts or parts[0][0] != network.names[target]:  # a parent of the class is missing
        parts.insert(0, (network.names[target], None, np.zeros(network.cpts[target].child.n_states)))
    return parts


def _omission_parts(classifier: BayesClassifier, table: Table) -> list[Part]:
    """What is lost when a feature is left out, all others kept; and the prior, with nothing observed."""
    variables = table.variables
    seen = [v for v, variable in enumerate(variables) if table.codes[v, 0] != variable.n_states]
    codes = np.repeat(table.codes, len(seen) + 2, axis=1).astype(code_dtype(variables))
    for column, v in enumerate(seen):
        codes[v, column] = variables[v].n_states
    codes[:, -1] = [variable.n_states for variable in variables]
    scores = classifier._log_scores(Table._make(codes, variables))
    parts: list[Part] = [(classifier._class_variable.name, None, scores[-1])]
    for column, v in enumerate(seen):
        parts.append((variables[v].name, variables[v].states[table.codes[v, 0]], scores[-2] - scores[column]))
    return parts


def _density_parts(classifier: BayesClassifier, rows: Rows) -> list[Part]:
    """Each number by itself: a missing one adds nothing, so that all others are taken as missing."""
    parts: list[Part] = []
    for i, name in enumerate(classifier.features_.continuous):
        if np.isnan(rows.numbers[i, 0]):
            continue
        alone = np.full_like(rows.numbers, np.nan)
        alone[i] = rows.numbers[i]
        log_density = classifier._log_densities(Rows(rows.table, alone))
        parts.append((name, float(rows.numbers[i, 0]), np.asarray(log_density)[0]))
    return parts
