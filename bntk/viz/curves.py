"""Curves: the calibration of predicted probabilities, and the course of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bntk import _checking
from bntk.errors import DataError
from bntk.evaluation.calibration import reliability
from bntk.viz import style
from bntk.viz.axes import Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bntk.learning.search.base import SearchResult

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":")


def plot_reliability(
    y_true: ArrayLike,
    probabilities: ArrayLike | Mapping[str, ArrayLike],
    *,
    classes: Sequence[Any] | None = None,
    n_bins: int = 10,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw a reliability diagram: the observed frequencies of classes against the predicted probabilities.

    Well calibrated probabilities lie on the diagonal. Points are bins, larger where they have more rows; the legend has
    the expected calibration error.

    Parameters
    ----------
    y_true : array_like of shape (n_rows,)
        The true labels; or true and false, 1 and 0, for probabilities of shape (n_rows,).
    probabilities : array_like of shape (n_rows,) or (n_rows, n_classes), or mapping of name to such an array
        The predicted probabilities, see :func:`bntk.viz.reliability`; a mapping draws several classifiers.
    classes : sequence, optional
        The labels of the columns, sorted by default, as in ``classes_`` of a classifier.
    n_bins : int
        The number of bins.
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
    >>> axes = plot_reliability([0, 1, 1, 1], {"one": [0.2, 0.7, 0.8, 0.8], "other": [0.4, 0.6, 0.5, 0.9]})
    """
    place = Place(ax, title, figsize, font_size)
    several = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    if not several:
        raise DataError("there are no probabilities to draw")
    curves = {name: reliability(y_true, values, classes=classes, n_bins=n_bins) for name, values in several.items()}
    two_sided = all(np.asarray(values).ndim == 1 for values in several.values())
    ax = place.axes(4.6, 4.4)
    ax.plot([0, 1], [0, 1], color="#9aa5b1", linewidth=1.0, zorder=1)
    for i, (name, bins) in enumerate(curves.items()):
        colour = style.CYCLE[i % len(style.CYCLE)]
        label = f"{name}  (error {bins.error:.3f})" if name else f"calibration error {bins.error:.3f}"
        dash, marker = _DASHES[i // len(style.CYCLE) % len(_DASHES)], MARKERS[i % len(MARKERS)]
        ax.plot(bins.predicted, bins.observed, color=colour, linestyle=dash, linewidth=1.5, zorder=2)
        sizes = 14.0 + 110.0 * bins.counts / bins.counts.max()
        ax.scatter(
            bins.predicted, bins.observed, sizes, color=colour, marker=marker, edgecolor="white", zorder=3, label=label
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("predicted probability" if two_sided else "probability of the predicted class")
    ax.set_ylabel("share that came true" if two_sided else "share that was right")
    legend = ax.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    handles: list[Any] = legend.legend_handles
    for handle, text in zip(handles, legend.get_texts(), strict=True):
        handle.set_sizes([45.0])
        text.set_parse_math(False)
    return finish(ax, place)


def plot_search(
    result: SearchResult,
    *,
    x: str = "step",
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw the score after each step of a search.

    Parameters
    ----------
    result : SearchResult
        The result of :func:`bntk.learn_structure`, or ``network.report`` after :func:`bntk.learn`.
    x : {"step", "seconds"}
        The unit of the horizontal axis.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    title : str, optional
        The title of the picture, by default the name of the search.
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
    >>> rows = bntk.datasets.sprinkler().sample(200, seed=0)
    >>> axes = plot_search(bntk.learn_structure(rows, "bic", search="hc"))
    """
    _checking.one_of("x", x, ("step", "seconds"))
    place = Place(ax, title, figsize, font_size)
    if not hasattr(result, "trace") or not hasattr(result, "search"):
        raise _checking.wrong("result", "a SearchResult, as bntk.learn_structure returns it", result)
    scores = np.array([step.score for step in result.trace])
    along = np.array([step.seconds for step in result.trace]) if x == "seconds" else np.arange(1, scores.size + 1)
    ax = place.axes(5.6, 3.4)
    few = scores.size <= 40
    if scores.size:
        best = np.maximum.accumulate(scores)
        if (best > scores).any():
            ax.plot(along, best, color="#9aa5b1", linewidth=1.0, label="best so far")
        ax.plot(along, scores, color=style.CYCLE[0], linewidth=1.5, marker="o" if few else "", markersize=3.5)
    else:
        ax.plot([1], [result.score], color=style.CYCLE[0], marker="o", linestyle="")
    note = "  (exact)" if result.exact else "  (interrupted)" if result.interrupted else ""
    label = f"result  {result.score:,.2f}{note}"
    ax.axhline(result.score, color=style.CYCLE[1], linewidth=1.0, linestyle=(0, (5, 3)), zorder=1, label=label)
    ax.set_xlabel(x if x == "seconds" else "accepted step")
    ax.set_ylabel("score")
    if x == "step":
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_formatter("{x:,.6g}")
    ax.margins(y=0.12)
    ax.legend(loc="lower right", frameon=False, fontsize=9)
    return finish(ax, place, result.search.split("(")[0])


def finish(ax: Axes, place: Place, title: str | None = None) -> Axes:
    """Grid, borders and title of a plot with axes."""
    ax.grid(color="#e3e7ec", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return place.finish(ax, title)
