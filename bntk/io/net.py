"""Hugin NET, as Hugin, pgmpy, pyAgrum and bnlearn write it.

Discrete chance nodes with tables are read; attributes that are not needed are skipped. In ``data`` the child's states
change fastest, then those of the last parent; the parentheses are ignored. Nodes are called by identifiers; a name that
is none is kept in the attribute ``bntk_name`` beside the label, which Hugin keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from bntk.cpt import CPT
from bntk.io.building import NetworkBuilder, Place, identifiers, number_texts, position_texts, state_texts
from bntk.io.format import Format
from bntk.network import BayesianNetwork

_COMMENT = re.compile(r"%[^\n]*")
_BLANK = re.compile(r"(?:\s++|%[^\n]*+)*+")
_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|(?P<word>[^\s(){}=;|"%]++)|(?P<mark>[(){}=;|])', re.DOTALL)
_DATA = re.compile(r"(?:[^;%\"{}]++|%[^\n]*+)*+;")
_ESCAPE = re.compile(r'\\(["\\n])')
_BRACKETS = str.maketrans("()", "  ")
_OTHER_NODES = ("continuous", "decision", "utility", "function", "class")


def parse(text: str, source: str = "") -> BayesianNetwork:
    """Read a network from NET text.

    Examples
    --------
    >>> bn = parse('''net {}
    ... node a { states = ("no" "yes"); }
    ... node b { label = "a child"; states = ("<5" ">=5"); }
    ... potential (a) { data = (0.25 0.75); }
    ... potential (b | a) { data = ((0.5 0.5) (0.1 0.9)); }''')
    >>> bn.cpt("b").probability(">=5", {"a": "yes"})
    0.9
    """
    return _Reader(text, source).network()


class _Reader:
    """Reads token by token; ``at`` is where the last one began."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.build = NetworkBuilder(source, "NET")
        self.next = self.at = 0
        self._counted = (0, 1)  # up to where lines are counted, and the line there
        self.names: dict[str, str] = {}  # by identifier

    def network(self) -> BayesianNetwork:
        families: list[tuple[list[str], list[float], Place]] = []
        kind = self._take("a block")  # an empty file is no network, but an empty net is one
        while kind:
            if kind == "net":
                self._attributes()
            elif kind == "potential":
                families.append(self._potential())
            elif kind in _OTHER_NODES:
                self._fail(f"only discrete chance nodes and their tables can be read, not {kind!r}")
            else:
                self._node(kind)
            kind = self._take("a block", end=True)
        for names, numbers, place in families:
            for name in names:
                if name not in self.names:
                    self.build.fail(f"the node {name!r} is not declared", place)
            child, *parents = (self.names[name] for name in names)
            self.build.add_table(child, parents, numbers, place)
        return self.build.network()

    def _node(self, word: str) -> None:
        while word in ("discrete", "chance"):
            word = self._take("node")
        if word in _OTHER_NODES:
            self._fail(f"only discrete chance nodes can be read, not {word!r}")
        if word != "node":
            self._fail(f"expected net, node or potential, found {word[:40]!r}")
        identifier = self._name()
        place = self._place()
        if identifier in self.names:
            self._fail(f"the node {identifier!r} is declared twice")
        found = self._attributes()
        if "states" not in found:
            self.build.fail(f"the node {identifier!r} has no states", place)
        name = "".join(found.get("bntk_name", [identifier]))
        self.build.add_variable(name, found["states"], place)
        self.build.add_position(name, found.get("position", ()))
        self.names[identifier] = name

    def _potential(self) -> tuple[list[str], list[float], Place]:
        """The names of the family, the child first, the numbers, and where they stand."""
        self._expect("(")
        names: list[str] = [self._name()]
        place = self._place()
        while (word := self._take("')'")) != ")":
            if word == "|" and len(names) == 1:
                continue
            if word in "({}=;|":
                self._fail(f"expected 'potential (child | parent ...)', found {word!r}")
            names.append(_plain(word))
        self._expect("{")
        numbers: list[float] | None = None
        while (word := self._take("'}'")) != "}":
            self._expect("=")
            if word == "model_data":
                self._fail(f"the table of {names[0]!r} is an expression; only numbers can be read")
            if word != "data":
                self._value()
                continue
            match = _DATA.match(self.text, self.next)
            if match is None or numbers is not None:
                self._fail(f"expected 'data = (numbers);' once for {names[0]!r}")
            place = self._place()
            plain = _COMMENT.sub(" ", match[0][:-1]).translate(_BRACKETS)
            numbers = self.build.numbers(plain, place)
            self.next = match.end()
        if numbers is None:
            self.build.fail(f"the potential of {names[0]!r} has no data", place)
        return names, numbers, place

    def _attributes(self) -> dict[str, list[str]]:
        """The attributes of a block, each with the words of its value."""
        self._expect("{")
        found: dict[str, list[str]] = {}
        while (key := self._take("'}'")) != "}":
            self._expect("=")
            found[key] = self._value()
        return found

    def _value(self) -> list[str]:
        words = []
        while (word := self._take("';'")) != ";":
            if word in "{}=|":
                self._fail(f"expected a value that ends with ';', found {word!r}")
            if word not in "()":
                words.append(_plain(word))
        return words

    def _name(self) -> str:
        word = self._take("a name")
        if word in "(){}=;|":
            self._fail(f"expected a name, found {word!r}")
        return _plain(word)

    def _expect(self, mark: str) -> None:
        found = self._take(f"{mark!r}")
        if found != mark:
            self._fail(f"expected {mark!r}, found {found[:40]!r}")

    def _take(self, what: str, end: bool = False) -> str:
        """The next token, a string still in quotes; at the end of the text ``""`` if that is allowed."""
        blank = _BLANK.match(self.text, self.next)
        self.at = blank.end() if blank else self.next
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.at < len(self.text):
                self._fail("a quote that is not closed")
            if not end:
                self._fail(f"the file ends where {what} should be")
            return ""
        self.next = match.end()
        return match[0]

    def _place(self) -> Place:
        """Line and column of the last token."""
        counted, line = self._counted
        self._counted = self.at, line + self.text.count("\n", counted, self.at)
        return self._counted[1], self.at - self.text.rfind("\n", 0, self.at)

    def _fail(self, message: str) -> NoReturn:
        self.build.fail(message, self._place())


