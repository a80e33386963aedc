"""Attack bntk with random networks, evidence, tables, files and faults, and count what fails.

python -m benchmarks.torture [--minutes 10 | --comparisons 10000000] [--seed 1] [--only KIND ...] [--write FILE]
python -m benchmarks.torture --seed 1 --case KIND:NUMBER      repeats one case and prints all that it was made of
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, report
from benchmarks.torture.case import Failure, load_kinds, run_case
from benchmarks.torture.reference import precision
from benchmarks.torture.runner import Result, run

BEGIN, END = "<!-- torture: begin -->", "<!-- torture: end -->"


def main() -> None:
    kinds = load_kinds()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="kinds:\n" + "\n".join(f"  {kind.name:14} {kind.help}" for kind in kinds.values()),
    )
    parser.add_argument("--minutes", type=float, help="stop after so many minutes (by default 10)")
    parser.add_argument("--comparisons", type=int, help="stop after so many comparisons")
    parser.add_argument("--seed", type=int, default=1, help="of all cases (by default 1)")
    parser.add_argument("--only", nargs="+", choices=list(kinds), metavar="KIND", help="some kinds of attack")
    parser.add_argument("--jobs", type=int, default=2, help="processes (by default 2)")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="repeat this case alone")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table of the figures into this page")
    options = parser.parse_args()
    if options.case:
        name, _, number = options.case.partition(":")
        if name not in kinds or not number.isdecimal():
            parser.error(f"--case needs KIND:NUMBER, the kind one of {', '.join(kinds)}; got {options.case!r}")
        sys.exit(repeat(options.seed, name, int(number)))
    if options.jobs < 1 or options.seed < 0:
        parser.error("--jobs must be at least 1, --seed at least 0")
    minutes = options.minutes if options.minutes or options.comparisons else 10.0
    print(f"{precision()}. Seed {options.seed}, {options.jobs} processes.", flush=True)
    seen: dict[str, int] = {}
    result = run(
        options.seed,
        seconds=None if minutes is None else 60 * minutes,
        comparisons=options.comparisons,
        only=options.only,
        jobs=options.jobs,
        tell=lambda failure: tell(failure, options.seed, seen),
    )
    text = figures(result, options.jobs)
    print(f"\n{text}\n")
    if result.failures:
        print("failures by what failed:")
        for what, n in sorted(seen.items(), key=lambda pair: -pair[1]):
            print(f"{n:7,}  {what}")
    if options.write:
        write(options.write, text)
    sys.exit(1 if result.failed else 0)


def tell(failure: Failure, seed: int, seen: dict[str, int]) -> None:
    """Print a failure, and how to repeat it; of those that are alike only the first three."""
    alike = f"{failure.case.partition(':')[0]}: {failure.what}"
    seen[alike] = seen.get(alike, 0) + 1
    if seen[alike] <= 3:
        print(
            f"FAILED {failure}\n       repeat: python -m benchmarks.torture --seed {seed} --case {failure.case}",
            flush=True,
        )


def repeat(seed: int, name: str, number: int) -> int:
    """Run one case again, and print all that it was made of and each failure in full."""
    case = run_case(load_kinds()[name], number, seed)
    for what, value in case.notes.items():
        print(f"{what}: {shown(value)}")
    for failure in case.failures:
        print(f"\nFAILED {failure.what}: {failure.detail}")
    print(f"\n{case.name} with seed {seed}: {case.comparisons:,} comparisons, {len(case.failures)} failures")
    return 1 if case.failures else 0


def shown(value: Any) -> str:
    """Something that a case is made of, in full: a network as its file."""
    import bntk

    if isinstance(value, bntk.BayesianNetwork):
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            tables = "".join(f"\n  P({c.name!r} | {[p.name for p in c.parents]}) = {c.values!r}" for c in value.cpts)
        return "".join(f"\n  {variable!r}" for variable in value.variables) + tables
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {shown(each)}" for key, each in value.items()) + "}"
    return value if isinstance(value, str) else repr(value)


def figures(result: Result, jobs: int) -> str:
    """The table of the figures, with the machine that they belong to, in Markdown."""
    kinds = load_kinds()
    rows = [
        [
            f"`{name}`",
            kinds[name].help.rstrip(".") if name in kinds else "",
            f"{count.cases:,}",
            f"{count.comparisons:,}",
            f"{count.failed:,}",
        ]
        for name, count in sorted(result.counts.items())
    ]
    rows.append(["all", "", f"{result.cases:,}", f"{result.comparisons:,}", f"{result.failed:,}"])
    head = (
        f"Seed {result.seed}, {jobs} processes, {result.seconds / 60:.1f} minutes, on {date.today().isoformat()}: "
        f"{result.comparisons:,} comparisons in {result.cases:,} cases, of which {result.failed:,} "
        f"failed. {precision()}. "
    )
    about = report.wrapped(head + " ".join(machine.described()[:1] + machine.described()[2:]))
    return f"{about}\n\n{report.table(['kind', 'what is compared', 'cases', 'comparisons', 'cases that failed'], rows)}"


def write(path: Path, text: str) -> None:
    """Put the figures between the two marks of a page."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        sys.exit(f"{path} has no lines {BEGIN!r} and {END!r}")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
