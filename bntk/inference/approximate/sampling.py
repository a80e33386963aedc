"""Drawing rows from a network, with or without evidence.

Every random number is made from the seed, a variable's position and a counter, so that results do not depend on the
number of threads.

References
----------
M. Henrion (1988). Propagating uncertainty in Bayesian networks by probabilistic logic sampling. UAI 2, 149-163.

R. Fung and K.-C. Chang (1990). Weighing and integrating evidence for stochastic simulation in Bayesian networks. UAI 5,
209-220.

J. Pearl (1987). Evidential reasoning using stochastic simulation of causal models. Artificial Intelligence 32, 245-257.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.data.table import Table, code_dtype
from bntk.errors import DataError, ImpossibleEvidence
from bntk.inference import choose
from bntk.inference.approximate.samples import ChainSample, WeightedSample
from bntk.inference.elimination.flat import FlatFamilies, flat_families, flat_tables, network_families
from bntk.inference.engines import Floats, Ints
from bntk.inference.evidence import Findings, Given, read_findings
from bntk.inference.exact.program import compile_network
from bntk.network import BayesianNetwork, a_network

_WORD = 2**64 - 1
#: Rows among which chains look for a possible start.
START_ROWS = 1 << 14
#: More rows, chains or sweeps are taken for a mistake.
MOST_ROWS = 10**12
#: Cells that a chain draws at a time.
CELLS_A_TURN = 1 << 20


@says_what_to_do(choose.FEWER_DRAWS)
def sample(
    network: BayesianNetwork, n: int, seed: int = 0, given: Given | None = None, soft: Given | None = None
) -> Table:
    """Draw ``n`` independent rows from P(all variables | evidence), see :meth:`bntk.BayesianNetwork.sample`."""
    findings = read_findings(a_network(network), given, soft)
    if not findings.vectors:
        return forward_sample(network, n, seed)
    observed = findings.observed
    closed = all(v in observed and {*network.dag.parent_indices[v]} <= {*observed} for v in findings.vectors)
    if closed:  # all rows have the same weight
        _refuse_impossible(network, findings)
        return _weighted_rows(network, findings, n, seed).table
    return _sample_cliques(network, findings, n, seed)


def forward_sample(network: BayesianNetwork, n: int, seed: int) -> Table:
    """Draw ``n`` rows, parents before children (logic sampling, Henrion 1988).

    Every cell has its own random number, made from the seed, the variable's position and the row by SplitMix64:
    the rows do not depend on the number of threads, and the first rows of a longer sample are the shorter one.
    """
    if "cumulative" not in a_network(network)._cache:
        network._cache["cumulative"] = flat_tables(network, _cumulative)
    return _draw(network, network_families(network), network._cache["cumulative"], _topological(network), n, seed)


@says_what_to_do(choose.FEWER_DRAWS)
def likelihood_weighting(
    network: BayesianNetwork,
    given: Given | Findings | None = None,
    n: int = 10_000,
    seed: int = 0,
    *,
    soft: Given | None = None,
) -> WeightedSample:
    """Draw weighted rows given evidence, by likelihood weighting.

    A variable with evidence is drawn from P(state | parents) times the likelihood of the state, and the row's weight is
    multiplied by the sum of that over the states; an observed variable has a single state left.

    Parameters
    ----------
    network : BayesianNetwork
        The network.
    given : mapping, optional
        Evidence, see :meth:`bntk.BayesianNetwork.query`.
    n : int
        The number of rows.
    seed : int
        The same seed gives the same rows.
    soft : mapping, optional
        Likelihoods per variable, see :meth:`bntk.BayesianNetwork.query`.

    Raises
    ------
    ImpossibleEvidence
        When all weights are zero and the evidence is known to be impossible.
    DataError
        When all weights are zero and it may not be.

    Examples
    --------
    >>> import bntk
    >>> found = likelihood_weighting(bntk.datasets.sprinkler(), {"wet": "yes"}, n=20_000)
    >>> found.marginal("rain").values.round(2), found.standard_error("rain").round(3)
    (array([0.3, 0.7]), array([0.004, 0.004]))
    """
    n, seed = _checking.whole_number("n", n, 1, MOST_ROWS), _checking.seed(seed)
    findings = read_findings(a_network(network), given, soft)
    found = _weighted_rows(network, findings, n, seed)
    if np.max(found.log_weights) == -math.inf:
        raise _no_possible_row(network, findings, n)
    return found


@says_what_to_do(choose.FEWER_DRAWS)
def gibbs(
    network: BayesianNetwork,
    given: Given | Findings | None = None,
    n: int = 10_000,
    *,
    burn_in: int = 200,
    chains: int = 8,
    thin: int = 1,
    seed: int = 0,
    soft: Given | None = None,
) -> ChainSample:
    """Draw rows by Gibbs sampling: each variable in turn given all others, in several chains.

    The rows approach P(all variables | evidence) as chains grow long, provided that a chain can reach every possible
    state. Tables with zeros may prevent that, and near-zeros make it slow; ``ChainSample.may_be_stuck`` and the
    effective sample sizes show this.

    Parameters
    ----------
    network : BayesianNetwork
        The network.
    given, soft : mapping, optional
        Evidence, see :meth:`bntk.BayesianNetwork.query`.
    n : int
        Rows in all; rounded up to the same number for each chain.
    burn_in : int
        Sweeps over all variables before the first row is kept.
    chains : int
        Independent chains, started at rows drawn by likelihood weighting.
    thin : int
        One row is kept of every so many sweeps.
    seed : int
        The same seed gives the same rows.

    Examples
    --------
    >>> import bntk
    >>> found = gibbs(bntk.datasets.sprinkler(), {"wet": "yes"}, n=20_000)
    >>> found.marginal("rain").values.round(2), found.standard_error("rain").round(3)
    (array([0.29, 0.71]), array([0.007, 0.007]))
    """
    n, chains = _checking.whole_number("n", n, 1, MOST_ROWS), _checking.whole_number("chains", chains, 1, MOST_ROWS)
    burn_in = _checking.whole_number("burn_in", burn_in, 0, MOST_ROWS)
    thin, seed = _checking.whole_number("thin", thin, 1, MOST_ROWS), _checking.seed(seed)
    findings = read_findings(a_network(network), given, soft)
    length = -(-n // chains)
    codes = _room_for_rows(network, chains * length)
    _run_chains(network, findings, codes, chains, burn_in, thin, seed)
    stuck = any((cpt.values == 0).any() for cpt in network.cpts)
    return ChainSample(Table.from_codes(codes, network.variables), findings, chains, stuck)


# ---- forward ---------------------------------------------------------------------------------------------------------


def _draw(
    network: BayesianNetwork, families: FlatFamilies, cumulative: Floats, order: Ints, n: int, seed: int
) -> Table:
    """Rows drawn family by family, in the order given."""
    from bntk.inference.approximate.sampling_kernels import forward_sample as fill

    n, seed = _checking.whole_number("n", n, 0, MOST_ROWS), _checking.seed(seed)
    codes = _room_for_rows(network, n)
    children = families.members[families.starts[1:] - 1]
    keys = _keys(seed, len(network.cpts))[children]

    def work(span: tuple[int, int]) -> None:
        fill(codes, order, *families, cumulative, keys, *span)

    run_parallel(work, spans(n, pieces_for(n * len(order), n_threads()), multiple=4096))
    return Table.from_codes(codes, network.variables)


def _room_for_rows(network: BayesianNetwork, n: int) -> NDArray[Any]:
    """Codes of rows to be drawn."""
    shape, dtype = (len(network.cpts), n), code_dtype(network.variables)
    choose.refuse_memory(shape[0] * n, f"{n:,} rows of {shape[0]:,} variables", choose.FEWER_DRAWS, dtype.itemsize)
    return np.zeros(shape, dtype=dtype)


def _topological(network: BayesianNetwork) -> Ints:
    return np.array([network.dag.index(name) for name in network.dag.topological_order], dtype=np.int64)


def _cumulative(matrix: Floats) -> Floats:
    """Cumulative rows, infinite from the last possible state on: rounding can never draw an impossible one."""
    cumulative = np.cumsum(matrix, axis=1)
    r = matrix.shape[1]
    last = r - 1 - np.argmax(matrix[:, ::-1] > 0, axis=1)
    cumulative[np.arange(r) >= last[:, None]] = np.inf
    return cumulative


def _keys(seed: int, n: int) -> NDArray[np.uint64]:
    """The start of each variable's random stream, spread by numpy's seed sequence."""
    return np.random.SeedSequence(seed & _WORD).generate_state(max(n, 1), np.uint64).astype(np.uint64)


# ---- likelihood weighting --------------------------------------------------------------------------------------------


def _weighted_rows(network: BayesianNetwork, findings: Findings, n: int, seed: int) -> WeightedSample:
    """Rows and their log weights; the weights may all be zero."""
    tables = []
    for node, cpt in enumerate(network.cpts):
        vector = findings.vectors.get(node)
        tables.append(_normalised(cpt.matrix) if vector is None else _times(cpt.matrix, vector)[0])
    cumulative = np.concatenate([np.empty(0), *(_cumulative(table).ravel() for table in tables)])
    table = _draw(network, network_families(network), cumulative, _topological(network), n, seed)
    return WeightedSample(table, findings, _log_weights(network, findings, table))


def _log_weights(network: BayesianNetwork, findings: Findings, table: Table) -> Floats:
    """For each row, the sum over variables with evidence of the log of its expected likelihood given the parents."""
    total = np.zeros(table.n_rows)
    for node, vector in findings.vectors.items():
        values = network.cpts[node].values
        log_weights = _times(network.cpts[node].matrix, vector)[1].reshape(values.shape[:-1])
        total += log_weights[tuple(table.codes[parent] for parent in network.dag.parent_indices[node])]
    return total


def _times(matrix: Floats, vector: Floats) -> tuple[Floats, Floats]:
    """Distributions times a likelihood, normalised (zeros where nothing is possible), and the logs of their sums."""
    with np.errstate(divide="ignore"):
        logs = np.log(matrix) + np.log(vector)
        top = logs.max(axis=1, keepdims=True)
        numbers = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        return _normalised(numbers), top[:, 0] + np.log(np.maximum(numbers.sum(axis=1), 1.0))


def _refuse_impossible(network: BayesianNetwork, findings: Findings) -> None:
    """Refuse findings that a family excludes whose members are all observed."""
    for node, state in findings.observed.items():
        parents = network.dag.parent_indices[node]
        if network.cpts[node].values[*(findings.observed[parent] for parent in parents), state] == 0:
            raise ImpossibleEvidence([findings.texts[v] for v in (*parents, node)], minimal=False)


def _no_possible_row(network: BayesianNetwork, findings: Findings, n: int) -> Exception:
    """The error when no row was possible: whether the evidence is impossible, if belief propagation can tell."""
    from bntk.inference.approximate.loopy import loopy_network

    if loopy_network(network).calibrate(findings.vectors).log_z == -math.inf:
        return ImpossibleEvidence(findings.texts.values(), minimal=False)
    return DataError(
        f"none of {n:,} rows drawn forward is possible given {findings.text}: the evidence is impossible or very "
        "unlikely; draw more rows, or use exact inference"
    )


# ---- exactly, given evidence -----------------------------------------------------------------------------------------


def _sample_cliques(network: BayesianNetwork, findings: Findings, n: int, seed: int) -> Table:
    """Draw from the calibrated junction tree: each clique's new variables given what it shares with its parent."""
    calibrated = compile_network(network).calibrate(findings.vectors)
    if calibrated.log_z == -math.inf:
        raise ImpossibleEvidence(findings.texts.values(), minimal=False)
    cliques = calibrated.open_cliques()
    cards = [variable.n_states for variable in network.variables]
    entries = sum(math.prod(cards[v] for v in (*shared, *fresh)) for shared, fresh in cliques)
    choose.refuse_sampling(entries, findings.text)
    members, tables = [], []
    for shared, fresh in cliques:
        joint = calibrated.joint((*shared, *fresh))
        for i in range(len(fresh)):
            members.append((*shared, *fresh[: i + 1]))
            tables.append(joint.sum(axis=tuple(range(len(members[-1]), joint.ndim))))
    drawn = {v for _, fresh in cliques for v in fresh}
    for variable in range(len(cards)):
        if variable not in drawn:  # observed
            members.append((variable,))
            tables.append(calibrated.marginal(variable))
    cumulative = np.concatenate([np.empty(0), *(_cumulative(_normalised(table)).ravel() for table in tables)])
    return _draw(network, flat_families(members, cards), cumulative, np.arange(len(members)), n, seed)


