"""Where to draw the nodes and arcs of a DAG: layers from top to bottom, few crossings, straight long arcs.

The steps of Sugiyama, Tagawa and Toda (1981): layers (:mod:`bntk.graph.layers`), a waypoint wherever an arc passes a
layer, orders within layers (:mod:`bntk.graph.crossings`), then positions by least squares with a minimum distance.
Layers that are too wide for the page are folded into rows, and long arcs of one node that has many share their
waypoints, so that they leave it as one line with branches. The long arcs of a class run beside all nodes, with a
branch above each layer that meets other arcs at right angles only. Parts that are not connected are laid out one by one
and packed, lone nodes in a grid. Arcs bend only between layers and pass a layer upright, so they touch no node but
their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bntk.graph.crossings import fewest_crossings
from bntk.graph.dag import DAG
from bntk.graph.layers import shortest_levels

Point = tuple[float, float]
Arc = tuple[str, str]
Floats = NDArray[np.float64]

#: A node with so many arcs that pass other layers draws them as one line with branches.
_HUB = 4

#: Lines beside the nodes: the space before the first, and from line to line.
_BESIDE, _LANE = 14.0, 7.0
#: Where their branches run, as a share of the space above a layer.
_BRANCH = 0.38

#: How far sideways arcs run near their ends, as a share of the whole.
_LEAN, _STEEP_LEAN = 0.28, 0.05


@dataclass(frozen=True)
class Layout:
    """A drawing of a DAG: the centre of each node, and each arc as cubic Bezier curves; y grows upwards.

    ``routes`` has ``3 k + 1`` points for an arc of ``k`` curves, from the parent's border to the child's. ``hubs`` are
    the nodes whose arcs run together.
    """

    positions: dict[str, Point]
    routes: dict[Arc, tuple[Point, ...]]
    hubs: tuple[str, ...] = ()


def layered_layout(
    dag: DAG,
    sizes: Mapping[str, tuple[float, float]] | None = None,
    *,
    gap: float = 18.0,
    layer_gap: float = 34.0,
    share: bool = True,
    width: float | None = None,
    aside: Iterable[str] = (),
) -> Layout:
    """Lay a DAG out in layers, every arc pointing downwards. Deterministic.

    Parameters
    ----------
    dag : DAG
        The graph to draw.
    sizes : mapping of node to (width, height), optional
        How large each node is drawn, 60 by 24 by default; nodes never overlap.
    gap, layer_gap : float
        Free space between neighbours of a layer, and the least between layers.
    share : bool
        Whether long arcs of one node may run together.
    width : float, optional
        The width of a page, on which layers are folded; by default 650, or more for large graphs.
    aside : iterable of str
        Nodes whose long arcs, if they have many, run beside all nodes: the class of a classifier.

    Examples
    --------
    >>> positions = layered_layout(DAG.parse("a->b; a->c")).positions
    >>> {node: (round(x), round(y)) for node, (x, y) in positions.items()}
    {'a': (0, 0), 'b': (-39, -58), 'c': (39, -58)}
    """
    if sizes is None:
        sizes = dict.fromkeys(dag.nodes, (60.0, 24.0))
    box = [(float(sizes[node][0]), float(sizes[node][1])) for node in dag.nodes]
    area = sum((w + gap) * (h + layer_gap) for w, h in box)
    widest = max(650.0, 1.6 * math.sqrt(area)) if width is None else width
    classes = {dag.index(name) for name in aside} if share else set()
    parts = [_Part(dag, members, box, gap, layer_gap, widest, share, classes) for members in _connected(dag)]
    lone = sum(len(part.members) == 1 for part in parts)
    shifts = _packed([part.frame() for part in parts], lone, gap, widest)
    positions, routes = {}, {}
    hubs: set[int] = set()
    for part, (dx, dy) in zip(parts, shifts, strict=True):
        hubs |= part.hubs
        for v, (x, y) in part.centres.items():
            positions[dag.nodes[v]] = (x + dx, y + dy)
        for (a, b), curve in part.curves.items():
            routes[dag.nodes[a], dag.nodes[b]] = tuple((x + dx, y + dy) for x, y in curve)
    together = tuple(dag.nodes[v] for v in sorted(hubs))
    return Layout({node: positions[node] for node in dag.nodes}, {arc: routes[arc] for arc in dag.arcs}, together)


def _connected(dag: DAG) -> list[list[int]]:
    """The connected parts; those with arcs first, then the lone nodes, each in node order."""
    seen: set[int] = set()
    parts = []
    for start in range(dag.n_nodes):
        if start in seen:
            continue
        part = [start]
        seen.add(start)
        for v in part:
            for u in (*dag.parent_indices[v], *dag.child_indices[v]):
                if u not in seen:
                    seen.add(u)
                    part.append(u)
        parts.append(sorted(part))
    return sorted(parts, key=lambda part: len(part) == 1)


def _packed(frames: Sequence[tuple[float, float, float, float]], n_lone: int, gap: float, widest: float) -> list[Point]:
    """How to shift each frame (left, right, bottom, top) so that they stand in rows, the middle of all at x = 0.

    The last ``n_lone`` frames are nodes without arcs: they stand close together below the others, in a grid.
    """
    widths = [right - left for left, right, _, _ in frames]
    joined = len(frames) - n_lone
    rows = _filled(widths[:joined], range(joined), 2 * gap, widest)
    broad = [sum(widths[i] for i in row) + 2 * gap * (len(row) - 1) for row in rows]
    shifts: list[Point] = [(0.0, 0.0)] * len(frames)
    top = frames[0][3] if frames else 0.0  # the first part keeps its height
    for row, total in zip(rows, broad, strict=True):
        x = -total / 2
        for i in row:
            shifts[i] = (x - frames[i][0], top - frames[i][3])
            x += widths[i] + 2 * gap
        top -= max(frames[i][3] - frames[i][2] for i in row) + 2 * gap
    lone = range(joined, len(frames))
    if lone:
        columns = _grid(frames, lone, gap, max([*broad, 0.0]), widest)
        column_widths = [max(widths[i] for i in lone[k::columns]) for k in range(columns)]
        for start in range(0, n_lone, columns):
            there, x = lone[start : start + columns], -(sum(column_widths) + gap * (columns - 1)) / 2
            high = max(frames[i][3] - frames[i][2] for i in there)
            for i, column in zip(there, column_widths, strict=False):
                middle = (frames[i][0] + frames[i][1]) / 2, (frames[i][2] + frames[i][3]) / 2
                shifts[i] = (x + column / 2 - middle[0], top - high / 2 - middle[1])
                x += column + gap
            top -= high + gap
    return shifts


def _grid(
    frames: Sequence[tuple[float, float, float, float]], lone: Sequence[int], gap: float, broad: float, widest: float
) -> int:
    """How many columns of a grid of nodes fit below a picture: as wide as that, or else about as wide as high."""
    area = sum((frames[i][1] - frames[i][0] + gap) * (frames[i][3] - frames[i][2] + gap) for i in lone)
    page = min(max(broad, 1.6 * math.sqrt(area)), max(widest, broad))
    for columns in range(len(lone), 1, -1):
        widths = [max(frames[i][1] - frames[i][0] for i in lone[k::columns]) for k in range(columns)]
        if sum(widths) + gap * (columns - 1) <= page:
            return columns
    return 1


def _filled(widths: Sequence[float], members: Sequence[int], gap: float, limit: float) -> list[list[int]]:
    """Members in rows of at most that width, in order."""
    rows: list[list[int]] = []
    room = 0.0
    for width, i in zip(widths, members, strict=True):
        if not rows or room < width:
            rows.append([])
            room = limit
        rows[-1].append(i)
        room -= width + gap
    return rows


class _Part:
    """The layout of one connected part; nodes are numbers, waypoints the numbers after all nodes."""

    def __init__(
        self,
        dag: DAG,
        members: Sequence[int],
        box: Sequence[tuple[float, float]],
        gap: float,
        layer_gap: float,
        widest: float,
        share: bool,
        classes: Collection[int],
    ) -> None:
        self.width, self.height = [box[v][0] for v in members], [box[v][1] for v in members]
        self.gap, self.layer_gap, self.members = gap, layer_gap, members
        local = {v: i for i, v in enumerate(members)}
        arcs = [(local[p], local[v]) for v in members for p in dag.parent_indices[v]]
        level = _balanced(shortest_levels(len(members), arcs), arcs, self.width)
        level = self._folded(level, arcs, widest)
        n_long = np.bincount([a for a, b in arcs if level[b] > level[a] + 1], minlength=len(members))
        hubs = {v for v in range(len(members)) if share and n_long[v] >= _HUB}
        self.beside = [v for v in sorted(hubs) if members[v] in classes]
        self.hubs = {members[v] for v in hubs}
        routed = [arc for arc in arcs if arc[0] not in self.beside]
        layers, links, chains = _with_waypoints(len(members), routed, level, hubs)
        chains += [[a, b] for a, b in arcs if a in self.beside]
        self.layers = fewest_crossings(layers, list(links))
        n = sum(map(len, layers))
        self.width += [0.0] * (n - len(members))
        self.height += [0.0] * (n - len(members))
        x = _place(self.layers, links, np.array(self.width), len(members), gap)
        for layer in self.layers:
            if len(layer) == 1 and layer[0] in self.beside:
                x[layer[0]] = 0.0  # the middle
        self._set_heights(x, links)
        reach = np.array(self.width) / 2
        self.left, self.right = float((x - reach).min()), float((x + reach).max())
        heads = [b for a, b in arcs if a in self.beside[:1]]
        self.first_left = 2 * float(x[heads].sum()) <= len(heads) * (self.left + self.right)
        self.centres = {v: (float(x[i]), self.y[self.level[i]]) for i, v in enumerate(members)}
        self.curves = self._routes(x, chains)

    def _folded(self, level: list[int], arcs: Sequence[tuple[int, int]], widest: float) -> list[int]:
        """Layers wider than the page as several rows: leaves first, so that what has children stays near them."""
        parents = {head for _, head in arcs}
        has_child = {tail for tail, _ in arcs}
        rows: list[list[int]] = []
        for k in range(max(level) + 1):
            layer = [v for v in range(len(level)) if level[v] == k]
            total = sum(self.width[v] + self.gap for v in layer)
            n_rows = min(len(layer), math.ceil(total / widest))
            # Roots and nodes with children go below, leaves above: that lengthens the fewest arcs.
            layer.sort(key=lambda v: (v in has_child, v not in parents, v))
            cuts = [round(i * len(layer) / n_rows) for i in range(n_rows + 1)]
            rows += [layer[a:b] for a, b in pairwise(cuts)]
        return [k for _, k in sorted((v, k) for k, row in enumerate(rows) for v in row)]

    def _set_heights(self, x: Floats, links: Iterable[tuple[int, int]]) -> None:
        """The middle and half height of each layer; where arcs run far sideways, layers stand further apart."""
        self.level = {v: k for k, layer in enumerate(self.layers) for v in layer}
        self.half = [max(self.height[v] for v in layer) / 2 for layer in self.layers]
        reach = [0.0] * len(self.layers)
        for a, b in links:
            reach[self.level[a]] = max(reach[self.level[a]], abs(x[a] - x[b]))
        self.y = [0.0]
        for k in range(1, len(self.layers)):
            between = self.layer_gap + min(0.12 * max(0.0, reach[k - 1] - 60.0), 1.2 * self.layer_gap)
            between += _LANE * max(0, len(self.beside) - 1)
            self.y.append(self.y[-1] - self.half[k - 1] - between - self.half[k])

    def _routes(self, x: Floats, chains: Sequence[Sequence[int]]) -> dict[tuple[int, int], tuple[Point, ...]]:
        ports = self._ports(x, chains)
        return {
            (self.members[chain[0]], self.members[chain[-1]]): (
                self._line_beside(x, chain[0], chain[-1], port)
                if chain[0] in self.beside
                else self._curve(x, chain, port)
            )
            for chain, port in zip(chains, ports, strict=True)
        }

    def _ports(self, x: Floats, chains: Sequence[Sequence[int]]) -> list[float]:
        """Where each arc meets the upper border of its child: side by side, in the order in which they come."""
        arriving: dict[int, list[int]] = {}
        for i, chain in enumerate(chains):
            arriving.setdefault(chain[-1], []).append(i)
        ports = [0.0] * len(chains)
        for child, those in arriving.items():
            those.sort(key=lambda i: (self._side(chains[i][0], x[chains[i][-2]]), -self.level[chains[i][0]], i))
            step = min(11.0, 0.8 * self.width[child] / len(those))
            for rank, i in enumerate(those):
                ports[i] = float(x[child]) + step * (rank - (len(those) - 1) / 2)
        return ports

    def _side(self, tail: int, x: float) -> float:
        """From where an arc comes: that of a line beside the nodes from the left or right of them all."""
        if tail not in self.beside:
            return x
        return -math.inf if self._on_the_left(tail) else math.inf

    def _on_the_left(self, tail: int) -> bool:
        """Whether the line of a class runs down on the left: that of the first where it has the shorter branches."""
        return (self.beside.index(tail) % 2 == 0) == self.first_left

    def _line_beside(self, x: Floats, tail: int, head: int, port: float) -> tuple[Point, ...]:
        """From a class down to the space above the next layer, to a side and down there, and back above the child."""
        lane = self.beside.index(tail)
        far = _BESIDE + _LANE * (lane // 2)
        edge = self.left - far if self._on_the_left(tail) else self.right + far
        first, last = self.level[tail] + 1, self.level[head]
        above = [self.y[k] + self.half[k] + _BRANCH * self.layer_gap + _LANE * lane for k in (first, last)]
        corners = [(float(x[tail]), self.y[self.level[tail]] - self.height[tail] / 2), (float(x[tail]), above[0])]
        if last > first:
            corners += [(edge, above[0]), (edge, above[1])]
        corners += [(port, above[1]), (port, self.y[last] + self.height[head] / 2)]
        return _rounded(corners, 0.15 * self.layer_gap)

    def _curve(self, x: Floats, chain: Sequence[int], port: float) -> tuple[Point, ...]:
        """From border to border; upright within layers, so that the arc keeps its distance from other nodes."""
        first, last = chain[0], chain[-1]
        k = self.level[first]
        at: Point = (float(x[first]), self.y[k] - self.height[first] / 2)
        points, upright = [at], False
        for v in chain[1:]:
            if at[1] > self.y[k] - self.half[k] + 1e-6:  # a small node, or a waypoint, in a high layer
                at = _line_to(points, (at[0], self.y[k] - self.half[k]))
                upright = True
            k += 1
            end: Point = (port if v == last else float(x[v]), self.y[k] + self.half[k])
            below = v != last or self.height[last] / 2 < self.half[k] - 1e-6
            at = _bend_to(points, end, upright, below, bool(self.beside))
            upright = v != last
        if self.height[last] / 2 < self.half[k] - 1e-6:
            _line_to(points, (port, self.y[k] + self.height[last] / 2))
        return tuple(points)

    def frame(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of everything drawn."""
        points = [point for curve in self.curves.values() for point in curve]
        xs, ys = [p[0] for p in points], [p[1] for p in points]
        for i, (x, y) in enumerate(self.centres.values()):
            xs += [x - self.width[i] / 2, x + self.width[i] / 2]
            ys += [y - self.height[i] / 2, y + self.height[i] / 2]
        return min(xs), max(xs), min(ys), max(ys)


