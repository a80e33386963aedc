"""Files of the UAI inference competitions: models as lists of tables, evidence, and the answers given with them.

A model file has its kind (``MARKOV`` or ``BAYES``), the number of variables and of states of each, the scopes of the
tables, and their entries, the last variable of a scope changing fastest. All numbers are separated by white space. What
follows ``#`` on a line is a comment, as in files of aGrUM. A ``BAYES`` model whose tables each have their child last is
a network; it has no names, so that variables become ``x0``, ``x1``, ... and states 0, 1, ...
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bntk.errors import ParseError
from bntk.io.building import NetworkBuilder, number_texts
from bntk.io.files import read_text
from bntk.io.format import Format
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]

_COMMENT = re.compile(r"#[^\n]*")
_MAX_AXES = 32  # numpy's


@dataclass(frozen=True)
class UAIModel:
    """A product of tables over variables that have only numbers.

    Attributes
    ----------
    kind : str
        ``"MARKOV"``, or ``"BAYES"`` when table i is that of variable i given the others in its scope.
    cards : tuple of int
        The number of states of each variable.
    scopes : tuple of tuples of int
        The variables of each table, one axis each.
    tables : tuple of ndarray
    """

    kind: str
    cards: tuple[int, ...]
    scopes: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...]


def read_model(path: str | os.PathLike[str]) -> UAIModel:
    """Read a model file (``.uai``, also ``.uai.gz``)."""
    return parse_model(read_text(path), os.fspath(path))


def parse_model(text: str, source: str = "") -> UAIModel:
    """The model that a text describes.

    Examples
    --------
    >>> model = parse_model("MARKOV 2 2 3 1 2 0 1 6 1 2 3 4 5 6")
    >>> model.scopes, model.tables[0].shape
    (((0, 1),), (2, 3))
    """
    tokens = _Tokens(text, source)
    if tokens.is_alone("BAYES"):  # which has no variables, as aGrUM reads it
        return UAIModel("BAYES", (), (), ())
    kind = tokens.word("MARKOV or BAYES").upper()
    if kind not in ("MARKOV", "BAYES"):
        tokens.fail(f"a model begins with MARKOV or BAYES, not {kind[:20]!r}")
    cards = tuple(tokens.integers(tokens.count("the number of variables"), "a number of states"))
    if 0 in cards:
        tokens.fail(f"variable {cards.index(0)} has no states")
    scopes = [_scope(tokens, cards) for _ in range(tokens.count("the number of tables"))]
    tables = [_table(tokens, [cards[v] for v in scope]) for scope in scopes]
    tokens.finish()
    return UAIModel(kind, cards, tuple(scopes), tuple(tables))


def parse(text: str, source: str = "", normalize: bool = False) -> BayesianNetwork:
    """Read a network from a BAYES model.

    Examples
    --------
    >>> bn = parse("BAYES 2 2 2 2  1 0  2 0 1  2 0.25 0.75  4 0.5 0.5 0.1 0.9")
    >>> bn.cpt("x1").probability(1, {"x0": 1})
    0.9
    """
    model = parse_model(text, source)
    build = NetworkBuilder(source, "UAI", normalize)
    if model.kind != "BAYES":
        build.fail("a MARKOV model is not a Bayesian network; bntk.io.uai.read_model reads its tables", (1, 1))
    if sum(model.cards) > len(text):  # a variable without a table that names its states one by one
        build.fail("the variables have more states than the file has characters")
    for i, card in enumerate(model.cards):
        build.add_variable(f"x{i}", range(card), (0, 0))
    for scope, table in zip(model.scopes, model.tables, strict=True):
        if not scope:
            build.fail("a table without variables is no part of a network")
        *parents, child = (f"x{i}" for i in scope)
        build.add_table(child, parents, table.ravel(), (0, 0))
    return build.network()


def dump(network: BayesianNetwork) -> str:
    """The network as a BAYES model: variables and states in their order, their names are lost."""
    cards = [str(v.n_states) for v in network.variables]
    lines = ["BAYES", str(len(cards)), " ".join(cards), str(len(cards))]
    for node, parents in enumerate(network.dag.parent_indices):
        lines.append(" ".join(map(str, (len(parents) + 1, *parents, node))))
    for cpt in network.cpts:
        lines += ["", str(cpt.values.size), *(number_texts(row) for row in cpt.matrix.tolist())]
    return "\n".join(lines) + "\n"


def read_evidence(path: str | os.PathLike[str]) -> dict[int, int]:
    """Read an evidence file: the observed state of each observed variable."""
    return parse_evidence(read_text(path), os.fspath(path))


def parse_evidence(text: str, source: str = "") -> dict[int, int]:
    """The evidence that a text describes; nothing is observed in an empty one.

    The form with the number of evidence sets in front is read too, if there is one set.

    Examples
    --------
    >>> parse_evidence("2 4 0 17 1")
    {4: 0, 17: 1}
    """
    tokens = _Tokens(text, source)
    if not tokens.left:
        return {}
    n = tokens.count("the number of observed variables", each=0)
    if n == 1 and tokens.left % 2 == 1:
        n = tokens.count("the number of observed variables", each=0)
    numbers = tokens.integers(2 * n, "a variable and its state")
    tokens.finish()
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def read_partition(path: str | os.PathLike[str]) -> float:
    """Read a ``PR`` answer: the logarithm to base ten of the sum over all states."""
    tokens = _Tokens(read_text(path), os.fspath(path))
    _heading(tokens, "PR")
    value = float(tokens.numbers(1, "a logarithm")[0])
    tokens.finish()
    return value


def read_marginals(path: str | os.PathLike[str]) -> list[Floats]:
    """Read a ``MAR`` answer: the distribution of each variable."""
    tokens = _Tokens(read_text(path), os.fspath(path))
    _heading(tokens, "MAR")
    n = tokens.count("the number of variables")
    marginals = [tokens.numbers(tokens.count("the number of states"), "a probability") for _ in range(n)]
    tokens.finish()
    return marginals


def _heading(tokens: _Tokens, expected: str) -> None:
    found = tokens.word(expected)
    if found.upper() != expected:
        tokens.fail(f"expected {expected}, found {found[:20]!r}")


def _scope(tokens: _Tokens, cards: Sequence[int]) -> tuple[int, ...]:
    scope = tuple(tokens.integers(tokens.count("the number of variables of a table"), "a variable"))
    for variable in scope:
        if variable >= len(cards):
            tokens.fail(f"there is no variable {variable}; there are {len(cards)}, from 0")
    if len(scope) > _MAX_AXES:
        tokens.fail(f"a table over {len(scope)} variables; at most {_MAX_AXES} can be held")
    if len({*scope}) < len(scope):
        tokens.fail(f"the scope {scope} has a variable twice")
    return scope


def _table(tokens: _Tokens, shape: list[int]) -> Floats:
    entries, expected = tokens.count("the number of entries"), math.prod(shape)
    if entries != expected:
        tokens.fail(f"a table over {shape} states has {expected} entries, not {entries}")
    values = tokens.numbers(entries, "an entry of a table")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        tokens.fail("entries of a table must be finite and not negative")
    return values.reshape(shape)


class _Tokens:
    """The words of a text one after another, with errors that name the line."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = _COMMENT.sub("", text) if "#" in text else text, source
        self._words = self._text.split()
        self._next = 0

    @property
    def left(self) -> int:
        return len(self._words) - self._next

    def is_alone(self, word: str) -> bool:
        """Whether the text has this word only."""
        return [each.upper() for each in self._words[:2]] == [word]

    def fail(self, message: str) -> None:
        """Raise the error, at the line of the last word taken."""
        line, seen = 0, 0
        for line, text in enumerate(self._text.splitlines(), start=1):  # noqa: B007 (the line where it stopped)
            seen += len(text.split())
            if seen >= self._next:
                break
        raise ParseError(message, source=self._source, line=max(line, 1))

    def take(self, n: int, what: str) -> list[str]:
        if n > self.left:
            self._next = len(self._words)
            self.fail(f"the file ends where {what} should be")
        self._next += n
        return self._words[self._next - n : self._next]

    def word(self, what: str) -> str:
        return self.take(1, what)[0]

    def integers(self, n: int, what: str) -> list[int]:
        words = self.take(n, what)
        for i, word in enumerate(words):
            if not (word.isascii() and word.isdecimal() and len(word) < 19):
                self._next += i + 1 - n
                self.fail(f"{what} must be a whole number from 0, not {word[:20]!r}")
        return [int(word) for word in words]

    def count(self, what: str, each: int = 1) -> int:
        """How many things follow; refused at once when the rest of the file is too short for them."""
        n = self.integers(1, what)[0]
        if n * each > self.left:
            self.fail(f"{what} is {n}, but only {self.left} words follow")
        return n

    def numbers(self, n: int, what: str) -> Floats:
        words = self.take(n, what)
        try:
            return np.array(words, dtype=np.float64)
        except ValueError as error:
            self.fail(f"{what} is not a number: {error}")
            raise

    def finish(self) -> None:
        if self.left:
            self._next += 1
            self.fail(f"{self.left + 1} words too many, from {self._words[self._next - 1][:20]!r} on")


class UAI(Format):
    """The inference competitions of UAI: no names, variables and states are numbered."""

    suffixes = (".uai",)
    has_names = False
    parse, dump = staticmethod(parse), staticmethod(dump)
