"""Posterior bars inside the nodes of a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bntk.data.variable import state_text
from bntk.inference.evidence import read_findings
from bntk.network import BayesianNetwork
from bntk.viz import style
from bntk.viz.scene import Box, Item, Label, one_line, text_width

_ROW, _TRACK, _BAR_HEIGHT, _GAP = 11.0, 42.0, 7.0, 6.0
_HINTED = 1.1  # small letters are drawn on whole pixels, which makes some texts wider than they measure
_NUMBER = _HINTED * max(text_width(number, style.STATE_SIZE) for number in ("100%", ">99%"))
_MOST_STATES = 5  # of more states, the most probable are shown


@dataclass(frozen=True)
class Bars:
    """States of one variable with their probabilities, as rows of a node; ``hidden`` states are not shown.

    ``missing`` is the share of rows without a value, which has a row of its own unless it is 0.
    """

    states: tuple[str, ...]
    probabilities: tuple[float, ...]
    hidden: int = 0
    missing: float = 0.0

    @property
    def _labels(self) -> float:
        return _HINTED * max((text_width(state, style.STATE_SIZE) for state in self.states), default=0.0)

    @property
    def width(self) -> float:
        """The least width for all columns: states, bars, numbers."""
        return self._labels + _GAP + _TRACK + _GAP + _NUMBER

    @property
    def height(self) -> float:
        """The height of all rows."""
        return _ROW * (len(self.states) + (self.hidden > 0) + (self.missing > 0)) + 1.0

    def items(self, x: float, top: float, width: float) -> list[Item]:
        """The rows, centred at ``x``, from ``top`` downwards."""
        left, right = x - width / 2, x + width / 2
        start = left + self._labels + _GAP
        track = right - _NUMBER - _GAP - start
        items: list[Item] = []
        for row, (state, p) in enumerate(zip(self.states, self.probabilities, strict=True)):
            y = top - _ROW * (row + 0.5)
            items.append(Label(left, y, state, style.STATE_SIZE, "left"))
            items.append(Box(start + track / 2, y, track, _BAR_HEIGHT, style.TRACK, "#b4bfcc", 0.4))
            if p > 0:
                items.append(Box(start + track * p / 2, y, track * p, _BAR_HEIGHT, style.BAR))
            items.append(Label(right, y, percent(p), style.STATE_SIZE, "right"))
        rest = max(0.0, 1.0 - sum(self.probabilities))
        below = [(f"… {self.hidden} more", rest)] if self.hidden else []
        below += [("missing", self.missing)] if self.missing else []
        for row, (text, share) in enumerate(below, len(self.states)):
            y = top - _ROW * (row + 0.5)
            items.append(Label(left, y, text, style.STATE_SIZE, "left", style.MUTED))
            items.append(Label(right, y, percent(share), style.STATE_SIZE, "right", style.MUTED))
        return items


def percent(p: float) -> str:
    """A probability in whole percents, or that it is less or almost all."""
    if 0 < p < 0.005:
        return "<1%"
    if 0.995 < p < 1 - 1e-9:
        return ">99%"
    return f"{100 * p:.0f}%"


def posterior_bars(network: BayesianNetwork, given: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Bars]:
    """The bars of some variables; an observed one has a bar for its state only."""
    findings = read_findings(network, given)
    marginals = network.marginals(given)
    bars = {}
    for name in names:
        at = network.dag.index(name)
        states = network.cpts[at].child.states
        if at in findings.observed:
            values = np.zeros(len(states))
            values[findings.observed[at]] = 1.0
            shown = [findings.observed[at]]
        else:
            values = marginals[name].values if name in marginals else network.query(name, given).values
            shown = shown_states(values)
        bars[name] = Bars(
            tuple(one_line(state_text(states[i]), 16) for i in shown),
            tuple(float(values[i]) for i in shown),
            0 if at in findings.observed else len(states) - len(shown),
        )
    return bars


def shown_states(values: Any) -> list[int]:
    """All states in their order, or of many the most probable ones, in their order, too."""
    if len(values) <= _MOST_STATES:
        return list(range(len(values)))
    likely = np.argsort(-values, kind="stable")[: _MOST_STATES - 1]
    return sorted(int(i) for i in likely)
