"""What a benchmark reports: sections of a page, each with a table, ratios to the peers, and perhaps curves.

A benchmark module has a ``TITLE`` and ``PARTS``, functions that take :class:`~benchmarks.measure.Options` and return a
:class:`Section`; ``EXTRA`` has parts that run only if named by ``--only``. :func:`main` runs one module alone.
"""

from __future__ import annotations

import argparse
import logging
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.measure import LeftOut, Options, Ratio, Time, digits

Part = Callable[[Options], "Section"]


@dataclass
class Section:
    """A table with its title, what was measured and how, and remarks below it."""

    title: str
    text: str
    head: list[str]
    rows: list[list[str]] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    axes: tuple[str, str] = ("", "seconds")
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, *cells: Any) -> None:
        """A row; it is shown at once, so that one sees a long run go on."""
        self.rows.append([digits(cell) if isinstance(cell, float) else str(cell) for cell in cells])
        print("   ", " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def ratio(self, case: str, peer: str, theirs: Time, ours: Time) -> Ratio:
        """Keep how many times as long a peer takes, for the pictures, and give it for the table."""
        self.ratios.append(Ratio(case, peer, theirs, ours))
        return self.ratios[-1]

    def point(self, curve: str, x: float, time: Time) -> None:
        self.curves.setdefault(curve, []).append((x, time.seconds))

    def __str__(self) -> str:
        starred = any(cell.endswith(" *") for row in self.rows for cell in row)
        below = [*self.remarks, r"\* scaled up from less work."] if starred else self.remarks
        paragraphs = [wrapped(self.text), table(self.head, self.rows), wrapped(" ".join(below))]
        return "\n\n".join(filter(None, paragraphs))


def wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with aligned columns."""
    lines = [head, *rows]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(head))]
    cells = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [cells[0], ["-" * width for width in widths], *cells[1:]])


def run_parts(parts: dict[str, Part], options: Options) -> Iterator[tuple[str, Section | str]]:
    """The section of each part, or a sentence that says why there is none."""
    for name, part in parts.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            yield name, part(options)
        except LeftOut as reason:
            yield name, f"left out: {reason}"
        except Exception as error:  # one failure must not lose the sections of a long run
            traceback.print_exc()
            yield name, f"failed: {type(error).__name__}: {error}"


def parts_of(module: ModuleType, chosen: Iterable[str] = ()) -> dict[str, Part]:
    """All parts of a module, or the chosen ones."""
    every: dict[str, Part] = {**module.PARTS, **getattr(module, "EXTRA", {})}
    for name in chosen:
        if name not in every:
            sys.exit(f"there is no part {name!r}; there are: {', '.join(every)}")
    return {name: every[name] for name in chosen} if chosen else module.PARTS


def parser(description: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--quick", action="store_true", help="small sizes and short limits, to try it out")
    made.add_argument(
        "--data", type=Path, help="folder that holds `networks` and `uai`; else pgmpy's networks are used"
    )
    return made


def quieten() -> None:
    """Peers warn a lot."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")


def main() -> None:
    """Run the parts of the module that was started, and print them."""
    module = sys.modules["__main__"]
    arguments = parser(module.__doc__)
    arguments.add_argument("--only", nargs="+", default=[], metavar="PART", help="some parts")
    options = arguments.parse_args()
    quieten()
    for name, found in run_parts(parts_of(module, options.only), Options(options.quick, options.data)):
        title = found.title if isinstance(found, Section) else name
        print(f"\n## {title}\n\n{found}", flush=True)
