"""Scores equal those of R's bnlearn, and tree weights those of R's bnclassify.

bnlearn's ebic is BIC with an extra term that no score here has, and its bdj is not a marginal likelihood for nodes
without parents (its README says why), so both are left out.
"""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, pi, sqrt

import numpy as np
import pytest
from references import bnlearn_table, oracle_json, oracle_table, read_json, shared

from bntk import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.scores import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, kernels, score, score_by_node

SCORES = {
    "loglik": LogLikelihood(),
    "aic": AIC(),
    "bic": BIC(),
    "k2": K2(),
    "bde_iss1": BDeu(1),
    "bde_iss10": BDeu(10),
    "bds_iss1": BDs(1),
    "bds_iss10": BDs(10),
    "fnml": FNML(),
}
GRAPHS = ("empty", "chain_in_column_order", "true", "two_previous_columns_as_parents")


def bnlearn_regret(n: float, cells: float) -> float:
    """log C(n, K) as bnlearn has it: exact for few rows and cells, else the smaller of two approximations."""
    if n <= 1000 and cells <= 100:
        return float(kernels.log_regrets(float(n), np.array([float(cells)]))[0])
    h, alpha = cells / 2, cells / n
    g = exp(lgamma(h) - lgamma(h - 0.5))
    narrow = (h - 0.5) * log(n / 2) + log(pi) / 2 - lgamma(h) + 0.5 - (sqrt(0.5) - g * cells / 3 / sqrt(n)) ** 2
    narrow += (3 + cells * (cells - 2) * (2 * cells + 1)) / (36 * n)
    c = 0.5 * (1 + sqrt(1 + 4 / alpha))
    wide = n * (log(alpha) + (alpha + 2) * log(c) - 1 / c) - 0.5 * log(c + 2 / alpha)
    return min(narrow, wide)


def bnlearn_nml(dag: DAG, counter: TableCounter, quotient: bool) -> dict[str, float]:
    """fNML or qNML of each node with bnlearn's approximation of C."""
    result = {}
    for node in dag.nodes:
        (table,) = counter.compact([(*dag.parents(node), node)])
        r, n = table.counts.shape[1], counter.n_rows
        if quotient:
            regret = bnlearn_regret(n, table.q * r) - (bnlearn_regret(n, table.q) if table.q > 1 else 0.0)
        else:
            regret = sum(bnlearn_regret(m, r) for m in table.counts.sum(axis=1).tolist() if m)
        result[node] = LogLikelihood().family(table.counts) - regret
    return result


@pytest.mark.parametrize("name", ["mixed", "net8"])
def test_small_data_sets_score_as_in_bnlearn_in_total_and_by_node(name):
    table = oracle_table(name)
    for graph in oracle_json(f"{name}_bnlearn_scores").values():
        dag = DAG(graph["nodes"], graph["arcs"])
        for key, rule in SCORES.items():
            assert score(dag, table, rule) == pytest.approx(graph[key], rel=1e-9), key
            assert score_by_node(dag, table, rule) == pytest.approx(graph[f"{key}_by_node"], rel=1e-9), key


@pytest.mark.parametrize("name", ["mixed", "net8"])
def test_qnml_equals_bnlearn_where_bnlearn_is_exact(name):
    table = oracle_table(name)
    cards = {variable.name: variable.n_states for variable in table.variables}
    for graph in oracle_json(f"{name}_bnlearn_scores").values():
        dag = DAG(graph["nodes"], graph["arcs"])
        ours = score_by_node(dag, table, QNML())
        for node, theirs in graph["qnml_by_node"].items():
            cells = cards[node]
            for parent in dag.parents(node):
                cells *= cards[parent]
            assert ours[node] == pytest.approx(theirs, rel=1e-9 if cells <= 100 else 3e-6)


@pytest.mark.parametrize("name", ["learning.test", "asia", "insurance", "alarm"])
def test_large_data_sets_score_as_in_bnlearn_in_total_and_by_node(name):
    table = bnlearn_table(name)
    counter = TableCounter(table)
    for graph in read_json(shared(f"oracle/bnlearn/{name}_scores.json")).values():
        dag = DAG(graph["nodes"], graph["arcs"])
        for key in ("loglik", "aic", "bic", "k2", "bde_iss1", "bde_iss10", "bds_iss1"):
            by_node = score_by_node(dag, counter, SCORES[key])
            assert sum(by_node.values()) == pytest.approx(graph[key], rel=1e-9), key
            assert by_node == pytest.approx(graph.get(f"{key}_by_node", by_node), rel=1e-9), key


@pytest.mark.parametrize("name", ["learning.test", "asia", "insurance", "alarm"])
def test_normalised_likelihoods_differ_from_bnlearn_by_its_approximation_only(name):
    counter = TableCounter(bnlearn_table(name))
    for graph in read_json(shared(f"oracle/bnlearn/{name}_scores.json")).values():
        dag = DAG(graph["nodes"], graph["arcs"])
        for key, rule in (("fnml", FNML()), ("qnml", QNML())):
            theirs = bnlearn_nml(dag, counter, quotient=key == "qnml")
            assert sum(theirs.values()) == pytest.approx(graph[key], rel=1e-9)
            assert score(dag, counter, rule) == pytest.approx(graph[key], rel=1e-4)


@cache
def weights_of(name: str, rule):
    counter = TableCounter(oracle_table(name))
    return counter, rule.evaluator(counter).pair_weights("class", same_rows=True)


@pytest.mark.parametrize("name", ["mixed", "binary", "sparse", "mixed_missing"])
def test_tree_weights_equal_those_of_bnclassify(name):
    """Its loglik is the conditional mutual information I, its aic n I - df, n the rows complete in pair and class."""
    for pair in oracle_json(f"{name}_cmi")["pairs"]:
        counter, loglik = weights_of(name, LogLikelihood())
        _, aic = weights_of(name, AIC())
        i, j = counter.names.index(pair["x"]), counter.names.index(pair["y"])
        n = counter.tables([[pair["x"], pair["y"], "class"]])[0].sum()
        for tail, head in ((i, j), (j, i)):
            assert loglik[tail, head] == pytest.approx(n * pair["cmi_nats"], rel=1e-9, abs=1e-9)
            assert aic[tail, head] == pytest.approx(pair["aic"], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["mixed", "binary", "sparse"])
def test_bic_tree_weights_equal_those_of_bnclassify_on_complete_data(name):
    for pair in oracle_json(f"{name}_cmi")["pairs"]:
        counter, bic = weights_of(name, BIC())
        i, j = counter.names.index(pair["x"]), counter.names.index(pair["y"])
        assert bic[i, j] == pytest.approx(pair["bic"], rel=1e-9, abs=1e-9)
