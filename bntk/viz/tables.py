"""Heat maps: conditional probability tables and confusion matrices."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import CPT
from bntk.data.class_order import common_order, label_column
from bntk.data.variable import state_text
from bntk.errors import DataError
from bntk.viz import style
from bntk.viz.axes import Place, title_width
from bntk.viz.scene import one_line, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELLED = 64  # rows of a heat map with labels, and numbers in the cells
_FONT = 9.0


def plot_cpt(
    cpt: CPT,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw a conditional probability table as a heat map, with one row per parent configuration.

    Parameters
    ----------
    cpt : CPT
        The table.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the table needs.
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
    >>> axes = plot_cpt(bntk.datasets.asia().cpt("dysp"))
    """
    _checking.instance("cpt", cpt, CPT, error=DataError)
    place = Place(ax, title, figsize, font_size)
    columns = [one_line(state_text(state), 18) for state in cpt.child.states]
    rows = [
        [one_line(state_text(state), 18) for state in states]
        for states in itertools.islice(itertools.product(*(p.states for p in cpt.parents)), _MOST_LABELLED + 1)
    ]
    names = [one_line(p.name, 24) for p in cpt.parents]
    widths = [
        max([text_width(name, _FONT, bold=True), *(text_width(row[i], _FONT) for row in rows)])
        for i, name in enumerate(names)
    ]
    labels = sum(widths) + 12.0 * len(widths)
    cells = max(46.0, *(text_width(c, _FONT) + 12.0 for c in columns))
    if ax is None:
        n = cpt.n_configurations
        height = min((22.0 if n <= 12 else 16.0) * n, 1000.0)
        ax = _heat_axes(labels if n <= _MOST_LABELLED else 20.0, cells * len(columns), height, 10.0, 40.0, place)
    values = cpt.matrix
    _heat(ax, values, 1.0, _two_digits if len(values) <= _MOST_LABELLED else None)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks(range(len(columns)), columns, fontsize=_FONT, rotation=0, parse_math=False)
    ax.set_xlabel(one_line(cpt.name), fontsize=_FONT, weight="bold", parse_math=False)
    ax.set_yticks([])
    if len(rows) <= _MOST_LABELLED and names:
        _row_labels(ax, names, rows, widths)
    elif names:
        ax.set_ylabel(f"{cpt.n_configurations:,} configurations of {one_line(', '.join(names), 60)}", parse_math=False)
    return place.finish(ax)


def _row_labels(ax: Axes, names: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
    """A column for each parent, to the left of the table; a state is written where it changes."""
    ends = np.cumsum([width + 12.0 for width in widths][::-1])[::-1]
    for column, (name, end) in enumerate(zip(names, ends, strict=True)):
        options: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "left",
            "va": "center",
            "fontsize": _FONT,
            "parse_math": False,
        }
        place = ax.get_yaxis_transform()
        ax.annotate(name, (0, -0.5), (-end, 9.0), xycoords=place, weight="bold", annotation_clip=False, **options)
        for r, row in enumerate(rows):
            if r == 0 or row[: column + 1] != rows[r - 1][: column + 1]:
                ax.annotate(row[column], (0, r), (-end, 0), xycoords=place, annotation_clip=False, **options)
    # A thin line wherever the state of the first parent changes.
    if len(names) > 1:
        for r in range(1, len(rows)):
            if rows[r][0] != rows[r - 1][0]:
                ax.axhline(r - 0.5, color=style.MUTED, linewidth=0.8)


