"""The display of networks, structures, tables and classifiers in notebooks. None of these functions raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork
from bntk.viz.classifier import class_names
from bntk.viz.network import dag_scene
from bntk.viz.scene import Scene
from bntk.viz.svg import to_svg

if TYPE_CHECKING:
    from bntk.data.table import Table
    from bntk.graph.equivalence import PDAG, ArcComparison
    from bntk.learning.search.bootstrap import ArcStrengths
    from bntk.learning.space import Space

#: A larger network is shown as text.
MOST_NODES = 100
_MOST_ARCS = 600
_MOST_PARTS = 12
_MOST_CELLS = 100_000_000  # of a table, which take some tenths of a second to count


def structure_svg(dag: DAG, target: Iterable[str] = ()) -> str | None:
    """The structure as SVG; None, and so the text, where it is empty, too large or cannot be drawn."""
    try:
        if not 0 < dag.n_nodes <= MOST_NODES or dag.n_arcs > _MOST_ARCS:
            return None
        return to_svg(dag_scene(dag, target=[name for name in target if name in dag]), f"{dag.n_nodes} nodes")
    except Exception:  # work must not fail for want of a picture
        return None


def picture_svg(make: Callable[[], Scene], n_nodes: int, n_arcs: int, description: str) -> str | None:
    """A scene as SVG; None, and so the text, where there is nothing to show, too much, or it cannot be drawn."""
    try:
        return to_svg(make(), description) if 0 < n_nodes <= MOST_NODES and n_arcs <= _MOST_ARCS else None
    except Exception:
        return None


def pdag_svg(pdag: PDAG) -> str | None:
    """A partially directed graph as SVG, or None."""
    from bntk.viz.pdag import pdag_picture

    n_arcs = len(pdag.directed) + len(pdag.undirected)
    return picture_svg(lambda: pdag_picture(pdag).scene(), len(pdag.nodes), n_arcs, f"{len(pdag.nodes)} nodes")


def comparison_svg(comparison: ArcComparison) -> str:
    """Two structures in one picture as SVG; nothing where there is none."""
    from bntk.viz.comparison import comparison_scene

    kinds = (comparison.correct, comparison.added, comparison.missing, comparison.reversed)
    learned, reference = comparison.learned, comparison.reference
    size = len(learned.nodes), sum(map(len, kinds))
    return picture_svg(lambda: comparison_scene(learned, reference), *size, "a structure against another") or ""


def strengths_svg(strengths: ArcStrengths) -> str | None:
    """Bootstrap strengths as SVG, or None."""
    from bntk.viz.bootstrap import strengths_picture

    n = len(strengths.nodes)
    return picture_svg(lambda: strengths_picture(strengths).scene(), n, 0, f"arc strengths of {n} nodes")


def space_svg(space: Space) -> str | None:
    """A space as SVG, or None."""
    from bntk.viz.space import space_scene

    return picture_svg(lambda: space_scene(space), space.n_nodes, len(space.forbidden), f"{space.n_nodes} nodes")


def table_svg(table: Table) -> str | None:
    """The variables of a table as SVG, or None."""
    from bntk.viz.columns import table_scene

    if table.codes.size > _MOST_CELLS:
        return None
    words = f"{table.n_rows:,} rows of {table.n_variables} variables"
    return picture_svg(lambda: table_scene(table), table.n_variables, 0, words)


def classifier_html(classifier: Any) -> str:
    """The network of a fitted classifier, to stand below what scikit-learn shows; nothing before it is fitted.

    A classifier without a network of its own that is made of others shows those, folded up.
    """
    try:
        if "network_" in vars(classifier):
            return _network_html(classifier)
        parts = getattr(classifier, "estimators_", None) or [getattr(classifier, "estimator_", None)]
        parts = [part for part in parts if "network_" in getattr(part, "__dict__", {})]
        return "".join(_folded_html(part) for part in parts[:_MOST_PARTS])
    except Exception:
        return ""


def _network_html(classifier: Any) -> str:
    network: BayesianNetwork = classifier.network_
    picture = structure_svg(network.dag, class_names(classifier))
    shown = f"<pre>{escape(repr(network))}</pre>" if picture is None else picture
    return f'<div style="margin-top:0.6em">{shown}</div>'


def _folded_html(part: Any) -> str:
    name = escape(", ".join(class_names(part)))
    return f"<details><summary>{name}</summary>{_network_html(part)}</details>"
