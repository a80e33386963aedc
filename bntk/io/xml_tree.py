"""XML as a tree that knows its lines, read without entities, external files or anything else that a file can abuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, NoReturn
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import InputSource

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from bntk.errors import DataError, ParseError

_MAX_DEPTH = 100
# A declaration behind blanks, which XML does not allow but files have.
_LATE = re.compile(rb"(?:\xef\xbb\xbf)?\s+(<\?xml\s[^>]{0,200}\?>)")
_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([A-Za-z][A-Za-z0-9._-]{0,40})[\"']")
_NOT_LINES = re.compile(rb"[^\n]")
_BAD_COMMENT = re.compile(rb"<!-(?!-)")
# A document type may give attributes default values, which every element then carries: only short ones.
_MAX_DEFAULTS = 1000


class Element:
    """An element: its tag, attributes, text (that of its children left out), children, and where it begins."""

    __slots__ = ("_parts", "attributes", "children", "place", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], place: tuple[int, int]) -> None:
        self.tag, self.attributes, self.place = tag, attributes, place
        self.children: list[Element] = []
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The text; blanks around it are cut off, unless ``xml:space="preserve"`` says not to."""
        text = "".join(self._parts)
        return text if self.attributes.get("xml:space") == "preserve" else text.strip()

    def all(self, *tags: str) -> Iterator[Element]:
        """The children with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next(self.all(tag), None)


def read_xml(data: str | bytes, source: str, root: str) -> Element:
    """The root element of a document, which must have the tag ``root``; one ParseError for anything else.

    Bytes are decoded as the document says. A document type is read over; entities that it declares are refused.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    document = InputSource()
    if late := _LATE.match(raw):  # read as if it stood at the beginning, where it belongs
        if named := _ENCODING.search(late[1]):
            document.setEncoding(named[1].decode("ascii"))
        raw = _NOT_LINES.sub(b" ", late[0]) + raw[late.end() :]
    document.setByteStream(BytesIO(raw))
    if isinstance(data, str):
        document.setEncoding("utf-8")  # whatever the text says that it was encoded in
    tree = _TreeBuilder()
    parser = _Parser(len(raw))
    parser.setContentHandler(tree)
    try:
        parser.parse(document)
    except SAXParseException as error:
        place = error.getLineNumber() or 0, (error.getColumnNumber() or 0) + 1
        hint = "; a comment is written <!-- ... -->" if _starts_bad_comment(raw, place) else ""
        _refuse(f"not well-formed XML: {error.getMessage()}{hint}", source, place)
    except DefusedXmlException:
        _refuse("entities and external files are not read; write them out", source, parser.place)
    except (SAXException, LookupError, ValueError) as error:  # ours, or an encoding that Python does not know
        _refuse(str(error), source, parser.place)
    if tree.root is None or tree.root.tag != root:
        found = "" if tree.root is None else f", not <{tree.root.tag[:40]}>"
        _refuse(f"expected a document with the root <{root}>{found}", source, (1, 1))
    return tree.root


def _starts_bad_comment(raw: bytes, place: tuple[int, int]) -> bool:
    """Whether ``<!-`` with one hyphen stands where reading stopped."""
    lines = raw.split(b"\n", place[0])[place[0] - 1 : place[0]]
    return bool(lines) and _BAD_COMMENT.search(lines[0][max(place[1] - 6, 0) : place[1] + 6]) is not None


def _refuse(message: str, source: str, place: tuple[int, int]) -> NoReturn:
    raise ParseError(message, source=source, line=place[0], column=place[1]) from None


class _Parser(DefusedExpatParser):
    """Reads in one piece (expat scans a long token again for every piece) and only what the document itself holds."""

    def __init__(self, size: int) -> None:
        super().__init__(bufsize=size + 1)
        self._defaults = 0

    def reset(self) -> None:
        super().reset()
        self._parser: Any
        self._parser.SetParamEntityParsing(0)  # an external document type is not looked for
        self._parser.AttlistDeclHandler = self._attribute_declared

    def _attribute_declared(self, element: str, name: str, kind: str, default: str | None, required: bool) -> None:
        self._defaults += len(default or "") + (default is not None)
        if self._defaults > _MAX_DEFAULTS:
            raise SAXException("the document type gives too many default values")

    @property
    def place(self) -> tuple[int, int]:
        return (self.getLineNumber() or 1), (self.getColumnNumber() or 0) + 1


class _TreeBuilder(ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self.root: Element | None = None
        self._open: list[Element] = []

    def setDocumentLocator(self, locator: Any) -> None:  # noqa: N802 (the name that xml.sax calls)
        self._locator = locator

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802
        place = self._locator.getLineNumber(), self._locator.getColumnNumber() + 1
        element = Element(name, dict(attrs), place)
        if len(self._open) >= _MAX_DEPTH:
            raise SAXException(f"elements are nested more than {_MAX_DEPTH} deep")
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElement(self, name: str) -> None:  # noqa: N802
        self._open.pop()

    def characters(self, content: str) -> None:
        self._open[-1]._parts.append(content)

    def skippedEntity(self, name: str) -> None:  # noqa: N802
        raise SAXException(f"the entity &{name}; is not declared")


# ---- writing ---------------------------------------------------------------------------------------------------

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def escaped(text: str, kind: str) -> str:
    """The text as it stands in an element or a quoted attribute; refused where XML has no way to write it."""
    for c in text:
        code = ord(c)
        if (code < 32 and c not in "\t\n\r") or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF):
            raise DataError(f"{kind} cannot hold the character {c!r} of {text!r}; rename it, or write .json")
    return "".join(_ESCAPES.get(c, c) for c in text)


def element(tag: str, text: str, kind: str) -> str:
    """An element with a text whose blanks survive."""
    keep = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{tag}{keep}>{escaped(text, kind)}</{tag}>"
