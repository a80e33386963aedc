"""Digests: the same for what is the same, in any process, and another for what is not."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from processes import answers_of_processes
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bntk
from bntk.errors import DataError
from bntk.evaluation.digest import data_digest, digest

FRAME = pd.DataFrame({"a": ["x", "y", None], "b": [1, 2, 3], "c": [0.5, np.nan, 2.0]})


def makers():
    """Things that differ, each made anew."""

    def double(x):
        return 2 * x

    def triple(x):
        return 3 * x

    class Own:
        def __init__(self, value):
            self.value = value

    class Other(Own):
        def answer(self):
            return self.value

    return [
        None, True, 1, 1.0, "1", b"1", [1], (1,), {1}, {1: 1}, np.array([1]), np.array([1.0]), np.int64(2),
        np.array(["a", None], dtype=object), double, triple, lambda x: x, Own(1), Own(2), Other(1), Own,
        bntk.TAN(), bntk.TAN(prior=2), bntk.FAN(), bntk.TAN(root="a"), bntk.KDB(1), bntk.KDB(2),
        bntk.TAN(criterion=bntk.scores.BDeu(5)), bntk.TAN(criterion=bntk.scores.BDeu(6)),
        bntk.TAN(prior=bntk.priors.Backoff()), bntk.TAN(prior=bntk.priors.BDeu(1)), bntk.TAN(prior=bntk.priors.HDP()),
        bntk.TAN(prior=bntk.priors.HDP(seed=1)),
        bntk.BayesNetClassifier(structure=bntk.DAG.parse("a -> b")),
        bntk.BayesNetClassifier(structure=bntk.DAG.parse("b -> a")),
        make_pipeline(OneHotEncoder(), LogisticRegression()), make_pipeline(OneHotEncoder(), LogisticRegression(C=2)),
        np.random.default_rng(0), np.random.default_rng(1), bntk.BinaryRelevance(bntk.TAN()),
        bntk.BinaryRelevance(bntk.NaiveBayes()), bntk.BayesNetClassifier(space=bntk.spaces.tan),
        bntk.BayesNetClassifier(space=bntk.spaces.naive_bayes),
    ]  # fmt: skip


def test_equal_things_have_equal_digests_and_others_do_not():
    first, second = ([digest(thing) for thing in makers()] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_a_clone_and_a_fitted_estimator_are_the_same_estimator():
    tan = bntk.TAN(criterion="bic", prior=0.5)
    before = digest(tan)
    assert digest(clone(tan)) == before
    tan.fit(FRAME[["b"]], ["u", "v", "u"])
    assert digest(tan) == before


def test_an_own_function_is_known_by_what_it_does_and_holds():
    def make(factor, body="factor * x"):
        space = {"factor": factor}
        exec(f"def scorer(x):\n    return {body}", space)
        return space["scorer"]

    assert digest(make(1)) == digest(make(1))
    assert digest(make(1)) != digest(make(1, "factor + x"))

    def holding(factor):
        return lambda x: factor * x

    assert digest(holding(1)) != digest(holding(2))


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(b=[1, 2, 4]),
        lambda f: f.assign(a=["x", None, None]),
        lambda f: f.rename(columns={"a": "z"}),
        lambda f: f[["b", "a", "c"]],
        lambda f: f.iloc[::-1],
        lambda f: f.assign(b=["1", "2", "3"]),
        lambda f: f.assign(a=f["a"].astype("category")),
        lambda f: f.assign(a=pd.Categorical(f["a"], ["x", "y"], ordered=True)),
        lambda f: f.assign(a=pd.Categorical(f["a"], ["y", "x"], ordered=True)),
        lambda f: f.head(2),
    ],
)
def test_any_change_of_the_data_changes_their_digest(change):
    assert data_digest(FRAME) == data_digest(FRAME.copy())
    assert data_digest(change(FRAME)) != data_digest(FRAME)


def test_the_index_of_a_frame_does_not_matter():
    assert data_digest(FRAME.set_axis([7, 8, 9])) == data_digest(FRAME)


@pytest.mark.parametrize("data", [["a text", "another"], np.eye(3), {"a": [1, 2]}, bntk.Table.from_frame(FRAME)])
def test_data_of_any_kind_have_a_digest(data):
    assert data_digest(data) == data_digest(data)


def test_digests_do_not_depend_on_the_process():
    code = (
        "import bntk; from bntk.evaluation.digest import digest; "
        "print(digest(bntk.TAN(criterion='bic'), {'a', 'b', 'c'}, {'x': 1, 'y': [2]}))"
    )
    assert len(answers_of_processes(code)) == 1


def test_what_has_no_digest_is_refused():
    with open(os.devnull) as file, pytest.raises(DataError, match="do without cache"):
        digest(file)
    loop: list = []
    loop.append(loop)
    with pytest.raises(DataError, match="contains itself"):
        digest(loop)
