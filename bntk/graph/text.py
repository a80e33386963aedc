"""DAGs as text: what ``str(dag)`` writes and ``DAG.parse`` reads; DOT and Mermaid for pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bntk.errors import GraphError, ParseError

if TYPE_CHECKING:
    from bntk.graph.dag import DAG

_SPECIAL = r"\s;,\"<>\-\[\]|:\\"
_BARE = re.compile(rf"[^{_SPECIAL}]+")
_TOKEN = re.compile(
    rf'(?P<arrow>->|<-)|(?P<end>[;\n])|"(?P<quoted>(?:[^"\\\n]|\\.)*)"|(?P<bare>{_BARE.pattern})|(?P<blank>[^\S\n]+)'
)
_FAMILY = re.compile(r"\s*\[([^\[\]|]*)(?:\|([^\[\]|]*))?\]\s*")

Mentions = dict[str, int]  # name -> where the text first names it


class _TextArc(tuple[str, str]):
    """An arc that remembers where it was written."""

    place: int

    def __new__(cls, tail: str, head: str, place: int) -> _TextArc:
        arc = super().__new__(cls, (tail, head))
        arc.place = place
        return arc


def read_dag(text: str, nodes: set[str] | None = None) -> tuple[list[str], list[_TextArc]]:
    """Names, in the order in which the text first names them, and arcs; self-loops, repeated arcs and names that are
    not among ``nodes`` are refused where they are written. Cycles are not looked for.
    """
    is_model_string = text.lstrip().startswith("[")
    mentions, arcs = _read_model_string(text) if is_model_string else _read_chains(text)
    if nodes is not None:
        _check_mentions(text, mentions, nodes)
    _check_arcs(text, arcs)
    return list(mentions), arcs


def write_chains(dag: DAG) -> Iterator[str]:
    """Chains that name every node and arc, and every node for the first time in node order.

    Node after node, its arcs to earlier nodes are written; an arc that touches the end of the last chain prolongs it.
    """
    chain: list[str] = []
    end = -1
    for node in range(dag.n_nodes):
        linked = [i for i in (*dag.parent_indices[node], *dag.child_indices[node]) if i < node]
        linked.sort(key=lambda i: (i != end, i))
        if not linked:
            if chain:
                yield " ".join(chain)
            chain, end = [_quoted(dag.nodes[node])], node
        for other in linked:
            if end not in (node, other):
                yield " ".join(chain)
                chain, end = [_quoted(dag.nodes[other])], other
            following = other if end == node else node
            chain += ["<-" if following in dag.parent_indices[end] else "->", _quoted(dag.nodes[following])]
            end = following
    if chain:
        yield " ".join(chain)


def write_model_string(dag: DAG) -> str:
    """The families of a DAG, as ``[A][B][C|A:B]``."""
    for name in dag.nodes:
        if name != name.strip() or any(mark in name for mark in "[]|:"):
            raise GraphError(f"a model string cannot hold the name {name!r}; relabel it")
    families = ((name, dag.parents(name)) for name in dag.topological_order)
    return "".join(f"[{name}|{':'.join(parents)}]" if parents else f"[{name}]" for name, parents in families)


def write_dot(dag: DAG) -> Iterator[str]:
    """The lines of a Graphviz file."""
    yield "digraph {"
    yield from (f"  {_in_quotes(name)};" for name in dag.nodes)
    yield from (f"  {_in_quotes(tail)} -> {_in_quotes(head)};" for tail, head in dag.arcs)
    yield "}"


def write_mermaid(dag: DAG) -> Iterator[str]:
    """The lines of a Mermaid flowchart. Its own syntax would trip over many names, so nodes are numbered."""
    yield "flowchart TD"
    for node, name in enumerate(dag.nodes):
        label = "".join(f"#{ord(c)};" if c in '"#&<>`\\\n' else c for c in name)
        yield f'  n{node}["{label}"]'
    for head, parents in enumerate(dag.parent_indices):
        yield from (f"  n{tail} --> n{head}" for tail in parents)


def _quoted(name: str) -> str:
    if _BARE.fullmatch(name):
        return name
    return _in_quotes(name)


def _in_quotes(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def _read_chains(text: str) -> tuple[Mentions, list[_TextArc]]:
    """Nodes and arcs of chains such as ``A -> B <- C; D``."""
    mentions: Mentions = {}
    arcs: list[_TextArc] = []
    before: str | None = None
    arrow = ""
    for kind, word, place in _tokens(text):
        if kind == "arrow":
            if before is None or arrow:
                raise _parse_error("there is no node in front of this arrow", text, place)
            arrow = word
        elif kind == "end":
            if arrow:
                raise _parse_error("there is no node behind the arrow", text, place)
            before = None
        else:
            if before is not None and not arrow:
                raise _parse_error(f"expected '->', '<-' or ';' between {before!r} and {word!r}", text, place)
            mentions.setdefault(word, place)
            if before is not None:
                ends = (before, word) if arrow == "->" else (word, before)
                arcs.append(_TextArc(*ends, place))
            before, arrow = word, ""
    return mentions, arcs


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """The tokens (kind, word, place), closed by an end; quotes are taken off names."""
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            what = "a quote that is not closed" if text[place] == '"' else f"unexpected {text[place]!r}"
            advice = "; arcs are written '->' or '<-', and a name with special characters in double quotes"
            raise _parse_error(what + advice, text, place)
        kind = str(match.lastgroup)
        word = _unquoted(match[kind]) if kind == "quoted" else match[kind]
        if kind == "quoted" and not word.strip():
            raise _parse_error("a node name must not be blank", text, place)
        if kind != "blank":
            yield kind, word, place
        place = match.end()
    yield "end", "", place


def _read_model_string(text: str) -> tuple[Mentions, list[_TextArc]]:
    """Nodes and arcs of a bnlearn model string such as ``[A][B][C|A:B]``."""
    mentions: Mentions = {}
    arcs: list[_TextArc] = []
    place = 0
    while place < len(text):
        match = _FAMILY.match(text, place)
        if match is None:
            raise _parse_error("expected a family such as [C|A:B]", text, place)
        child = match[1].strip()
        if not child:
            raise _parse_error("a node name must not be blank", text, match.start(1))
        if child in mentions:
            raise _parse_error(f"the family of {child!r} is given twice", text, match.start(1))
        mentions[child] = match.start(1)
        start = match.start(2)
        for parent in [] if match[2] is None else match[2].split(":"):
            arcs.append(_TextArc(parent.strip(), child, start))
            start += len(parent) + 1
        place = match.end()
    for arc in arcs:
        if arc[0] not in mentions:
            what = f"the parent {arc[0]!r} has no family of its own" if arc[0] else "a parent's name is missing"
            raise _parse_error(what, text, arc.place)
    return mentions, arcs


def _check_mentions(text: str, mentions: Mentions, nodes: set[str]) -> None:
    """Refuse a node that the caller's list of nodes lacks."""
    for name, place in mentions.items():
        if name not in nodes:
            raise _parse_error(f"{name!r} is not among the given nodes", text, place)


def _check_arcs(text: str, arcs: Iterable[_TextArc]) -> None:
    """Refuse self-loops and repeated arcs where they are written."""
    seen: set[tuple[str, str]] = set()
    for arc in arcs:
        if arc[0] == arc[1]:
            raise _parse_error(f"the node {arc[0]!r} cannot be its own parent", text, arc.place)
        if arc in seen:
            raise _parse_error(f"the arc {arc[0]!r} -> {arc[1]!r} is given twice", text, arc.place)
        seen.add(arc)


def _parse_error(message: str, text: str, place: int) -> ParseError:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return ParseError(message, source="DAG text", line=line, column=column)
