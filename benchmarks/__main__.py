"""All benchmarks in sequence, and the page of them.

python -m benchmarks [--only counting structure.trees ...] [--quick] [--data FOLDER] [--write docs/benchmarks.md]

Peers: ``pip install -e ".[bench]"``; those that are not installed are listed as such. ``--write`` writes the page and,
beside it, its pictures. See the modules for what is measured; each runs alone, too: ``python -m benchmarks.counting``.
"""

from __future__ import annotations

import importlib
import sys
import time
from datetime import date
from pathlib import Path

from benchmarks import machine, report
from benchmarks.measure import Options
from benchmarks.report import Section

MODULES = (
    "counting", "parameters", "reading", "files", "structure", "inference", "questions", "uai", "classifiers",
    "wrappers", "startup", "compile",
)  # fmt: skip
Found = dict[str, dict[str, Section | str]]  # by title of the module and name of the part

HEAD = """\
# Benchmarks

Written by one run of

```sh
pip install -e ".[bench]"
python -m benchmarks{arguments}
```

{machine}

A time is the shortest of several runs, as many as fit in a few seconds, without compilation, unless a section says
otherwise. bntk and the packages that it is compared with ("peers") are measured in the same run on the same data, each
peer in a process of its own. A peer that exceeds its time limit is shown as "over" that limit; one that is not
installed or fails is shown as such. A ratio is the time of a peer divided by that of bntk.
"""

CAPTION = """\
A bar is the geometric mean of the ratios of a section, and the line spans the smallest and the largest ratio. A case
that a peer did not finish is included with its time limit."""

FOOT = """\
## Other pages

Measurements that take longer, need other programs or were made at other times: [accuracy compared with Weka, and larger
cases](benchmarks-accuracy.md), [all classifiers on UCI sets](uci.md), [their parameters](parameter-study.md), [quality
measures](quality-measures.md), [information measure](information-measure.md), [several class
variables](multilabel.md).
"""


def run(only: list[str], options: Options) -> Found:
    """The sections of all modules, or of those that are named as MODULE or MODULE.PART."""
    found: Found = {}
    for name in dict.fromkeys(item.split(".")[0] for item in only) or MODULES:
        if name not in MODULES:
            sys.exit(f"there is no benchmark {name!r}; there are: {', '.join(MODULES)}")
        module = importlib.import_module(f"benchmarks.{name}")
        chosen = [item.split(".")[1] for item in only if item.startswith(f"{name}.")]
        start = time.perf_counter()
        print(f"\n== {name}", file=sys.stderr)
        found[module.TITLE] = dict(report.run_parts(report.parts_of(module, chosen), options))
        print(f"== {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return found


def page(found: Found, head: str, folder: Path | None, stem: str = "benchmarks") -> str:
    """The text of the page; pictures go to the folder, if there is one."""
    pieces = [head.rstrip()]
    sections = [part for parts in found.values() for part in parts.values() if isinstance(part, Section)]
    if folder is not None and any(section.ratios for section in sections):
        from benchmarks import pictures

        pictures.save(pictures.overview(sections), folder / f"{stem}-overview.svg")
        pieces.append(f"![Times of the peers divided by that of bntk]({stem}-overview.svg)\n\n{CAPTION}")
    for title, parts in found.items():
        pieces.append(f"## {title}")
        for name, part in parts.items():
            if len(parts) > 1 and isinstance(part, Section):
                pieces.append(f"### {part.title}")
            pieces.append(str(part) if isinstance(part, Section) else f"`{name}` {part}.")
            if folder is not None and isinstance(part, Section):
                pieces += drawn(part, folder, f"{stem}-{name}")
    return "\n\n".join([*pieces, FOOT])


def drawn(section: Section, folder: Path, stem: str) -> list[str]:
    """Links to the pictures of a section: its ratios when there are several, its curves."""
    from benchmarks import pictures

    links = []
    if len(pictures.shown(section.ratios)) > 3:
        pictures.save(pictures.ratios(section), folder / f"{stem}.svg")
        links.append(f"![{section.title}: ratios to the peers]({stem}.svg)")
    if section.curves:
        pictures.save(pictures.curves(section), folder / f"{stem}-growth.svg")
        links.append(f"![{section.title}: how the time grows]({stem}-growth.svg)")
    return links


def main() -> None:
    arguments = report.parser(__doc__)
    arguments.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="some modules, or parts as MODULE.PART"
    )
    arguments.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page there, and its pictures beside it"
    )
    options = arguments.parse_args()
    if options.write and not options.write.parent.is_dir():
        arguments.error(f"there is no folder {options.write.parent}")
    report.quieten()
    before, start = machine.load(), time.perf_counter()
    found = run(options.only, Options(options.quick, options.data))
    given = [
        ("--quick", options.quick),
        ("--only " + " ".join(options.only), options.only),
        ("--data FOLDER", options.data),
    ]
    facts = [
        f"on {date.today().isoformat()}, in {(time.perf_counter() - start) / 60:.0f} minutes.",
        *machine.described(),
        f"Load averages over 1, 5 and 15 minutes: {before} at the start, {machine.load()} at the end.",
    ]
    head = HEAD.format(
        arguments="".join(f" {text}" for text, on in [*given, ("--write docs/benchmarks.md", options.write)] if on),
        machine=report.wrapped(" ".join(facts)),
    )
    print(page(found, head, None))
    if options.write:
        options.write.write_text(page(found, head, options.write.parent, options.write.stem), encoding="utf-8")
    if any(str(part).startswith("failed") for parts in found.values() for part in parts.values()):
        sys.exit("some sections failed; see above")


if __name__ == "__main__":
    main()
