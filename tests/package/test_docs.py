"""The reference has every public name, and the pages name only what exists."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator

import bntk

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
names = importlib.import_module("names")
locate = names.locate
MODULES = (
    "bntk",
    "bntk.classifiers",
    "bntk.datasets",
    "bntk.cuts",
    "bntk.errors",
    "bntk.evaluation",
    "bntk.explore",
    "bntk.graph",
    "bntk.inference",
    "bntk.io",
    "bntk.priors",
    "bntk.scores",
    "bntk.search",
    "bntk.spaces",
    "bntk.viz",
)


def public_names(module: ModuleType) -> list[str]:
    """``__all__``, or the functions and classes that the module defines."""
    if hasattr(module, "__all__"):
        return [n for n in module.__all__ if n != "__version__" and not inspect.ismodule(getattr(module, n))]
    own = {n: o for n, o in vars(module).items() if n[0] != "_" and getattr(o, "__module__", "") == module.__name__}
    return [n for n, o in own.items() if inspect.isclass(o) or inspect.isroutine(o)]


@cache
def reference_paths() -> list[str]:
    """The paths of all names in the ``names`` directives of the reference."""
    found = []
    for page in sorted((DOCS / "reference").glob("*.rst")):
        for module, block in re.findall(r"^\.\. names:: (\S+)\n\n((?:   \S+\n)+)", page.read_text(), flags=re.M):
            found += [f"{module}.{name}" for name in block.split()]
        for module, base in re.findall(r"^\.\. names:: (\S+)\n   :declared: (\S+)\n", page.read_text(), flags=re.M):
            found += [f"{module}.{name}" for name in names.declared(module, base)]
    return found


PUBLIC = [
    pytest.param(getattr(locate(module), name), id=f"{module}.{name}")
    for module in MODULES
    for name in public_names(locate(module))
]


@pytest.mark.parametrize("thing", PUBLIC)
def test_every_public_name_is_in_the_reference(thing):
    assert any(locate(path) is thing for path in reference_paths()), "add it to a page in docs/reference"


def test_no_name_is_in_the_reference_twice():
    things = [id(locate(path)) for path in reference_paths()]
    assert len(things) == len(set(things))


@pytest.mark.parametrize("thing", [case for case in PUBLIC if callable(case.values[0])])
def test_every_public_name_has_a_summary_of_one_line(thing):
    summary, *rest = (inspect.getdoc(thing) or "").split("\n")
    assert summary.endswith((".", ":", "?"))
    assert not summary.startswith(f"{thing.__name__}("), "this is what dataclass writes where there is no docstring"
    assert not rest or not rest[0].strip()


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_pages_refer_to_what_exists(page):
    for path in re.findall(r"\{(?:class|func|meth|attr|mod)\}`~?([\w.]+)`", page.read_text()):
        assert locate(path) is not None, f"{page.name} refers to {path}, which is not there"


def test_every_score_and_classifier_is_on_the_theory_page():
    theory, bases = (DOCS / "theory.md").read_text(), (bntk.scores.Score, BaseEstimator)
    for module in ("bntk.scores", "bntk.classifiers"):
        for name in public_names(locate(module)):
            thing = getattr(locate(module), name)
            if inspect.isclass(thing) and issubclass(thing, bases) and not inspect.isabstract(thing):
                assert re.search(rf"`~?bntk\.(\w+\.)?{name}`", theory), f"{name} is not on the theory page"


def test_the_theory_page_has_the_priors_that_are_defaults():
    theory = (DOCS / "theory.md").read_text()
    section = theory.split("### Priors of the parameters")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines()]
    found = {name: row[2] for row in rows if len(row) > 3 for name in re.findall(r"`bntk\.(\w+)`", row[0])}
    assert len(found) >= 20
    wrong = {name: said for name, said in found.items() if not said.startswith(f"`{getattr(bntk, name)().prior!r}`")}
    assert not wrong
