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

from bntk._kernels import part
from bntk.learning.search.kernels import NONE, arborescence, contract, expand

# What has been chosen for a node or set: nothing yet, that the arc into the set around it enters it, or an arc.
OPEN, INHERITED = -1, -2


# ---- sets and arcs ---------------------------------------------------------------------------------------------------


@part
def nested_sets(weights, one_root):
    """The nodes and the sets that Edmonds' algorithm contracts, numbered; ``weights`` are overwritten.

    Returns the set that each is part of, the tail of the best arc into each, y, and the heaviest arborescence.
    """
    size = weights.shape[0]
    n_ids, up, enter_tail, enter_head, y = contract(weights, one_root)
    tails = expand(n_ids, size, up, enter_tail, enter_head)
    return up[:n_ids], enter_tail[:n_ids], y[:n_ids], tails


@part
def tight_sets(size, up, enter_tail, y, one_root):
    """Which sets every heaviest arborescence enters by exactly one arc."""
    tight = np.zeros(up.size, np.bool_)
    for i in range(size, up.size):  # with one root, the set with it is entered once, whatever that costs
        tight[i] = y[i] < 0.0 or (one_root and enter_tail[i] == size - 1)
    return tight


@part
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


@part
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


@part
def among_equals(arcs, values, unit, size):
    """Weights whose heaviest arborescences are, of those with these arcs, the ones with the largest sum of values.

    ``unit`` exceeds the difference of any two such sums, so that no tight set is entered twice.
    """
    weights = np.full((size, size), -np.inf)
    for k in range(arcs.shape[1]):
        weights[arcs[1, k], arcs[0, k]] = values[k] - unit * arcs[2, k]
    return weights


# ---- all of them -----------------------------------------------------------------------------------------------------


@part
def outer_sets(m, up, tight, relevant):
    """The nodes and tight sets, each after the set that it is in, and those with relevant nodes first.

    Returns them, how many have relevant nodes, and for each the tight set around it, or NONE.
    """
    outer, matters = np.full(up.size, NONE), np.zeros(up.size, np.bool_)
    things, n_things = np.empty(up.size, np.int64), 0
    for i in range(up.size):
        if i < m or tight[i]:
            around = up[i]
            while around != NONE and not tight[around]:
                around = up[around]
            outer[i] = around
            matters[i] |= i < m and relevant[i]
            if around != NONE:
                matters[around] |= matters[i]
    n_relevant = 0
    for turn in range(2):
        for i in range(up.size - 1, -1, -1):
            if (i < m or tight[i]) and matters[i] == (turn == 0):
                things[n_things] = i
                n_things += 1
        n_relevant = n_things if turn == 0 else n_relevant
    return things[:n_things], n_relevant, outer


@part
def is_within(v, i, outer):
    """Whether a node is in a node or tight set."""
    while v != NONE and v < i:  # sets have larger numbers than what is in them
        v = outer[v]
    return v == i


@part
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
    by_set, at = np.empty_like(arcs), begins.copy()
    for k in range(arcs.shape[1]):
        i = entered[k]
        by_set[0, at[i]], by_set[1, at[i]], by_set[2, at[i]] = arcs[0, k], arcs[1, k], arcs[2, k]
        at[i] += 1
    return begins, by_set


@part
def complete(around, m, things, outer, begins, arcs, chosen, enter_head, into):
    """Choose an arc into each part of a tight set, or of all, that is open; writes ``into`` the chosen ones.

    Parts are reached one after the other from the one that the arc into the set enters, or from node m. Returns whether
    all are: if not, what has been chosen before cannot be completed.
    """
    reached, grows, n_left = np.zeros(outer.size + 1, np.bool_), True, 0
    reached[outer.size] = around == NONE
    for i in things:
        if outer[i] == around:
            into[i] = INHERITED
            reached[i] = around != NONE and is_within(enter_head[around], i, outer)
            n_left += not reached[i]
    while grows and n_left:
        grows = False
        for i in things:
            if outer[i] != around or reached[i]:
                continue
            begin, end = (chosen[i], chosen[i] + 1) if chosen[i] >= 0 else (begins[i], begins[i + 1])
            for arc in range(begin, end):
                other = arcs[0, arc]
                while other != m and outer[other] != around:
                    other = outer[other]
                if reached[outer.size if other == m else other]:
                    into[i], reached[i], grows = arc, True, True
                    n_left -= 1
                    break
    return n_left == 0


