"""The lines of docs/from-bnlearn.md beside what bnlearn and gRain computed."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from moving.pages import Page, pair_set
from references import ORACLE, oracle_json, reference_table

import bntk

PAGE = Page("from-bnlearn.md")
CHAIN, TRUE = "chain_in_column_order", "true"
SCORES, LEARNED, GRAPHS = (oracle_json(f"net8_bnlearn_{kind}") for kind in ("scores", "learn", "graphs"))
TABLES, ASKED = oracle_json("net8_bnlearn_cpts"), oracle_json("net8_grain")["queries"][0]


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bnlearn")
    for name in ("net8_true.bif", "net8.csv", "net8_missing.csv"):
        shutil.copyfile(ORACLE / name, folder / name)
    return PAGE.ours(folder)


def arcs(expected: list[list[str]]) -> Any:
    return lambda ours: {*ours.arcs} == {*map(tuple, expected)}


def number(expected: float) -> Any:
    return lambda ours: ours == pytest.approx(expected, rel=1e-12)


def tables(expected: dict[str, Any]) -> Any:
    def compare(ours: bntk.BayesianNetwork) -> bool:
        for cpt in ours.cpts:
            table = reference_table(expected[cpt.child.name], tuple(p.name for p in cpt.parents))
            seen = ~np.isnan(table)
            np.testing.assert_allclose(cpt.values[seen], table[seen], rtol=1e-9, atol=1e-15)
        return True

    return compare


def read(dag: bntk.DAG) -> bool:
    return {*dag.arcs} == {*map(tuple, SCORES[TRUE]["arcs"])}


def written(string: str) -> bool:
    return read(bntk.DAG.parse(string))


def same_class(ours: Any) -> bool:
    expected = GRAPHS["cpdag"][TRUE]
    return {*ours.directed} == {*map(tuple, expected["directed"])} and pair_set(ours.undirected) == pair_set(
        expected["undirected"]
    )


def same_v_structures(ours: Any) -> bool:
    def sets(found: Any) -> set[tuple[frozenset[str], str]]:
        return {(frozenset((a, b)), child) for a, child, b in found}

    return sets(ours) == sets(GRAPHS["cpdag"][TRUE]["vstructs"])


def same_blanket(ours: Any) -> bool:
    return {*ours} == {*GRAPHS["cpdag"][TRUE]["markov_blankets"]["E"]}


def separated() -> bool:
    question = {"dag": TRUE, "x": "B", "y": "C", "z": ["D", "H", "G"]}
    return next(case["separated"] for case in GRAPHS["dsep"] if question.items() <= case.items())


def distance() -> dict[str, int]:
    return next(case for case in GRAPHS["distances"] if (case["learned"], case["reference"]) == (CHAIN, TRUE))


def same_comparison(ours: Any) -> bool:
    """bnlearn counts true positive, false positive and false negative arcs: reversed ones are both of the latter."""
    expected = distance()
    found = ours.arcs
    return (found.tp, found.fp, found.fn) == (
        expected["tp"],
        expected["fp"],
        expected["fn"],
    )


def filled(ours: bntk.Table) -> bool:
    expected = oracle_json("net8_impute")
    frame = ours.to_pandas()[expected["columns"]]
    rows = [list(map(str, row)) for row in frame.to_numpy()]
    holes = [row - 1 for row in expected["rows_with_holes_1based"]]
    return [rows[i] for i in holes] == [expected["exact"][i] for i in holes]


SAME = {
    "a model string read": read,
    "a model string written": written,
    "the equivalence class": same_class,
    "v-structures": same_v_structures,
    "a Markov blanket": same_blanket,
    "d-separation": lambda ours: ours is separated(),
    "structural Hamming distance": lambda ours: ours == distance()["shd"],
    "arcs compared": same_comparison,
    "hill climbing": arcs(LEARNED["hc_bic"]["arcs"]),
    "hill climbing by BDe": arcs(LEARNED["hc_bde_iss10"]["arcs"]),
    "at most one parent": arcs(LEARNED["hc_bic_maxp1"]["arcs"]),
    "tabu search": arcs(LEARNED["tabu_bic"]["arcs"]),
    "a Chow-Liu tree": lambda ours: pair_set(ours.arcs) == pair_set(LEARNED["chow_liu"]["undirected_edges"]),
    "tree-augmented naive Bayes": arcs(LEARNED["tree_bayes"]["arcs"]),
    "BIC": number(SCORES[TRUE]["bic"]),
    "BDe": number(SCORES[TRUE]["bde_iss10"]),
    "K2": number(SCORES[TRUE]["k2"]),
    "maximum likelihood": tables(TABLES[TRUE]["mle"]),
    "with a prior": tables(TABLES[TRUE]["bayes_iss10"]),
    "how many parameters": number(SCORES[TRUE]["nparams"]),
    "the likelihood of rows": number(oracle_json("net8_true_loglik")["loglik_of_true_network_on_net8"]),
    "a posterior": lambda ours: np.allclose(ours.values, ASKED["marginals"]["A"], rtol=1e-12),
    "the probability of findings": number(ASKED["pEvidence"]),
    "holes filled": filled,
}
ONLY_RUN = {
    "random restarts",
    "whitelist, blacklist, tiers",
    "searches by tests",
    "a test of independence",
    "strengths of arcs",
    "an averaged network",
    "structural EM",
    "rows with experiments",
    "an intervention",
    "labels and their probabilities",
    "rows sampled",
    "a file written",
    "a plot",
}


def test_every_row_is_compared_or_said_to_be_only_run():
    assert {*PAGE.pairs} == {*SAME} | ONLY_RUN


@pytest.mark.parametrize("task", SAME)
def test_our_line_gives_what_bnlearn_gives(task, ours):
    assert SAME[task](ours[task])
