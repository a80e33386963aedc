"""What users say about variables, and what comes of it."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.errors import BntkError, DataError, ImpossibleEvidence, UnknownNameError
from bntk.inference.evidence import read_findings

SIZE = bntk.Variable("size", ["small", "medium", "large"])
PAIR = bntk.Variable("pair", [("a", 1), ("a", 2), "b"])
COUNT = bntk.Variable("count of things?", [3, 1, 2])
NETWORK = bntk.BayesianNetwork.from_cpts(
    [
        bntk.CPT(SIZE, [0.2, 0.3, 0.5]),
        bntk.CPT(PAIR, [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1, 0, 0]], [SIZE]),
        bntk.CPT(COUNT, [[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0.2, 0.2, 0.6]], [PAIR]),
    ]
)


def vector(name, given=None, soft=None):
    findings = read_findings(NETWORK, None if given is None else {name: given}, None if soft is None else {name: soft})
    return findings.vectors[NETWORK.dag.index(name)].tolist()


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        ("medium", [0, 1, 0]),
        ({"small", "large"}, [1, 0, 1]),
        (["large", "small", "small"], [1, 0, 1]),
        (("small",), [1, 0, 0]),
        (np.array(["medium", "large"]), [0, 1, 1]),
        (pd.Index(["medium"]), [0, 1, 0]),
        ({"large": 3, "small": 0.5, "medium": 0}, [0.5, 0, 3]),
    ],
)
def test_a_finding_is_a_state_a_collection_of_states_or_a_number_for_each(finding, expected):
    assert vector("size", finding) == expected


def test_a_tuple_that_is_a_state_is_taken_for_the_state():
    assert vector("pair", ("a", 2)) == [0, 1, 0]
    assert vector("pair", [("a", 2), "b"]) == [0, 1, 1]


def test_integer_states_keep_their_order_and_match_what_is_written_the_same():
    assert vector("count of things?", 3) == vector("count of things?", "3") == [1, 0, 0]
    assert vector("count of things?", np.int64(1)) == [0, 1, 0]
    assert vector("count of things?", soft={1: 0.1, 2: 0.2, 3: 0.3}) == [0.3, 0.1, 0.2]
    assert vector("count of things?", soft=[0.3, 0.1, 0.2]) == [0.3, 0.1, 0.2]


def test_two_findings_about_a_variable_hold_together():
    assert vector("size", ["small", "large"], [0.5, 0.2, 0.1]) == [0.5, 0, 0.1]
    with pytest.raises(ImpossibleEvidence, match=r"size='small', size ~ \[0, 1, 1\]"):
        NETWORK.query("pair", {"size": "small"}, {"size": [0, 1, 1]})
    assert NETWORK.probability({"size": "small"}, {"size": [0, 1, 1]}) == 0


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, np.nan])
def test_a_missing_value_says_nothing(nothing):
    assert NETWORK.query("pair", {"size": nothing}) == NETWORK.query("pair")
    assert NETWORK.log_probability({"size": nothing}) == 0


@pytest.mark.parametrize(
    ("given", "soft", "error", "message"),
    [
        ({"sice": "small"}, None, UnknownNameError, "'size'"),
        ({"size": "huge"}, None, UnknownNameError, r"no state 'huge'; its states are \['small', 'medium', 'large'\]"),
        ({"size": ["small", "huge"]}, None, UnknownNameError, "no state 'huge'"),
        ({"size": []}, None, DataError, "no state is left for 'size'"),
        ({"size": {"small": 1}}, None, DataError, r"no number for \['medium', 'large'\]"),
        ({"size": {"small": 1, "huge": 1}}, None, UnknownNameError, "no state 'huge'"),
        (None, {"size": [0.5, 0.5]}, DataError, "must be 3 numbers"),
        (None, {"size": [0, 0, 0]}, DataError, "not all zero"),
        (None, {"size": [1, -1, 1]}, DataError, "from 0"),
        (None, {"size": [1, np.inf, 1]}, DataError, "from 0"),
        (None, {"size": "small"}, DataError, "must be 3 numbers"),
        (None, {"count of things?": {3: 1, "3": 1, 1: 1, 2: 1}}, DataError, "names a state twice"),
        ("size", None, DataError, "must map variables to findings"),
        (["size"], None, DataError, "must map variables to findings"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_what_is_known(given, soft, error, message):
    with pytest.raises(error, match=message):
        NETWORK.query("pair", given, soft)


def test_impossible_evidence_names_findings_of_which_none_can_be_left_out():
    asia = bntk.datasets.asia()
    given = {"asia": "no", "tub": "yes", "smoke": "yes", "either": "no", "xray": "yes", "dysp": ["no"]}
    for ask in (asia.marginals, asia.mpe, lambda x: asia.query("lung", x), lambda x: asia.map("lung", x)):
        with pytest.raises(ImpossibleEvidence, match="tub='yes', either='no' have probability zero together") as caught:
            ask(given)
        assert caught.value.findings == ("tub='yes'", "either='no'")
    assert isinstance(caught.value, (BntkError, ValueError))
    assert asia.log_probability(given) == -math.inf
    assert asia.probability(given) == 0


def test_a_single_impossible_finding_is_named_alone_and_a_costly_search_is_not_made(monkeypatch):
    never = bntk.BayesianNetwork.from_cpts([bntk.CPT(SIZE, [0, 0.5, 0.5])])
    with pytest.raises(ImpossibleEvidence, match="size='small' has probability zero"):
        never.query("size", {"size": "small"})
    monkeypatch.setattr("bntk.inference.choose.CLASH_ENTRIES", 0)
    with pytest.raises(ImpossibleEvidence, match="smoke='no', tub='yes', either='no'.*perhaps fewer") as caught:
        bntk.datasets.asia().query("lung", {"smoke": "no", "tub": "yes", "either": "no"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.findings, again.minimal, str(again)) == (caught.value.findings, False, str(caught.value))


def test_titles_say_what_was_given():
    title = NETWORK.query("pair", {"size": ["small", "large"]}, {"count of things?": [1, 2, 0.5]}).heading
    assert title == "P(pair | size in ['small', 'large'], count of things? ~ [1, 2, 0.5])"
