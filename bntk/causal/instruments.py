"""Instruments: variables that have to do with y through x only, given some others.

z is a (conditional) instrument for the effect of x on y given w (Pearl 2009, section 7.4.5; Brito and Pearl 2002) if
neither z nor w has a variable that x leads to, w separates z and y in the graph without the arcs into x, and does not
separate z and x in the graph itself. An instrument identifies the effect with further assumptions, such as
linearity, or bounds it; the variables of w are those that w needs to separate z and y.

Whether there is any w for a given z is NP-hard to tell; a w among the ancestors of y and z is found in polynomial time,
and if x and y have an instrument at all they have one with such a w (van der Zander, Textor and Liskiewicz 2015). It
suffices to look at the separator that is nearest to y: if that separates z and x as well, so do all others. Where the
smallest separator does not separate z and x, it is preferred.

References
----------
C. Brito and J. Pearl (2002). Generalized instrumental variables. UAI 18, 85-93.

J. Pearl (2009). Causality. Cambridge University Press.

B. van der Zander, J. Textor and M. Liskiewicz (2015). Efficiently finding conditional instruments for causal inference.
IJCAI 24, 3243-3249.
"""

from __future__ import annotations

from bntk.causal.arguments import Names, Sides, checked_limit, one
from bntk.causal.projection import descendants, mutilated
from bntk.causal.separators import Separators, moral_rows
from bntk.graph.dag import DAG
from bntk.graph.separation import bayes_ball

Set = frozenset[int]


def instruments(
    dag: DAG, x: Names, y: Names, latent: Names = (), limit: int | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """See :meth:`bntk.DAG.instruments`."""
    checked_limit(limit)
    sides = Sides(dag, latent, x=one(dag, x, "x"), y=one(dag, y, "y"))
    search = _Instruments(dag, sides["x"][0], sides["y"][0], sides.latent)
    return [(dag.nodes[node], dag._names(given)) for node, given in search.all()[:limit]]


class _Instruments:
    def __init__(self, dag: DAG, x: int, y: int, latent: Set) -> None:
        self._dag, self._x, self._y = dag, x, y
        self._cut = mutilated(dag, into={x})
        self._usable = frozenset(range(dag.n_nodes)) - descendants(dag, [x]) - {y} - latent

    def all(self) -> list[tuple[int, Set]]:
        """Instruments with what they are given, those with few of these first."""
        if self._y not in descendants(self._dag, [self._x]):
            return []
        found = [(node, given) for node in sorted(self._usable) if (given := self._given(node)) is not None]
        return sorted(found, key=lambda pair: (len(pair[1]), pair[0]))

    def _given(self, node: int) -> Set | None:
        """What a node has to be given to be an instrument; None if it is none."""
        rows = moral_rows(self._cut.parent_indices, [node, self._y])
        allowed = self._usable.intersection([other for other, row in enumerate(rows) if row]) - {node}
        nearest = Separators(rows, [self._y], [node], allowed).first()
        if nearest is None or not self._moves_x(node, nearest):
            return None
        smallest = next(Separators(rows, [node], [self._y], allowed).ranked())
        return smallest if self._moves_x(node, smallest) else nearest

    def _moves_x(self, node: int, given: Set) -> bool:
        _, reached, _ = bayes_ball(self._dag, [node], given)
        return self._x in reached
