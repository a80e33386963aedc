"""Hugin NET, as Hugin, pgmpy, pyAgrum and bnlearn write it.

Discrete chance nodes with tables are read; attributes that are not needed are skipped. In ``data`` the child's states
change fastest, then those of the last parent; the parentheses are ignored. Rows need not sum to one: Hugin divides
them by their sums. Nodes are called by identifiers; a name that is none is kept in the attribute ``bntk_name`` beside
the label, which Hugin keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from bntk.cpt import CPT, EXACT, TOLERANCE
from bntk.io.building import NetworkBuilder, Place, identifiers, number_texts, position_texts, state_texts, tell_divided
from bntk.io.format import Format
from bntk.io.scanning import Scanner, plain, quoted
from bntk.network import BayesianNetwork

_COMMENT = re.compile(r"%[^\n]*")
_BLANK = re.compile(r"(?:\s++|%[^\n]*+)*+")
_TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*+")|(?P<word>[^\s(){}=;|"%]++)|(?P<mark>[(){}=;|])', re.DOTALL)
_DATA = re.compile(r"(?:[^;%\"{}]++|%[^\n]*+)*+;")
_BRACKETS = str.maketrans("()", "  ")
_OTHER_NODES = ("continuous", "decision", "utility", "function", "class")


def parse(text: str, source: str = "", normalize: bool = False) -> BayesianNetwork:
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
    return _Reader(text, source, normalize).network()


class _Reader(Scanner):
    blank, token, marks = _BLANK, _TOKEN, "(){}=;|"

    def __init__(self, text: str, source: str, normalize: bool = False) -> None:
        super().__init__(text, NetworkBuilder(source, "NET", True, within=EXACT if normalize else TOLERANCE))
        self.silent = normalize
        self.names: dict[str, str] = {}  # by identifier

    def network(self) -> BayesianNetwork:
        families: list[tuple[list[str], list[float], Place]] = []
        kind = self.take("a block")  # an empty file is no network, but an empty net is one
        while kind:
            if kind == "net":
                self._attributes()
            elif kind == "potential":
                families.append(self._potential())
            elif kind in _OTHER_NODES:
                self.fail(f"only discrete chance nodes and their tables can be read, not {kind!r}")
            else:
                self._node(kind)
            kind = self.take("a block", end=True)
        for names, numbers, place in families:
            for name in names:
                if name not in self.names:
                    self.build.fail(f"the node {name!r} is not declared", place)
            child, *parents = (self.names[name] for name in names)
            self.build.add_table(child, parents, numbers, place)
            self.silent = self.silent or self._told(child, parents, numbers)
        return self.build.network()

    def _told(self, child: str, parents: list[str], numbers: list[float]) -> bool:
        """Whether rows were far from summing to one, which is told once."""
        known = self.build.variables
        table = np.array(numbers).reshape(-1, known[child].n_states)
        what = self.build.source or "NET text"
        return tell_divided(what, known[child], [known[parent] for parent in parents], table, "Hugin")

    def _node(self, word: str) -> None:
        while word in ("discrete", "chance"):
            word = self.take("node")
        if word in _OTHER_NODES:
            self.fail(f"only discrete chance nodes can be read, not {word!r}")
        if word != "node":
            self.fail(f"expected net, node or potential, found {word[:40]!r}")
        identifier = self.name()
        place = self.place()
        if identifier in self.names:
            self.fail(f"the node {identifier!r} is declared twice")
        found = self._attributes()
        if "states" not in found:
            self.build.fail(f"the node {identifier!r} has no states", place)
        name = "".join(found.get("bntk_name", [identifier]))
        self.build.add_variable(name, found["states"], place)
        self.build.add_position(name, found.get("position", ()))
        self.build.add_label(name, "".join(found.get("label", [])))
        self.names[identifier] = name

    def _potential(self) -> tuple[list[str], list[float], Place]:
        """The names of the family, the child first, the numbers, and where they stand."""
        self.expect("(")
        names: list[str] = [self.name()]
        place = self.place()
        while (word := self.take("')'")) != ")":
            if word == "|" and len(names) == 1:
                continue
            if word in "({}=;|":
                self.fail(f"expected 'potential (child | parent ...)', found {word!r}")
            names.append(plain(word))
        self.expect("{")
        numbers: list[float] | None = None
        while (word := self.take("'}'")) != "}":
            self.expect("=")
            if word == "model_data":
                self.fail(f"the table of {names[0]!r} is an expression; only numbers can be read")
            if word != "data":
                self._value()
                continue
            match = _DATA.match(self.text, self.next)
            if match is None or numbers is not None:
                self.fail(f"expected 'data = (numbers);' once for {names[0]!r}")
            place = self.place()
            listed = _COMMENT.sub(" ", match[0][:-1]).translate(_BRACKETS)
            numbers = self.build.numbers(listed, place)
            self.next = match.end()
        if numbers is None:
            self.build.fail(f"the potential of {names[0]!r} has no data", place)
        return names, numbers, place

    def _attributes(self) -> dict[str, list[str]]:
        """The attributes of a block, each with the words of its value."""
        self.expect("{")
        found: dict[str, list[str]] = {}
        while (key := self.take("'}'")) != "}":
            self.expect("=")
            found[key] = self._value()
        return found

    def _value(self) -> list[str]:
        words = []
        while (word := self.take("';'")) != ";":
            if word in "{}=|":
                self.fail(f"expected a value that ends with ';', found {word!r}")
            if word not in "()":
                words.append(plain(word))
        return words


# ---- writing ---------------------------------------------------------------------------------------------------


def dump(network: BayesianNetwork) -> str:
    """The network as NET text."""
    return "".join(_lines(network))


def _lines(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names)
    yield "net\n{\n}\n"
    for variable in network.variables:
        states = " ".join(quoted(text) for text in state_texts(variable, "NET"))
        yield f"node {ids[variable.name]}\n{{\n  states = ({states});\n"
        if (label := network.labels.get(variable.name, variable.name)) != ids[variable.name]:
            yield f"  label = {quoted(label)};\n"
        if ids[variable.name] != variable.name:
            yield f"  bntk_name = {quoted(variable.name)};\n"
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


class NET(Format):
    """Hugin NET."""

    suffixes = (".net",)
    parse, dump = staticmethod(parse), staticmethod(dump)
