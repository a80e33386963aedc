"""XMLBIF 0.3, as Weka, JavaBayes, pgmpy and pyAgrum (``.bifxml``) write it.

In a ``TABLE`` the child's states change fastest, then those of the last ``GIVEN``. Of the properties only ``position``
is read. Written is the plainest form, with numbers that have all their digits; a name with blanks around it is marked
by ``xml:space``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bntk.io.building import NetworkBuilder, number_texts, position_texts, state_texts
from bntk.io.format import Format
from bntk.io.xml_tree import Element, element, read_xml
from bntk.network import BayesianNetwork

_POSITION = re.compile(r"position\s*=\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)")


def parse(text: str | bytes, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from XMLBIF.

    Examples
    --------
    >>> bn = parse('''<BIF VERSION="0.3"><NETWORK><NAME>tiny</NAME>
    ... <VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>&lt;5</OUTCOME><OUTCOME>&gt;=5</OUTCOME></VARIABLE>
    ... <DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION></NETWORK></BIF>''')
    >>> bn.cpt("a").probability("<5")
    0.25
    """
    build = NetworkBuilder(source, "XMLBIF", normalize)
    root = read_xml(text, source, "BIF")
    network = root.first("NETWORK")
    if network is None:
        build.fail("expected a <NETWORK> in <BIF>", root.place)
    for variable in network.all("VARIABLE"):
        if variable.attributes.get("TYPE", "nature") != "nature":
            build.fail(f"only variables of TYPE nature are known, not {variable.attributes['TYPE']!r}", variable.place)
        states = [outcome.text for outcome in variable.all("OUTCOME", "VALUE")]
        name = _only(build, variable, "NAME").text
        build.add_variable(name, states, variable.place)
        for entry in variable.all("PROPERTY"):
            if match := _POSITION.fullmatch(entry.text):
                build.add_position(name, match.groups())
    for definition in network.all("DEFINITION", "PROBABILITY"):
        table = _only(build, definition, "TABLE")
        build.add_table(
            _only(build, definition, "FOR").text,
            [given.text for given in definition.all("GIVEN")],
            build.numbers(table.text, table.place),
            table.place,
        )
    return build.network()


def _only(build: NetworkBuilder, parent: Element, tag: str) -> Element:
    found = list(parent.all(tag))
    if len(found) != 1:
        build.fail(f"expected one <{tag}> in <{parent.tag}>, found {len(found)}", parent.place)
    return found[0]


def dump(network: BayesianNetwork) -> str:
    """The network as XMLBIF."""
    return "\n".join(_lines(network)) + "\n"


def _lines(network: BayesianNetwork) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<BIF VERSION="0.3">'
    yield "<NETWORK>"
    yield "<NAME>network</NAME>"
    for variable in network.variables:
        yield '<VARIABLE TYPE="nature">'
        yield "  " + element("NAME", variable.name, "XMLBIF")
        for text in state_texts(variable, "XMLBIF"):
            yield "  " + element("OUTCOME", text, "XMLBIF")
        if place := position_texts(network, variable.name):
            yield f"  <PROPERTY>position = ({', '.join(place)})</PROPERTY>"
        yield "</VARIABLE>"
    for cpt in network.cpts:
        yield "<DEFINITION>"
        yield "  " + element("FOR", cpt.name, "XMLBIF")
        for parent in cpt.parents:
            yield "  " + element("GIVEN", parent.name, "XMLBIF")
        yield "  <TABLE>"
        for row in cpt.matrix.tolist():
            yield number_texts(row)
        yield "  </TABLE>"
        yield "</DEFINITION>"
    yield "</NETWORK>"
    yield "</BIF>"


class XMLBIF(Format):
    """XMLBIF 0.3, which Weka, JavaBayes, pgmpy and pyAgrum use."""

    suffixes = (".xmlbif", ".bifxml", ".xml")
    reads_bytes = True  # the document says how it is encoded
    parse, dump = staticmethod(parse), staticmethod(dump)
