"""XDSL, the files of GeNIe and SMILE.

Chance nodes with full tables and deterministic nodes are read. The child's states change fastest, then those of the
last parent; in files of pyAgrum, which have a mark, those of the first one. Nodes and states of XDSL are
called by identifiers, and parents come before their children; where ours are no identifiers or in another order, the
real names and positions are kept in user properties of the node (``bntk_name``, ``bntk_states``, ``bntk_position``, as
JSON), which GeNIe shows and keeps. Where nodes are drawn is kept in whole points. What
GeNIe shows as the name of a node is a text beside its identifier: the identifier is the name here, the text its label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.io.building import NetworkBuilder, identifiers, number_texts, printable, state_texts
from bntk.io.format import Format
from bntk.io.xml_tree import Element, escaped, read_xml
from bntk.network import BayesianNetwork

# A deterministic node names one state per row, but its table has an entry per state: a short file must not need much.
_MAX_RESULTS = 2**16

_AGRUM = re.compile(r"aGrUM ([0-9]{1,9})")
_LAST_AGRUM = 3  # of those that were looked at: 1.9, 1.17, 2.3 and 3.3 write the same

# Half the size of a node in pictures, in GeNIe's points.
_WIDTH, _HEIGHT = 36, 24

_OTHER_NODES = {
    "noisymax": "a noisy-MAX node",
    "noisyadder": "a noisy-adder node",
    "equation": "a node with an equation",
    "decision": "a decision",
    "utility": "a utility",
    "mau": "a utility",
}


def parse(text: str | bytes, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from XDSL.

    Examples
    --------
    >>> bn = parse('''<smile version="1.0" id="tiny"><nodes>
    ... <cpt id="rain"><state id="no"/><state id="yes"/><probabilities>0.75 0.25</probabilities></cpt>
    ... <deterministic id="wet"><state id="no"/><state id="yes"/><parents>rain</parents>
    ... <resultingstates>no yes</resultingstates></deterministic></nodes></smile>''')
    >>> bn.cpt("wet").probability("yes", {"rain": "yes"})
    1.0
    """
    build = NetworkBuilder(source, "XDSL", normalize)
    root = read_xml(text, source, "smile")
    if (dynamic := root.first("dynamic")) is not None:
        build.fail("networks that unfold in time are not known", dynamic.place)
    nodes = root.first("nodes")
    if nodes is None:
        build.fail("expected <nodes> in <smile>", root.place)
    names: dict[str, str] = {}  # by identifier
    for node in sorted(nodes.children, key=lambda node: _position(build, node)):
        identifier = node.attributes.get("id", "")
        if node.tag not in ("cpt", "deterministic"):
            what = _OTHER_NODES.get(node.tag, f"a node of type <{node.tag[:40]}>")
            build.fail(f"{identifier!r} is {what}; only tables of probabilities can be read", node.place)
        if identifier in names:
            build.fail(f"the node {identifier!r} is declared twice", node.place)
        names[identifier] = _declare(build, node, identifier)
    agrum = _agrum_version(root)
    for node in nodes.children:
        name = names[node.attributes.get("id", "")]
        numbers = _probabilities(build, node) if node.tag == "cpt" else _results(build, node, name)
        parents = _parents(build, node, names)
        if agrum and len(parents) > 1:
            if agrum > _LAST_AGRUM:
                build.fail(f"in which order aGrUM {agrum} writes rows is not known; save it as BIF there", node.place)
            parents.reverse()
        build.add_table(name, parents, numbers, node.place)
    for node in _drawn(root):
        name = names.get(node.attributes.get("id", ""), "")
        if (place := node.first("position")) is not None and name:
            build.add_position(name, _middle(place.text.split()))
        if (label := node.first("name")) is not None and name and label.text != printable(name).strip():
            build.add_label(name, label.text)
    return build.network()


def _agrum_version(root: Element) -> int:
    """The version of aGrUM (pyAgrum) that wrote the file, or 0; it lets the states of the first parent change first."""
    for extensions in root.all("extensions"):
        for genie in extensions.all("genie"):
            if match := _AGRUM.match(genie.attributes.get("app", "")):
                return int(match[1])
    return 0


def _drawn(root: Element) -> Iterator[Element]:
    """The nodes as GeNIe draws them; they may be in submodels."""
    for extensions in root.all("extensions"):
        waiting = list(extensions.all("genie"))
        while waiting:
            inner = waiting.pop()
            yield from inner.all("node")
            waiting += inner.all("submodel")


def _middle(box: list[str]) -> list[str]:
    """The middle of a box: left, top, right and bottom."""
    try:
        left, top, right, bottom = map(float, box)
    except ValueError:
        return []
    return [repr((left + right) / 2), repr((top + bottom) / 2)]


def _position(build: NetworkBuilder, node: Element) -> int:
    """The position of the node in the original order; 0, which keeps the order of the file, when there is none."""
    for entry in node.all("property"):
        if entry.attributes.get("id") == "bntk_position":
            position = _json(build, entry)
            if not isinstance(position, int):
                build.fail("bntk_position must be a whole number", entry.place)
            return position
    return 0


