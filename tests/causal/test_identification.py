"""ID and IDC: formulas equal the effect in the full model, and hedges give two models that differ in it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from cases import examples
from causal.truth import random_dag, random_tables, truth

import bntk
from bntk.causal import Formula, Hedge
from bntk.causal.projection import Projection

SEEDS = range(examples(120, 3_000))


def random_question(seed: int) -> tuple[bntk.DAG, list[str], list[str], list[str], list[str]]:
    """A DAG with targets, variables that are set, given ones and latent ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    dag = random_dag(rng, n, float(rng.choice([0.3, 0.5, 0.7])))
    # Latent variables are seldom leaves, where they would make no difference.
    order = sorted(dag.nodes, key=lambda name: (not dag.children(name), len(dag.parents(name)) + rng.random() * 2))
    latent = order[: int(rng.integers(0, min(4, n - 1)))]
    rest = [str(name) for name in rng.permutation([name for name in dag.nodes if name not in latent])]
    n_y = 1 + int(len(rest) > 3 and rng.random() < 0.3)
    n_x = 1 + int(len(rest) - n_y > 1 and rng.random() < 0.4)
    n_z = int(rng.integers(0, min(3, len(rest) - n_y - n_x + 1)))
    y, x, z = rest[:n_y], rest[n_y : n_y + n_x], rest[n_y + n_x : n_y + n_x + n_z]
    return dag, y, x, z, latent


@pytest.mark.parametrize("seed", SEEDS)
def test_a_formula_equals_the_effect_and_a_hedge_forbids_one(seed):
    dag, y, x, z, latent = random_question(seed)
    found = dag.identify(y, do=x, given=z, latent=latent)
    if isinstance(found, Hedge):
        assert not found
        check_hedge(dag, found, latent)
        return
    assert found
    assert found.expression.free.isdisjoint(latent)
    network = random_tables(np.random.default_rng(seed), dag)
    expected = truth(network, found.y, found.do, found.given)
    np.testing.assert_allclose(found.evaluate(network).values, expected, atol=1e-9)
    observed = [name for name in dag.nodes if name not in latent]
    np.testing.assert_allclose(found.evaluate(network.query(observed)).values, expected, atol=1e-9)


def check_hedge(dag: bntk.DAG, hedge: Hedge, latent: list[str]) -> None:
    """The definition, and two models as in the proof that an effect with a hedge is not identified."""
    projection = Projection(dag, [dag.index(name) for name in latent])
    outer, inner = set(hedge.outer.nodes), set(hedge.inner.nodes)
    asked_do = set(hedge.do) if not hedge.given else set(hedge.effect_do)
    asked_y = set(hedge.y) if not hedge.given else set(hedge.effect_y)
    assert set(hedge.do) <= asked_do
    assert inner < outer
    assert outer & asked_do
    assert not inner & asked_do
    cut = {dag.index(name) for name in asked_do}
    above = projection.ancestors([dag.index(name) for name in asked_y], projection.observed, cut=cut)
    assert {dag.index(name) for name in hedge.roots} <= above
    for forest in (hedge.outer, hedge.inner):
        check_forest(projection, forest)
        assert set(forest.roots) == set(hedge.roots)
    disagree(hedge, sorted(outer & asked_do))


def check_forest(projection, forest) -> None:
    names, place = projection.dag.nodes, projection.dag.index
    tails = [tail for tail, _ in forest.arcs]
    assert len(set(tails)) == len(tails)
    assert set(forest.roots) == set(forest.nodes) - set(tails)
    for a, b in forest.arcs:
        assert place(b) in projection.children[place(a)]
        assert {a, b} <= set(forest.nodes)
    for a, b in forest.confounded:
        assert place(b) in projection.spouses[place(a)]
    graph = bntk.graph.UndirectedGraph(names, forest.confounded).subgraph(forest.nodes)
    assert len(graph.connected_components()) == 1


def disagree(hedge: Hedge, set_to_zero: list[str]) -> None:
    """Every node is the parity of its parents and of fair coins for its confounded pairs, in one model; in the other
    one, nodes of the inner forest ignore all that is not within it."""
    inner, outer, coins = set(hedge.inner.nodes), hedge.outer.nodes, hedge.outer.confounded
    names = bntk.DAG(outer, hedge.outer.arcs).topological_order
    parents = {name: [tail for tail, head in hedge.outer.arcs if head == name] for name in names}

    def run(ignoring: bool, do: list[str]) -> dict[tuple[int, ...], int]:
        counts: dict[tuple[int, ...], int] = {}
        for tosses in product((0, 1), repeat=len(coins)):
            value: dict[str, int] = {}
            for name in names:
                heard = [(tail, value[tail]) for tail in parents[name]]
                heard += [(b if a == name else a, toss) for (a, b), toss in zip(coins, tosses) if name in (a, b)]
                near = [bit for other, bit in heard if not (ignoring and name in inner and other not in inner)]
                value[name] = 0 if name in do else sum(near) % 2
            key = tuple(value[name] for name in outer)
            counts[key] = counts.get(key, 0) + 1
        return counts

    def parity(counts: dict[tuple[int, ...], int]) -> float:
        where = [outer.index(name) for name in hedge.roots]
        return sum(n for key, n in counts.items() if sum(key[i] for i in where) % 2) / sum(counts.values())

    assert run(False, []) == run(True, [])
    assert parity(run(True, set_to_zero)) == 0
    assert parity(run(False, set_to_zero)) == 0.5


