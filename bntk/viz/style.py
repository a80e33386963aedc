"""The colours and sizes of all pictures: told apart by people who see fewer colours, and in grey print."""

from __future__ import annotations

from dataclasses import dataclass

TEXT, MUTED = "#1b2733", "#5a6675"
ARC = "#5a6675"
# Arcs of class variables, one colour for each, and lighter ones where arcs of a class are many.
CLASS_ARCS = ("#c78a34", "#7d62ad", "#2f8f7d", "#b8527a", "#5f7fc0")
FADED_CLASS_ARCS = ("#e3bd85", "#c3b3dd", "#98cfc4", "#e2a9c0", "#b3c4e6")
# Of arcs that run together, one colour for each node that they begin at.
BUNDLES = ("#1f6aa5", "#00785a", "#8b2f7f", "#9a4a00", "#4d4d4d", "#6a5acd")
THINNEST, WIDEST, NORMAL_LINE = 0.5, 4.0, 1.1  # line widths, in points
DASHED = (5.0, 3.0)
BAR, TRACK = "#3f74a8", "#ffffff"

# Okabe and Ito's colours, in an order in which neighbours differ in lightness, too.
CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")

NAME_SIZE, STATE_SIZE = 10.0, 8.0


@dataclass(frozen=True)
class NodeStyle:
    """The colours and line of a node."""

    fill: str
    edge: str
    line: float = 1.0
    bold: bool = False


PLAIN = NodeStyle("#eaf1f9", "#3b5b84")
HIGHLIGHT = NodeStyle("#fff2a8", "#8a6d00", 1.4)
TARGET = NodeStyle("#ffd08a", "#9a5b00", 1.8, bold=True)
EVIDENCE = NodeStyle("#c3c9d1", "#2f3842", 1.4)