def _line_to(points: list[Point], end: Point) -> Point:
    (x, y), (u, v) = points[-1], end
    points += [(x + (u - x) / 3, y + (v - y) / 3), (x + (u - x) * 2 / 3, y + (v - y) * 2 / 3), end]
    return end


def _rounded(corners: Sequence[Point], radius: float) -> tuple[Point, ...]:
    """A line through corners, each of them round."""
    points = [corners[0]]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        if math.dist(before, corner) < 1e-9 or math.dist(corner, after) < 1e-9:
            continue
        r = min(radius, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        start, end = (_towards(corner, other, r) for other in (before, after))
        _line_to(points, start)
        points += [_towards(corner, before, 0.45 * r), _towards(corner, after, 0.45 * r), end]
    _line_to(points, corners[-1])
    return tuple(points)


def _towards(start: Point, end: Point, length: float) -> Point:
    share = length / math.dist(start, end)
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _bend_to(points: list[Point], end: Point, upright_start: bool, upright_end: bool, steep: bool = False) -> Point:
    """A curve down to ``end``, upright where it goes on upright, and nearly straight where it begins or ends.

    A ``steep`` one comes down nearly upright, to cross a branch that runs above the layer at a large angle.
    """
    (x, y), (u, v) = points[-1], end
    start, stop = (0.0 if upright_start else _LEAN, 0.0 if upright_end else _STEEP_LEAN if steep else _LEAN)
    near = 0.6 if steep else 0.4
    points += [(x + start * (u - x), y + 0.4 * (v - y)), (u - stop * (u - x), v - near * (v - y)), end]
    return end


def _balanced(level: list[int], arcs: Sequence[tuple[int, int]], width: Sequence[float]) -> list[int]:
    """Nodes whose arcs are as long wherever they stand go to the narrowest layer they can."""
    above: list[list[int]] = [[] for _ in level]
    below: list[list[int]] = [[] for _ in level]
    for a, b in arcs:
        below[a].append(b)
        above[b].append(a)
    total = [0.0] * (max(level) + 1)
    for v, k in enumerate(level):
        total[k] += width[v]
    for v in range(len(level)):
        if not above[v] or len(above[v]) != len(below[v]):
            continue
        total[level[v]] -= width[v]
        choices = range(max(level[u] for u in above[v]) + 1, min(level[u] for u in below[v]))
        level[v] = min(choices, key=lambda k: (total[k], k))
        total[level[v]] += width[v]
    return level


def _with_waypoints(
    n: int, arcs: Sequence[tuple[int, int]], level: Sequence[int], hubs: Collection[int]
) -> tuple[list[list[int]], dict[tuple[int, int], int], list[list[int]]]:
    """Layers with a waypoint wherever an arc passes, links from layer to layer with the number of arcs that run along
    each, and the chain of each arc.
    """
    layers: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for v, k in enumerate(level):
        layers[k].append(v)
    trunks: dict[tuple[int, int], int] = {}  # of hubs, by node and layer
    links: dict[tuple[int, int], int] = {}
    following, chains = n, []
    for tail, head in arcs:
        chain = [tail]
        for k in range(level[tail] + 1, level[head]):
            shared = tail in hubs
            point = trunks.get((tail, k)) if shared else None
            if point is None:
                point, following = following, following + 1
                if shared:  # in the middle, where its branches are short
                    trunks[tail, k] = point
                    layers[k].insert(len(layers[k]) // 2, point)
                else:
                    layers[k].append(point)
            chain.append(point)
        chain.append(head)
        chains.append(chain)
        for link in pairwise(chain):
            links[link] = links.get(link, 0) + 1
    return layers, links, chains


def _place(
    layers: Sequence[Sequence[int]], links: Mapping[tuple[int, int], int], width: Floats, n_nodes: int, gap: float
) -> Floats:
    """Horizontal positions: linked ones near each other, long arcs upright, neighbours of a layer kept apart.

    Least squares under order constraints, by the alternating direction method of multipliers: a linear system draws
    linked nodes together, isotonic regression (:func:`_apart`) keeps each layer in order. Links of waypoints are
    weighted again by how far they lean, so that few lean at all rather than all a little.
    """
    n = width.size
    margin = np.where(np.arange(n) < n_nodes, gap / 2, gap / 3)
    distances = [_distances(width[list(layer)], margin[list(layer)]) for layer in layers]
    x = np.zeros(n)
    for layer, distance in zip(layers, distances, strict=True):
        x[list(layer)] = distance - distance[-1] / 2
    if not links:
        return x
    a, b = np.array(list(links)).T
    n_way = (a >= n_nodes).astype(int) + (b >= n_nodes)
    base = np.array([1.0, 2.0, 6.0])[n_way] * np.sqrt(list(links.values()))
    # A node with a single arc hangs on its neighbour, so that parents are centred above their leaves.
    degree = np.bincount(np.concatenate([a, b]), minlength=n)
    base[(np.minimum(degree[a], degree[b]) == 1) & (n_way == 0)] = 5.0
    weight = base
    dual = np.zeros(n)
    for _ in range(4):
        solve = _draws_together(n, a, b, weight)
        for _ in range(40):
            drawn = solve(x - dual)
            for layer, distance in zip(layers, distances, strict=True):
                members = list(layer)
                x[members] = _apart(drawn[members] + dual[members], distance)
            dual += drawn - x
        leaning = np.abs(x[a] - x[b])
        weight = np.where(n_way > 0, base * np.clip(30.0 / (leaning + 1.0), 0.5, 12.0), base)
    return x - (x.min() + x.max()) / 2


def _draws_together(n: int, a: NDArray[np.int64], b: NDArray[np.int64], weight: Floats) -> Callable[[Floats], Floats]:
    """Solves for the positions that balance short links against staying where they are."""
    from scipy.sparse import coo_matrix, identity
    from scipy.sparse.linalg import splu

    laplacian = coo_matrix(
        (np.concatenate([weight, weight, -weight, -weight]), (np.r_[a, b, a, b], np.r_[a, b, b, a])), shape=(n, n)
    )
    solve: Callable[[Floats], Floats] = splu((laplacian + identity(n)).tocsc()).solve
    return solve


def _distances(width: Floats, margin: Floats) -> Floats:
    half = width / 2 + margin
    return np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:])])


def _apart(wanted: Floats, distance: Floats) -> Floats:
    """The positions nearest to ``wanted`` (least squares) that keep the order and the distances.

    Subtracting the least distances turns this into isotonic regression, solved by pooling adjacent violators.
    """
    means: list[float] = []
    members: list[int] = []
    for value in (wanted - distance).tolist():
        mean, count = value, 1
        while means and means[-1] >= mean:
            mean = (mean * count + means[-1] * members[-1]) / (count + members[-1])
            count += members[-1]
            means.pop()
            members.pop()
        means.append(mean)
        members.append(count)
    return np.repeat(means, members) + distance
