"""Two structures over the same nodes in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import ArcComparison
from bntk.network import BayesianNetwork
from bntk.viz import style
from bntk.viz.network import add_legend, arc_curve, find_layout, node_items, node_size, sample_line
from bntk.viz.scene import Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arc = tuple[str, str]

# Kind -> width, colour and dashes: told apart without colour, too.
_LINES: dict[str, tuple[float, str, tuple[float, ...]]] = {
    "correct": (1.1, "#7b8794", ()),
    "added": (2.2, "#0072b2", ()),
    "missing": (1.8, "#d55e00", (6.0, 4.0)),
    "reversed": (2.0, "#8b2f7f", (1.5, 3.0)),
}
_WORDS = {"correct": "in both", "added": "added", "missing": "missing", "reversed": "reversed"}


def plot_comparison(
    learned: DAG | BayesianNetwork,
    reference: DAG | BayesianNetwork,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw the arcs of a structure against those of a reference: in both, added, missing, reversed.

    Missing arcs are dashed, reversed ones dotted and drawn as in ``learned``, so that the picture can be read without
    colours. ``learned.compare(reference)`` gives the same as lists.

    Parameters
    ----------
    learned, reference : DAG or BayesianNetwork
        The two structures, over the same nodes in any order.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    title : str, optional
        The title of the picture.
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
    from bntk.viz.axes import check_place, draw

    check_place(ax, title)
    return draw(comparison_scene(learned, reference, layout), ax, title)


def comparison_scene(learned: DAG | BayesianNetwork, reference: DAG | BayesianNetwork, layout: str = "auto") -> Scene:
    """The scene of :func:`plot_comparison`."""
    ours, theirs = (x.dag if isinstance(x, BayesianNetwork) else x for x in (learned, reference))
    for structure in (ours, theirs):
        _checking.instance("learned and reference", structure, DAG, BayesianNetwork, error=GraphError)
    if set(ours.nodes) != set(theirs.nodes):
        only = [
            f"only {where} has {sorted(set(a.nodes) - set(b.nodes))[:8]}"
            for where, a, b in (("the first", ours, theirs), ("the second", theirs, ours))
            if set(a.nodes) - set(b.nodes)
        ]
        raise GraphError(f"the two structures to compare need the same nodes, but {' and '.join(only)}")
    found = ours.compare(theirs)
    drawn, turned = _acyclic(theirs, found)
    sizes = {node: node_size(node, style.PLAIN) for node in drawn.nodes}
    placed = find_layout(drawn, sizes, layout, share=False)
    scene = Scene()
    for kind, (width, colour, dash) in _LINES.items():
        for arc in getattr(found, kind):
            route = placed.routes[arc[::-1]][::-1] if arc in turned else placed.routes[arc]
            scene.items.append(arc_curve(route, width, colour, dash))
    for node in drawn.nodes:
        scene.items += node_items(node, placed.positions[node], sizes[node], style.PLAIN)
    samples = [
        (sample_line(*_LINES[kind]), f"{_WORDS[kind]} ({len(getattr(found, kind))})")
        for kind in _LINES
        if getattr(found, kind)
    ]
    add_legend(scene, samples)
    return scene


def _acyclic(reference: DAG, found: ArcComparison) -> tuple[DAG, set[Arc]]:
    """A DAG with every arc to draw, and those of them that stand in it the other way round.

    It has the arcs of the reference; an added arc that would close a cycle with what is there is turned.
    """
    turned = set(found.reversed)
    dag = reference
    for tail, head in found.added:
        if head in dag.ancestors(tail):
            turned.add((tail, head))
            tail, head = head, tail
        dag = dag.add_arc(tail, head)
    return dag, turned
