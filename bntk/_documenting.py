"""Docstrings of estimators and scores that list all parameters and attributes, also those that a class inherits.

The text of a parameter is written once, in the class that has it (or in one below, where there is more to say), and put
into the docstrings of the classes that derive from it. Docstrings are those of numpydoc.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import Field, fields, is_dataclass

#: The lines of a section by the names that they describe.
Entries = dict[str, list[str]]

_INHERITED = ("Parameters", "Attributes")


def complete_docstring(cls: type) -> None:
    """Put what a class inherits into the sections ``Parameters`` and ``Attributes`` of its docstring."""
    doc = vars(cls).get("__doc__")
    if doc is None:  # python -OO, or nobody wrote one
        return
    sections = _sections(inspect.cleandoc(doc))
    own = {title: _entries(sections.get(title, [])) for title in _INHERITED}
    cls._documented = own  # type: ignore[attr-defined]
    found = {title: {**_inherited(cls, title), **own[title]} for title in _INHERITED}
    parameters = [name for name in _parameter_names(cls) if name in found["Parameters"]]
    attributes = [*own["Attributes"], *(name for name in found["Attributes"] if name not in own["Attributes"])]
    summary = sections.pop("")
    rest = {title: lines for title, lines in sections.items() if title not in _INHERITED}
    written = {
        "Parameters": _written(found["Parameters"], parameters),
        "Attributes": _written(found["Attributes"], attributes),
        **rest,
    }
    parts = ["\n".join(summary)]
    parts += ["\n".join([title, "-" * len(title), *lines]) for title, lines in written.items() if lines]
    cls.__doc__ = "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _inherited(cls: type, title: str) -> Entries:
    """The descriptions of the base classes; that of the nearest one counts."""
    found: Entries = {}
    for base in reversed(cls.__mro__[1:]):
        found.update(vars(base).get("_documented", {}).get(title, {}))
    return found


def _parameter_names(cls: type) -> list[str]:
    """The parameters in the order of the signature, which a dataclass gets only after its class is made."""
    keyword_only = {f.name: f.kw_only for base in reversed(cls.__mro__[1:]) if is_dataclass(base) for f in fields(base)}
    for name, hint in inspect.get_annotations(cls).items():
        if "ClassVar" not in str(hint):
            default = vars(cls).get(name)
            keyword_only[name] = not (isinstance(default, Field) and default.kw_only is False)
    for name in [name for name in keyword_only if _is_class_variable(cls, name)]:
        del keyword_only[name]
    return sorted(keyword_only, key=lambda name: bool(keyword_only[name]))


def _is_class_variable(cls: type, name: str) -> bool:
    """Whether a class, or the nearest one above it that has this name, takes it out of the parameters."""
    hints = (inspect.get_annotations(base).get(name) for base in cls.__mro__)
    return "ClassVar" in str(next((hint for hint in hints if hint is not None), ""))


def _sections(doc: str) -> dict[str, list[str]]:
    """The lines of a docstring by section; those before the first section have the title ``""``."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.M)
    titles, bodies = ["", *parts[1::2]], parts[0::2]
    return {title: body.strip("\n").split("\n") for title, body in zip(titles, bodies, strict=True)}


def _entries(lines: list[str]) -> Entries:
    """The entries of a section, ``name : type`` and what is indented below it.

    Without a type a line only says that something is described elsewhere, and is left out.
    """
    found: Entries = {}
    current: list[str] = []
    for line in lines:
        if line and not line[0].isspace():
            names, colon, _ = line.partition(" : ")
            current = []
            found |= dict.fromkeys(names.split(", "), current) if colon else {}
        current.append(line)
    return found


def _written(entries: Entries, names: list[str]) -> list[str]:
    """The lines of some entries, once each."""
    chosen = {id(entries[name]): entries[name] for name in names}
    return [line for lines in chosen.values() for line in "\n".join(lines).rstrip().split("\n")]
