"""A network, or any list of factors, compiled into a flat program: exact inference on a junction tree.

A program is planned first: its cliques and their sizes are known before anything large is allocated. Then it is run
for one evidence set (:meth:`Program.calibrate`, :meth:`Program.mpe`) or for many rows, by the engines that
:mod:`bntk.inference.choose` says. Variables are positions here; names are for messages.

Messages are divided by their largest entry, and every engine keeps a bound on how small its products can be. Where one
may be too small for a float, the same passes run in log space (:mod:`bntk.inference.exact.log_kernels`): answers keep
their digits for entries down to the smallest float and for thousands of findings. Log probabilities, and posteriors
above 1e-300, are right to 1e-9 relative.

References
----------
S. L. Lauritzen and D. J. Spiegelhalter (1988). Local computations with probabilities on graphical structures and their
application to expert systems. Journal of the Royal Statistical Society B 50, 157-224.

A. P. Dawid (1992). Applications of a general propagation algorithm for probabilistic expert systems. Statistics and
Computing 2, 25-36.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk import _checking
from bntk.errors import ArgumentError
from bntk.inference import choose
from bntk.inference.choose import MAX_ENTRIES
from bntk.inference.engines import Codes, CountingEngine, Engine, Evidence, Floats, Ints
from bntk.inference.exact.junction import JunctionTree, Output, Scope, homes, junction_tree
from bntk.inference.exact.lanes import LaneEngine
from bntk.inference.exact.small import SmallEngine
from bntk.inference.exact.strided import StridedEngine
from bntk.inference.exact.strided_rows import StridedRows, Tables, distinct_rows
from bntk.inference.plan import Plan, plan_of
from bntk.network import BayesianNetwork, a_network

#: The engines by the names that :mod:`bntk.inference.choose` has for them.
EXACT_ENGINES: dict[str, Callable[[JunctionTree, Tables], Engine]] = {"numpy": SmallEngine, "strided": StridedEngine}
ROWS_ENGINES: dict[str, Callable[[JunctionTree, Tables, Scope, Sequence[Output]], CountingEngine]] = {
    "lanes": LaneEngine,
    "strided rows": StridedRows,
}
#: For how many sets of observed variables the cliques are kept.
KEPT_TREES = 64
#: How many programs a network keeps, one for each set of targets and observed variables.
KEPT_PROGRAMS = 32


@dataclass(frozen=True)
class Factor:
    """A table of non-negative numbers with one axis for each of its variables."""

    variables: Scope
    values: Floats


class Program:
    """A compiled list of factors; make one with :func:`compile_factors` or :func:`compile_network`.

    Attributes
    ----------
    plan : Plan
    tree : JunctionTree
    cards : tuple of int
        The number of states of every variable. Variables that the tree does not have are of no concern to it.
    """

    def __init__(
        self, tree: JunctionTree, factors: Sequence[Factor], plan: Plan, must_share: Sequence[Scope] = ()
    ) -> None:
        self.tree, self.plan, self.cards = tree, plan, tree.cards
        self._factors = list(factors)
        self._must_share = tuple(must_share)
        self._outside: list[Factor] = []
        self._engines: dict[Any, CountingEngine] = {}
        self._reduced: dict[frozenset[int], Program | None] = {}

    @cached_property
    def variables(self) -> tuple[int, ...]:
        """The variables that the program is about."""
        return tuple(v for v, cliques in enumerate(self.tree.cliques_of) if cliques)

    @cached_property
    def families(self) -> frozenset[int]:
        """The children of the families that it was compiled from, if these are a network's."""
        return frozenset(factor.variables[-1] for factor in self._factors if factor.variables)

    def with_factors(self, values: Iterable[Floats]) -> Program:
        """The same program with other numbers in its factors, such as the next estimates of EM."""
        pairs = zip(self._factors, values, strict=True)
        factors = [Factor(old.variables, np.asarray(new, dtype=float)) for old, new in pairs]
        return Program(self.tree, factors, self.plan, self._must_share)

    @cached_property
    def _scaled(self) -> tuple[list[tuple[Scope, Floats]], float]:
        """The factors with largest entry 1, and the log of what they were divided by."""
        tables, log_constant = [], 0.0
        for factor in self._factors:
            top = float(factor.values.max(initial=0.0))
            log_constant += math.log(top) if top > 0 else -math.inf
            tables.append((factor.variables, factor.values / top if 0 < top != 1 else factor.values))
        return tables, log_constant

    @cached_property
    def engine(self) -> Engine:
        """What runs one evidence set."""
        return EXACT_ENGINES[choose.exact_engine(self.tree).engine](self.tree, self._scaled[0])

    # ---- one evidence set ------------------------------------------------------------------------------------

    def calibrate(
        self, likelihood: Mapping[int, ArrayLike] | Evidence | None = None, max_entries: float = math.inf
    ) -> Calibrated:
        """All posteriors and the probability of one evidence set.

        Parameters
        ----------
        likelihood : mapping of int to array, optional
            For a variable, a non-negative number for each of its states: a single 1 for an observed state, several for
            a set of states, any numbers for uncertain evidence.
        max_entries : float
            Refuse when the cliques have more entries together, those of observed variables left out.
        """
        evidence = self._evidence(likelihood)
        return Calibrated(self._for_evidence(evidence, max_entries), evidence, self)

    def mpe(
        self, likelihood: Mapping[int, ArrayLike] | Evidence | None = None, max_entries: float = math.inf
    ) -> tuple[Ints, float]:
        """A most probable state of every variable given the evidence, and the log of their joint probability.

        Ties go to the lowest state. Without any possible state the log is -inf, and unobserved states are -1.
        """
        evidence = self._evidence(likelihood)
        program = self._for_evidence(evidence, max_entries)
        log_constant = program._log_constant(evidence.observed)
        if log_constant == -math.inf:
            return evidence.observed, -math.inf
        states, log_top = program.engine.mpe(evidence)
        return states, log_top + log_constant

    def _evidence(self, likelihood: Mapping[int, ArrayLike] | Evidence | None) -> Evidence:
        return likelihood if isinstance(likelihood, Evidence) else Evidence.of(likelihood or {}, len(self.cards))

    def _for_evidence(self, evidence: Evidence, max_entries: float) -> Program:
        if not self._may_recompile(self.plan.total_entries, max_entries):
            return self
        observed = frozenset(np.flatnonzero(evidence.observed >= 0).tolist())
        program = self.given(observed, max_entries)
        choose.refuse_too_large(self.plan, max_entries, sum(program.tree.open_sizes(observed)))
        return program

    def _may_recompile(self, entries: int, max_entries: float) -> bool:
        return choose.may_recompile(entries, len(self.variables), max_entries)

    def given(self, observed: frozenset[int], max_entries: float = math.inf) -> Program:
        """This program, or if it is large the one compiled for the variables that are observed."""
        known = observed & frozenset(self.variables)
        if not known or not self._may_recompile(self.plan.total_entries, max_entries):
            return self
        left = sum(self.tree.open_sizes(known))
        if not self._may_recompile(left, max_entries):
            return self
        if known not in self._reduced:
            if len(self._reduced) >= KEPT_TREES:
                self._reduced.pop(next(iter(self._reduced)))
            self._reduced[known] = self._reduced_program(known, left)
        return self._reduced[known] or self

    def plan_given(self, observed: Iterable[int], max_entries: float = math.inf) -> Plan:
        """The plan, with the sizes that are left when some variables are observed, and the engine that runs them."""
        known = frozenset(observed)
        tree = self.given(known, max_entries).tree
        sizes, choice = tree.open_sizes(known), choose.exact_engine(tree)
        plan = replace(self.plan, engine=choice.engine, reason=choice.reason)
        return replace(plan, open_entries=sum(sizes), largest_open=max(sizes))

    def _reduced_program(self, known: frozenset[int], left: int) -> Program | None:
        """The program on a tree that need not connect what known variables separate, if it is worth having.

        Known variables are axes of the cliques that read them, so that it serves whatever their states are.
        """
        rest = [v for v in self.variables if v not in known]
        inside = [factor for factor in self._factors if not known.issuperset(factor.variables)]
        scopes = [tuple(v for v in factor.variables if v not in known) for factor in inside]
        shared = [tuple(v for v in scope if v not in known) for scope in self._must_share]
        plain = junction_tree([*scopes, *filter(None, shared)], self.cards, rest)
        crowd = max(map(len, homes(plain, scopes)))
        if not choose.is_worth_recompiling(sum(plain.sizes), left, crowd):
            return None
        tree = plain.with_known([factor.variables for factor in inside], known)
        reduced = Program(tree, inside, self.plan)
        reduced._outside = [factor for factor in self._factors if known.issuperset(factor.variables)]
        return reduced

    def _log_constant(self, observed: Ints) -> float:
        """The log of what is multiplied outside the tree: scales, and factors of which all variables are known."""
        numbers = [float(factor.values[tuple(observed[list(factor.variables)])]) for factor in self._outside]
        return self._scaled[1] + sum(math.log(x) if x > 0 else -math.inf for x in numbers)

    # ---- many rows -------------------------------------------------------------------------------------------

    def posterior_rows(self, codes: Codes, target: int) -> Floats:
        """The posterior of one variable for each row; NaN for rows without probability.

        Parameters
        ----------
        codes : array of int, shape (n_variables, n_rows)
            Observed states, as in ``bntk.Table.codes``: the number of states stands for a missing value.
        target : int

        Returns
        -------
        ndarray of shape (n_rows, number of states of the target)
        """
        return self._run_rows(codes, self.tree.smallest_clique((target,)), (target,))[0]

    def marginals_rows(self, codes: Codes, targets: Sequence[int] | None = None) -> list[Floats]:
        """The posteriors of several variables (all by default), each of shape (n_rows, number of states)."""
        targets = self.variables if targets is None else targets
        if not targets:
            return []
        joined = self._run_rows(codes, outputs=self._outputs([(target,) for target in targets]))[0]
        return np.split(joined, np.cumsum([self.cards[target] for target in targets])[:-1], axis=1)

    def log_z_rows(self, codes: Codes) -> Floats:
        """The log probability of each row's observed cells; -inf where it is zero."""
        return self._run_rows(codes)[1] + self._scaled[1]

    def mpe_rows(self, codes: Codes) -> tuple[Codes, Floats]:
        """The codes with missing cells filled in by a most probable explanation, and its log probability.

        Rows without probability stay as they are, with a log of -inf.
        """
        kinds, inverse = self._kinds(codes)
        filled, log_top = self.rows_engine().explain(kinds)
        unused = [v for v, cliques in enumerate(self.tree.cliques_of) if not cliques]
        filled = filled[:, inverse]
        filled[unused] = codes[unused]
        return filled, log_top[inverse] + self._scaled[1]

    def expected_counts(
        self, codes: Codes, families: Sequence[Scope], weights: Floats | None = None
    ) -> tuple[list[Floats], float]:
        """The sum over rows of P(family | row), and the log-likelihood: the E-step of EM.

        Parameters
        ----------
        codes : array of int, shape (n_variables, n_rows)
        families : sequence of tuples of int
            Each within one clique, as the scope of every factor is; the axes of its table are in the order given.
        weights : array, optional
            A non-negative weight for each row.

        Returns
        -------
        list of ndarray, float
            Rows without probability add nothing to the counts, and make the log-likelihood -inf.
        """
        kinds, inverse = self._kinds(codes)
        repeats = np.bincount(inverse, weights, minlength=kinds.shape[1]).astype(float)
        flat, log_z = self.rows_engine(outputs=self._outputs(families)).count(kinds, repeats)
        sizes = [self.tree.entries(family) for family in families]
        parts = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
        counts = [part.reshape([self.cards[v] for v in family]) for part, family in zip(parts, families, strict=True)]
        return counts, log_z + self._scaled[1] * float(repeats.sum())

    def rows_engine(self, root: int = 0, root_scope: Scope = (), outputs: tuple[Output, ...] = ()) -> CountingEngine:
        """What runs many rows: the engine with the given root and outputs, made once for these."""
        key = (root, root_scope, outputs)
        if key not in self._engines:
            kind = ROWS_ENGINES[choose.rows_engine(self.plan.total_entries).engine]
            self._engines[key] = kind(self.tree.rooted_at(root), self._scaled[0], root_scope, outputs)
        return self._engines[key]

    def _outputs(self, scopes: Iterable[Scope]) -> tuple[Output, ...]:
        return tuple(Output(tuple(scope), self.tree.smallest_clique(tuple(scope))) for scope in scopes)

    def _run_rows(
        self, codes: Codes, root: int = 0, root_scope: Scope = (), outputs: tuple[Output, ...] = ()
    ) -> tuple[Floats, Floats]:
        """The tables and the log of each row, each kind of row run once."""
        kinds, inverse = self._kinds(codes)
        tables, log_z = self.rows_engine(root, root_scope, outputs).run(kinds)
        return (tables, log_z) if len(log_z) == codes.shape[1] else (tables[inverse], log_z[inverse])

    def _kinds(self, codes: Codes) -> tuple[Codes, Ints]:
        """The rows that differ in a variable of the program, as a fresh array, and for every row which it is like."""
        all_used = len(self.variables) == len(self.cards)
        chosen, inverse = distinct_rows(codes if all_used else codes[list(self.variables)])
        kinds = np.ascontiguousarray(codes[:, chosen], dtype=np.min_scalar_type(max(self.cards, default=0)))
        return kinds, inverse