@part
def all_heaviest(arcs, m, up, tight, relevant, most_steps, trees):
    """Write the tails of heaviest arborescences into the lines of ``trees``, as many as it has, m for roots.

    Of those that differ only in nodes that are not ``relevant``, one is written. Returns how many, and whether these
    are all: there may be more than ``trees`` has room for, or finding them may take more than ``most_steps``.

    Arcs are chosen for one node or tight set after the other, from the outside to the inside; what can no longer be
    completed is not tried. Where nothing relevant is left to be chosen, the rest is completed somehow.
    """
    things, n_relevant, outer = outer_sets(m, up, tight, relevant)
    begins, arcs = arcs_by_set(arcs, m, outer)
    chosen, into = np.full(up.size, OPEN), np.empty(up.size, np.int64)
    enter_tail, enter_head = np.empty(up.size, np.int64), np.empty(up.size, np.int64)
    found, k = 0, 0
    for _ in range(most_steps):
        if k < 0:
            return found, True
        if k == n_relevant:
            choose_rest(n_relevant, m, things, outer, begins, arcs, chosen, enter_tail, enter_head, into)
            if is_new(enter_tail, relevant, trees[:found]):
                if found == trees.shape[0]:
                    return found, False
                for v in range(m):  # assigning a slice would bring in the text of an error, slow to compile
                    trees[found, v] = enter_tail[v]
                found += 1
            k -= 1
            continue
        i = things[k]
        around = outer[i]
        if chosen[i] == OPEN and around != NONE and is_within(enter_head[around], i, outer):
            chosen[i] = INHERITED
        elif chosen[i] == INHERITED:
            chosen[i] = begins[i + 1]
        else:
            chosen[i] = begins[i] if chosen[i] == OPEN else chosen[i] + 1
            while chosen[i] < begins[i + 1] and begins[i + 1] > begins[i] + 1:
                if complete(around, m, things, outer, begins, arcs, chosen, enter_head, into):
                    break
                chosen[i] += 1
        if chosen[i] < begins[i + 1]:
            enter(i, around, arcs, chosen, enter_tail, enter_head)
            k += 1
        else:
            chosen[i] = OPEN
            k -= 1
    return found, False


@part
def choose_rest(n_relevant, m, things, outer, begins, arcs, chosen, enter_tail, enter_head, into):
    """Choose some arc into every node and set without relevant nodes; they stay open."""
    rest = things[n_relevant:]
    for i in rest:
        around = outer[i]
        if chosen[i] == OPEN and around != NONE and is_within(enter_head[around], i, outer):
            chosen[i] = INHERITED
        elif chosen[i] == OPEN and begins[i + 1] == begins[i] + 1:
            chosen[i] = begins[i]
        elif chosen[i] == OPEN:
            complete(around, m, things, outer, begins, arcs, chosen, enter_head, into)
            for j in rest:
                if outer[j] == around:
                    chosen[j] = into[j]
        enter(i, around, arcs, chosen, enter_tail, enter_head)
    for i in rest:
        chosen[i] = OPEN


@part
def enter(i, around, arcs, chosen, enter_tail, enter_head):
    """Note the arc into a node or set: the chosen one, or that into the set around it."""
    if chosen[i] == INHERITED:
        enter_tail[i], enter_head[i] = enter_tail[around], enter_head[around]
    else:
        enter_tail[i], enter_head[i] = arcs[0, chosen[i]], arcs[1, chosen[i]]


@part
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


@part
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
        for other in range(size):
            if other != u:
                weights[v, other] = -np.inf
        tree, is_one = arborescence(weights, one_root)
        if is_one and sets_entered(tree, entered) == n_entered and is_new(tree, relevant, trees[:found]):
            for node in range(tails.size):
                trees[found, node] = tree[node]
            found += 1
    return found


@part
def sets_entered(tails, entered):
    """How often an arborescence enters a tight set."""
    total = 0
    for v in range(tails.size):
        total += entered[v, tails[v]]
    return total
