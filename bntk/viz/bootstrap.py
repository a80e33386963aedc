"""Pictures of bootstrap strengths: the structure above the threshold, and where the threshold lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.errors import ArgumentError, DataError, GraphError
from bntk.graph.dag import DAG
from bntk.learning.search.bootstrap import ArcStrengths
from bntk.network import BayesianNetwork
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.curves import finish
from bntk.viz.network import Names, node_looks
from bntk.viz.picture import Line, Picture, line_width, note, width_samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERS = 30  # arcs that have numbers unless they are asked for
_LEAST_HEAD = 0.05  # a direction with a smaller share has no arrow head


def plot_strengths(
    strengths: ArcStrengths,
    structure: DAG | BayesianNetwork | None = None,
    *,
    threshold: float | None = None,
    arc_labels: bool | None = None,
    target: Names = (),
    highlight: Names = (),
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
    layout: str = "auto",
) -> Axes:
    """Draw bootstrap strengths: lines are wider the further above the threshold, heads show how certain directions are.

    An arc has a head at each end, as large as the share of the resamples that have this direction: two heads of the
    same size are an arc that might as well point the other way, one head is a direction that all resamples agree on.

    Parameters
    ----------
    strengths : ArcStrengths
        The result of :func:`bntk.bootstrap_strengths`.
    structure : DAG or BayesianNetwork, optional
        What to draw, over the same nodes; its arcs up to the threshold are dashed. By default the averaged structure,
        ``strengths.averaged(threshold)``.
    threshold : float, optional
        The strength from 0 to 1 that arcs need, by default ``strengths.threshold()``.
    arc_labels : bool, optional
        Whether to write the strength beside each arc, and the share of its direction in parentheses where the resamples
        do not agree; by default for up to 30 arcs.
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
    >>> rows = bntk.datasets.sprinkler().sample(300, seed=0)
    >>> axes = plot_strengths(bntk.bootstrap_strengths(rows, n=10))
    """
    place = Place(ax, title, figsize, font_size)
    options: dict[str, Any] = {"target": target, "highlight": highlight, "arc_labels": arc_labels, "layout": layout}
    return draw(strengths_picture(strengths, structure, threshold=threshold, **options).scene, place)


def strengths_picture(
    strengths: ArcStrengths,
    structure: DAG | BayesianNetwork | None = None,
    *,
    threshold: float | None = None,
    arc_labels: bool | None = None,
    target: Names = (),
    highlight: Names = (),
    layout: str = "auto",
) -> Picture:
    """The picture of :func:`plot_strengths`."""
    limit = _limit(strengths, threshold)
    if arc_labels is not None:
        _checking.flag("arc_labels", arc_labels)
    if structure is None:
        dag = strengths.averaged(limit)
    else:
        own = structure.dag if isinstance(structure, BayesianNetwork) else structure
        dag = _checking.instance("structure", own, DAG, what="a DAG or a BayesianNetwork", error=GraphError)
        if set(dag.nodes) != set(strengths.nodes):
            odd = sorted(set(dag.nodes) ^ set(strengths.nodes))[:8]
            raise GraphError(f"structure must have the nodes of the strengths, but only one of the two has {odd}")
    place = {name: i for i, name in enumerate(strengths.nodes)}
    strength, direction = strengths.strength, strengths.direction
    lines, labels = {}, {}
    for tail, head in dag.arcs:
        value, share = float(strength[place[tail], place[head]]), float(direction[place[tail], place[head]])
        lines[tail, head] = _line(value, share, limit)
        labels[tail, head] = f"{value:.2f}" if share >= 0.995 else f"{value:.2f} ({share:.2f})"
    lines = dict(sorted(lines.items(), key=lambda item: item[1].width))
    if arc_labels is None:
        arc_labels = len(lines) <= _MOST_NUMBERS
    return Picture(
        dag,
        lines,
        node_looks(dag, target, highlight),
        labels=labels if arc_labels else {},
        legend=_legend(lines.values(), limit, arc_labels),
        layout=layout,
        share=False,
    )


def _limit(strengths: ArcStrengths, threshold: float | None) -> float:
    what = "the result of bntk.bootstrap_strengths"
    _checking.instance("strengths", strengths, ArcStrengths, what=what, error=DataError)
    return strengths.threshold() if threshold is None else _checking.number("threshold", threshold, 0, 1)


def _line(value: float, share: float, limit: float) -> Line:
    """The line of an arc with this strength, and this share of its direction."""
    forward, back = (part if part >= _LEAST_HEAD else 0.0 for part in (share, 1.0 - share))
    if value <= limit:
        return Line(style.NORMAL_LINE, style.MUTED, style.DASHED, forward if value else 1.0, back if value else 0.0)
    return Line(line_width(value, limit, 1.0), style.ARC, (), forward, back)


def _legend(lines: Any, limit: float, numbers: bool) -> list[Any]:
    samples = width_samples(limit, 1.0, "strength, from the threshold up")
    if any(line.dash for line in lines):
        samples.append((Line(style.NORMAL_LINE, style.MUTED, style.DASHED).sample(), "up to the threshold"))
    if any(line.back_arrow for line in lines):
        samples.append((Line(arrow=0.7, back_arrow=0.3).sample(36.0), "share of each direction: 0.7 and 0.3"))
        if numbers:
            samples.append(note("numbers: strength (share of this direction)"))
    return samples


def plot_threshold(
    strengths: ArcStrengths,
    *,
    threshold: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw the distribution of bootstrap strengths, and the threshold that separates arcs from noise.

    Parameters
    ----------
    strengths : ArcStrengths
        The result of :func:`bntk.bootstrap_strengths`.
    threshold : float, optional
        By default ``strengths.threshold()``.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches; by default what the picture needs.
    font_size : float, optional
        Size of the text in points, 10 by default; a new figure without ``figsize`` grows with it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.sprinkler().sample(300, seed=0)
    >>> axes = plot_threshold(bntk.bootstrap_strengths(rows, n=10))
    """
    place = Place(ax, title, figsize, font_size)
    limit = _limit(strengths, threshold)
    values = np.sort(strengths.strength[np.triu_indices(len(strengths.nodes), 1)].round(12))
    if not values.size:
        raise ArgumentError("strengths has a single node, and so no pair of nodes to draw")
    ax = place.axes(5.2, 3.4)
    shares = np.arange(1, values.size + 1) / values.size
    ax.step(np.r_[0.0, values, 1.0], np.r_[0.0, shares, 1.0], where="post", color=style.CYCLE[0], linewidth=1.8)
    above = int((values > limit).sum())
    label = f"threshold {limit:.2f}: {above} of {values.size} pairs above"
    ax.axvline(limit, color=style.CYCLE[1], linewidth=1.2, linestyle=(0, (5, 3)), label=label)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("strength: share of the resamples in which two nodes are joined")
    ax.set_ylabel("share of pairs up to that strength")
    ax.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return finish(ax, place)