class Calibrated:
    """The posterior of a program given one evidence set: messages sent inwards, and outwards once they are needed.

    Attributes
    ----------
    log_z : float
        The log probability of the evidence (for a Markov network, of the sum of all products); -inf when impossible.
    """

    def __init__(self, program: Program, evidence: Evidence, whole: Program) -> None:
        self._program, self._evidence, self._whole = program, evidence, whole
        log_constant = program._log_constant(evidence.observed)
        self.log_z = log_constant + evidence.log_weight
        if self.log_z > -math.inf:
            self._posterior = program.engine.calibrate(evidence)
            self.log_z = log_constant + self._posterior.log_z

    def marginal(self, variable: int) -> Floats:
        """The posterior of one variable; NaN when the evidence is impossible."""
        if self.log_z == -math.inf:
            return np.full(self._program.cards[variable], np.nan)
        return self._posterior.marginal(variable)

    def open_cliques(self) -> list[tuple[Scope, Scope]]:
        """The unobserved variables of each clique: those that its parent has as well, and the others."""
        tree, observed = self._program.tree, self._evidence.observed
        rows = []
        for clique, separator in zip(tree.cliques, tree.separators, strict=True):
            shared = tuple(v for v in separator if observed[v] < 0)
            rows.append((shared, tuple(v for v in clique if observed[v] < 0 and v not in shared)))
        return rows

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint posterior of variables that share a clique, one axis each, in the order given."""
        scope = tuple(variables)
        program, observed = self._program, self._evidence.observed
        shape = [program.cards[v] for v in scope]
        if self.log_z == -math.inf:
            return np.full(shape, np.nan)
        inside = tuple(v for v in scope if observed[v] < 0)
        if program.tree.smallest_clique(inside) < 0:  # compiled for the evidence, which takes some cliques apart
            table = self._whole.engine.calibrate(self._evidence).joint(inside)
        else:
            table = self._posterior.joint(inside)
        if len(inside) == len(scope):
            return table
        # Observed variables have the one state that was observed.
        whole = np.zeros(shape)
        whole[tuple(slice(None) if v in inside else int(observed[v]) for v in scope)] = table
        return whole


def compile_factors(
    factors: Iterable[Factor],
    cards: Sequence[int],
    *,
    names: Sequence[str] | None = None,
    variables: Sequence[int] | None = None,
    must_share: Iterable[Scope] = (),
    heuristics: Sequence[str] = ("min_fill", "weighted_min_fill", "min_weight"),
    tries: int = 4,
    seed: int = 0,
    max_entries: float = MAX_ENTRIES,
) -> Program:
    """Compile a list of factors: any non-negative tables, so that Markov networks run too.

    Parameters
    ----------
    factors : iterable of Factor
    cards : sequence of int
        The number of states of each variable.
    names : sequence of str, optional
        For messages.
    variables : sequence of int, optional
        The variables that the program is about; all by default.
    must_share : iterable of tuples of int
        Sets of variables whose joint posterior will be queried: each is put into one clique.
    heuristics, tries, seed
        As for :func:`bntk.graph.triangulation.best_elimination_order`.
    max_entries : float
        Refuse when the cliques have more entries together.

    Raises
    ------
    TooLargeError
        Before anything large is allocated.

    Examples
    --------
    >>> import numpy as np
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> program = compile_factors([Factor((0, 1), agree), Factor((1, 2), agree)], [2, 2, 2])
    >>> program.calibrate({0: [0, 1]}).marginal(2).round(3)
    array([0.444, 0.556])
    """
    factors = list(factors)
    cards = [int(card) for card in cards]
    everything = range(len(cards)) if variables is None else variables
    scopes = [factor.variables for factor in factors]
    shared = list(must_share)
    tree = junction_tree([*scopes, *shared], cards, list(everything), heuristics, tries, seed)
    plan = plan_of(tree, scopes, names)
    choose.refuse_too_large(plan, max_entries)
    return Program(tree, factors, plan, shared)


def compile_network(
    network: BayesianNetwork,
    *,
    targets: Sequence[int] | None = None,
    evidence: Sequence[int] = (),
    must_share: Iterable[Scope] = (),
    max_entries: float = MAX_ENTRIES,
) -> Program:
    """Compile a network, and keep the program with it.

    Parameters
    ----------
    network : BayesianNetwork
    targets : sequence of int, optional
        With targets, only the tables that their posterior can depend on are compiled; the probability of the evidence
        is then no longer that of the network.
    evidence : sequence of int
        The variables that are observed in every run, when there are targets.
    must_share, max_entries
        As for :func:`compile_factors`.
    """
    programs: dict[Any, Program] = a_network(network)._cache.setdefault("programs", {})
    if max_entries is not math.inf:
        _checking.limit("max_entries", max_entries)
    try:
        shared = tuple(sorted({tuple(sorted(scope)) for scope in must_share}))
        key = (None if targets is None else frozenset(targets), frozenset(evidence), shared)
        hash(key)
    except (TypeError, ValueError):
        raise ArgumentError("targets, evidence and each of must_share must be lists of positions") from None
    if key not in programs:
        _check_positions(network, {*(key[0] or ()), *key[1]}.union(*shared))
        scopes = [(*parents, node) for node, parents in enumerate(network.dag.parent_indices)]
        kept: Sequence[int] = range(len(scopes))
        if targets is not None:
            from bntk.graph.separation import bayes_ball

            kept = sorted(bayes_ball(network.dag, targets, set(evidence))[0] | {*targets})
        factors = [Factor(scopes[node], network.cpts[node].values) for node in kept]
        variables = sorted({variable for factor in factors for variable in factor.variables})
        if len(programs) >= KEPT_PROGRAMS:
            programs.pop(next(iter(programs)))
        programs[key] = compile_factors(
            factors,
            [cpt.child.n_states for cpt in network.cpts],
            names=network.names,
            variables=variables,
            must_share=shared,
            max_entries=max_entries,
        )
    choose.refuse_too_large(programs[key].plan, max_entries)  # it may have been compiled under a higher limit
    return programs[key]


def _check_positions(network: BayesianNetwork, positions: Iterable[Any]) -> None:
    for position in positions:
        _checking.whole_number("each of targets, evidence and must_share", position, 0, len(network.cpts) - 1)


def whole_entries(network: BayesianNetwork) -> int:
    """Clique entries of the program of a whole network, and about what a row costs there in nanoseconds.

    The number is kept even when the program no longer is.
    """
    if "whole_entries" not in network._cache:
        network._cache["whole_entries"] = compile_network(network, max_entries=math.inf).plan.total_entries
    return int(network._cache["whole_entries"])
