"""DSL, the older text files of GeNIe and SMILE, which aGrUM writes as well.

A file is one block ``net NAME {...};`` of entries ``KEY = value;`` and of blocks ``node NAME {...};``; nodes may be in
submodels. Chance nodes with full tables (``CPT``) and deterministic ones (``TRUTHTABLE``) are read; other entries are
skipped. The child's states change fastest, then those of the last parent. As in XDSL, nodes and states are
called by identifiers, and parents come before their children; where ours are no identifiers or in another order, the
real names and positions are kept in user properties of the node. The text that GeNIe shows (``NAME``) is the label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bntk.cpt import CPT
from bntk.io.building import NetworkBuilder, Place, identifiers, printable, state_texts
from bntk.io.format import Format
from bntk.io.scanning import Scanner, plain, quoted
from bntk.network import BayesianNetwork

_BLANK = re.compile(r"(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s(){}=;,"]++|[(){}=;,]', re.DOTALL)
_LIST = re.compile(r"[^;{}\"=]*+;")
_SEPARATORS = str.maketrans("(),", "   ")

# Blocks are in blocks; real files go three or four deep.
_MAX_DEPTH = 50
# A deterministic node names one state per row, but its table has an entry per state: a short file must not need much.
_MAX_RESULTS = 2**16

# The size of a node in pictures, in GeNIe's points.
_WIDTH, _HEIGHT = 72, 48


@dataclass
class _Block:
    """What stands between braces: lists of words, blocks that have a key, and nodes and submodels with their names."""

    place: Place
    words: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    inner: dict[str, _Block] = field(default_factory=dict)
    named: list[tuple[str, str, _Block]] = field(default_factory=list)

    def word(self, *keys: str) -> str:
        """The words of an entry as one text, found through blocks; empty if there is none."""
        *outer, last = keys
        block: _Block | None = self
        for key in outer:
            block = block.inner.get(key) if block is not None else None
        return " ".join(block.words.get(last, [])) if block is not None else ""


def parse(text: str | bytes, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from DSL text; bytes are UTF-8, or else Latin-1, as GeNIe wrote it on Windows.

    Examples
    --------
    >>> bn = parse('''net tiny {
    ... node rain { TYPE = CPT; HEADER = { ID = rain; NAME = "Did it rain?"; }; PARENTS = ();
    ...   DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.75, 0.25); }; };
    ... node wet { TYPE = CPT; HEADER = { ID = wet; }; PARENTS = (rain);
    ...   DEFINITION = { NAMESTATES = (no, yes); PROBABILITIES = (0.9, 0.1, 0.2, 0.8); }; };
    ... };''')
    >>> bn.cpt("wet").probability("yes", {"rain": "yes"}), bn.labels
    (0.8, {'rain': 'Did it rain?'})
    """
    build = NetworkBuilder(source, "DSL", normalize)
    found = [*_nodes(_Scanner(_decoded(text), build).net())]
    nodes: dict[str, _Node] = {}
    for identifier, block in sorted(found, key=lambda node: _position(build, node[1])):
        if identifier in nodes:
            build.fail(f"the node {identifier!r} is declared twice", block.place)
        nodes[identifier] = _Node(build, identifier, block)
    names = {identifier: node.declare() for identifier, node in nodes.items()}
    for node in nodes.values():
        node.define(names)
    return build.network()


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError:
        return text.decode("latin-1")


