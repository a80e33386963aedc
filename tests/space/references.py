"""What spaces mean, said a second time and slowly: legality by networkx, moves by trying them all."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from bntk.errors import SpaceError
from bntk.graph import DAG
from bntk.learning.moves import ADD, DELETE, REVERSE
from bntk.learning.space import Group, Link, Space

Modes = tuple[str, ...]
MODES: Modes = ("all", "optional", "discard", "none")


@cache
def all_dags(nodes: tuple[str, ...]) -> tuple[DAG, ...]:
    """Every DAG over some nodes."""
    found = []
    pairs = list(combinations(nodes, 2))
    for choice in product((None, False, True), repeat=len(pairs)):
        arcs = [pair[::-1] if turned else pair for pair, turned in zip(pairs, choice) if turned is not None]
        if nx.is_directed_acyclic_graph(nx.DiGraph(arcs)):
            found.append(DAG(nodes, arcs))
    return tuple(found)


def is_legal(dag: DAG, rules: dict) -> bool:
    """Whether a structure keeps the rules, given as the arguments of a space."""
    arcs = set(dag.arcs)
    groups, links = rules.get("groups", ()), rules.get("links", ())
    limits = rules.get("max_parents")
    tier = {name: place for place, names in enumerate(rules.get("tiers", ())) for name in names}
    spoken = {pair for group in groups for pair in product(group.nodes, repeat=2)}
    spoken |= {pair for link in links for pair in (*product(link.tails, link.heads), *product(link.heads, link.tails))}
    return (
        set(rules.get("required", ())) <= arcs
        and not set(rules.get("forbidden", ())) & arcs
        and all(tier.get(tail, -1) <= tier[head] for tail, head in arcs if head in tier)
        and (limits is None or all(len(dag.parents(node)) <= limits for node in dag.nodes))
        and (rules.get("free", True) or arcs <= spoken)
        and all(_link_holds(dag, link, groups) for link in links)
        and all(_shape_holds(dag, group, links) for group in groups)
    )


def _link_holds(dag: DAG, link: Link, groups: tuple[Group, ...]) -> bool:
    tails_of = {head: [tail for tail in link.tails if dag.has_arc(tail, head)] for head in link.heads}
    if any(dag.has_arc(head, tail) for head in link.heads for tail in link.tails):
        return False
    if link.max_parents is not None and any(len(tails) > link.max_parents for tails in tails_of.values()):
        return False
    if link.mode == "discard":
        for head in (head for head, tails in tails_of.items() if not tails):
            mates = {*link.heads, *(node for group in groups if head in group.nodes for node in group.nodes)}
            neighbors = {*dag.parents(head), *dag.children(head)}
            if neighbors & mates:
                return False
    n_arcs = sum(map(len, tails_of.values()))
    return {"all": n_arcs == len(link.tails) * len(link.heads), "none": n_arcs == 0}.get(link.mode, True)


def _shape_holds(dag: DAG, group: Group, links: tuple[Link, ...]) -> bool:
    kept = list(group.nodes)
    for link in links:
        if link.mode == "discard":
            kept = [n for n in kept if n not in link.heads or set(link.tails) & set(dag.parents(n))]
    graph = dag.to_networkx().subgraph(group.nodes)
    if group.root is not None and (
        graph.in_degree(group.root) or (group.shape == "star" and any(tail != group.root for tail, _ in graph.edges))
    ):
        return False
    core = dag.to_networkx().subgraph(kept)
    most = max((degree for _, degree in graph.in_degree), default=0)
    return {
        "empty": lambda: graph.number_of_edges() == 0,
        "tree": lambda: core.edges == graph.edges and (not kept or nx.is_arborescence(core)),
        "forest": lambda: not group.nodes or nx.is_branching(graph),
        "star": lambda: not kept or (core.edges == graph.edges and _is_star(core)),
        "polytree": lambda: not group.nodes or nx.is_forest(graph.to_undirected()),
        "kdb": lambda: most <= group.k,
        "dag": lambda: True,
    }[group.shape]()


def _is_star(graph: nx.DiGraph) -> bool:
    hubs = [node for node in graph if graph.out_degree(node) == len(graph) - 1]
    return graph.number_of_edges() == len(graph) - 1 and bool(hubs)


def legal_moves(space: Space, dag: DAG) -> np.ndarray:
    """All legal moves, found by making each."""
    found = []
    for kind, tail, head in product((ADD, DELETE, REVERSE), range(dag.n_nodes), range(dag.n_nodes)):
        names = dag.nodes[tail], dag.nodes[head]
        if tail == head or dag.has_arc(*names) == (kind == ADD):
            continue
        edit = {ADD: dag.add_arc, DELETE: dag.remove_arc, REVERSE: dag.reverse_arc}[kind]
        try:
            result = edit(*names)
        except ValueError:  # it closes a cycle
            continue
        if space.allows(result):
            found.append((kind, tail, head))
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def reachable(space: Space) -> set[DAG]:
    """Every structure to which legal moves lead from the start."""
    seen, stack = {space.start()}, [space.start()]
    while stack:
        walk = space.walk(stack.pop())
        for move in walk.moves():
            step = walk.copy()
            step.apply(move)
            if step.dag not in seen:
                seen.add(step.dag)
                stack.append(step.dag)
    return seen


@st.composite
def rules(draw, nodes: tuple[str, ...], modes: Modes = MODES) -> dict:
    """Arguments of a space, contradictory or not."""
    some = st.lists(st.sampled_from(nodes), unique=True, max_size=len(nodes))
    arcs = st.lists(st.sampled_from([pair for pair in product(nodes, repeat=2) if pair[0] != pair[1]]), max_size=2)
    groups = draw(st.lists(_groups(some), max_size=2))
    links = draw(st.lists(_links(nodes, modes), max_size=2))
    order = draw(st.permutations(nodes))
    return {
        "required": draw(st.just(()) | arcs),
        "forbidden": draw(st.just(()) | arcs),
        "tiers": draw(st.sampled_from([(), (order[:1], order[1:3])])),
        "max_parents": draw(st.sampled_from([None, None, 1, 2])),
        "free": draw(st.booleans()),
        "groups": tuple(groups),
        "links": tuple(links),
    }


@st.composite
def _groups(draw, some: st.SearchStrategy) -> Group:
    nodes = draw(some)
    shape = draw(st.sampled_from(["empty", "tree", "forest", "star", "polytree", "kdb", "dag"]))
    k = draw(st.integers(0, 2)) if shape == "kdb" else None
    root = draw(st.sampled_from([None, *nodes])) if shape in ("tree", "star") else None
    return Group(nodes, shape, k=k, root=root)


@st.composite
def _links(draw, nodes: tuple[str, ...], modes: Modes) -> Link:
    order = draw(st.permutations(nodes))
    begin, end = sorted(draw(st.tuples(st.integers(1, len(nodes)), st.integers(1, len(nodes)))))
    mode = draw(st.sampled_from(modes))
    most = draw(st.sampled_from([None, None, 1]))
    return Link(order[:begin], order[begin:end], mode, max_parents=most)


@st.composite
def spaces(draw, nodes: tuple[str, ...], modes: Modes = MODES) -> Space:
    """Spaces without contradictions, with a structure to start from."""
    for _ in range(10):
        try:
            space = Space(nodes, **draw(rules(nodes, modes)))
            space.check()
        except SpaceError:
            continue
        return space
    return Space(nodes)
