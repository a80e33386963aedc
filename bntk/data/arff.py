"""ARFF files: the header, dense and sparse rows.

Rows without quotes and comments are ordinary delimited text; other rows are first written as such, line by line, so
that one tokenizer serves both and the number of a line stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bntk.data.coding import CodedColumn, check_column_names
from bntk.data.text_files import Unpacking, line_at, next_line, read_bytes
from bntk.data.variable import State, format_states, natural_order
from bntk.errors import ParseError

_NUMERIC = {"numeric", "real", "integer"}
_TEXT = {"string", "date"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_SPECIAL = (b"'", b'"', b"\\", b"%", b"{", b"\n ", b"\n\t")  # what plain delimited text has not
_DECLARATION = re.compile(r"@(\w+)\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"""\s*('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")\s*""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INDEX = re.compile(r"\s*([0-9]+)\s+")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Attribute:
    """A declared column: its name, its kind ("nominal", "numeric" or "text"), and its states when nominal."""

    name: str
    kind: str
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    """The header of a file, where in the text the rows start, and on which line."""

    relation: str
    attributes: tuple[Attribute, ...]
    start: int
    line: int


@dataclass(frozen=True)
class ArffData:
    """A whole file. Nominal columns declare their states; numeric ones have numbers as labels."""

    relation: str
    attributes: tuple[Attribute, ...]
    columns: list[CodedColumn]

    def numbers(self, position: int) -> np.ndarray:
        """A numeric column as floats, NaN where missing."""
        column = self.columns[position]
        values = [np.nan if label is None else float(label) for label in column.labels]  # type: ignore[arg-type]
        return np.array([*values, np.nan])[column.codes]


def read_arff(path: Path, most: int | None = None, max_unpacked: float | None = None) -> ArffData:
    """Read a file; at most ``most`` distinct values per column, by default as many as a variable may have states."""
    from bntk.data.tokens import MOST_LABELS

    data, source = read_bytes(path, max_unpacked), str(path)
    header = read_header(data, source)
    if not header.attributes:
        raise ParseError("there is no @attribute before @data", source=source, line=header.line)
    check_column_names([attribute.name for attribute in header.attributes])
    rows = data[header.start :].tobytes()
    if _is_sparse(rows):
        columns = _read_sparse(rows, header, source, Unpacking(path, max_unpacked))
    else:
        columns = _read_dense(rows, header, source, MOST_LABELS if most is None else most)
    return ArffData(header.relation, header.attributes, columns)


def _is_sparse(rows: bytes) -> bool:
    """Whether the first row is in braces."""
    first = re.search(rb"^[ \t]*[^\s%]", rows, re.MULTILINE)
    return first is not None and first[0].endswith(b"{")


# -------------------------------------------------------------------- the header


def read_header(data: np.ndarray, source: str) -> Header:
    """Relation and attributes, up to and including the line of ``@data``."""
    relation = ""
    attributes: list[Attribute] = []
    end = 3 if data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    number = 0
    while end < len(data):
        line, end = next_line(data, end)
        number += 1
        text = _decoded(line, source, number).strip()
        if not text or text.startswith("%"):
            continue
        match = _DECLARATION.match(text)
        word = match[1].lower() if match else ""
        if match is None or word not in ("relation", "attribute", "data"):
            message = f"expected @relation, @attribute or @data, not {text[:40]!r}"
            raise ParseError(message, source=source, line=number)
        if word == "data":
            return Header(relation, tuple(attributes), end, number + 1)
        name, rest = _name_and_rest(match[2], source, number)
        if word == "relation":
            relation = name
        else:
            attributes.append(_attribute(name, rest, source, number))
    raise ParseError("there is no @data line", source=source)


def _name_and_rest(text: str, source: str, line: int) -> tuple[str, str]:
    """A name, quoted or not, and the text after it."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return _unquoted(quoted), text[quoted.end() :]
    if text[:1] in ("'", '"'):
        raise ParseError("a quoted name starts here and never ends", source=source, line=line)
    name, *rest = text.split(None, 1)[:2] or [""]
    if "{" in name:  # a name may be followed by its states without a space
        name, _, states = text.partition("{")
        return name.strip(), "{" + states
    return name, rest[0] if rest else ""


def _attribute(name: str, declared: str, source: str, line: int) -> Attribute:
    if not name:
        raise ParseError("an attribute without a name", source=source, line=line)
    kind = declared.strip()
    if kind.startswith("{"):
        inside, brace, _ = kind[1:].rpartition("}")
        if not brace:
            raise ParseError(f"attribute {name!r}: the states have no closing brace", source=source, line=line)
        states = [text for text, _ in split_fields(inside, source, line)]
        if len(set(states)) < len(states) or not inside.strip():
            raise ParseError(f"attribute {name!r}: states that repeat, or none", source=source, line=line)
        return Attribute(name, "nominal", tuple(states))
    word = (kind.split() or [""])[0].lower()
    if word in _NUMERIC or word in _TEXT:
        return Attribute(name, "numeric" if word in _NUMERIC else "text")
    message = (
        f"attribute {name!r} is of the type {kind[:40]!r}; known are {{states}}, numeric, real, integer, string, date"
    )
    raise ParseError(message, source=source, line=line)


# -------------------------------------------------------------------- fields


def split_fields(text: str, source: str, line: int) -> list[tuple[str, bool]]:
    """The fields of a line, trimmed, each with whether it was quoted.

    >>> split_fields("a, 'b c' ,?", "", 1)
    [('a', False), ('b c', True), ('?', False)]
    """
    fields, at = [], 0
    while True:
        field, quoted, at = _field(text, at, source, line)
        fields.append((field, quoted))
        if at > len(text):
            return fields


def _field(text: str, at: int, source: str, line: int) -> tuple[str, bool, int]:
    """The field that starts at a place, whether it was quoted, and the place after its comma."""
    quoted = _QUOTED.match(text, at)
    if quoted is None:
        end = text.find(",", at)
        end = len(text) if end < 0 else end
        field = text[at:end].strip()
        if field[:1] in ("'", '"'):
            raise ParseError("a quoted value starts here and never ends", source=source, line=line)
        return field, False, end + 1
    end = quoted.end()
    if end < len(text) and text[end] != ",":
        raise ParseError(f"expected a comma, not {text[end : end + 20]!r}", source=source, line=line)
    return _unquoted(quoted), True, end + 1


def _unquoted(quoted: re.Match[str]) -> str:
    """A quoted string without its quotes and escapes."""
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), quoted[1][1:-1])


def _decoded(line: bytes, source: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise ParseError("not UTF-8 text", source=source, line=number) from error


def _rows_of(rows: bytes, header: Header, source: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line; empty for comments and blank lines."""
    for number, line in enumerate(rows.split(b"\n"), start=header.line):
        text = _decoded(line, source, number).strip()
        yield number, "" if text.startswith("%") else text


# -------------------------------------------------------------------- dense rows


def _read_dense(rows: bytes, header: Header, source: str, most: int) -> list[CodedColumn]:
    from bntk.data.tokens import label_texts, tokenize

    plain = not any(special in rows for special in _SPECIAL) and rows[:1] not in (b" ", b"\t")
    if not plain:
        rows = _as_csv(rows, header, source)
    data = np.frombuffer(rows, dtype=np.uint8)
    names = [attribute.name for attribute in header.attributes]
    column_of = np.arange(len(names), dtype=np.int64)
    quote = -1 if plain else ord('"')
    tokens = tokenize(data, 0, ord(","), quote, column_of, most, names, source, header.line)
    parts = []
    for column, attribute in enumerate(header.attributes):
        texts: list[str | None] = list(label_texts(data, tokens, column, source, header.line))
        if plain:
            texts = [_trimmed(text) for text in texts]
        elif "" in texts:
            texts[texts.index("")] = None
        states, order, wrong = _typed(attribute, texts)
        if wrong is not None:
            place = tokens.where(data, column, tokens.labels[column][wrong])
            raise _wrong_value(attribute, texts[wrong], source, line_at(data, place) + header.line - 1)
        parts.append((states, order))
    dtype = np.min_scalar_type(max(len(states) for states, _ in parts))
    codes = tokens.codes([order for _, order in parts], dtype)
    return [_column(a, states, row, True) for a, (states, _), row in zip(header.attributes, parts, codes, strict=True)]


def _trimmed(text: str | None) -> str | None:
    text = (text or "").strip()
    return None if text in ("", "?") else text


def _as_csv(rows: bytes, header: Header, source: str) -> bytes:
    """Rows with quotes, escapes and comments as lines of CSV; a missing cell is empty."""
    lines = []
    for number, text in _rows_of(rows, header, source):
        if text.startswith("{"):
            raise ParseError("a sparse row among dense ones", source=source, line=number)
        fields = split_fields(text, source, number) if text else []
        cells = ("" if field == "?" and not quoted else field for field, quoted in fields)
        lines.append(",".join('"' + cell.replace('"', '""') + '"' for cell in cells))
    return "\n".join(lines).encode()


def _typed(attribute: Attribute, texts: Sequence[str | None]) -> tuple[list[State], np.ndarray, int | None]:
    """States of a column; the code of each label, missing ones last; which label the attribute cannot have, if any."""
    labels: list[State] = _numbers(texts) if attribute.kind == "numeric" else list(texts)
    states: list[State] = list(attribute.states)
    if attribute.kind != "nominal":
        states = natural_order(dict.fromkeys(label for label in labels if label is not None))
    code = {state: i for i, state in enumerate(states)}
    order = np.full(len(labels), len(states))
    for i, label in enumerate(labels):
        if label is None:
            continue
        if label not in code or (attribute.kind == "numeric" and isinstance(label, str)):
            return states, order, i
        order[i] = code[label]
    return states, order, None


def _wrong_value(attribute: Attribute, text: str | None, source: str, line: int) -> ParseError:
    numeric = attribute.kind == "numeric"
    what = "is not a number" if numeric else f"is none of {format_states(attribute.states)}"
    return ParseError(f"attribute {attribute.name!r}: {text!r} {what}", source=source, line=line)


def _numbers(texts: Sequence[str | None]) -> list[State]:
    """Whole numbers when all are, else floats; what is no number stays text."""
    present = [text for text in texts if text is not None]
    if all(_WHOLE.fullmatch(text) for text in present):
        return [None if text is None else int(text) for text in texts]
    return [None if text is None else _float(text) for text in texts]


def _float(text: str) -> State:
    try:
        return float(text) if "_" not in text else text
    except ValueError:
        return text


def _column(attribute: Attribute, states: Sequence[State], codes: np.ndarray, all_used: bool) -> CodedColumn:
    declared = attribute.kind == "nominal"
    return CodedColumn(attribute.name, [*states, None], codes, declared, all_used=all_used)


# -------------------------------------------------------------------- sparse rows


def _read_sparse(rows: bytes, header: Header, source: str, unpacking: Unpacking) -> list[CodedColumn]:
    """Rows such as ``{3 a, 7 b}``; what is left out is 0, or the first state of a nominal attribute."""
    attributes = header.attributes
    labels: list[dict[str | None, int]] = [{_default(attribute): 0} for attribute in attributes]
    lines: list[dict[str | None, int]] = [{} for _ in attributes]
    entries: list[tuple[int, int, int]] = []
    n_rows = 0
    for number, text in _rows_of(rows, header, source):
        if not text:
            continue
        for column, label in _sparse_entries(text, len(attributes), source, number):
            known = labels[column]
            if label not in known:
                known[label], lines[column][label] = len(known), number
            entries.append((column, n_rows, known[label]))
        n_rows += 1
    unpacking.check(n_rows * len(attributes), f"{n_rows:,} sparse rows of {len(attributes):,} attributes have")
    parts = []
    for attribute, known, seen in zip(attributes, labels, lines, strict=True):
        texts = list(known)
        states, order, wrong = _typed(attribute, texts)
        if wrong is not None:
            raise _wrong_value(attribute, texts[wrong], source, seen[texts[wrong]])
        parts.append((states, order))
    return _fill_sparse(attributes, parts, entries, n_rows)


def _default(attribute: Attribute) -> str:
    return attribute.states[0] if attribute.kind == "nominal" else "0"


def _sparse_entries(text: str, n: int, source: str, line: int) -> Iterator[tuple[int, str | None]]:
    """Column and label of each entry of a row; None for a missing one."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ParseError("a sparse row must be in braces, as in {3 a, 7 b}", source=source, line=line)
    inside = text[1:-1]
    at = 0 if inside.strip() else len(inside) + 1
    while at <= len(inside):
        index = _INDEX.match(inside, at)
        if index is None or len(index[1]) > 9 or int(index[1]) >= n:
            message = f"{inside[at : at + 20]!r} does not start with the index of an attribute, from 0 to {n - 1}"
            raise ParseError(message, source=source, line=line)
        label, quoted, at = _field(inside, index.end(), source, line)
        yield int(index[1]), label if quoted else _trimmed(label)


def _fill_sparse(
    attributes: Sequence[Attribute],
    parts: Sequence[tuple[list[State], np.ndarray]],
    entries: Sequence[tuple[int, int, int]],
    n_rows: int,
) -> list[CodedColumn]:
    dtype = np.min_scalar_type(max(len(states) for states, _ in parts))
    codes = np.empty((len(attributes), n_rows), dtype=dtype)
    codes[:] = np.array([order[0] for _, order in parts], dtype=dtype)[:, None]  # what is left out
    first = np.cumsum([0, *(len(order) for _, order in parts)])
    lookup = np.concatenate([order for _, order in parts])
    if entries:
        column, row, label = np.array(entries).T
        codes[column, row] = lookup[first[column] + label]
    return [_column(a, states, row, False) for a, (states, _), row in zip(attributes, parts, codes, strict=True)]
