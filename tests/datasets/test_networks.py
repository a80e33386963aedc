from __future__ import annotations

import numpy as np
import pytest
from random_networks import joint
from references import shared

import bntk
from bntk.datasets import names, network
from bntk.errors import UnknownNameError

# Their name of a variable -> ours and its states in their order.
TRUE_FALSE = ["yes", "no"]
RENAMED = {
    "asia": {name: (name, TRUE_FALSE) for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")},
    "cancer": {
        "Pollution": ("pollution", ["low", "high"]),
        "Smoker": ("smoker", TRUE_FALSE),
        "Cancer": ("cancer", TRUE_FALSE),
        "Xray": ("xray", ["positive", "negative"]),
        "Dyspnoea": ("dyspnoea", TRUE_FALSE),
    },
    "earthquake": {
        "Burglary": ("burglary", TRUE_FALSE),
        "Earthquake": ("earthquake", TRUE_FALSE),
        "Alarm": ("alarm", TRUE_FALSE),
        "JohnCalls": ("john_calls", TRUE_FALSE),
        "MaryCalls": ("mary_calls", TRUE_FALSE),
    },
    "survey": {
        "A": ("age", ["young", "adult", "old"]),
        "S": ("sex", ["male", "female"]),
        "E": ("education", ["high", "university"]),
        "O": ("occupation", ["employed", "self-employed"]),
        "R": ("residence", ["small", "big"]),
        "T": ("transport", ["car", "train", "other"]),
    },
}


def assert_same(ours: bntk.BayesianNetwork, theirs: bntk.BayesianNetwork, renamed: dict) -> None:
    """The same arcs, and the same number in every cell of every table."""
    assert {(renamed[a][0], renamed[b][0]) for a, b in theirs.dag.arcs} == set(ours.dag.arcs)
    assert len(ours.names) == len(theirs.names) == len(renamed)
    for cpt in theirs.cpts:
        parents = [renamed[parent.name][0] for parent in cpt.parents]
        values = ours.cpt(renamed[cpt.name][0]).reorder(parents).values
        for axis, variable in enumerate((*cpt.parents, cpt.child)):
            name, states = renamed[variable.name]
            values = values.take([ours.variable(name).states.index(state) for state in states], axis=axis)
        np.testing.assert_array_equal(values, cpt.values)


@pytest.mark.parametrize("name", RENAMED)
def test_a_network_has_the_numbers_of_the_repository_of_bnlearn(name: str) -> None:
    assert_same(network(name), bntk.load(shared(f"data/networks/{name}.bif.gz")), RENAMED[name])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", RENAMED)
def test_a_network_has_the_numbers_of_pgmpy(name: str) -> None:
    utils = pytest.importorskip("pgmpy.utils", reason="pgmpy (the extra [pgmpy]) is not installed")

    assert_same(network(name), bntk.io.from_pgmpy(utils.get_example_model(name)), RENAMED[name])


# What the sources print about their own networks, to the digits that they print.
PUBLISHED = [
    ("burglary", "burglary", "yes", {"john_calls": "yes", "mary_calls": "yes"}, "0.284"),
    ("coma", "coma", "yes", {}, "0.32"),
    ("dog", "family_out", "yes", {"light_on": "yes", "hear_bark": "no"}, "0.5"),
    ("fire", "tampering", "yes", {"report": "yes"}, "0.399"),
    ("fire", "fire", "yes", {"report": "yes"}, "0.2305"),
    ("fire", "fire", "yes", {"smoke": "yes"}, "0.476"),
    ("fire", "tampering", "yes", {"smoke": "yes"}, "0.02"),
    ("fire", "tampering", "yes", {"report": "yes", "smoke": "yes"}, "0.0284"),
    ("fire", "fire", "yes", {"report": "yes", "smoke": "yes"}, "0.964"),
    ("fire", "tampering", "yes", {"report": "yes", "smoke": "no"}, "0.501"),
    ("fire", "fire", "yes", {"report": "yes", "smoke": "no"}, "0.0294"),
    ("slippery", "wet", "yes", {}, "0.6995"),
    ("student", "letter", "strong", {}, "0.502"),
    ("student", "letter", "strong", {"intelligence": "low"}, "0.389"),
    ("student", "letter", "strong", {"intelligence": "low", "difficulty": "easy"}, "0.513"),
    ("student", "intelligence", "high", {"grade": "c"}, "0.079"),
    ("student", "intelligence", "high", {"letter": "weak"}, "0.14"),
    ("student", "intelligence", "high", {"grade": "c", "sat": "high"}, "0.578"),
    ("student", "difficulty", "hard", {"grade": "c"}, "0.629"),
    ("student", "intelligence", "high", {"grade": "b"}, "0.175"),
    ("student", "intelligence", "high", {"grade": "b", "difficulty": "hard"}, "0.34"),
]


@pytest.mark.parametrize(("name", "target", "state", "given", "printed"), PUBLISHED)
def test_posteriors_are_those_that_the_source_prints(
    name: str, target: str, state: str, given: dict[str, str], printed: str
) -> None:
    digits = len(printed.partition(".")[2])
    assert round(network(name).query(target, given)[state], digits) == float(printed)


def test_it_pays_to_change_doors() -> None:
    monty_hall = network("monty_hall")
    for guest, prize, host in ("abc", "bca", "cab"):
        assert monty_hall.query("prize", {"guest": guest, "host": host})[prize] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", names())
def test_every_network_is_a_distribution(name: str) -> None:
    found = network(name)
    assert found.names == network(name).names
    if len(found.names) < 10:
        assert joint(found).sum() == pytest.approx(1, abs=1e-12)
    for cpt in found.cpts:
        np.testing.assert_allclose(cpt.values.sum(-1), 1, atol=1e-15)


def test_numbers_are_the_printed_ones_to_the_last_bit() -> None:
    assert network("asia").cpt("asia").values.tolist() == [0.99, 0.01]
    assert network("sprinkler").cpt("wet").values.ravel().tolist() == [1, 0, 0.1, 0.9, 0.1, 0.9, 0.01, 0.99]


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"no network 'aisa' in bntk; did you mean 'asia'.; there are asia"):
        network("aisa")
