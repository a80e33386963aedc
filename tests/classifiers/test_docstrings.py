"""Every estimator documents all of its parameters, in the order of its signature."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpydoc.docscrape as docscrape
import pytest

import bntk
from bntk import classifiers

ESTIMATORS = [getattr(classifiers, name) for name in classifiers.__all__]


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_parameter_is_described(cls):
    documented = docscrape.ClassDoc(cls)["Parameters"]
    names = [name for entry in documented for name in entry.name.split(", ")]
    assert names == list(inspect.signature(cls).parameters)
    for entry in documented:
        assert entry.type, entry.name
        assert "".join(entry.desc).strip(), entry.name
        assert "see :class:`BayesClassifier`" not in " ".join(entry.desc)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_what_is_learned_is_described(cls):
    attributes = docscrape.ClassDoc(cls)["Attributes"]
    names = {name for entry in attributes for name in entry.name.split(", ")}
    assert "classes_" in names
    assert all(name.endswith("_") for name in names)
    fitted = {name for name in dir(cls) if name.endswith("_") and not name.startswith("_")}
    assert {name for name in fitted if isinstance(inspect.getattr_static(cls, name), property)} <= names | {
        "target_name_"
    }


def test_a_class_of_your_own_says_only_what_is_new():
    from dataclasses import dataclass

    @dataclass(kw_only=True, eq=False, repr=False)
    class Mine(bntk.TAN):
        """A tree with more to say.

        Parameters
        ----------
        depth : int
            How deep it is.
        root : str
            Where I begin.

        Notes
        -----
        None.
        """

        depth: int = 3

    doc = docscrape.ClassDoc(Mine)
    entries = {entry.name: " ".join(entry.desc) for entry in doc["Parameters"]}
    assert list(entries) == list(inspect.signature(Mine).parameters)
    assert entries["depth"] == "How deep it is."
    assert entries["root"] == "Where I begin."
    assert entries["prior"] == next(" ".join(e.desc) for e in docscrape.ClassDoc(bntk.TAN)["Parameters"])
    assert doc["Notes"] == ["None."]
    assert doc["Summary"] == ["A tree with more to say."]


def test_without_docstrings():
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import bntk; print(bntk.TAN().name, bntk.MDBNC().name)"],
        capture_output=True, text=True, env={**os.environ}, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["tan", "mdbnc"]
