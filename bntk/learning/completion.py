"""Incomplete rows as weighted complete ones, so that expected counts of any family come from plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.table import Table
from bntk.inference.exact.program import compile_network
from bntk.inference.exact.strided_rows import distinct_rows
from bntk.inference.rows import draw_missing
from bntk.learning.counts import TableCounter
from bntk.network import BayesianNetwork

Codes = NDArray[Any]
Floats = NDArray[np.float64]

#: A row with more completions is represented by so many of them, drawn from its posterior.
DRAWS = 16
#: Completions are listed, rows with the fewest first, until they have this many cells together; all others are drawn.
MOST_CELLS = 1 << 27


def soft_completion(
    network: BayesianNetwork, table: Table, weights: Floats | None = None, *, max_completions: int = 256, seed: int = 0
) -> TableCounter:
    """A counter of all completions of every row, each with its posterior probability under a network.

    What it counts are the expected counts, exactly, of any family. Only rows with more than ``max_completions``
    completions (the product of the numbers of states of their missing values), and those for which there is no room
    (:data:`MOST_CELLS`), are represented by :data:`DRAWS` draws from their posterior, each with the same share of the
    row's weight.

    Parameters
    ----------
    network : BayesianNetwork
    table : Table
        Over the variables of the network, in its order. No row may be impossible.
    weights : array, optional
    max_completions : int
    seed : int
        Of the draws.

    Examples
    --------
    >>> import bntk
    >>> bn = bntk.fit("rain -> wet", {"rain": ["no", "no", "yes", "yes"], "wet": ["no", "yes", "yes", "yes"]})
    >>> rows = bntk.Table.from_columns({"rain": ["no", None], "wet": ["no", "yes"]}, bn.variables)
    >>> soft_completion(bn, rows).tables([["rain", "wet"]])[0].round(3)
    array([[1.   , 0.333],
           [0.   , 0.667]])
    """
    codes, repeats = merged_rows(table.codes, weights)
    sizes = np.where(codes == table.cards[:, None], table.cards[:, None], 1).prod(axis=0, dtype=float)
    few = _to_list(sizes, max_completions, MOST_CELLS // max(1, len(codes)))
    listed, owners = _all_completions(codes[:, few], table.cards, sizes[few].astype(np.int64))
    shares = _posterior(network, listed, owners) * repeats[few][owners]
    drawn = draw_missing(network, np.repeat(codes[:, ~few], DRAWS, axis=1), seed)
    drawn_shares = np.repeat(repeats[~few] / DRAWS, DRAWS)
    return _counter(np.hstack([listed, drawn]), table, np.concatenate([shares, drawn_shares]))


def hard_completion(network: BayesianNetwork, table: Table, weights: Floats | None = None) -> TableCounter:
    """A counter of the rows with their missing values filled in by a most probable explanation."""
    codes, repeats = merged_rows(table.codes, weights)
    filled, _ = compile_network(network).mpe_rows(codes)
    return _counter(filled, table, repeats)


def merged_rows(codes: Codes, weights: Floats | None) -> tuple[Codes, Floats]:
    """Each kind of row once, with the sum of the weights of its like; none without weight."""
    if weights is not None:
        codes, weights = codes[:, weights > 0], weights[weights > 0]
    kinds, numbers = kinds_of_rows(codes)
    return kinds, np.bincount(numbers, weights, minlength=kinds.shape[1]).astype(float)


def kinds_of_rows(codes: Codes) -> tuple[Codes, NDArray[np.int64]]:
    """Each kind of row once, and for every row which of them it is."""
    firsts, numbers = distinct_rows(codes)
    return np.ascontiguousarray(codes[:, firsts]), numbers


def _to_list(sizes: Floats, most: int, room: int) -> NDArray[np.bool_]:
    """The rows whose completions are listed: with at most so many each and in all, and complete ones in any case."""
    order = np.argsort(sizes, kind="stable")
    fits = np.zeros(len(sizes), dtype=bool)
    fits[order] = np.cumsum(sizes[order]) <= room
    return (sizes <= 1) | (fits & (sizes <= most))


def _counter(codes: Codes, table: Table, weights: Floats) -> TableCounter:
    merged, totals = merged_rows(codes, weights)
    return TableCounter._of_shares(Table.from_codes(merged, table.variables), totals)


def _all_completions(
    codes: Codes, cards: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Codes, NDArray[np.int64]]:
    """Every completion of every row, and the row that each belongs to; ``sizes`` says how many a row has."""
    owners = np.repeat(np.arange(len(sizes)), sizes)
    # The number of a completion within its row, read as digits in the mixed radix of the missing values.
    number = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    filled = codes[:, owners]
    for column, card in zip(filled, cards.tolist(), strict=True):
        missing = np.flatnonzero(column == card)
        number[missing], column[missing] = np.divmod(number[missing], card)
    return filled, owners


def _posterior(network: BayesianNetwork, codes: Codes, owners: NDArray[np.int64]) -> Floats:
    """The probability of each completion given the observed cells of its row."""
    if not len(owners):
        return np.empty(0)
    log_p = network.row_log_likelihood(Table.from_codes(codes, network.variables))
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    p = np.exp(log_p - np.maximum.reduceat(log_p, starts)[owners])
    return p / np.add.reduceat(p, starts)[owners]
