"""Graphs: directed, partially directed and undirected ones, d-separation, equivalence and triangulation."""

from bntk.graph.dag import DAG
from bntk.graph.equivalence import (
    PDAG,
    Agreement,
    ArcComparison,
    compare,
    consistent_extension,
    cpdag,
    hamming,
    interventional_cpdag,
    is_equivalent,
    meek,
    shd,
    v_structures,
)
from bntk.graph.separation import (
    d_separated,
    minimal_separator,
    reachable,
    relevant_evidence,
    relevant_nodes,
)
from bntk.graph.triangulation import (
    CliqueTree,
    best_elimination_order,
    clique_tree,
    elimination_order,
    triangulate,
)
from bntk.graph.undirected import UndirectedGraph

__all__ = [
    "DAG",
    "PDAG",
    "Agreement",
    "ArcComparison",
    "CliqueTree",
    "UndirectedGraph",
    "best_elimination_order",
    "clique_tree",
    "compare",
    "consistent_extension",
    "cpdag",
    "d_separated",
    "elimination_order",
    "hamming",
    "interventional_cpdag",
    "is_equivalent",
    "meek",
    "minimal_separator",
    "reachable",
    "relevant_evidence",
    "relevant_nodes",
    "shd",
    "triangulate",
    "v_structures",
]
