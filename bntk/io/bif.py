"""The Bayesian Interchange Format (BIF), as JavaBayes, bnlearn, pgmpy and the Bayesian Network Repository use it.

Read are the forms found in the wild: state names with odd characters (``<5``, ``Asy/Patch``), names in double
quotes, ``//`` and ``/* */`` comments, ``default`` rows, ``table`` lists for families with parents (the child
changing slowest, as JavaBayes writes them), parents separated by commas or blanks. Properties are skipped.
Written is the plainest form: one line per parent configuration, numbers with all their digits, quotes only where
a name needs them, so that reading the file gives the same network to the last bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import product
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from bntk.cpt import CPT, ROUNDING, to_be_normalised, warn_normalised
from bntk.data.variable import Variable, state_text
from bntk.errors import BntkError, DataError, NetworkError, ParseError
from bntk.io.building import divided
from bntk.io.format import Format
from bntk.network import BayesianNetwork

# A name without quotes may hold anything but blanks and what the grammar itself uses.
_PLAIN = re.compile(r"[^\s,;|(){}\[\]\"]+\Z")
# An unclosed comment runs to the end, so that the scan stays linear.
_QUOTED_OR_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_SPACE = re.compile(r"\s*")
_BLOCK = re.compile(r"(network|variable|probability)\b([^{]*)\{")
_TYPE = re.compile(r"\s*type\s+discrete\s*\[\s*(\d{1,9})\s*\]\s*\{([^{}]*)\}\s*;?")
_PROPERTY = re.compile(r"\s*property\b[^;]*;")
_ROW = re.compile(r"\s*(?:\(([^()]*)\)|(table|default)\b)([^;(){}]*);")

# A family whose rows are not all written out may not be larger than this: a short file must not need much memory.
_MAX_DEFAULT_ENTRIES = 2**22
_MAX_AXES = 32  # numpy's


def parse(text: str, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from BIF text.

    Examples
    --------
    >>> bn = parse('''network tiny {}
    ... variable a { type discrete [ 2 ] { no, yes }; }
    ... variable b { type discrete [ 2 ] { <5, >=5 }; }
    ... probability ( a ) { table 0.25, 0.75; }
    ... probability ( b | a ) { (no) 0.5, 0.5; (yes) 0.1, 0.9; }''')
    >>> bn.cpt("b").probability(">=5", {"a": "yes"})
    0.9
    """
    return _Reader(text, source, normalize).network()


def dump(network: BayesianNetwork) -> str:
    """The network as BIF text."""
    return "".join(_lines(network))


# ---- reading ---------------------------------------------------------------------------------------------------


