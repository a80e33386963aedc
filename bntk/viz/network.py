"""Pictures of structures and networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bntk import _checking
from bntk.data.variable import format_states
from bntk.errors import ArgumentError, GraphError, UnknownNameError, did_you_mean
from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork, a_network
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.bars import posterior_bars
from bntk.viz.picture import Line, Picture, class_colours, line_width, width_samples
from bntk.viz.scene import Curve, Scene, one_line
from bntk.viz.strengths import Strengths, arc_strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Names = str | Iterable[str] | None
Arc = tuple[str, str]

_LONGEST = 24  # characters beside an arc


def plot_dag(
    dag: DAG,
    *,
    target: Names = (),
    strengths: Any = None,
    arc_labels: Any = None,
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
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
    arc_labels : True, mapping of (parent, child) to number or text, or whatever ``strengths`` may be, optional
        What to write beside arcs; ``True`` writes their strengths.
    highlight : str or iterable of str
        Other nodes to colour.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the graph needs.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches, which the picture is fitted into.
    font_size : float, optional
        Size of the names in points, 10 by default; a new figure without ``figsize`` grows with it. In given axes or a
        figure of a given size the text is smaller where it would not fit.
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
    place = Place(ax, title, figsize, font_size)
    options = {"target": target, "strengths": strengths, "arc_labels": arc_labels, "highlight": highlight}
    return draw(dag_picture(dag, **options, layout=layout).scene, place)


def plot_network(
    network: BayesianNetwork,
    given: Mapping[str, Any] | None = None,
    *,
    target: Names = (),
    strengths: Any = None,
    arc_labels: Any = None,
    bars: bool | Iterable[str] | None = None,
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
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
    arc_labels : True, mapping of (parent, child) to number or text, or whatever ``strengths`` may be, optional
        What to write beside arcs; ``True`` writes their strengths.
    bars : bool or iterable of str, optional
        Which nodes have bars: by default all if there is evidence, else none.
    highlight : str or iterable of str
        Other nodes to colour.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the network needs.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches, which the picture is fitted into.
    font_size : float, optional
        Size of the names in points, 10 by default; a new figure without ``figsize`` grows with it. In given axes or a
        figure of a given size the text is smaller where it would not fit.
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
    place = Place(ax, title, figsize, font_size)
    options = {"target": target, "strengths": strengths, "arc_labels": arc_labels, "highlight": highlight}
    return draw(network_picture(network, given, bars=bars, **options, layout=layout).scene, place)


def dag_scene(dag: DAG, **options: Any) -> Scene:
    """The scene of :func:`plot_dag`."""
    return dag_picture(dag, **options).scene()


def network_scene(network: BayesianNetwork, given: Mapping[str, Any] | None = None, **options: Any) -> Scene:
    """The scene of :func:`plot_network`."""
    return network_picture(network, given, **options).scene()


def dag_picture(
    dag: DAG,
    *,
    target: Names = (),
    strengths: Any = None,
    arc_labels: Any = None,
    highlight: Names = (),
    layout: str = "auto",
) -> Picture:
    """The picture of :func:`plot_dag`."""
    _checking.instance("dag", dag, DAG, error=GraphError)
    found = _strengths(dag, strengths, None)
    classes = _known(dag, target, "target")
    return Picture(
        dag,
        _lines(dag, found, classes),
        node_looks(dag, target, highlight),
        labels=_labels(dag, arc_labels, found, None),
        classes=classes,
        legend=strength_legend(found),
        layout=layout,
    )


def network_picture(
    network: BayesianNetwork,
    given: Mapping[str, Any] | None = None,
    *,
    bars: bool | Iterable[str] | None = None,
    target: Names = (),
    strengths: Any = None,
    arc_labels: Any = None,
    highlight: Names = (),
    layout: str = "auto",
) -> Picture:
    """The picture of :func:`plot_network`."""
    from bntk.inference.evidence import read_findings

    dag = a_network(network).dag
    if bars is None:
        bars = given is not None
    shown = (dag.nodes if bars else ()) if isinstance(bars, bool) else _known(dag, bars, "bars")
    evidence = [dag.nodes[v] for v in read_findings(network, given).vectors]
    found = _strengths(dag, strengths, network)
    classes = _known(dag, target, "target")
    return Picture(
        dag,
        _lines(dag, found, classes),
        node_looks(dag, target, highlight, evidence),
        bars=posterior_bars(network, given, shown) if shown else {},
        labels=_labels(dag, arc_labels, found, network),
        classes=classes,
        legend=strength_legend(found),
        layout=layout,
    )


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


def node_looks(dag: DAG, target: Names, highlight: Names, evidence: Sequence[str] = ()) -> dict[str, style.NodeStyle]:
    """How each node looks; evidence shows before the target, and that before other highlights."""
    return {
        **dict.fromkeys(dag.nodes, style.PLAIN),
        **dict.fromkeys(_known(dag, highlight, "highlight"), style.HIGHLIGHT),
        **dict.fromkeys(_known(dag, target, "target"), style.TARGET),
        **dict.fromkeys(evidence, style.EVIDENCE),
    }


# ---- arcs ------------------------------------------------------------------------------------------------------------


def _strengths(dag: DAG, strengths: Any, network: BayesianNetwork | None) -> Strengths | None:
    return None if strengths is None else arc_strengths(dag, strengths, network)


def _lines(dag: DAG, strengths: Strengths | None, classes: Sequence[str]) -> dict[Arc, Line]:
    """The line of each arc. Those of a class are many and all alike: they go below the others."""
    colours = class_colours(dag, classes)
    lines = {arc: strength_line(arc, strengths, colours.get(arc[0], style.ARC)) for arc in dag.arcs}
    return dict(sorted(lines.items(), key=lambda item: (item[0][0] not in colours, item[1].width)))


def strength_line(arc: Arc, strengths: Strengths | None, colour: str = style.ARC) -> Line:
    """The line of an arc: as wide as it is strong, dashed where something speaks against it."""
    if strengths is None:
        return Line(colour=colour)
    value = strengths.of[arc]
    width = line_width(value, 0.0, strengths.most)
    return Line(width, colour) if value >= 0 else Line(style.NORMAL_LINE, colour, style.DASHED)


def strength_legend(strengths: Strengths | None) -> list[tuple[Curve, str]]:
    """What the widths mean; nothing where all are the same."""
    if strengths is None:
        return []
    samples = width_samples(0.0, strengths.most, strengths.what) if strengths.most > 0 else []
    if any(value < 0 for value in strengths.of.values()):
        samples.append((Line(style.NORMAL_LINE, dash=style.DASHED, arrow=0.0).sample(24.0), "below 0"))
    return samples


def _labels(dag: DAG, arc_labels: Any, strengths: Strengths | None, network: BayesianNetwork | None) -> dict[Arc, str]:
    if arc_labels is None or arc_labels is False:
        return {}
    if arc_labels is True:
        if strengths is None:
            raise ArgumentError("arc_labels=True writes the strengths of arcs: give strengths=, or what to write")
        return written(strengths.of)
    if isinstance(arc_labels, Mapping) and any(isinstance(value, str) for value in arc_labels.values()):
        known = set(dag.arcs)
        for arc in arc_labels:
            if arc not in known:
                raise UnknownNameError(f"arc_labels: {arc!r} is not an arc (parent, child) of this graph")
        return {
            arc: one_line(value, _LONGEST) if isinstance(value, str) else number_text(value)
            for arc, value in arc_labels.items()
        }
    found = arc_strengths(dag, arc_labels, network, "arc_labels")
    return written({arc: found.of[arc] for arc in (arc_labels if isinstance(arc_labels, Mapping) else found.of)})


def written(numbers: Mapping[Arc, float]) -> dict[Arc, str]:
    """The numbers of arcs as they are written beside them."""
    return {arc: number_text(value) for arc, value in numbers.items()}


def number_text(value: Any) -> str:
    """A number in three digits, without more zeros than it needs.

    >>> number_text(0.98765), number_text(-1153.88), number_text(0.0)
    ('0.988', '-1154', '0')
    """
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
