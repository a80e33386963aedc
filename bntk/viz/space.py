"""Pictures of spaces: which arcs must, may and must not be there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.errors import SpaceError
from bntk.graph.dag import DAG
from bntk.learning.space import Space
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.network import Names, node_looks
from bntk.viz.picture import Line, Picture, acyclic, add_legend, note
from bntk.viz.scene import Curve, Label, Page, Scene, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arc = tuple[str, str]

_REQUIRED = Line(2.0, style.ARC)
_FORBIDDEN = Line(1.2, style.CYCLE[1], (5.0, 3.0))
_WEIGHTED = Line(1.2, style.CYCLE[0], (7.0, 2.0, 1.5, 2.0))
_OPTIONAL = Line(0.8, "#8b97a5", (1.5, 2.0))
_LONGEST_RULE = 90  # characters


def plot_space(
    space: Space,
    *,
    target: Names = (),
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw a space: required arcs solid, forbidden ones dashed with a cross, weighted and optional arcs.

    Tiers are separated by lines, the earliest one at the top. The rules that are about more than single arcs (shapes,
    numbers of parents) are written below. Arcs that no rule mentions may be there, and are not drawn.

    Parameters
    ----------
    space : Space
        The space.
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
    >>> space = bntk.Space(list("abcd"), required=["a -> b"], forbidden=["d -> a"], tiers=[["a", "b"], ["c", "d"]])
    >>> axes = plot_space(space)
    """
    place = Place(ax, title, figsize, font_size)
    made = space_picture(space, target=target, highlight=highlight, layout=layout)
    return draw(lambda page: _with_tiers(space, made, page), place)


def space_scene(space: Space, **options: Any) -> Scene:
    """The scene of :func:`plot_space`."""
    return _with_tiers(space, space_picture(space, **options), Page())


def space_picture(space: Space, *, target: Names = (), highlight: Names = (), layout: str = "auto") -> Picture:
    """The picture of :func:`plot_space`, but for the lines between tiers."""
    _checking.instance("space", space, Space, error=SpaceError)
    nodes = DAG(space.nodes)
    looks = node_looks(nodes, target, highlight)
    borders = _borders(space)
    order = [pair for k, border in enumerate(borders) for pair in _around(border, space.tiers[k], space.tiers[k + 1])]
    kinds = _kinds(space)
    drawn, _ = acyclic(DAG([*space.nodes, *borders], [*order, *pairwise(borders)]), _once(kinds))
    lines: dict[Arc, Line] = {}
    labels: dict[Arc, str] = {}
    for kind in (_OPTIONAL, _WEIGHTED, _FORBIDDEN, _REQUIRED):
        for arc in (arc for arc, its in kinds.items() if its is kind):
            back = not drawn.has_arc(*arc)
            laid = arc[::-1] if back else arc
            if laid in lines:  # both directions: one line with two heads
                lines[laid] = replace(lines[laid], arrow=1.0, back_arrow=1.0)
            else:
                lines[laid] = replace(kind, turned=back)
            labels |= {laid: "✕"} if kind is _FORBIDDEN else {}
            labels |= {laid: f"{space.arc_weights[arc]:+.3g}"} if kind is _WEIGHTED else {}
    return Picture(
        drawn, lines, looks, labels=labels, hidden=borders, legend=_legend(space, kinds), layout=layout, share=True
    )


def _kinds(space: Space) -> dict[Arc, Line]:
    """How each arc that a rule mentions is drawn; the first rule that mentions it decides."""
    required = [(space.nodes[a], space.nodes[b]) for a, b in np.argwhere(space.required_matrix).tolist()]
    allowed = space.allowed
    optional = [
        (tail, head)
        for link in space.links
        if link.mode in ("optional", "discard")
        for tail in link.tails
        for head in link.heads
        if allowed[space.index(tail), space.index(head)]
    ]
    kinds = dict.fromkeys(required, _REQUIRED)
    for arcs, line in ((space.forbidden, _FORBIDDEN), (space.arc_weights, _WEIGHTED), (optional, _OPTIONAL)):
        kinds |= {arc: line for arc in arcs if arc not in kinds}
    return kinds


def _once(arcs: Iterable[Arc]) -> list[Arc]:
    """One arc of each pair of nodes, the first."""
    pairs: dict[frozenset[str], Arc] = {}
    for arc in arcs:
        pairs.setdefault(frozenset(arc), arc)
    return list(pairs.values())


def _legend(space: Space, kinds: dict[Arc, Line]) -> list[tuple[Curve, str]]:
    words = ((_REQUIRED, "required"), (_FORBIDDEN, "forbidden"), (_WEIGHTED, "with a weight"), (_OPTIONAL, "optional"))
    there = [*kinds.values()]
    legend = [(line.sample(), word) for line, word in words if any(line is each for each in there)]
    return legend + [note(one_line(rule, _LONGEST_RULE)) for rule in space.rules_in_words()]


# ---- tiers -----------------------------------------------------------------------------------------------------------


def _borders(space: Space) -> list[str]:
    """Names of what stands between two tiers, none of them a node."""
    free = (f"\u2009{k}" for k in range(len(space.tiers) + space.n_nodes))
    names = [name for name in free if name not in space]
    return names[: max(0, len(space.tiers) - 1)]


def _around(border: str, above: Iterable[str], below: Iterable[str]) -> list[Arc]:
    return [*((name, border) for name in above), *((border, name) for name in below)]


def _with_tiers(space: Space, made: Picture, page: Page) -> Scene:
    """The scene with a line and a number at the top of each tier but the first."""
    scene, placed = made.placed(page) if not made.hidden else replace(made, legend=()).placed(page)
    if not made.hidden:
        return scene
    left, right, _, top = scene.frame()
    left, right, top = left + scene.margin, right - scene.margin, top - scene.margin
    scene.items.append(Label(left, top + 8.0, "tier 1", style.STATE_SIZE, "left", style.MUTED))
    for k, border in enumerate(made.hidden, 2):
        y = placed.positions[border][1]
        points = tuple((left + (right - left) * i / 3, y) for i in range(4))
        scene.items.insert(0, Curve(points, 0.8, style.MUTED, (2.0, 3.0)))
        scene.items.append(Label(left, y - 7.0, f"tier {k}", style.STATE_SIZE, "left", style.MUTED))
    if made.legend:
        add_legend(scene, made.legend)
    return scene