class _Reader:
    """Scans blocks by regular expressions. ``text`` has comments blanked out and quoted names filled with a
    character that the grammar does not use, at the same positions as in ``original``, from which names are cut.
    """

    def __init__(self, text: str, source: str, normalize: bool = False) -> None:
        self.original, self.source, self.normalize = text, source, normalize
        self.text = _QUOTED_OR_COMMENT.sub(_mask, text) if '"' in text or "/" in text else text
        self.has_quotes, self.has_properties = '"' in self.text, "property" in self.text
        self.variables: dict[str, Variable] = {}
        self.cpts: dict[str, CPT] = {}
        self.bodies: dict[str, int] = {}  # where the table of each is
        self.off = 0.0

    def network(self) -> BayesianNetwork:
        blocks = list(self._blocks())
        for kind, head, head_at, body_at, end in blocks:
            if kind == "variable":
                self._variable(head, head_at, body_at, end)
        for kind, _, head_at, body_at, end in blocks:
            if kind == "probability":
                self._probability(head_at, body_at, end)
        self._normalise()
        if not blocks:
            self._fail("expected a block: network, variable or probability NAME {...}; the file is empty", 0)
        absent = [name for name in self.variables if name not in self.cpts]
        if absent:
            self._fail(f"no probability block for {absent[:5]}", len(self.text))
        try:
            network = BayesianNetwork._of_families([self.cpts[name] for name in self.variables])
        except BntkError as error:  # a cycle, say
            raise ParseError(str(error), source=self.source) from None
        if self.off > ROUNDING:
            warn_normalised(f"{self.source or 'BIF text'}: rows", self.off)
        return network

    def _blocks(self) -> Iterator[tuple[str, str, int, int, int]]:
        """(kind, head, where the head begins, where the body begins, where it ends) of each block."""
        position = _skip(self.text, 0)
        while position < len(self.text):
            match = _BLOCK.match(self.text, position)
            if match is None:
                self._fail("expected a block: network, variable or probability NAME {...}", position)
            end = self._closing(match.end())
            yield match[1], match[2], match.start(2), match.end(), end
            position = _skip(self.text, end + 1)

    def _closing(self, start: int) -> int:
        """Where the brace that was opened before ``start`` is closed."""
        position, depth = start, 1
        while True:
            closing = self.text.find("}", position)
            if closing < 0:
                self._fail("this block is not closed by '}'", start - 1)
            depth += self.text.count("{", position, closing) - 1
            if depth == 0:
                return closing
            position = closing + 1

    def _variable(self, head: str, head_at: int, start: int, end: int) -> None:
        names = self._names(head_at, head_at + len(head))
        if len(names) != 1:
            self._fail(f"expected one variable name, got {names}", head_at)
        name = names[0]
        if name in self.variables:
            self._fail(f"variable {name!r} is declared twice", head_at)
        position = self._properties(start)
        match = _TYPE.match(self.text, position, end)
        if match is None:
            self._fail(f"variable {name!r}: expected 'type discrete [ n ] {{ state, ... }};'", position)
        states = self._names(match.start(2), match.end(2))
        if len(states) != int(match[1]):
            self._fail(
                f"variable {name!r}: [ {match[1]} ] states are announced, {len(states)} are listed", match.start(2)
            )
        self._expect_end(self._properties(match.end()), end)
        try:
            self.variables[name] = Variable(name, states)
        except DataError as error:
            self._fail(str(error), match.start(2))

    def _probability(self, head_at: int, start: int, end: int) -> None:
        child, parents = self._family(head_at, start - 1)
        if child.name in self.cpts:
            self._fail(f"a second probability block for {child.name!r}", head_at)
        table = self._written_out(child, parents, start, end)
        if table is None:
            table = self._table(child, parents, start, end)
        self.cpts[child.name] = CPT._trusted(child, table, tuple(parents))
        self.bodies[child.name] = start

    def _normalise(self) -> None:
        """Let all rows sum to one; most often they do, which takes less time to see for all tables together."""
        cpts = list(self.cpts.values())
        for number in to_be_normalised([cpt.values for cpt in cpts]):
            cpt = cpts[number]
            try:
                table, off = divided(cpt.child, cpt.parents, cpt.values, self.normalize)
            except NetworkError as error:
                self._fail(str(error), self.bodies[cpt.name])
            self.cpts[cpt.name] = CPT._trusted(cpt.child, table, cpt.parents)
            self.off = max(self.off, off)

    def _family(self, start: int, end: int) -> tuple[Variable, list[Variable]]:
        """The variables of ``( child | parent, parent )``; without a bar the first one is the child."""
        opened, closed = self.text.find("(", start, end), self.text.rfind(")", start, end)
        if opened < 0 or closed < 0 or self.text[start:opened].strip() or self.text[closed + 1 : end].strip():
            self._fail("expected 'probability ( child | parent, ... ) {'", start)
        bar = self.text.find("|", opened, closed)
        if bar < 0:
            names = self._names(opened + 1, closed)
        else:
            names = self._names(opened + 1, bar)
            if len(names) != 1:
                self._fail(f"expected one child before the bar, got {names}", opened)
            names += self._names(bar + 1, closed)
        unknown = [name for name in names if name not in self.variables]
        if unknown:
            self._fail(f"variable {unknown[0]!r} is not declared", opened)
        if not names or len(set(names)) < len(names):
            self._fail(f"expected a child and its parents, each once, got {names[:8]}", opened)
        child, *parents = (self.variables[name] for name in names)
        return child, parents

    def _written_out(
        self, child: Variable, parents: list[Variable], start: int, end: int
    ) -> NDArray[np.float64] | None:
        """The table of a block in the form that nearly all files have: one row ``(state, state) p, p;`` for each
        configuration, or ``table p, p;`` without parents, and nothing else. None for other forms and for what is
        wrong, which :meth:`_table` reads.
        """
        text, shape = self.text[start:end], [parent.n_states for parent in parents]
        *rows, rest = text.split(";")
        n_rows = len(rows)
        if self.has_quotes or n_rows != math.prod(shape) or text.count("(") != n_rows * bool(parents) or rest.strip():
            return None
        parted = [row.strip().partition(")" if parents else " ") for row in rows]
        numbers = {configuration: words.split(",") for configuration, _, words in parted}
        if {*map(len, numbers.values())} != {child.n_states}:
            return None
        try:
            values = [float(word) for configuration in _configurations(parents) for word in numbers[configuration]]
            return np.array(values).reshape([*shape, child.n_states])
        except (KeyError, ValueError):
            return None

    def _table(self, child: Variable, parents: list[Variable], start: int, end: int) -> NDArray[np.float64]:
        shape = [p.n_states for p in parents]
        q, r = math.prod(shape), child.n_states
        rows: dict[int, list[float]] = {}
        default: list[float] | None = None
        position = self._properties(start)
        while _skip(self.text, position) < end:
            match = _ROW.match(self.text, position, end)
            if match is None:
                self._fail(
                    f"block of {child.name!r}: expected 'table p, ...;', 'default p, ...;' or '(state, ...) p, ...;'",
                    position,
                )
            numbers = self._numbers(match.start(3), match.end(3))
            if match[2] == "table":
                if rows or len(numbers) != q * r:
                    self._fail(f"the table of {child.name!r} needs {q * r} numbers once, got {len(numbers)}", position)
                grid = np.array(numbers).reshape(r, q).T
                rows = dict(enumerate(grid.tolist()))
            elif len(numbers) != r:
                self._fail(f"{child.name!r} has {r} states, but the row has {len(numbers)} numbers", match.start(3))
            elif match[2] == "default":
                default = numbers
            else:
                j = self._configuration(parents, match.start(1), match.end(1))
                if j in rows:
                    self._fail(f"the row ({match[1].strip()}) of {child.name!r} is given twice", match.start(1))
                rows[j] = numbers
            position = self._properties(match.end())
        return self._filled(child, parents, rows, default, start)

    def _filled(
        self,
        child: Variable,
        parents: list[Variable],
        rows: dict[int, list[float]],
        default: list[float] | None,
        start: int,
    ) -> NDArray[np.float64]:
        shape = [p.n_states for p in parents]
        q, r = math.prod(shape), child.n_states
        if len(rows) != q:
            if default is None:
                self._fail(f"{child.name!r} has {q} parent configurations, but {len(rows)} rows are given", start)
            if q * r > _MAX_DEFAULT_ENTRIES:
                self._fail(f"the table of {child.name!r} has {q * r:,} entries, nearly all by default", start)
        if len(parents) >= _MAX_AXES:
            self._fail(f"{child.name!r} has {len(parents)} parents; at most {_MAX_AXES - 1} can be held", start)
        table = np.empty((q, r)) if default is None else np.tile(np.array(default), (q, 1))
        if rows:
            table[list(rows)] = list(rows.values())
        return table.reshape(*shape, r)

    def _configuration(self, parents: list[Variable], start: int, end: int) -> int:
        states = self._names(start, end)
        if len(states) != len(parents):
            self._fail(f"{len(states)} states for the {len(parents)} parents {[p.name for p in parents]}", start)
        j = 0
        for parent, state in zip(parents, states, strict=True):
            code = parent._codes.get(state)
            if code is None:
                self._fail(f"{parent.name!r} has no state {state!r}", start)
            j = j * parent.n_states + code
        return j

    def _numbers(self, start: int, end: int) -> list[float]:
        text = self.text[start:end]
        try:
            parts = text.split(",") if "," in text else text.split()
            if "," in text and any(len(part.split()) > 1 for part in parts):  # some commas were left out
                parts = [word for part in parts for word in (part.split() or [part])]
            return [float(x) for x in parts]
        except ValueError as error:
            self._fail(f"not a list of numbers: {error}", _skip(self.text, start))

    def _names(self, start: int, end: int) -> list[str]:
        """Names in a list separated by commas, or by blanks when there is no comma."""
        text = self.text[start:end]
        plain = [piece.strip() for piece in text.split(",")] if "," in text else text.split()
        if '"' not in text and all(plain):
            return plain
        if "," not in text:
            spans = [m.span() for m in re.finditer(r"\S+", text)]
            return [self._name(start + a, start + b) for a, b in spans]
        names, position = [], start
        for piece in text.split(","):
            names.append(self._name(position, position + len(piece)))
            position += len(piece) + 1
        return names

    def _name(self, start: int, end: int) -> str:
        piece = self.text[start:end]
        name = piece.strip()
        if name[:1] == '"':
            begin = start + piece.index('"')
            quoted = self.original[begin : begin + len(name)]
            name = quoted[1:-1] if quoted[-1] == '"' else quoted
        if not name or '"' in name:
            self._fail("expected a name here", start)
        return name

    def _properties(self, position: int) -> int:
        while self.has_properties and (match := _PROPERTY.match(self.text, position)):
            position = match.end()
        return position

    def _expect_end(self, position: int, end: int) -> None:
        position = _skip(self.text, position)
        if position < end:
            self._fail("unexpected text in this block", position)

    def _fail(self, message: str, position: int) -> NoReturn:
        position = min(_skip(self.text, position), len(self.text))
        line = self.text.count("\n", 0, position) + 1
        column = position - (self.text.rfind("\n", 0, position) + 1) + 1
        raise ParseError(message, source=self.source, line=line, column=column) from None


