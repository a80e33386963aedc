"""The variables of a causal question: found by name, and refused where they overlap, are latent or are missing."""

from __future__ import annotations

from collections.abc import Iterable

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.undirected import NamedNodes

Names = str | Iterable[str]


class Sides:
    """The positions of some disjoint sets of nodes, by the names of the arguments that they were given as.

    Parameters
    ----------
    graph : DAG or PDAG
        The graph whose nodes are meant.
    latent : str or iterable of str
        Nodes that are not observed; none of them may be in another set.
    **sets : str or iterable of str
        The sets. None of them may be empty, but those named in ``empty``.
    empty : iterable of str
        Names of arguments that may be empty.
    """

    def __init__(self, graph: NamedNodes, latent: Names = (), *, empty: Iterable[str] = (), **sets: Names) -> None:
        self.latent = frozenset(graph._indices(latent, "latent"))
        self._sets: dict[str, list[int]] = {}
        for argument, names in sets.items():
            self._sets[argument] = sorted(graph._indices(names, argument))
            if not self._sets[argument] and argument not in empty:
                raise GraphError(f"{argument} is empty; name one variable at least")
        self._refuse_overlap(graph)
        for argument, nodes in self._sets.items():
            unseen = self.latent.intersection(nodes)
            if unseen:
                raise GraphError(
                    f"{_listed(graph, unseen)} of {argument} is latent; only what is observed can be there"
                )

    def __getitem__(self, argument: str) -> list[int]:
        return self._sets[argument]

    def _refuse_overlap(self, graph: NamedNodes) -> None:
        arguments = [*self._sets]
        for place, first in enumerate(arguments):
            for second in arguments[place + 1 :]:
                both = set(self._sets[first]).intersection(self._sets[second])
                if both:
                    raise GraphError(
                        f"{_listed(graph, both)} is in {first} and in {second}; they must not have variables in common"
                    )


def checked_limit(limit: object) -> None:
    """How many answers are wanted: None for all, or a number from 1."""
    if limit is not None:
        _checking.whole_number("limit", limit, 1, _checking.MOST)


def one(graph: NamedNodes, name: Names, argument: str) -> str:
    """A single name, also in a list; several are refused."""
    found = graph._indices(name, argument)
    if len(found) != 1:
        raise GraphError(f"{argument} must be one variable, not {len(found)}")
    return graph.nodes[found[0]]


def _listed(graph: NamedNodes, nodes: Iterable[int]) -> str:
    return ", ".join(map(repr, graph._names(nodes)))
