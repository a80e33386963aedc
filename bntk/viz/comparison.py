"""Two structures over the same nodes in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG
from bntk.network import BayesianNetwork
from bntk.viz.axes import Place, draw
from bntk.viz.picture import Line, Picture, acyclic
from bntk.viz.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Structure = DAG | PDAG | BayesianNetwork
Arc = tuple[str, str]

# Kind -> width, colour and dashes: told apart without colour, too.
_LINES: dict[str, tuple[float, str, tuple[float, ...]]] = {
    "correct": (1.1, "#7b8794", ()),
    "added": (2.2, "#0072b2", ()),
    "missing": (1.8, "#d55e00", (6.0, 4.0)),
    "reversed": (2.0, "#8b2f7f", (1.5, 3.0)),
    "open": (1.8, "#007a5e", (7.0, 2.5, 1.5, 2.5)),
}
_WORDS = {
    "correct": "in both",
    "added": "added",
    "missing": "missing",
    "reversed": "reversed",
    "open": "directed in one only",
}


def plot_comparison(
    learned: Structure,
    reference: Structure,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw the arcs of a structure against those of a reference: in both, added, missing, reversed.

    Missing arcs are dashed, reversed ones dotted and drawn as in ``learned``, so that the picture can be read without
    colours. Edges without a direction have no arrow head; what only one of the structures directs has dashes and dots.
    ``learned.compare(reference)`` gives the same as lists.

    Parameters
    ----------
    learned, reference : DAG, PDAG or BayesianNetwork
        The two structures, over the same nodes in any order.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches; by default what the picture needs.
    font_size : float, optional
        Size of the text in points, 10 by default; a new figure without ``figsize`` grows with it.
    layout : {"auto", "layered", "graphviz"}
        How nodes are placed, see :func:`plot_dag`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bntk
    >>> axes = plot_comparison(bntk.DAG.parse("a -> b -> c"), bntk.DAG.parse("a -> b <- c"))
    """
    place = Place(ax, title, figsize, font_size)
    return draw(comparison_picture(learned, reference, layout).scene, place)


def comparison_scene(learned: Structure, reference: Structure, layout: str = "auto") -> Scene:
    """The scene of :func:`plot_comparison`."""
    return comparison_picture(learned, reference, layout).scene()


def comparison_picture(learned: Structure, reference: Structure, layout: str = "auto") -> Picture:
    """The picture of :func:`plot_comparison`."""
    ours, theirs = (x.dag if isinstance(x, BayesianNetwork) else x for x in (learned, reference))
    for structure in (ours, theirs):
        _checking.instance("learned and reference", structure, DAG, PDAG, BayesianNetwork, error=GraphError)
    if set(ours.nodes) != set(theirs.nodes):
        only = [
            f"only {where} has {sorted(set(a.nodes) - set(b.nodes))[:8]}"
            for where, a, b in (("the first", ours, theirs), ("the second", theirs, ours))
            if set(a.nodes) - set(b.nodes)
        ]
        raise GraphError(f"the two structures to compare need the same nodes, but {' and '.join(only)}")
    found = _kinds(ours, theirs)
    # Laid out are the arcs of the reference, and what else there is in a direction that closes no cycle.
    own = theirs if isinstance(theirs, DAG) else DAG(theirs.nodes, theirs.directed)
    joined = {frozenset(arc) for arc in own.arcs}
    drawn, _ = acyclic(own, [link.arc for link in found if frozenset(link.arc) not in joined])
    lines: dict[Arc, Line] = {}
    for kind, (width, colour, dash) in _LINES.items():
        for link in found:
            if link.kind == kind:
                back = not drawn.has_arc(*link.arc)
                laid = link.arc[::-1] if back else link.arc
                lines[laid] = Line(width, colour, dash, arrow=float(link.directed), turned=back)
    counts = {kind: sum(link.kind == kind for link in found) for kind in _LINES}
    legend = [(Line(*_LINES[kind]).sample(), f"{_WORDS[kind]} ({count})") for kind, count in counts.items() if count]
    return Picture(drawn, lines, legend=legend, layout=layout, share=False)


class _Link(NamedTuple):
    """Two nodes that are joined in one of the structures, as the learned one joins them if it does."""

    kind: str
    arc: Arc
    directed: bool


def _kinds(ours: DAG | PDAG, theirs: DAG | PDAG) -> list[_Link]:
    """What the two structures have in common, and what not."""
    learned, reference = _links(ours), _links(theirs)
    found = []
    for pair, (arc, directed) in learned.items():
        other = reference.get(pair)
        if other is None:
            kind = "added"
        elif directed and other[1]:
            kind = "correct" if other[0] == arc else "reversed"
        else:
            kind = "correct" if directed == other[1] else "open"
        found.append(_Link(kind, arc, directed))
    return found + [_Link("missing", *link) for pair, link in reference.items() if pair not in learned]


def _links(graph: DAG | PDAG) -> dict[frozenset[str], tuple[Arc, bool]]:
    """Each pair of joined nodes: the arc, and whether it has a direction."""
    if isinstance(graph, DAG):
        return {frozenset(arc): (arc, True) for arc in graph.arcs}
    directed = {frozenset(arc): (arc, True) for arc in graph.directed}
    return directed | {frozenset(edge): (edge, False) for edge in graph.undirected}
