"""Layout by Graphviz's program ``dot``, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping

from bntk.errors import BntkError
from bntk.graph.dag import DAG
from bntk.graph.layout import Layout, Point

_SECONDS = 60


class GraphvizError(BntkError, RuntimeError):
    """The program ``dot`` is absent, or did not answer as expected."""


def graphviz_layout(dag: DAG, sizes: Mapping[str, tuple[float, float]]) -> Layout:
    """Positions and curves from ``dot``; nodes go to it as numbers, so names need no quoting."""
    program = shutil.which("dot")
    if program is None:
        raise GraphvizError(
            "layout='graphviz' needs the program 'dot', which is not on the PATH; install Graphviz, or leave layout out"
        )
    try:
        done = subprocess.run(
            [program, "-Tplain"],
            input="\n".join(_source(dag, sizes)),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise GraphvizError(f"dot took more than {_SECONDS} s; leave layout out to do without it") from None
    except subprocess.CalledProcessError as error:
        raise GraphvizError(f"dot failed: {error.stderr.strip()[:300]}") from None
    return _read(dag, done.stdout)


def _source(dag: DAG, sizes: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    yield "digraph {"
    yield '  nodesep=0.25; ranksep=0.45; node [shape=box, fixedsize=true, label=""]; edge [dir=none];'
    for i, node in enumerate(dag.nodes):
        width, height = sizes[node]
        yield f"  n{i} [width={width / 72:.4f}, height={height / 72:.4f}];"
    for head, parents in enumerate(dag.parent_indices):
        for tail in parents:
            yield f"  n{tail} -> n{head};"
    yield "}"


def _read(dag: DAG, answer: str) -> Layout:
    """Read dot's plain format, in inches: ``node name x y ...`` and ``edge tail head n x1 y1 ... xn yn ...``."""
    positions: dict[str, Point] = {}
    routes: dict[tuple[str, str], tuple[Point, ...]] = {}
    for line in answer.splitlines():
        kind, *words = line.split()
        if kind == "node":
            positions[dag.nodes[int(words[0][1:])]] = (72 * float(words[1]), 72 * float(words[2]))
        elif kind == "edge":
            numbers = [72 * float(word) for word in words[3 : 3 + 2 * int(words[2])]]
            arc = dag.nodes[int(words[0][1:])], dag.nodes[int(words[1][1:])]
            routes[arc] = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if positions.keys() != set(dag.nodes) or routes.keys() != set(dag.arcs):
        raise GraphvizError("dot left out some nodes or arcs; leave layout out to do without it")
    return Layout({node: positions[node] for node in dag.nodes}, {arc: routes[arc] for arc in dag.arcs})
