import subprocess
import sys

import numpy as np
import pytest
from cases import examples

from bntk.graph import UndirectedGraph, greedy
from bntk.graph.kernels import eliminate
from bntk.graph.triangulation import HEURISTICS, _bit_rows


@pytest.mark.parametrize("heuristic", HEURISTICS[:4])
def test_the_order_is_that_of_the_kernel_to_the_last_tie(heuristic):
    rng = np.random.default_rng(5)
    for _ in range(examples(40, 120)):
        n = int(rng.integers(1, 90))
        names, share = [f"x{i}" for i in range(n)], rng.random() ** 2 * 0.6
        edges = [(names[i], names[j]) for i in range(n) for j in range(i) if rng.random() < share]
        graph = UndirectedGraph(names, edges)
        sizes = rng.integers(2, 6, n).astype(float)
        logs, priority = np.log(sizes), rng.permutation(n)
        sets = [sum(1 << j for j in row) for row in graph.neighbor_indices]
        found = greedy.eliminate(sets, logs.tolist(), sizes.tolist(), priority.tolist(), heuristic)
        expected = eliminate(_bit_rows(graph), logs, sizes, priority, HEURISTICS.index(heuristic))
        assert found == expected.tolist()


def test_an_order_is_the_same_with_and_without_the_compiler():
    code = (
        "import sys, bntk; graph = bntk.datasets.asia().dag.moral_graph(); from bntk.graph import elimination_order\n"
        "print(elimination_order(graph, seed=3), 'numba' in sys.modules)\n"
        "import bntk.graph.kernels; print(elimination_order(graph, seed=3), True)"
    )
    first, second = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("\n")[:2]
    assert first.removesuffix(" False") == second.removesuffix(" True")


def test_the_compiler_is_loaded_when_there_is_much_to_eliminate(monkeypatch):
    monkeypatch.delitem(sys.modules, "bntk.graph.kernels")
    monkeypatch.setattr(greedy, "_done", 0)
    assert not greedy.pays(greedy.MOST_NODES + 1)
    assert greedy.pays(100)
    monkeypatch.setattr(greedy, "_done", greedy.MOST_WORK)
    assert not greedy.pays(2)
