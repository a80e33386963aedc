"""Where numbers beside arcs are written: on their arc, clear of nodes and other numbers, on few other arcs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bntk.viz.scene import Point, text_width

Arc = tuple[str, str]
Frame = tuple[float, float, float, float]
Floats = NDArray[np.float64]

LABEL_SIZE = 7.5
_STEP, _FREE = 3.0, 1.0  # between places to try, and around a number
_CELL = 2.0  # in which points of lines are counted
_MIDDLE = 0.55  # the share of an arc at which its number is best


def place_labels(
    routes: Mapping[Arc, Sequence[Point]], texts: Mapping[Arc, str], nodes: Sequence[Frame]
) -> tuple[dict[Arc, Point], bool]:
    """The centre of each text, and whether every one of them has a place of its own.

    Texts with the fewest free places are written first. A text without any stands where it covers least.
    """
    lines = {arc: along(route) for arc, route in routes.items()}
    every = np.concatenate(list(lines.values()))
    low = every.min(axis=0)
    count = _counter(every, low)
    number = {arc: i for i, arc in enumerate(lines)}
    taken = np.array(nodes, dtype=np.float64).reshape(-1, 4)
    half = {arc: (text_width(text, LABEL_SIZE) / 2 + 1.0, LABEL_SIZE / 2 + 0.5) for arc, text in texts.items()}
    covers = {arc: _overlaps(lines[arc], half[arc], taken) for arc in texts}
    order = sorted(texts, key=lambda arc: (int((covers[arc] == 0).sum()), number[arc]))
    found: dict[Arc, Point] = {}
    complete = True
    for arc in order:
        places, size = lines[arc], half[arc]
        crossed = count(places, size) - _counter(places, low)(places, size)
        overlaps = covers[arc] + _overlaps(places, size, taken[len(nodes) :])
        off = np.abs(np.linspace(0.0, 1.0, len(places)) - _MIDDLE)
        best = int(np.lexsort((off, crossed, overlaps))[0])
        complete = complete and not overlaps[best]
        x, y = places[best]
        found[arc] = (float(x), float(y))
        taken = np.vstack([taken, (x - size[0], x + size[0], y - size[1], y + size[1])])
    return found, complete


def _counter(points: Floats, low: Floats) -> Callable[[Floats, tuple[float, float]], NDArray[np.int64]]:
    """A function that counts the points under a text in each of several places, by sums over cells from ``low`` on."""
    cells = ((points - low) / _CELL).astype(np.int64) + 1
    table = np.zeros(cells.max(axis=0) + 1, dtype=np.int64)
    np.add.at(table, (cells[:, 0], cells[:, 1]), 1)
    below = table.cumsum(axis=0).cumsum(axis=1)

    def count(places: Floats, half: tuple[float, float]) -> NDArray[np.int64]:
        ends = [((places - low + side * np.array(half)) / _CELL).astype(np.int64) + (side > 0) for side in (-1, 1)]
        (x0, y0), (x1, y1) = (np.clip(end, 0, np.array(below.shape) - 1).T for end in ends)
        found: NDArray[np.int64] = below[x1, y1] - below[x0, y1] - below[x1, y0] + below[x0, y0]
        return found

    return count


def along(route: Sequence[Point]) -> Floats:
    """Points on a route, about as far from each other everywhere."""
    points, parts = np.array(route, dtype=np.float64), []
    for k in range(0, len(points) - 1, 3):
        a, b, c, d = points[k : k + 4]
        n = 2 + int(np.abs(np.diff(points[k : k + 4], axis=0)).sum() / _STEP)
        t = np.linspace(0.0, 1.0, n)[:, None]
        parts.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    return np.concatenate(parts)


def _overlaps(places: Floats, half: tuple[float, float], frames: Floats) -> NDArray[np.int64]:
    """How many frames (left, right, bottom, top) a text of that size would touch in each place."""
    (w, h), x, y = half, places[:, :1], places[:, 1:]
    across = (x - w - _FREE < frames[:, 1]) & (frames[:, 0] < x + w + _FREE)
    upright = (y - h - _FREE < frames[:, 3]) & (frames[:, 2] < y + h + _FREE)
    counts: NDArray[np.int64] = (across & upright).sum(axis=1)
    return counts
