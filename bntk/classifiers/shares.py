"""What each of several things adds to the value of all: its share, fairly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: So many share what they add fairly, by all their subsets; more share it in their order.
MOST_SHARING = 8


def shared(players: Sequence[int], value: Callable[[Sequence[Sequence[int]]], Floats]) -> dict[int, Floats]:
    """What each player adds to the value of a set, the mean over all orders (Shapley 1953); in their order if many.

    ``value`` gives one row per set.
    """
    if len(players) > MOST_SHARING:
        known = value([players[:n] for n in range(len(players) + 1)])
        return dict(zip(players, less(known[1:], known[:-1]), strict=True))
    sets = [some for n in range(len(players) + 1) for some in combinations(players, n)]
    worth = dict(zip(sets, value(sets), strict=True)) if players else {}
    shares = {}
    for player in players:
        without = [some for some in sets if player not in some]
        weights = [factorial(len(some)) * factorial(len(players) - len(some) - 1) for some in without]
        gains = [less(worth[tuple(sorted((*some, player)))], worth[some]) for some in without]
        shares[player] = np.average(gains, axis=0, weights=weights)
    return shares


def less(one: Floats, other: Floats) -> Floats:
    """The difference of logs; 0 where both are those of zero."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(one) & np.isneginf(other), 0.0, one - other)
