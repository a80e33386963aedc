"""The three files of the page on extensions, put into the package: nothing else has to be touched."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import run_python

import bntk

ROOT = Path(__file__).parents[2]
#: The longest that each file may be.
LIMITS = {"learning/scores/priced.py": 15, "classifiers/polytree.py": 25, "io/plain.py": 120}


def files() -> dict[str, str]:
    """The blocks of the page that begin with the name of a file."""
    page = (ROOT / "docs" / "extending.md").read_text()
    found = {}
    for name, block in re.findall(r"^>>> # bntk/(\S+)\n(.*?)^```", page, flags=re.M | re.S):
        found[name] = "".join(example.source for example in doctest.DocTestParser().get_examples(block))
    return found


def test_each_is_one_short_file():
    assert files().keys() == LIMITS.keys()
    for name, text in files().items():
        assert len(text.splitlines()) <= LIMITS[name], name


@pytest.fixture(scope="module")
def extended(tmp_path_factory) -> Path:
    """A folder with the package, by links, and the three files in it."""
    folder = tmp_path_factory.mktemp("extended")
    package = Path(bntk.__file__).parent
    shutil.copytree(package, folder / "bntk", copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in files().items():
        (folder / "bntk" / name).write_text(text)
    return folder


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_lists_them(extended):
    told = run(extended, "-m", "bntk", "learn", "--help")
    assert re.search(r"^  pan +Polytree-augmented naive Bayes: the features", told, flags=re.M)
    assert re.search(r"--score .*\bpriced\b", told, flags=re.S)
    assert re.search(r"^  \.plain +Plain text", run(extended, "-m", "bntk", "convert", "--help"), flags=re.M)


def test_the_command_reads_and_writes_the_format(extended):
    run(extended, "-m", "bntk", "convert", "asia", "asia.plain")
    run(extended, "-m", "bntk", "convert", "asia.plain", "asia.bif")
    assert bntk.load(extended / "asia.bif") == bntk.datasets.asia()


def test_they_are_public_names_of_the_package(extended):
    code = (
        "import bntk; from bntk.classifiers.saving.kinds import classifier_classes, kinds\n"
        "print(bntk.PolytreeBayes.name, bntk.scores.Priced().price, bntk.scores.by_name('priced').price,"
        " 'PolytreeBayes' in bntk.__all__, 'Priced' in bntk.scores.__all__, 'scores.Priced' in kinds(),"
        " 'PolytreeBayes' in classifier_classes(), 'n_jobs : int' in bntk.PolytreeBayes.__doc__)"
    )
    done = run_python(code, cwd=extended)
    assert done.stdout.split() == ["pan", "4.0", "4.0"] + ["True"] * 5