def _configurations(parents: list[Variable]) -> list[str]:
    """How the row of each parent configuration begins, in their order."""
    states = cast("list[tuple[str, ...]]", [parent.states for parent in parents])
    if not parents:
        return ["table"]
    if len(parents) == 1:  # without a comma, blanks separate names
        return [f"({state}" for state in states[0] if len(state.split()) == 1]
    return ["(" + ", ".join(configuration) for configuration in product(*states)]


def _mask(match: re.Match[str]) -> str:
    """Blanks for a comment, filling for a quoted name; line breaks stay where they are."""
    found = match[0]
    if found[0] == '"':
        return '"' + "\ue000" * (len(found) - 2) + '"'
    return re.sub(r"[^\n]", " ", found)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


# ---- writing ---------------------------------------------------------------------------------------------------


def _lines(network: BayesianNetwork) -> Iterator[str]:
    names = {v.name: _written(v.name, "variable name") for v in network.variables}
    states = {v.name: _written_states(v) for v in network.variables}
    yield "network unknown {\n}\n"
    for v in network.variables:
        yield f"variable {names[v.name]} {{\n  type discrete [ {v.n_states} ] {{ {', '.join(states[v.name])} }};\n}}\n"
    for cpt in network.cpts:
        rows = cpt.matrix.tolist()
        if not cpt.parents:
            yield f"probability ( {names[cpt.name]} ) {{\n  table {_number_list(rows[0])};\n}}\n"
            continue
        given = ", ".join(names[p.name] for p in cpt.parents)
        yield f"probability ( {names[cpt.name]} | {given} ) {{\n"
        configurations = product(*(states[p.name] for p in cpt.parents))
        for configuration, row in zip(configurations, rows, strict=True):
            yield f"  ({', '.join(configuration)}) {_number_list(row)};\n"
        yield "}\n"


def _number_list(row: list[float]) -> str:
    return ", ".join(map(repr, row))


def _written_states(variable: Variable) -> list[str]:
    texts = [state_text(state) for state in variable.states]
    if len(set(texts)) < len(texts):
        raise DataError(f"variable {variable.name!r} has two states that are written alike; BIF cannot hold them")
    return [_written(text, f"state of {variable.name!r}") for text in texts]


def _written(name: str, what: str) -> str:
    """The name as it is, or in quotes where the grammar needs them."""
    if _PLAIN.match(name) and "//" not in name and "/*" not in name:
        return name
    if '"' in name or "\n" in name or not name:
        raise DataError(f"BIF cannot hold the {what} {name!r}; rename it")
    return f'"{name}"'


class BIF(Format):
    """Bayesian Interchange Format, which bnlearn, pgmpy and the Bayesian Network Repository use."""

    suffixes = (".bif",)
    parse, dump = staticmethod(parse), staticmethod(dump)
