"""Tables smoothed along the chain of their parents: the estimates of :class:`bntk.priors.HDP`.

The kernel works on trees of any form; see :mod:`bntk.learning.hdp_kernels` for the model and the sampler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import STEPS_A_PIECE, run_parallel, stop_if_over
from bntk.data.variable import cards_of, names_of
from bntk.learning.hdp_kernels import begin_trees, sweep_trees

if TYPE_CHECKING:
    from bntk.learning.priors import HDP, Family

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Steps of some nanoseconds that a cell takes in a sweep.
_STEPS_A_CELL = 8
#: Moduli of the two parts of the generator.
_MODULI = np.repeat([4294967087, 4294944443], 3)


class TreeEstimates(NamedTuple):
    """Posterior means: theta of every node, shape (N, K), and the concentration of every level."""

    theta: Floats
    concentrations: Floats


def estimate_trees(parent: Ints, level: Ints, counts: NDArray[Any], rule: HDP) -> TreeEstimates:
    """The posterior means of a hierarchical Dirichlet process over one tree, or several side by side.

    The result depends on the arguments only, not on threads or on what else draws random numbers.

    Parameters
    ----------
    parent : int64 array of shape (N,)
        The parent of each node, which comes before it; -1 for roots, whose base is the uniform distribution.
    level : int64 array of shape (N,)
        Which concentration a node has, from 0. Trees with the same levels share them.
    counts : array of shape (N, K)
        What is counted at each node itself, usually at the leaves only.
    rule : HDP
        How long to sample, the concentrations or their prior, and the seed.

    Examples
    --------
    A root with two leaves; the second leaf has no rows, and is where the root is.

    >>> import bntk
    >>> rule = bntk.priors.HDP(iterations=50_000, concentration=1)
    >>> found = estimate_trees(np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([[0, 0], [3, 0], [0, 0]]), rule)
    >>> found.theta.round(2)
    array([[0.8 , 0.2 ],
           [0.95, 0.05],
           [0.8 , 0.2 ]])
    """
    own = np.ascontiguousarray(counts, dtype=np.float64)
    size, is_fixed = max(1, own.size), rule.concentration is not None
    start = rule.concentration if rule.concentration is not None else rule.shape / rule.rate
    alpha = np.full(int(level.max(initial=0)) + 1, float(start))
    opened, divides = np.empty(own.shape), np.zeros(len(own), dtype=bool)
    begin_trees(parent, own, opened, divides)
    random = np.random.SeedSequence(rule.seed).generate_state(6, np.uint32).astype(np.int64) % (_MODULI - 1) + 1
    theta, mean_theta, mean_alpha = np.zeros(own.shape), np.zeros(own.shape), np.zeros(alpha.shape)
    for keep, wanted in ((False, rule.burn_in), (True, rule.iterations)):
        step = max(1, STEPS_A_PIECE // (_STEPS_A_CELL * size))
        for done in range(0, wanted, step):
            stop_if_over()
            sweep_trees(
                parent, level, own, divides, 0.0 if is_fixed else float(rule.shape), float(rule.rate),
                min(step, wanted - done), keep, random, alpha, opened, theta, mean_theta, mean_alpha,
            )  # fmt: skip
    return TreeEstimates(mean_theta / mean_theta.sum(axis=1, keepdims=True), mean_alpha / rule.iterations)


def estimate_tables(families: Sequence[Family], counts: Sequence[NDArray[Any]], rule: HDP) -> list[Floats]:
    """The tables of several families, each smoothed along its own chain of parents."""
    return run_parallel(lambda pair: _estimate_table(*pair, rule), list(zip(families, counts, strict=True)))


def _estimate_table(family: Family, counts: NDArray[Any], rule: HDP) -> Floats:
    chain = chain_of(family, counts, rule.given)
    others = [axis for axis in range(len(family) - 1) if axis not in chain]
    axes = (*others, *chain, len(family) - 1)
    ordered = counts.transpose(axes)
    cards, n_states = [ordered.shape[axis] for axis in range(len(others), len(family) - 1)], counts.shape[-1]
    rows = ordered.reshape(-1, n_states)
    places = _places(rows, cards)
    parent, level = _tree(places, cards)
    leaves = len(places[-1])
    own = np.zeros((len(parent), n_states))
    own[len(own) - leaves :] = rows[places[-1]]
    theta = estimate_trees(parent, level, own, rule).theta
    table, begin = theta[:1], 1
    for card, used in zip(cards, places[1:], strict=True):  # configurations without rows are as the level above
        table = np.repeat(table, card, axis=0)
        table[used] = theta[begin : begin + len(used)]
        begin += len(used)
    return np.ascontiguousarray(table.reshape(ordered.shape).transpose(np.argsort(axes)))


def chain_of(family: Family, counts: NDArray[Any], given: Sequence[str]) -> list[int]:
    """The axes of the parents in the order in which tables are smoothed: the first of them next to the root.

    First those in ``given``, in that order; then the others by falling mutual information with the child given the
    first ones, I(child; parent | given), in the family's own counts, equal ones in the order of the axes. Parents with
    one state are left out.
    """
    names, cards = names_of(family[:-1]), cards_of(family[:-1])
    first = [names.index(name) for name in given if name in names and cards[names.index(name)] > 1]
    others = [axis for axis, card in enumerate(cards) if card > 1 and axis not in first]
    if len(others) < 2:
        return [*first, *others]
    # Rounded, so that parents with the same counts in another order of states are equal.
    information = {axis: round(_information(counts, first, axis), 12) for axis in others}
    return [*first, *sorted(others, key=lambda axis: -information[axis])]


def _information(counts: NDArray[Any], given: Sequence[int], parent: int) -> float:
    """I(child; parent | given) = sum_gux N_gux / N log(N_g N_gux / (N_gu N_gx)), of the axes of a table."""
    axes = (*given, parent, counts.ndim - 1)
    left = tuple(axis for axis in range(counts.ndim) if axis not in axes)
    joint = counts.sum(axis=left, dtype=np.float64).transpose(np.argsort(np.argsort(axes)))
    joint = joint.reshape(-1, *joint.shape[-2:])
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=2, keepdims=True)
    totals = np.broadcast_to(joint.sum(axis=(1, 2), keepdims=True), joint.shape)
    seen = joint > 0
    terms = joint[seen] * np.log(joint[seen] * totals[seen] / expected[seen])
    return float(terms.sum() / max(joint.sum(), 1.0))


def _places(rows: NDArray[Any], cards: Sequence[int]) -> list[Ints]:
    """The configurations with rows of the first parents, for none of them, one, ..., all; the root is always there."""
    places = [np.flatnonzero(rows.sum(axis=1))]
    for card in reversed(cards):
        places.insert(0, np.unique(places[0] // card))
    places[0] = np.zeros(1, dtype=np.int64)
    return places


def _tree(places: Sequence[Ints], cards: Sequence[int]) -> tuple[Ints, Ints]:
    """The parents and levels of the nodes that stand for these configurations, level by level."""
    parents, begin = [np.array([-1])], 0
    for above, card, here in zip(places[:-1], cards, places[1:], strict=True):
        parents.append(begin + np.searchsorted(above, here // card))
        begin += len(above)
    return np.concatenate(parents), np.repeat(np.arange(len(places)), [len(used) for used in places])
