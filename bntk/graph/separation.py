"""d-separation, and the nodes and evidence that a query depends on, in linear time.

All functions but :func:`minimal_separator` read their result off a single run of the Bayes ball (Shachter 1998). A ball
starts at the sources, as if it came from a child of theirs, and bounces: an unobserved node passes a ball from a child
on to its parents and children, and a ball from a parent on to its children; an observed node sends a ball from a parent
back to its parents, and stops a ball from a child.

References
----------
R. D. Shachter (1998). Bayes-ball: the rational pastime. UAI 14, 480-487.

J. Tian, A. Paz and J. Pearl (1998). Finding minimal d-separators. Technical report R-254, UCLA.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from bntk import _checking
from bntk.errors import GraphError
from bntk.graph.undirected import closure

if TYPE_CHECKING:
    from bntk.graph.dag import DAG

Names = str | Iterable[str]


def reachable(dag: DAG, sources: Names, given: Names = ()) -> tuple[str, ...]:
    """The nodes that are not d-separated from the sources, without the sources and the given nodes.

    Parameters
    ----------
    dag : DAG
        The graph.
    sources : str or iterable of str
        The nodes to start from.
    given : str or iterable of str
        The observed nodes.

    Examples
    --------
    >>> from bntk import DAG
    >>> dag = DAG.parse("burglary -> alarm <- earthquake -> radio; alarm -> call")
    >>> reachable(dag, "burglary")
    ('alarm', 'call')
    >>> reachable(dag, "burglary", given="call")
    ('alarm', 'earthquake', 'radio')
    """
    dag = _a_dag(dag)
    start, known = dag._indices(sources, "sources"), set(dag._indices(given, "given"))
    _, passed_down, _ = bayes_ball(dag, start, known)
    return dag._names(passed_down.difference(start))


def d_separated(dag: DAG, xs: Names, ys: Names, given: Names = ()) -> bool:
    """True when every trail between the nodes ``xs`` and ``ys`` is blocked by the nodes ``given``.

    The three sets must not overlap.

    Parameters
    ----------
    dag : DAG
        The graph.
    xs, ys : str or iterable of str
        The two sets of nodes.
    given : str or iterable of str
        The observed nodes.

    Examples
    --------
    >>> from bntk import DAG
    >>> dag = DAG.parse("A -> C <- B")
    >>> d_separated(dag, "A", "B"), d_separated(dag, "A", "B", given="C")
    (True, False)
    """
    dag = _a_dag(dag)
    x, y = set(dag._indices(xs, "the first set")), set(dag._indices(ys, "the second set"))
    known = set(dag._indices(given, "given"))
    overlap = (x & y) | (x & known) | (y & known)
    if overlap:
        names = ", ".join(map(repr, dag._names(overlap)))
        raise GraphError(f"d-separation is defined for sets that do not overlap, but {names} is in two of them")
    _, passed_down, _ = bayes_ball(dag, x, known)
    return passed_down.isdisjoint(y)


def relevant_nodes(dag: DAG, targets: Names, given: Names = ()) -> tuple[str, ...]:
    """The nodes whose conditional probability tables are needed for P(targets | given), whatever their numbers.

    These are the requisite probability nodes of Shachter (1998): barren nodes and those that the given nodes cut off
    are left out. A target that is itself given needs no table.

    Parameters
    ----------
    dag : DAG
        The graph.
    targets : str or iterable of str
        The nodes of the query.
    given : str or iterable of str
        The observed nodes.

    Examples
    --------
    >>> from bntk import DAG
    >>> dag = DAG.parse("A -> B -> C -> D; X -> C")
    >>> relevant_nodes(dag, "C", given="B")
    ('C', 'X')
    >>> relevant_nodes(dag, "C")
    ('A', 'B', 'C', 'X')
    """
    dag = _a_dag(dag)
    passed_up, _, _ = bayes_ball(dag, dag._indices(targets, "targets"), set(dag._indices(given, "given")))
    return dag._names(passed_up)


def relevant_evidence(dag: DAG, targets: Names, given: Names) -> tuple[str, ...]:
    """The given nodes whose values can change P(targets | given): the requisite observations.

    Parameters
    ----------
    dag : DAG
        The graph.
    targets : str or iterable of str
        The nodes of the query.
    given : str or iterable of str
        The observed nodes.

    Examples
    --------
    >>> from bntk import DAG
    >>> relevant_evidence(DAG.parse("A -> B -> C"), "C", given=["A", "B"])
    ('B',)
    """
    dag = _a_dag(dag)
    known = set(dag._indices(given, "given"))
    _, _, visited = bayes_ball(dag, dag._indices(targets, "targets"), known)
    return dag._names(visited & known)


def bayes_ball(dag: DAG, sources: Iterable[int], known: Collection[int]) -> tuple[set[int], set[int], set[int]]:
    """The nodes that passed the ball up to their parents, down to their children, and all that it visited.

    Passed up: their tables are requisite. Passed down: not known and d-connected to the sources. Positions, not names.
    """
    parents, children = dag.parent_indices, dag.child_indices
    passed_up: set[int] = set()
    passed_down: set[int] = set()
    visited: set[int] = set()
    balls = [(node, True) for node in sources]
    while balls:
        node, from_child = balls.pop()
        visited.add(node)
        observed = node in known
        if observed != from_child and node not in passed_up:
            passed_up.add(node)
            balls.extend((parent, True) for parent in parents[node])
        if not observed and node not in passed_down:
            passed_down.add(node)
            balls.extend((child, False) for child in children[node])
    return passed_up, passed_down, visited


def minimal_separator(dag: DAG, x: str, y: str) -> tuple[str, ...] | None:
    """A set that d-separates two nodes and of which no part does; None when they are adjacent.

    Of the minimal sets, the one found is the nearest to ``x`` in the moral graph of the ancestors of both
    (Tian, Paz and Pearl 1998).

    Parameters
    ----------
    dag : DAG
        The graph.
    x, y : str
        Two different nodes.

    Examples
    --------
    >>> from bntk import DAG
    >>> dag = DAG.parse("A -> B -> D <- C <- A; D -> E")
    >>> minimal_separator(dag, "A", "E"), minimal_separator(dag, "B", "C")
    (('B', 'C'), ('A',))
    >>> minimal_separator(dag, "A", "B") is None
    True
    """
    if _a_dag(dag).index(x) == dag.index(y):
        raise GraphError(f"a separator lies between two different nodes, not {x!r} and itself")
    if dag.has_arc(x, y) or dag.has_arc(y, x):
        return None
    ancestral = dag.subgraph({x, y, *dag.ancestors((x, y))}).moral_graph()
    near = set(ancestral._indices(ancestral.neighbors(x)))
    # All neighbours of x separate; those that y can reach without crossing another of them suffice.
    rows = [() if i in near else row for i, row in enumerate(ancestral.neighbor_indices)]
    return ancestral._names(near & closure([ancestral.index(y)], rows))


def _a_dag(dag: DAG) -> DAG:
    from bntk.graph.dag import DAG

    return _checking.instance("dag", dag, DAG, error=GraphError)