def _plain(word: str) -> str:
    """A word as it is, a string without its quotes."""
    if word[0] != '"':
        return word
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], word[1:-1])


# ---- writing ---------------------------------------------------------------------------------------------------


def dump(network: BayesianNetwork) -> str:
    """The network as NET text."""
    return "".join(_lines(network))


def _lines(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names)
    yield "net\n{\n}\n"
    for variable in network.variables:
        states = " ".join(_quoted(text) for text in state_texts(variable, "NET"))
        yield f"node {ids[variable.name]}\n{{\n  states = ({states});\n"
        if ids[variable.name] != variable.name:
            yield f"  label = {_quoted(variable.name)};\n  bntk_name = {_quoted(variable.name)};\n"
        if place := position_texts(network, variable.name):
            yield f"  position = ({' '.join(place)});\n"
        yield "}\n"
    for cpt in network.cpts:
        given = "".join(f" {ids[p.name]}" for p in cpt.parents)
        yield f"potential ({ids[cpt.name]}{' |' + given if given else ''})\n{{\n  data = {_nested(cpt)};\n}}\n"


def _nested(cpt: CPT) -> str:
    """The rows in parentheses, one pair more for each parent."""
    groups = [f"({number_texts(row)})" for row in cpt.matrix.tolist()]
    for parent in reversed(cpt.parents):
        n = parent.n_states
        groups = ["(" + "\n  ".join(groups[i : i + n]) + ")" for i in range(0, len(groups), n)]
    return groups[0]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class NET(Format):
    """Hugin NET."""

    suffixes = (".net",)
    parse, dump = staticmethod(parse), staticmethod(dump)
