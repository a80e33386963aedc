"""The parts of a picture of a network: boxes, labels and curves, in points (1/72 inch), y upwards.

A scene is drawn by :mod:`bntk.viz.axes` with matplotlib and written by :mod:`bntk.viz.svg` as SVG text. Text is
measured by the widths of DejaVu Sans, the font of matplotlib, which is wider than the usual fonts of browsers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]

# Hundredths of the font size, for the characters from space to tilde.
_WIDTHS = (
    "32 40 46 84 64 95 78 27 39 39 50 84 32 36 32 34 64 64 64 64 64 64 64 64 64 64 34 34 84 84 84 53 100 "
    "68 69 70 77 63 58 77 75 29 29 66 56 86 75 79 60 79 69 63 61 73 68 99 69 61 69 39 34 39 84 50 50 61 "
    "63 55 63 62 35 63 63 28 28 58 28 97 63 61 63 63 41 52 39 63 59 82 59 59 52 64 34 64 84 "
)
_WIDTH = dict(zip(map(chr, range(32, 127)), map(int, _WIDTHS.split()), strict=True))
_BOLD = 1.13  # how much wider bold text is, at most on average

_LINE, _MOST_LINES = 24, 3  # characters of a line and lines of a label, about


@dataclass(frozen=True)
class Box:
    """A rounded box around a centre."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    edge: str = "none"
    line: float = 0.0
    radius: float = 0.0
    title: str = ""  # what a browser shows when the pointer rests on it


@dataclass(frozen=True)
class Label:
    """One line of text; ``y`` is the middle of its height, ``align`` says which part of it is at ``x``."""

    x: float
    y: float
    text: str
    size: float
    align: str = "center"  # or left, right
    colour: str = "#1b2733"
    bold: bool = False


@dataclass(frozen=True)
class Curve:
    """Cubic Bezier curves through ``3 k + 1`` points, with an arrow head at their end and one at their beginning.

    ``arrow`` and ``back_arrow`` are the sizes of the heads; 0 is none.
    """

    points: tuple[Point, ...]
    width: float
    colour: str
    dash: tuple[float, ...] = ()
    arrow: float = 0.0
    back_arrow: float = 0.0

    def head(self) -> tuple[Point, Point, Point]:
        """The corners of the arrow head at the end, the tip first."""
        return _head(self.points, self.arrow)

    def heads(self) -> list[tuple[Point, Point, Point]]:
        """The corners of all arrow heads."""
        ends = ((self.points, self.arrow), (self.points[::-1], self.back_arrow))
        return [_head(points, size) for points, size in ends if size]

    def shaft(self) -> tuple[Point, ...]:
        """The points of the line, which ends within the arrow heads so that their tips stay sharp."""
        return _drawn_in(_drawn_in(self.points, self.arrow)[::-1], self.back_arrow)[::-1]


def _head(points: Sequence[Point], size: float) -> tuple[Point, Point, Point]:
    (x, y), back = points[-1], _back(points)
    base = (x + size * back[0], y + size * back[1])
    half = 0.42 * size
    across = (-half * back[1], half * back[0])
    return (x, y), (base[0] + across[0], base[1] + across[1]), (base[0] - across[0], base[1] - across[1])


def _drawn_in(points: tuple[Point, ...], size: float) -> tuple[Point, ...]:
    """The points of a line without most of what an arrow head of that size covers at its end."""
    if not size:
        return points
    back = _back(points)
    dx, dy = 0.8 * size * back[0], 0.8 * size * back[1]
    *before, near, end = points
    return (*before, (near[0] + dx, near[1] + dy), (end[0] + dx, end[1] + dy))


def _back(points: Sequence[Point]) -> Point:
    """The direction from the tip back along the curve, of length one."""
    x, y = points[-1]
    for u, v in reversed(points[:-1]):
        length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
        if length > 1e-9:
            return (u - x) / length, (v - y) / length
    return 0.0, 1.0


Item = Box | Label | Curve


@dataclass(frozen=True)
class Page:
    """What the layout of a scene may use: the width of a page, in points, and a share of the usual free space."""

    width: float | None = None
    space: float = 1.0


@dataclass
class Scene:
    """Items in the order in which they are drawn, and the frame that holds them all."""

    items: list[Item] = field(default_factory=list)
    margin: float = 8.0

    def frame(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top."""
        boxes = [frame_of(item) for item in self.items] or [(0.0, 60.0, 0.0, 24.0)]
        left, right, bottom, top = zip(*boxes, strict=True)
        return (
            min(left) - self.margin,
            max(right) + self.margin,
            min(bottom) - self.margin,
            max(top) + self.margin,
        )

    def boxes(self) -> Iterable[Box]:
        """The boxes."""
        return (item for item in self.items if isinstance(item, Box))

    def labels(self) -> Iterable[Label]:
        """The labels."""
        return (item for item in self.items if isinstance(item, Label))

    def curves(self) -> Iterable[Curve]:
        """The curves."""
        return (item for item in self.items if isinstance(item, Curve))


def frame_of(item: Item) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of an item."""
    if isinstance(item, Box):
        w, h = item.width / 2 + item.line / 2, item.height / 2 + item.line / 2
        return item.x - w, item.x + w, item.y - h, item.y + h
    if isinstance(item, Label):
        width = text_width(item.text, item.size, item.bold)
        left = item.x - {"left": 0.0, "center": width / 2, "right": width}[item.align]
        return left, left + width, item.y - 0.6 * item.size, item.y + 0.6 * item.size
    xs, ys = [x for x, _ in item.points], [y for _, y in item.points]
    w = item.width / 2
    return min(xs) - w, max(xs) + w, min(ys) - w, max(ys) + w


def text_width(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text is, in points."""
    total = sum(_WIDTH.get(character) or _other_width(character) for character in text)
    return total * size / 100 * (_BOLD if bold else 1.0)


def _other_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 100 if unicodedata.east_asian_width(character) in "WF" else 70


def one_line(text: str, most: int = 40) -> str:
    """Text without line breaks and control characters, shortened in the middle when long."""
    text = "".join(c if c.isprintable() else " " for c in text)
    text = " ".join(text.split()) or "''"
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 3]}…{text[-(kept // 3) :]}"


def lines_of(name: str) -> list[str]:
    """A name as the lines of a label: broken after a separator or before a capital when long."""
    text = one_line(name, _LINE * _MOST_LINES)
    if len(text) <= _LINE:
        return [text]
    # Pieces that may end a line: words, parts of snake_case and camelCase, and at worst single letters.
    pieces = re.findall(r".*?[\s_\-./,:;|]+|.+?(?=[A-Z][a-z])|.+$", text) or [text]
    pieces = [part for piece in pieces for part in _cut(piece, _LINE)]
    n_lines = -(-len(text) // _LINE)
    target = max(len(text) / n_lines, max(map(len, pieces)))
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > max(target + 2, _LINE * 0.75):
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines if line.strip()]


def _cut(text: str, most: int) -> Sequence[str]:
    return [text[i : i + most] for i in range(0, len(text), most)]