PUBLISHED = {
    "back door": ("z -> x -> y <- z", "y", "x", "", "", "sum_{z} P(z) P(y | z, x)"),
    "front door": ("u -> x -> z -> y <- u", "y", "x", "", "u", "sum_{z} P(z | x) sum_{x'} P(x') P(y | x', z)"),
    "front door, z observed": ("u -> x -> z -> y <- u", "y", "x", "z", "u", "sum_{x'} P(x') P(y | x', z)"),
    "napkin": (
        "w -> z -> x -> y; a -> w; a -> x; b -> w; b -> y", "y", "x", "", "a b",
        "[sum_{w} P(w) P(x, y | w, z)] / [sum_{w} P(w) P(x | w, z)]",
    ),
    "Verma": ("a -> b -> c -> d; u -> b; u -> d", "d", "a c", "", "u", "sum_{b} P(b | a) P(d | a, b, c)"),
    "M-bias": ("x <- u -> m <- v -> y <- x", "y", "x", "", "u v", "P(y | x)"),
    "chain": ("x -> z -> y", "y", "x", "", "", "P(y | x)"),
    "no effect": ("x <- z -> y", "y", "x", "", "", "P(y)"),
    "effect of a cause on its causes": ("x -> y", "x", "y", "", "", "P(x)"),
    "plans (Pearl and Robins)": (
        "x -> z -> w -> y <- x; u -> z; u -> y", "y", "x w", "", "u", "sum_{z} P(z | x) P(y | x, z, w)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_formulas(name):
    dag, y, do, given, latent, formula = PUBLISHED[name]
    found = bntk.DAG.parse(dag).identify(y.split(), do.split(), given.split(), latent.split())
    assert isinstance(found, Formula)
    assert found.text.partition(" = ")[2] == formula


#: Graphs whose effect of x on y is not identified, from Shpitser and Pearl (2006) and Pearl (2000), figure 3.8.
NOT_IDENTIFIED = {
    "bow": "x -> y; u -> x; u -> y",
    "instrument": "z -> x -> y; u -> x; u -> y",
    "mediator confounded with x": "x -> z -> y; u -> x; u -> z",
    "mediator confounded with x, and x with y": "x -> z -> y; u -> x; u -> z; x -> y",
    "bow behind a covariate": "z -> x -> y; z -> y; u -> x; u -> y",
    "front door with a confounded mediator": "x -> z -> y; u -> x; u -> y; v -> z; v -> y",
    "covariate confounded with both": "x -> y; z -> x; u -> x; u -> z; v -> z; v -> y",
}


@pytest.mark.parametrize("name", NOT_IDENTIFIED)
def test_published_graphs_whose_effect_is_not_identified(name):
    dag = bntk.DAG.parse(NOT_IDENTIFIED[name])
    latent = [node for node in dag.nodes if node in "uvw"]
    hedge = dag.identify("y", do="x", latent=latent)
    assert isinstance(hedge, Hedge), hedge
    check_hedge(dag, hedge, latent)


@pytest.mark.filterwarnings("ignore")  # a warning that is an error crashes pyAgrum
def test_pyagrum_agrees_on_what_is_identified():
    """Answers of version 3.3.1 of pyAgrum's ``causalImpact``, stored as each needs a process of its own."""
    answers = json.loads((Path(__file__).parent / "pyagrum_identified.json").read_text(encoding="utf-8"))
    for text, x, y, latent, identified in answers:
        assert bool(bntk.DAG.parse(text).identify(y, do=x, latent=latent)) == identified, text


def test_a_formula_may_depend_on_variables_whose_value_makes_no_difference():
    dag = bntk.DAG.parse("w -> z -> x -> y; a -> w; a -> x; b -> w; b -> y")
    formula = dag.identify("y", do="x", latent=["a", "b"])
    assert formula.any_value == ("z",)
    assert str(formula).endswith("for any value of z")
    network = random_tables(np.random.default_rng(5), dag)
    names, values = formula.expression.evaluate(bntk.causal.formula.as_probabilities(network))
    assert values.std(axis=names.index("z")).max() < 1e-12


def test_the_same_question_has_the_same_formula_in_any_order_of_its_names():
    dag = bntk.DAG.parse("x -> z -> w -> y <- x; u -> z; u -> y")
    assert dag.identify("y", ["x", "w"], latent="u") == dag.identify(["y"], ["w", "x"], latent=["u"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"y": "yy", "do": "x"}, "there is no node 'yy'; did you mean 'y'"),
        ({"y": "y", "do": "y"}, "'y' is in y and in do"),
        ({"y": "y", "do": "x", "given": "x"}, "'x' is in do and in given"),
        ({"y": "y", "do": "u", "latent": "u"}, "'u' of do is latent"),
        ({"y": "u", "do": "x", "latent": "u"}, "'u' of y is latent"),
        ({"y": "y", "do": "x", "given": "u", "latent": "u"}, "'u' of given is latent"),
        ({"y": "y", "do": []}, "do is empty"),
        ({"y": [], "do": "x"}, "y is empty"),
        ({"y": "y", "do": "x", "latent": 3}, "latent must be"),
    ],
)
def test_questions_that_make_no_sense(question, message):
    dag = bntk.DAG.parse("u -> x -> y <- u")
    with pytest.raises(bntk.errors.BntkError, match=message):
        dag.identify(**question)
