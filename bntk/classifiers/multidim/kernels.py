# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
"""Loopy belief propagation where every row has its own tables. Arrays are trusted: callers have checked them."""

from __future__ import annotations

import numpy as np
from numba import njit

from bntk.inference.loopy_kernels import Graph, run


@njit(cache=True, nogil=True, error_model="numpy")
def propagate(graph, tables, likelihood, maximise, max_iter, tolerance, b, beliefs, changes, log_z):
    """For each row of ``tables`` and each component of ``likelihood`` (rows, components, states), one run."""
    rounds, observed = np.zeros(1, np.int64), np.full((1, graph.cards.size), -1)
    for row in range(tables.shape[0]):
        mine = Graph(
            graph.cards,
            graph.state_start,
            graph.edge_start,
            graph.edge_variable,
            graph.edge_factor,
            graph.edge_stride,
            graph.message_start,
            graph.near_start,
            graph.near,
            graph.table_start,
            tables[row],
        )
        for j in range(likelihood.shape[1]):
            run(
                mine, likelihood[row, j : j + 1], observed, maximise, True, 0.0, max_iter, tolerance, b,
                beliefs[row, j : j + 1], rounds, changes[row, j : j + 1], log_z[row, j : j + 1],
            )  # fmt: skip
