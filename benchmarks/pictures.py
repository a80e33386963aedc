"""Pictures of the benchmark page: ratios on a log axis, and growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchmarks.measure import Ratio, digits
from benchmarks.report import Section

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
WIDTH, LINE = 7.0, 0.24  # inches


def save(figure: Figure, path: Path) -> None:
    """Write an SVG with text as text; the same figure gives the same file."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bntk"}):
        figure.savefig(path, metadata={"Date": None, "Creator": None}, bbox_inches="tight")


def shown(ratios: Sequence[Ratio]) -> list[Ratio]:
    return [ratio for ratio in ratios if not math.isnan(ratio.value)]


def overview(sections: Sequence[Section]) -> Figure:
    """For each section and peer the geometric mean of the ratios, and a line from the smallest to the largest."""
    lines = []
    for section in sections:
        known = shown(section.ratios)
        for peer in dict.fromkeys(ratio.peer for ratio in known):
            values = [ratio.value for ratio in known if ratio.peer == peer]
            lines.append((f"{section.title}: {peer}", peer, values))
    peers = list(dict.fromkeys(peer for _, peer, _ in lines))
    axes = ratio_axes(len(lines))
    for y, (_, peer, values) in enumerate(lines):
        mean = float(np.exp(np.mean(np.log(values))))
        axes.barh(y, mean - 1, left=1, height=0.7, color=color(peers, peer))
        axes.plot([min(values), max(values)], [y, y], color="black", linewidth=0.8)
        axes.text(max(values) * 1.1, y, digits(mean), va="center", fontsize=8)
    finish(axes, [label for label, _, _ in lines])
    return axes.get_figure()


def ratios(section: Section) -> Figure:
    """A line for each case, a mark for each peer; an arrow where the peer was stopped at its limit."""
    known = shown(section.ratios)
    cases = list(dict.fromkeys(ratio.case for ratio in known))
    peers = list(dict.fromkeys(ratio.peer for ratio in known))
    axes = ratio_axes(len(cases))
    for peer in peers:
        marks = [ratio for ratio in known if ratio.peer == peer]
        for limited, marker in ((False, "o"), (True, ">")):
            some = [ratio for ratio in marks if ratio.at_least == limited]
            places = [cases.index(ratio.case) for ratio in some]
            label = peer if limited == all(ratio.at_least for ratio in marks) else None
            axes.scatter(
                [r.value for r in some], places, color=color(peers, peer), marker=marker, label=label, zorder=3
            )
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
    finish(axes, cases)
    return axes.get_figure()


def curves(section: Section) -> Figure:
    """Seconds against size, both on log axes."""
    axes = Figure(figsize=(5.0, 3.2)).subplots()
    for number, (name, points) in enumerate(section.curves.items()):
        axes.plot(*zip(*points, strict=True), marker="o", color=COLORS[number % len(COLORS)], label=name)
    axes.set(xscale="log", yscale="log", xlabel=section.axes[0], ylabel=section.axes[1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    sizes = sorted({x for points in section.curves.values() for x, _ in points})
    axes.set_xticks(sizes, [f"{x:,.0f}" for x in sizes])
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    return axes.get_figure()


def color(peers: list[str], peer: str) -> str:
    return COLORS[peers.index(peer) % len(COLORS)]


def ratio_axes(lines: int) -> Axes:
    axes = Figure(figsize=(WIDTH, LINE * lines + 0.7)).subplots()
    axes.set(xscale="log", xlabel="times as long as bntk")
    axes.axvline(1, color="black", linewidth=0.8)
    return axes


def finish(axes: Axes, labels: list[str]) -> None:
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
