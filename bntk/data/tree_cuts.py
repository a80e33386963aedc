"""Cuts of numbers with the class and all other columns in view: the thresholds of a decision tree.

A tree splits a column within what other columns have split off before. So a column that says nothing about the class by
itself, but does together with others, is cut where it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.cuts import between, frequency_cuts
from bntk.data.table import Table
from bntk.data.variable import Variable

Floats = NDArray[np.float64]

#: The least weight of a leaf and of an interval, whatever the rows; with more rows, it is their square root.
LEAST_IN_LEAF = 5
#: Leaves of the tree for each column that is cut, at most.
LEAVES_PER_COLUMN = 8
#: The intervals of a column that the tree does not split, with about as many rows in each.
UNSPLIT_BINS = 3
#: Columns with more labels do not take part: each label is a column of the tree.
MOST_LABELS = 32


def tree_cuts(
    names: Sequence[str],
    numbers: Mapping[str, Floats],
    labels: Table | None,
    classes: NDArray[np.int64],
    weights: Floats | None = None,
) -> list[Floats]:
    """The cut points of some columns of numbers, by a tree over all columns.

    Each leaf of the tree and each interval has at least the square root of the number of rows. A row with a missing
    cell goes to the better side of a split. A column that the tree does not split has three intervals with about as
    many rows in each.

    Parameters
    ----------
    names : sequence of str
        The columns to cut.
    numbers : mapping of names to arrays
        All columns of numbers; NaN where one is missing.
    labels : Table, optional
        The columns of labels.
    classes : array of int
        The class of each row.
    weights : array, optional
        How often each row counts: a row of weight 2 is the row twice.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.uniform(-1, 1, (2, 400))
    >>> [cuts.round(2).tolist() for cuts in tree_cuts(["x"], {"x": x, "y": y}, None, np.array(x * y > 0, dtype=int))]
    [[0.01]]
    """
    weighted = np.ones(len(classes)) if weights is None else weights
    rows = np.flatnonzero(weighted)
    ranked = {name: np.unique(column[rows], return_inverse=True) for name, column in numbers.items()}
    columns = [np.where(np.isnan(values[places]), np.nan, places) for values, places in ranked.values()]
    if labels is not None:
        columns += _indicators([v for v in labels.variables if v.name not in numbers], labels.take(rows))
    splits = _splits(columns, ranked, names, classes[rows], weighted[rows])
    found = []
    for name in names:
        values, places = ranked[name][0], splits[name]
        own = between(values[places], values[places + 1])
        found.append(own if len(own) else frequency_cuts(numbers[name], UNSPLIT_BINS, weights))
    return found


def _indicators(variables: Sequence[Variable], labels: Table) -> list[Floats]:
    """A column of 0 and 1 for each label of some variables, NaN where it is missing."""
    found = []
    for variable in variables:
        if variable.n_states <= MOST_LABELS:
            codes = labels.column(variable.name)
            missing = codes == variable.n_states
            found += [np.where(missing, np.nan, codes == state) for state in range(variable.n_states)]
    return found


def _splits(
    columns: Sequence[Floats],
    ranked: Mapping[str, tuple[Floats, NDArray[np.intp]]],
    names: Sequence[str],
    classes: NDArray[np.int64],
    weights: Floats,
) -> dict[str, NDArray[np.intp]]:
    """For each column to cut, after which of its different values, counted from 0, the tree splits it.

    ``columns`` are those of the tree: first the ranks of all numbers. Trees have numbers of 32 bits, and refuse
    infinite ones; ranks are split as the numbers are.
    """
    from sklearn.tree import DecisionTreeClassifier  # slow to import, and seldom needed

    total = weights.sum()
    least = max(LEAST_IN_LEAF, math.isqrt(int(total)))
    splits: dict[str, list[int]] = {name: [] for name in names}
    if 2 * least <= total:
        grower = DecisionTreeClassifier(
            criterion="entropy", min_weight_fraction_leaf=least / total,
            max_leaf_nodes=1 + LEAVES_PER_COLUMN * len(names), random_state=0,
        )  # fmt: skip
        tree = grower.fit(np.array(columns, dtype=np.float32).T, classes, sample_weight=weights).tree_
        keys = list(ranked)
        for node in _by_gain(tree):
            feature, threshold = tree.feature[node], tree.threshold[node]
            if feature < len(keys) and np.isfinite(threshold) and keys[feature] in splits:
                splits[keys[feature]].append(math.floor(threshold))
    return {name: _apart(places, *ranked[name], weights, least) for name, places in splits.items()}


def _by_gain(tree: Any) -> list[int]:
    """The nodes of a tree that are split, those first that tell the classes apart for most rows."""
    inner = np.flatnonzero(tree.children_left >= 0)
    uncertain = tree.weighted_n_node_samples * tree.impurity
    gain = uncertain[inner] - uncertain[tree.children_left[inner]] - uncertain[tree.children_right[inner]]
    found: list[int] = inner[np.argsort(-gain, kind="stable")].tolist()
    return found


def _apart(
    places: Sequence[int], values: Floats, ranks: NDArray[np.intp], weights: Floats, least: float
) -> NDArray[np.intp]:
    """Those of the splits, the best first, that leave at least some weight of rows in each interval, sorted.

    Parts of the tree split the same column at nearly the same number, with hardly a row between.
    """
    held = np.bincount(ranks, weights, len(values))[~np.isnan(values)]
    upto = np.append(0.0, np.cumsum(held))  # the weight of rows with less than each value, and of all rows
    kept: list[int] = []
    for place in places:
        ends = sorted({-1, place, *kept, len(held) - 1})
        if np.diff(upto[np.array(ends) + 1]).min() >= least:
            kept = ends[1:-1]
    return np.array(kept, dtype=np.intp)
