"""The explanations of many rows: what each feature adds to the log odds, a point for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._checking import whole_number, wrong
from bntk.data.variable import state_text
from bntk.viz import style
from bntk.viz.axes import Place
from bntk.viz.importances import labelled_axes
from bntk.viz.scene import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More points on a line cannot be told apart; of more rows, every second, third ... is drawn.
MOST_ROWS = 1000
GOLDEN = 0.618033988749895


def plot_explanations(
    explanations: Any,
    most: int = 15,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw what features add to the log odds of rows: a line for each feature, and on it a point for each row.

    The features with the largest mean contribution are above. At both ends of a line is the state that adds least, and
    the one that adds most.

    Parameters
    ----------
    explanations : Explanations
        The result of ``explain_rows``.
    most : int
        Of more features, only so many are drawn.
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
    >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
    >>> ax = bntk.TAN().fit(X, y).explain_rows(X, of="yes").plot(most=3)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['bronc', 'smoke', 'lung']
    """
    from bntk.classifiers.explain import Explanations

    place = Place(ax, title, figsize, font_size)
    if not isinstance(explanations, Explanations):
        raise wrong("explanations", "the result of explain_rows", explanations)
    most = whole_number("most", most, 1)
    names = explanations.mean_abs.index[:most].tolist()
    columns = [explanations.log_odds.columns.get_loc(name) for name in names]
    step = -(-len(explanations) // MOST_ROWS) if len(explanations) else 1
    axes = labelled_axes(place, max(1, len(names)))
    axes.axvline(0, color=style.MUTED, linewidth=1, zorder=1)
    all_values, all_states = explanations.log_odds.to_numpy(), explanations.states.to_numpy()
    for line, column in enumerate(columns):
        values, states = all_values[:, column], all_states[:, column]
        present = np.flatnonzero(explanations._present[:, column] & np.isfinite(values))
        shown = present[::step]
        spread = 0.28 * (2 * np.mod(GOLDEN * np.arange(len(shown)), 1) - 1)
        colour = style.BAR if line % 2 == 0 else style.ARC
        axes.scatter(values[shown], line + spread, s=12, color=colour, alpha=0.5, linewidths=0, zorder=2)
        if not len(present):
            continue
        low, high = present[np.argmin(values[present])], present[np.argmax(values[present])]
        if states[low] is not None and values[low] < values[high]:
            for row, side, align in ((low, -1, "right"), (high, 1, "left")):
                axes.annotate(
                    one_line(_written(states[row]), 18), (values[row], line), xytext=(6 * side, 0), ha=align,
                    va="center", textcoords="offset points", fontsize=8, color=style.MUTED, parse_math=False,
                )  # fmt: skip
    axes.set_yticks(range(len(names)), [one_line(str(name), 28) for name in names], parse_math=False)
    axes.margins(x=0.25)  # for the states at both ends
    pairs = {*zip(explanations.of.tolist(), explanations.against.tolist(), strict=True)}
    question = "{} against {}".format(*pairs.pop()) if len(pairs) == 1 else "the class against the next"
    axes.set_xlabel(f"added to the log odds of {question}", parse_math=False)
    return place.finish(axes)


def _written(state: Any) -> str:
    return f"{state:.3g}" if isinstance(state, float) else str(state_text(state))
