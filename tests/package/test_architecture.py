"""The page about the architecture is true: its walks are what a profiler sees, its rooms and their picture exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bntk

ROOT = Path(bntk.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"

if not PAGE.exists():
    pytest.skip("the documentation is not here", allow_module_level=True)


def sections() -> dict[str, list[str]]:
    """The steps of each walk, by its heading."""
    found: dict[str, list[str]] = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n### ")[1:]:
        heading, _, text = part.partition("\n")
        found[heading] = re.findall(r"`([\w/]+\.py:[\w.]+)`", text)
    return found


def classify() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 3, (200, 6)).astype(str), columns=list("abcdef")).astype("category")
    row = frame.iloc[[0]].astype(object)
    row.iloc[0, 3] = None
    bntk.TAN().fit(frame, rng.choice(["no", "yes"], 200)).predict_proba(row)


def ask() -> None:
    bntk.datasets.asia().query("lung", {"xray": "yes", "smoke": "no"})


def learn() -> None:
    bntk.learn(bntk.datasets.asia().sample(200, seed=1), score="bic")


WALKS = {"`TAN().fit`": classify, "`bn.query`": ask, "`bntk.learn`": learn}


def calls_of(work) -> list[str]:
    """The functions of the package that are called, in order."""
    work()  # compiles
    seen: list[str] = []

    def profile(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT):
            seen.append(f"{file.relative_to(ROOT).as_posix()}:{frame.f_code.co_qualname}")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("heading", WALKS)
def test_a_walk_is_what_the_profiler_sees(heading):
    (steps,) = [steps for title, steps in sections().items() if heading in title]
    assert len(steps) >= 12
    calls = calls_of(WALKS[heading])
    missing = [step for step in steps if step not in calls]
    assert not missing, f"docs/architecture.md names steps that are not on the way: {missing}"
    at = 0
    for step in steps:
        assert step in calls[at:], f"docs/architecture.md has {step} later than it is taken"
        at = calls.index(step, at)


def test_every_walk_is_told():
    assert len(sections()) == len(WALKS)


def test_every_room_exists_and_every_package_is_a_room():
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {name.strip("`/") for row in rows for name in row.split(", ")}
    assert all((ROOT / name).exists() for name in named)
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/__init__.py")}
    assert packages <= named
