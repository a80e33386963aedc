"""Pictures of structures and networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bntk import _checking
from bntk.data.variable import format_states
from bntk.errors import GraphError, UnknownNameError, did_you_mean
from bntk.graph.dag import DAG
from bntk.graph.layout import Layout, layered_layout
from bntk.network import BayesianNetwork, a_network
from bntk.viz import style
from bntk.viz.bars import Bars, posterior_bars
from bntk.viz.scene import Box, Curve, Item, Label, Point, Scene, lines_of, text_width
from bntk.viz.strengths import arc_strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Names = str | Iterable[str] | None
Arc = tuple[str, str]

_LINE_HEIGHT, _PAD_X, _PAD_Y = 12.5, 9.0, 5.5
_THINNEST, _WIDEST, _NORMAL = 0.5, 4.0, 1.1  # line widths, in points
_LAYOUTS = ("auto", "layered", "graphviz")


def plot_dag(
    dag: DAG,
    *,
    target: Names = (),
    strengths: Any = None,
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw a DAG in layers, arcs pointing downwards.

    Parameters
    ----------
    dag : DAG
        The structure to draw.
    target : str or iterable of str
        Class variables; they and the arcs from them have their own colour.
    strengths : mapping of (parent, child) to number, or what :func:`bntk.bootstrap_strengths` returns, optional
        Strong arcs are drawn wide, in proportion to these numbers; arcs without a number have strength zero.
    highlight : str or iterable of str
        Other nodes to colour.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    title : str, optional
        The title of the picture.
    layout : {"auto", "layered", "graphviz"}
        ``"layered"`` needs no other program and gives the same picture on every machine; ``"auto"`` is the same.
        ``"graphviz"`` uses the program ``dot``, which has to be installed.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bntk
    >>> axes = plot_dag(bntk.DAG.parse("class -> a; class -> b -> a"), target="class")
    """
    from bntk.viz.axes import draw

    return draw(dag_scene(dag, target=target, strengths=strengths, highlight=highlight, layout=layout), ax, title)


