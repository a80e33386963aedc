"""Searches: ways to find a good structure in a space.

The classes in the modules of this package that declare a ``name`` can be given by it; nothing else lists them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bntk._declared import SEARCHES
from bntk.errors import did_you_mean
from bntk.learning.search.base import Search, SearchResult, Step
from bntk.learning.search.k_dependence_selection import SelectiveKDependence

if TYPE_CHECKING:  # editors and type checkers see these; a search that is not here works all the same
    from bntk.learning.search.additions import BestStar as BestStar
    from bntk.learning.search.additions import GreedyAdditions as GreedyAdditions
    from bntk.learning.search.additions import SuperparentAdditions as SuperparentAdditions
    from bntk.learning.search.blankets import GS as GS
    from bntk.learning.search.blankets import IAMB as IAMB
    from bntk.learning.search.boss import BOSS as BOSS
    from bntk.learning.search.exact import Exact as Exact
    from bntk.learning.search.ges import GES as GES
    from bntk.learning.search.greedy import HillClimbing as HillClimbing
    from bntk.learning.search.greedy import Tabu as Tabu
    from bntk.learning.search.joining import BackwardJoining as BackwardJoining
    from bntk.learning.search.joining import ForwardJoining as ForwardJoining
    from bntk.learning.search.k_dependence import KDependence as KDependence
    from bntk.learning.search.mmpc import MMHC as MMHC
    from bntk.learning.search.mmpc import MMPC as MMPC
    from bntk.learning.search.order import K2Search as K2Search
    from bntk.learning.search.order import OrderSearch as OrderSearch
    from bntk.learning.search.pc import PC as PC
    from bntk.learning.search.selective_trees import SelectiveTrees as SelectiveTrees
    from bntk.learning.search.spanning import SpanningTree as SpanningTree
    from bntk.learning.search.subgraphs import SubgraphSearch as SubgraphSearch

globals().update(SEARCHES.load())

__all__ = [*SEARCHES.classes, "NAMES", "Search", "SearchResult", "SelectiveKDependence", "Step", "by_name"]

#: How users name searches with their default options.
NAMES = SEARCHES


def by_name(name: str) -> Search:
    """The search of that name, with its default options.

    Searches of your own are known by their names, too: a class that derives from :class:`Search` and has a ``name``.

    Examples
    --------
    >>> by_name("tabu").max_tabu
    10
    """
    if isinstance(name, Search):
        return name
    if not isinstance(name, str) or name not in NAMES:
        raise ValueError(
            f"search={name!r} is not known{did_you_mean(name, NAMES)}"
            f"; the choices are {', '.join(NAMES)}, for bntk.learn also auto, or a search "
            "object such as Tabu(restarts=5)"
        )
    made: Search = NAMES[name]()
    return made
