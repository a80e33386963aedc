"""How many cases a test runs where thousands could be run: a sample, or all of them in ``python -m benchmarks.all_cases``."""

from __future__ import annotations

import os

ALL = os.environ.get("BNTK_ALL_CASES") == "1"


def examples(few: int, many: int) -> int:
    """How many examples hypothesis draws."""
    return many if ALL else few


def every(step: int, cases: range, start: int = 0) -> range:
    """Every so many cases, beginning at another one for another start, so that together all are there; or all of them."""
    return cases if ALL else cases[start % step :: step]
