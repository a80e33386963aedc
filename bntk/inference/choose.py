"""Which engine runs: every threshold of inference, and every decision that is made with one.

Engines are told what to do by these functions; none of them compares a size with a limit of its own. The numbers were
measured on ordinary processors, where they are good to a factor of two or so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bntk import _checking
from bntk._memory import require as require_memory
from bntk.errors import TooLargeError

if TYPE_CHECKING:
    from bntk.inference.exact.junction import JunctionTree
    from bntk.inference.plan import Plan

EngineName = Literal["exact", "auto", "loopy", "weighting", "gibbs"]
#: The settings of each engine; those without any are exact where they can be.
SETTINGS: dict[EngineName, tuple[str, ...]] = {
    "exact": (),
    "auto": (),
    "loopy": ("damping", "max_iter", "tolerance", "schedule"),
    "weighting": ("n", "seed"),
    "gibbs": ("n", "seed", "burn_in", "chains", "thin"),
}
ENGINES = tuple(SETTINGS)
APPROXIMATE = tuple(name for name, settings in SETTINGS.items() if settings)

#: ``max_entries`` unless told otherwise: the entries of all cliques together that exact inference may run through for
#: one evidence set, what is observed left out. Only separators are stored, so that it is a limit of time rather than of
#: memory: a few seconds.
MAX_ENTRIES = 1 << 31

#: The program of the whole network answers every query up to this many clique entries: running it takes less time than
#: compiling one for a part of the network.
WHOLE_ENTRIES = 1 << 16
#: Up to this many it answers those that depend on at least one in ``PART`` of the variables: compiling takes a tenth of
#: a millisecond for each of these, running a few milliseconds.
MEDIUM_ENTRIES, PART = 1 << 20, 4

#: Variables are summed out one by one, without a junction tree, if that takes at most this many entries: for one
#: question, and for all posteriors. Making a junction tree takes longer than these; what costs more deserves one, with
#: the best of several orders, loops made for large cliques, and threads.
QUESTION_ENTRIES, POSTERIORS_ENTRIES = 1 << 22, 1 << 15
#: A network with more variables is not for numpy, so that its junction tree need not be made to find that out.
NUMPY_VARIABLES = 24

#: Cliques, entries of all of them together, and axes of a clique (what numpy allows) up to which numpy runs a tree.
NUMPY_CLIQUES, NUMPY_ENTRIES, NUMPY_AXES = 16, 1 << 12, 32
#: The same cliques and entries for a process that asks one question: numpy answers it before compiled loops are loaded.
ALONE_CLIQUES, ALONE_ENTRIES = 256, 1 << 20
#: A clique with more entries is worked on by several threads: milliseconds of work, beside which starting threads and
#: adding up what they found is little.
SPLIT_ENTRIES = 1 << 22
#: The factors of a clique with at most this many entries are multiplied beforehand.
FOLD_ENTRIES = 1 << 12

#: Compiling takes about as long as running this many entries for each variable.
RECOMPILE_ENTRIES = 50_000
#: A recompiled program is used if it has at most this part of the entries, and at most so many factors at a clique: the
#: product of more might underflow.
WORTH_RECOMPILING, MOST_FACTORS = 0.9, 32

#: Programs with at most this many entries run rows side by side; larger ones row by row, with evidence as offsets.
LANE_ENTRIES = 1 << 17

#: What eliminating the missing values of a row may cost, in nanoseconds or so, before a junction tree is considered;
#: what it may cost at most; and the number of rows for which compiling a junction tree pays.
QUICK, MOST, FEW_ROWS = 1 << 11, 1 << 18, 256
#: A junction tree of so many variables is compiled in milliseconds.
QUICKLY_COMPILED = 100
#: What all posteriors of a row cost in a junction tree, beside its probability; what one cell alone costs, in ns or so.
BOTH_WAYS, ONE_CELL = 3, 600
#: Families with zeros are looked up in a table with a state for missing values, if it has at most so many entries.
MOST_MARKS = 1 << 16

#: Joint states of the targets of a marginal MAP query up to which all of them are compared.
MAP_ENTRIES = 1 << 24
#: Clique entries times findings up to which a minimal set of clashing findings is looked for.
CLASH_ENTRIES = 1 << 26
#: Clique entries up to which it is looked for whether findings that an answer does not depend on are possible.
POSSIBLE_ENTRIES = 1 << 24
#: Entries of the conditional tables that exact sampling given evidence may store.
SAMPLING_ENTRIES = 1 << 25
#: Runs of loopy propagation that a joint distribution of several variables may take.
LOOPY_RUNS = 1 << 12


@dataclass(frozen=True)
class Options:
    """How a query is to be answered: the engine as the user named it, the limit of exact inference, and settings."""

    engine: EngineName = "exact"
    max_entries: int = MAX_ENTRIES
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _checking.one_of("engine", self.engine, ENGINES)
        _checking.limit("max_entries", self.max_entries)
        known, unknown = SETTINGS[self.engine], [*self.settings.keys() - SETTINGS[self.engine]]
        if unknown:
            rule = f"has the settings {', '.join(known)}" if known else "has no settings"
            raise ValueError(f'engine="{self.engine}" {rule}; got {", ".join(sorted(unknown))}')


#: Exact, within the limit.
EXACT = Options()

#: The engines that know the probability of the evidence, that find a most probable explanation, and that fit several
#: new beliefs at the same time. Gibbs sampling draws from the posterior alone; samples seldom hold the most probable
#: state; fitting takes answers that are not off by chance or by loops.
KNOW_PROBABILITY: tuple[EngineName, ...] = ("exact", "auto", "loopy", "weighting")
FIND_EXPLANATION: tuple[EngineName, ...] = ("exact", "auto", "loopy")
FIT_BELIEFS: tuple[EngineName, ...] = ("exact",)
#: And those that posteriors given different evidence can be compared by: the differences between samples are chance.
COMPARE: tuple[EngineName, ...] = ("exact", "auto", "loopy")


def require(chosen: Options, able: tuple[EngineName, ...], what: str) -> None:
    """Refuse an engine that cannot give an answer, and name those that can."""
    if chosen.engine not in able:
        others = " or ".join(f'"{name}"' for name in able)
        raise ValueError(f'engine="{chosen.engine}" has no {what}; use engine={others}')


def options(engine: EngineName, max_entries: int | None, settings: Mapping[str, Any]) -> Options:
    """The options of a query; ``max_entries`` is :data:`MAX_ENTRIES` unless it is given."""
    if max_entries is None and not settings and isinstance(engine, str) and engine == "exact":
        return EXACT
    return Options(engine, MAX_ENTRIES if max_entries is None else max_entries, settings)


@dataclass(frozen=True)
class EngineChoice:
    """Which engine answers a query, and why."""

    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{self.engine}: {self.reason}"


# ---- exact or approximate --------------------------------------------------------------------------------------------


def exact_or_loopy(total_entries: int, open_entries: int, max_entries: int) -> EngineChoice:
    """What ``engine="auto"`` takes: exact inference where the cliques given the evidence are within the limit.

    Beyond it loopy propagation: its answers are exact without loops and mostly close with them, it is deterministic,
    and it takes time in proportion to the tables of the network.
    """
    limit = f"the limit of {max_entries:,}"
    if total_entries <= max_entries:
        return EngineChoice("exact", f"the cliques have {total_entries:,} entries, within {limit}")
    if open_entries <= max_entries:
        return EngineChoice("exact", f"given the evidence, the cliques have {open_entries:,} entries, within {limit}")
    return EngineChoice("loopy", f"the cliques of exact inference are over {limit} entries")


def refuse_too_large(plan: Plan, max_entries: float, open_entries: int | None = None) -> None:
    """Refuse exact inference that is over the limit, with its plan and the ways out."""
    entries = plan.total_entries if open_entries is None else open_entries
    if entries > max_entries:
        left = "" if entries == plan.total_entries else f" ({entries:,} given the evidence)"
        raise TooLargeError(
            f"exact inference would need more than the {max_entries:,} clique entries allowed{left}: {plan}\n"
            "Ways out: raise the limit (max_entries), query fewer targets or give more evidence, or approximate by "
            'loopy belief propagation or sampling: engine="auto", "loopy", "weighting" or "gibbs"'
        )


#: What to do where memory does not suffice: for one evidence set, for many rows, and for rows that are drawn.
LESS_MEMORY = (
    'query fewer targets, give more evidence, or approximate: engine="loopy", "weighting" or "gibbs"; plan() shows the '
    "cost of exact inference"
)
FEWER_ROWS = "give fewer rows at a time, or fewer targets"
FEWER_DRAWS = "draw fewer rows at a time, each time with another seed"


def refuse_memory(entries: int, what: str, way_out: str, bytes_each: int = 8) -> None:
    """Refuse what does not fit into the memory that this process may still use."""
    require_memory(bytes_each * entries, what, way_out)


# ---- one evidence set ------------------------------------------------------------------------------------------------


def whole_network_serves(
    entries: int, max_entries: float = MAX_ENTRIES, part: Callable[[], float] = lambda: 0.0
) -> bool:
    """Whether the program of the whole network answers a query that depends on a part of its variables.

    The part takes time to find, so that it is found only where it matters.
    """
    within = entries <= max_entries
    return within and (entries <= WHOLE_ENTRIES or (entries <= MEDIUM_ENTRIES and PART * part() >= 1))


_alone = ContextVar("alone", default=False)


@contextmanager
def one_question() -> Iterator[None]:
    """Within this, networks are asked one question each, as by the command: what takes long to load does not pay.

    It is said by the caller, not found out, so that the last bits of an answer do not depend on what else has run.
    """
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def is_alone() -> bool:
    """Whether this is within :func:`one_question`."""
    return _alone.get()


def exact_engine(tree: JunctionTree) -> EngineChoice:
    """Numpy on a handful of small cliques, compiled loops on others.

    Handing arrays over to compiled loops takes longer than the work itself on a small tree, and a first query about a
    textbook network should not have to wait for a compiler. Only the loops can leave known variables out.
    """
    n, entries = len(tree.cliques), sum(tree.sizes)
    size = f"{n:,} clique{'s' if n > 1 else ''} with {entries:,} entries"
    most, most_entries = (ALONE_CLIQUES, ALONE_ENTRIES) if is_alone() else (NUMPY_CLIQUES, NUMPY_ENTRIES)
    few = n <= most and entries <= most_entries and not tree.known
    if few and max(map(len, tree.cliques)) <= NUMPY_AXES:
        return EngineChoice("numpy", f"{size} are too few for compiled loops to pay")
    return EngineChoice("strided", f"compiled loops over {size}")


def question_entries(n_targets: int | None, max_entries: int) -> int:
    """How many entries summing out may take; without targets it is for all posteriors."""
    return min(POSTERIORS_ENTRIES if n_targets is None else QUESTION_ENTRIES, max_entries)


def may_be_for_numpy(n_variables: int) -> bool:
    """Whether the junction tree of a network is looked at before a question about it is answered without one."""
    return n_variables <= (ALONE_CLIQUES if is_alone() else NUMPY_VARIABLES)


def summing_out(n_steps: int, entries: int) -> EngineChoice:
    """Why there is no junction tree."""
    return EngineChoice("elimination", f"compiled loops over {entries:,} entries sum out in {n_steps:,} steps")


def may_recompile(entries: int, n_variables: int, max_entries: float) -> bool:
    """Whether compiling a program anew for the variables that are observed, which shrinks the cliques, may pay."""
    return entries > min(RECOMPILE_ENTRIES * n_variables, max_entries)


def is_worth_recompiling(entries: int, left: int, most_factors: int) -> bool:
    """Whether the recompiled program is small enough beside what observation alone leaves of the other one."""
    return entries < WORTH_RECOMPILING * left and most_factors <= MOST_FACTORS


def splits(entries: int) -> bool:
    """Whether several threads work on a clique."""
    return entries > SPLIT_ENTRIES


def folds(entries: int) -> bool:
    """Whether the factors of a clique are multiplied beforehand."""
    return entries <= FOLD_ENTRIES


def explains_clash(entries: int, n_findings: int) -> bool:
    """Whether it is looked for which findings exclude each other, by one run for each finding."""
    return entries * n_findings <= CLASH_ENTRIES


def looks_for_clash(entries: int) -> bool:
    """Whether it is looked for if findings that an answer does not depend on are possible."""
    return entries <= POSSIBLE_ENTRIES


def refuse_map(entries: int, n_targets: int) -> None:
    """Refuse to compare more joint states than there is time for."""
    if entries > MAP_ENTRIES:
        raise TooLargeError(
            f"the {n_targets} targets have {entries:,} joint states, more than the {MAP_ENTRIES:,} that are compared "
            "one by one; query fewer targets or give more evidence. bn.mpe maximises over all variables and has no "
            "limit"
        )


def refuse_sampling(entries: int, text: str) -> None:
    """Refuse to store larger tables than there is room for."""
    if entries > SAMPLING_ENTRIES:
        raise TooLargeError(
            f"drawing exactly given {text} needs tables of {entries:,} entries, over the limit of "
            f"{SAMPLING_ENTRIES:,}; use likelihood_weighting or gibbs"
        )


def refuse_loopy_joint(runs: int) -> None:
    """Refuse a joint distribution by more runs of loopy propagation than there is time for."""
    if runs > LOOPY_RUNS:
        raise TooLargeError(
            f"the joint distribution would take {runs:,} runs of loopy propagation, over the limit of {LOOPY_RUNS:,}; "
            'query fewer targets, or draw samples: engine="weighting" or "gibbs"'
        )


# ---- many rows -------------------------------------------------------------------------------------------------------


def rows_engine(entries: int) -> EngineChoice:
    """Rows side by side while all entries of the cliques can be listed; one by one where evidence must shrink them."""
    if entries <= LANE_ENTRIES:
        return EngineChoice("lanes", f"{entries:,} clique entries, for 64 rows side by side")
    return EngineChoice("strided rows", f"{entries:,} clique entries are too many to list, so that rows run one by one")


def targets_engine(entries: int, n_components: int, max_entries: int) -> EngineChoice:
    """A junction tree of several targets given the other cells of a row, or loopy propagation where it is too large."""
    times = f" for each of {n_components:,} components" if n_components > 1 else ""
    if entries * n_components <= max_entries:
        return EngineChoice("exact", f"the cliques of the targets have {entries:,} entries{times}")
    size = f"the cliques of the targets would have {entries:,} entries{times}"
    return EngineChoice("loopy belief propagation", f"{size}, over the limit of {max_entries:,} (max_entries)")


def refuse_joint_table(choice: EngineChoice, n_targets: int, n_states: int) -> None:
    """Refuse a table of all joint states of the targets where exact inference does not hold it."""
    if choice.engine != "exact":
        raise TooLargeError(f"the {n_targets} targets have {n_states:,} joint states: {choice.reason}")


def first_budget() -> int:
    """What a row may cost in the first round of elimination."""
    return QUICK


def second_budget(n_left: int, tree_cost: int | None) -> int | None:
    """What the rows that are left may cost in the second round; None if a junction tree answers them as fast.

    ``tree_cost`` is what a row costs there, about a nanosecond for each entry; None if it is not known.
    """
    budget = MOST if tree_cost is None else min(MOST, tree_cost)
    return budget if n_left and budget > QUICK else None


def compares_with_tree(n_left: int, n_variables: int) -> bool:
    """Whether compiling a junction tree pays for so many rows, to compare with its cost.

    In all but large networks it is compared for any number of rows, so that the last bits of a row's answer do not
    depend on how many others there are.
    """
    return n_left > 0 and (n_variables <= QUICKLY_COMPILED or n_left >= FEW_ROWS)


def serves_rows(entries: int) -> bool:
    """Whether rows are answered by the program of the whole network, rather than by one for what they depend on.

    It depends on the network alone, so that the last bits of a row's answer do not depend on the rows beside it.
    """
    return whole_network_serves(entries)


def all_marginals_at_once(n_rows: int, n_missing: int, tree_cost: int) -> bool:
    """Whether all posteriors of each row from a junction tree cost less than one elimination for each missing value."""
    return BOTH_WAYS * n_rows * tree_cost < ONE_CELL * n_missing


def marks_zeros(shape: tuple[int, ...]) -> bool:
    """Whether the zeros of a family are kept as a table with one more state for missing values in each axis."""
    return math.prod(length + 1 for length in shape) <= MOST_MARKS
