"""Which rules of a space a structure breaks, and which rules contradict each other.

Most rules can only be broken by an arc too many. So the same functions say what is wrong with a whole structure and
with the required arcs alone, to which a search could only add more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bntk.errors import CycleError, SpaceError
from bntk.graph.undirected import closure
from bntk.learning.space.rules import Group, listed

if TYPE_CHECKING:
    from bntk.learning.space import Space

Matrix = NDArray[np.bool_]
Nodes = NDArray[np.bool_]
Describe = Callable[[int, int], str]


def broken_rules(space: Space, arcs: Matrix) -> list[str]:
    """A sentence for each rule that the arcs of an acyclic structure break."""
    return [*_too_much(space, arcs, _plain(space)), *_too_little(space, arcs)]


def refuse_contradictions(space: Space) -> None:
    """Raise an error that names the clash when no structure can keep all the rules.

    Every clash of the required and compulsory arcs with single rules is found, and trees and stars that the allowed
    arcs cannot connect.
    """
    try:
        arcs = space._required_dag.adjacency()
    except CycleError as error:
        raise SpaceError(
            f"the required and compulsory arcs form a cycle: {' -> '.join(error.cycle)};"
            " let go of one of them, or turn it around"
        ) from None
    clashes = [*_too_much(space, arcs, _with_origin(space))]
    clashes = clashes or [*_unconnectable(space)]
    if clashes:
        raise SpaceError(f"the constraints contradict each other: {'; '.join(clashes[:4])}{_and_more(clashes[4:])}")
    unsupported = next(_links_inside_spans(space), None)
    if (
        unsupported is not None
    ):  # structures may well exist, but single moves could not be told legal one rule at a time
        raise SpaceError(f"this combination of rules is not supported: {unsupported}")


def _and_more(left_out: list[str]) -> str:
    return f"; and {len(left_out)} more" if left_out else ""


# How an arc is named in a sentence


def _plain(space: Space) -> Describe:
    return lambda tail, head: f"{space.nodes[tail]} -> {space.nodes[head]}"


def _with_origin(space: Space) -> Describe:
    """Names an arc and says why it must be there."""
    required, plain = set(space.required), _plain(space)

    def describe(tail: int, head: int) -> str:
        if (space.nodes[tail], space.nodes[head]) in required:
            return f"the required arc {plain(tail, head)}"
        for link, (tails, heads) in zip(space.links, space._ends):
            if link.mode == "all" and tails[tail] and heads[head]:
                return f"the arc {plain(tail, head)} ({link})"
        return f"the arc {plain(tail, head)} of a star"

    return describe


# Arcs too many


def _too_much(space: Space, arcs: Matrix, describe: Describe) -> Iterator[str]:
    yield from _excluded_arcs(space, arcs, describe)
    yield from _too_many_parents(space, arcs)
    for group, member in zip(space.groups, space._members):
        inside = _inside(arcs, member)
        if group.shape == "polytree":
            yield from _skeleton_cycle(space, group, inside)
        hubs = np.flatnonzero(inside.any(axis=1))
        if group.shape == "star" and len(hubs) > 1:
            yield f"{_names(space, hubs)} are parents at once in the {group}"


def _excluded_arcs(space: Space, arcs: Matrix, describe: Describe) -> Iterator[str]:
    """The arcs that a rule excludes whatever the other arcs are."""

    def found(excluded: Matrix, why: str) -> Iterator[str]:
        for tail, head in np.argwhere(arcs & excluded).tolist():
            yield f"{describe(tail, head)} {why}"

    yield from found(space._arc_matrix(space.forbidden), "is forbidden")
    yield from found(space._against_tiers, "goes from a later tier into an earlier one")
    if not space.free:
        yield from found(~space._covered, "joins nodes that no group and no link speaks of")
    for group, member in zip(space.groups, space._members):
        if group.shape == "empty":
            yield from found(np.outer(member, member), f"lies in the {group}")
        if group.root is not None:
            root = space._member([group.root])
            yield from found(np.outer(member, root), f"goes into the root of the {group}")
            if group.shape == "star":
                yield from found(np.outer(member & ~root, member), f"does not begin at the root of the {group}")
    for link, (tails, heads) in zip(space.links, space._ends):
        yield from found(np.outer(heads, tails), f"goes against the direction of a link ({link})")
        if link.mode == "none":
            yield from found(np.outer(tails, heads), f"is excluded by a link ({link})")


def _too_many_parents(space: Space, arcs: Matrix) -> Iterator[str]:
    for quota in space.quotas:
        counts = quota.counts(arcs)
        for head in np.flatnonzero(quota.heads & (counts > quota.limits)).tolist():
            parents = _names(space, np.flatnonzero(quota.tails & arcs[:, head]))
            yield f"{space.nodes[head]} has the parents {parents}, more than {quota.limits[head]} ({quota.rule})"


def _skeleton_cycle(space: Space, group: Group, inside: Matrix) -> Iterator[str]:
    """The first cycle that the arcs of a group close when directions are ignored."""
    neighbors: list[list[int]] = [[] for _ in space.nodes]
    for tail, head in np.argwhere(inside).tolist():
        if head in closure([tail], neighbors):
            cycle = [*_path(neighbors, tail, head), tail]
            yield f"{' - '.join(space.nodes[i] for i in cycle)} is a cycle in the skeleton of the {group}"
            return
        neighbors[tail].append(head)
        neighbors[head].append(tail)


def _path(neighbors: list[list[int]], start: int, end: int) -> list[int]:
    """The path between two nodes of a tree."""
    paths = {start: [start]}
    queue = [start]
    while end not in paths:
        node = queue.pop()
        for other in neighbors[node]:
            if other not in paths:
                paths[other] = [*paths[node], other]
                queue.append(other)
    return paths[end]


# Arcs too few


def _too_little(space: Space, arcs: Matrix) -> Iterator[str]:
    describe, with_origin = _plain(space), _with_origin(space)
    for tail, head in np.argwhere(space.required_matrix & ~arcs).tolist():
        origin = with_origin(tail, head)
        why = "required" if origin.startswith("the required arc") else origin.partition("(")[2][:-1] or "a star"
        yield f"{describe(tail, head)} is missing ({why})"
    for discard in space.discards:
        kept = discard.kept(arcs)
        touched = arcs & discard.inner & ~np.outer(kept, kept)
        for head in np.flatnonzero(~kept & (touched.any(axis=0) | touched.any(axis=1))).tolist():
            tails = _names(space, np.flatnonzero(discard.tails))
            yield f"{space.nodes[head]} is discarded, having no arc from {tails}, but has other arcs"
    for group, member in zip(space.groups, space._members):
        if group.spans:
            kept = kept_members(space, member, arcs)
            roots = np.flatnonzero(kept & ~_inside(arcs, member).any(axis=0))
            if len(roots) > 1:
                yield f"{_names(space, roots)} have no parent in the {group}, which has one root"


def kept_members(space: Space, member: Nodes, arcs: Matrix) -> Nodes:
    """The nodes of a group that no link has discarded."""
    kept = member.copy()
    for discard in space.discards:
        kept &= discard.kept(arcs)
    return kept


# Trees and stars that cannot be


def _unconnectable(space: Space) -> Iterator[str]:
    """Trees and stars whose nodes the allowed arcs cannot bring under one root."""
    for group, member in zip(space.groups, space._members):
        inside = _inside(space.allowed, member)
        required = _inside(space.required_matrix, member)
        touched = required.any(axis=0) | required.any(axis=1)
        needed = kept_members(space, member, space.required_matrix) | touched
        if not group.spans or needed.sum() < 2:
            continue
        children = [np.flatnonzero(row).tolist() for row in inside]
        missed: dict[int, Nodes] = {}
        for root in np.flatnonzero(member & ~required.any(axis=0)).tolist():
            missed[root] = needed & ~_reached_from(children, root, group.shape)
            if not missed[root].any():
                break
        else:
            root = min(missed, key=lambda root: int(missed[root].sum()))
            names = _names(space, np.flatnonzero(missed[root]))
            yield f"the {group} cannot be connected: from {space.nodes[root]} no allowed arcs lead to {names}"


def _reached_from(children: list[list[int]], root: int, shape: str) -> Nodes:
    found = np.zeros(len(children), dtype=bool)
    found[[root, *children[root]] if shape == "star" else list(closure([root], children))] = True
    return found


def _links_inside_spans(space: Space) -> Iterator[str]:
    """Discarding links between nodes of one tree or star: an arc could then both belong to it and change its nodes."""
    for group, member in zip(space.groups, space._members):
        for discard in space.discards if group.spans else ():
            if (member & discard.tails).any() and (member & discard.heads).any():
                yield f"a discarding link cannot join two nodes of one {group.shape} ({group})"


def _inside(arcs: Matrix, member: Nodes) -> Matrix:
    return arcs & np.outer(member, member)


def _names(space: Space, positions: NDArray[np.int64]) -> str:
    return listed(space.nodes[i] for i in positions.tolist())
