"""The most probable labels of a chain, their probabilities, and samples.

A chain is a list of links in an order in which the parents of each come before it:
P(labels | x) = prod_j P(label_j | x, labels of the parents of j).

Codes are of shape (n_targets, n_rows). Of equally probable combinations the first one in the order of the chain wins.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import numpy as np

from bntk.classifiers.composed.inputs import Codes, Floats, Inputs
from bntk.classifiers.composed.links import ChainLink

#: With at most so many combinations of labels, all are looked at together, else one by one, the best first.
FEW_COMBINATIONS = 256

Chain = Sequence[ChainLink]


def greedy(chain: Chain, inputs: Inputs) -> Codes:
    """One label after the other, each the best given those before it."""
    codes = np.empty((len(chain), inputs.n_rows), dtype=np.int64)
    for link in chain:
        codes[link.target] = link.best(inputs, codes[list(link.parents)])
    return codes


def along_path(chain: Chain, inputs: Inputs) -> list[Floats]:
    """The probabilities of each label given the greedy labels of its parents, by class variable."""
    codes, found = greedy(chain, inputs), {}
    for link in chain:
        found[link.target] = np.exp(link.log_proba(inputs, codes[list(link.parents)]))
    return [found[j] for j in range(len(chain))]


def beam(chain: Chain, inputs: Inputs, width: int) -> Codes:
    """As greedy, but with the ``width`` most probable combinations so far kept at each link."""
    n, m = inputs.n_rows, len(chain)
    codes = np.zeros((m, n, 1), dtype=np.int64)
    logs = np.zeros((n, 1))
    for link in chain:
        slots = logs.shape[1]
        rows = np.repeat(np.arange(n), slots)
        step = link.log_proba(inputs, codes[list(link.parents)].reshape(-1, n * slots), rows)
        r = step.shape[1]
        grown = (logs[:, :, None] + step.reshape(n, slots, r)).reshape(n, slots * r)
        # The kept ones stay in the order of the chain, so that the first of equals is the first in that order.
        kept = np.sort(np.argsort(-grown, axis=1, kind="stable")[:, :width], axis=1)
        logs = np.take_along_axis(grown, kept, axis=1)
        codes = np.take_along_axis(codes, (kept // r)[None], axis=2)
        codes[link.target] = kept % r
    best = np.argmax(logs, axis=1)
    return np.take_along_axis(codes, best[None, :, None], axis=2)[:, :, 0]


def mode(chain: Chain, inputs: Inputs, cards: Sequence[int]) -> Codes:
    """The most probable combination of labels."""
    if all(len(link.parents) <= 1 for link in chain):
        return _mode_of_forest(chain, inputs, cards)
    if math.prod(cards) > FEW_COMBINATIONS:
        return _mode_best_first(chain, inputs)
    order = [link.target for link in chain]
    best = np.argmax(_enumerated(chain, inputs, cards), axis=1)
    codes = np.empty((len(chain), inputs.n_rows), dtype=np.int64)
    codes[order] = np.unravel_index(best, [cards[j] for j in order])
    return codes


def joint(chain: Chain, inputs: Inputs, cards: Sequence[int]) -> Floats:
    """The probability of every combination, shape (n_rows, n_combinations), the last class variable fastest."""
    order = [link.target for link in chain]
    table = np.exp(_enumerated(chain, inputs, cards)).reshape(-1, *(cards[j] for j in order))
    return table.transpose(0, *(1 + order.index(j) for j in range(len(order)))).reshape(len(table), -1)


def marginals_of_forest(chain: Chain, inputs: Inputs, cards: Sequence[int]) -> list[Floats]:
    """The probabilities of the labels of each class variable, where none has more than one parent: exact."""
    found: dict[int, Floats] = {}
    for link in chain:
        table = np.exp(_table(link, inputs, cards))
        found[link.target] = table[:, 0] if not link.parents else np.einsum("np,npk->nk", found[link.parents[0]], table)
    return [found[j] for j in range(len(chain))]


def sampled_marginals(chain: Chain, inputs: Inputs, n_samples: int, seed: int) -> list[Floats]:
    """The mean over sampled combinations of the probability of each label given its parents in the sample."""
    generator, n = np.random.default_rng(seed), inputs.n_rows
    rows = np.repeat(np.arange(n), n_samples)
    codes = np.empty((len(chain), n * n_samples), dtype=np.int64)
    found: dict[int, Floats] = {}
    for link in chain:
        p = np.exp(link.log_proba(inputs, codes[list(link.parents)], rows))
        below = np.cumsum(p, axis=1)[:, :-1]
        codes[link.target] = (generator.random(len(rows))[:, None] >= below).sum(axis=1)
        found[link.target] = p.reshape(n, n_samples, -1).mean(axis=1)
    return [found[j] for j in range(len(chain))]


# ---- exact -----------------------------------------------------------------------------------------------------------


def _enumerated(chain: Chain, inputs: Inputs, cards: Sequence[int]) -> Floats:
    """The log probability of every combination, shape (n_rows, n_combinations), the last link fastest."""
    n = inputs.n_rows
    codes = np.zeros((len(chain), 1), dtype=np.int64)  # of the combinations so far
    logs = np.zeros((n, 1))
    for link in chain:
        size, r = codes.shape[1], cards[link.target]
        rows = np.repeat(np.arange(n), size)
        step = link.log_proba(inputs, np.tile(codes[list(link.parents)], n), rows).reshape(n, size, r)
        logs = (logs[:, :, None] + step).reshape(n, size * r)
        codes = np.repeat(codes, r, axis=1)
        codes[link.target] = np.tile(np.arange(r), size)
    return logs


def _mode_best_first(chain: Chain, inputs: Inputs) -> Codes:
    """The most probable prefix of labels grows first; the first whole one cannot be beaten, as growing only loses.

    In the worst case as many prefixes as there are combinations, but few where the classifiers are sure.
    """
    codes = np.empty((len(chain), inputs.n_rows), dtype=np.int64)
    order = [link.target for link in chain]
    heaps: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())] for _ in range(inputs.n_rows)]
    left = list(range(inputs.n_rows))
    while left:
        to_grow: dict[int, list[tuple[int, float, tuple[int, ...]]]] = {}
        for row in left:
            loss, prefix = heapq.heappop(heaps[row])
            if len(prefix) == len(chain):
                codes[order, row] = prefix
            else:
                to_grow.setdefault(len(prefix), []).append((row, loss, prefix))
        for depth, items in to_grow.items():
            link = chain[depth]
            known = np.array([prefix for _, _, prefix in items], dtype=np.int64).reshape(len(items), depth).T
            parents = known[[order.index(parent) for parent in link.parents]]
            step = link.log_proba(inputs, parents, np.array([row for row, _, _ in items]))
            for (row, loss, prefix), logs in zip(items, step.tolist(), strict=True):
                for k, log in enumerate(logs):
                    heapq.heappush(heaps[row], (loss - log, (*prefix, k)))
        left = sorted(row for items in to_grow.values() for row, _, _ in items)
    return codes


def _mode_of_forest(chain: Chain, inputs: Inputs, cards: Sequence[int]) -> Codes:
    """Max-product: what each link can still reach is handed to its parent, then labels are chosen from the roots."""
    n = inputs.n_rows
    reach = {link.target: np.zeros((n, cards[link.target])) for link in chain}
    tables: dict[int, Floats] = {}
    for link in reversed(chain):
        tables[link.target] = _table(link, inputs, cards) + reach[link.target][:, None, :]
        for parent in link.parents:
            reach[parent] = reach[parent] + tables[link.target].max(axis=2)
    codes = np.empty((len(chain), n), dtype=np.int64)
    for link in chain:
        given = codes[link.parents[0]] if link.parents else 0
        codes[link.target] = np.argmax(tables[link.target][np.arange(n), given], axis=1)
    return codes


def _table(link: ChainLink, inputs: Inputs, cards: Sequence[int]) -> Floats:
    """log P(label | x, parent) for all labels of the one parent, shape (n_rows, n_parent_labels or 1, n_labels)."""
    if not link.parents:
        return link.log_proba(inputs, np.empty((0, inputs.n_rows), dtype=np.int64))[:, None, :]
    each = [np.full((1, inputs.n_rows), k, dtype=np.int64) for k in range(cards[link.parents[0]])]
    return np.stack([link.log_proba(inputs, codes) for codes in each], axis=1)
