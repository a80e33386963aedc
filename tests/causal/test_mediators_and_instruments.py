"""Front-door sets and instruments against all subsets."""

from __future__ import annotations

import numpy as np
import pytest
from causal.test_adjustment import SEEDS, in_order, minimal, random_question, subsets
from causal.truth import random_tables, truth
from random_networks import joint

import bntk
from bntk.errors import BntkError


def without_arcs(dag, into=(), out_of=()):
    return bntk.DAG(dag.nodes, [(a, b) for a, b in dag.arcs if b not in into and a not in out_of])


def is_front_door(dag, x, y, z):
    """By the definition, with separations in mutilated graphs."""
    if set(without_arcs(dag, out_of=z).descendants(x)) & set(y):
        return False
    if not z:
        return True
    return without_arcs(dag, out_of=x).d_separated(x, z) and without_arcs(dag, out_of=z).d_separated(z, y, x)


@pytest.mark.parametrize("seed", SEEDS)
def test_front_door_sets_are_the_minimal_ones_of_all(seed):
    rng, dag, x, y, observed, latent = random_question(seed, 7)
    every = [z for z in subsets(observed) if is_front_door(dag, x, y, z)]
    sets = in_order(dag, minimal(every))
    assert dag.front_door_sets(x, y, latent) == sets
    assert dag.front_door_sets(x, y, latent, limit=1) == sets[:1]
    network = random_tables(rng, dag, 2)
    for z in every[:4]:
        np.testing.assert_allclose(front_door_value(network, x, y, z), truth(network, y, x), atol=1e-9)


def front_door_value(network, x, y, z):
    names = (*x, *y, *z)
    table = np.einsum(joint(network), list(range(network.dag.n_nodes)), [network.dag.index(n) for n in names])
    n_x, n_y = len(x), len(y)
    axes_y = tuple(range(n_x, n_x + n_y))
    xz = table.sum(axis=axes_y)
    p_x = xz.sum(axis=tuple(range(n_x, xz.ndim)), keepdims=True)
    y_given = table / table.sum(axis=axes_y, keepdims=True)
    inner = (y_given * p_x.reshape(p_x.shape[:n_x] + (1,) * (n_y + len(z)))).sum(axis=tuple(range(n_x)))
    z_given = (xz / p_x).reshape(xz.shape[:n_x] + (1,) * n_y + xz.shape[n_x:])
    return (z_given * inner).sum(axis=tuple(range(n_x + n_y, table.ndim)))


def is_instrument(dag, x, y, z, w):
    if {z, *w} & set(dag.descendants(x)) or y not in dag.descendants(x):
        return False
    return without_arcs(dag, into=[x]).d_separated(z, y, w) and not dag.d_separated(z, x, w)


@pytest.mark.parametrize("seed", SEEDS)
def test_instruments_have_a_minimal_condition_and_there_is_one_if_there_is_any(seed):
    _, dag, (x, *_), (y, *_), _, latent = random_question(seed, 7)
    observed = [name for name in dag.nodes if name not in {x, y, *latent}]
    free = [name for name in observed if name not in dag.descendants(x)]
    cut = without_arcs(dag, into=[x])
    possible, any_instrument = {}, False
    for z in free:
        separating = [w for w in subsets([name for name in free if name != z]) if cut.d_separated(z, y, w)]
        least = in_order(dag, minimal(separating))
        valid = [w for w in least if is_instrument(dag, x, y, z, w)]
        if valid:
            possible[z] = least[:1] if least[0] in valid else valid
        any_instrument |= any(is_instrument(dag, x, y, z, w) for w in separating)
    found = dag.instruments(x, y, latent)
    assert sorted(z for z, _ in found) == sorted(possible)
    assert all(w in possible[z] for z, w in found)
    assert bool(found) == any_instrument
    assert found == sorted(found, key=lambda pair: (len(pair[1]), dag.index(pair[0])))
    assert dag.instruments(x, y, latent, limit=1) == found[:1]


def test_published_examples():
    front_door = bntk.DAG.parse("u -> x -> z -> y <- u")
    assert front_door.front_door_sets("x", "y", "u") == [("z",)]
    assert front_door.front_door_sets("x", "y") == [("z",)]
    assert bntk.DAG.parse("u -> x -> a -> b -> y <- u").front_door_sets("x", "y", "u") == [("a",), ("b",)]
    assert bntk.DAG.parse("x -> y; x -> z -> y").front_door_sets("x", "y") == []
    iv = bntk.DAG.parse("z -> x -> y; u -> x; u -> y")
    assert iv.instruments("x", "y", "u") == [("z", ())]
    # Given its cause w, the instrument has to do with y through x only (Brito and Pearl 2002).
    conditional = bntk.DAG.parse("w -> z -> x -> y; w -> y; u -> x; u -> y")
    assert conditional.instruments("x", "y", "u") == [("z", ("w",))]
    # A proxy of an instrument is one.
    assert bntk.DAG.parse("p <- z -> x -> y; u -> x; u -> y").instruments("x", "y", "u") == [("p", ()), ("z", ())]


def test_pgmpy_finds_the_same_front_door_set():
    identification = pytest.importorskip("pgmpy.identification")
    base = pytest.importorskip("pgmpy.base")
    dag = bntk.DAG.parse("u -> x -> z -> y <- u")
    peer = base.DAG(list(dag.arcs), roles={"exposures": "x", "outcomes": "y"})
    found, _ = identification.Frontdoor().identify(peer)
    assert [tuple(found.get_role_dict()["frontdoor"])] == dag.front_door_sets("x", "y", latent="u")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": ["x", "z"], "y": "y"}, "x must be one variable, not 2"),
        ({"x": "x", "y": "X"}, "there is no node 'X'; did you mean 'x'"),
        ({"x": "x", "y": "y", "limit": 1.5}, "limit must be"),
        ({"x": "x", "y": "y", "latent": ["x"]}, "'x' of x is latent"),
    ],
)
def test_questions_that_make_no_sense(arguments, message):
    with pytest.raises(BntkError, match=message):
        bntk.DAG.parse("z -> x -> y").instruments(**arguments)
