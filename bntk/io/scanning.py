"""Text of braces, parentheses and strings in quotes, as Hugin's and GeNIe's files are, read token by token."""

from __future__ import annotations

import re
from typing import ClassVar, NoReturn

from bntk.io.building import NetworkBuilder, Place

_ESCAPE = re.compile(r'\\(["\\n])')


class Scanner:
    """Tokens one after another; ``at`` is where the last one began.

    A format derives from it and gives the patterns of what separates tokens (which must match nothing, too), of a
    token, and the characters that are tokens by themselves.

    Parameters
    ----------
    text : str
        What is read.
    build : NetworkBuilder
        For messages.
    """

    blank: ClassVar[re.Pattern[str]]
    token: ClassVar[re.Pattern[str]]
    marks: ClassVar[str]

    def __init__(self, text: str, build: NetworkBuilder) -> None:
        self.text, self.build = text, build
        self.next = self.at = 0
        self._counted = (0, 1)  # up to where lines are counted, and the line there

    def take(self, what: str, end: bool = False) -> str:
        """The next token, a string still in quotes; at the end of the text ``""`` if that is allowed."""
        blank = self.blank.match(self.text, self.next)
        self.at = blank.end() if blank else self.next
        match = self.token.match(self.text, self.at)
        if match is None:
            if self.at < len(self.text):
                self.fail("a quote that is not closed")
            if not end:
                self.fail(f"the file ends where {what} should be")
            return ""
        self.next = match.end()
        return match[0]

    def name(self, what: str = "a name") -> str:
        """The next token, which must be a word or a string; without its quotes."""
        word = self.take(what)
        if word in self.marks:
            self.fail(f"expected {what}, found {word!r}")
        return plain(word)

    def expect(self, mark: str) -> None:
        """Take a token that must be this one."""
        found = self.take(f"{mark!r}")
        if found != mark:
            self.fail(f"expected {mark!r}, found {found[:40]!r}")

    def place(self) -> Place:
        """Line and column of the last token."""
        counted, line = self._counted
        self._counted = self.at, line + self.text.count("\n", counted, self.at)
        return self._counted[1], self.at - self.text.rfind("\n", 0, self.at)

    def fail(self, message: str) -> NoReturn:
        """Raise the error, at the last token."""
        self.build.fail(message, self.place())


def plain(word: str) -> str:
    """A word as it is, a string without its quotes."""
    if word[0] != '"':
        return word
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], word[1:-1])


def quoted(text: str) -> str:
    """A string in quotes, as :func:`plain` reads it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
