"""The strength of an arc is the score of the structure less that of the structure without it."""

import numpy as np
import pytest
from references import bnlearn_table, read_json, shared

import bntk
from bntk.errors import DataError, GraphError
from bntk.learning.scores import arc_strength, score_by_node


@pytest.mark.parametrize("data", ["learning.test", "asia", "insurance"])
def test_changes_of_bic_are_those_of_bnlearn(data):
    found = read_json(shared(f"oracle/bnlearn/{data}_tests.json"))
    reference = found["arc_strength_of_hc"]
    table = bnlearn_table(data).take(np.arange(found["rows"]))
    arcs = [tuple(arc) for arc in reference["arcs"]]
    strengths = arc_strength(bntk.DAG(table.names, arcs), table, "bic")
    assert [-strengths[arc] for arc in arcs] == pytest.approx(reference["bic_delta"], rel=1e-9)


@pytest.mark.parametrize(
    "score", ["bic", "bdeu", "k2", "fnml", bntk.scores.LOO("dysp"), bntk.scores.CV(3, target="dysp")], ids=str
)
def test_it_is_the_difference_of_two_scores(score):
    rows = bntk.datasets.asia().sample(400, seed=3)
    dag = bntk.datasets.asia().dag.add_arc("xray", "dysp")
    found = arc_strength(dag, rows, score)
    assert list(found) == list(dag.arcs)
    whole = bntk.score(dag, rows, score)
    for arc, value in found.items():
        assert value == pytest.approx(whole - bntk.score(dag.remove_arc(*arc), rows, score), abs=1e-7)


def test_weights_missing_values_and_other_columns_are_taken_as_by_score():
    rows = bntk.datasets.with_missing(bntk.datasets.asia().sample(300, seed=4), 0.1, seed=1)
    weights = np.random.default_rng(0).integers(0, 3, 300)
    dag = bntk.DAG.parse("smoke -> lung -> xray; smoke -> xray")
    found = bntk.arc_strength(dag, rows, "bdeu", weights=weights)
    for arc, value in found.items():
        less = [bntk.score(each, rows, "bdeu", weights=weights) for each in (dag, dag.remove_arc(*arc))]
        assert value == pytest.approx(less[0] - less[1])


def test_networks_results_of_searches_and_strings_are_structures():
    rows = bntk.datasets.sprinkler().sample(300, seed=0)
    network = bntk.learn(rows, "bic")
    expected = dict(arc_strength(network.dag, rows, "bic"))
    assert dict(arc_strength(network, rows, "bic")) == expected
    assert dict(arc_strength(network.report, rows, "bic")) == expected
    assert len(arc_strength("rain -> wet", rows, "bic")) == 1
    assert len(arc_strength(bntk.DAG(rows.names), rows, "bic")) == 0
    with pytest.raises(GraphError, match="structure must be a DAG"):
        arc_strength(3, rows)
    with pytest.raises(DataError, match="snow"):
        arc_strength("snow -> wet", rows)
    with pytest.raises(ValueError, match="bick"):
        arc_strength("rain -> wet", rows, "bick")


def test_its_frame_is_sorted_and_its_picture_dashes_what_the_score_would_leave_out():
    rows = bntk.datasets.asia().sample(400, seed=3)
    found = arc_strength(bntk.datasets.asia().dag.add_arc("smoke", "xray"), rows, "bic")
    frame = found.to_frame()
    assert list(frame.columns) == ["from", "to", "strength"]
    assert frame["strength"].is_monotonic_decreasing
    assert dict(zip(zip(frame["from"], frame["to"], strict=True), frame["strength"], strict=True)) == dict(found)
    against = [arc for arc, value in found.items() if value < 0]
    assert ("smoke", "xray") in against
    assert f"{len(against)} of them below 0" in repr(found)
    from bntk.viz.network import dag_picture

    lines = dag_picture(found.dag, strengths=found, arc_labels=True).lines
    assert {arc for arc, line in lines.items() if line.dash} == set(against)
    strongest = max(found, key=found.__getitem__)
    assert max(lines, key=lambda arc: lines[arc].width) == strongest
    axes = found.plot(title="t")
    assert any("fall of bic without the arc" in text.get_text() for text in axes.texts)
    assert "<table" in found._repr_html_()


def test_scores_of_nodes_are_drawn_as_bars():
    asia = bntk.datasets.asia()
    rows = asia.sample(200, seed=0)
    by_node = score_by_node(asia.dag, rows, "bic")
    empty = score_by_node(bntk.DAG(asia.names), rows, "bic")
    axes = bntk.viz.plot_node_scores(by_node)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(list(by_node.values()))
    assert [label.get_text() for label in axes.get_yticklabels()] == list(asia.names)
    axes = bntk.viz.plot_node_scores({"true": by_node, "$empty$": empty}, order="score")
    order = sorted(by_node, key=by_node.__getitem__)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([s[n] for s in (by_node, empty) for n in order])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["true", "$empty$"]
    for wrong in ({}, {"a": "x"}, {"a": float("nan")}, {"one": {"a": 1.0}, "two": {"b": 1.0}}, 3):
        with pytest.raises(DataError, match="scores"):
            bntk.viz.plot_node_scores(wrong)
