"""Spaces: contradictions and violations are named; spaces compose, print, pickle and carry soft knowledge."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space.references import legal_moves
from strategies import dags

from bntk.errors import GraphError, SpaceError, UnknownNameError
from bntk.graph import DAG
from bntk.learning.moves import ADD, DELETE, REVERSE, Move
from bntk.learning.space import Group, Link, Space
from bntk.learning.space import named as spaces
from bntk.learning.space.kernels import join_ancestors, part_ancestors

ABCD = ["A", "B", "C", "D"]

CONTRADICTIONS = {
    "required and forbidden": (
        {"required": [("A", "B")], "forbidden": [("A", "B")]},
        "the required arc A -> B is forbidden",
    ),
    "required against tiers": (
        {"required": [("C", "A")], "tiers": [["A", "B"], ["C"]]},
        "the required arc C -> A goes from a later tier into an earlier one",
    ),
    "required cycle": (
        {"required": [("A", "B"), ("B", "C"), ("C", "A")]},
        "form a cycle: A -> B -> C -> A",
    ),
    "cycle with a link": (
        {"required": [("B", "C"), ("C", "A")], "links": [Link(["A"], ["B"], "all")]},
        "form a cycle: A -> B -> C -> A",
    ),
    "more required parents than allowed": (
        {"required": [("A", "C"), ("B", "C")], "max_parents": {"C": 1}},
        "C has the parents A, B, more than 1 (max_parents)",
    ),
    "two parents in a tree": (
        {"required": [("A", "C"), ("B", "C")], "groups": [Group(ABCD, "tree")]},
        "C has the parents A, B, more than 1 (tree over A, B, C, D)",
    ),
    "cycle in the skeleton of a polytree": (
        {"required": [("A", "B"), ("B", "C"), ("A", "C")], "groups": [Group(ABCD, "polytree")]},
        "is a cycle in the skeleton of the polytree over A, B, C, D",
    ),
    "two hubs of a star": (
        {"required": [("A", "B"), ("C", "D")], "groups": [Group(ABCD, "star")]},
        "A, C are parents at once in the star over A, B, C, D",
    ),
    "arc in an empty group": (
        {"required": [("A", "B")], "groups": [Group(["A", "B"], "empty")]},
        "the required arc A -> B lies in the empty graph over A, B",
    ),
    "arc into the root": (
        {"required": [("A", "B")], "groups": [Group(ABCD, "tree", root="B")]},
        "the required arc A -> B goes into the root of the tree with root B",
    ),
    "a tree that cannot be connected": (
        {"forbidden": [(x, "D") for x in "ABC"] + [("D", x) for x in "ABC"], "groups": [Group(ABCD, "tree")]},
        "the tree over A, B, C, D cannot be connected: from A no allowed arcs lead to D",
    ),
    "a tree that the limits keep apart": (
        {"max_parents": {"C": 0, "D": 0}, "groups": [Group(ABCD, "tree")]},
        "cannot be connected: from C no allowed arcs lead to D",
    ),
    "a star without a hub": (
        {"forbidden": [("A", "B"), ("B", "A"), ("C", "A"), ("D", "A")], "groups": [Group(ABCD, "star")]},
        "the star over A, B, C, D cannot be connected",
    ),
    "a compulsory arc that is forbidden": (
        {"forbidden": [("D", "B")], "links": [Link(["D"], ["A", "B"], "all")]},
        "the arc D -> B (all arcs from D to A, B) is forbidden",
    ),
    "too many compulsory arcs": (
        {"links": [Link(["C", "D"], ["A"], "all")], "max_parents": 1},
        "A has the parents C, D, more than 1 (max_parents)",
    ),
    "against a link": (
        {"required": [("A", "D")], "links": [Link(["D"], ["A", "B"])]},
        "the required arc A -> D goes against the direction of a link",
    ),
    "excluded by a link": (
        {"required": [("D", "A")], "links": [Link(["D"], ["A", "B"], "none")]},
        "the required arc D -> A is excluded by a link",
    ),
    "no rule speaks of it": (
        {"required": [("A", "B")], "free": False},
        "the required arc A -> B joins nodes that no group and no link speaks of",
    ),
    "a discarding link inside a tree": (
        {"links": [Link(["D"], ["A", "B"], "discard")], "groups": [Group(ABCD, "tree")]},
        "a discarding link cannot join two nodes of one tree",
    ),
    "a node in two tiers": ({"tiers": [["A"], ["B", "A"]]}, "one tier; given more than once: A"),
    "a negative limit": ({"max_parents": -1}, "0 or more; got -1 for A"),
    "an infinite weight": ({"arc_weights": {("A", "B"): float("-inf")}}, "the weight of A -> B is -inf"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_refused_with_what_clashes(name):
    rules, message = CONTRADICTIONS[name]
    with pytest.raises(SpaceError) as caught:
        Space(ABCD, **rules)
    assert message in str(caught.value)
    assert isinstance(caught.value, GraphError)


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        ({"required": [("A", "X")]}, "of the arc 'A', 'X'"),
        ({"groups": [Group(["A", "X"], "tree")]}, "tree over A, X"),
        ({"links": [Link(["X"], ["A"])]}, "optional arcs from X to A"),
        ({"tiers": [["A"], ["X"]]}, "tier 2"),
        ({"max_parents": {"X": 1}}, ""),
        ({"arc_weights": {("A", "X"): 1.0}}, "of the arc"),
    ],
)
def test_an_unknown_name_is_refused_with_the_rule_it_is_in(rules, where):
    with pytest.raises(UnknownNameError, match="no node 'X'") as caught:
        Space(ABCD, **rules)
    assert where in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Group(["A", "A"], "tree"), "given more than once: A"),
        (lambda: Group("AB", "tree"), "must be a list of names, not 'AB'"),
        (lambda: Group(["A"], "bush"), "the shapes are empty, tree"),
        (lambda: Group(["A"], "kdb"), "k is for the shape 'kdb'"),
        (lambda: Group(["A"], "tree", k=1), "k is for the shape 'kdb'"),
        (lambda: Group(["A"], "kdb", k=-1), "not negative"),
        (lambda: Group(["A"], "forest", root="A"), "only a tree or a star"),
        (lambda: Link(["A"], ["B", "A"]), "both tail and head of a link: A"),
        (lambda: Link(["A"], ["B"], "some"), "the modes are all, optional"),
        (lambda: Link(["A"], ["B"], max_parents=-2), "not negative"),
        (lambda: Space(["A", "A"]), "'A' is given twice"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(make, message):
    with pytest.raises(GraphError, match=message):
        make()


def test_each_broken_rule_of_a_structure_is_a_sentence():
    space = Space(
        [*ABCD, "Y"],
        groups=[Group(ABCD, "forest")],
        links=[Link(["Y"], ABCD, "discard")],
        required=[("A", "B")],
        forbidden=[("A", "C")],
    )
    dag = DAG(space.nodes, [("A", "C"), ("B", "C"), ("Y", "A"), ("Y", "B")])
    assert space.violations(dag) == [
        "A -> C is forbidden",
        "C has the parents A, B, more than 1 (forest over A, B, C, D)",
        "A -> B is missing (required)",
        "C is discarded, having no arc from Y, but has other arcs",
    ]
    with pytest.raises(SpaceError, match="begin with is not legal: A -> C is forbidden"):
        space.walk(dag)
    with pytest.raises(SpaceError, match="same nodes"):
        space.allows(DAG(ABCD))


def test_required_arcs_between_discardable_nodes_keep_them_in_the_start():
    space = spaces.stand(ABCD, "Y").restrict(required=[("A", "C")])
    assert space.start().arcs == (("A", "C"), ("Y", "A"), ("Y", "C"))


def test_tiers_leave_nodes_without_a_tier_free():
    space = Space(ABCD, tiers=[["C"], ["A"]])
    forbidden = np.argwhere(~space.allowed & ~np.eye(4, dtype=bool)).tolist()
    assert forbidden == [[0, 2]]


def test_what_no_rule_speaks_of_is_allowed_only_when_free():
    rules = {"groups": [Group(["A", "B"], "dag")], "links": [Link(["C"], ["A"])]}
    assert Space(ABCD, **rules).allowed.sum() == 11
    assert Space(ABCD, **rules, free=False).allowed.sum() == 3


def test_allowed_arcs_leave_out_what_required_arcs_rule_out():
    space = Space(ABCD, required=[("A", "B"), ("B", "C")], max_parents={"B": 1})
    assert not space.allowed[2, 0]  # would close a cycle
    assert not space.allowed[3, 1]  # B has all its parents
    assert (space.allowed >= space.required_matrix).all()
    with pytest.raises(ValueError, match="read-only"):
        space.allowed[0, 0] = True


def test_spaces_compose():
    tan = spaces.tan(["A", "B", "C"], "D")
    tiers = Space(["D", "C", "B", "A"], tiers=[["B"], ["A", "C"]], max_parents=2)
    both = tan & tiers
    assert both.nodes == tan.nodes
    assert both.start().arcs == (("B", "A"), ("B", "C"), ("D", "A"), ("D", "B"), ("D", "C"))
    assert (both & both) == both
    assert tan & Space(tan.nodes) == tan
    with pytest.raises(SpaceError, match="must have the nodes"):
        tan & Space(["A", "B"])


def test_two_tierings_both_hold():
    both = Space(ABCD, tiers=[["A"], ["B"]]) & Space(ABCD, tiers=[["C"], ["A"]])
    assert not both.allowed[1, 0]
    assert not both.allowed[0, 2]
    assert both.allowed.sum() == 10


def test_restricting_never_loosens():
    space = Space(ABCD, max_parents=1).restrict(max_parents={"A": 3, "B": 0}, required=[("A", "D")])
    assert space.parent_limits.tolist() == [1, 0, 1, 1]
    assert space.start().arcs == (("A", "D"),)
    with pytest.raises(SpaceError, match="A -> D is forbidden"):
        space.restrict(forbidden=[("A", "D")])


def test_weights_of_arcs_add_up_and_say_nothing_about_legality():
    space = Space(ABCD).with_weights({("A", "B"): -1.5, ("C", "D"): 2})
    twice = space & Space(ABCD, arc_weights={("A", "B"): 1})
    assert twice.arc_weights == {("A", "B"): -0.5, ("C", "D"): 2.0}
    expected = np.zeros((4, 4))
    expected[0, 1], expected[2, 3] = -0.5, 2
    np.testing.assert_array_equal(twice.arc_weight_matrix(), expected)
    assert Space(ABCD).arc_weight_matrix() is None
    np.testing.assert_array_equal(twice.allowed, Space(ABCD).allowed)


def test_a_space_is_a_value():
    space = spaces.kdb(ABCD, "Y", k=2).restrict(forbidden=[("B", "A"), ("A", "C")], max_parents=2)
    same = spaces.kdb(ABCD, "Y", k=2).restrict(forbidden=[("A", "C"), ("B", "A")], max_parents=2)
    assert space == same
    assert hash(space) == hash(same)
    assert space != spaces.kdb(ABCD, "Y", k=2)
    copy = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert copy.start() == space.start()
    with pytest.raises(AttributeError, match="cannot be changed"):
        space.free = False
    assert repr(space) == (
        "<Space of 5 nodes: DAG with at most 2 parents over A, B, C, D; all arcs from Y to A, B, C, D;"
        " forbidden A -> C, B -> A; at most 2 parents>"
    )
    assert repr(Space(ABCD)) == "<Space of 4 nodes: any DAG>"


def test_a_space_of_no_nodes_has_one_structure():
    space = Space([])
    assert space.start() == DAG([])
    assert space.walk().moves().shape == (0, 3)


# Walks


def test_illegal_moves_are_refused_and_copies_walk_alone():
    walk = Space(["A", "B", "C"], required=[("A", "B")]).walk()
    for move in (Move(ADD, 1, 0), Move(DELETE, 0, 1), Move(REVERSE, 0, 1), Move(DELETE, 0, 2)):
        assert not walk.is_legal(move)
        with pytest.raises(SpaceError, match=move.describe(walk.nodes)):
            walk.apply(move)
    twin = walk.copy()
    twin.apply(Move(ADD, 1, 2))
    assert not twin.is_legal(Move(ADD, 2, 0))
    assert walk.dag.arcs == (("A", "B"),)
    assert walk.is_legal(Move(ADD, 2, 0))


def test_a_node_that_two_links_discard_needs_an_arc_from_each_to_come_into_the_tree():
    features = ["A", "B"]
    links = [Link(["Y"], features, "discard"), Link(["Z"], features, "discard")]
    space = Space([*features, "Y", "Z"], groups=[Group(features, "tree"), Group(["Y", "Z"], "empty")], links=links)
    walk = space.walk(DAG(space.nodes, [("Y", "A"), ("Z", "A")]))
    np.testing.assert_array_equal(walk.moves(), legal_moves(space, walk.dag))
    assert walk.is_legal(Move(ADD, 2, 1))  # Z discards B still
    walk.apply(Move(ADD, 2, 1))
    assert not walk.is_legal(Move(ADD, 3, 1))  # B would be in the tree, and alone


@settings(max_examples=80, deadline=None)
@given(dags(min_nodes=2, max_nodes=9), st.data())
def test_ancestors_follow_arcs_that_come_and_go(dag, data):
    ancestors, arcs = dag.ancestor_matrix(), dag.adjacency()
    order = dag.topological_indices
    for _ in range(8):
        i, j = sorted(data.draw(st.tuples(st.integers(0, len(order) - 1), st.integers(0, len(order) - 1))))
        tail, head = order[i], order[j]
        if tail != head:
            arcs[tail, head] ^= True
            if arcs[tail, head]:
                join_ancestors(ancestors, tail, head)
            else:
                part_ancestors(ancestors, arcs, head)
        np.testing.assert_array_equal(ancestors, DAG.from_adjacency(arcs, dag.nodes).ancestor_matrix())


def test_a_complete_structure_of_many_nodes_has_only_moves_that_keep_it_acyclic():
    n = 70  # more paths than a machine word can count
    nodes = [f"x{i}" for i in range(n)]
    walk = Space(nodes).walk(DAG.from_adjacency(np.triu(np.ones((n, n)), 1), nodes))
    add, delete, reverse = walk.masks()
    assert not add.any()
    assert delete.sum() == n * (n - 1) // 2
    np.testing.assert_array_equal(np.argwhere(reverse), [(i, i + 1) for i in range(n - 1)])


# Spaces for spanning trees


def test_the_tree_problem_of_tan_has_the_class_as_fixed_parent():
    problem = spaces.tan(["A", "B", "C"], "Y", root="B").restrict(forbidden=[("B", "A")]).tree_problem()
    (part,) = problem.parts
    assert part.nodes == (0, 1, 2)
    assert part.connected
    assert part.root == 1
    assert np.argwhere(part.allowed).tolist() == [[0, 2], [1, 2], [2, 0]]
    assert not part.required.any()
    assert problem.fixed_parents == ((3,), (3,), (3,), ())
    assert problem.is_plain


def test_selective_trees_have_optional_parents_and_may_discard():
    stan, stand = spaces.stan(["A", "B"], "Y"), spaces.stand(["A", "B"], "Y")
    assert stan.tree_problem().optional_parents == ((2,), (2,), ())
    assert not stan.tree_problem().is_plain
    assert stan.tree_problem().discarding == frozenset()
    assert stand.tree_problem().discarding == {0, 1}
    chosen = stand.restrict(required=[("Y", "A")], forbidden=[("Y", "B")]).tree_problem()
    assert chosen.parts[0].nodes == (0,)
    assert chosen.is_plain


def test_several_classes_give_two_trees_to_find():
    problem = spaces.multi_tan(["A", "B"], ["Y", "Z"], bridge="all").tree_problem()
    assert [part.nodes for part in problem.parts] == [(2, 3), (0, 1)]
    assert problem.fixed_parents == ((2, 3), (2, 3), (), ())
    assert problem.is_plain


@pytest.mark.parametrize(
    "space",
    [
        spaces.dag(ABCD),
        spaces.ban(ABCD, "Y"),
        spaces.kdb(ABCD, "Y", k=1),
        spaces.spode(ABCD, "Y"),
        spaces.polytree(ABCD) & spaces.tree(ABCD),
        spaces.mdbnc(ABCD, ["Y", "Z"], max_bridge_parents=1),
        spaces.sfan(ABCD, "Y").restrict(max_parents=1),
        Space([*ABCD, "Y"], groups=[Group(ABCD, "tree")]),
        Space(ABCD, groups=[Group(["A", "B", "C"], "forest"), Group(["C", "D"], "forest")]),
    ],
    ids=repr,
)
def test_other_spaces_are_no_tree_problems(space):
    assert space.tree_problem() is None


def test_limits_that_cannot_bind_leave_a_tree_problem():
    assert spaces.tan(ABCD, "Y").restrict(max_parents=2).tree_problem() is not None
    assert spaces.fan(ABCD, "Y").restrict(max_parents={"A": 1}).tree_problem().parts[0].allowed[:, 0].sum() == 0
