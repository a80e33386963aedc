"""Graph questions answered as R's bnlearn answers them."""

from __future__ import annotations

import pytest
from references import oracle_json

from bntk.graph import DAG, compare, cpdag, d_separated, hamming, shd, v_structures

DATA_SETS = ("mixed", "net8")


def graphs(name: str) -> dict[str, DAG]:
    columns = list(oracle_json(f"{name}.levels"))
    entries = oracle_json(f"{name}_bnlearn_graphs")["cpdag"]
    return {key: DAG(columns, entry["dag_arcs"]) for key, entry in entries.items()}


def unordered(pairs) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairs}


@pytest.mark.parametrize("name", DATA_SETS)
def test_class_moral_graph_and_blankets(name):
    entries = oracle_json(f"{name}_bnlearn_graphs")["cpdag"]
    for key, dag in graphs(name).items():
        entry = entries[key]
        assert set(cpdag(dag).directed) == set(map(tuple, entry["directed"]))
        assert unordered(cpdag(dag).undirected) == unordered(entry["undirected"])
        assert {(frozenset((a, b)), c) for a, c, b in v_structures(dag)} == {
            (frozenset((a, b)), c) for a, c, b in entry["vstructs"]
        }
        assert unordered(dag.moral_graph().edges) == unordered(entry["moral_edges"])
        for node, blanket in entry["markov_blankets"].items():
            assert set(dag.markov_blanket(node)) == set(blanket)


@pytest.mark.parametrize("name", DATA_SETS)
def test_distances(name):
    dags = graphs(name)
    distances = oracle_json(f"{name}_bnlearn_graphs")["distances"]
    assert len(distances) == len(dags) * (len(dags) - 1)
    for entry in distances:
        learned, reference = dags[entry["learned"]], dags[entry["reference"]]
        result = compare(learned, reference)
        found = {"shd": shd(learned, reference), "hamming": hamming(learned, reference)}
        found |= {"tp": result.tp, "fp": result.fp, "fn": result.fn}
        assert found == {key: entry[key] for key in found}


@pytest.mark.parametrize("name", DATA_SETS)
def test_d_separation(name):
    dags = graphs(name)
    questions = oracle_json(f"{name}_bnlearn_graphs")["dsep"]
    assert len(questions) == 200
    for entry in questions:
        assert d_separated(dags[entry["dag"]], entry["x"], entry["y"], entry["z"]) == entry["separated"]
