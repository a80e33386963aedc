"""Arcs of a space as pairs, as text, and as frames."""

import pandas as pd
import pytest

import bntk
from bntk import DAG, Space
from bntk.errors import BntkError, GraphError, ParseError, SpaceError

PAIRS = [("a", "b"), ("c", "b"), ("light rain", "a")]


@pytest.mark.parametrize(
    "arcs",
    [
        ["a->b", "c -> b", '"light rain" -> a'],
        ["a -> b <- c", ("light rain", "a")],
        'a -> b <- c; "light rain" -> a',
        pd.DataFrame({"from": ["a", "c", "light rain"], "to": ["b", "b", "a"], "weight": [1, 2, 3]}),
        "[light rain][c][a|light rain][b|a:c]",
    ],
)
def test_arcs_are_read_as_they_are_written(arcs):
    nodes = ["a", "b", "c", "light rain"]
    expected = Space(nodes, forbidden=PAIRS)
    assert Space(nodes, forbidden=arcs) == expected
    assert Space(nodes).restrict(forbidden=arcs) == expected
    assert Space(nodes, required=arcs).start() == DAG(nodes, PAIRS)


def test_both_directions_can_be_forbidden():
    assert Space(["a", "b"], forbidden=["a -> b", "b -> a"]).forbidden == (("a", "b"), ("b", "a"))


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    assert Space(["a", "b"], required=polars.DataFrame({"from": ["a"], "to": ["b"]})).required == (("a", "b"),)


@pytest.mark.parametrize(
    ("arcs", "error", "message"),
    [
        (["a -> x"], BntkError, "'x'"),
        (["a"], SpaceError, "'a' names no arc"),
        (["a ->"], ParseError, "line 1"),
        (pd.DataFrame({"tail": ["a"], "head": ["b"]}), SpaceError, "needs the columns 'from' and 'to'; it has"),
        (pd.DataFrame({"from": ["a"], "to": ["q"]}), BntkError, "'q'"),
        ([("a", "b", "c")], BntkError, "arc"),
        (3, SpaceError, "forbidden must be a list of arcs"),
    ],
)
def test_what_is_no_arc_is_refused(arcs, error, message):
    with pytest.raises(error, match=message):
        Space(["a", "b", "c"], forbidden=arcs)


def test_a_model_string_is_read_back():
    for dag in (bntk.datasets.asia().dag, DAG(["x"]), DAG([]), DAG.parse("b -> a; c -> a; c -> b")):
        text = dag.to_modelstring()
        assert not dag.n_nodes or DAG.parse(text, nodes=dag.nodes) == dag
    assert DAG.parse("C <- A; B -> C; D").to_modelstring() == "[A][B][C|A:B][D]"
    for name in ("a:b", "a|b", "[a]", " a"):
        with pytest.raises(GraphError, match="a model string cannot hold the name"):
            DAG([name]).to_modelstring()
