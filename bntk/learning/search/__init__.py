"""Searches: ways to find a good structure in a space."""

from __future__ import annotations

from bntk.learning.search.additions import BestStar, GreedyAdditions, SuperparentAdditions
from bntk.learning.search.base import Search, SearchResult, Step
from bntk.learning.search.exact import Exact
from bntk.learning.search.greedy import HillClimbing, Tabu
from bntk.learning.search.joining import BackwardJoining, ForwardJoining
from bntk.learning.search.k_dependence import KDependence
from bntk.learning.search.k_dependence_selection import SelectiveKDependence
from bntk.learning.search.order import K2Search, OrderSearch
from bntk.learning.search.selective_trees import SelectiveTrees
from bntk.learning.search.spanning import SpanningTree

__all__ = [
    "NAMES",
    "BackwardJoining",
    "BestStar",
    "Exact",
    "ForwardJoining",
    "GreedyAdditions",
    "HillClimbing",
    "K2Search",
    "KDependence",
    "OrderSearch",
    "Search",
    "SearchResult",
    "SelectiveKDependence",
    "SelectiveTrees",
    "SpanningTree",
    "Step",
    "SuperparentAdditions",
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
    "additions": GreedyAdditions,
    "superparent": SuperparentAdditions,
    "fssj": ForwardJoining,
    "bsej": BackwardJoining,
    "kdb": KDependence,
    "star": BestStar,
    "selective_trees": SelectiveTrees,
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
