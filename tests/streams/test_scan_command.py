"""``bntk learn`` of several files, and in passes: the same as of one file in memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streams.samples import messy

import bntk
from bntk.cli import main, streamed


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = messy()
    frame.to_csv("whole.csv", index=False)
    (tmp_path / "rows").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(f"rows/p{number}.parquet", row_group_size=100)
        frame.iloc[rows].to_csv(f"part{number}.csv", index=False)
    return tmp_path


def learned(capsys, *words: str) -> dict:
    assert main(["learn", *words, "--json"]) in (0, None)
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "files", [["rows"], ["rows/*.parquet"], ["part0.csv", "part1.csv", "part2.csv"], ["part*.csv"]]
)
@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["in memory", "in passes"])
@pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")
def test_several_files_are_one_table(folder, capsys, files, stream):
    whole = learned(capsys, "whole.csv", "--score", "bic", "--search", "hc")
    parts = learned(capsys, *files, "--score", "bic", "--search", "hc", *stream)
    assert parts["arcs"] == whole["arcs"]
    assert parts["rows"] == whole["rows"] == 700
    assert ("passes" in parts) == bool(stream)
    assert parts["score"] == pytest.approx(whole["score"], rel=1e-12)


@pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")
def test_a_classifier_in_passes_predicts_as_one_of_rows_in_memory(folder, capsys):
    learned(capsys, "rows", "--stream", "--target", "kind", "--model", "tan", "-o", "stream.json")
    learned(capsys, "whole.csv", "--target", "kind", "--model", "tan", "-o", "memory.json")
    X = messy().drop(columns="kind")
    one, other = bntk.load("stream.json"), bntk.load("memory.json")
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))
    found = learned(capsys, "rows", "--stream", "--target", "kind,flag", "--ignore", "many")
    assert found["targets"].keys() == {"kind", "flag"}


@pytest.mark.filterwarnings("ignore::bntk.errors.BntkWarning")
def test_rows_that_would_take_much_of_the_memory_are_streamed(folder, capsys, monkeypatch):
    monkeypatch.setattr(streamed, "SHARE", 1e-9)
    assert learned(capsys, "rows", "--search", "hc")["passes"] > 1
    assert learned(capsys, "whole.csv", "--search", "hc")["passes"] > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rows", "--stream", "--target", "kind", "--model", "a2de"], "AODE"),
        (["rows", "--stream", "--missing", "em"], "--missing em looks at single rows"),
        (["rows", "--stream", "--target", "kin"], "no column 'kin'"),
        (["rows", "--stream", "--target", "many", "--target-bins", "3"], "--target-bins"),
        (["nowhere/*.csv"], "no file matches"),
        (["part0.csv", "-"], "standard input"),
        (["-", "--stream"], "standard input"),
    ],
)
def test_what_cannot_be_streamed_is_said_in_one_line(folder, capsys, words, message):
    assert main(["learn", *words]) not in (0, None)
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "Traceback" not in error