class _Scanner(Scanner):
    blank, token, marks = _BLANK, _TOKEN, "(){}=;,"

    def net(self) -> _Block:
        """The one block of the file."""
        word = self.take("net")
        if word != "net":
            self.fail(f"expected 'net NAME {{', found {word[:40]!r}")
        self.name()
        found = self._block(0)
        while (word := self.take("the end", end=True)) == ";":
            pass
        if word:
            self.fail(f"expected the end of the file, found {word[:40]!r}")
        return found

    def _block(self, depth: int) -> _Block:
        self.expect("{")
        found = _Block(self.place())
        if depth > _MAX_DEPTH:
            self.fail(f"blocks are more than {_MAX_DEPTH} deep")
        while (key := self.take("'}'")) != "}":
            if key == ";":
                continue
            if key in self.marks or key[0] == '"':
                self.fail(f"expected 'KEY = value;', found {key[:40]!r}")
            place = self.place()
            following = self.take("'='")
            if following == "=":
                self._value(found, key, place, depth)
            elif key in ("node", "submodel"):
                if following in self.marks:
                    self.fail(f"expected the name of a {key}, found {following!r}")
                found.named.append((key, plain(following), self._block(depth + 1)))
            else:
                self.fail(f"expected '=' after {key[:40]!r}, found {following[:40]!r}")
        return found

    def _value(self, found: _Block, key: str, place: Place, depth: int) -> None:
        before, word = self.next, self.take("a value")
        self.next = before
        if word == "{":
            found.inner[key] = self._block(depth + 1)
            return
        found.places[key] = place
        if word == "(" and (match := _LIST.match(self.text, self.at)) is not None and "/" not in match[0]:
            found.words[key] = match[0][:-1].translate(_SEPARATORS).split()  # long tables
            self.next = match.end()
            return
        found.words[key] = []
        while (word := self.take("';'")) != ";":
            if word in "{}=":
                self.fail(f"expected a value that ends with ';', found {word!r}")
            if word not in "(),":
                found.words[key].append(plain(word))


def _nodes(block: _Block) -> Iterator[tuple[str, _Block]]:
    """The nodes of a block and of the submodels in it; what other entries say about nodes is no node."""
    for kind, name, inner in block.named:
        if kind == "node":
            yield inner.word("HEADER", "ID") or name, inner
        else:
            yield from _nodes(inner)


class _Node:
    def __init__(self, build: NetworkBuilder, identifier: str, block: _Block) -> None:
        self.build, self.identifier, self.block = build, identifier, block
        kind = block.word("TYPE") or "CPT"
        if kind not in ("CPT", "TRUTHTABLE") or "DEFINITION" not in block.inner:
            what = f"has the TYPE {kind[:40]}" if kind != "CPT" else "has no DEFINITION"
            build.fail(
                f"{identifier!r} {what}; only tables of probabilities (CPT) and of states (TRUTHTABLE) can be read",
                block.place,
            )
        self.kind, self.definition = kind, block.inner["DEFINITION"]
        self.states = self.definition.words.get("NAMESTATES", [])
        self.name = identifier

    def declare(self) -> str:
        """Add the variable; returns its name."""
        name = _json(self.build, self.block, "bntk_name", self.identifier)
        states = _json(self.build, self.block, "bntk_states", self.states)
        listed = isinstance(states, list) and len(states) == len(self.states)
        if not isinstance(name, str) or not listed or not all(isinstance(state, str) for state in states):
            self.build.fail(f"the names of the node {self.identifier!r} and its states must be text", self.block.place)
        self.build.add_variable(name, states, self.block.place)
        middle = [self.block.word("SCREEN", "POSITION", key) for key in ("CENTER_X", "CENTER_Y")]
        self.build.add_position(name, middle)
        label = self.block.word("HEADER", "NAME")
        if label != printable(name):
            self.build.add_label(name, label)
        self.name = name
        return name

    def define(self, names: dict[str, str]) -> None:
        """Add the table."""
        parents = self.block.words.get("PARENTS", [])
        for parent in parents:
            if parent not in names:
                self.build.fail(f"the parent {parent!r} is no node", self.block.places["PARENTS"])
        key = "PROBABILITIES" if self.kind == "CPT" else "RESULTINGSTATES"
        if key not in self.definition.words:
            self.build.fail(f"the node {self.identifier!r} has no {key}", self.definition.place)
        words, place = self.definition.words[key], self.definition.places[key]
        numbers = self.build.numbers(" ".join(words), place) if self.kind == "CPT" else self._results(words, place)
        self.build.add_table(self.name, [names[parent] for parent in parents], numbers, place)

    def _results(self, words: list[str], place: Place) -> list[float]:
        """For each parent configuration a one."""
        codes, r = {state: code for code, state in enumerate(self.states)}, len(self.states)
        if len(words) * r > max(_MAX_RESULTS, 64 * sum(map(len, words))):
            self.build.fail(f"the table of {self.name!r} would have {len(words) * r:,} entries; make it a CPT", place)
        numbers = [0.0] * (len(words) * r)
        for row, word in enumerate(words):
            if word not in codes:
                self.build.fail(f"{self.name!r} has no state {word!r}", place)
            numbers[row * r + codes[word]] = 1.0
        return numbers


