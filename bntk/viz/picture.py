"""Graphs as scenes: nodes and lines, their layout, numbers beside arcs, legends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bntk.errors import ArgumentError
from bntk.graph.dag import DAG
from bntk.graph.layout import Layout, layered_layout
from bntk.viz import style
from bntk.viz.arc_labels import LABEL_SIZE, place_labels
from bntk.viz.bars import Bars
from bntk.viz.scene import Box, Curve, Item, Label, Page, Point, Scene, lines_of, text_width

Arc = tuple[str, str]

_LINE_HEIGHT, _PAD_X, _PAD_Y = 12.5, 9.0, 5.5
_GAP, _LAYER_GAP = 18.0, 34.0
_STRETCHES = (1.0, 1.5, 2.2, 3.2)  # of the space between layers, until all numbers beside arcs have a place
_MANY_CHILDREN = 8  # the arcs of a class with more are all alike, and faded
_LAYOUTS = ("auto", "layered", "graphviz")


@dataclass(frozen=True)
class Line:
    """How an arc is drawn: ``arrow`` and ``back_arrow`` are shares of a usual arrow head, at its child and its parent.

    A line that is ``turned`` begins at the child of the arc that is laid out.
    """

    width: float = style.NORMAL_LINE
    colour: str = style.ARC
    dash: tuple[float, ...] = ()
    arrow: float = 1.0
    back_arrow: float = 0.0
    turned: bool = False

    def curve(self, route: Sequence[Point]) -> Curve:
        """The line along a route, with heads that suit its width."""
        head = 6.0 + 1.6 * self.width
        points = tuple(route)[::-1] if self.turned else tuple(route)
        return Curve(points, self.width, self.colour, self.dash, head * self.arrow, head * self.back_arrow)

    def sample(self, length: float = 30.0) -> Curve:
        """A short one for a legend."""
        return self.curve([(length * k / 3, 0.0) for k in range(4)])


@dataclass(frozen=True)
class Picture:
    """A graph to draw.

    Attributes
    ----------
    dag : DAG
        What is laid out.
    lines : mapping of arc to Line
        In the order in which they are drawn; an arc that is laid out and has none is not drawn.
    looks : mapping of node to NodeStyle
        Nodes that are not named are plain.
    bars : mapping of node to Bars
    labels : mapping of arc to str
        What is written beside arcs.
    classes : collection of str
        Nodes whose arcs may run at the side of the picture.
    hidden : collection of str
        Nodes that are laid out, but not drawn.
    legend : sequence of (Curve, str)
    layout : {"auto", "layered", "graphviz"}
    share : bool
        Whether long arcs of one node may run together.
    """

    dag: DAG
    lines: Mapping[Arc, Line]
    looks: Mapping[str, style.NodeStyle] = field(default_factory=dict)
    bars: Mapping[str, Bars] = field(default_factory=dict)
    labels: Mapping[Arc, str] = field(default_factory=dict)
    classes: Collection[str] = ()
    hidden: Collection[str] = ()
    legend: Sequence[tuple[Curve, str]] = ()
    layout: str = "auto"
    share: bool = True

    def scene(self, page: Page | None = None) -> Scene:
        """The scene, for some page."""
        return self.placed(page)[0]

    def placed(self, page: Page | None = None) -> tuple[Scene, Layout]:
        """The scene, and where everything is in it."""
        page = Page() if page is None else page
        sizes = {node: self._size(node, page.space) for node in self.dag.nodes}
        placed, texts = self._with_labels(sizes, page)
        colours = self._hub_colours(placed)
        scene = Scene()
        for arc, line in self.lines.items():
            coloured = replace(line, colour=colours.get(arc[0], line.colour)) if line.colour == style.ARC else line
            scene.items.append(coloured.curve(placed.routes[arc]))
        for node in self.dag.nodes:
            if node not in self.hidden:
                look, at = self.looks.get(node, style.PLAIN), placed.positions[node]
                scene.items += node_items(node, at, sizes[node], look, self.bars.get(node), page.space)
        scene.items += texts
        if self.legend:
            add_legend(scene, self.legend)
        return scene, placed

    def _size(self, node: str, space: float) -> Point:
        if node in self.hidden:
            return 1.0, 1.0
        return node_size(node, self.looks.get(node, style.PLAIN), self.bars.get(node), space)

    def _with_labels(self, sizes: Mapping[str, Point], page: Page) -> tuple[Layout, list[Item]]:
        """A layout in which every number beside an arc has a place, if there is one, and these numbers."""
        for stretch in _STRETCHES:
            placed = self._layout(sizes, page, stretch)
            if not self.labels:
                break
            found, complete = place_labels(
                {arc: placed.routes[arc] for arc in self.lines},
                self.labels,
                [_frame(placed.positions[node], sizes[node]) for node in self.dag.nodes if node not in self.hidden],
            )
            if complete or self.layout == "graphviz":
                break
        items: list[Item] = []
        for arc in self.labels:
            (x, y), text = found[arc], self.labels[arc]
            items.append(Box(x, y, text_width(text, LABEL_SIZE) + 2.0, LABEL_SIZE + 1.0, style.TRACK))
            items.append(Label(x, y, text, LABEL_SIZE))
        return placed, items

    def _layout(self, sizes: Mapping[str, Point], page: Page, stretch: float) -> Layout:
        if not isinstance(self.layout, str) or self.layout not in _LAYOUTS:
            raise ArgumentError(f"layout={self.layout!r} is not known; give one of {list(_LAYOUTS)}")
        if self.layout == "graphviz":
            from bntk.viz.graphviz import graphviz_layout

            return graphviz_layout(self.dag, sizes)
        gap, layer_gap = _GAP * page.space, _LAYER_GAP * page.space * stretch
        return layered_layout(
            self.dag, sizes, gap=gap, layer_gap=layer_gap, share=self.share, width=page.width, aside=self.classes
        )

    def _hub_colours(self, placed: Layout) -> dict[str, str]:
        """A colour for each node whose arcs run together, so that several of them are told apart."""
        hubs = [hub for hub in placed.hubs if hub not in self.classes]
        if len(hubs) < 2:
            return {}
        return {hub: style.BUNDLES[i % len(style.BUNDLES)] for i, hub in enumerate(hubs)}


def acyclic(dag: DAG, arcs: Iterable[Arc]) -> tuple[DAG, set[Arc]]:
    """A DAG with more arcs to lay out, and those of them that stand in it the other way round.

    An arc that would close a cycle with what is there before it is turned.
    """
    turned: set[Arc] = set()
    for tail, head in arcs:
        if head in dag.ancestors(tail):
            turned.add((tail, head))
            tail, head = head, tail
        dag = dag.add_arc(tail, head)
    return dag, turned


def class_colours(dag: DAG, classes: Sequence[str]) -> dict[str, str]:
    """A colour for the arcs of each class: faded where they are many, and all alike."""
    colours = {}
    for k, name in enumerate(classes):
        palette = style.FADED_CLASS_ARCS if len(dag.children(name)) > _MANY_CHILDREN else style.CLASS_ARCS
        colours[name] = palette[k % len(palette)]
    return colours


def _frame(at: Point, size: Point) -> tuple[float, float, float, float]:
    return at[0] - size[0] / 2, at[0] + size[0] / 2, at[1] - size[1] / 2, at[1] + size[1] / 2


def node_size(node: str, look: style.NodeStyle, bars: Bars | None = None, space: float = 1.0) -> Point:
    """Width and height of a node; ``space`` is the share of the usual free space around its text."""
    lines = lines_of(node)
    width = max(text_width(line, style.NAME_SIZE, look.bold) for line in lines)
    height = _LINE_HEIGHT * len(lines) + 2 * _PAD_Y * space
    if bars is not None:
        width, height = max(width, bars.width), height + bars.height
    return max(width + 2 * _PAD_X * space, 34.0 * space), height


def node_items(
    node: str, at: Point, size: Point, look: style.NodeStyle, bars: Bars | None = None, space: float = 1.0
) -> list[Item]:
    """A node: its box, its name, and its bars if it has some."""
    (x, y), (width, height) = at, size
    items: list[Item] = [Box(x, y, width, height, look.fill, look.edge, look.line, radius=6.0, title=node)]
    top = y + height / 2 - _PAD_Y * space
    for line in lines_of(node):
        items.append(Label(x, top - _LINE_HEIGHT / 2, line, style.NAME_SIZE, bold=look.bold))
        top -= _LINE_HEIGHT
    if bars is not None:
        items += bars.items(x, top, width - 2 * _PAD_X * space)
    return items


# ---- widths and legends ----------------------------------------------------------------------------------------------


def line_width(value: float, least: float, most: float) -> float:
    """The width of a line for a number between two others, from thin to wide."""
    share = (value - least) / (most - least) if most > least else 0.0
    return style.THINNEST + (style.WIDEST - style.THINNEST) * min(max(share, 0.0), 1.0)


def width_samples(least: float, most: float, what: str) -> list[tuple[Curve, str]]:
    """For a legend: what thin, middle and wide lines stand for."""
    values = (least, (least + most) / 2, most)
    texts = [f"{value:.3g}" for value in values]
    texts[-1] += f"  {what}"
    lines = [Line(line_width(value, least, most), arrow=0.0).sample(24.0) for value in values]
    return list(zip(lines, texts, strict=True))


def add_legend(scene: Scene, samples: Sequence[tuple[Curve, str]]) -> None:
    """Lines and what they mean, below everything else, in as many rows as the width of the scene needs.

    A text whose line has no points stands by itself.
    """
    left, right, bottom, _ = scene.frame()
    left, right = left + scene.margin, right - scene.margin
    x, y = left, bottom - 6.0
    for line, text in samples:
        reach = line.points[-1][0] + 6.0 if line.points else 0.0
        width = reach + text_width(text, 9.0)
        if x > left and x + width > max(right, left + 150.0):
            x, y = left, y - 15.0
        if line.points:
            scene.items.append(replace(line, points=tuple((x + u, y + v) for u, v in line.points)))
        scene.items.append(Label(x + reach, y, text, 9.0, "left"))
        x += width + 18.0


def note(text: str) -> tuple[Curve, str]:
    """A text of a legend without a line."""
    return Curve((), 0.0, style.ARC), text
