"""Scores, searches, classifiers and file formats by name.

Each is a class that declares its name (``name = "bic"``, or ``suffixes = (".bif",)``) and, in the first line of its
docstring, what it is. All lists are derived from that: those of the command and of messages, the names that packages
export, the pages of the reference. To add one, add a class to a module of its package.

Listing the names must not take the time of importing the classes, so the sources are parsed, not run. A user's class
that derives from one of these is known by its name as soon as it is defined; names of this package take precedence.
"""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

_ROOT = os.path.dirname(__file__)


class Declaration(NamedTuple):
    """A class of the package that declares names: where it is, its names and its description."""

    module: str
    cls: str
    names: tuple[str, ...]
    help: str

    def load(self) -> Any:
        """The class."""
        return getattr(importlib.import_module(self.module), self.cls)


class Declared(Mapping[str, Any]):
    """The classes that declare a name in the modules of a package, by these names, and those that users derive.

    Parameters
    ----------
    package : str or tuple of str
        Whose modules are looked at, but not those of packages in it.
    base : str
        What users derive from, as ``module:class``.
    attribute : str
        The class attribute with the name, or several names. More can be in ``aliases``.

    Examples
    --------
    >>> scores = Declared("bntk.learning.scores", "bntk.learning.scores.base:Score")
    >>> scores["bic"].__name__, "ll" in scores
    ('BIC', True)
    """

    def __init__(self, package: str | tuple[str, ...], base: str, attribute: str = "name") -> None:
        self._packages = (package,) if isinstance(package, str) else package
        self._base, self._attribute = base, attribute

    @property
    def classes(self) -> dict[str, Declaration]:
        """The classes of the package by their own names; none is imported."""
        return {found.cls: found for found in _declarations(self._packages, self._attribute)}

    @property
    def helps(self) -> dict[str, str]:
        """What each name stands for, in one line, without aliases; nothing is imported."""
        own = {found.names[0]: found.help for found in _declarations(self._packages, self._attribute)}
        return {**{names[0]: _summary(cls.__doc__) for names, cls in self._of_users()}, **own}

    def __getitem__(self, name: str) -> Any:
        for found in _declarations(self._packages, self._attribute):
            if name in found.names:
                return found.load()
        for names, cls in reversed([*self._of_users()]):  # of two, the one that was defined last
            if name in names:
                return cls
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        own = [name for found in _declarations(self._packages, self._attribute) for name in found.names]
        return iter(dict.fromkeys([*own, *(name for names, _ in self._of_users() for name in names)]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{', '.join(self)}>"

    def load(self) -> dict[str, Any]:
        """The classes of the package by their own names, imported."""
        return {name: found.load() for name, found in self.classes.items()}

    def of_users(self) -> dict[str, Any]:
        """The classes that declare a name outside of the package, by their own names."""
        return {cls.__name__: cls for _, cls in self._of_users()}

    def _of_users(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        own = {(found.module, found.cls) for found in _declarations(self._packages, self._attribute)}
        module, _, name = self._base.partition(":")
        base = getattr(sys.modules.get(module), name, None)  # without it nobody can have derived from it
        for cls in _below(base) if base is not None else ():
            names = _names(vars(cls), self._attribute)
            if names and (cls.__module__, cls.__name__) not in own:
                yield names, cls


def _below(base: Any) -> Iterator[Any]:
    """The classes that derive from a class, in the order in which they were defined at each level."""
    for cls in base.__subclasses__():
        yield cls
        yield from _below(cls)


@cache
def _declarations(packages: tuple[str, ...], attribute: str) -> tuple[Declaration, ...]:
    """What the modules of some packages declare, in the order of the first names."""
    found = [
        declaration
        for package in packages
        for finder, name, is_package in pkgutil.iter_modules([os.path.join(_ROOT, *package.split(".")[1:])])
        if not is_package and not name.endswith("kernels")
        for declaration in _of_module(finder, f"{package}.{name}", attribute)
    ]
    return tuple(sorted(found, key=lambda each: each.names))


def _of_module(finder: Any, module: str, attribute: str) -> list[Declaration]:
    """What a module declares, by its source; where there is none, by the module itself."""
    source = finder.find_spec(module).loader.get_source(module)
    bodies: list[tuple[str, Mapping[str, Any], str | None]] = []
    if source is None:
        here = [each for each in vars(importlib.import_module(module)).values() if isinstance(each, type)]
        bodies = [(cls.__name__, vars(cls), cls.__doc__) for cls in here if cls.__module__ == module]
    else:
        nodes = [node for text in _declaring(source, attribute) for node in ast.parse(text).body]
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        bodies = [(node.name, _constants(node), ast.get_docstring(node)) for node in classes]
    return [
        Declaration(module, name, names, _summary(doc))
        for name, body, doc in bodies
        if (names := _names(body, attribute))
    ]


def _declaring(source: str, attribute: str) -> Iterator[str]:
    """The classes in a source that declare an attribute, without their methods: to parse all would take far longer."""
    for text in _TOP_LEVEL.split(source):
        if text.startswith("class ") and f"\n    {attribute} = " in text:
            head = _METHOD.split(text, maxsplit=1)[0]
            yield head if f"\n    {attribute} = " in head else text


#: Line ends before a class and its decorators, and before the first method of a class.
_TOP_LEVEL = re.compile(r"\n(?=class |@)")
_METHOD = re.compile(r"\n    (?=def |async def |@)")


def _constants(node: ast.ClassDef) -> dict[str, Any]:
    """The constants in the body of a class."""
    plain = [each for each in node.body if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)]
    return {each.targets[0].id: _literal(each.value) for each in plain}  # type: ignore[attr-defined]


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def _names(body: Mapping[str, Any], attribute: str) -> tuple[str, ...]:
    """The names that the body of a class declares, the usual one first; none for most classes."""
    found = body.get(attribute)
    names = (found,) if isinstance(found, str) else found
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        return ()
    return (*names, *body.get("aliases", ()))


def _summary(doc: str | None) -> str:
    """The first line of a docstring, without markup and who published it when."""
    line = re.sub(r" \([^()]*\b\d{4}\)", "", (doc or "").strip().partition("\n")[0])
    return re.sub(r":\w+:`~?([^`<]+?)(?: <[^`]*>)?`", r"\1", line).replace("``", "")


SCORES = Declared("bntk.learning.scores", "bntk.learning.scores.base:Score")
SEARCHES = Declared("bntk.learning.search", "bntk.learning.search.base:Search")
CLASSIFIERS = Declared("bntk.classifiers", "bntk.classifiers.base:BayesClassifier")
MULTI_CLASSIFIERS = Declared(
    ("bntk.classifiers.composed", "bntk.classifiers.multidim"), "bntk.classifiers.multidim.base:MultiTargetClassifier"
)
FORMATS = Declared("bntk.io", "bntk.io.format:Format", "suffixes")
