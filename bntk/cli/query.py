"""``bntk query``: posteriors, most probable states, and the probability of evidence."""

from __future__ import annotations

import itertools
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bntk.cli.command import Command, Example, UsageError
from bntk.cli.inputs import NO_VARIABLE, check_names, given, load_network, soft
from bntk.cli.options import add_evidence, add_json, add_network
from bntk.cli.output import emit, table
from bntk.inference.choose import ENGINES, one_question

if TYPE_CHECKING:
    from bntk.inference.results import Distribution, Explanation
    from bntk.network import BayesianNetwork


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser)
    parser.add_argument(
        "targets", metavar="TARGET", nargs="*", help="variables to query, jointly; without any, each one by itself"
    )
    add_evidence(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--mpe", action="store_true", help="the most probable joint state of the targets, or of all")
    how.add_argument("--probability", action="store_true", help="how probable the evidence is")
    parser.add_argument("--engine", choices=ENGINES, default="exact", help="how the answer is computed (default exact)")
    add_json(parser)


def _run(options: Namespace) -> None:
    with one_question():
        _answer(options)


def _answer(options: Namespace) -> None:
    network = load_network(options.network, to_ask=True)
    check_names(options.targets, network.names, NO_VARIABLE)
    known, likely = given(network, options.given), soft(network, options.soft)
    evidence, engine = {"given": known, "soft": likely}, options.engine
    if options.probability:
        _tell_probability(options, network, evidence)
    elif options.mpe:
        if options.targets:
            found = network.map(options.targets, known, likely, engine=engine)
        else:
            found = network.mpe(known, likely, engine=engine)
        _tell_explanation(options, found, evidence)
    elif options.targets:
        _tell_joint(options, network.query(options.targets, known, likely, engine=engine), evidence)
    else:
        _tell_marginals(options, network.marginals(known, likely, engine=engine), evidence)


def _tell_probability(options: Namespace, network: BayesianNetwork, evidence: dict[str, Any]) -> None:
    if options.targets:
        raise UsageError("--probability is about the evidence only; leave out the targets, or put them into --given")
    log_p = network.log_probability(**evidence, engine=options.engine)
    p = math.exp(log_p)
    emit(options, {**evidence, "probability": p, "log_probability": log_p}, lambda: f"{p:.10g}")


def _tell_explanation(options: Namespace, found: Explanation, evidence: dict[str, Any]) -> None:
    answer = {"states": dict(found), "probability": found.probability, "log_probability": found.log_probability}
    emit(
        options,
        {**evidence, **answer},
        lambda: table(["variable", "state"], list(found.items())) + f"\n\nprobability {found.probability:.6g}",
    )


def _tell_joint(options: Namespace, found: Distribution, evidence: dict[str, Any]) -> None:
    joint = list(itertools.product(*(v.states for v in found.variables)))
    numbers = found.values.ravel().tolist()
    rows = [{"states": dict(zip(found.names, states)), "p": p} for states, p in zip(joint, numbers, strict=True)]
    emit(
        options,
        {"targets": list(found.names), **evidence, "distribution": rows},
        lambda: table([*found.names, "p"], [[*map(str, states), p] for states, p in zip(joint, numbers, strict=True)]),
    )


def _tell_marginals(options: Namespace, found: Mapping[str, Distribution], evidence: dict[str, Any]) -> None:
    marginals = {name: dict(zip(of.variables[0].states, of.values.tolist(), strict=True)) for name, of in found.items()}
    rows = [[name, str(state), p] for name, of in marginals.items() for state, p in of.items()]
    emit(options, {**evidence, "marginals": marginals}, lambda: table(["variable", "state", "p"], rows))


COMMAND = Command(
    "query",
    "NETWORK [TARGET ...]",
    "The probability of variables given evidence: of one variable, of several jointly, or of each one by "
    "itself when none is named. It is exact unless another engine is named. Names and states are those of bntk info.",
    (
        Example("one variable", "bntk query asia lung --given xray=yes smoke=yes"),
        Example("two variables jointly, with uncertain evidence", "bntk query asia lung tub --soft xray=0.2,0.8"),
        Example("the most probable joint state of all others", "bntk query asia --mpe --given dysp=yes"),
        Example(
            "how probable the evidence is, for a program",
            "bntk query asia --probability --given dysp=yes xray=no --json",
        ),
    ),
    _add_options,
    _run,
)
