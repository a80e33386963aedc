import os
import subprocess
import sys

import pytest

import bntk

HEAVY = ["pandas", "numba", "scipy", "sklearn", "networkx", "matplotlib", "narwhals", "polars", "pyarrow", "tqdm"]


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )
    return done.stdout


def test_importing_bntk_imports_nothing_heavy():
    loaded = run("import bntk, sys; print('\\n'.join(sys.modules))").split()
    assert "bntk" in loaded
    assert not set(HEAVY) & set(loaded)


def test_building_a_network_by_hand_imports_nothing_heavy():
    loaded = run("import bntk, sys; bntk.datasets.asia(); print('\\n'.join(sys.modules))").split()
    assert "bntk.network" in loaded
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("name", [n for n in bntk.__all__ if not n.startswith("__")])
def test_every_public_name_is_there_and_documented(name):
    assert getattr(bntk, name).__doc__.strip()
    assert name in dir(bntk)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'BayesNet'"):
        bntk.BayesNet


ANSWERS = """
import hashlib, bntk
bn = bntk.datasets.asia()
rows = bn.sample(20_000, seed=3)
fitted = bntk.fit(bn.dag, rows.to_pandas(), prior=0.5)
order = bntk.graph.elimination_order(bn.dag.moral_graph())
pairs = bntk.learning.counts.TableCounter(rows).pairs("dysp")
parts = [rows.codes.tobytes(), fitted.to_frame().to_csv().encode(), repr(order).encode(),
         repr(bn.dag.cpdag()).encode(), pairs.table("tub", "lung").tobytes()]
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


def test_answers_depend_neither_on_the_hash_seed_nor_on_the_threads():
    answers = {
        run(ANSWERS, PYTHONHASHSEED=seed, BNTK_NUM_THREADS=threads)
        for seed, threads in [("0", "1"), ("1", "2"), ("7", "3")]
    }
    assert len(answers) == 1


def test_the_number_of_threads_can_be_set():
    assert run("import bntk; print(bntk.n_threads())", BNTK_NUM_THREADS="3").strip() == "3"
    with pytest.raises(subprocess.CalledProcessError):
        run("import bntk; bntk.n_threads()", BNTK_NUM_THREADS="none")
    with pytest.raises(ValueError, match="n must be None or a whole number from 1"):
        bntk.set_threads(0)
