"""Kernels of searches that change a structure arc by arc: the scores of changed families, and the gains of moves.

They trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part
from bntk.learning.counts.plane_kernels import count_extensions
from bntk.learning.moves import REVERSE
from bntk.learning.scores.kernels import table_terms


@part
def sum_out(counts, card, after, out):
    """Sum a flat table over an axis of ``card`` states, each with ``after`` entries in a row."""
    for k in range(counts.size):
        out[k // (card * after) * after + k % after] += counts[k]


@part
def choose_others(cards, widths, most, base, slots, wanted, values):
    """The wanted variables for which counting by planes pays, and where their tables begin; then the end."""
    others, begins = np.empty(cards.size, np.int64), np.zeros(cards.size + 1, np.int64)
    n_others = 0
    for x in range(cards.size):
        is_new = wanted[x] and math.isnan(values[x]) and slots * widths[x] <= most
        for v in base:
            is_new &= v != x
        if is_new:
            others[n_others] = x
            begins[n_others + 1] = begins[n_others] + slots * cards[x]
            n_others += 1
    return others[:n_others], begins[: n_others + 1]


@njit(cache=True, nogil=True, steps=lambda planes, first, cards, *rest: cards.size * (10 + planes.shape[1] / 4))
def score_toggles(
    planes, first_planes, cards, widths, most, base, wanted, formula, spread, alpha, penalty, average, n, values
):  # fmt: skip
    """Fill in the score of a family with each wanted variable added to its parents, or removed when it is one.

    ``base`` are the parents, ascending, and the child. Only what is not known (NaN) is evaluated, and only where
    counting by planes pays; without missing values, a parent is removed by summing out its axis. Returns how many
    were filled in and how many are left.
    """
    left = 0
    for x in range(cards.size):
        left += wanted[x] and math.isnan(values[x])
    slots, complete = 1, True
    for v in base:
        slots = most + 1 if first_planes[v] < 0 else min(slots * cards[v], most + 1)
        complete &= widths[v] < cards[v]
    if left == 0 or slots > most:
        return 0, left
    others, begins = choose_others(cards, widths, most, base, slots, wanted, values)
    out, totals = np.zeros(begins[-1], np.int64), np.zeros(slots, np.int64)
    count_extensions(planes, first_planes, cards, widths, base, others, begins, out, totals)
    r, done = cards[base[-1]], 0
    after = slots  # entries of the table for each state of a parent
    for k in range(others.size + base.size - 1):  # one loop for both, so that the formulas are compiled once
        if k < others.size:
            x = others[k]
            table = out[begins[k] : begins[k + 1]].reshape((slots // r, r, cards[x]))
        else:
            x = base[k - others.size]
            after //= cards[x]
            if not (complete and wanted[x] and math.isnan(values[x])):
                continue
            smaller = np.zeros(slots // cards[x], np.int64)
            sum_out(totals, cards[x], after, smaller)
            table = smaller.reshape((smaller.size // r, r, 1))
        q = float(table.shape[0] * table.shape[2])
        fit, cost = table_terms(table, q, formula, spread, alpha, penalty, average, n)
        values[x] = fit - cost
        done += 1
    return done, left - done


def move_gains_plainly(moves, toggles, gains, unknown):
    """:func:`move_gains` by numpy."""
    kinds, tails, heads = moves.T
    forward, backward, is_reversal = toggles[heads, tails], toggles[tails, heads], kinds == REVERSE
    gains[:] = np.where(is_reversal, forward + backward, forward)
    open_ones = np.isnan(gains) & (tails != heads)
    unknown[heads[open_ones], tails[open_ones]] = np.isnan(forward[open_ones])
    both = open_ones & is_reversal
    unknown[tails[both], heads[both]] = np.isnan(backward[both])
    return bool(open_ones.any())


@njit(cache=True, nogil=True, steps=lambda moves, *rest: 50 + moves.shape[0] / 20, plain=move_gains_plainly)
def move_gains(moves, toggles, gains, unknown):
    """What each move (kind, tail, head) gains, from what toggling parents (columns) of children (rows) gains.

    A toggle that is not known (NaN) is marked in ``unknown``; says whether one was met.
    """
    any_unknown = False
    for m in range(moves.shape[0]):
        kind, tail, head = moves[m, 0], moves[m, 1], moves[m, 2]
        gains[m] = toggles[head, tail]
        if kind == REVERSE:
            gains[m] += toggles[tail, head]
        if math.isnan(gains[m]) and tail != head:
            any_unknown = True
            unknown[head, tail] = math.isnan(toggles[head, tail])
            if kind == REVERSE:
                unknown[tail, head] = math.isnan(toggles[tail, head])
    return any_unknown
