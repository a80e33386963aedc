"""Kernels of grow-shrink trees and of the search over orders that walks them.

They trust their arguments and release the GIL. What a tree does not hold yet is not computed here: a walk that needs it
asks for it, as a pair (place in the tree, branch), where the branch :data:`SHRINK` stands for shrinking.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._kernels import njit, part

SHRINK, NOTHING = -2, -1


class Trees(NamedTuple):
    """The grow-shrink trees of all variables as flat arrays; the root of variable x is the place x.

    Attributes
    ----------
    first, counts : ndarray of int
        Of each place: its branches, ``first[place]`` and those that follow, the one that gains most first.
    value : ndarray of float
        Of each place: the score of the child with its parents there, after shrinking; NaN when that is not known.
    up, added : ndarray of int
        Of each place: the one before it, -1 for a root, and the variable that was added there.
    variable, target : ndarray of int
        Of each branch: the parent that is added, and the place it leads to, or -1.
    mate : ndarray of int
        Of each branch: a variable that must be possible as well, or -1.
    paired : boolean array of shape (n,)
        Whether branches in the tree of a variable have mates.
    near : boolean array of shape (n, n)
        Whether some branch in the tree of a variable (row), or another of its sets, adds another one (column).
    first_set : ndarray of int of shape (n + 1,)
        The other sets of parents of variable x are ``first_set[x]:first_set[x + 1]``, the best first.
    set_value : ndarray of float
        Of each other set: the score of the child with these parents.
    begins, members : ndarray of int
        Of each other set k: its variables, ``members[begins[k]:begins[k + 1]]``.
    """

    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    value: NDArray[np.float64]
    up: NDArray[np.int64]
    added: NDArray[np.int64]
    variable: NDArray[np.int64]
    target: NDArray[np.int64]
    mate: NDArray[np.int64]
    paired: NDArray[np.bool_]
    near: NDArray[np.bool_]
    first_set: NDArray[np.int64]
    set_value: NDArray[np.float64]
    begins: NDArray[np.int64]
    members: NDArray[np.int64]


@part
def walk(trees, x, limit, places, moved, moved_place):
    """Grow the parents of x among the variables whose place in the order is before ``limit``.

    Variable ``moved`` stands at ``moved_place``. Returns the place in the tree, and what it lacks.
    """
    at = x
    branch, end = trees.first[at], trees.first[at] + trees.counts[at]
    while branch < end:
        v, mate = trees.variable[branch], trees.mate[branch]
        possible = (moved_place if v == moved else places[v]) < limit
        if possible and mate >= 0:
            possible = (moved_place if mate == moved else places[mate]) < limit
        if possible:
            if trees.target[branch] < 0:
                return at, branch
            at = trees.target[branch]
            branch, end = trees.first[at], trees.first[at] + trees.counts[at]
        else:
            branch += 1
    return at, SHRINK if math.isnan(trees.value[at]) else NOTHING


@part
def take_parents(trees, x, limit, places, moved, moved_place):
    """The score of x with the parents that it takes, as :func:`walk`; those that it grows and shrinks, or another set.

    Returns the score, the place in the tree, or -1 - k for another set k, and what the tree lacks.
    """
    at, lack = walk(trees, x, limit, places, moved, moved_place)
    if lack != NOTHING:
        return 0.0, at, lack
    for k in range(trees.first_set[x], trees.first_set[x + 1]):
        if trees.set_value[k] <= trees.value[at]:
            break
        fits = True
        for m in range(trees.begins[k], trees.begins[k + 1]):
            v = trees.members[m]
            fits &= (moved_place if v == moved else places[v]) < limit
        if fits:
            return trees.set_value[k], -1 - k, NOTHING
    return trees.value[at], at, NOTHING


@part
def matters(trees, x, at, v):
    """Whether x may take other parents when v, which was possible, no longer is; ``at`` is where its walk ended."""
    if at < 0 or trees.paired[x]:
        return True
    while trees.up[at] >= 0:
        if trees.added[at] == v:
            return True
        at = trees.up[at]
    return False


@part
def ask(requests, n_requests, at, lack):
    """Note what is lacking, if there is room."""
    if n_requests < requests.shape[0]:
        requests[n_requests, 0], requests[n_requests, 1] = at, lack
        n_requests += 1
    return n_requests


@part
def best_place(trees, x, order, places, required, values, leaves, requests, n_requests):
    """Where in the order x gains most, and the gain; what the trees lack for that is added to the requests.

    Only variables in whose trees x is met, or which are met in the tree of x, make a difference when x passes them; and
    where one variable can no longer be a parent of another one, only if growing had added it.
    """
    here = places[x]
    best_at, best = here, 0.0
    for step in (-1, 1):
        others, own, leaf, is_known = 0.0, values[x], leaves[x], True
        j = here + step
        while 0 <= j < order.size:
            y = order[j]
            if (required[y, x] if step < 0 else required[x, y]) or n_requests == requests.shape[0]:
                break
            if trees.near[y, x] and (step < 0 or matters(trees, y, leaves[y], x)):
                value, at, lack = take_parents(trees, y, j, places, x, -1 if step < 0 else order.size)
                if lack == NOTHING:
                    others += value - values[y]
                else:
                    n_requests = ask(requests, n_requests, at, lack)
            if trees.near[x, y] and (step > 0 or not is_known or matters(trees, x, leaf, y)):
                own, leaf, lack = take_parents(trees, x, j if step < 0 else j + 1, places, x, order.size)
                is_known = lack == NOTHING
                if not is_known:
                    n_requests = ask(requests, n_requests, leaf, lack)
            if is_known and (trees.near[x, y] or trees.near[y, x]):
                gain = others + own - values[x]
                if gain > best:
                    best_at, best = j, gain
            j += step
    return best_at, best, n_requests


@part
def insert(trees, x, to, order, places, values, leaves):
    """Move x to a place in the order; what it passes shrinks and grows anew."""
    step = 1 if to > places[x] else -1
    while places[x] != to:
        j = places[x]
        y = order[j + step]
        order[j], places[y] = y, j
        order[j + step], places[x] = x, j + step
        if trees.near[y, x]:
            values[y], leaves[y], _ = take_parents(trees, y, places[y], places, -1, 0)
    values[x], leaves[x], _ = take_parents(trees, x, places[x], places, -1, 0)


@njit(cache=True, nogil=True)
def settle(trees, order, places, values, leaves, requests):
    """The score of every variable in an order, and the place of its parents; returns how much the trees lack."""
    n_requests = 0
    for j in range(order.size):
        places[order[j]] = j
    for j in range(order.size):
        x = order[j]
        values[x], leaves[x], lack = take_parents(trees, x, j, places, -1, 0)
        if lack != NOTHING:
            n_requests = ask(requests, n_requests, leaves[x], lack)
    return n_requests


@njit(cache=True, nogil=True)
def improve(trees, turn, begin, idle, order, places, required, values, leaves, tolerance, most, requests):
    """Move each variable of ``turn[begin:]`` to where it gains most, until the trees lack something.

    ``values`` and ``leaves`` are those of the order, as of :func:`settle`, and stay so.
    Ends after ``most`` variables, or when as many as there are in ``turn`` have gained nothing one after the other.
    Where the trees lack something, what the next variables lack in the order as it is is asked for as well, so that
    there is enough to do for several threads. Returns where it ended, how many gained nothing, and the requests.
    """
    k, n_requests = begin, 0
    while k < min(turn.size, begin + most) and idle < turn.size:
        x = turn[k]
        to, gain, n_requests = best_place(trees, x, order, places, required, values, leaves, requests, 0)
        if n_requests:
            for later in range(k + 1, turn.size):
                if 2 * n_requests >= requests.shape[0]:
                    break
                _, _, n_requests = best_place(
                    trees, turn[later], order, places, required, values, leaves, requests, n_requests
                )
            return k, idle, n_requests
        if gain > tolerance:
            insert(trees, x, to, order, places, values, leaves)
            idle = 0
        else:
            idle += 1
        k += 1
    return k, idle, 0


@njit(cache=True, nogil=True)
def shake(chosen, goals, order, places, required):
    """Move some variables to other places, no further than the parents that they must have, and children, allow."""
    for k in range(chosen.size):
        x, to = chosen[k], places[chosen[k]]
        while to > goals[k] and not required[order[to - 1], x]:
            to -= 1
            y = order[to]
            order[to + 1], places[y] = y, to + 1
            order[to], places[x] = x, to
        while to < goals[k] and not required[x, order[to + 1]]:
            to += 1
            y = order[to]
            order[to - 1], places[y] = y, to - 1
            order[to], places[x] = x, to
