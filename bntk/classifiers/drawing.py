"""How the members of an ensemble are drawn: cuts of numbers, an order of features, and chains of parents.

What is drawn for a member depends on the seed and its number alone, so that members can be drawn in any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import run_parallel, stop_if_over
from bntk.classifiers import ensemble_kernels as kernels
from bntk.classifiers.chains import Member, TrainingRows, cards_of, coded
from bntk.data.cuts import between
from bntk.data.variable import Variable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOSSES = {"rmse": kernels.SQUARED, "log": kernels.LOG, "zero_one": kernels.ZERO_ONE}
#: The fewest and the most intervals of a number, and the cuts among which each is chosen.
FEWEST, MOST, TRIES = 2, 6, 2
#: Features are ordered by their information to this power, parents to that one.
ORDER_POWER, PARENTS_POWER = 0.5, 1.0
#: What is added to information, so that features that tell nothing by themselves are drawn, too.
LEAST_INFORMATION = 1e-6
#: Rows for the information of pairs of features, and those that are predicted in leave-one-out; of more, as many are
#: drawn. All rows are counted.
INFORMATION_ROWS, JUDGED_ROWS = 2048, 2048


class Column(NamedTuple):
    """A column of numbers: its different values, and the rows below each, all and by class."""

    values: Floats
    mass: Floats
    below: Floats

    @classmethod
    def of(cls, numbers: Floats, classes: Ints, n_classes: int, weights: Floats) -> Column:
        """Count a column; missing numbers are left out."""
        known = ~np.isnan(numbers)
        values, places = np.unique(numbers[known], return_inverse=True)
        below = np.zeros((len(values) + 1, n_classes))
        np.add.at(below, (places + 1, classes[known]), weights[known])
        below = np.cumsum(below, axis=0)
        return cls(values, below.sum(axis=1), below)

    def draw(self, generator: np.random.Generator) -> Floats:
        """Cuts for one member."""
        n_leaves = int(generator.integers(FEWEST, MOST + 1))
        uniforms = generator.random((2 * n_leaves, TRIES))
        if len(self.values) < 2:
            return np.empty(0)
        places = np.empty(n_leaves, dtype=np.int64)
        n = kernels.draw_cuts(self.mass, self.below, uniforms, n_leaves, places)
        at = np.sort(places[:n])
        return np.unique(between(self.values[at - 1], self.values[at]))


class Drawn(NamedTuple):
    """Members, and what they give in leave-one-out to the rows that were judged.

    Attributes
    ----------
    members : tuple of Member
    proba : ndarray of shape (n_members, n_judged, n_classes)
    true_proba : ndarray of shape (n_members, n_judged)
        The probability of the true class.
    judged_classes, judged_weights : ndarray of shape (n_judged,)
    """

    members: tuple[Member, ...]
    proba: Floats
    true_proba: Floats
    judged_classes: Ints
    judged_weights: Floats


class Information(NamedTuple):
    """The mutual information of features and the class, and of each two features given the class."""

    with_class: Floats
    given_class: Floats


def draw_members(
    training: TrainingRows, columns: Sequence[Variable | str], n_classes: int, smoothing: Floats,
    class_prior: Floats | None, n_members: int, candidates: int, max_k: int, loss: str, bootstrap: bool, seed: int,
) -> Drawn:  # fmt: skip
    """Draw members, each with its number of features and of parents chosen by leave-one-out.

    For each that is kept, ``candidates`` are drawn; those with the least loss are kept, of equal ones the first.
    """
    classes, weights, n = training.classes, training.weights, training.n_rows
    drawn = np.array([isinstance(column, str) for column in columns], dtype=bool)
    counted = [Column.of(numbers, classes, n_classes, weights) for numbers in training.numbers]
    judged = some_rows(n, JUDGED_ROWS, np.random.default_rng([seed, 0]))
    nothing = [np.empty(0)] * len(counted)
    plain, cards = coded(columns, nothing, training.codes, training.numbers), cards_of(columns, nothing)
    known = Information(np.zeros(len(columns)), np.zeros((len(columns), len(columns))))
    fixed_rows = some_rows(n, INFORMATION_ROWS, np.random.default_rng([seed, 1]))
    kernels.feature_information(plain, cards, classes, n_classes, weights, fixed_rows, ~drawn, *known)
    max_k = min(max_k, max(0, len(columns) - 1))

    def one(number: int) -> tuple[Member, Floats, float]:
        stop_if_over()
        generator = np.random.default_rng([seed, 2, number])
        cuts = tuple(column.draw(generator) for column in counted)
        codes, cards = plain, cards_of(columns, cuts)
        information = known
        if drawn.any():
            codes = coded(columns, cuts, training.codes, training.numbers)
            information = Information(known.with_class.copy(), known.given_class.copy())
            rows = some_rows(n, INFORMATION_ROWS, generator)
            kernels.feature_information(codes, cards, classes, n_classes, weights, rows, drawn, *information)
        own, left, copies = weights, np.minimum(weights, 1.0), np.empty(0, dtype=np.int64)
        if bootstrap:
            copies = generator.multinomial(n, np.full(n, 1.0 / n))
            own = left = weights * copies
        order, parents, n_parents = _draw_structure(information, cards, max_k, generator)
        log_prior = _log_prior(classes, own, left, judged, n_classes, float(smoothing[0]), class_prior)
        proba = np.empty((len(judged), n_classes))
        k, n_used, least = kernels.leave_one_out(
            codes, cards, classes, own, left, judged, weights[judged], log_prior, order, parents, n_parents, max_k,
            smoothing, LOSSES[loss], proba,
        )  # fmt: skip
        used = order[:n_used]
        chains = tuple([parents[v, : min(k, n_parents[v])].copy() for v in used.tolist()])
        return Member(cuts, used.copy(), chains, copies.astype(np.int64)), proba, least

    found = run_parallel(one, range(candidates * n_members))
    best = np.sort(np.argsort([least for *_, least in found], kind="stable")[:n_members])
    members, proba = tuple([found[i][0] for i in best]), np.array([found[i][1] for i in best])
    true_proba = proba[:, np.arange(len(judged)), classes[judged]]
    return Drawn(members, proba, true_proba, classes[judged], weights[judged])


def some_rows(n_rows: int, most: int, generator: np.random.Generator) -> Ints:
    """All rows, or as many drawn from them, in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(generator.choice(n_rows, most, replace=False)).astype(np.int64)


