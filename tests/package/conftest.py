"""A folder with the files that examples of the command speak of, and a way to run lines for the terminal in it."""

import io
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bntk
from bntk.cli import main


@pytest.fixture(scope="session")
def example_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    asia = bntk.datasets.asia()
    asia.save(folder / "asia.bif")
    rows = asia.sample(600, seed=1).to_pandas().astype(object)
    rows.to_csv(folder / "asia.csv", index=False)
    incomplete = bntk.datasets.with_missing(asia.sample(200, seed=2), 0.1, seed=2).to_pandas()
    incomplete.to_csv(folder / "incomplete.csv", index=False)
    incomplete.drop(columns="dysp").to_csv(folder / "new.csv", index=False)
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    bntk.TAN().fit(X, y).save(folder / "dysp.json")
    counts = "variable a { type discrete [2] { no, yes }; } probability (a) { table 30, 10; }"
    (folder / "counts.bif").write_text(counts)
    (folder / "costs.csv").write_text("true,no,yes\nno,0,1\nyes,5,0\n")
    generator = np.random.default_rng(0)
    kind = generator.integers(0, 3, 300)
    weight = np.round(generator.normal(size=300) + 2 * kind, 3)
    height = np.where(generator.random(300) < 0.1, np.nan, np.round(generator.normal(size=300) - kind, 3))
    colour = np.array(["red", "green", "blue"])[np.where(generator.random(300) < 0.3, 0, kind)]
    measured = {"weight": weight, "height": height, "colour": colour, "kind": np.array(["a", "b", "c"])[kind]}
    pd.DataFrame(measured).to_csv(folder / "measured.csv", index=False)
    return folder


@pytest.fixture
def folder(example_files, tmp_path, monkeypatch):
    """A fresh copy of the files, which is the working folder."""
    shutil.copytree(example_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def give_input(monkeypatch):
    """Puts bytes where standard input is read from."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture
def terminal(folder, give_input, capsys):
    """Runs a line such as ``cat x.csv | bntk info - > out.txt`` in this process; gives exit code, output and notes."""

    def run(line):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
        lexer.whitespace_split = True
        words = list(lexer)
        if words[0] == "cat":
            assert words[2] == "|", line
            give_input(Path(words[1]).read_bytes())
            words = words[3:]
        assert words[0] == "bntk", line
        ends = [i for i, word in enumerate(words) if word in ("|", ">")]
        end = ends[0] if ends else len(words)
        capsys.readouterr()
        code = main(words[1:end])
        out, err = capsys.readouterr()
        if end < len(words) and words[end] == ">":
            Path(words[end + 1]).write_text(out)
        return code, out, err

    return run
