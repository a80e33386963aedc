"""A bad argument is refused where it is given, by an error that bntk raises itself, or it has a meaning.

``BNTK_BAD_CALLS=all`` tries every bad value for every argument of every public callable (some 40,000 calls, minutes);
otherwise one in some is tried, always the same ones.
"""

from __future__ import annotations

import inspect
import os
import zlib
from importlib import import_module
from importlib.util import find_spec

import matplotlib
import numpy as np
import pytest
from bad_calls import attack, cases
from doors import FRAME, GROUPS, NETWORK, ROWS

import bntk
from bntk import DAG, NoisyOr, Variable, datasets, scores, search
from bntk.errors import ArgumentError, BntkError

matplotlib.use("Agg")
import_module("matplotlib.mathtext")  # some versions of it are told about deprecations when they are imported

ONE_IN = 1 if os.environ.get("BNTK_BAD_CALLS") == "all" else 12
A, B = Variable("a", ["no", "yes"]), Variable("b", ["no", "yes"])
TABLES = [bntk.CPT(A, [0.5, 0.5])]
X, Y = FRAME.drop(columns="rain"), FRAME["rain"]

NAMED = [
    (lambda: Variable("a", 3), "variable 'a': the states must be a list of labels, not 3"),
    (lambda: Variable("a", [[1]]), r"variable 'a': a state is one label, such as a string; got \[1\]"),
    (lambda: NETWORK.query(3), "targets must be a string or a list of names of variables, not 3"),
    (lambda: NETWORK.query(None), "targets must be a string or a list of names of variables, not None"),
    (lambda: NETWORK.do(["rain"]), r"interventions must be a mapping, \{variable: state\}, not \['rain'\]"),
    (lambda: NETWORK.sample(2.5), "n must be a whole number from 0, not 2.5"),
    (lambda: NETWORK.sample(True), "n must be a whole number from 0, not True"),
    (lambda: NETWORK.sample(3, seed="x"), "seed must be a whole number, not 'x'"),
    (lambda: NETWORK.query("rain", max_entries=float("nan")), "max_entries must be a number from 0, not nan"),
    (lambda: NETWORK.query("rain", engine="loopy", damp=0.5), 'engine="loopy" has the settings damping, .*; got damp'),
    (lambda: NETWORK.query("rain", engine="gibbs", n="x"), "n must be a whole number from 1, not 'x'"),
    (lambda: NoisyOr(A, {B: "x"}), "the probability of 'b' must be a number from 0 to 1, not 'x'"),
    (lambda: DAG.parse(None), 'text must be a string such as "A -> B <- C", not None'),
    (
        lambda: bntk.BayesianNetwork("a", TABLES, positions={"a": 3}),
        "the position of 'a' must be two finite numbers, x and y, not 3",
    ),
    (lambda: datasets.random_network(-1), "nodes must be a whole number from 0, not -1"),
    (lambda: datasets.random_network(5, treewidth=9), "treewidth=9 takes more than 9 nodes, and there are 5"),
    (lambda: search.HillClimbing(restarts=-1), "restarts must be a whole number from 0, not -1"),
    (lambda: search.Tabu(time_budget=float("nan")), "time_budget must be None or a number from 0, not nan"),
    (lambda: scores.BDeu("x"), "ess must be a positive number, not 'x'"),
    (lambda: bntk.set_threads(1.5), "n must be None or a whole number from 1, not 1.5"),
    (lambda: bntk.TAN(n_jobs="x").fit(X, Y), "n_jobs must be .*, not 'x'"),
    (lambda: bntk.KDB(k=2.5).fit(X, Y), "k must be a whole number from 0, not 2.5"),
    (lambda: bntk.AODE(m="x").fit(X, Y), "m must be a number from 0, not 'x'"),
    (lambda: bntk.NaiveBayes(numeric=3).fit(X, Y), "numeric must be a way to treat numbers .*, not 3"),
    (lambda: bntk.NaiveBayes(random_state=-1).fit(X, Y), "random_state must be a whole number from 0"),
    (lambda: bntk.ClassifierChain(estimator=3).fit(X, FRAME[["rain", "wet"]]), "estimator must be a classifier"),
    (lambda: bntk.fit(3, ROWS), 'dag must be a DAG, or a string such as "A -> B", not 3'),
    (lambda: bntk.fit(NETWORK.dag, ROWS, {"rian": 1.0}), "the prior names 'rian'; did you mean 'rain'"),
    (lambda: bntk.learn(ROWS, seed="x"), "seed must be a whole number from 0, not 'x'"),
]