def _draw_structure(
    information: Information, cards: Ints, max_k: int, generator: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """An order of the features with several states, and a chain of parents for each, from those before it.

    To add Gumbel variates to logarithms of weights, and sort, draws without replacement in proportion to the weights.
    """
    n = len(cards)
    noise = generator.gumbel(size=(n + 1, n))
    with_class = ORDER_POWER * np.log(information.with_class + LEAST_INFORMATION) + noise[n]
    order = np.argsort(-with_class, kind="stable")
    order = order[cards[order] > 1]
    parents, n_parents = np.zeros((n, max(1, max_k)), dtype=np.int64), np.zeros(n, dtype=np.int64)
    given_class = PARENTS_POWER * np.log(information.given_class + LEAST_INFORMATION) + noise[:n]
    for place, feature in enumerate(order.tolist()):
        earlier = order[:place]
        chain = earlier[np.argsort(-given_class[feature, earlier], kind="stable")[:max_k]]
        parents[feature, : len(chain)], n_parents[feature] = chain, len(chain)
    return order.astype(np.int64), parents, n_parents


def _log_prior(
    classes: Ints, weights: Floats, left: Floats, judged: Ints, n_classes: int, alpha: float, given: Floats | None
) -> Floats:
    """log P(class) for each judged row, which is left out."""
    if given is None:
        counts = np.bincount(classes, weights, n_classes) + alpha
        own = np.repeat(counts[None], len(judged), axis=0)
        own[np.arange(len(judged)), classes[judged]] -= left[judged]
        total = own.sum(axis=1, keepdims=True)
        own = np.divide(own, total, out=np.full_like(own, 1.0 / n_classes), where=total > 0)
    else:
        own = np.repeat(given[None], len(judged), axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(own, 0.0)))
