"""Kernels of walks: which moves are legal, and the ancestors after a move. In a matrix of arcs, rows are the tails.

In a matrix of ancestors, row i marks the ancestors of node i. With it, whether an arc would close a cycle is one
look-up: ``tail -> head`` does when the head is an ancestor of the tail. It is exact; a matrix of numbers of paths would
be simpler to update, but these outgrow any integer (there are 2**64 paths from the first to the last node of a complete
DAG of 66 nodes, which is zero in 64 bits). Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.moves import ADD, DELETE, REVERSE


def mask_moves_plainly(addable, deletable, reversible, arcs, ancestors, add, delete, reverse):
    """:func:`mask_moves` by numpy."""
    add[:] = addable & ~arcs & ~ancestors
    delete[:] = deletable & arcs
    other_paths = arcs.astype(np.float32) @ ancestors.T.astype(np.float32)  # numbers of nodes, exact far beyond these
    reverse[:] = reversible & arcs & (other_paths == 0)


@njit(cache=True, nogil=True, steps=lambda one, *rest: 50 + one.size**1.5 / 1000, plain=mask_moves_plainly)
def mask_moves(addable, deletable, reversible, arcs, ancestors, add, delete, reverse):
    """The moves that keep to the rules for single arcs and close no cycle.

    An arc cannot be reversed when another path leads the same way: a cycle would be left.
    """
    n = arcs.shape[0]
    for tail in range(n):
        for head in range(n):
            arc = arcs[tail, head]
            add[tail, head] = addable[tail, head] and not arc and not ancestors[tail, head]
            delete[tail, head] = arc and deletable[tail, head]
            free = arc and reversible[tail, head]
            if free:
                for between in range(n):
                    if arcs[tail, between] and ancestors[head, between]:
                        free = False
                        break
            reverse[tail, head] = free


def list_moves_plainly(add, delete, reverse):
    """:func:`list_moves` by numpy."""
    parts = [(kind, *np.nonzero(mask)) for kind, mask in ((ADD, add), (DELETE, delete), (REVERSE, reverse))]
    return np.concatenate([np.column_stack((np.full(tails.size, kind), tails, heads)) for kind, tails, heads in parts])


@njit(cache=True, nogil=True, steps=lambda one, *rest: 50 + one.size / 50, plain=list_moves_plainly)
def list_moves(add, delete, reverse):
    """The marked moves, ordered by kind, tail and head."""
    n = add.shape[0]
    n_moves = 0
    for tail in range(n):
        for head in range(n):
            n_moves += np.int64(add[tail, head]) + np.int64(delete[tail, head]) + np.int64(reverse[tail, head])
    moves = np.empty((n_moves, 3), np.int64)
    m = 0
    for kind in (ADD, DELETE, REVERSE):
        mask = add if kind == ADD else (delete if kind == DELETE else reverse)
        for tail in range(n):
            for head in range(n):
                if mask[tail, head]:
                    moves[m, 0], moves[m, 1], moves[m, 2] = kind, tail, head
                    m += 1
    return moves


@njit(cache=True, nogil=True, steps=lambda one, *rest: one.size / 10)
def join_ancestors(ancestors, tail, head):
    """Update the ancestors for a new arc."""
    n = ancestors.shape[0]
    for node in range(n):
        if node == head or ancestors[node, head]:
            for k in range(n):
                ancestors[node, k] |= ancestors[tail, k]
            ancestors[node, tail] = True


@part
def collect_ancestors(ancestors, arcs, node, row):
    """The parents of a node and their ancestors, into ``row``; says whether they differ from what was known."""
    n = ancestors.shape[0]
    for k in range(n):
        row[k] = False
    for parent in range(n):
        if arcs[parent, node]:
            row[parent] = True
            for k in range(n):
                row[k] |= ancestors[parent, k]
    differs = False
    for k in range(n):
        differs |= row[k] != ancestors[node, k]
    return differs


@njit(cache=True, nogil=True, steps=lambda one, *rest: one.size / 2)
def part_ancestors(ancestors, arcs, head):
    """Update the ancestors for an arc into ``head`` that has been taken away from ``arcs``.

    Only the head and its descendants can lose ancestors. A node has more ancestors than any of its own ancestors, so
    their number sorts parents before children; when the head loses none, nor do the others.
    """
    n = ancestors.shape[0]
    row = np.empty(n, np.bool_)
    if not collect_ancestors(ancestors, arcs, head, row):
        return
    sizes = np.zeros(n, np.int64)  # how many ancestors the descendants have, until they are done
    for node in range(n):
        if ancestors[node, head]:
            for k in range(n):
                sizes[node] += ancestors[node, k]
    node = head
    while node >= 0:
        if collect_ancestors(ancestors, arcs, node, row):
            for k in range(n):
                ancestors[node, k] = row[k]
        sizes[node] = 0
        node = -1
        for k in range(n):
            if sizes[k] > 0 and (node < 0 or sizes[k] < sizes[node]):
                node = k
