"""The named spaces: what is in them, how many structures they have, and that walks stay in them."""

from __future__ import annotations

from itertools import chain, product

import numpy as np
import pytest
from space.references import all_dags, legal_moves, reachable

from bntk.errors import SpaceError, UnknownNameError
from bntk.graph import DAG
from bntk.learning.moves import Move
from bntk.learning.space import Space
from bntk.learning.space import named as spaces
from bntk.learning.space.rules import SHAPES

FEATURES = [f"x{i}" for i in range(6)]
CLASSES = ["y0", "y1", "y2"]

NAMED = {
    "dag": spaces.dag(FEATURES, max_parents=2),
    "general": spaces.general([*FEATURES, "y"], "y", max_parents=3),
    "tree": spaces.tree(FEATURES),
    "tree with root": spaces.tree(FEATURES, root="x3"),
    "forest": spaces.forest(FEATURES),
    "polytree": spaces.polytree(FEATURES, max_parents=2),
    "naive_bayes": spaces.naive_bayes(FEATURES, "y"),
    "selective_naive_bayes": spaces.selective_naive_bayes(FEATURES, "y"),
    "tan": spaces.tan(FEATURES, "y", root="x2"),
    "fan": spaces.fan(FEATURES, "y"),
    "stan": spaces.stan(FEATURES, "y"),
    "stand": spaces.stand(FEATURES, "y"),
    "sfan": spaces.sfan(FEATURES, "y"),
    "sfand": spaces.sfand(FEATURES, "y"),
    "ban": spaces.ban(FEATURES, "y", max_parents=3),
    "kdb": spaces.kdb(FEATURES, "y", k=2),
    "spode": spaces.spode(FEATURES, "y"),
    "spode with superparent": spaces.spode(FEATURES, "y", superparent="x1"),
    "mdbnc": spaces.mdbnc(FEATURES, CLASSES, max_bridge_parents=2),
    "mdbnc with discarding": spaces.mdbnc(
        FEATURES, CLASSES, class_shape="dag", bridge="discard", feature_shape="polytree"
    ),
    "multi_naive_bayes": spaces.multi_naive_bayes(FEATURES, CLASSES),
    "multi_tan": spaces.multi_tan(FEATURES, CLASSES),
    "multi_one_dependence": spaces.multi_one_dependence(FEATURES, CLASSES, superparent="y1"),
}


@pytest.mark.parametrize("name", NAMED)
def test_the_start_is_legal_and_so_is_every_structure_of_a_random_walk(name):
    space = NAMED[name]
    rng = np.random.default_rng(3)
    walk = space.walk()
    assert walk.dag == space.start()
    for _ in range(40):
        assert space.violations(walk.dag) == []
        moves = walk.moves()
        if not len(moves):
            break
        walk.apply(Move(*moves[rng.integers(len(moves))].tolist()))
    np.testing.assert_array_equal(walk.moves(), legal_moves(space, walk.dag))
    assert walk.parents == tuple(map(frozenset, walk.dag.parent_indices))


