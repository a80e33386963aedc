import re
import struct
import subprocess
import sys

import pytest

import bntk
from bntk.cli import main


def test_the_demo_learns_prints_and_draws(tmp_path, capsys):
    picture = tmp_path / "asia.png"
    assert main(["demo", "--rows", "3000", "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    lines = re.findall(r"^  (.{28}).* (-\d+\.\d+)$", out, flags=re.MULTILINE)
    nats = {name.strip(): float(number) for name, number in lines}
    assert nats["no arcs"] < nats["dysp -> all (naive Bayes)"] < nats["the arcs found"]
    assert nats["the arcs found"] <= nats["the network itself"]
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    assert width > 200
    assert height > 200


def test_the_demo_says_the_same_twice(tmp_path, capsys):
    texts = []
    for _ in range(2):
        main(["demo", "--rows", "500", "--picture", str(tmp_path / "x.png")])
        texts.append(re.sub(r" *\d+\.\d+ s\b", "", capsys.readouterr().out))
    assert "NaiveBayes" in texts[0]
    assert texts[0] == texts[1]


def test_errors_take_one_line(tmp_path, capsys):
    assert main(["demo", "--rows", "100", "--picture", str(tmp_path / "absent" / "x.png")]) == 1
    assert capsys.readouterr().err.startswith("bntk: ")
    with pytest.raises(SystemExit) as stopped:
        main(["demo", "--rows", "0"])
    assert stopped.value.code == 2
    assert "whole number from 1" in capsys.readouterr().err


def test_the_command_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "bntk", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"bntk {bntk.__version__}"
