"""Rows with missing values by variable elimination: look-ups and small sums, at a cost that depends on each row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bntk._arrays import read_only
from bntk._threads import n_threads, run_parallel, spans
from bntk.inference import choose
from bntk.inference.elimination.flat import FlatFamilies, flat_tables, lines_of, network_families, strides_of
from bntk.inference.engines import Codes, Floats
from bntk.inference.exact.program import whole_entries
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    from bntk.inference.elimination.elimination_kernels import Block, Families, Lookups, Room

#: Logs that are lower are taken apart from the differences between the states of a target.
LARGE_LOG = -30.0
#: Rows that one piece of counting has, whatever the number of threads.
ROWS_A_PIECE = 1024
#: The most rows that one piece of scoring has.
MOST_ROWS_A_PIECE = 8192


class Answer(NamedTuple):
    """One line per row, and which rows were too large to be answered."""

    values: Floats
    too_large: NDArray[np.bool_]


def posterior_by_elimination(network: BayesianNetwork, codes: Codes, target: int) -> Answer:
    """The posterior of one variable in each row of codes, its own column ignored; NaN where a row is impossible."""
    return _within_budget(network, codes, target, normalise=True)


def log_joint_by_elimination(network: BayesianNetwork, codes: Codes, target: int | None) -> Answer:
    """log P(target, observed cells) for each row and state of the target; without one, log P(observed cells)."""
    return _within_budget(network, codes, target, normalise=False)


def quick_posterior(network: BayesianNetwork, codes: Codes, target: int) -> Answer:
    """As :func:`posterior_by_elimination`, where rows that cost much need no answer: no junction tree is planned."""
    return _scores(network, codes, target, choose.MOST, normalise=True)


def _within_budget(network: BayesianNetwork, codes: Codes, target: int | None, normalise: bool) -> Answer:
    """The rows that cost little at once; of the others those that a junction tree would not answer faster."""
    answer = _scores(network, codes, target, choose.first_budget(), normalise)
    left = np.flatnonzero(answer.too_large)
    budget = second_budget(left.size, lambda: whole_entries(network), len(network.cpts))
    if budget is not None:
        again = _scores(network, np.take(codes, left, axis=1), target, budget, normalise)
        answer.values[left], answer.too_large[left] = again
    return answer


def second_budget(n_left: int, tree_cost: Callable[[], int], n_variables: int) -> int | None:
    """What the rows that are left may cost; the cost in a junction tree is found out if there are many of them."""
    return choose.second_budget(n_left, tree_cost() if choose.compares_with_tree(n_left, n_variables) else None)


def _scores(network: BayesianNetwork, codes: Codes, target: int | None, budget: int, normalise: bool) -> Answer:
    from bntk.inference.elimination.elimination_kernels import BLOCK, look_up_rows, score_rows

    codes = read_only(codes)
    families = families_of(network)
    lookups, supports = _tables_of(network, target, all_families=not normalise)
    width = 1 if target is None else network.cpts[target].child.n_states
    answer = Answer(np.empty((codes.shape[1], width)), np.zeros(codes.shape[1], dtype=np.bool_))
    open_blocks = np.zeros(-(-codes.shape[1] // BLOCK), dtype=np.bool_)
    what = (families, lookups, supports, -1 if target is None else target, budget, normalise)

    def work(span: tuple[int, int]) -> None:
        entry, rest = np.empty(BLOCK, np.int32), np.empty(BLOCK)
        if look_up_rows(
            codes, *span, families.cards, lookups, supports, normalise, entry, rest, answer.values, open_blocks
        ):
            score_rows(codes, *span, open_blocks, *what, *working_memory(families, width, budget), *answer)

    pieces = max(4 * n_threads(), -(-codes.shape[1] // MOST_ROWS_A_PIECE))
    run_parallel(work, spans(codes.shape[1], pieces, multiple=1024))
    return answer


class Expected(NamedTuple):
    """Expected counts, a log-likelihood, and which rows were left out: too large, or with numbers too small."""

    counts: Floats
    log_z: float
    left: NDArray[np.bool_]


class ExpectedCounts:
    """The E-step of EM for the cells of families with missing values, for one set of rows and changing tables.

    Parameters
    ----------
    families : Families
        See :func:`families_around`; with any numbers in its tables.
    codes : array of int, shape (n_variables, n_rows)
    weights : array
        A non-negative weight for each row.
    budget : int
        What a row may cost.

    Attributes
    ----------
    too_large : array of bool
        The rows that are not counted.
    """

    def __init__(self, families: Families, codes: Codes, weights: Floats, budget: int) -> None:
        self._families, self._budget = families, budget
        self._codes, self._weights = read_only(codes), weights
        self.too_large = self.count(np.ones(families.tables.size)).left
        kept = ~self.too_large
        self._codes, self._weights = read_only(codes[:, kept]), weights[kept]

    def with_weights(self, weights: Floats) -> ExpectedCounts:
        """The same rows with other weights, one for each row that was given."""
        other = copy.copy(self)
        other._weights = weights[~self.too_large]
        return other

    def count(self, tables: Floats) -> Expected:
        """The expected counts, flat as the tables, and the log of the probabilities of all components."""
        from bntk.inference.elimination.elimination_kernels import count_rows

        families = self._families._replace(tables=tables)
        log_low = float(np.log(tables.min(initial=1.0, where=tables > 0)))
        left = np.zeros(self._codes.shape[1], dtype=np.bool_)

        def work(span: tuple[int, int]) -> tuple[Floats, float]:
            block, room = working_memory(families, 1, self._budget)
            beliefs = np.zeros(room.data.size)
            state = (families, self._budget, log_low, block, room, beliefs, left)
            log_z = count_rows(self._codes, self._weights, *span, *state)
            return beliefs[: tables.size], log_z

        n_rows = self._codes.shape[1]
        pieces = run_parallel(work, spans(n_rows, -(-n_rows // ROWS_A_PIECE), ROWS_A_PIECE))
        counts = np.sum([np.zeros(tables.size), *(counts for counts, _ in pieces)], axis=0)
        return Expected(counts, float(sum(log_z for _, log_z in pieces)), left)


# ---- flat forms ------------------------------------------------------------------------------------------------------


def families_of(network: BayesianNetwork) -> Families:
    """The families of a network for the kernels, made once."""
    if "elimination" not in network._cache:
        tables = flat_tables(network, np.asarray)
        network._cache["elimination"] = families_around(
            network_families(network), network.dag.topological_indices, tables
        )
    families: Families = network._cache["elimination"]
    return families


def families_around(flat: FlatFamilies, order: Iterable[int], tables: Floats) -> Families:
    """Families for the kernels, one for each variable, listed around each variable: its own, those of its children."""
    from bntk.inference.elimination.elimination_kernels import Families

    lines = lines_of(flat)
    around = [list(line) for line in lines]
    for line in lines:
        for parent in line[3:-2:2]:
            around[parent] += line
    return Families(flat.cards.astype(np.int32), np.fromiter(order, np.int32), *_joined(around), tables)


def _tables_of(network: BayesianNetwork, target: int | None, all_families: bool) -> tuple[Lookups, Lookups]:
    """The log tables and the zeros that an answer depends on, made once for each target.

    A posterior depends on families with the target, and on those with zeros: they can make a row impossible.
    """
    key = ("lookups", target, all_families)
    if key not in network._cache:
        flat, cpts, upwards = network_families(network), network.cpts, reversed(network.dag.topological_indices)
        needed = np.logical_or.reduceat(flat.members == (-1 if target is None else target), flat.starts[:-1])
        zeros = np.logical_or.reduceat(families_of(network).tables == 0, flat.offsets) & ~needed
        marked = [v for v in upwards if zeros[v] and not all_families and choose.marks_zeros(cpts[v].values.shape)]
        needed |= zeros | all_families
        needed[marked] = False
        looked_up = np.flatnonzero(needed).tolist()
        width = 1 if target is None else cpts[target].child.n_states
        with np.errstate(divide="ignore"):
            logs = [np.log(cpts[v].values) for v in looked_up]
        if target is not None:
            for v, top in _taken_apart(flat, looked_up, logs, target):
                if all_families:  # a posterior does not depend on it
                    looked_up.append(v)
                    logs.append(top)
        marks = [_what_it_says(cpts[v].values) for v in marked]
        network._cache[key] = (
            _flat_lookups(flat, looked_up, logs, target, np.zeros(width)),
            _flat_lookups(flat, marked, marks, None, np.empty(0, np.uint8)),
        )
    tables: tuple[Lookups, Lookups] = network._cache[key]
    return tables


def _taken_apart(
    flat: FlatFamilies, chosen: Sequence[int], logs: list[Floats], target: int
) -> list[tuple[int, Floats]]:
    """Make logs of tiny entries relative to the largest over the target; the families, with these largest ones.

    The sum of thousands of large logs would have fewer digits after the point than the states of the target differ in.
    """
    apart = []
    for i, v in enumerate(chosen):
        members = flat.members[flat.starts[v] : flat.starts[v + 1]].tolist()
        if target in members:
            top = logs[i].max(axis=members.index(target), keepdims=True)
            top = np.where(np.isfinite(top), top, 0.0)
            if top.min() < LARGE_LOG:
                logs[i] = logs[i] - top
                apart.append((v, top.squeeze(axis=members.index(target))))
    return apart


def _flat_lookups(
    flat: FlatFamilies, chosen: Sequence[int], tables: Sequence[NDArray[Any]], target: int | None, first: NDArray[Any]
) -> Lookups:
    """The tables of some families for the kernels, behind some ``first`` entries; one may lack the target."""
    from bntk.inference.elimination.elimination_kernels import Lookups

    members, strides, has_target, flat_tables = [], [], [], [first]
    for v, table in zip(chosen, tables, strict=True):
        family = flat.members[flat.starts[v] : flat.starts[v + 1]].tolist()
        has_target.append(target in family and table.ndim == len(family))
        if has_target[-1]:
            table = np.moveaxis(table, family.index(target), -1)
        family = [member for member in family if member != target]
        members.append(family)
        strides.append(strides_of(table.shape)[: len(family)])
        flat_tables.append(table.ravel())
    starts, joined = _joined(members)
    return Lookups(
        np.array(chosen, np.int32),
        np.array(has_target, np.bool_),
        starts,
        joined,
        _joined(strides)[1],
        np.cumsum([*map(len, flat_tables)], dtype=np.int32)[:-1],
        np.concatenate(flat_tables),
        np.unique(joined),
    )


def _what_it_says(values: Floats) -> NDArray[np.uint8]:
    """Whether a family allows nothing, something or everything, with one more state an axis for a missing value."""
    some, every = values > 0, values > 0
    for axis in range(values.ndim):
        some = np.concatenate([some, some.any(axis=axis, keepdims=True)], axis=axis)
        every = np.concatenate([every, every.all(axis=axis, keepdims=True)], axis=axis)
    return some.astype(np.uint8) + every


def working_memory(families: Families, width: int, budget: int) -> tuple[Block, Room]:
    """Working memory of one piece of work."""
    from bntk.inference.elimination import elimination_kernels as kernels
    from bntk.inference.elimination.component_kernels import MOST_FACTORS, MOST_LOCAL, N_LINES

    n, rows = families.cards.size, kernels.BLOCK
    block = kernels.Block(
        cells=np.zeros((n, rows), np.int32),
        missing=np.zeros((n, rows), np.uint8),
        live=np.zeros((n, rows), np.uint8),
        state=np.zeros((n, rows), np.int32),
        incomplete=np.zeros(n, np.bool_),
        entry=np.zeros(rows, np.int32),
        used=np.zeros(rows, np.uint8),
        keep=np.zeros(rows, np.uint8),
        doubtful=np.zeros((n, rows), np.uint8),
        scores=np.zeros((rows, width)),
        rest=np.zeros(rows),
        is_open=np.zeros(rows, np.uint8),
    )
    # A step that sums nothing out has MOST_FACTORS tables fewer and one more.
    most_tables = 2 * (n + MOST_LOCAL)
    room = kernels.Room(
        ints=np.full((N_LINES, most_tables), -1, np.int64),
        strides=np.zeros((most_tables, MOST_LOCAL), np.int64),
        outer=np.zeros((MOST_LOCAL, MOST_FACTORS), np.int64),
        scales=np.zeros(most_tables),
        product=np.ones(2 * width),
        data=np.empty(families.tables.size + n + _room(families.cards, width, budget)),
    )
    room.data[: families.tables.size] = families.tables
    room.data[families.tables.size : families.tables.size + n] = _lowest(families)
    return block, room


def _lowest(families: Families) -> Floats:
    """The smallest number of each table that is not zero."""
    begins = families.around[families.starts[:-1] + 1]
    return np.minimum.reduceat(np.where(families.tables > 0, families.tables, np.inf), begins)


def _room(cards: NDArray[np.int32], width: int, budget: int) -> int:
    """Entries that the tables made for a component may have; one variable with the target always fits."""
    return max(budget // 2, width * int(cards.max(initial=1)))


def _joined(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where each row begins when they follow each other, and all of their numbers."""
    return np.cumsum([0, *map(len, rows)], dtype=np.int32), np.fromiter(chain.from_iterable(rows), np.int32)
