"""The log joint of the classes and a row as a sum of terms, one for each family of a network."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Entries of all tables; beyond it they would take too much memory.
MOST_ENTRIES = 1 << 24


class FamilyTerms(NamedTuple):
    """The terms of all families, with one entry for each class, in the form that the kernel reads.

    Attributes
    ----------
    tables : ndarray
        log P(child | parents) of one family after the other; the class is the last axis, a missing child adds zero.
    starts : ndarray of int, of shape (n_families,)
        Where those of each family begin.
    touched, steps : ndarray of int
        For one feature after the other, the families that it is in, and how far one state more moves in their tables.
    touched_starts : ndarray of int, of shape (n_features + 1,)
        Where those of each feature begin.
    parents : ndarray of int
        The features that are parents: a row that misses one of them is not a sum of terms.
    n_classes : int
    """

    tables: Floats
    starts: Ints
    touched: Ints
    steps: Ints
    touched_starts: Ints
    parents: Ints
    n_classes: int

    @classmethod
    def of(cls, network: BayesianNetwork) -> FamilyTerms | None:
        """The terms of a network whose class comes last; None if they are too many, or if some is of a zero."""
        n_features, n_classes = len(network.cpts) - 1, network.cpts[-1].child.n_states
        tables: list[Floats] = []
        touched: list[list[tuple[int, int]]] = [[] for _ in range(n_features)]
        with_class = [n_features in (f, *parents) for f, parents in enumerate(network.dag.parent_indices)]
        sizes = [cpt.values.size * (1 if own else n_classes) for cpt, own in zip(network.cpts, with_class, strict=True)]
        if sum(sizes) > MOST_ENTRIES or not all(cpt.values.all() for cpt in network.cpts):
            return None
        for f, parents in enumerate(network.dag.parent_indices):
            values = network.cpts[f].values
            members = [*parents, f]
            table = np.log(values)
            if f < n_features:
                table = np.concatenate([table, np.zeros((*table.shape[:-1], 1))], axis=-1)
            if with_class[f]:
                place = members.index(n_features)
                table, members = np.moveaxis(table, place, -1), [v for v in members if v != n_features]
            else:
                table = np.broadcast_to(table[..., None], (*table.shape, n_classes))
            for axis, v in enumerate(members):
                touched[v].append((f, math.prod(table.shape[axis + 1 :])))
            tables.append(table.ravel())
        pairs = np.array([pair for some in touched for pair in some], dtype=np.int64).reshape(-1, 2)
        parents_of_some = {v for some in network.dag.parent_indices for v in some} - {n_features}
        return cls(
            np.concatenate(tables), np.cumsum([0, *map(len, tables[:-1])], dtype=np.int64),
            pairs[:, 0].copy(), pairs[:, 1].copy(), np.cumsum([0, *map(len, touched)], dtype=np.int64),
            np.array(sorted(parents_of_some), dtype=np.int64), n_classes,
        )  # fmt: skip

    def weighted(self, weights: Floats) -> FamilyTerms:
        """The terms of each feature times its weight; that of the class stays."""
        sizes = np.diff(np.append(self.starts, len(self.tables)))
        return self._replace(tables=self.tables * np.repeat(np.append(weights, 1.0), sizes))

    def to_mean(self, codes: NDArray[Any], shares: Floats, order: NDArray[Any], features: Ints, scores: Floats) -> None:
        """Turn what is added to rows into the log joint of rows with numbers between intervals, (n_rows, n_classes).

        ``codes`` has the lower states of all features, ``shares`` how far the ``features`` that are interpolated have
        gone to the next ones, and ``order`` those with the largest share first, each with a column for each row.
        """
        from bntk.classifiers.interpolation_kernels import mean_over_codings

        by_row = (
            np.ascontiguousarray(codes.T, np.int64), np.ascontiguousarray(shares.T, np.float64),
            np.ascontiguousarray(order.T, np.int64),
        )  # fmt: skip

        def work(span: tuple[int, int]) -> None:
            scratch = np.empty(len(self.starts), dtype=np.int64), np.empty(self.n_classes), np.empty(self.n_classes)
            mean_over_codings(*by_row, features, self, scores, *span, *scratch)

        steps = shares.size * (1 + len(self.touched) // max(1, len(codes))) * self.n_classes
        run_parallel(work, spans(len(scores), pieces_for(steps, n_threads())))


def family_terms(network: BayesianNetwork) -> FamilyTerms | None:
    """The terms of a network; made once for each network."""
    if "family terms" not in network._cache:
        network._cache["family terms"] = FamilyTerms.of(network)
    found: FamilyTerms | None = network._cache["family terms"]
    return found
