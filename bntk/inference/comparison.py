"""Structures, or networks, beside each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG, ArcComparison, compare
from bntk.inference.divergence import kl_by_family
from bntk.network import BayesianNetwork


def compare_structures(learned: Any, reference: Any) -> ArcComparison:
    """Compare a structure with a reference, such as the true one: arcs, skeletons, v-structures; and networks.

    Parameters
    ----------
    learned, reference : BayesianNetwork, DAG, PDAG, result of a search, or str
        Over the same nodes in any order; a string as in ``DAG.parse``. Of two networks the distributions are compared,
        too: the Kullback-Leibler divergence of the learned one from the reference, by family.

    Returns
    -------
    ArcComparison
        With ``shd``, the agreement (``precision``, ``recall``, ``f1``) of ``skeleton``, ``arcs`` and ``v_structures``,
        the lists of arcs, ``kl`` and ``kl_by_family``, and :meth:`~bntk.graph.ArcComparison.plot`.

    Examples
    --------
    >>> import bntk
    >>> true = bntk.datasets.asia()
    >>> learned = bntk.learn(true.sample(5000, seed=1), "bic")
    >>> found = bntk.compare_structures(learned, true)
    >>> found.shd, found.skeleton.recall, round(found.kl, 4)
    (1, 0.875, 0.0016)
    """
    ours, theirs = (_graph(each) for each in (learned, reference))
    found = compare(ours, theirs)
    if not (isinstance(learned, BayesianNetwork) and isinstance(reference, BayesianNetwork)):
        return found
    return replace(found, kl_by_family=kl_by_family(reference, learned))


def _graph(structure: Any) -> DAG | PDAG:
    if isinstance(structure, str):
        return DAG.parse(structure)
    if isinstance(structure, (DAG, PDAG)):
        return structure
    dag = getattr(structure, "dag", None)  # a network, or the result of a search
    what = "a network, a DAG, a PDAG, the result of a search, or a string such as 'A -> B'"
    return _checking.instance(
        "each structure", dag if isinstance(dag, DAG) else structure, DAG, what=what, error=GraphError
    )
