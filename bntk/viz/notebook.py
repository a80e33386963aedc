"""The display of networks, structures and classifiers in notebooks. None of these functions raises."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from bntk.graph.dag import DAG
from bntk.network import BayesianNetwork
from bntk.viz.network import dag_scene
from bntk.viz.svg import to_svg

#: A larger network is shown as text.
MOST_NODES = 100
_MOST_ARCS = 600
_MOST_PARTS = 12


def structure_svg(dag: DAG, target: Iterable[str] = ()) -> str | None:
    """The structure as SVG; None, and so the text, where it is empty, too large or cannot be drawn."""
    try:
        if not 0 < dag.n_nodes <= MOST_NODES or dag.n_arcs > _MOST_ARCS:
            return None
        return to_svg(dag_scene(dag, target=[name for name in target if name in dag]), f"{dag.n_nodes} nodes")
    except Exception:  # work must not fail for want of a picture
        return None


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
    picture = structure_svg(network.dag, _class_names(classifier))
    shown = f"<pre>{escape(repr(network))}</pre>" if picture is None else picture
    return f'<div style="margin-top:0.6em">{shown}</div>'


def _folded_html(part: Any) -> str:
    name = escape(", ".join(_class_names(part)))
    return f"<details><summary>{name}</summary>{_network_html(part)}</details>"


def _class_names(classifier: Any) -> list[str]:
    several = getattr(classifier, "_class_variables", None)
    if several is None:
        one = getattr(classifier, "_class_variable", None)
        several = () if one is None else (one,)
    return [variable.name for variable in several]