def _position(build: NetworkBuilder, block: _Block) -> int:
    """The position of the node in the original order; 0, which keeps the order of the file, when there is none."""
    position = _json(build, block, "bntk_position", 0)
    if not isinstance(position, int):
        build.fail("bntk_position must be a whole number", block.place)
    return position


def _json(build: NetworkBuilder, block: _Block, key: str, default: object) -> Any:
    text = block.word("USER_PROPERTIES", key)
    if not text:
        return default
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        build.fail(f"the property {key} must be JSON", block.place)


# ---- writing ---------------------------------------------------------------------------------------------------


def dump(network: BayesianNetwork) -> str:
    """The network as DSL text; parents come before their children, as SMILE needs them."""
    return "".join(_lines(network))


def _lines(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names)
    yield "net network\n{\n"
    for name in network.dag.topological_order:
        yield from _node_lines(network, network.cpt(name), ids)
    yield "};\n"


def _node_lines(network: BayesianNetwork, cpt: CPT, ids: dict[str, str]) -> Iterator[str]:
    name, states = cpt.name, state_texts(cpt.child, "DSL")
    state_ids = identifiers(states)
    yield f" node {ids[name]}\n {{\n  TYPE = CPT;\n  HEADER =\n  {{\n   ID = {ids[name]};\n"
    yield f"   NAME = {quoted(printable(network.labels.get(name, name)))};\n  }};\n"
    if place := (network.positions or {}).get(name):
        x, y = map(round, place)
        yield f"  SCREEN =\n  {{\n   POSITION =\n   {{\n    CENTER_X = {x};\n    CENTER_Y = {y};\n"
        yield f"    WIDTH = {_WIDTH};\n    HEIGHT = {_HEIGHT};\n   }};\n  }};\n"
    if properties := _properties(network, name, states, ids[name], state_ids):
        entries = "".join(f"   {key} = {quoted(json.dumps(value))};\n" for key, value in properties.items())
        yield f"  USER_PROPERTIES =\n  {{\n{entries}  }};\n"
    yield f"  PARENTS = ({', '.join(ids[p.name] for p in cpt.parents)});\n  DEFINITION =\n  {{\n"
    yield f"   NAMESTATES = ({', '.join(state_ids[state] for state in states)});\n"
    rows = ",\n    ".join(", ".join(map(repr, row)) for row in cpt.matrix.tolist())
    yield f"   PROBABILITIES = ({rows});\n  }};\n }};\n"


def _properties(
    network: BayesianNetwork, name: str, states: list[str], identifier: str, state_ids: dict[str, str]
) -> dict[str, object]:
    """The real names, where they are no identifiers, and the position among the nodes, where it is another one."""
    found: dict[str, object] = {}
    if identifier != name:
        found["bntk_name"] = name
    if any(state_ids[state] != state for state in states):
        found["bntk_states"] = states
    if network.dag.topological_order != network.names:
        found["bntk_position"] = network.dag.index(name)
    return found


class DSL(Format):
    """The older text files of GeNIe and SMILE."""

    suffixes = (".dsl",)
    reads_bytes = True  # the file does not say how it is encoded
    parse, dump = staticmethod(parse), staticmethod(dump)
