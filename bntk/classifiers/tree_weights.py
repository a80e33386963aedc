"""Weights of features from decision trees: the earlier trees on bootstrap samples test one, the more it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk._threads import run_parallel, stop_if_over
from bntk.learning.completion import merged_rows
from bntk.learning.counts import TableCounter

Floats = NDArray[np.float64]

#: Rows that a bootstrap sample has at most; their number must be a machine integer.
MOST_DRAWN = 1 << 62


def weights_from_depths(depths: ArrayLike) -> Floats:
    """The weights of Hall (2007): the mean over trees of 1 / sqrt(d).

    Parameters
    ----------
    depths : array_like of shape (n_trees, n_features)
        The least depth at which each tree tests each feature, counted from 1; 0 where it does not.

    Examples
    --------
    >>> weights_from_depths([[1, 4, 0], [1, 0, 0]])
    array([1.  , 0.25, 0.  ])
    """
    depths = np.asarray(depths, dtype=np.float64)
    return np.divide(1.0, np.sqrt(depths), out=np.zeros_like(depths), where=depths > 0).mean(axis=0)


def depths_in_trees(counter: TableCounter, n_trees: int, seed: int, ranks: NDArray[np.intp]) -> NDArray[np.int64]:
    """The least depth of each feature in trees on bootstrap samples; they do not depend on the order of the rows.

    ``ranks`` are the numbers by which the classes are sorted.
    """
    from sklearn.tree import DecisionTreeClassifier

    codes, repeats = merged_rows(counter.table.codes, counter.weights)
    codes = np.concatenate([codes[:-1], ranks[codes[-1:]].astype(codes.dtype)])
    order = np.lexsort(codes)
    codes, repeats = codes[:, order], repeats[order]
    cards = counter.table.cards[:-1].tolist()
    states = [codes[f] == state for f, card in enumerate(cards) for state in range(card)]
    indicators = np.array(states, dtype=np.float32).reshape(sum(cards), len(repeats)).T
    owners = np.repeat(np.arange(len(cards)), cards)
    if not sum(cards):
        return np.zeros((n_trees, 0), dtype=np.int64)
    rng = np.random.default_rng(seed)
    size, shares = min(max(1, round(repeats.sum())), MOST_DRAWN), repeats / repeats.sum()
    samples = [(rng.multinomial(size, shares), int(rng.integers(2**31))) for _ in range(n_trees)]

    def depths_of(sample: tuple[NDArray[np.int64], int]) -> NDArray[np.int64]:
        drawn, seed_of_tree = sample
        there = np.flatnonzero(drawn)
        kept, classes, weights = indicators[there], codes[-1, there], drawn[there].astype(np.float64)
        useful = np.unique(owners[kept.min(axis=0) < kept.max(axis=0)])
        limit = 4  # a tree is grown until it has tested every feature, or is whole: below, depths do not matter
        while True:
            stop_if_over()
            grower = DecisionTreeClassifier(criterion="entropy", max_depth=limit, random_state=seed_of_tree)
            tree = grower.fit(kept, classes, sample_weight=weights).tree_
            depths = least_depths(tree, owners, len(cards))
            if depths[useful].all() or tree.max_depth < limit:
                return depths
            limit *= 2

    return np.array(run_parallel(depths_of, samples))


def least_depths(tree: Any, owners: NDArray[np.int64], n_features: int) -> NDArray[np.int64]:
    """The least depth, from 1, at which a tree tests an indicator of each feature; 0 where it does not."""
    depths = np.zeros(n_features, dtype=np.int64)
    level, depth = [0], 1
    while level:
        inner = [node for node in level if tree.children_left[node] >= 0]
        tested = owners[tree.feature[inner]]
        depths[tested[depths[tested] == 0]] = depth
        level, depth = [*tree.children_left[inner], *tree.children_right[inner]], depth + 1
    return depths
