"""How formulas are written and evaluated."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from causal.truth import random_tables

import bntk
from bntk.causal import Formula, Fraction, Probability, Product, Sum
from bntk.causal.formula import as_probabilities
from bntk.errors import ArgumentError, BntkError, DataError, TooLargeError, UnknownNameError

P = Probability
SPRINKLER = bntk.datasets.sprinkler()


def test_a_bound_variable_gets_as_many_primes_as_it_needs():
    inner = Sum(("x",), P(("x", "z")))
    assert str(Product((P(("x",)), inner))) == "P(x) sum_{x'} P(x', z)"
    assert str(Sum(("x",), Product((P(("x",)), inner)))) == "sum_{x} P(x) sum_{x'} P(x', z)"
    assert str(Product((P(("x",)), Sum(("x",), Product((P(("x",)), inner)))))) == (
        "P(x) sum_{x'} P(x') sum_{x''} P(x'', z)"
    )
    assert str(Product((P(("x'", "x")), inner))) == "P(x', x) sum_{x''} P(x'', z)"


def test_sums_reach_to_the_end_and_others_are_in_parentheses():
    first, last = Sum(("a",), P(("a", "c"))), Sum(("b",), P(("b", "c")))
    assert str(Product((first, last))) == "(sum_{a} P(a, c)) sum_{b} P(b, c)"
    assert str(Product(())) == "1"
    assert str(Fraction(first, P(("c",)))) == "[sum_{a} P(a, c)] / [P(c)]"


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("x", "x"),
        ("x12", "x_{12}"),
        ("rain", r"\mathrm{rain}"),
        ("light rain", r"\mathrm{light\ rain}"),
        ("a_b", r"\mathrm{a\_b}"),
        ("50%", r"\mathrm{50\%}"),
        (r"a\b", r"\mathrm{a\backslash b}"),
    ],
)
def test_names_in_latex(name, latex):
    assert P((name,)).latex == f"P({latex})"


def test_a_formula_in_latex_and_in_a_notebook():
    formula = bntk.DAG.parse("u -> x -> z -> y <- u").identify("y", do="x", latent="u")
    right = r"\sum_{z} P(z \mid x)\, \sum_{x'} P(x')\, P(y \mid x', z)"
    assert formula.latex == rf"P(y \mid \mathit{{do}}(x)) = {right}"
    assert formula._repr_latex_() == f"${formula.latex}$"
    assert formula.expression._repr_latex_() == f"${right}$"
    assert pickle.loads(pickle.dumps(formula)) == formula == copy.deepcopy(formula)
    assert len({formula, copy.deepcopy(formula)}) == 1
    assert formula != formula.text


def test_sums_are_those_of_the_whole_table():
    network = random_tables(np.random.default_rng(2), bntk.DAG.parse("a -> b -> c <- a; c -> d"))
    source = as_probabilities(network)
    factors = (P(("a",)), P(("b",), ("a",)), P(("c",), ("a", "b")), P(("d",), ("c",)))
    names, values = Sum(("a", "b", "c"), Product(factors)).evaluate(source)
    assert names == ("d",)
    np.testing.assert_allclose(values, network.query("d").values)
    names, values = Sum(("a", "b"), P(("d",))).evaluate(source)
    states = network.variable("a").n_states * network.variable("b").n_states
    np.testing.assert_allclose(values, states * network.query("d").values)


def test_impossible_conditions_are_undefined_unless_their_weight_is_zero():
    x, y, z = (bntk.Variable(name, ["no", "yes"]) for name in "xyz")
    p = np.array([[[0.2, 0.1], [0.3, 0.4]], [[0, 0], [0, 0]]])  # z is never yes
    joint = bntk.inference.Distribution([z, x, y], p)
    adjustment = Sum(("z",), Product((P(("y",), ("x", "z")), P(("z",)))))
    _, values = adjustment.evaluate(as_probabilities(joint))
    assert not np.isnan(values).any()
    p = np.array([[[0.2, 0.1], [0, 0]], [[0.1, 0.2], [0.3, 0.1]]])  # x is never yes where z is no
    table = Formula(("y",), ("x",), (), adjustment).evaluate(bntk.inference.Distribution([z, x, y], p))
    assert not np.isnan(table.values[0]).any()
    assert np.isnan(table.values[1]).all()


def test_the_table_of_an_effect_is_labelled():
    table = SPRINKLER.identify("wet", do="sprinkler", given="cloudy").evaluate(SPRINKLER)
    found = table.at({"cloudy": "yes", "sprinkler": "no"})
    expected = SPRINKLER.do({"sprinkler": "no"}).query("wet", {"cloudy": "yes"})
    np.testing.assert_allclose(found.values, expected.values)
    assert found.given == "do(sprinkler='no'), cloudy='yes'"
    assert list(table.to_frame().columns) == ["sprinkler", "cloudy", "wet", "p"]
    assert repr(table).startswith("P(wet | do(sprinkler), cloudy)\n")
    assert not table.values.flags.writeable


def test_an_effect_that_does_not_depend_on_what_is_set_has_all_states_all_the_same():
    table = SPRINKLER.identify("cloudy", do="wet").evaluate(SPRINKLER)
    assert table.values.shape == (2, 2)
    assert table.at({"wet": "no"}) == table.at({"wet": "yes"})


def test_what_cannot_be_evaluated_is_refused():
    formula = SPRINKLER.identify("wet", do="sprinkler")
    with pytest.raises(ArgumentError, match="source must be a BayesianNetwork, a Distribution, or"):
        formula.evaluate(3)
    with pytest.raises(UnknownNameError, match="the formula needs 'wet', which the probabilities do not have"):
        formula.evaluate(SPRINKLER.query(["sprinkler", "cloudy", "rain"]))
    table = formula.evaluate(SPRINKLER)
    with pytest.raises(UnknownNameError, match="did you mean 'sprinkler'"):
        table.at({"Sprinkler": "no"})
    with pytest.raises(DataError, match="needs a state of 'sprinkler'"):
        table.at({})
    with pytest.raises(BntkError, match="did you mean 'yes'"):
        table.at({"sprinkler": "Yes"})


def test_tables_that_are_too_large_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr("bntk.causal.formula.MOST_ENTRIES", 1000)
    dag = bntk.DAG([f"v{i}" for i in range(34)], [])
    source = as_probabilities(random_tables(np.random.default_rng(0), dag, 2))
    factors = [P((name,)) for name in dag.nodes]
    with pytest.raises(TooLargeError, match="the formula needs a table of 10 variables with 1,024 entries"):
        Product(tuple(factors)).evaluate(source)
    # A sum over variables that do not meet needs no table of all of them.
    assert round(float(Sum(dag.nodes, Product(tuple(factors))).evaluate(source).values), 9) == 1
