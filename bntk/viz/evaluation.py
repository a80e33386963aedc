"""Pictures of evaluations: folds, critical differences of mean ranks, one measure against another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.evaluation.comparison import Comparison
from bntk.evaluation.result import CrossValidation
from bntk.evaluation.significance import Nemenyi
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.curves import MARKERS, finish
from bntk.viz.scene import Curve, Label, Point, Scene, one_line, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_ROW, _BAR, _GAP = 16.0, 7.0, 10.0  # heights of a name and of a bar, space between names and lines
_LONGEST = 44  # characters of a name


# ---- critical differences --------------------------------------------------------------------------------------------


def plot_critical_difference(
    result: Nemenyi,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw a critical-difference diagram: the mean ranks of classifiers, and which of them do not differ.

    Ranks are on the axis, the best one at the left. Thick bars join classifiers of which no two differ significantly;
    the bracket above the axis has the length of the critical difference (Demšar 2006, section 3.2.3).

    Parameters
    ----------
    result : Nemenyi
        The result of :func:`bntk.evaluation.nemenyi`, or ``compare(...).nemenyi``.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the names need.
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
    >>> from bntk.evaluation import nemenyi
    >>> axes = plot_critical_difference(nemenyi([[0.9, 0.8, 0.7], [0.8, 0.9, 0.7], [0.9, 0.8, 0.6], [0.7, 0.6, 0.5]]))
    """
    _checking.instance("result", result, Nemenyi, what="what bntk.evaluation.nemenyi returns")
    return draw(critical_difference_scene(result), Place(ax, title, figsize, font_size))


def critical_difference_scene(result: Nemenyi) -> Scene:
    """The scene of :func:`plot_critical_difference`."""
    ranks = result.ranks.sort_values(kind="stable")
    k = len(ranks)
    unit = max(34.0, 240.0 / (k - 1))
    place = {str(name): unit * (rank - 1) for name, rank in ranks.items()}
    scene = Scene()
    _add_axis(scene, k, unit)
    _add_bracket(scene, result.critical_difference, unit)
    levels = _levels([(place[group[0]], place[group[-1]]) for group in result.groups])
    for (start, end), level in levels:
        y = -_BAR * (level + 1)
        scene.items.append(_line((start - 3, y), (end + 3, y), 3.2, style.BAR))
    below = -_BAR * (1 + max((level for _, level in levels), default=-1)) - 14.0
    names = list(place)
    better = (k + 1) // 2
    _add_names(scene, result, names[:better], place, below, -_GAP, "right")
    _add_names(scene, result, names[better:][::-1], place, below, unit * (k - 1) + _GAP, "left")
    return scene


def _add_axis(scene: Scene, k: int, unit: float) -> None:
    scene.items.append(_line((0, 0), (unit * (k - 1), 0), 1.2, style.TEXT))
    for rank in range(1, k + 1):
        x = unit * (rank - 1)
        scene.items.append(_line((x, 0), (x, 5), 1.0, style.TEXT))
        scene.items.append(Label(x, 13, str(rank), style.STATE_SIZE + 1))


def _add_bracket(scene: Scene, length: float, unit: float) -> None:
    y, end = 32.0, length * unit
    scene.items.append(_line((0, y), (end, y), 1.2, style.MUTED))
    scene.items += [_line((x, y - 3), (x, y + 3), 1.2, style.MUTED) for x in (0.0, end)]
    scene.items.append(Label(end / 2, y + 10, f"critical difference {length:.2f}", style.STATE_SIZE + 1))


def _add_names(
    scene: Scene, result: Nemenyi, names: list[str], place: dict[str, float], top: float, edge: float, align: str
) -> None:
    """Names at one side, the outermost on the axis at the top, so that no two lines cross."""
    by_name = {str(name): rank for name, rank in result.ranks.items()}
    outwards = -1 if align == "right" else 1
    for row, name in enumerate(names):
        x, y = place[name], top - _ROW * row
        scene.items.append(_line((x, 0), (x, y), 0.9, style.ARC))
        scene.items.append(_line((x, y), (edge, y), 0.9, style.ARC))
        text = f"{one_line(name, _LONGEST)}  {by_name[name]:.2f}"
        scene.items.append(Label(edge + outwards * 4, y, text, style.NAME_SIZE, align))


def _levels(bars: list[tuple[float, float]]) -> list[tuple[tuple[float, float], int]]:
    """Each bar with the highest level, from 0, in which it overlaps no other."""
    ends: list[float] = []
    found = []
    for start, end in bars:
        level = next((i for i, last in enumerate(ends) if last + 12 < start), len(ends))
        ends[level:] = [end, *ends[level + 1 :]]
        found.append(((start, end), level))
    return found


def _line(start: Point, end: Point, width: float, colour: str) -> Curve:
    third = [((2 - i) * start[0] + (1 + i) * end[0], (2 - i) * start[1] + (1 + i) * end[1]) for i in (0, 1)]
    return Curve((start, *((x / 3, y / 3) for x, y in third), end), width, colour)