def _parents(build: NetworkBuilder, node: Element, names: dict[str, str]) -> list[str]:
    listed = node.first("parents")
    if listed is None:
        return []
    identifiers = listed.text.split()
    for identifier in identifiers:
        if identifier not in names:
            build.fail(f"the parent {identifier!r} is no node", listed.place)
    return [names[identifier] for identifier in identifiers]


def _declare(build: NetworkBuilder, node: Element, identifier: str) -> str:
    """Add the variable of a node; returns its name."""
    states = [state.attributes.get("id", "") for state in node.all("state")]
    name: object = identifier
    for entry in node.all("property"):
        if entry.attributes.get("id") == "bntk_name":
            name = _json(build, entry)
        elif entry.attributes.get("id") == "bntk_states":
            labels = _json(build, entry)
            if not isinstance(labels, list) or len(labels) != len(states):
                build.fail(f"bntk_states of {identifier!r} must be a list with {len(states)} names", entry.place)
            states = labels
    if not isinstance(name, str) or not all(isinstance(state, str) for state in states):
        build.fail(f"the names of the node {identifier!r} and its states must be text", node.place)
    build.add_variable(name, states, node.place)
    return name


def _json(build: NetworkBuilder, entry: Element) -> object:
    try:
        return json.loads(entry.text)
    except (ValueError, RecursionError):
        build.fail("this property must be JSON", entry.place)


def _probabilities(build: NetworkBuilder, node: Element) -> list[float]:
    table = node.first("probabilities")
    if table is None:
        build.fail(f"{node.attributes.get('id')!r} has no <probabilities>", node.place)
    return build.numbers(table.text, table.place)


def _results(build: NetworkBuilder, node: Element, name: str) -> list[float]:
    """The table of a deterministic node: for each parent configuration a one."""
    results = node.first("resultingstates")
    if results is None:
        build.fail(f"{name!r} has no <resultingstates>", node.place)
    positions = {state.attributes.get("id", ""): code for code, state in enumerate(node.all("state"))}
    words = results.text.split()
    r = len(positions)
    if len(words) * r > max(_MAX_RESULTS, 64 * len(results.text)):
        build.fail(f"the table of {name!r} would have {len(words) * r:,} entries; make it a <cpt>", results.place)
    numbers = [0.0] * (len(words) * r)
    for row, word in enumerate(words):
        if word not in positions:
            build.fail(f"{name!r} has no state {word!r}", results.place)
        numbers[row * r + positions[word]] = 1.0
    return numbers


def dump(network: BayesianNetwork) -> str:
    """The network as XDSL; parents come before their children, as SMILE needs them."""
    return "\n".join(_lines(network)) + "\n"


def _lines(network: BayesianNetwork) -> Iterator[str]:
    ids = identifiers(network.names)
    order, places = network.dag.topological_order, network.positions or {}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<smile version="1.0" id="network" numsamples="10000" discsamples="10000">'
    yield "  <nodes>"
    for name in order:
        yield from _node(network.cpt(name), ids)
        if order != network.names:
            yield f'      <property id="bntk_position">{network.dag.index(name)}</property>'
        yield "    </cpt>"
    yield "  </nodes>"
    yield "  <extensions>"
    yield '    <genie version="1.0" app="bntk" name="network">'
    for name, identifier in ids.items():
        yield f'      <node id="{identifier}">'
        yield f"        <name>{escaped(printable(network.labels.get(name, name)), 'XDSL')}</name>"
        if name in places:
            x, y = map(round, places[name])
            yield f"        <position>{x - _WIDTH} {y - _HEIGHT} {x + _WIDTH} {y + _HEIGHT}</position>"
        yield "      </node>"
    yield "    </genie>"
    yield "  </extensions>"
    yield "</smile>"


def _node(cpt: CPT, ids: dict[str, str]) -> Iterator[str]:
    """A node, still open."""
    states = state_texts(cpt.child, "XDSL")
    state_ids = identifiers(states)
    yield f'    <cpt id="{ids[cpt.name]}">'
    for state in states:
        yield f'      <state id="{state_ids[state]}" />'
    if cpt.parents:
        yield f"      <parents>{' '.join(ids[p.name] for p in cpt.parents)}</parents>"
    yield f"      <probabilities>{number_texts(cpt.values.ravel().tolist())}</probabilities>"
    yield from _properties(cpt.child, ids[cpt.name], states, state_ids)


def _properties(variable: Variable, identifier: str, states: list[str], state_ids: dict[str, str]) -> Iterator[str]:
    """The real names, where they are no identifiers; JSON escapes all that XML could not hold."""
    if identifier != variable.name:
        yield f'      <property id="bntk_name">{escaped(json.dumps(variable.name), "XDSL")}</property>'
    if any(state_ids[state] != state for state in states):
        yield f'      <property id="bntk_states">{escaped(json.dumps(states), "XDSL")}</property>'


class XDSL(Format):
    """GeNIe and SMILE."""

    suffixes = (".xdsl",)
    reads_bytes = True  # the document says how it is encoded
    parse, dump = staticmethod(parse), staticmethod(dump)
