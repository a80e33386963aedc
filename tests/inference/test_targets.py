"""Tables that differ by row, and several targets in many rows: equal to enumeration, whatever other rows there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from inference.brute_force import onto, random_rows
from random_networks import joint, random_network

import bntk
from bntk.errors import TooLargeError
from bntk.inference.approximate.log_loopy import LogLoopy
from bntk.inference.elimination.targets import Mixture, TargetPosterior
from bntk.inference.exact.log_tree import LogTree, log

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=40)
ENOUGH = 1 << 20


def random_tables(rng, scopes, cards, n_rows, n_components, range_of_logs=3.0, zeros=0.1, mixed=False):
    """Log tables of which some are the same for all rows; those of single variables may differ by component."""
    tables = {}
    for scope in scopes:
        components = n_components if mixed and len(scope) == 1 else 1
        shape = (*(cards[v] for v in scope), rng.choice([1, n_rows]), components)
        table = -range_of_logs * rng.random(shape)
        tables[scope] = np.where(rng.random(shape) < zeros, -np.inf, table)
    return tables


def product(tables, cards, n_rows, n_components):
    """The sum of all log tables, with an axis per variable, then rows and components."""
    total = np.zeros((*cards, n_rows, n_components))
    for scope, table in tables.items():
        total = total + table.reshape([*(c if v in scope else 1 for v, c in enumerate(cards)), *table.shape[-2:]])
    return total


def log_sum(logs, axes):
    return np.logaddexp.reduce(logs.reshape(-1, *logs.shape[-2:]), axis=0) if axes == "all" else _over(logs, axes)


def _over(logs, axes):
    kept = np.moveaxis(logs, axes, range(len(axes)))
    return np.logaddexp.reduce(kept.reshape(-1, *kept.shape[len(axes) :]), axis=0)


def random_scopes(rng, n):
    """Scopes of up to three of n variables, and those of single ones."""
    found = {tuple(sorted(rng.choice(n, rng.integers(1, min(n, 3) + 1), replace=False).tolist())) for _ in range(n)}
    return sorted({*found, *((v,) for v in range(n))})


# ---- tables that differ by row ---------------------------------------------------------------------------------------


@few
@drawn(seeds)
def test_a_tree_of_log_tables_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 4, rng.integers(1, 6)).tolist()
    n, scopes = len(cards), random_scopes(rng, len(cards))
    tables = random_tables(rng, scopes, cards, n_rows=4, n_components=3, mixed=True)
    tree, whole = LogTree(scopes, cards, range(n)), product(tables, cards, 4, 3)
    with np.errstate(invalid="ignore"):
        found = tree.beliefs(tables, [(v,) for v in range(n)])
        np.testing.assert_allclose(np.broadcast_to(found.log_z, (4, 3)), log_sum(whole, "all"), atol=1e-12)
        np.testing.assert_array_equal(tree.log_z(tables), found.log_z)
        for v, marginal in enumerate(found.log_marginals):
            expected = log_sum(whole, [u for u in range(n) if u != v]) if n > 1 else whole
            np.testing.assert_allclose(np.broadcast_to(marginal, expected.shape), expected, atol=1e-12)
    states = tree.most_probable(tables)
    best = whole[..., 0].reshape(-1, 4).max(axis=0)
    chosen = [np.broadcast_to(states[v], 4) for v in range(n)]
    np.testing.assert_allclose(whole[..., 0][(*chosen, np.arange(4))], best, atol=1e-12)


@few
@drawn(seeds, st.sampled_from([3.0, 3000.0]))
def test_loopy_propagation_equals_the_tree_where_there_are_no_loops(seed, range_of_logs):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    cards = rng.integers(1, 4, n).tolist()
    scopes = sorted({*((int(rng.integers(v)), v) for v in range(1, n)), *((v,) for v in range(n))})
    tables = random_tables(rng, scopes, cards, 5, 3, range_of_logs, zeros=0.05, mixed=True)
    variables = [(v,) for v in range(n)]
    exact = LogTree(scopes, cards, range(n)).beliefs(tables, variables)
    loopy = LogLoopy(scopes, cards, range(n)).beliefs(tables, variables)
    possible = np.isfinite(loopy.log_z)
    np.testing.assert_array_equal(np.broadcast_to(np.isfinite(exact.log_z), possible.shape), possible)
    assert loopy.converged[possible].all()
    np.testing.assert_allclose(loopy.log_z, np.broadcast_to(exact.log_z, possible.shape), atol=1e-5)
    for a, b in zip(exact.log_marginals, loopy.log_marginals, strict=True):
        expected, found = (np.broadcast_to(logs, b.shape)[:, possible] for logs in (a, b))
        log_z = loopy.log_z[possible]
        np.testing.assert_allclose(np.exp(found - log_z), np.exp(expected - log_z), atol=1e-5)


# ---- several targets -------------------------------------------------------------------------------------------------


def problem(seed, n_rows=14):
    """A random network, some of its variables in any order, and rows with missing cells, in which these are missing."""
    rng = np.random.default_rng(seed)
    network = random_network(seed, int(rng.integers(2, 8)), zeros=bool(seed % 2))
    cards = [variable.n_states for variable in network.variables]
    targets = rng.permutation(len(cards))[: rng.integers(1, len(cards) + 1)].tolist()
    codes = random_rows(seed, cards, n=n_rows)
    codes[targets] = np.array(cards)[targets][:, None]
    return network, targets, codes


def joint_of_targets(whole, targets, codes):
    """P(targets, observed cells) per row, by enumeration; axes in the order of the targets."""
    for row in codes.T:
        seen = whole
        for v, code in enumerate(row):
            if code < whole.shape[v]:
                seen = seen * (np.arange(whole.shape[v]) == code).reshape(
                    [-1 if a == v else 1 for a in range(seen.ndim)]
                )
        yield onto(seen, targets)


@few
@drawn(seeds)
def test_answers_about_several_targets_equal_enumeration(seed):
    network, targets, codes = problem(seed)
    posterior = TargetPosterior(network, targets, ENOUGH)
    marginals, best = posterior.marginals(codes), posterior.most_probable(codes)
    tables, log_likelihood = np.exp(posterior.log_joint_table(codes)), posterior.log_likelihood(codes)
    for row, expected in enumerate(joint_of_targets(joint(network), targets, codes)):
        np.testing.assert_allclose(tables[row].reshape(expected.shape), expected, atol=1e-12)
        np.testing.assert_allclose(np.exp(log_likelihood[row]), expected.sum(), atol=1e-12)
        assert expected[tuple(best[:, row])] == pytest.approx(expected.max(), abs=1e-12)
        for i, marginal in enumerate(marginals):
            total = onto(expected, [i]) / expected.sum() if expected.sum() > 0 else 1 / len(marginal[row])
            np.testing.assert_allclose(marginal[row], total, atol=1e-9)


@few
@drawn(seeds)
def test_observed_targets_are_findings(seed):
    network, targets, codes = problem(seed)
    cards = [variable.n_states for variable in network.variables]
    codes[targets] = random_rows(seed + 1, cards, n=codes.shape[1])[targets]
    found = TargetPosterior(network, targets, ENOUGH).log_likelihood(codes)
    expected = [table.sum() for table in joint_of_targets(joint(network), targets, codes)]
    np.testing.assert_allclose(np.exp(found), expected, atol=1e-12)


@few
@drawn(seeds, st.sampled_from([ENOUGH, 8, 1]))
def test_a_row_is_answered_alike_whatever_other_rows_there_are(seed, max_entries):
    network, targets, codes = problem(seed)
    posterior = TargetPosterior(network, targets, max_entries)
    together = np.hstack(posterior.marginals(codes))
    for row in range(codes.shape[1]):
        np.testing.assert_allclose(np.hstack(posterior.marginals(codes[:, [row]]))[0], together[row], atol=1e-12)
    np.testing.assert_allclose(np.hstack(posterior.marginals(codes[:, ::-1]))[::-1], together, atol=1e-12)


def class_and_features(n_features, n_classes=3, seed=0):
    """Features with one or two of the classes as parents; classes without arcs, behind the features."""
    rng = np.random.default_rng(seed)
    classes = [bntk.Variable(f"c{k}", [0, 1]) for k in range(n_classes)]
    cpts = []
    for i in range(n_features):
        parents = [classes[k] for k in sorted({i % n_classes, (i * i + 1) % n_classes})]
        values = rng.dirichlet([2.0, 2.0, 2.0], size=[2] * len(parents))
        cpts.append(bntk.CPT(bntk.Variable(f"f{i}", [0, 1, 2]), values, parents))
    cpts += [bntk.CPT(c, rng.dirichlet([1.0, 1.0])) for c in classes]
    return bntk.BayesianNetwork.from_cpts(cpts)


def test_a_mixture_is_the_weighted_sum_of_its_components():
    network, rng = class_and_features(5), np.random.default_rng(1)
    at = [network.names.index(f"c{k}") for k in range(3)]
    own = rng.dirichlet([1.0, 1.0], size=(3, 4))  # of each class in each of four components
    weights = rng.dirichlet(np.ones(4))
    tables = {(v,): log(own[k]).T[:, None, :] for k, v in enumerate(at)}
    codes = np.vstack([random_rows(2, [3] * 5, n=20), np.full((3, 20), 2)])
    found = TargetPosterior(network, at, ENOUGH, Mixture(tables, np.log(weights)))
    whole = np.zeros((20, 2, 2, 2))
    for k in range(4):
        cpts = [bntk.CPT(network.variables[v], own[c, k]) for c, v in enumerate(at)]
        member = bntk.BayesianNetwork(network.dag, [*network.cpts[:5], *cpts])
        whole += weights[k] * np.array(list(joint_of_targets(joint(member), at, codes)))
    np.testing.assert_allclose(np.exp(found.log_joint_table(codes)).reshape(whole.shape), whole, atol=1e-14)
    np.testing.assert_allclose(np.exp(found.log_likelihood(codes)), whole.reshape(20, -1).sum(axis=1), atol=1e-14)
    for i, marginal in enumerate(found.marginals(codes)):
        expected = whole.sum(axis=tuple(a + 1 for a in range(3) if a != i)) / whole.reshape(20, -1).sum(axis=1)[:, None]
        np.testing.assert_allclose(marginal, expected, atol=1e-12)


def test_thousands_of_observed_variables_do_not_underflow():
    network = class_and_features(2000)
    codes = np.vstack([np.random.default_rng(0).integers(0, 3, (2000, 5)), np.full((3, 5), 2)])
    exact, loopy = (TargetPosterior(network, [2000, 2001, 2002], most) for most in (ENOUGH, 1))
    assert exact.describe().startswith("exact")
    assert loopy.describe().startswith("loopy belief propagation")
    expected = np.zeros((5, 8))
    for s, states in enumerate(itertools.product([0, 1], repeat=3)):
        whole = np.vstack([codes[:2000], np.tile(np.array(states)[:, None], 5)])
        for cpt in network.cpts:
            expected[:, s] += np.log(cpt.values[tuple(whole[network.names.index(v.name)] for v in cpt.family)])
    np.testing.assert_allclose(exact.log_joint_table(codes), expected, rtol=1e-12)
    np.testing.assert_array_equal(
        exact.most_probable(codes), np.array(np.unravel_index(expected.argmax(axis=1), (2, 2, 2)))
    )
    for found in loopy.marginals(codes):
        assert np.isfinite(found).all()


def test_equally_good_states_are_decided_for_the_lowest():
    network = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(bntk.Variable(f"x{i}", [0, 1, 2]), np.full(3, 1 / 3)) for i in range(4)]
    )
    for most in (ENOUGH, 1):
        best = TargetPosterior(network, [2, 0], most).most_probable(np.full((4, 3), 3))
        np.testing.assert_array_equal(best, 0)


def test_a_joint_table_that_is_too_large_is_refused_with_its_size():
    network = class_and_features(4)
    with pytest.raises(TooLargeError, match=r"3 targets have 8 joint states.*max_entries"):
        TargetPosterior(network, [4, 5, 6], 4).log_joint_table(np.full((7, 2), 2))
