"""Inference in Bayesian networks: exact by junction trees and elimination, approximate by propagation and sampling.

Queries are methods of :class:`bntk.BayesianNetwork`; this package has their results and engines.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Public name -> the module that it lives in.
_LAZY = {
    "Calibrated": "exact.program",
    "ChainSample": "approximate.samples",
    "Convergence": "approximate.loopy",
    "Distribution": "results",
    "Engine": "engines",
    "Evidence": "engines",
    "Explanation": "results",
    "Factor": "exact.program",
    "LoopyMarginals": "approximate.loopy",
    "LoopyProgram": "approximate.loopy",
    "LoopyRows": "approximate.loopy",
    "LoopySettings": "approximate.loopy",
    "Marginals": "results",
    "Plan": "plan",
    "Posterior": "engines",
    "Program": "exact.program",
    "RowsEngine": "engines",
    "Sensitivity": "decisions",
    "WeightedSample": "approximate.samples",
    "compile_factors": "exact.program",
    "compile_network": "exact.program",
    "forward_sample": "approximate.sampling",
    "gibbs": "approximate.sampling",
    "likelihood_weighting": "approximate.sampling",
    "loopy_network": "approximate.loopy",
    "sample": "approximate.sampling",
}

__all__ = sorted(_LAZY)

if TYPE_CHECKING:
    # ruff: noqa: F401
    from bntk.inference.approximate.loopy import (
        Convergence,
        LoopyMarginals,
        LoopyProgram,
        LoopyRows,
        LoopySettings,
        loopy_network,
    )
    from bntk.inference.approximate.samples import ChainSample, WeightedSample
    from bntk.inference.approximate.sampling import forward_sample, gibbs, likelihood_weighting, sample
    from bntk.inference.decisions import Sensitivity
    from bntk.inference.engines import Engine, Evidence, Posterior, RowsEngine
    from bntk.inference.exact.program import Calibrated, Factor, Program, compile_factors, compile_network
    from bntk.inference.plan import Plan
    from bntk.inference.results import Distribution, Explanation, Marginals


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'bntk.inference' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bntk.inference.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
