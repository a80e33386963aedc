"""The importances of the features of a classifier, as labelled bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._checking import whole_number, wrong
from bntk.viz import style
from bntk.viz.axes import Place
from bntk.viz.scene import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_importances(
    classifier: Any,
    most: int = 20,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw how much each feature tells about the class: ``feature_importances_`` as bars, the largest above.

    Parameters
    ----------
    classifier : classifier
        Fitted, of one class variable.
    most : int
        Of more features, only so many are drawn; the last bar is the sum of all others.
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
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> ax = bntk.viz.plot_importances(bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]), most=3)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['bronc', 'lung', 'smoke', '4 others']
    """
    from bntk.classifiers import BayesClassifier

    place = Place(ax, title, figsize, font_size)
    if not isinstance(classifier, BayesClassifier):
        raise wrong("classifier", "a fitted classifier of one class variable", classifier)
    most = whole_number("most", most, 1)
    values, names = classifier.feature_importances_, list(classifier.features_.names)
    order = np.argsort(-values, kind="stable")
    shown = [(one_line(names[v], 28), float(values[v])) for v in order[:most]]
    if len(order) > most:
        others = order[most:]
        shown.append((f"{len(others)} others" if len(others) > 1 else "1 other", float(values[others].sum())))
    axes = labelled_axes(place, len(shown))
    lengths = [value for _, value in shown]
    bars = axes.barh(range(len(shown)), lengths, color=style.BAR, height=0.7)
    if len(order) > most:
        bars[-1].set_color(style.MUTED)
    axes.bar_label(bars, [f"{value:.1%}" for value in lengths], padding=3, fontsize=9, color=style.TEXT)
    axes.set_yticks(range(len(shown)), [name for name, _ in shown], parse_math=False)
    axes.set_xlim(0, max([*lengths, 1e-9]) * 1.15)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    axes.set_xlabel(f"share of the information about {classifier.target_name_}", parse_math=False)
    return place.finish(axes)


def labelled_axes(place: Place, n_lines: int) -> Axes:
    """Axes for lines below each other, the first one above; by default those of a new figure of the size needed."""
    ax = place.axes(6.4, 1.0 + 0.28 * max(n_lines, 2))
    ax.set_ylim(n_lines - 0.4, -0.6)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
