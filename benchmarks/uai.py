"""UAI instances with published answers: exact where the cliques allow, else loopy belief propagation with its error.

python -m benchmarks.uai FOLDER [--max-entries 2147483648]

FOLDER holds ``name.uai.gz``, ``name.uai.evid.gz`` and the answers ``name.uai.PR.gz`` and ``name.uai.MAR.gz``; instances
without a ``PR`` are left out. Printed for each: seconds to compile and to propagate, the error of log10 Z, and the
largest error of a marginal. Answers are published with six digits.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from bntk.errors import TooLargeError
from bntk.inference.loopy import LoopyMarginals, LoopyProgram
from bntk.inference.program import MAX_ENTRIES, Calibrated, Factor, compile_factors
from bntk.io import uai


def run(folder: Path, name: str, max_entries: int) -> str:
    model = uai.read_model(folder / f"{name}.uai.gz")
    evidence = uai.read_evidence(folder / f"{name}.uai.evid.gz")
    likelihood = {v: np.eye(model.cards[v])[state] for v, state in evidence.items()}
    factors = [Factor(scope, table) for scope, table in zip(model.scopes, model.tables, strict=True)]
    start = time.perf_counter()
    found: Calibrated | LoopyMarginals
    try:
        program = compile_factors(factors, model.cards, max_entries=max_entries)
        how, compiled = f"exact, {program.plan.total_entries:.1e} entries", time.perf_counter()
        found = program.calibrate(likelihood)
    except TooLargeError:
        compiled = time.perf_counter()
        found = LoopyProgram(factors, model.cards).calibrate(likelihood)
        how = f"loopy, {found.convergence}"
    end = time.perf_counter()
    log10 = uai.read_partition(folder / f"{name}.uai.PR.gz")
    off = abs(found.log_z / math.log(10) - log10)
    return (
        f"{name:<20}{compiled - start:>8.2f}{end - compiled:>8.2f}{log10:>12.6g}{off:>10.1e}"
        f"{marginal_error(folder, name, found):>10}  {how}"
    )


def marginal_error(folder: Path, name: str, found: Calibrated | LoopyMarginals) -> str:
    path = folder / f"{name}.uai.MAR.gz"
    if not path.exists():
        return "-"
    return f"{max(float(np.abs(found.marginal(v) - p).max()) for v, p in enumerate(uai.read_marginals(path))):.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--max-entries", type=int, default=MAX_ENTRIES)
    options = parser.parse_args()
    print(f"{'':<20}{'compile':>8}{'run':>8}{'log10 Z':>12}{'off by':>10}{'marginal':>10}")
    for path in sorted(options.folder.glob("*.uai.PR.gz")):
        print(run(options.folder, path.name.removesuffix(".uai.PR.gz"), options.max_entries), flush=True)


if __name__ == "__main__":
    main()
