"""Searches: ways to find a good structure in a space."""

from __future__ import annotations

from bntk.learning.search.base import Search, SearchResult, Step
from bntk.learning.search.exact import Exact
from bntk.learning.search.greedy import HillClimbing, Tabu
from bntk.learning.search.order import K2Search, OrderSearch
from bntk.learning.search.spanning import SpanningTree

__all__ = [
    "NAMES",
    "Exact",
    "HillClimbing",
    "K2Search",
    "OrderSearch",
    "Search",
    "SearchResult",
    "SpanningTree",
    "Step",
    "Tabu",
    "by_name",
]

#: How users name searches with their default options.
NAMES: dict[str, type[Search]] = {
    "hc": HillClimbing,
    "tabu": Tabu,
    "order": OrderSearch,
    "exact": Exact,
    "spanning_tree": SpanningTree,
    "k2": K2Search,
}


def by_name(name: str) -> Search:
    """The search of that name, with its default options.

    Examples
    --------
    >>> by_name("tabu").max_tabu
    10
    """
    if name not in NAMES:
        raise ValueError(
            f"search={name!r} is not known; the choices are {', '.join(NAMES)}, for bntk.learn also auto, or a search "
            "object such as Tabu(restarts=5)"
        )
    return NAMES[name]()
