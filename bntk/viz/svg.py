"""Scenes as SVG text: small, self-contained, every text escaped."""

from __future__ import annotations

from html import escape

from bntk.viz.scene import Box, Curve, Item, Label, Point, Scene

_ANCHOR = {"left": "start", "center": "middle", "right": "end"}
# Fonts no wider than the one that the boxes were measured for.
_FONTS = "'DejaVu Sans',Verdana,'Segoe UI',Helvetica,Arial,sans-serif"


def to_svg(scene: Scene, description: str = "") -> str:
    """The scene as one ``<svg>`` element on white, no wider than the page that shows it."""
    left, right, bottom, top = scene.frame()
    width, height = right - left, top - bottom
    body = "\n".join(_element(item, left, top) for item in scene.items)
    size = f'width="{_n(width * 4 / 3)}" height="{_n(height * 4 / 3)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    title = f"<title>{_text(description)}</title>\n" if description else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="max-width:100%;height:auto" role="img" '
        f'font-family="{_FONTS}">\n{title}<rect width="100%" height="100%" fill="#ffffff" rx="4"/>\n{body}\n</svg>'
    )


def _element(item: Item, left: float, top: float) -> str:
    if isinstance(item, Box):
        return _box(item, left, top)
    return _label(item, left, top) if isinstance(item, Label) else _curve(item, left, top)


def _box(box: Box, left: float, top: float) -> str:
    corner = f'x="{_n(box.x - box.width / 2 - left)}" y="{_n(top - box.y - box.height / 2)}"'
    edge = f' stroke="{box.edge}" stroke-width="{_n(box.line)}"' if box.line else ""
    rounded = f' rx="{_n(box.radius)}"' if box.radius else ""
    shape = f'<rect {corner} width="{_n(box.width)}" height="{_n(box.height)}"{rounded} fill="{box.fill}"{edge}'
    return f"{shape}><title>{_text(box.title)}</title></rect>" if box.title else f"{shape}/>"


def _label(label: Label, left: float, top: float) -> str:
    # The middle of the letters is about a third of the font size above the baseline.
    place = f'x="{_n(label.x - left)}" y="{_n(top - label.y + 0.35 * label.size)}"'
    anchor = f' text-anchor="{_ANCHOR[label.align]}"' if label.align != "left" else ""
    bold = ' font-weight="bold"' if label.bold else ""
    return f'<text {place} font-size="{_n(label.size)}" fill="{label.colour}"{anchor}{bold}>{_text(label.text)}</text>'


def _curve(curve: Curve, left: float, top: float) -> str:
    def at(point: Point) -> str:
        return f"{_n(point[0] - left)},{_n(top - point[1])}"

    first, *rest = curve.shaft()
    path = f"M{at(first)}C{' '.join(at(point) for point in rest)}"
    dash = f' stroke-dasharray="{" ".join(_n(d) for d in curve.dash)}"' if curve.dash else ""
    line = f'<path d="{path}" fill="none" stroke="{curve.colour}" stroke-width="{_n(curve.width)}"{dash}/>'
    heads = [f'<path d="M{" ".join(map(at, head))}Z" fill="{curve.colour}"/>' for head in curve.heads()]
    return "".join([line, *heads])


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    """Escaped, and without the control characters that XML does not allow."""
    return escape("".join(c if c.isprintable() else " " for c in text))
