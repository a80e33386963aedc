"""The trees of selective classifiers, compiled: the heaviest ones for each class arc that might be added."""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.search.equal_tree_kernels import (
    all_heaviest,
    among_equals,
    arcs_without_slack,
    nearest_heaviest,
    nested_sets,
    tight_sets,
)
from bntk.learning.search.kernels import NONE

# Steps of the listing of equal trees, for each of them and each feature.
MOST_STEPS = 16


@part
def tree_problem(added, linked, unlinked, given, root, forest, discard):
    """The features of a tree when ``added`` has a class arc besides those that are ``linked``, and the weights of arcs.

    ``unlinked[v, u]`` and ``given[v, u]`` are the weights of the arc from u to v without and with a class arc into v.
    With ``discard`` only features with a class arc are in the tree. A ``forest`` may have any roots, and only arcs with
    positive weights. Returns the features, the weights, with one node more that is the parent of all roots, and whether
    there must be one root that is not known.
    """
    nodes, m, first = np.empty(linked.size, np.int64), 0, NONE
    for v in range(linked.size):
        if not discard or linked[v] or v == added:
            if v == root:
                first = m
            nodes[m] = v
            m += 1
    weights = np.full((m + 1, m + 1), -np.inf)
    for b in range(m):
        v = nodes[b]
        line = given[v] if linked[v] or v == added else unlinked[v]
        for a in range(m):
            if a != b and (line[nodes[a]] > 0.0 if forest else b != first):
                weights[b, a] = line[nodes[a]]
        if forest or first == NONE or b == first:
            weights[b, m] = 0.0
    return nodes[:m], weights, not forest and first == NONE


@part
def heaviest_arcs(weights, one_root):
    """The arcs that heaviest trees consist of, and how their sets are nested, and are tight."""
    up, enter_tail, y, _ = nested_sets(weights.copy(), one_root)
    tight = tight_sets(weights.shape[0], up, enter_tail, y, one_root)
    return arcs_without_slack(weights, up, enter_tail, y, tight, one_root), up, tight


@part
def values_of(arcs, added, nodes, linked, values):
    """What each arc is worth among trees of equal weight; arcs to roots have no value."""
    worth = np.zeros(arcs.shape[1])
    for k in range(arcs.shape[1]):
        if arcs[0, k] < nodes.size:
            tail, head = nodes[arcs[0, k]], nodes[arcs[1, k]]
            worth[k] = values[1 if linked[head] or head == added else 0, head, tail]
    return worth


@part
def relevant_nodes(added, nodes, linked, informative):
    """The nodes whose arcs matter for predictions: those with a class arc, and several states."""
    relevant = np.empty(nodes.size, np.bool_)
    for b in range(nodes.size):
        relevant[b] = (linked[nodes[b]] or nodes[b] == added) and informative[nodes[b]]
    return relevant


@part
def write_tails(nodes, tree, tails):
    """A tree over some features as a line with the parent of each feature, or -1."""
    for v in range(tails.size):
        tails[v] = NONE
    for b in range(nodes.size):
        if tree[b] != nodes.size:
            tails[nodes[b]] = nodes[tree[b]]


@njit(cache=True, nogil=True, steps=lambda added, linked, *rest: 20 * added.size * linked.size**2)
def trees_with(added, linked, informative, weights, values, unit, root, forest, discard, tails, counts):
    """For each feature of ``added``, the best trees when it has a class arc besides those that are ``linked``.

    These are the heaviest trees and, of those, the ones with the largest sum of values. ``weights`` and ``values`` have
    two matrices each, for heads without and with a class arc. Writes lines of ``tails[k]`` for each tree, as many as
    there is room for, and their number: the feature that is the parent of each, or -1. If there is room for several,
    those are written that differ in ``informative`` features with a class arc. A feature -1 adds nothing.
    """
    room = tails.shape[1]
    for k in range(added.size):
        nodes, free, one_root = tree_problem(added[k], linked, weights[0], weights[1], root, forest, discard)
        arcs, _, _ = heaviest_arcs(free, one_root)
        best = among_equals(arcs, values_of(arcs, added[k], nodes, linked, values), unit, nodes.size + 1)
        if room == 1:
            _, _, _, tree = nested_sets(best, one_root)
            write_tails(nodes, tree, tails[k, 0])
            counts[k] = 1
            continue
        arcs, up, tight = heaviest_arcs(best, one_root)
        found = np.empty((room, nodes.size), np.int64)
        relevant = relevant_nodes(added[k], nodes, linked, informative)
        steps = MOST_STEPS * room * (nodes.size + 1)
        counts[k], _ = all_heaviest(arcs, nodes.size, up, tight, relevant, steps, found)
        for tree in range(counts[k]):
            write_tails(nodes, found[tree], tails[k, tree])


@njit(cache=True, nogil=True, steps=lambda added, linked, *rest: 100 * linked.size**2)
def equal_trees(added, linked, informative, weights, root, forest, discard, tails):
    """All heaviest trees when ``added`` has a class arc, too, that differ in ``informative`` features with a class arc.

    Writes lines of ``tails``; returns how many, and whether these are all.
    """
    nodes, free, one_root = tree_problem(added, linked, weights[0], weights[1], root, forest, discard)
    arcs, up, tight = heaviest_arcs(free, one_root)
    found = np.empty((tails.shape[0], nodes.size), np.int64)
    relevant = relevant_nodes(added, nodes, linked, informative)
    steps = MOST_STEPS * tails.shape[0] * (nodes.size + 1)
    n_trees, complete = all_heaviest(arcs, nodes.size, up, tight, relevant, steps, found)
    for tree in range(n_trees):
        write_tails(nodes, found[tree], tails[tree])
    return n_trees, complete


@njit(cache=True, nogil=True)
def nearby_trees(added, linked, informative, weights, root, forest, discard, held, tails):
    """Heaviest trees near one that is ``held``: for each arc that one of them can have, the one that is most like it.

    Writes lines of ``tails``, as many as there is room for, and returns how many.
    """
    nodes, free, one_root = tree_problem(added, linked, weights[0], weights[1], root, forest, discard)
    arcs, _, _ = heaviest_arcs(free, one_root)
    place = np.full(linked.size, NONE)
    for b in range(nodes.size):
        place[nodes[b]] = b
    tree = np.empty(nodes.size, np.int64)
    for b in range(nodes.size):
        tail = held[nodes[b]]
        tree[b] = nodes.size if tail == NONE else place[tail]
    found = np.empty((tails.shape[0], nodes.size), np.int64)
    relevant = relevant_nodes(added, nodes, linked, informative)
    n_trees = nearest_heaviest(tree, arcs, one_root, relevant, found)
    for k in range(n_trees):
        write_tails(nodes, found[k], tails[k])
    return n_trees