@pytest.mark.parametrize(("call", "message"), NAMED)
def test_the_error_names_the_argument_what_it_may_be_and_what_it_was(call, message):
    with pytest.raises(BntkError if "engine=" not in message else ValueError, match=message):
        call()


def test_an_argument_error_is_what_callers_expect_of_a_wrong_type_or_value():
    assert issubclass(ArgumentError, (BntkError, ValueError, TypeError))
    assert issubclass(ArgumentError, TypeError)
    assert issubclass(ArgumentError, ValueError)


def test_numbers_of_numpy_are_numbers():
    assert len(NETWORK.sample(np.int32(3), seed=np.int64(1))) == 3
    assert search.HillClimbing(restarts=np.int64(2), tolerance=np.float32(0.5)).restarts == 2


@pytest.mark.parametrize("group", GROUPS)
def test_bad_arguments_are_refused_by_errors_of_our_own_or_have_a_meaning(group, tmp_path, monkeypatch):
    if group == "pgmpy":
        pytest.importorskip("pgmpy", reason="pgmpy (the extra [pgmpy]) is not installed")
    monkeypatch.chdir(tmp_path)  # a name such as "x" may be that of a folder for results
    wrong = []
    for each in GROUPS[group](tmp_path):
        for argument, text, make in cases(each):
            if zlib.crc32(f"{each.name} {argument} {text}".encode()) % ONE_IN == 0:
                found = attack(each, argument, text, make)
                wrong += [f"{each.name}({argument}={text}): {found}"] if found else []
    assert not wrong, "\n".join(wrong)


#: Bases to derive from, results that functions return, and functions without arguments.
NOT_TRIED = {
    "Table",
    "n_threads",
    "Drawn",
    "names",
    "fetchable",
    "measures",
    "Comparison",
    "CrossValidation",
    "Friedman",
    "Measure",
    "Nemenyi",
    "PairedTest",
    "RankCorrelation",
    "Agreement",
    "ArcSupport",
    "Explanations",
    "ArcComparison",
    "CliqueTree",
    "Format",
    "Reliability",
    "BayesClassifier",
    "NetworkClassifier",
    "Prior",
    "MaximumLikelihood",
    "ConfusionScore",
    "DecomposableScore",
    "Evaluator",
    "ExplorerView",
    "FamilyEvaluator",
    "PredictiveEvaluator",
    "PredictiveScore",
    "Score",
    "ScoreTerms",
    "Search",
    "SearchResult",
    "Step",
}


def test_every_public_callable_is_tried(tmp_path):
    bridge = set() if find_spec("pgmpy") else {"to_pgmpy", "from_pgmpy"}  # their group is skipped without pgmpy
    groups = [make for group, make in GROUPS.items() if group != "pgmpy" or not bridge]
    tried = {each.name.partition("(")[0].rpartition(".")[2] for make in groups for each in make(tmp_path)}
    modules = (
        bntk,
        bntk.cuts,
        datasets,
        bntk.evaluation,
        bntk.explore,
        bntk.graph,
        bntk.io,
        bntk.priors,
        scores,
        search,
        bntk.spaces,
        bntk.viz,
    )
    public = {
        name
        for module in modules
        for name in module.__all__
        if callable(thing := getattr(module, name)) and not inspect.ismodule(thing) and not _takes_nothing(thing)
    }
    assert not public - tried - NOT_TRIED - bridge


def _takes_nothing(thing):
    return inspect.isfunction(thing) and not inspect.signature(thing).parameters
