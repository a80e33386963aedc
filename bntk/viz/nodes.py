"""A picture of numbers of nodes, such as their scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk import _checking
from bntk.errors import DataError
from bntk.viz import style
from bntk.viz.axes import Place
from bntk.viz.curves import finish
from bntk.viz.scene import one_line, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 40
_HATCHES = ("", "////", "....", "xxxx")


def plot_node_scores(
    scores: Mapping[str, float] | Mapping[str, Mapping[str, float]],
    *,
    order: str = "nodes",
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw the score of each node as a bar, for one structure or several.

    Parameters
    ----------
    scores : mapping of node to number, or mapping of name to such a mapping
        What :func:`bntk.scores.score_by_node` returns; by name for several structures over the same nodes.
    order : {"nodes", "score"}
        Nodes in their order, or those with the lowest score (of the first structure) at the top.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the nodes need.
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
    >>> asia = bntk.datasets.asia()
    >>> rows = asia.sample(500, seed=0)
    >>> axes = plot_node_scores(bntk.scores.score_by_node(asia.dag, rows, "bic"))
    """
    place = Place(ax, title, figsize, font_size)
    _checking.one_of("order", order, ("nodes", "score"))
    several = _several(scores)
    first = next(iter(several.values()))
    names = list(first) if order == "nodes" else sorted(first, key=lambda name: first[name])
    widest = max(text_width(one_line(name, _LONGEST), 10.0) for name in names) / 72
    thick = 0.8 / len(several)
    ax = place.axes(4.2 + widest, 0.9 + 0.26 * len(names) * max(1.0, 0.6 * len(several)))
    for k, (label, values) in enumerate(several.items()):
        at = np.arange(len(names)) + thick * (k - (len(several) - 1) / 2)
        ax.barh(
            at,
            [values[name] for name in names],
            thick,
            color=style.CYCLE[k % len(style.CYCLE)],
            edgecolor="white",
            linewidth=0.4,
            hatch=_HATCHES[k % len(_HATCHES)],
            label=one_line(label, _LONGEST),
        )
    ax.set_yticks(range(len(names)), [one_line(name, _LONGEST) for name in names])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel("score of the node given its parents")
    if len(several) > 1:
        legend = ax.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return finish(ax, place)


def _several(scores: Any) -> dict[str, dict[str, float]]:
    """The numbers of each structure, checked."""
    expected = "{node: score}, as score_by_node returns it, or {name: such a mapping}"
    given = _checking.mapping("scores", scores, expected, DataError)
    if not given:
        raise DataError("scores is empty: there is no node to draw")
    nested = all(isinstance(values, Mapping) for values in given.values())
    several = {str(name): dict(values) for name, values in given.items()} if nested else {"": dict(given)}
    nodes = set(next(iter(several.values())))
    for name, values in several.items():
        if set(values) != nodes or not nodes:
            raise DataError(f"scores: {name!r} must have a number for each node of the first structure, and no other")
        for node, value in values.items():
            if not _checking.is_number(value) or not np.isfinite(value):
                raise DataError(f"scores: {node!r} has {_checking.shown(value)}; a score is a finite number")
    return {name: {str(node): float(value) for node, value in values.items()} for name, values in several.items()}
