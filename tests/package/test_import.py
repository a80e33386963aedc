import importlib
import os
import subprocess
import sys

import pytest
from processes import answers_of_processes, run_python
from random_networks import random_network

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


PLACES = {
    "scores": "bntk.learning.scores",
    "search": "bntk.learning.search",
    "spaces": "bntk.learning.space.named",
    "priors": "bntk.learning.priors",
    "cuts": "bntk.data.cuts",
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("before", ["", "bntk.learn; "])
def test_short_names_of_modules_can_be_imported_from(name, before):
    code = f"import bntk; {before}import bntk.{name} as one; from bntk import {name} as other; import {PLACES[name]}"
    assert run(f"{code}; print(one is other is {PLACES[name]})") == "True\n"
    first = next(member for member in importlib.import_module(PLACES[name]).__all__ if member[0].isalpha())
    assert run(f"from bntk.{name} import {first}; print(bool({first}))") == "True\n"


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
    assert len(answers_of_processes(ANSWERS, threads=(1, 2, 3))) == 1


def test_the_number_of_threads_can_be_set():
    assert run("import bntk; print(bntk.n_threads())", BNTK_NUM_THREADS="3").strip() == "3"
    with pytest.raises(subprocess.CalledProcessError):
        run("import bntk; bntk.n_threads()", BNTK_NUM_THREADS="none")
    with pytest.raises(ValueError, match="n must be None or a whole number from 1"):
        bntk.set_threads(0)


# ---- the command ---------------------------------------------------------------------------------------------------

LOADED = """
import sys
from bntk.cli import main
code = main(sys.argv[1:])
installed = {name for name, module in sys.modules.items() if "site-packages" in (getattr(module, "__file__", "") or "")}
found = {name.partition(".")[0] for name in installed} | ({"scipy.stats"} & installed)
print(code, *(name for name in found if name != "bntk" and not name.startswith("_")), file=sys.stderr)
"""
#: What numba, pandas and scikit-learn import in turn, some of it only where it is installed.
COMPILED = {"numpy", "numba", "llvmlite", "scipy", "yaml", "charset_normalizer"}
FRAMES = {"pandas", "dateutil", "six", "pytz", "pyarrow", "cloudpickle", "bottleneck", "numexpr", "psutil"}
SKLEARN = {"sklearn", "scipy.stats", "joblib", "threadpoolctl", "narwhals", "psutil", "rich", "pygments", "cloudpickle"}
SKLEARN |= {"typing_extensions"}  # imported by the cloudpickle within joblib 1.3
LEARNING = COMPILED | FRAMES | SKLEARN | {"tqdm"}
#: The modules of others that a command may load.
MAY_LOAD = {
    "--help": set(),
    "--version": set(),
    "info --help": set(),
    "query --help": set(),
    "learn --help": {"numpy"},
    "info asia": {"numpy"},
    "info large.bif": {"numpy"},
    "query asia lung --given xray=yes": {"numpy"},
    "query asia --mpe --soft xray=0.2,0.8": {"numpy"},
    "query large.bif x0 x1 --given x2=s0": {"numpy"},
    "query large.bif": {"numpy"},
    "convert large.bif copy.net": {"numpy"},
    "convert large.bif copy.xmlbif": {"numpy", "defusedxml"},
    "convert large.bif copy.xdsl.gz": {"numpy", "defusedxml"},
    "convert asia copy.json": {"numpy"},
    "convert asia copy.uai": {"numpy"},
    "info rows.csv": COMPILED,
    "fit asia rows.csv -o fitted.bif": COMPILED,
    "sample asia -n 10 -o drawn.csv": COMPILED | FRAMES,
    "learn rows.csv -o learned.bif": COMPILED | FRAMES | {"tqdm"},
    "learn rows.csv --target dysp --model tan -o tan.json": LEARNING,
    "info dysp.json": LEARNING,
    "predict dysp.json rows.csv -o labels.csv": LEARNING,
    "evaluate rows.csv --target dysp --model nb --folds 2": LEARNING,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows, a classifier, and a network of more cliques than numpy works on in a process that asks more than once."""
    folder = tmp_path_factory.mktemp("command")
    rows = bntk.datasets.asia().sample(50, seed=1).to_pandas()
    rows.to_csv(folder / "rows.csv", index=False)
    bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]).save(folder / "dysp.json")
    network = random_network(3, n=40, max_parents=2)
    assert network.plan().engine != "numpy"
    network.save(folder / "large.bif")
    return folder


@pytest.mark.parametrize("command", MAY_LOAD)
def test_a_command_loads_no_more_than_it_needs(command, folder):
    words = command.split()
    if MAY_LOAD[command] is LEARNING:  # all that a fork finds imported
        done = run_python(LOADED, *words, cwd=folder)
    else:
        done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, cwd=folder)
    code, *loaded = done.stderr.splitlines()[-1].split()
    assert code == "0"
    assert {*loaded} <= MAY_LOAD[command]
