"""What str() writes, parse() reads; what cannot be read is refused with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import dags, odd_names

from bntk.errors import CycleError, ParseError
from bntk.graph import DAG


@given(dags(names=odd_names))
def test_text_round_trip(dag):
    assert DAG.parse(str(dag)) == dag


@given(dags())
def test_repr_of_a_small_dag_evaluates_to_it(dag):
    if repr(dag).startswith("DAG"):
        assert eval(repr(dag), {"DAG": DAG}) == dag
    else:
        assert f"{dag.n_arcs} arcs" in repr(dag)


@given(dags())
def test_model_string_round_trip(dag):
    text = "".join(f"[{n}|{':'.join(dag.parents(n))}]" if dag.parents(n) else f"[{n}]" for n in dag.nodes)
    assert DAG.parse(text, nodes=[]) == dag if not text else DAG.parse(text) == dag


@pytest.mark.parametrize(
    ("text", "nodes", "arcs"),
    [
        ("", [], []),
        (" \n ; ;\n", [], []),
        ("A", ["A"], []),
        ("A->B<-C; B->D", ["A", "B", "C", "D"], [("A", "B"), ("C", "B"), ("B", "D")]),
        ("A -> B\nC -> B ;C", ["A", "B", "C"], [("A", "B"), ("C", "B")]),
        ('"a b"->c', ["a b", "c"], [("a b", "c")]),
        (r'"say \"hi\"" <- "back\\slash"', ['say "hi"', "back\\slash"], [("back\\slash", 'say "hi"')]),
        ("x.1 -> f(y)", ["x.1", "f(y)"], [("x.1", "f(y)")]),
        ("[A][S][T|A][L|S][E|T:L]", list("ASTLE"), [("A", "T"), ("S", "L"), ("T", "E"), ("L", "E")]),
        (" [B|A] [A] ", ["B", "A"], [("A", "B")]),
    ],
)
def test_texts_and_what_they_mean(text, nodes, arcs):
    assert DAG.parse(text) == DAG(nodes, arcs)


def test_text_is_written_as_a_person_would():
    assert str(DAG.parse("A->B<-C; B->D")) == "A -> B <- C; B -> D"
    assert str(DAG.parse("A->B; A->C; B->C")) == "A -> B -> C <- A"
    assert str(DAG(["class", "x", "y"], [("class", "x"), ("class", "y")])) == "class -> x; class -> y"
    assert str(DAG(["B", "A", "lone one"], [("A", "B")])) == 'B <- A; "lone one"'
    assert repr(DAG.parse("A->B")) == "DAG.parse('A -> B')"


def test_nodes_fix_the_order_and_add_isolated_ones():
    assert DAG.parse("A -> B", nodes=["C", "B", "A"]) == DAG(["C", "B", "A"], [("A", "B")])
    assert DAG.parse("[A][B|A]", nodes=["B", "A"]).nodes == ("B", "A")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("A -> -> B", 1, 6, "in front of this arrow"),
        ("-> B", 1, 1, "in front of this arrow"),
        ("A ->", 1, 5, "behind the arrow"),
        ("A -> ; B", 1, 6, "behind the arrow"),
        ("A B", 1, 3, "between 'A' and 'B'"),
        ("A -- B", 1, 3, "unexpected '-'"),
        ("A-B", 1, 2, "unexpected '-'"),
        ("A -> B\nC > B", 2, 3, "unexpected '>'"),
        ('A -> "B', 1, 6, "not closed"),
        ('A -> " "', 1, 6, "blank"),
        ("A -> A", 1, 6, "its own parent"),
        ("A -> B; B <- A", 1, 14, "given twice"),
        ("[A][B|C]", 1, 7, "'C' has no family"),
        ("[A][B|A:]", 1, 9, "missing"),
        ("[A][A]", 1, 5, "given twice"),
        ("[A][B|A:A]", 1, 9, "given twice"),
        ("[A|A]", 1, 4, "its own parent"),
        ("[A][]", 1, 5, "blank"),
        ("[A]B", 1, 4, "expected a family"),
        ("[A][B", 1, 4, "expected a family"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text, line, column, message):
    with pytest.raises(ParseError) as caught:
        DAG.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in str(caught.value)


def test_a_node_that_is_not_among_the_given_ones_is_refused_with_its_place():
    with pytest.raises(ParseError, match="column 6: 'B' is not among"):
        DAG.parse("A -> B", nodes=["A", "C"])


def test_a_cycle_in_a_text_is_a_cycle_error():
    with pytest.raises(CycleError, match="A -> B -> A"):
        DAG.parse("A -> B -> A")
