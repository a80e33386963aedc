"""All heaviest arborescences, compiled: which arcs and sets they are made of, those of them that are best otherwise.

Nodes are 0 to m - 1, and node m is the parent of all roots. ``weights[v, u]`` is the weight of the arc u -> v. Edmonds'
algorithm contracts cycles: sets of nodes, of which any two are disjoint or one is within the other. Let y_S be the
weight of the best arc into a node or set S, less those of the arcs that it replaces. Then every arc has

    slack(u -> v) = sum of y_S over all S with v but not u - weight(u -> v) >= 0,

and y_S <= 0 for sets of several nodes. These are the dual variables of the linear program of arborescences (Edmonds
1967; Schrijver 2003, section 52.4). By complementary slackness, an arborescence is heaviest if and only if all its arcs
have slack 0 and it enters every set with y_S < 0, a *tight* set, by exactly one arc. So once the arc into a tight set
is chosen, what is inside of it can be chosen by itself, which lists all of them without detours.

If weights are whole multiples of one number, with few enough digits, all this is exact.

References
----------
J. Edmonds (1967). Optimum branchings. Journal of Research of the National Bureau of Standards 71B, 233-240.

A. Schrijver (2003). Combinatorial optimization: polyhedra and efficiency. Springer.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from numba import njit

from bntk.learning.search.kernels import NONE, arborescence, contract, expand

# What has been chosen for a node or set: nothing yet, that the arc into the set around it enters it, or an arc.
OPEN, INHERITED = -1, -2

inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


# ---- sets and arcs ---------------------------------------------------------------------------------------------------


@inner
def nested_sets(weights, one_root):
    """The nodes and the sets that Edmonds' algorithm contracts, numbered; ``weights`` are overwritten.

    Returns the set that each is part of, the tail of the best arc into each, y, and the heaviest arborescence.
    """
    size = weights.shape[0]
    n_ids, up, enter_tail, enter_head, y = contract(weights, one_root)
    tails = expand(n_ids, size, up, enter_tail, enter_head)
    return up[:n_ids], enter_tail[:n_ids], y[:n_ids], tails


@inner
def tight_sets(size, up, enter_tail, y, one_root):
    """Which sets every heaviest arborescence enters by exactly one arc."""
    tight = np.zeros(up.size, np.bool_)
    for i in range(size, up.size):  # with one root, the set with it is entered once, whatever that costs
        tight[i] = y[i] < 0.0 or (one_root and enter_tail[i] == size - 1)
    return tight


@inner
def members(size, up):
    """An order of the nodes in which those of each set are side by side: where they begin, how many, and the order."""
    n_ids = up.size
    first, length, free = np.zeros(n_ids, np.int64), np.zeros(n_ids, np.int64), np.zeros(n_ids, np.int64)
    for i in range(n_ids):
        if i < size:
            length[i] = 1
        if up[i] != NONE:
            length[up[i]] += length[i]
    order, at = np.empty(size, np.int64), 0
    for i in range(n_ids - 1, -1, -1):
        if up[i] == NONE:
            first[i] = at
            at += length[i]
        else:
            first[i] = free[up[i]]
            free[up[i]] += length[i]
        free[i] = first[i]
        if i < size:
            order[first[i]] = i
    return first, length, order


@inner
def arcs_without_slack(weights, up, enter_tail, y, tight, one_root):
    """The tails and heads of the arcs without slack, and how many tight sets each of them enters."""
    size = weights.shape[0]
    first, length, order = members(size, up)
    arcs, n_arcs = np.empty((3, size * size), np.int64), 0
    for v in range(size - 1):
        i, total, n_tight = v, y[v], 0
        while True:
            around = up[i]
            begin, end = (0, size) if around == NONE else (first[around], first[around] + length[around])
            for place in range(begin, end - length[i]):
                u = order[place + length[i] * (place >= first[i])]
                if total == weights[v, u]:
                    arcs[0, n_arcs], arcs[1, n_arcs], arcs[2, n_arcs] = u, v, n_tight
                    # With one root, only what has no other arc is entered from the node above all roots.
                    n_arcs += u < size - 1 or not one_root or enter_tail[i] == u
            if around == NONE:
                break
            i = around
            total += y[i]
            n_tight += tight[i]
    return arcs[:, :n_arcs]


@inner
def among_equals(arcs, values, unit, size):
    """Weights whose heaviest arborescences are, of those with these arcs, the ones with the largest sum of values.

    ``unit`` exceeds the difference of any two such sums, so that no tight set is entered twice.
    """
    weights = np.full((size, size), -np.inf)
    for k in range(arcs.shape[1]):
        weights[arcs[1, k], arcs[0, k]] = values[k] - unit * arcs[2, k]
    return weights


# ---- all of them -----------------------------------------------------------------------------------------------------


@inner
def outer_sets(m, up, tight):
    """The nodes and tight sets, from the outside to the inside, and the tight set around each, or NONE."""
    outer, things, n_things = np.full(up.size, NONE), np.empty(up.size, np.int64), 0
    for i in range(up.size - 1, -1, -1):
        if i < m or tight[i]:
            things[n_things] = i
            n_things += 1
            around = up[i]
            while around != NONE and not tight[around]:
                around = up[around]
            outer[i] = around
    return things[:n_things], outer


@inner
def is_within(v, i, outer):
    """Whether a node is in a node or tight set."""
    while v != NONE and v < i:  # sets have larger numbers than what is in them
        v = outer[v]
    return v == i


@inner
def arcs_by_set(arcs, m, outer):
    """Sort arcs by the outermost node or tight set that they enter: where those of each begin, and the arcs."""
    begins, entered = np.zeros(outer.size + 1, np.int64), np.empty(arcs.shape[1], np.int64)
    for k in range(arcs.shape[1]):
        u, i = arcs[0, k], arcs[1, k]
        while outer[i] != NONE and (u == m or not is_within(u, outer[i], outer)):
            i = outer[i]
        entered[k] = i
        begins[i + 1] += 1
    for i in range(outer.size):
        begins[i + 1] += begins[i]
    return begins, arcs[:, np.argsort(entered, kind="mergesort")]


@inner
def closes_cycle(i, tail, m, outer, chosen, enter_tail):
    """Whether an arc from a tail into i closes a cycle with what has been chosen beside i."""
    while tail != m:
        other = tail
        while outer[other] != outer[i]:
            other = outer[other]
        if other == i:
            return True
        if chosen[other] < 0:
            return False
        tail = enter_tail[other]
    return False


@inner
def all_heaviest(arcs, m, up, tight, relevant, most_steps, trees):
    """Write the tails of heaviest arborescences into the lines of ``trees``, as many as it has, m for roots.

    Of those that differ only in nodes that are not ``relevant``, one is written. Returns how many, and whether these
    are all: there may be more than ``trees`` has room for, or finding them may take more than ``most_steps``.
    """
    things, outer = outer_sets(m, up, tight)
    begins, arcs = arcs_by_set(arcs, m, outer)
    chosen = np.full(up.size, OPEN)
    enter_tail, enter_head = np.empty(up.size, np.int64), np.empty(up.size, np.int64)
    found, k = 0, 0
    for _ in range(most_steps):
        if k < 0:
            return found, True
        if k == things.size:
            if is_new(enter_tail, relevant, trees[:found]):
                if found == trees.shape[0]:
                    return found, False
                trees[found] = enter_tail[:m]
                found += 1
            k -= 1
            continue
        i = things[k]
        around = outer[i]
        if chosen[i] == OPEN and around != NONE and is_within(enter_head[around], i, outer):
            chosen[i], enter_tail[i], enter_head[i] = INHERITED, enter_tail[around], enter_head[around]
            k += 1
            continue
        arc = begins[i + 1] if chosen[i] == INHERITED else begins[i] if chosen[i] == OPEN else chosen[i] + 1
        while arc < begins[i + 1] and closes_cycle(i, arcs[0, arc], m, outer, chosen, enter_tail):
            arc += 1
        if arc < begins[i + 1]:
            chosen[i], enter_tail[i], enter_head[i] = arc, arcs[0, arc], arcs[1, arc]
            k += 1
        else:
            chosen[i] = OPEN
            k -= 1
    return found, False


@inner
def is_new(tails, relevant, trees):
    """Whether no line of ``trees`` has the same tails of the relevant nodes."""
    for tree in trees:
        same = True
        for v in range(relevant.size):
            same &= tree[v] == tails[v] or not relevant[v]
        if same:
            return False
    return True


# ---- those next to one of them ---------------------------------------------------------------------------------------


@inner
def nearest_heaviest(tails, arcs, one_root, relevant, trees):
    """For each arc without slack into a relevant node, the heaviest arborescence with it that is most like ``tails``.

    Writes as many as ``trees`` has lines, and returns how many.
    """
    size, found, n_entered = tails.size + 1, 0, 0
    like = np.zeros(arcs.shape[1])
    for k in range(arcs.shape[1]):
        if tails[arcs[1, k]] == arcs[0, k]:
            like[k] = 1.0
            n_entered += arcs[2, k]
    entered = np.zeros((size, size), np.int64)
    for k in range(arcs.shape[1]):
        entered[arcs[1, k], arcs[0, k]] = arcs[2, k]
    free = among_equals(arcs, like, float(size), size)
    for k in range(arcs.shape[1]):
        u, v = arcs[0, k], arcs[1, k]
        if not relevant[v] or tails[v] == u:
            continue
        if found == trees.shape[0]:
            break
        weights = free.copy()
        weights[v] = -np.inf
        weights[v, u] = free[v, u]
        tree, is_one = arborescence(weights, one_root)
        if is_one and sets_entered(tree, entered) == n_entered and is_new(tree, relevant, trees[:found]):
            trees[found] = tree
            found += 1
    return found


@inner
def sets_entered(tails, entered):
    """How often an arborescence enters a tight set."""
    total = 0
    for v in range(tails.size):
        total += entered[v, tails[v]]
    return total
