"""``bntk compare``: two networks, by their arcs, tables and distributions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from bntk.cli.command import Command, Example
from bntk.cli.inputs import load_network
from bntk.cli.options import add_json, add_network, positive
from bntk.cli.output import emit, facts, note, shortened, table
from bntk.errors import NetworkError

if TYPE_CHECKING:
    from bntk.network import BayesianNetwork


def _add_options(parser: ArgumentParser) -> None:
    add_network(parser, "first")
    add_network(parser, "second")
    parser.add_argument("--most", type=positive, default=20, metavar="N", help="variables to show (default 20)")
    add_json(parser)


def _run(options: Namespace) -> None:
    first, second = load_network(options.first), load_network(options.second)
    document = {
        "first": options.first,
        "second": options.second,
        **_variables(first, second),
        **_arcs(first, second),
        **_distributions(first, second),
    }
    emit(options, document, lambda: _text(document, options.most))


def _variables(first: BayesianNetwork, second: BayesianNetwork) -> dict[str, Any]:
    shared = [name for name in first.names if name in second.names]
    return {
        "shared": shared,
        "only_first": [name for name in first.names if name not in shared],
        "only_second": [name for name in second.names if name not in shared],
        "other_states": [name for name in shared if first.variable(name).states != second.variable(name).states],
    }


def _arcs(first: BayesianNetwork, second: BayesianNetwork) -> dict[str, Any]:
    """The arcs among the variables that both have."""
    shared = [name for name in first.names if name in second.names]
    one, two = first.dag.subgraph(shared), second.dag.subgraph(shared)
    found = two.compare(one)
    return {
        "arcs_of_both": found.correct,
        "arcs_of_first": found.missing,
        "arcs_of_second": found.added,
        "reversed_in_second": found.reversed,
        "equivalent": one.is_equivalent(two),
        "hamming_distance": one.shd(two),
    }


def _distributions(first: BayesianNetwork, second: BayesianNetwork) -> dict[str, Any]:
    try:
        found = first.divergence(second)
    except NetworkError as error:
        note(f"the distributions are not compared: {error}")
        return {"divergence": None, "families": None}
    families = [
        {"variable": name, "divergence": divergence, "difference": difference}
        for name, divergence, difference in zip(
            found.index, found["divergence"].tolist(), found["difference"].tolist(), strict=True
        )
    ]
    return {"divergence": float(found["divergence"].sum()), "families": families}


def _text(document: dict[str, Any], most: int) -> str:
    def arcs(key: str) -> str | None:
        listed = [f"{tail} -> {head}" for tail, head in document[key]]
        return f"{len(listed)}: {shortened(listed, 12)}" if listed else None

    pairs = [
        ("variables of both", len(document["shared"])),
        ("only in the first", shortened(document["only_first"], 12) or None),
        ("only in the second", shortened(document["only_second"], 12) or None),
        ("with other states", shortened(document["other_states"], 12) or None),
        ("arcs of both", len(document["arcs_of_both"])),
        ("only in the first", arcs("arcs_of_first")),
        ("only in the second", arcs("arcs_of_second")),
        ("reversed in the second", arcs("reversed_in_second")),
        ("equivalent", document["equivalent"]),
        ("Hamming distance", document["hamming_distance"]),
        ("KL(first || second)", document["divergence"]),
    ]
    if document["families"] is None:
        return facts(pairs)
    rows = [
        [part["variable"], part["divergence"], part["difference"] if part["difference"] == part["difference"] else None]
        for part in document["families"]
        if part["divergence"] != 0 or part["difference"] != 0
    ]
    if not rows:
        return facts(pairs) + "\n\nall tables are the same"
    hidden = f"\n... {len(rows) - most:,} more variables differ (--most N)" if len(rows) > most else ""
    return facts(pairs) + "\n\n" + table(["variable", "divergence", "largest difference"], rows[:most]) + hidden


COMMAND = Command(
    "compare",
    "NETWORK NETWORK",
    "Compare two networks. Arcs are those among the variables that both have; the Hamming distance is that of their "
    "equivalence classes. If variables and states are the same, the divergence is KL(first || second) in nats, the sum "
    "over the variables of what each adds to it, and the largest difference is that of two entries of a table (none if "
    "the parents differ). Several classifiers are compared by bntk evaluate.",
    (
        Example("a network and the one that it was learned from", "bntk compare asia asia.bif"),
        Example("for programs", "bntk compare asia.bif dysp.json --json"),
    ),
    _add_options,
    _run,
)
