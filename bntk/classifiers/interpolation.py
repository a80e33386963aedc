"""Probabilities between the intervals of numbers, and the mean over several models.

A number between the centres of two neighbouring intervals is taken as the upper interval with the share w of the way
that it has gone, and as the lower one with 1 - w. All numbers of a row move together: for u from 0 to 1, each is in its
upper interval where w > u. The row changes only at the w of its numbers, so that it is a mixture of at most one coding
more than it has numbers (the corners of a simplex of Kuhn's triangulation). The probabilities of the classes are the
mean over the mixture: continuous in every number, and those of the classifier itself at the centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk.classifiers.family_terms import FamilyTerms
from bntk.classifiers.features import Places, Rows
from bntk.data.table import Table

Floats = NDArray[np.float64]

#: Codings that are predicted at once, which bounds the memory.
CODINGS_AT_ONCE = 1 << 16
#: The same where only terms are exchanged, which keeps no codings.
MOVES_AT_ONCE = 1 << 20


class Codings(NamedTuple):
    """Rows as mixtures of rows without numbers between intervals.

    Attributes
    ----------
    table : Table
        The codings, those of a row one after another.
    shares : ndarray
        The share of each in its row; these sum to one.
    starts : ndarray of int
        Where those of each row begin.
    rows : ndarray of int
        Which of the rows, in order, each coding is of.
    """

    table: Table
    shares: Floats
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]


class Moves(NamedTuple):
    """How the numbers of rows move from their lower intervals to their upper ones, one after the other.

    Attributes
    ----------
    lower : ndarray of shape (n_features, n_rows)
        The codes of all features, with each number in its lower interval.
    shares : ndarray of shape (n_interpolated, n_rows)
        How far each number has gone to the centre of its upper interval; 0 where it is missing or at a centre.
    order : ndarray of int, of the same shape
        The interpolated features in the order in which they move: that with the largest share first.
    """

    lower: NDArray[Any]
    shares: Floats
    order: NDArray[np.intp]


def moves_of(table: Table, places: Places) -> Moves:
    """The moves of rows."""
    among, missing = places.among, np.isnan(places.among)
    lower = np.where(missing, 0.0, np.floor(among))
    shares = np.where(missing, 0.0, among - lower)
    codes = table.codes.copy()
    codes[places.features] = np.where(missing, codes[places.features], lower)
    return Moves(codes, shares, np.argsort(-shares, axis=0, kind="stable"))


def codings_of(table: Table, places: Places) -> Codings:
    """The codings of rows, and their shares."""
    moves = moves_of(table, places)
    rank = np.argsort(moves.order, axis=0, kind="stable")
    ends = np.zeros((len(moves.order) + 2, table.n_rows))
    ends[0], ends[1:-1] = 1.0, np.take_along_axis(moves.shares, moves.order, axis=0)
    shares = (ends[:-1] - ends[1:]).T  # of the row before any has moved, after the first, ..., after all
    rows, k = np.nonzero(shares > 0)
    codes = moves.lower[:, rows]
    codes[places.features] += (moves.shares[:, rows] > 0) & (rank[:, rows] < k)
    starts = np.searchsorted(rows, np.arange(table.n_rows))
    return Codings(Table._make(codes, table.variables), shares[rows, k], starts, rows)


def interpolated(log_scores: Callable[[Table], Floats], rows: Rows, added: Floats | float) -> Floats:
    """The log joint of the classes and rows with numbers between intervals, shape (n_rows, n_classes).

    ``log_scores`` are those of rows without such numbers; ``added``, a term of each row, comes to all of its codings.
    """
    found = []
    for table, places, some in blocks(rows, CODINGS_AT_ONCE):
        codings = codings_of(table, places)
        scores = log_scores(codings.table)
        scores = scores + (added[some][codings.rows] if isinstance(added, np.ndarray) else added)
        found.append(mean_log_joint(scores, codings.shares, codings.starts))
    return np.concatenate(found)


def interpolated_by_terms(
    terms: FamilyTerms | None, log_scores: Callable[[Table], Floats], rows: Rows, added: Floats | float
) -> Floats:
    """The same as :func:`interpolated`, where the log joint of a row is a sum of terms, one for each family.

    A coding differs from the one before it in one feature, so that only the terms of its families are exchanged: the
    work is in proportion to the features, not to their square. A row that misses a parent is left to the codings, and
    so are all if there are no terms.
    """
    assert rows.places is not None
    if terms is None:
        return interpolated(log_scores, rows, added)
    cards = np.array([v.n_states for v in rows.table.variables], dtype=np.int64)
    misses = (rows.table.codes[terms.parents] == cards[terms.parents, None]).any(axis=0)
    if misses.any():
        found = np.empty((len(misses), terms.n_classes))
        for places_of, known in ((np.flatnonzero(misses), None), (np.flatnonzero(~misses), terms)):
            if len(places_of):
                part = added[places_of] if isinstance(added, np.ndarray) else added
                found[places_of] = interpolated_by_terms(known, log_scores, rows.take(places_of), part)
        return found
    found = np.empty((rows.table.n_rows, terms.n_classes))
    found[:] = added
    for table, places, some in blocks(rows, MOVES_AT_ONCE):
        terms.to_mean(*moves_of(table, places), places.features.astype(np.int64), found[some])
    return found


def blocks(rows: Rows, at_once: int) -> Iterator[tuple[Table, Places, slice]]:
    """Rows with numbers between intervals, so many at a time that they do not take much memory."""
    assert rows.places is not None
    size = max(1, at_once // (len(rows.places.among) + 1))
    for start in range(0, rows.table.n_rows, size):
        some = slice(start, min(start + size, rows.table.n_rows))
        yield rows.table.take(some), rows.places._replace(among=rows.places.among[:, some]), some


def average(scores: Sequence[Floats]) -> Floats:
    """The log joint of the mean of several models, of the shape (n_rows, n_classes) that those of the models have."""
    stacked = np.stack(scores, axis=1).reshape(-1, scores[0].shape[1])
    shares = np.full(len(stacked), 1 / len(scores))
    return mean_log_joint(stacked, shares, np.arange(0, len(stacked), len(scores)))


def mean_log_joint(scores: Floats, shares: Floats, starts: NDArray[np.intp]) -> Floats:
    """log P(c | x) + log P(x) of mixtures, with P(c | x) the mean of the parts' posteriors and P(x) that of their P(x).

    ``scores`` are the log joints of all parts, which come mixture by mixture, from ``starts`` on. A part that is
    impossible in every class says nothing about the class.

    The mean is that of the posteriors, not of the joint probabilities: intervals are of different sizes, and a large
    one is no better evidence. On UCI sets, its log loss is smaller.

    >>> mean_log_joint(np.log([[0.2, 0.2], [0.3, 0.1]]), np.array([0.5, 0.5]), np.array([0])).round(3)
    array([[-1.386, -1.897]])
    """
    top = scores.max(axis=1, keepdims=True)
    possible = np.isfinite(top)
    posterior = np.exp(np.where(possible, scores - np.where(possible, top, 0.0), 0.0))
    total = posterior.sum(axis=1, keepdims=True)
    posterior *= shares[:, None] / total
    log_evidence = np.where(possible, top + np.log(total), -np.inf)[:, 0]
    sizes = np.diff(np.append(starts, len(scores)))
    largest = np.maximum.reduceat(log_evidence, starts)
    scale = np.where(np.isfinite(largest), largest, 0.0)
    evidence = np.add.reduceat(shares * np.exp(log_evidence - np.repeat(scale, sizes)), starts)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduceat(posterior, starts, axis=0)) + (np.log(evidence) + scale)[:, None]
