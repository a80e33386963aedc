"""Where pictures are drawn: axes, figures and their text; scenes, whose text grows and shrinks with its boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bntk._checking import is_number, wrong
from bntk._checking import text as checked_text
from bntk.errors import ArgumentError
from bntk.viz.scene import Box, Label, Page, Scene, text_width
from bntk.viz.style import NAME_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = 26.0  # height of a title, in points
_LARGEST = 1.3  # a scene is enlarged no more than this to fill axes
_READABLE = 0.9  # a scene that fits at this scale is not laid out again
_SPACES = (0.6, 0.4)  # free space to try, as a share of the usual one, where the text would be small
_MOST_INCHES, _MOST_POINTS = 200.0, 200.0


@dataclass(frozen=True)
class Place:
    """Where a picture is drawn, and how large: the options that all plots share.

    Attributes
    ----------
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    title : str, optional
    figsize : (float, float), optional
        Width and height of the new figure, in inches; by default what the picture needs.
    font_size : float, optional
        Size of names and labels in points, 10 by default; other text is in proportion, and so is a new figure without
        ``figsize``.
    """

    ax: Axes | None = None
    title: str | None = None
    figsize: tuple[float, float] | None = None
    font_size: float | None = None

    def __post_init__(self) -> None:
        if self.ax is not None and not hasattr(self.ax, "add_patch"):
            raise wrong("ax", "matplotlib Axes, such as those of plt.subplots(), or None", self.ax)
        if self.title is not None:
            checked_text("title", self.title, "a string, or None")
        if self.font_size is not None and not (is_number(self.font_size) and 0 < self.font_size <= _MOST_POINTS):
            raise wrong("font_size", f"a number of points above 0 and up to {_MOST_POINTS:g}, or None", self.font_size)
        if self.figsize is None:
            return
        if not _is_size(self.figsize):
            raise wrong("figsize", f"(width, height) in inches, each above 0 and up to {_MOST_INCHES:g}", self.figsize)
        if self.ax is not None:
            raise ArgumentError("figsize is the size of a new figure, but ax= is in a figure already; give one of them")

    @property
    def zoom(self) -> float:
        """The size of text against the usual one."""
        return 1.0 if self.font_size is None else self.font_size / NAME_SIZE

    def axes(self, width: float, height: float) -> Axes:
        """The axes of a plot: those given, or of a new figure of this size in inches if no other was asked for."""
        if self.ax is not None:
            return self.ax
        import matplotlib.pyplot as plt

        size = (width * self.zoom, height * self.zoom) if self.figsize is None else self.figsize
        return plt.subplots(figsize=size, layout="constrained")[1]

    def finish(self, ax: Axes, title: str | None = None) -> Axes:
        """Write the title, and bring all text to its size; for plots that matplotlib measures."""
        title = title if self.title is None else self.title
        if title is not None:
            ax.set_title(title, parse_math=False)
        if self.font_size is not None:
            _rescale_text(ax, self.zoom)
        return ax


def _is_size(size: Any) -> bool:
    if not hasattr(size, "__len__") or isinstance(size, (str, bytes)) or len(size) != 2:
        return False
    return all(is_number(side) and 0 < side <= _MOST_INCHES for side in size)


def _rescale_text(ax: Axes, zoom: float) -> None:
    """All text of axes in proportion, and annotations as far from their points."""
    from matplotlib.text import Annotation, Text

    for axis in (ax.xaxis, ax.yaxis):
        sizes = [float(label.get_fontsize()) for label in axis.get_ticklabels()]
        if sizes:
            axis.set_tick_params(labelsize=zoom * sizes[0])
    ticks = {id(label) for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()}
    for artist in ax.findobj(Text):
        text: Any = artist
        if id(text) not in ticks:
            text.set_fontsize(zoom * text.get_fontsize())
        if isinstance(text, Annotation) and text.anncoords == "offset points":
            x, y = text.xyann
            text.xyann = (zoom * x, zoom * y)


# ---- scenes ----------------------------------------------------------------------------------------------------------


def draw(scene: Scene | Callable[[Page], Scene], place: Place) -> Axes:
    """Draw a scene where it is wanted, by default in a new figure of its size.

    A function that makes a scene for a page is asked for others where the text of the first would be small.
    """
    make = (lambda page: scene) if isinstance(scene, Scene) else scene
    room = _room(place)
    # The figure is made last, so that none is left behind by an error.
    if room is None:
        drawn, largest = make(Page()), place.zoom
        left, right, bottom, top = drawn.frame()
        ax = new_axes(place.zoom * (right - left), place.zoom * (top - bottom), place.title)
    else:
        drawn, largest = _fitted(make, *room, place), _LARGEST if place.font_size is None else place.zoom
        ax = new_axes(*room, place.title, place.figsize) if place.ax is None else place.ax
    _show(drawn, ax, largest)
    if place.title is not None:
        ax.set_title(place.title, parse_math=False)
    return ax


def _room(place: Place) -> tuple[float, float] | None:
    """Width and height that a scene may take, in points; None if its figure is to be as large as it needs."""
    if place.ax is not None:
        box, points = place.ax.get_window_extent(), 72 / place.ax.figure.dpi
        return box.width * points, box.height * points
    if place.figsize is None:
        return None
    width, height = 72 * place.figsize[0], 72 * place.figsize[1]
    return width, height if place.title is None else max(height - _TITLE, height / 2)


def _fitted(make: Callable[[Page], Scene], width: float, height: float, place: Place) -> Scene:
    """The scene whose text is large enough on a page of that size, or else the one whose text is largest."""
    wanted = _READABLE if place.font_size is None else place.zoom
    first = make(Page())
    tried = [(_scale(first, width, height), Page(), first)]
    left, right, bottom, top = first.frame()
    broad = ((right - left) * (top - bottom) * width / height) ** 0.5  # of a scene as long as the page
    for space in _SPACES:
        for page in (Page(None, space), Page(broad * space, space)):
            if tried[-1][0] >= wanted or (again := make(page)) == first:
                return max(tried, key=lambda each: each[0])[2]
            tried.append((_scale(again, width, height), page, again))
    return max(tried, key=lambda each: each[0])[2]


def _scale(scene: Scene, width: float, height: float) -> float:
    left, right, bottom, top = scene.frame()
    return min(width / (right - left), height / (top - bottom))


def _show(scene: Scene, ax: Axes, largest: float) -> None:
    """Draw a scene in the middle of axes, no larger than it may be."""
    left, right, bottom, top = scene.frame()
    box, points = ax.get_window_extent(), 72 / ax.figure.dpi
    width, height = box.width * points, box.height * points
    scale = min(_scale(scene, width, height), largest)
    _add_curves(ax, scene, min(scale, 1.0))
    for item in scene.items:
        if isinstance(item, Box):
            _add_box(ax, item, min(scale, 1.0))
        elif isinstance(item, Label):
            ax.add_artist(_label_artist(item))
    spare_x, spare_y = (
        max(0.0, (side / scale - own) / 2) for side, own in ((width, right - left), (height, top - bottom))
    )
    ax.set_xlim(left - spare_x, right + spare_x)
    ax.set_ylim(bottom - spare_y, top + spare_y)
    ax.set_aspect("equal")
    ax.set_axis_off()


def new_axes(width: float, height: float, title: str | None = None, figsize: tuple[float, float] | None = None) -> Axes:
    """Axes of that size in points in a new figure, which they fill but for a title."""
    import matplotlib.pyplot as plt

    if figsize is None:
        above, written = (0.0, 0.0) if title is None else (_TITLE, title_width(title))
        width, height = max(width, written, 60.0), max(height, 30.0)
        figsize = (width / 72, (height + above) / 72)
    figure = plt.figure(figsize=figsize)
    axes: Any = figure.add_axes((0, 0, 1, height / (72 * figsize[1])))
    return axes


def title_width(title: str) -> float:
    """The width that a figure needs for its title, in points."""
    return max(text_width(line, 12.0) for line in title.split("\n")) + 16.0


def _add_curves(ax: Axes, scene: Scene, scale: float) -> None:
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
            linewidth=scale * curve.width,
            linestyle=style,
            capstyle="butt",
            zorder=above,
        )
        ax.add_patch(line)
        for head in curve.heads():
            ax.add_patch(Polygon(head, closed=True, facecolor=curve.colour, edgecolor="none", zorder=above))


def _add_box(ax: Axes, box: Box, scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style: dict[str, Any] = {"facecolor": box.fill, "edgecolor": box.edge, "linewidth": scale * box.line, "zorder": 2}
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
