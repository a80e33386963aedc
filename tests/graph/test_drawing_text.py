"""DOT and Mermaid name every node and arc, whatever the names are."""

from __future__ import annotations

import html
import re

from hypothesis import given
from strategies import dags, odd_names

from bntk.graph import DAG


@given(dags(names=odd_names))
def test_dot_names_every_node_and_arc(dag):
    quoted = r'"((?:[^"\\\n]|\\.)*)"'
    head, *lines, last = dag.to_dot().split("\n") if dag.n_nodes else ("digraph {", "}")
    assert (head, last) == ("digraph {", "}")
    matches = [re.fullmatch(rf"  {quoted}(?: -> {quoted})?;", line, re.DOTALL) for line in lines]
    plain = [tuple(re.sub(r"\\(.)", _character, part) for part in m.groups() if part is not None) for m in matches]
    assert plain == [*((name,) for name in dag.nodes), *dag.arcs]


def _character(match):
    return "\n" if match[1] == "n" else match[1]


@given(dags(names=odd_names))
def test_mermaid_names_every_node_and_arc(dag):
    head, *lines = dag.to_mermaid().split("\n")
    assert head == "flowchart TD"
    labels = [re.fullmatch(r'  n(\d+)\["([^"<>`]*)"\]', line, re.DOTALL) for line in lines[: dag.n_nodes]]
    assert [int(m[1]) for m in labels] == list(range(dag.n_nodes))
    # Mermaid's #35; is HTML's &#35;, and all ampersands are written so.
    assert [re.sub(r"#(\d+);", lambda c: chr(int(c[1])), m[2]) for m in labels] == list(dag.nodes)
    arcs = [re.fullmatch(r"  n(\d+) --> n(\d+)", line) for line in lines[dag.n_nodes :]]
    assert {(dag.nodes[int(m[1])], dag.nodes[int(m[2])]) for m in arcs} == set(dag.arcs)
    assert len(arcs) == dag.n_arcs


def test_plain_names_stay_readable():
    dag = DAG.parse('"light rain" -> wet')
    assert '"light rain" -> "wet";' in dag.to_dot()
    assert html.unescape(dag.to_mermaid()).splitlines()[1] == '  n0["light rain"]'