def _normalised(table: Floats) -> Floats:
    """The distributions of the last variable given the others, one in each line; zeros where there is none."""
    matrix = table.reshape(-1, table.shape[-1])
    sums = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)


# ---- Gibbs -----------------------------------------------------------------------------------------------------------


def _run_chains(
    network: BayesianNetwork, findings: Findings, codes: NDArray[Any], chains: int, burn_in: int, thin: int, seed: int
) -> None:
    from bntk.inference.approximate.sampling_kernels import gibbs_chain

    flat = network_families(network)
    starts = _chain_starts(network, findings, chains, seed)
    observed = findings.observed
    free = np.array([v for v in _topological(network).tolist() if v not in observed], dtype=np.int64)
    family = np.repeat(np.arange(flat.cards.size), np.diff(flat.starts))
    near = family[np.argsort(flat.members, kind="stable")]  # the families of each variable, variable by variable
    near_start = np.cumsum([0, *np.bincount(flat.members, minlength=flat.cards.size)])
    state_start = np.cumsum([0, *flat.cards])[:-1]
    likelihood = np.ones(int(flat.cards.sum()))
    for v, vector in findings.vectors.items():
        likelihood[state_start[v] : state_start[v] + vector.size] = vector
    fixed = (free, *flat, flat_tables(network, np.asarray))
    around = (near_start, near, state_start, likelihood, _keys(seed + 1, flat.cards.size))
    length = codes.shape[1] // chains
    states = np.ascontiguousarray(starts.T)
    turn = max(1, CELLS_A_TURN // max(1, free.size))
    for first in range(0, burn_in + length * thin, turn):
        sweeps = (first, min(first + turn, burn_in + length * thin))

        def work(chain: int, sweeps: tuple[int, int] = sweeps) -> None:
            gibbs_chain(states[chain], *fixed, *around, chain, burn_in, thin, codes, chain * length, *sweeps)

        run_parallel(work, range(chains))


def _chain_starts(network: BayesianNetwork, findings: Findings, chains: int, seed: int) -> Ints:
    """A possible row for each chain, drawn by likelihood weighting and picked in proportion to the weights."""
    found = _weighted_rows(network, findings, START_ROWS, seed)
    if np.max(found.log_weights, initial=-math.inf) == -math.inf:
        raise _no_possible_row(network, findings, START_ROWS)
    picked = np.random.default_rng(seed & _WORD).choice(START_ROWS, size=chains, p=found.weights)
    return found.table.codes[:, picked].astype(np.int64)
