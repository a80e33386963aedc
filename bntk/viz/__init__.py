"""Pictures of networks, tables and results: matplotlib Axes, and SVG for notebooks."""

from __future__ import annotations

from bntk.evaluation.calibration import Reliability, reliability
from bntk.viz.bootstrap import plot_strengths, plot_threshold
from bntk.viz.columns import plot_table
from bntk.viz.comparison import plot_comparison
from bntk.viz.curves import plot_reliability, plot_search
from bntk.viz.evaluation import plot_critical_difference, plot_folds, plot_scatter
from bntk.viz.explanations import plot_explanations
from bntk.viz.importances import plot_importances
from bntk.viz.members import plot_members
from bntk.viz.network import plot_dag, plot_network
from bntk.viz.nodes import plot_node_scores
from bntk.viz.pdag import plot_pdag
from bntk.viz.space import plot_space
from bntk.viz.strengths import arc_information
from bntk.viz.tables import plot_confusion, plot_cpt

__all__ = [
    "Reliability",
    "arc_information",
    "plot_comparison",
    "plot_confusion",
    "plot_cpt",
    "plot_critical_difference",
    "plot_dag",
    "plot_explanations",
    "plot_folds",
    "plot_importances",
    "plot_members",
    "plot_network",
    "plot_node_scores",
    "plot_pdag",
    "plot_reliability",
    "plot_scatter",
    "plot_search",
    "plot_space",
    "plot_strengths",
    "plot_table",
    "plot_threshold",
    "reliability",
]