def n_legal(space: Space) -> int:
    return sum(space.allows(dag) for dag in all_dags(space.nodes))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_numbers_of_labelled_structures_are_the_known_ones(n):
    nodes = FEATURES[:n]
    assert n_legal(spaces.dag(nodes)) == [1, 3, 25, 543][n - 1]
    assert n_legal(spaces.tree(nodes)) == n ** (n - 1)
    assert n_legal(spaces.tree(nodes, root=nodes[0])) == n ** max(n - 2, 0)
    assert n_legal(spaces.forest(nodes)) == (n + 1) ** (n - 1)
    # Undirected forests of one to four labelled nodes, each edge directed in two ways.
    assert n_legal(spaces.polytree(nodes)) == [1, 3, 1 + 3 * 2 + 3 * 4, 1 + 6 * 2 + 15 * 4 + 16 * 8][n - 1]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_numbers_of_classifier_structures_follow_from_those_among_the_features(n):
    features = FEATURES[:n]
    n_trees, n_forests, n_dags = n ** (n - 1), (n + 1) ** (n - 1), [1, 3, 25][n - 1]
    ways = {m: [1, n, n * (n - 1) // 2, n * (n - 1) * (n - 2) // 6][m] for m in range(n + 1)}  # to choose m features
    assert n_legal(spaces.naive_bayes(features, "y")) == 1
    assert n_legal(spaces.selective_naive_bayes(features, "y")) == 2**n
    assert n_legal(spaces.tan(features, "y")) == n_trees
    assert n_legal(spaces.fan(features, "y")) == n_legal(spaces.kdb(features, "y", k=1)) == n_forests
    assert n_legal(spaces.kdb(features, "y", k=0)) == 1
    assert n_legal(spaces.ban(features, "y")) == n_dags
    assert n_legal(spaces.stan(features, "y")) == n_trees * 2**n
    assert n_legal(spaces.sfan(features, "y")) == n_forests * 2**n
    assert n_legal(spaces.stand(features, "y")) == 1 + sum(ways[m] * m ** (m - 1) for m in range(1, n + 1))
    assert n_legal(spaces.sfand(features, "y")) == sum(ways[m] * round((m + 1) ** (m - 1)) for m in range(n + 1))
    assert n_legal(spaces.spode(features, "y")) == n
    assert n_legal(spaces.spode(features, "y", superparent="x0")) == 1


def test_numbers_of_structures_with_two_classes_multiply():
    assert n_legal(spaces.mdbnc(["a", "b"], ["y", "z"])) == 2 * 2**4 * 3
    assert n_legal(spaces.multi_naive_bayes(["a", "b"], ["y", "z"])) == 2**4
    assert n_legal(spaces.multi_naive_bayes(["a", "b"], ["y", "z"], bridge="all")) == 1
    assert n_legal(spaces.multi_tan(["a", "b"], ["y", "z"])) == 2 * 2**4 * 2
    assert n_legal(spaces.mdbnc(["a", "b"], ["y", "z"], max_bridge_parents=1, class_shape="empty")) == 3**2 * 3
    assert n_legal(spaces.multi_one_dependence(["a", "b"], ["y", "z"], superparent="z")) == 2**4


@pytest.mark.parametrize(
    "space",
    [
        spaces.dag(FEATURES[:3]),
        spaces.dag(FEATURES[:3], max_parents=1),
        spaces.forest(FEATURES[:3]),
        spaces.polytree(FEATURES[:3]),
        spaces.ban(FEATURES[:3], "y"),
        spaces.fan(FEATURES[:3], "y"),
        spaces.sfan(FEATURES[:2], "y"),
        spaces.sfand(FEATURES[:3], "y"),
        spaces.selective_naive_bayes(FEATURES[:3], "y"),
        spaces.mdbnc(["a", "b"], ["y", "z"], class_shape="forest", bridge="discard", feature_shape="dag"),
    ],
    ids=repr,
)
def test_moves_lead_from_the_start_to_every_legal_structure(space):
    assert reachable(space) == {dag for dag in all_dags(space.nodes) if space.allows(dag)}


@pytest.mark.parametrize("name", ["tan", "fan", "stand", "ban", "kdb", "spode", "mdbnc", "multi_tan"])
def test_no_arc_leads_from_a_feature_into_a_class(name):
    space = NAMED[name]
    features = [space.index(x) for x in space.nodes if x.startswith("x")]
    classes = [space.index(y) for y in space.nodes if y.startswith("y")]
    assert not space.allowed[np.ix_(features, classes)].any()


def test_any_iterable_of_names_will_do():
    assert spaces.tan(iter(FEATURES), "y") == spaces.tan(tuple(FEATURES), "y")
    assert spaces.tree(iter(FEATURES)) == spaces.tree(FEATURES)
    assert spaces.mdbnc(iter(FEATURES), iter(CLASSES)).nodes == tuple(chain(FEATURES, CLASSES))


def test_wrong_names_are_refused():
    with pytest.raises(SpaceError, match="either a feature or a class, not both: 'y'"):
        spaces.tan(["x", "y"], "y")
    with pytest.raises(UnknownNameError, match="'z'"):
        spaces.general(["x", "y"], "z")
    with pytest.raises(SpaceError, match="root 'y' is not in its group"):
        spaces.tan(["x1", "x2"], "y", root="y")


def test_selective_tan_is_told_from_tan_with_discarding_by_a_feature_without_class_arc():
    dag = DAG(["a", "b", "c", "y"], [("y", "a"), ("y", "b"), ("a", "b"), ("b", "c")])
    assert spaces.stan(["a", "b", "c"], "y").allows(dag)
    assert spaces.stand(["a", "b", "c"], "y").violations(dag) == [
        "c is discarded, having no arc from y, but has other arcs"
    ]
    assert spaces.stand(["a", "b", "c"], "y").allows(dag.remove_arc("b", "c"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("class_arcs", ["all", "optional", "discard"])
def test_augmented_spaces_are_those_of_the_checked_constructor(shape, class_arcs):
    for n, with_root in product(range(4), (False, True)):
        root = FEATURES[n - 1] if with_root and n and shape in ("tree", "star") else None
        space = spaces.augmented(FEATURES[:n], "y", shape, class_arcs, k=1 if shape == "kdb" else None, root=root)
        assert space == Space([*FEATURES[:n], "y"], groups=space.groups, links=space.links)
        assert space.allows(space.start())
