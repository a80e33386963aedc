"""The description of a command: its name, its help with examples, its options, and the function that runs it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bntk.errors import BntkError


@dataclass(frozen=True)
class Example:
    """A command line with a description; the tests run every one."""

    what: str
    line: str

    def __str__(self) -> str:
        return f"  # {self.what}\n  {self.line}"


@dataclass(frozen=True)
class Command:
    """One command of ``bntk``; ``words`` are the names of its positional arguments."""

    name: str
    words: str
    description: str
    examples: tuple[Example, ...]
    add_options: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]


class UsageError(BntkError):
    """Options that do not go together; the exit code is 2, as for what argparse refuses."""


def examples_text(examples: Iterable[Example]) -> str:
    """The examples as the last part of a help text."""
    return "examples:\n" + "\n".join(map(str, examples))
