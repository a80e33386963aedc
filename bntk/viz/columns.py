"""Pictures of tables: a card for each variable, with the shares of its states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from bntk import _checking
from bntk.data.table import Table
from bntk.data.variable import state_text
from bntk.errors import DataError
from bntk.viz import style
from bntk.viz.axes import Place, draw
from bntk.viz.bars import Bars, shown_states
from bntk.viz.picture import add_legend, node_items, node_size, note
from bntk.viz.scene import Page, Scene, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Variables that a picture shows unless others are asked for.
MOST_CARDS = 60
_GAP = 10.0


def plot_table(
    table: Table,
    names: str | Iterable[str] | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw the variables of a table: the states of each with their shares, and how many cells are missing.

    Parameters
    ----------
    table : Table
        The table.
    names : str or iterable of str, optional
        Which variables; by default the first 60. Of one with more than five states, the four most frequent are shown.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure of the size that the variables need.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches, which the picture is fitted into.
    font_size : float, optional
        Size of the names in points, 10 by default; a new figure without ``figsize`` grows with it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import bntk
    >>> axes = plot_table(bntk.datasets.asia().sample(500, seed=0))
    """
    place = Place(ax, title, figsize, font_size)
    cards, rest = table_cards(table, names)
    return draw(lambda page: cards_scene(cards, table.n_rows, rest, page), place)


def table_scene(table: Table, names: str | Iterable[str] | None = None) -> Scene:
    """The scene of :func:`plot_table`."""
    cards, rest = table_cards(table, names)
    return cards_scene(cards, table.n_rows, rest)


def table_cards(table: Table, names: str | Iterable[str] | None = None) -> tuple[dict[str, Bars], int]:
    """The bars of each variable that is shown, and how many variables are not."""
    _checking.instance("table", table, Table, what="a bntk.Table", error=DataError)
    wanted = table.names[:MOST_CARDS] if names is None else _checking.names("names", names, "names of variables")
    cards = {name: _bars(table, table.index(name)) for name in wanted}
    return cards, table.n_variables - len(cards) if names is None else 0


def _bars(table: Table, i: int) -> Bars:
    variable = table.variables[i]
    counts = np.bincount(table.codes[i], minlength=variable.n_states + 1)
    known = counts[: variable.n_states]
    shares = known / max(1, known.sum())
    places = shown_states(shares)
    return Bars(
        tuple(one_line(state_text(variable.states[k]), 16) for k in places),
        tuple(float(shares[k]) for k in places),
        len(shares) - len(places),
        float(counts[variable.n_states] / max(1, table.n_rows)),
    )


def cards_scene(cards: dict[str, Bars], n_rows: int, rest: int = 0, page: Page | None = None) -> Scene:
    """Cards in rows, in their order, columns one below the other."""
    page = Page() if page is None else page
    sizes = {name: node_size(name, style.PLAIN, bars, page.space) for name, bars in cards.items()}
    gap = _GAP * page.space
    wide = max((width for width, _ in sizes.values()), default=0.0) + gap
    area = sum((height + gap) * wide for _, height in sizes.values())
    columns = max(1, round((page.width or max(1.3 * area**0.5, 2 * wide)) / wide))
    scene = Scene()
    top, names = 0.0, list(cards)
    for start in range(0, len(names), columns):
        row = names[start : start + columns]
        high = max(sizes[name][1] for name in row)
        for k, name in enumerate(row):
            size = (wide - gap, sizes[name][1])
            scene.items += node_items(name, (k * wide, top - size[1] / 2), size, style.PLAIN, cards[name], page.space)
        top -= high + gap
    told = f"{n_rows:,} row{'' if n_rows == 1 else 's'}" + (f", and {rest:,} more variables" if rest else "")
    missing = any(bars.missing for bars in cards.values())
    add_legend(scene, [note(told), *([note("shares are those of the rows with a value")] if missing else [])])
    return scene
