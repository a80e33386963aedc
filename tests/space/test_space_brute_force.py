"""Spaces against a second, slow reading of the same rules."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from space.references import all_dags, is_legal, legal_moves, rules, spaces

from bntk.errors import SpaceError
from bntk.learning.moves import Move
from bntk.learning.space import Group, Link, Space

THREE = ("A", "B", "C")
FOUR = ("C", "A", "D", "B")


def attempt(make):
    """What is made, or else the reason why not."""
    try:
        return make(), ""
    except SpaceError as error:
        return None, str(error)


def check_against_enumeration(nodes, given_rules):
    legal = {dag for dag in all_dags(nodes) if is_legal(dag, given_rules)}
    space, refusal = attempt(lambda: Space(nodes, **given_rules))
    if space is None:
        assert not legal or "discarding link cannot join" in refusal, refusal
        return
    assert {dag for dag in all_dags(nodes) if space.allows(dag)} == legal
    assert all((dag.adjacency() <= space.allowed).all() for dag in legal)
    assert all((dag.adjacency() >= space.required_matrix).all() for dag in legal)
    start, refusal = attempt(space.start)
    overlapping = sum(group.spans for group in space.groups) > 1  # for which the start is found by trying, not surely
    assert start in legal or not legal or (start is None and overlapping), refusal


@settings(max_examples=150, deadline=None)
@given(rules(THREE))
def test_a_space_allows_what_keeps_its_rules_and_is_refused_when_nothing_does(given_rules):
    check_against_enumeration(THREE, given_rules)


@settings(max_examples=12, deadline=None)
@given(rules(FOUR))
def test_so_it_is_with_four_nodes(given_rules):
    check_against_enumeration(FOUR, given_rules)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_moves_are_those_that_lead_to_legal_structures(data):
    space = data.draw(spaces(FOUR))
    walk = space.walk()
    for _ in range(6):
        moves = walk.moves()
        np.testing.assert_array_equal(moves, legal_moves(space, walk.dag))
        if not len(moves):
            break
        walk.apply(Move(*data.draw(st.sampled_from(moves.tolist()))))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_moves_from_any_legal_structure_do_not_depend_on_the_way_there(data):
    space = data.draw(spaces(THREE))
    for dag in all_dags(THREE):
        if space.allows(dag):
            np.testing.assert_array_equal(space.walk(dag).moves(), legal_moves(space, dag))


@settings(max_examples=40, deadline=None)
@given(spaces(THREE, modes=("all", "optional", "none")), spaces(THREE, modes=("all", "optional", "none")))
def test_both_spaces_hold_in_their_conjunction(first, second):
    second = second.reorder(["C", "A", "B"])
    legal = {dag for dag in all_dags(THREE) if first.allows(dag) and second.allows(dag)}
    both, refusal = attempt(lambda: first & second)
    if both is None:
        assert not legal, refusal
        return
    assert {dag for dag in all_dags(THREE) if both.allows(dag)} == legal


def test_an_arc_that_several_links_ask_for_brings_a_node_back():
    """Two rules that discard A without D: the one arc D -> A makes up for both, and A would be alone in its tree."""
    twice = [Link(["D"], ["A"], "discard"), Link(["D", "B"], ["A"], "discard")]
    space = Space(FOUR, groups=[Group(["C", "A"], "tree")], links=twice, free=False)
    walk = space.walk()
    np.testing.assert_array_equal(walk.moves(), legal_moves(space, walk.dag))
