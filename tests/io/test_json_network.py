"""Our own JSON keeps all of a network."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_networks import networks

import bntk
from bntk import CPT, BayesianNetwork, Variable
from bntk.errors import DataError, ParseError
from bntk.io.json_network import dump, parse

scalars = st.text(max_size=4) | st.integers() | st.floats(allow_nan=False) | st.booleans()
states = st.lists(scalars | st.tuples(scalars, scalars | st.tuples(scalars)), min_size=1, max_size=5, unique=True)


@given(states, st.booleans())
def test_states_keep_their_types(labels, ordered):
    variable = Variable("a", labels, ordered)
    network = BayesianNetwork.from_cpts([CPT.uniform(variable)])
    assert parse(dump(network)).variable("a") == variable  # types and order are compared, too


@given(networks(), st.sampled_from(["mle", 0.5, 1, {"x0": 2.0}, bntk.priors.BDeu(0.1), bntk.priors.HDP(5, 2)]))
def test_a_fitted_network_can_be_updated_after_it_was_read(network, prior):
    rows, more = network.sample(50, seed=1), network.sample(30, seed=2)
    fitted = bntk.fit(network.dag, rows, prior=prior)
    again = parse(dump(fitted))
    assert again == fitted
    assert again.prior == fitted.prior
    for a, b in zip(again.cpts, fitted.cpts, strict=True):
        assert a.counts.dtype == b.counts.dtype
        np.testing.assert_array_equal(a.counts, b.counts)
    assert again.update(more) == fitted.update(more)


def test_a_prior_with_a_number_for_each_state_survives():
    rows = bntk.datasets.asia().sample(20, seed=0)
    fitted = bntk.fit(bntk.datasets.asia().dag, rows, prior={"lung": np.array([1.0, 0.25])})
    again = parse(dump(fitted))
    assert list(again.prior.value["lung"]) == [1.0, 0.25]
    assert again.update(rows) == fitted.update(rows)


def test_weighted_counts_survive_to_the_last_bit():
    counts = [1 / 3, math.pi]
    network = BayesianNetwork.from_cpts([CPT(Variable("a", [0, 1]), [0.25, 0.75], counts=counts)])
    np.testing.assert_array_equal(parse(dump(network)).cpt("a").counts, counts)


def test_the_file_is_plain_json_that_says_what_it_is():
    data = json.loads(dump(bntk.datasets.sprinkler()))
    assert (data["format"], data["version"]) == ("bntk network", 1)
    assert data["tables"][3] == {
        "child": "wet",
        "parents": ["sprinkler", "rain"],
        "values": [1.0, 0.0, 0.1, 0.9, 0.1, 0.9, 0.01, 0.99],
    }


def test_keys_of_a_later_writer_are_skipped():
    data = json.loads(dump(bntk.datasets.asia()))
    data["positions"] = {"asia": [1, 2]}
    data["variables"][0]["comment"] = "a trip"
    assert parse(json.dumps(data)) == bntk.datasets.asia()


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(DataError, match="of type frozenset"):
        dump(BayesianNetwork.from_cpts([CPT.uniform(Variable("a", [frozenset("x"), "b"]))]))

    class Mine(bntk.priors.Prior):
        def pseudo_count(self, child, q):
            return 1.0

    network = bntk.datasets.asia()
    with pytest.raises(DataError, match="the prior .*Mine.* cannot be written"):
        dump(BayesianNetwork(network.dag, network.cpts, prior=Mine()))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"kind": "pickle"}, "the prior 'pickle' is not known"),
        ({"kind": "bdeu", "ess": -1}, "equivalent sample size"),
        ({"kind": "bdeu", "ess": "x"}, "the prior 'bdeu'"),
        ({"kind": "dirichlet", "value": [[1], 2]}, "the prior 'dirichlet'"),
        ([], "the prior must be an object"),
    ],
)
def test_bad_priors(prior, message):
    data = {**json.loads(dump(bntk.datasets.asia())), "prior": prior}
    with pytest.raises(ParseError, match=message):
        parse(json.dumps(data))


@pytest.mark.parametrize("counts", [[1], [-1, 2], ["1", "2"], {"a": 1}, [10**30, 1], [[1, 2]]])
def test_bad_counts(counts):
    data = json.loads(dump(BayesianNetwork.from_cpts([CPT(Variable("a", [0, 1]), [0.25, 0.75])])))
    data["tables"][0]["counts"] = counts
    with pytest.raises(ParseError, match="counts"):
        parse(json.dumps(data))


@pytest.mark.parametrize("places", [[], {"a": 1}, {"a": [1]}, {"a": [1, 2, 3]}, {"a": ["1", "2"]}, {"b": [1, 2]}])
def test_bad_positions(places):
    data = json.loads(dump(BayesianNetwork.from_cpts([CPT(Variable("a", [0, 1]), [0.25, 0.75])])))
    data["positions"] = places
    with pytest.raises(ParseError, match="position|'b' is not declared"):
        parse(json.dumps(data))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "1" * 10_000, '{"tuple": [' * 2000])
def test_deep_and_long_text_is_refused(text):
    with pytest.raises(ParseError):
        parse(text)


def test_tuples_in_tuples_end_somewhere():
    state: object = "x"
    for _ in range(200):
        state = {"tuple": [state]}
    data = {"format": "bntk network", "version": 1, "variables": [{"name": "a", "states": [state]}], "tables": []}
    with pytest.raises(ParseError, match="is no state"):
        parse(json.dumps(data))
