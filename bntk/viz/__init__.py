"""Pictures of networks."""

from __future__ import annotations

from bntk.viz.network import plot_dag

__all__ = ["plot_dag"]
