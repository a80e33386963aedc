"""UAI instances with published answers: exact where the cliques allow, else loopy belief propagation with its error.

python -m benchmarks.uai --data FOLDER [--quick]

FOLDER/uai holds ``name.uai.gz``, ``name.uai.evid.gz`` and the answers ``name.uai.PR.gz`` and ``name.uai.MAR.gz``;
instances without a ``PR`` are left out. Answers are published with six digits.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.measure import LeftOut, Options, Time
from benchmarks.report import Section
from bntk.errors import TooLargeError
from bntk.inference.approximate.loopy import LoopyMarginals, LoopyProgram
from bntk.inference.exact.program import Calibrated, Factor, compile_factors
from bntk.io import uai

TITLE = "Markov networks with published answers"


def instances(options: Options) -> Section:
    folder = options.folder("uai")
    names = [path.name.removesuffix(".uai.PR.gz") for path in sorted(folder.glob("*.uai.PR.gz"))]
    by_size = sorted(names, key=lambda name: (folder / f"{name}.uai.gz").stat().st_size)
    if not names:
        raise LeftOut("needs instances with answers in the folder `uai`")
    section = Section(
        "UAI instances",
        "Instances of the UAI inference competitions with published answers (six digits): exact where the cliques "
        "allow it, else loopy belief propagation, whose error is then that of the method. One run each, compiling "
        "the network included.",
        ["instance", "variables", "method", "compile", "propagate", "log10 Z", "off by", "largest error of a marginal"],
    )
    run(folder, by_size[0])  # compiles
    for name in options.pick(names, by_size[:6]):
        section.add(name, *run(folder, name))
    return section


def run(folder: Path, name: str) -> tuple[object, ...]:
    model = uai.read_model(folder / f"{name}.uai.gz")
    evidence = uai.read_evidence(folder / f"{name}.uai.evid.gz")
    likelihood = {v: np.eye(model.cards[v])[state] for v, state in evidence.items()}
    factors = [Factor(scope, table) for scope, table in zip(model.scopes, model.tables, strict=True)]
    start = time.perf_counter()
    found: Calibrated | LoopyMarginals
    try:
        program = compile_factors(factors, model.cards)
        how, compiled = f"exact, {program.plan.total_entries:.1e} entries", time.perf_counter()
        found = program.calibrate(likelihood)
    except TooLargeError:
        compiled = time.perf_counter()
        found = LoopyProgram(factors, model.cards).calibrate(likelihood)
        how = f"loopy, {found.convergence}"
    end = time.perf_counter()
    log10 = uai.read_partition(folder / f"{name}.uai.PR.gz")
    off = abs(found.log_z / math.log(10) - log10)
    times = Time(compiled - start), Time(end - compiled)
    return len(model.cards), how, *times, f"{log10:.6g}", f"{off:.0e}", marginal_error(folder, name, found)


def marginal_error(folder: Path, name: str, found: Calibrated | LoopyMarginals) -> str:
    path = folder / f"{name}.uai.MAR.gz"
    if not path.exists():
        return "-"
    return f"{max(float(np.abs(found.marginal(v) - p).max()) for v, p in enumerate(uai.read_marginals(path))):.0e}"


PARTS = {"uai": instances}

if __name__ == "__main__":
    report.main()