# ---- folds -----------------------------------------------------------------------------------------------------------


def plot_folds(
    result: CrossValidation,
    measure: str | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw the values of a measure in all splits: a box per estimator, a point per split.

    A box is from the first to the third quartile with a line at the median, its line from the least to the
    largest value; the diamond is the mean.

    Parameters
    ----------
    result : CrossValidation
        The result of :func:`bntk.evaluation.cross_validate`.
    measure : str, optional
        By default the first one.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the estimators need.
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
    >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
    >>> result = bntk.evaluation.cross_validate(bntk.TAN(), rows.drop(columns="dysp"), rows["dysp"], cv=3)
    >>> axes = plot_folds(result, "log_loss")
    """
    _checking.instance("result", result, CrossValidation, what="what bntk.evaluation.cross_validate returns")
    place = Place(ax, title, figsize, font_size)
    names = result.estimators
    name = result._column(measure)
    ax = place.axes(4.4 + _inches(names), 0.9 + 0.34 * len(names) + (0.3 if title else 0.0))
    for y, estimator in enumerate(names):
        values = result.values(estimator, name).dropna().to_numpy()
        if values.size:
            _add_box(ax, y, values, style.CYCLE[0])
    ax.set_yticks(range(len(names)), [one_line(each, _LONGEST) for each in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    better = result.measures.get(name)
    hint = "" if better is None else "  (larger is better)" if better else "  (smaller is better)"
    ax.set_xlabel(f"{name}{hint}", parse_math=False)
    return finish(ax, place)


def _add_box(ax: Axes, y: int, values: NDArray[np.float64], colour: str) -> None:
    least, low, middle, high, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    ax.plot([least, most], [y, y], color=colour, linewidth=1.0, zorder=2)
    ax.barh(y, high - low, left=low, height=0.5, facecolor="#dbe7f2", edgecolor=colour, linewidth=1.0, zorder=3)
    ax.plot([middle, middle], [y - 0.25, y + 0.25], color=colour, linewidth=1.6, zorder=4)
    ax.scatter(values, np.full(len(values), y), 9, color=style.TEXT, alpha=0.55, linewidth=0, zorder=5)
    ax.scatter([values.mean()], [y], 34, marker="D", color=style.CYCLE[1], edgecolor="white", linewidth=0.7, zorder=6)


# ---- one measure against another -------------------------------------------------------------------------------------


def plot_scatter(
    result: Comparison,
    x: str = "log_loss",
    y: str = "accuracy",
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw one measure against another, a point per data set and estimator.

    Losses have the opposite sign, so that the best points are at the top right: minus log loss is the mean log
    likelihood of the classes. Of several data sets each value is less the mean of its data set, since data sets differ
    more than estimators do.

    Parameters
    ----------
    result : Comparison
        The result of :func:`bntk.evaluation.compare`.
    x, y : str
        Two of its measures.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    title : str, optional
        The title of the picture; by default the rank correlation of the two measures.
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
    >>> rows = bntk.datasets.asia().sample(200, seed=1).to_pandas()
    >>> datasets = {name: (rows.drop(columns=name), rows[name]) for name in ("dysp", "bronc")}
    >>> result = bntk.evaluation.compare({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, datasets, cv=3)
    >>> axes = plot_scatter(result)
    """
    _checking.instance("result", result, Comparison, what="what bntk.evaluation.compare returns")
    place = Place(ax, title, figsize, font_size)
    tables, names = [result._oriented(each) for each in (x, y)], [result._known(each) for each in (x, y)]
    centred = len(result.datasets) > 1
    if centred:
        tables = [table.sub(table.mean(axis=1), axis=0) for table in tables]
    ax = place.axes(5.0 + _inches(result.estimators), max(4.0, 0.9 + 0.22 * len(result.estimators)))
    for i, estimator in enumerate(result.estimators):
        turn = i // len(style.CYCLE)
        ax.scatter(
            tables[0][estimator],
            tables[1][estimator],
            36,
            color=style.CYCLE[i % len(style.CYCLE)],
            marker=MARKERS[(i + turn) % len(MARKERS)],
            edgecolor="white",
            linewidth=0.5,
            label=one_line(estimator, _LONGEST),
            zorder=3,
        )
    labels = [f"{'' if result.measures[name] else 'minus '}{name}" for name in names]
    labels = [f"{label}, less the mean of the data set" if centred else label for label in labels]
    ax.set_xlabel(labels[0], parse_math=False)
    ax.set_ylabel(labels[1], parse_math=False)
    legend = ax.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)
    found = result.rank_correlation(x, y)
    return finish(ax, place, f"rank correlation {found.mean:+.2f}")


def _inches(names: list[str]) -> float:
    """The width of the longest name."""
    return max(text_width(one_line(name, _LONGEST), 10.0) for name in names) / 72