def plot_network(
    network: BayesianNetwork,
    given: Mapping[str, Any] | None = None,
    *,
    target: Names = (),
    strengths: Any = None,
    bars: bool | Iterable[str] | None = None,
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw a network; with evidence, the posterior of every variable as bars inside its node.

    Parameters
    ----------
    network : BayesianNetwork
        The network to draw.
    given : mapping of variable to finding, optional
        Evidence, see :meth:`BayesianNetwork.query`. Its nodes are grey; ``{}`` shows the marginals.
    target : str or iterable of str
        Class variables; they and the arcs from them have their own colour.
    strengths : "mi", mapping of (parent, child) to number, or bootstrap strengths, optional
        Strong arcs are drawn wide, in proportion to these numbers. ``"mi"`` is the mutual information of parent and
        child given the child's other parents; :func:`bntk.bootstrap_strengths` gives others.
    bars : bool or iterable of str, optional
        Which nodes have bars: by default all if there is evidence, else none.
    highlight : str or iterable of str
        Other nodes to colour.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the network needs.
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
    >>> axes = plot_network(bntk.datasets.asia(), {"xray": "yes"}, target="lung")
    """
    from bntk.viz.axes import draw

    options = {"target": target, "strengths": strengths, "highlight": highlight, "layout": layout}
    return draw(network_scene(network, given, bars=bars, **options), ax, title)


def dag_scene(
    dag: DAG, *, target: Names = (), strengths: Any = None, highlight: Names = (), layout: str = "auto"
) -> Scene:
    """The scene of :func:`plot_dag`."""
    _checking.instance("dag", dag, DAG, error=GraphError)
    return _scene(dag, _looks(dag, target, highlight), {}, _widths(dag, strengths, None), target, layout)


def network_scene(
    network: BayesianNetwork,
    given: Mapping[str, Any] | None = None,
    *,
    target: Names = (),
    strengths: Any = None,
    bars: bool | Iterable[str] | None = None,
    highlight: Names = (),
    layout: str = "auto",
) -> Scene:
    """The scene of :func:`plot_network`."""
    from bntk.inference.evidence import read_findings

    dag = a_network(network).dag
    if bars is None:
        bars = given is not None
    shown = (dag.nodes if bars else ()) if isinstance(bars, bool) else _known(dag, bars, "bars")
    evidence = [dag.nodes[v] for v in read_findings(network, given).vectors]
    drawn = posterior_bars(network, given, shown) if shown else {}
    looks = _looks(dag, target, highlight, evidence)
    return _scene(dag, looks, drawn, _widths(dag, strengths, network), target, layout)


# ---- options of the user ---------------------------------------------------------------------------------------------


def _known(dag: DAG, names: Names, what: str) -> tuple[str, ...]:
    several = () if names is None else tuple(_checking.names(what, names, "names of nodes"))
    unknown = [name for name in several if name not in dag]
    if unknown:
        raise UnknownNameError(
            f"{what}: {unknown} are not nodes{did_you_mean(unknown[0], dag.nodes)}"
            f"; the nodes are {format_states(dag.nodes)}"
        )
    return several


def _looks(dag: DAG, target: Names, highlight: Names, evidence: Sequence[str] = ()) -> dict[str, style.NodeStyle]:
    """How each node looks; evidence shows before the target, and that before other highlights."""
    return {
        **dict.fromkeys(dag.nodes, style.PLAIN),
        **dict.fromkeys(_known(dag, highlight, "highlight"), style.HIGHLIGHT),
        **dict.fromkeys(_known(dag, target, "target"), style.TARGET),
        **dict.fromkeys(evidence, style.EVIDENCE),
    }


@dataclass(frozen=True)
class _Widths:
    """The line of each arc, and what the widest stands for."""

    of: Mapping[Arc, float]
    strongest: float = 0.0
    what: str = ""


def _widths(dag: DAG, strengths: Any, network: BayesianNetwork | None) -> _Widths:
    if strengths is None:
        return _Widths(dict.fromkeys(dag.arcs, _NORMAL))
    numbers, what = arc_strengths(dag, strengths, network)
    strongest = max(numbers.values(), default=0.0)
    return _Widths({arc: _line_width(value, strongest) for arc, value in numbers.items()}, strongest, what)


def _line_width(value: float, strongest: float) -> float:
    return _THINNEST + (_WIDEST - _THINNEST) * (value / strongest if strongest else 0.0)


# ---- the picture -----------------------------------------------------------------------------------------------------


def _scene(
    dag: DAG,
    looks: Mapping[str, style.NodeStyle],
    bars: Mapping[str, Bars],
    widths: _Widths,
    target: Names,
    layout: str,
) -> Scene:
    sizes = {node: node_size(node, looks[node], bars.get(node)) for node in dag.nodes}
    placed = find_layout(dag, sizes, layout)
    classes = set(_known(dag, target, "target"))
    scene = Scene()
    # Arcs of a class are many and all alike: they go below the others.
    for arc in sorted(dag.arcs, key=lambda arc: (arc[0] not in classes, widths.of[arc])):
        colour = style.CLASS_ARC if arc[0] in classes else style.ARC
        scene.items.append(arc_curve(placed.routes[arc], widths.of[arc], colour))
    for node in dag.nodes:
        scene.items += node_items(node, placed.positions[node], sizes[node], looks[node], bars.get(node))
    if widths.strongest:
        add_legend(scene, _strength_samples(widths))
    return scene


def find_layout(dag: DAG, sizes: Mapping[str, Point], layout: str, share: bool = True) -> Layout:
    """The layout of a name."""
    if not isinstance(layout, str) or layout not in _LAYOUTS:
        raise ValueError(f"layout={layout!r} is not known; give one of {list(_LAYOUTS)}")
    if layout == "graphviz":
        from bntk.viz.graphviz import graphviz_layout

        return graphviz_layout(dag, sizes)
    return layered_layout(dag, sizes, share=share)


def arc_curve(route: Sequence[Point], width: float, colour: str, dash: tuple[float, ...] = ()) -> Curve:
    """An arc with a head that suits its width, its tip on the child's border."""
    return Curve(tuple(route), width, colour, dash, arrow=6.0 + 1.6 * width)


def node_size(node: str, look: style.NodeStyle, bars: Bars | None = None) -> Point:
    """Width and height of a node."""
    lines = lines_of(node)
    width = max(text_width(line, style.NAME_SIZE, look.bold) for line in lines)
    height = _LINE_HEIGHT * len(lines) + 2 * _PAD_Y
    if bars is not None:
        width, height = max(width, bars.width), height + bars.height
    return max(width + 2 * _PAD_X, 34.0), height


def node_items(node: str, at: Point, size: Point, look: style.NodeStyle, bars: Bars | None = None) -> list[Item]:
    """A node: its box, its name, and its bars if it has some."""
    (x, y), (width, height) = at, size
    items: list[Item] = [Box(x, y, width, height, look.fill, look.edge, look.line, radius=6.0, title=node)]
    top = y + height / 2 - _PAD_Y
    for line in lines_of(node):
        items.append(Label(x, top - _LINE_HEIGHT / 2, line, style.NAME_SIZE, bold=look.bold))
        top -= _LINE_HEIGHT
    if bars is not None:
        items += bars.items(x, top, width - 2 * _PAD_X)
    return items


# ---- legends ---------------------------------------------------------------------------------------------------------


def _strength_samples(widths: _Widths) -> list[tuple[Curve, str]]:
    half, full = widths.strongest / 2, widths.strongest
    values = (0.0, half, full)
    lines = [Curve(_SAMPLE, _line_width(value, full), style.ARC) for value in values]
    texts = ["0", f"{half:.2g}", f"{full:.2g}  {widths.what}"]
    return list(zip(lines, texts, strict=True))


_SAMPLE: tuple[Point, ...] = ((0.0, 0.0), (8.0, 0.0), (16.0, 0.0), (24.0, 0.0))


def sample_line(width: float, colour: str, dash: tuple[float, ...] = ()) -> Curve:
    """A short line for a legend, with an arrow head."""
    return Curve(((0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0)), width, colour, dash, arrow=6.0 + 1.6 * width)


def add_legend(scene: Scene, samples: Sequence[tuple[Curve, str]]) -> None:
    """Lines and what they mean, below everything else, in as many rows as the width of the scene needs."""
    left, right, bottom, _ = scene.frame()
    left, right = left + scene.margin, right - scene.margin
    x, y = left, bottom - 6.0
    for line, text in samples:
        reach = line.points[-1][0]
        width = reach + 6.0 + text_width(text, 9.0)
        if x > left and x + width > max(right, left + 150.0):
            x, y = left, y - 15.0
        points = tuple((x + u, y + v) for u, v in line.points)
        scene.items.append(Curve(points, line.width, line.colour, line.dash, line.arrow))
        scene.items.append(Label(x + reach + 6.0, y, text, 9.0, "left"))
        x += width + 18.0
