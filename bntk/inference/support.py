"""Whether findings are possible at all, where the program that answers a query leaves some of them out.

Only zeros make findings impossible: a family without any allows everything, and one whose child is neither observed nor
a parent in doubt has a possible state whatever its parents are. What is left is mostly little, or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Set

from bntk.inference import choose
from bntk.inference.evidence import Findings
from bntk.inference.exact.program import KEPT_PROGRAMS, Factor, Program, compile_factors
from bntk.network import BayesianNetwork


def is_possible(network: BayesianNetwork, findings: Findings, known: Set[int] = frozenset()) -> bool | None:
    """Whether the findings have a probability above zero; None where finding out would cost too much.

    Parameters
    ----------
    network : BayesianNetwork
    findings : Findings
    known : set of int
        Families that are known to be possible given the findings, and that share with others observed variables alone.
    """
    if families_with_zeros(network) <= known:
        return True
    narrow = {v: vector > 0 for v, vector in findings.vectors.items() if not vector.all()}
    doubtful = _doubtful_families(network, narrow) - known
    if not doubtful:
        return True
    program = _support_program(network, doubtful)
    if not choose.looks_for_clash(program.plan_given(findings.observed).open_entries):
        return None
    allowed = {v: states.astype(float) for v, states in narrow.items()}
    return program.calibrate(allowed).log_z > -math.inf


def _doubtful_families(network: BayesianNetwork, narrow: Collection[int]) -> set[int]:
    """The families whose zeros could exclude findings about the variables that these leave fewer states."""
    doubtful, asked, with_zeros = set(), {*narrow}, families_with_zeros(network)
    for v in reversed(network.dag.topological_indices):
        if v in with_zeros and v in asked:
            doubtful.add(v)
            asked.update(network.dag.parent_indices[v])
    return doubtful


def families_with_zeros(network: BayesianNetwork) -> frozenset[int]:
    """The families that do not allow everything."""
    if "with_zeros" not in network._cache:
        network._cache["with_zeros"] = frozenset(v for v, cpt in enumerate(network.cpts) if not cpt.values.all())
    found: frozenset[int] = network._cache["with_zeros"]
    return found


def _support_program(network: BayesianNetwork, families: set[int]) -> Program:
    """The program that counts the joint states which some families allow, kept with the network."""
    programs: dict[frozenset[int], Program] = network._cache.setdefault("supports", {})
    key = frozenset(families)
    if key not in programs:
        if len(programs) >= KEPT_PROGRAMS:
            programs.pop(next(iter(programs)))
        scopes = [(*network.dag.parent_indices[v], v) for v in sorted(families)]
        factors = [Factor(scope, (network.cpts[scope[-1]].values > 0).astype(float)) for scope in scopes]
        cards = [cpt.child.n_states for cpt in network.cpts]
        variables = sorted({v for scope in scopes for v in scope})
        programs[key] = compile_factors(factors, cards, names=network.names, variables=variables, max_entries=math.inf)
    return programs[key]