def plot_confusion(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    normalize: str | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw a confusion matrix, with one row per true class and one column per predicted class.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n_rows,)
        The true and the predicted labels.
    labels : sequence, optional
        The classes, in this order; by default those of ordered categories, else all that occur, sorted.
    normalize : {None, "true", "pred", "all"}
        Cells are counts, or shares of their row, of their column, or of all rows. Colours are shares of the row by
        default, so that a rare class is as visible as a frequent one.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the matrix needs.
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
    >>> axes = plot_confusion(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    """
    place = Place(ax, title, figsize, font_size)
    _checking.one_of("normalize", normalize, (None, "true", "pred", "all"))
    classes, counts = _confusion(y_true, y_pred, labels)
    shares = _shares(counts, "true" if normalize is None else normalize)
    texts = [one_line(state_text(c), 18) for c in classes]
    n = len(classes)
    wide = max(text_width(text, _FONT) for text in texts)
    size = max(18.0, min(46.0, 520.0 / n), 0.0 if n > 8 else min(wide + 10.0, 80.0))
    if ax is None:
        below = 30.0 + (wide if wide > size - 4.0 else _FONT)
        ax = _heat_axes(wide + 30.0, size * n, max(22.0, min(size, 40.0)) * n, below, 6.0, place, "accuracy 0.000")
    write = (lambda r, c: f"{counts[r, c]:,}" if counts[r, c] else "") if normalize is None else None
    formatter = write or (lambda r, c: _two_digits(shares[r, c]) if counts[r, c] else "")
    _heat(ax, shares, max(float(shares.max(initial=0.0)), 1e-12), formatter if n <= 40 else None, True)
    crowded = wide > size - 4.0
    ticks: dict[str, Any] = {"fontsize": _FONT if n <= 30 else 7.0, "parse_math": False}
    ax.set_xticks(range(n), texts, rotation=90 if crowded else 0, **ticks)
    ax.set_yticks(range(n), texts, **ticks)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    right = np.trace(counts) / max(1, counts.sum())
    return place.finish(ax, f"accuracy {right:.3f}")


def _confusion(
    y_true: ArrayLike, y_pred: ArrayLike, labels: Sequence[Any] | None
) -> tuple[list[Any], NDArray[np.int64]]:
    truth = _checking.array("y_true", y_true, error=DataError)
    found = _checking.array("y_pred", y_pred, error=DataError)
    if truth.ndim != 1 or truth.shape != found.shape:
        raise DataError(f"y_true and y_pred must be rows of labels of one length; got {truth.shape} and {found.shape}")
    if not truth.size:
        raise DataError("y_true is empty; there is nothing to count")
    pairs = [x.tolist() for x in (truth, found)]
    for label in (*pairs[0], *pairs[1]):
        if not isinstance(label, Hashable):
            raise DataError(f"a label is a string, a number or the like; got {_checking.shown(label)}")
    seen = set(pairs[0]) | set(pairs[1])
    if labels is None:
        labels = common_order(label_column("y_true", y_true), label_column("y_pred", y_pred))
    if labels is None:
        classes = sorted(seen) if len({type(x) for x in seen}) == 1 else sorted(seen, key=str)
    else:
        listed = _checking.several("labels", labels, "classes", DataError)
        classes = np.asarray(labels).tolist() if isinstance(labels, np.ndarray) else listed
        for label in classes:
            if not isinstance(label, Hashable):
                raise _checking.wrong("each of labels", "a class", label, DataError)
        unknown = sorted(map(str, seen - set(classes)))
        if unknown:
            raise DataError(f"labels: {unknown[:8]} occur but are not among {classes}")
    position = {label: i for i, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, ([position[x] for x in pairs[0]], [position[x] for x in pairs[1]]), 1)
    return classes, counts


def _shares(counts: NDArray[np.int64], normalize: str) -> NDArray[np.float64]:
    axes: dict[str, Any] = {"true": 1, "pred": 0, "all": None}
    total = counts.sum(axis=axes[normalize], keepdims=True)
    return np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)


# ---- what both share -------------------------------------------------------------------------------------------------


def _two_digits(p: float) -> str:
    return (
        "0"
        if p == 0
        else "1"
        if p == 1
        else "<.01"
        if p < 0.005
        else f"{p:.2f}".removeprefix("0")
        if p < 0.995
        else ">.99"
    )


def _heat_axes(
    left: float, width: float, height: float, bottom: float, top: float, place: Place, title: str | None = None
) -> Axes:
    """Axes for cells of that size, in points, in a new figure with room for labels and a title.

    In a figure of a given size the labels keep their room, as far as that leaves half of the figure to the cells.
    """
    import matplotlib.pyplot as plt

    title = title if place.title is None else place.title
    margin = 10.0
    beside = 0.0 if title is None else max(0.0, (title_width(title) - width) / 2)  # what the title reaches out
    left, right = max(left + margin, beside), max(margin, beside)
    top += 0.0 if title is None else 22.0
    left, right, bottom, top, width, height = (place.zoom * side for side in (left, right, bottom, top, width, height))
    full, high = left + width + right, height + bottom + top
    if place.figsize is not None:
        full, high = 72 * place.figsize[0], 72 * place.figsize[1]
        narrow, low = min(1.0, full / 2 / (left + right)), min(1.0, high / 2 / (bottom + top))
        left, right, bottom, top = left * narrow, right * narrow, bottom * low, top * low
    figure = plt.figure(figsize=(full / 72, high / 72))
    cells = (left / full, bottom / high, (full - left - right) / full, (high - bottom - top) / high)
    axes: Any = figure.add_axes(cells)
    return axes


def _heat(ax: Axes, values: NDArray[np.float64], largest: float, write: Any, by_place: bool = False) -> None:
    """Cells coloured by value, with text that is white where they are dark."""
    ax.imshow(values, cmap="Blues", vmin=0, vmax=largest, aspect="auto", interpolation="nearest")
    ax.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
    if values.shape[0] <= 200:
        ax.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="both", length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if write is None:
        return
    size = _FONT if max(values.shape) <= 16 else 7.0
    for (r, c), value in np.ndenumerate(values):
        colour = "white" if value > 0.65 * largest else style.TEXT
        text = write(r, c) if by_place else write(value)
        ax.text(c, r, text, ha="center", va="center", fontsize=size, color=colour)
