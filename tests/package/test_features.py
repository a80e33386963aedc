"""The table of docs/comparison.md: its rows are those of ``benchmarks.features``, which writes our three columns."""

import warnings
from pathlib import Path

import pytest

pytest.importorskip("pyagrum", "3.3", reason="pyagrum 3.3, whose features are looked for, is not installed")
pytest.importorskip("pgmpy", "1.1", reason="pgmpy 1.1, whose features are looked for, is not installed")

with warnings.catch_warnings():  # what pgmpy says about its former modules when it is imported
    warnings.simplefilter("ignore")
    from benchmarks import features

PAGE = Path(__file__).parents[2] / "docs/comparison.md"


def rows(page):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]


def test_the_page_has_a_row_of_seven_cells_for_every_feature():
    table = {row[0]: row for row in rows(PAGE.read_text(encoding="utf-8")) if len(row) == 7}
    checked = [feature for group in features.FEATURES.values() for feature in group]
    assert [name for name in table if not name.startswith("**") and name] == checked
    assert all(set(row[1:4]) <= {"✓", "–"} for name, row in table.items() if name in checked)


def test_outcomes_are_written_beside_what_is_known_of_the_others(monkeypatch):
    checks = {
        "things": {"graphs": ("^DAG$", "^No such thing$", lambda: True), "dreams": (lambda: 0, "^x{9}$", lambda: 1 / 0)}
    }
    monkeypatch.setattr(features, "FEATURES", checks)
    page = "# Page\n\n| graphs | ? | ? | ? | r `graph` | – | d |\n| dreams | ✓ | ✓ | ✓ | – | – | – |\n"
    assert features.written(page) == (
        "# Page\n\n| graphs | ✓ | – | ✓ | r `graph` | – | d |\n| dreams | – | – | – | – | – | – |\n"
    )


def test_a_feature_that_the_page_does_not_have_is_named():
    with pytest.raises(SystemExit, match="no row for 'noisy-OR'"):
        features.written("# Page\n")
