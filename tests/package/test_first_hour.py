"""What four new users see in their first hour with a messy table; ``first_hour.py`` is the script that they follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from processes import run_script


@pytest.fixture(scope="module")
def parts() -> dict[str, str]:
    """What each of the users sees; in a process of its own, since pytest records all warnings."""
    ended = run_script(Path(__file__).with_name("first_hour.py"))
    assert ended.returncode == 0, ended.stderr
    head, *users = ended.stdout.split("\n===== ")
    return {"table": head} | {text.partition("\n")[0]: text for text in users}


def lines_with(text: str, words: str) -> list[str]:
    return [line for line in text.splitlines() if words in line]


def test_one_who_knows_scikit_learn(parts):
    seen = parts["knows scikit-learn"]
    assert "['age', 'visits', 'income', 'region', 'plan']" in seen
    for name, reason in {
        "customer": "identifies rows: 600 states in 600 rows",
        "since": "holds dates or times",
        "comment": "identifies rows",
        "fax": "has no value",
    }.items():
        assert f"'{name}' {reason}" in lines_with(seen, "ColumnWarning")[0]
    assert "the class of row" in seen  # what AODE says of rows without one
    assert "BaggingClassifier" in seen
    assert "AdaBoostClassifier" in seen
    scores = [float(line) for line in seen.splitlines() if line.startswith("0.") and len(line) <= 5]
    assert len(scores) == 6
    assert min(scores) > 0.6  # the majority has 0.54
    assert "P(stays | age='<= 30.5', visits=5)" in seen


def test_each_cause_is_told_once_by_each_line_of_the_program(parts):
    """A grid search fits 21 times, and a cross-validation five times."""
    told = lines_with(parts["knows scikit-learn"], "ColumnWarning")
    assert len(told) <= 12
    assert len(lines_with(parts["at the command line"], "columns that are left out")) <= 5


def test_one_who_knows_r(parts):
    seen = parts["knows bnlearn and bnclassify"]
    assert len(lines_with(seen, "columns of numbers that are cut into 5 intervals")) == 1
    assert "'age' (67 different numbers)" in seen
    assert "Variable('income', ['<= 3883', '(3883, 7045]', '(7045, 10207]', '> 10207'], ordered=True)" in seen
    assert "drop_missing" not in seen  # a data frame has no such method
    assert "P(stays | visits, plan)" in seen
    assert lines_with(seen, "did you mean 'premium'?")
    assert "BayesianNetwork: 3 variables, 2 arcs" in seen


def test_one_in_a_notebook(parts):
    seen = parts["in a notebook"]
    assert "with a picture: True" in seen
    assert "P(stays | age='> 60')" in seen


def test_one_at_the_command_line(parts):
    seen = parts["at the command line"]
    assert "unexpected" not in seen
    assert "Traceback" not in seen
    assert "numbers the rows; it is left out" in seen  # the index that pandas wrote
    for line in lines_with(seen, "$ bntk info"):
        assert line
    assert max(map(len, seen.partition("$ bntk learn")[0].splitlines())) < 130
    after = dict(zip(lines_with(seen, "$ "), seen.split("$ ")[1:], strict=True))
    fails = [line for line, text in after.items() if "(exit code" in text]
    assert [line.split(" ", 2)[2] for line in fails] == [
        "query stays.json stays --given plan=Premium",
        "query stays.json stays --given plan=basic plan=premium",
        "learn customers.csv --target income",
    ]
    assert "did you mean 'premium'?" in after[fails[0]]
    assert "twice" in after[fails[1]]
    assert "--target-bins 3" in after[fails[2]]
    assert "--identifiers keep" in seen
    assert 'identifiers="keep"' not in seen
    assert "'stays', 'predicted_stays', 'p_no', 'p_yes']" in seen
