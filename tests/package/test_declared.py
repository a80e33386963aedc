"""Scores, searches, classifiers and formats are declared where they are defined, and known everywhere by that."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import bntk
from bntk import _declared
from bntk._declared import CLASSIFIERS, FORMATS, MULTI_CLASSIFIERS, SCORES, SEARCHES

ALL = {
    "scores": (SCORES, "bntk.learning.scores.base:Score"),
    "searches": (SEARCHES, "bntk.learning.search.base:Search"),
    "classifiers": (CLASSIFIERS, "bntk.classifiers.base:BayesClassifier"),
    "multi": (MULTI_CLASSIFIERS, "bntk.classifiers.multidim.base:MultiTargetClassifier"),
    "formats": (FORMATS, "bntk.io.format:Format"),
}


@pytest.mark.parametrize("kind", ALL)
def test_whatever_declares_a_name_is_of_its_kind_and_says_what_it_is(kind):
    declared, place = ALL[kind]
    module, _, name = place.partition(":")
    base = getattr(importlib.import_module(module), name)
    for cls in declared.load().values():
        assert issubclass(cls, base)
    for found in declared.classes.values():
        assert found.help.endswith(".")
        assert "`" not in found.help


@pytest.mark.parametrize("kind", ALL)
def test_no_name_is_declared_twice(kind):
    declared, _ = ALL[kind]
    names = [name for found in declared.classes.values() for name in found.names]
    assert len(names) == len({*names})
    assert [*declared][: len(names)] == names  # then those that other tests define


@pytest.mark.parametrize("kind", ALL)
def test_sources_and_classes_declare_the_same(kind, monkeypatch):
    declared, _ = ALL[kind]
    by_source = declared.classes
    _declared._declarations.cache_clear()
    monkeypatch.setattr("importlib.machinery.SourceFileLoader.get_source", lambda self, name: None)
    try:
        assert declared.classes == by_source
    finally:
        _declared._declarations.cache_clear()


def test_listing_names_imports_nothing():
    code = (
        "import sys; from bntk._declared import *; from bntk import _declared as d\n"
        "print(len(d.SCORES), len(d.CLASSIFIERS), d.FORMATS.helps['.bif'])\n"
        "print([m for m in sys.modules if m.startswith('bntk.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.split("\n")[1] == "['bntk._declared']"


def test_a_score_of_your_own_is_known_by_its_name():
    @dataclass(frozen=True)
    class Rows(bntk.scores.DecomposableScore):
        """Nothing but the rows."""

        name = "rows-of-mine"

        def family(self, counts, q=None, n=None):
            return float(np.sum(counts))

    assert bntk.scores.by_name("Rows-of-mine") == Rows()
    assert SCORES.helps["rows-of-mine"] == "Nothing but the rows."
    assert bntk.score("a; b", {"a": [0, 1], "b": [1, 1]}, "rows-of-mine") == 4
    assert "Rows" not in bntk.scores.__all__


def test_a_name_of_ours_stays_ours():
    class BIC(bntk.scores.BIC):
        name = "bic"

    class Tabu(bntk.search.Search):
        name = "tabu"

        def run(self, *arguments, **options):
            raise NotImplementedError

    assert type(bntk.scores.by_name("bic")) is bntk.scores.BIC
    assert bntk.search.NAMES["tabu"] is bntk.search.Tabu
    assert BIC().name == "bic"


def test_of_two_definitions_the_last_one_counts():
    for number in (1, 2):

        @dataclass(frozen=True)
        class Twice(bntk.scores.BIC):
            name = "defined-twice"
            which: int = number

    assert bntk.scores.by_name("defined-twice") == Twice(which=2)


def test_a_format_of_your_own_is_known_by_its_suffix(tmp_path):
    class Upper(bntk.io.Format):
        """BIF that shouts."""

        suffixes = (".shout",)
        parse = staticmethod(lambda text, source="": bntk.io.FORMATS[".bif"].parse(text.lower(), source))
        dump = staticmethod(lambda network: bntk.io.FORMATS[".bif"].dump(network).upper())

    network = bntk.datasets.sprinkler()
    network.save(tmp_path / "x.shout.gz")
    assert bntk.load(tmp_path / "x.shout.gz").dag.n_arcs == network.dag.n_arcs
    assert ".shout" in FORMATS


@pytest.mark.parametrize(
    "module", ["bntk.errors", "bntk.io", "bntk.learning", "bntk.priors", "bntk.scores", "bntk.search"]
)
def test_public_modules_say_what_is_public(module):
    found = getattr(bntk, module.removeprefix("bntk."))
    assert len({*found.__all__}) == len(found.__all__)
    for name in found.__all__:
        assert getattr(found, name) is not None


def test_dir_shows_what_is_public_and_nothing_else():
    assert sorted(bntk.__all__) == dir(bntk)
    for name in dir(bntk):
        assert getattr(bntk, name) is not None
    assert not {"importlib", "TYPE_CHECKING", "annotations", "Any", "network", "cpt"} & {*dir(bntk)}
