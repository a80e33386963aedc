"""How many cases a test runs where very many can be run: a sample, or all in ``python -m benchmarks.all_cases``."""

from __future__ import annotations

import os

ALL = os.environ.get("BNTK_ALL_CASES") == "1"


def examples(few: int, many: int) -> int:
    """How many examples hypothesis draws."""
    return many if ALL else few


def every(step: int, cases: range, start: int = 0) -> range:
    """One in so many cases, others for another start, so that together all of them are run; or all cases."""
    return cases if ALL else cases[start % step :: step]
