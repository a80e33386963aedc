"""Pictures of structures, drawn with matplotlib alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bntk.errors import UnknownNameError
from bntk.graph.dag import DAG
from bntk.graph.layout import Layout, Point, layered_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Sizes are in inches: the axes are scaled so that one unit is one inch at the default figure size.
_CHARACTER, _PADDING, _HEIGHT, _LAYERS = 0.088, 0.24, 0.34, 0.85
_NODE, _HIGHLIGHT, _EDGE, _ARC = "#eef3fa", "#fbd38d", "#3b5b84", "#5a6675"


def plot_dag(dag: DAG, *, ax: Axes | None = None, highlight: Iterable[str] = (), title: str | None = None) -> Axes:
    """Draw a DAG in layers, arcs pointing downwards.

    Parameters
    ----------
    dag : DAG
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    highlight : iterable of str
        Nodes to colour, such as the class or the evidence.
    title : str, optional

    Returns
    -------
    matplotlib Axes
    """
    marked = set(highlight)
    unknown = marked - set(dag.nodes)
    if unknown:
        raise UnknownNameError(f"highlight: {sorted(unknown)} are not nodes; the nodes are {list(dag.nodes)}")
    widths = {node: _CHARACTER * len(node) + _PADDING for node in dag.nodes}
    layout = layered_layout(dag, widths, gap=0.3, layer_distance=_LAYERS)
    limits = _limits(layout, widths)
    if ax is None:
        ax = _new_axes(limits)
    for (_, child), route in layout.routes.items():
        _draw_arc(ax, route, widths[child])
    for node, (x, y) in layout.positions.items():
        _draw_node(ax, node, x, y, widths[node], _HIGHLIGHT if node in marked else _NODE)
    ax.set_xlim(limits[0], limits[1])
    ax.set_ylim(limits[2], limits[3])
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title)
    return ax


def _limits(layout: Layout, widths: Mapping[str, float]) -> tuple[float, float, float, float]:
    points = [point for route in layout.routes.values() for point in route]
    left = [x - widths[n] / 2 for n, (x, _) in layout.positions.items()] + [x for x, _ in points]
    right = [x + widths[n] / 2 for n, (x, _) in layout.positions.items()] + [x for x, _ in points]
    ys = [y for _, y in layout.positions.values()]
    margin = 0.15
    return (
        min(left, default=0.0) - margin,
        max(right, default=1.0) + margin,
        min(ys, default=0.0) - _HEIGHT / 2 - margin,
        max(ys, default=0.0) + _HEIGHT / 2 + margin,
    )


def _new_axes(limits: tuple[float, float, float, float]) -> Axes:
    import matplotlib.pyplot as plt

    width, height = limits[1] - limits[0], limits[3] - limits[2]
    figure = plt.figure(figsize=(max(width, 1.5), max(height, 1.0) + 0.3))
    axes: Any = figure.add_axes((0, 0, 1, height / (height + 0.3)))
    return axes


def _draw_node(ax: Axes, label: str, x: float, y: float, width: float, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    box = FancyBboxPatch(
        (x - width / 2 + 0.06, y - _HEIGHT / 2 + 0.06),
        width - 0.12,
        _HEIGHT - 0.12,
        boxstyle="round,pad=0.06,rounding_size=0.1",
        facecolor=colour,
        edgecolor=_EDGE,
        linewidth=1.1,
        zorder=2,
    )
    ax.add_patch(box)
    ax.text(x, y, label, ha="center", va="center", fontsize=10, zorder=3)


def _draw_arc(ax: Axes, route: tuple[Point, ...], child_width: float) -> None:
    """A smooth line through the waypoints that ends with an arrow head on the child's border."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    end = _border(route[-2], route[-1], child_width)
    points = [route[0], *route[1:-1], end]
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, waypoint, after in zip(points, points[1:], points[2:], strict=False):
        # Round each corner: straight to a third before the waypoint, a curve past it, straight on.
        vertices += [_between(waypoint, before, 0.3), waypoint, _between(waypoint, after, 0.3)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    vertices.append(points[-1])
    codes.append(Path.LINETO)
    arrow = FancyArrowPatch(
        path=Path(vertices, codes), arrowstyle="-|>", mutation_scale=11, color=_ARC, linewidth=1.0, zorder=1
    )
    ax.add_patch(arrow)


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


def _border(start: Point, centre: Point, width: float) -> Point:
    """Where the straight line from ``start`` to the centre of a box meets the box."""
    dx, dy = start[0] - centre[0], start[1] - centre[1]
    half_width, half_height = width / 2 + 0.02, _HEIGHT / 2 + 0.02
    scale = min(half_width / abs(dx) if dx else float("inf"), half_height / abs(dy) if dy else float("inf"), 1.0)
    return centre[0] + scale * dx, centre[1] + scale * dy
