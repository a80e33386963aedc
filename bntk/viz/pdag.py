"""Pictures of partially directed graphs: arcs with a head, edges without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.network import Names, node_looks
from bntk.viz.picture import Line, Picture, acyclic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: An edge whose direction is open.
EDGE = Line(1.6, style.BAR, arrow=0.0)


def plot_pdag(
    pdag: PDAG,
    *,
    target: Names = (),
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw a partially directed graph: arcs point downwards, edges whose direction is open have no arrow head.

    Parameters
    ----------
    pdag : PDAG
        The graph, such as ``dag.cpdag()`` or the ``pdag`` of a search by tests.
    target, highlight : str or iterable of str
        Nodes to colour.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches, which the picture is fitted into.
    font_size : float, optional
        Size of the names in points, 10 by default; a new figure without ``figsize`` grows with it.
    layout : {"auto", "layered", "graphviz"}
        How nodes are placed, see :func:`plot_dag`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bntk
    >>> axes = plot_pdag(bntk.datasets.asia().dag.cpdag())
    """
    place = Place(ax, title, figsize, font_size)
    return draw(pdag_picture(pdag, target=target, highlight=highlight, layout=layout).scene, place)


def pdag_picture(pdag: PDAG, *, target: Names = (), highlight: Names = (), layout: str = "auto") -> Picture:
    """The picture of :func:`plot_pdag`."""
    _checking.instance("pdag", pdag, PDAG, error=GraphError)
    arcs = DAG(pdag.nodes, pdag.directed)
    drawn, turned = acyclic(arcs, pdag.undirected)
    lines = {edge[::-1] if edge in turned else edge: EDGE for edge in pdag.undirected}
    lines |= dict.fromkeys(arcs.arcs, Line())
    legend = []
    if pdag.directed and pdag.undirected:
        legend = [(Line().sample(), "arc"), (EDGE.sample(), "edge, direction open")]
    return Picture(drawn, lines, node_looks(arcs, target, highlight), legend=legend, layout=layout)
