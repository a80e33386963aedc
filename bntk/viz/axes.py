"""Scenes drawn with matplotlib, text growing and shrinking with the boxes around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bntk._checking import text, wrong
from bntk.viz.scene import Box, Label, Scene, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = 26.0  # height of a title, in points
_LARGEST = 1.3  # a scene is enlarged no more than this to fill axes


def draw(scene: Scene, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw a scene into axes, by default into those of a new figure of its size."""
    check_place(ax, title)
    left, right, bottom, top = scene.frame()
    if ax is None:
        ax = new_axes(right - left, top - bottom, title)
    _add_curves(ax, scene)
    for item in scene.items:
        if isinstance(item, Box):
            _add_box(ax, item)
        elif isinstance(item, Label):
            ax.add_artist(_label_artist(item))
    spare_x, spare_y = _spare(ax, right - left, top - bottom)
    ax.set_xlim(left - spare_x, right + spare_x)
    ax.set_ylim(bottom - spare_y, top + spare_y)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title, parse_math=False)
    return ax


def check_place(ax: Axes | None, title: str | None) -> None:
    """Refuse what is no place to draw on, or no title."""
    if ax is not None and not hasattr(ax, "add_patch"):
        raise wrong("ax", "matplotlib Axes, such as those of plt.subplots(), or None", ax)
    if title is not None:
        text("title", title, "a string, or None")


def new_axes(width: float, height: float, title: str | None = None) -> Axes:
    """Axes that fill a new figure of that size, in points, but for a title."""
    import matplotlib.pyplot as plt

    above, written = (0.0, 0.0) if title is None else (_TITLE, title_width(title))
    width, height = max(width, written, 60.0), max(height, 30.0)
    figure = plt.figure(figsize=(width / 72, (height + above) / 72))
    axes: Any = figure.add_axes((0, 0, 1, height / (height + above)))
    return axes


def title_width(title: str) -> float:
    """The width that a figure needs for its title, in points."""
    return max(text_width(line, 12.0) for line in title.split("\n")) + 16.0


def _spare(ax: Axes, width: float, height: float) -> tuple[float, float]:
    """Space to leave at both sides so that a small scene is not blown up in large axes."""
    box = ax.get_window_extent()
    points = 72 / ax.figure.dpi
    scale = min(box.width * points / width, box.height * points / height)
    if scale <= _LARGEST:
        return 0.0, 0.0
    return (
        max(0.0, (box.width * points / _LARGEST - width) / 2),
        max(0.0, (box.height * points / _LARGEST - height) / 2),
    )


def _add_curves(ax: Axes, scene: Scene) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    for order, curve in enumerate(scene.curves()):
        points = curve.shaft()
        codes = [Path.MOVETO] + [Path.CURVE4] * (len(points) - 1)
        style = (0, tuple(d / max(curve.width, 0.1) for d in curve.dash)) if curve.dash else "solid"
        above = 1 + order * 1e-4  # in the order of the scene, below boxes
        line = PathPatch(
            Path(points, codes),
            facecolor="none",
            edgecolor=curve.colour,
            linewidth=curve.width,
            linestyle=style,
            capstyle="butt",
            zorder=above,
        )
        ax.add_patch(line)
        if curve.arrow:
            ax.add_patch(Polygon(curve.head(), closed=True, facecolor=curve.colour, edgecolor="none", zorder=above))


def _add_box(ax: Axes, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style: dict[str, Any] = {"facecolor": box.fill, "edgecolor": box.edge, "linewidth": box.line, "zorder": 2}
    if box.radius:
        shape = f"round,pad=0,rounding_size={box.radius}"
        ax.add_patch(FancyBboxPatch(corner, box.width, box.height, boxstyle=shape, mutation_aspect=1, **style))
    else:
        ax.add_patch(Rectangle(corner, box.width, box.height, **style))


def _label_artist(label: Label) -> Any:
    from bntk.viz.scaled_text import ScaledText

    artist = ScaledText(
        label.x,
        label.y,
        label.text,
        color=label.colour,
        ha=label.align,
        va="center_baseline",
        weight="bold" if label.bold else "normal",
        family=_families(),
        parse_math=False,
        usetex=False,
        zorder=3,
    )
    artist.points = label.size
    return artist


def _families() -> list[str]:
    """The font that boxes are measured for, then the user's font: it may have letters that the first lacks."""
    import matplotlib as mpl

    return list(dict.fromkeys(["DejaVu Sans", *mpl.rcParams["font.family"]]))
