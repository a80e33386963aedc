"""The attacks of ``python -m benchmarks.torture`` in short: the same cases in every run, and how one is repeated."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.torture import __main__ as command
from benchmarks.torture import case as cases
from benchmarks.torture import reference, runner
from benchmarks.torture.case import Case, Kind, load_kinds, run_case

#: So many cases of each kind; those that start processes of their own are left to the long run.
SHORT = {
    "chains": 3, "commands": 8, "fits": 34, "forks": 1, "interventions": 10, "memory": 3, "models": 4, "networks": 8,
    "noisy": 4, "options": 1, "parameters": 12, "questions": 12, "rows": 16, "samples": 4, "saves": 6,
    "sensitivities": 8, "several": 16, "stars": 4, "structures": 6, "tables": 8, "threads": 3, "views": 8, "wide": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_no_attack_of_the_short_form_succeeds(name):
    result = runner.run_fixed({name: range(SHORT[name])}, seed=1)
    assert not result.failures, "\n".join(map(str, result.failures[:20]))
    assert result.comparisons >= result.cases == SHORT[name]


def test_every_kind_of_attack_is_in_the_short_form_or_starts_processes():
    assert load_kinds().keys() - SHORT.keys() == {"hashes"}


def wrong(case: Case) -> None:
    """One comparison of each sort that is right, and one that is not."""
    drawn = case.rng.random(3)
    case.note(drawn=drawn)
    case.close("close", drawn, drawn * (1 + 1e-12))
    case.close("close", drawn, drawn * (1 + 1e-6))
    case.close("close", [0.0, np.nan], [0.0, np.nan])
    case.close("close", [0.0], [1e-100])
    case.same("same", drawn, drawn.copy())
    case.same("same", np.array([0.0]), np.array([-0.0]))
    case.refused("refused", lambda: int("x"), ValueError)
    case.refused("refused", lambda: int("1"), ValueError)
    case.answer("answer", lambda: int("x"), ValueError)
    case.answer("answer", lambda: int("x"))
    raise KeyError("lost")


WRONG = Kind("wrong", 1.0, wrong, "Wrong.")


def test_a_case_counts_what_it_compares_and_keeps_what_fails():
    case = run_case(WRONG, 7, seed=3)
    assert case.comparisons == 3 + 3 + 2 + 1 + 3 + 1 + 1 + 1 + 1 + 1 + 1
    assert [failure.what for failure in case.failures] == [
        "close", "close", "same", "refused is refused", "answer", "an error that nothing expected",
    ]  # fmt: skip
    assert "KeyError: 'lost'" in str(case.failures[-1])


def test_a_case_is_a_function_of_its_seed_its_kind_and_its_number():
    one, again, other = (run_case(WRONG, number, seed=3).notes["drawn"] for number in (7, 7, 8))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()
    assert (run_case(WRONG, 7, seed=4).notes["drawn"] != one).all()


def test_a_failure_tells_how_to_repeat_it(monkeypatch, capsys):
    monkeypatch.setitem(cases.KINDS, "wrong", WRONG)
    command.tell(run_case(WRONG, 7, seed=3).failures[0], 3, {})
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.strip() == "repeat: python -m benchmarks.torture --seed 3 --case wrong:7"
    monkeypatch.setattr(sys, "argv", ["torture", *line.split("torture ")[1].split()])
    with pytest.raises(SystemExit, match="1"):
        command.main()
    told = capsys.readouterr().out
    assert f"drawn: {command.shown(run_case(WRONG, 7, seed=3).notes['drawn'])}" in told
    assert "wrong:7 with seed 3: 18 comparisons, 6 failures" in told


def test_two_processes_share_the_numbers_and_end_at_the_budget():
    told = []
    result = runner.run(1, comparisons=400, only=["noisy", "parameters"], jobs=2, tell=told.append)
    assert result.comparisons >= 400
    assert {*result.counts} == {"noisy", "parameters"}
    assert not told


def test_the_figures_are_put_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{command.BEGIN}\nold\n{command.END}\nafter\n")
    result = runner.run_fixed({"noisy": range(2)}, seed=1)
    command.write(page, command.figures(result, 2))
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert f"| {result.comparisons:,} " in text
    assert "old" not in text


def test_the_reference_tells_its_precision():
    bits = np.finfo(np.longdouble).nmant + 1
    assert f"{bits} bits" in reference.precision()
    assert ("not more exact" in reference.precision()) == (bits <= 53)


def test_the_page_of_promises_names_tests_and_attacks_that_exist():
    root = Path(__file__).parents[2]
    text = (root / "docs/reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 20
    for path, name in named:
        assert f"def {name}(" in (root / path).read_text(encoding="utf-8"), f"{path}::{name}"
    attacks = {name for line in re.findall(r"attacks? ((?:`\w+`(?:, )?)+)", text) for name in re.findall(r"\w+", line)}
    assert attacks <= load_kinds().keys()
    assert load_kinds().keys() - attacks <= {"wide"}
