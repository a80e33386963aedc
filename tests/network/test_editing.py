"""Edits of networks, compared with the joint distribution by enumeration."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_networks import joint, networks, random_network

import bntk
from bntk import CPT, DAG, BayesianNetwork, NoisyOr, Variable
from bntk.errors import BntkError, CycleError, GraphError, NetworkError, TooLargeError, UnknownNameError


def assert_close(one: BayesianNetwork, other: BayesianNetwork) -> None:
    assert one.is_close(other, 1e-12), f"{one.to_frame()}\n{other.to_frame()}"


def conditional(table: np.ndarray, child: int, parents: list[int]) -> np.ndarray:
    """P(child | parents) from a joint distribution, NaN where the parents are impossible."""
    kept = [*parents, child]
    summed = table.sum(axis=tuple(a for a in range(table.ndim) if a not in kept))
    order = np.argsort(np.argsort(kept))
    summed = summed.transpose(order)
    with np.errstate(invalid="ignore"):
        return summed / summed.sum(-1, keepdims=True)


def assert_conditional(network: BayesianNetwork, name: str, table: np.ndarray) -> None:
    """The table of a variable is its conditional probability in a joint distribution, where that is defined."""
    at = [network.dag.index(p) for p in network.dag.parents(name)]
    expected = conditional(table, network.dag.index(name), at)
    defined = ~np.isnan(expected)
    np.testing.assert_allclose(network.cpt(name).values[defined], expected[defined], atol=1e-10)
    np.testing.assert_allclose(network.cpt(name).values.sum(-1), 1, atol=1e-12)


def merged_joint(table: np.ndarray, axis: int, codes: list[int]) -> np.ndarray:
    parts = [table.take(c, axis) for c in range(table.shape[axis])]
    first, *others = codes
    for c in others:
        parts[first] = parts[first] + parts[c]
    return np.stack([part for c, part in enumerate(parts) if c not in others], axis)


some_arc = st.integers(0, 10**6)


def an_arc(network: BayesianNetwork, number: int) -> tuple[str, str]:
    assume(network.dag.n_arcs)
    return network.dag.arcs[number % network.dag.n_arcs]


@settings(max_examples=40)
@given(networks(), st.integers(0, 10**6))
def test_an_arc_that_is_added_changes_nothing_and_removing_it_again_is_identity(network, number):
    free = [
        (a, b) for a in network.names for b in network.names
        if a != b and not network.dag.has_arc(a, b) and b not in network.dag.ancestors(a)
    ]  # fmt: skip
    assume(free)
    tail, head = free[number % len(free)]
    more = network.add_arc(tail, head)
    assert more.dag == network.dag.add_arc(tail, head)
    np.testing.assert_array_equal(joint(more), joint(network))
    assert_close(more.remove_arc(tail, head), network)


@settings(max_examples=40)
@given(networks(), some_arc)
def test_removing_an_arc_leaves_the_conditional_probability_given_the_other_parents(network, number):
    tail, head = an_arc(network, number)
    less = network.remove_arc(tail, head)
    assert less.dag == network.dag.remove_arc(tail, head)
    assert_conditional(less, head, joint(network))
    assert all(less.cpt(name) == network.cpt(name) for name in network.names if name != head)


@settings(max_examples=40)
@given(networks(), some_arc)
def test_reversing_an_arc_leaves_the_joint_distribution(network, number):
    tail, head = an_arc(network, number)
    if head in {b for a in network.dag.children(tail) if a != head for b in network.dag.descendants(a)}:
        with pytest.raises(NetworkError, match="cannot be reversed"):
            network.reverse_arc(tail, head)
        return
    turned = network.reverse_arc(tail, head)
    assert turned.dag.has_arc(head, tail)
    np.testing.assert_allclose(joint(turned), joint(network), atol=1e-13)


@settings(max_examples=40)
@given(networks(), st.data())
def test_summing_out_leaves_the_joint_distribution_of_the_others(network, data):
    names = data.draw(st.lists(st.sampled_from(network.names), unique=True, max_size=3))
    assume(len(names) < len(network.names))
    rest = network.sum_out(names)
    assert rest.names == tuple(n for n in network.names if n not in names)
    expected = joint(network).sum(axis=tuple(network.dag.index(n) for n in names))
    np.testing.assert_allclose(joint(rest), expected, atol=1e-12)


@settings(max_examples=40)
@given(networks(), st.data())
def test_removing_variables_averages_the_tables_of_their_children(network, data):
    names = data.draw(st.lists(st.sampled_from(network.names), unique=True, min_size=1, max_size=2))
    rest = network.remove_variable(names)
    assert rest.dag == network.dag.subgraph([n for n in network.names if n not in names])
    expected = joint(network).sum(axis=tuple(network.dag.index(n) for n in names))
    for name in rest.names:
        if set(network.dag.parents(name)) & set(names):
            assert_conditional(rest, name, expected)
        else:
            assert rest.cpt(name) == network.cpt(name)


@settings(max_examples=40)
@given(networks(max_states=5), st.data())
def test_merged_states_have_the_tables_of_the_merged_variable(network, data):
    wide = [v for v in network.variables if v.n_states > 1]
    assume(wide)
    variable = data.draw(st.sampled_from(wide))
    codes = sorted(data.draw(st.lists(st.integers(0, variable.n_states - 1), unique=True, min_size=2)))
    merged = network.merge_states(variable.name, [variable.states[c] for c in codes], "both")
    assert merged.dag == network.dag
    assert merged.variable(variable.name).states.index("both") == codes[0]
    table = merged_joint(joint(network), network.dag.index(variable.name), codes)
    for name in (variable.name, *network.dag.children(variable.name)):
        assert_conditional(merged, name, table)
    if not network.dag.children(variable.name):
        np.testing.assert_allclose(joint(merged), table, atol=1e-13)


@settings(max_examples=40)
@given(networks(), st.data())
def test_a_state_that_is_added_has_probability_zero_and_removing_it_is_identity(network, data):
    name = data.draw(st.sampled_from(network.names))
    n_states = network.variable(name).n_states
    at = data.draw(st.none() | st.integers(0, n_states))
    like = data.draw(st.none() | st.sampled_from(network.variable(name).states))
    more = network.add_state(name, "new", at=at, like=like)
    place = n_states if at is None else at
    assert more.variable(name).states[place] == "new"
    table, axis = joint(more), network.dag.index(name)
    assert not table.take(place, axis).any()
    np.testing.assert_array_equal(np.delete(table, place, axis), joint(network))
    assert more.remove_state(name, "new") == network
    if like is not None:
        for child in network.dag.children(name):
            rows = {name: like}, {name: "new"}
            one, other = (more.query(child, row).values if more.probability(row) else None for row in rows)
            assert other is None
            assert one is None or one.sum() == pytest.approx(1)


@settings(max_examples=30)
@given(networks(), st.data())
def test_removing_a_state_divides_the_rest_of_each_row_by_its_sum(network, data):
    name = data.draw(st.sampled_from(network.names))
    old = network.cpt(name)
    assume(old.child.n_states > 1)
    code = data.draw(st.integers(0, old.child.n_states - 1))
    rest = np.delete(old.values, code, -1)
    if (rest.sum(-1) == 0).any():
        with pytest.raises(NetworkError, match="has all its probability on"):
            network.remove_state(name, old.child.states[code])
        return
    less = network.remove_state(name, old.child.states[code])
    np.testing.assert_allclose(less.cpt(name).values, rest / rest.sum(-1, keepdims=True), rtol=1e-12)
    for child in network.dag.children(name):
        axis = network.dag.parents(child).index(name)
        np.testing.assert_array_equal(less.cpt(child).values, np.delete(network.cpt(child).values, code, axis))


@settings(max_examples=30)
@given(networks())
def test_new_names_change_no_number_and_the_old_ones_again_are_identity(network):
    names = {name: f"new {name}" for name in network.names[::2]}
    renamed = network.rename(names)
    np.testing.assert_array_equal(joint(renamed), joint(network))
    assert renamed.rename({new: old for old, new in names.items()}) == network
    first = network.variables[0]
    labels = {state: (state, 1) for state in first.states}
    relabelled = network.rename_states(first.name, labels)
    np.testing.assert_array_equal(joint(relabelled), joint(network))
    assert relabelled.variable(first.name).states == tuple(labels.values())
    assert relabelled.rename_states(first.name, {new: old for old, new in labels.items()}) == network


def test_two_names_can_be_exchanged():
    bn = bntk.datasets.sprinkler()
    swapped = bn.rename({"rain": "sprinkler", "sprinkler": "rain"})
    assert swapped.names == ("cloudy", "rain", "sprinkler", "wet")
    np.testing.assert_array_equal(swapped.cpt("rain").values, bn.cpt("sprinkler").values)


@settings(max_examples=30)
@given(networks(), st.integers(0, 2**32 - 1))
def test_a_variable_that_is_added_is_independent_given_its_parents_and_removing_it_is_identity(network, seed):
    rng = np.random.default_rng(seed)
    parents = [network.variables[i] for i in rng.choice(len(network.names), min(2, len(network.names)), replace=False)]
    child = Variable("new", [0, 1, 2])
    cpt = CPT(child, rng.dirichlet(np.ones(3), [p.n_states for p in parents]), parents)
    more = network.add_variable(cpt)
    assert more.names == (*network.names, "new")
    np.testing.assert_allclose(joint(more).sum(-1), joint(network), atol=1e-14)
    assert more.remove_variable("new") == network
    assert network.add_variable(child).cpt("new") == CPT.uniform(child)


@settings(max_examples=30)
@given(networks(), st.data())
def test_a_table_is_set_from_an_array_mappings_either_kind_of_frame_and_a_distribution(network, data):
    name = data.draw(st.sampled_from(network.names))
    old = network.cpt(name)
    values = np.random.default_rng(data.draw(st.integers(0, 9))).dirichlet(
        np.ones(old.child.n_states), old.values.shape[:-1]
    )
    cpt = CPT(old.child, values, old.parents)

    def nested(array, family):
        if array.ndim == 1:
            return dict(zip(family[0].states, array.tolist(), strict=True))
        return {s: nested(array[i], family[1:]) for i, s in enumerate(family[0].states)}

    tidy = cpt.to_frame().sample(frac=1, random_state=0)
    expected = network.with_cpt(cpt)
    assert expected.cpt(name) == cpt
    for given_values in (values, cpt.matrix, nested(values, cpt.family), tidy, cpt):
        assert network.with_cpt(name, given_values) == expected
    if old.parents:
        wide = tidy.pivot(index=[p.name for p in old.parents], columns=name, values="p").reset_index()
        assert network.with_cpt(name, wide) == expected
    assert expected.with_cpt(old) == network


def test_a_table_with_other_parents_changes_the_arcs():
    bn = bntk.datasets.sprinkler()
    wet, cloudy, rain = (bn.variable(n) for n in ("wet", "cloudy", "rain"))
    changed = bn.with_cpt(NoisyOr(wet, {rain: 0.9, cloudy: 0.1}, leak=0.05))
    assert changed.dag == DAG.parse("cloudy -> sprinkler; cloudy -> rain; cloudy -> wet; rain -> wet", nodes=bn.names)
    assert changed.cpt("wet").probability("no", {"cloudy": "yes", "rain": "yes"}) == pytest.approx(0.95 * 0.1 * 0.9)
    with pytest.raises(CycleError):
        bn.with_cpt(CPT.uniform(cloudy, [wet]))


@settings(max_examples=30)
@given(networks(), st.data())
def test_a_few_numbers_of_an_expert_change_the_rows_they_are_about(network, data):
    name = data.draw(st.sampled_from(network.names))
    old = network.cpt(name)
    assume(old.child.n_states > 1)
    row = {p.name: data.draw(st.sampled_from(p.states)) for p in old.parents}
    row = {p: s for p, s in row.items() if data.draw(st.booleans())}
    state = data.draw(st.integers(0, old.child.n_states - 1))
    p = data.draw(st.floats(0, 1))
    new = network.with_rows(name, {old.child.states[state]: p}, row).cpt(name)
    chosen = tuple(v.code(row[v.name]) if v.name in row else slice(None) for v in old.parents)
    inside = np.zeros(old.values.shape[:-1], dtype=bool)
    inside[chosen] = True
    np.testing.assert_array_equal(new.values[~inside], old.values[~inside])
    np.testing.assert_allclose(new.values[inside][:, state], p, atol=1e-15)
    before, after = (np.delete(t.values[inside], state, -1) for t in (old, new))
    sums = before.sum(-1, keepdims=True)
    shares = np.where(sums > 0, before / np.where(sums > 0, sums, 1), 1 / before.shape[-1])
    np.testing.assert_allclose(after, shares * (1 - p), atol=1e-12)


def fitted(prior=1.0):
    rows = bntk.datasets.asia().sample(400, seed=3)
    return bntk.fit(bntk.datasets.asia().dag, rows, prior=prior), rows


@pytest.mark.parametrize(
    "prior", [1.0, "mle", bntk.priors.BDeu(3), "backoff", bntk.priors.Dirichlet({"xray": [1.0, 2.0]})]
)
def test_a_renamed_network_learns_on_as_before(prior):
    bn, _ = fitted(prior)
    more = bntk.datasets.asia().sample(50, seed=4).to_pandas().astype(object)
    renamed = bn.rename({"xray": "X", "smoke": "smoker"}).rename_states("X", {"no": "clear"})
    frame = more.rename(columns={"xray": "X", "smoke": "smoker"}).replace({"X": {"no": "clear"}})
    expected = bn.update(more)
    np.testing.assert_array_equal(renamed.update(frame).cpt("X").values, expected.cpt("xray").values)
    assert renamed.rename({"X": "xray", "smoker": "smoke"}).prior == bn.prior


def test_counts_stay_where_they_are_still_the_counts():
    bn, rows = fitted()
    assert all(
        c.counts is None for c in [bn.add_arc("asia", "xray").cpt("xray"), bn.remove_arc("tub", "either").cpt("either")]
    )
    assert bn.add_arc("asia", "xray").cpt("lung").counts is not None
    with pytest.raises(NetworkError, match=r"no counts to add to \(for \['xray'\]\)"):
        bn.with_rows("xray", {"yes": 0.9}, {"either": "yes"}).update(rows)
    assert (
        bn.remove_variable("xray").update(rows.select([n for n in bn.names if n != "xray"])).cpt("lung").counts.sum()
        == 800
    )
    longer = bn.add_state("xray", "unclear")
    np.testing.assert_array_equal(longer.cpt("xray").counts[:, :2], bn.cpt("xray").counts)
    back = longer.remove_state("xray", "unclear")
    np.testing.assert_array_equal(back.cpt("xray").counts, bn.cpt("xray").counts)
    assert bn.remove_state("smoke", "no").cpt("lung").counts is None
    assert bn.report is None or bn.rename({"xray": "X"}).report is None


@pytest.mark.parametrize("prior", ["mle", 0.5, "backoff"])
def test_the_counts_of_merged_states_are_those_of_merged_rows(prior):
    rows = random_network(2, max_states=4).sample(300, seed=1)
    variable = next(v for v in rows.variables if v.n_states > 2)
    names = list(rows.names)
    dag = DAG(names, [(variable.name, n) for n in names if n != variable.name])
    one, two = variable.states[:2]
    frame = rows.to_pandas().astype(object)
    merged_rows = frame.replace({variable.name: {one: "both", two: "both"}})
    bn = bntk.fit(dag, rows, prior=prior)
    merged = bn.merge_states(variable.name, [one, two], "both")
    expected = bntk.fit(dag, merged_rows, prior=prior, variables=merged.variables)
    for a, b in zip(merged.cpts, expected.cpts, strict=True):
        np.testing.assert_array_equal(a.counts, b.counts)
    again = pd.concat([merged_rows, merged_rows])
    assert_close(merged.update(merged_rows), bntk.fit(dag, again, prior=prior, variables=merged.variables))


def test_a_table_that_brings_counts_does_not_mix_with_counts_of_the_old_one():
    bn, rows = fitted("backoff")
    brought = bn.with_cpt(
        CPT(bn.variable("xray"), [[0.9, 0.1], [0.1, 0.9]], [bn.variable("either")], counts=[[9, 1], [1, 9]])
    )
    assert brought.cpt("xray").counts.tolist() == [[9, 1], [1, 9]]
    with pytest.raises(NetworkError, match="lacks the counts of"):
        brought.update(rows)


def test_positions_move_with_the_names():
    bn = bntk.datasets.sprinkler()
    bn = BayesianNetwork(bn.dag, bn.cpts, positions={"rain": (1, 2), "wet": (3, 4)})
    assert bn.rename({"rain": "r"}).positions == {"r": (1, 2), "wet": (3, 4)}
    assert bn.remove_variable("rain").positions == {"wet": (3, 4)}
    assert bn.add_arc("cloudy", "wet").positions == bn.positions
    assert bn.add_variable(Variable("x", [0, 1]), position=(5, 6)).positions["x"] == (5, 6)
    assert bn.merge_states("rain", ["no", "yes"]).positions == bn.positions


def test_neighbouring_intervals_make_an_interval():
    age = Variable.of_intervals("age", [20, 40, 60])
    bn = BayesianNetwork.from_cpts([CPT.uniform(age)])
    merged = bn.merge_states("age", [30, 50]).variable("age")
    assert merged == Variable.of_intervals("age", [20, 60])
    assert bn.merge_states("age", ["<= 20", "> 60"]).variable("age").cuts is None
    assert bn.rename_states("age", {"<= 20": "young"}).variable("age").code(12) == 0
    more = bn.add_state("age", "unknown")
    assert more.variable("age").code(70) == 3
    assert more.remove_state("age", "unknown") == bn


def test_a_combination_of_other_parents_that_is_impossible_takes_the_marginal_weights():
    a, b, c = Variable("a", [0, 1]), Variable("b", [0, 1]), Variable("c", [0, 1])
    bn = BayesianNetwork.from_cpts(
        [CPT(a, [0.25, 0.75]), CPT(b, [1.0, 0.0]), CPT(c, [[[1, 0], [1, 0]], [[0, 1], [0, 1]]], [a, b])]
    )
    np.testing.assert_allclose(bn.remove_arc("a", "c").cpt("c").values, [[0.25, 0.75]] * 2)


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda b: b.with_cpt("wett", [1, 0]), UnknownNameError, "did you mean 'wet'"),
        (lambda b: b.with_cpt("rain", [0.1, 0.9]), NetworkError, "expected"),
        (lambda b: b.with_cpt(CPT(b.variable("rain"), [0.5, 0.5]), [0.5, 0.5]), NetworkError, "without values"),
        (lambda b: b.with_cpt(3), NetworkError, "table must be"),
        (lambda b: b.with_cpt("rain", CPT.uniform(b.variable("wet"))), NetworkError, "given for 'rain' is P"),
        (lambda b: b.with_cpt(CPT.uniform(Variable("x", [0]))), (GraphError, UnknownNameError), "x"),
        (lambda b: b.with_cpt(CPT.uniform(b.variable("wet"), [Variable("x", [0])])), BntkError, "'x'"),
        (lambda b: b.with_cpt(CPT.uniform(Variable("rain", [0, 1, 2]))), NetworkError, "'rain' has the states"),
        (lambda b: b.with_rows("wet", {"yes": 1.2}), NetworkError, "from 0 to 1"),
        (lambda b: b.with_rows("wet", {"maybe": 0.2}), UnknownNameError, "no state 'maybe'"),
        (lambda b: b.with_rows("wet", {}), NetworkError, "one state or more"),
        (lambda b: b.with_rows("wet", [0.2]), NetworkError, "1 numbers for 2 states"),
        (lambda b: b.with_rows("wet", {"yes": 0.5, "no": 0.6}), NetworkError, "sums to 1.1"),
        (lambda b: b.with_rows("wet", {"yes": 0.2}, {"cloudy": "no"}), NetworkError, "no parent of 'wet'"),
        (lambda b: b.with_rows("wet", {"yes": 0.2}, {"rain": []}), NetworkError, "no state of 'rain'"),
        (lambda b: b.add_arc("wet", "cloudy"), CycleError, "cycle"),
        (lambda b: b.add_arc("rain", "wet"), GraphError, "already is an arc"),
        (lambda b: b.remove_arc("cloudy", "wet"), GraphError, "no arc"),
        (lambda b: b.add_variable(Variable("wet", [0])), NetworkError, "already is a variable 'wet'"),
        (lambda b: b.add_variable("x"), NetworkError, "a Variable or a CPT"),
        (lambda b: b.remove_variable("x"), UnknownNameError, "'x'"),
        (lambda b: b.rename({"x": "y"}), UnknownNameError, "'x'"),
        (lambda b: b.rename({"wet": "rain"}), GraphError, "'rain'"),
        (lambda b: b.rename_states("wet", {"no": "yes"}), BntkError, "given twice"),
        (lambda b: b.add_state("wet", "yes"), NetworkError, "already has the state"),
        (lambda b: b.add_state("wet", "x", at=5), BntkError, "at must be"),
        (lambda b: b.merge_states("wet", ["no"]), NetworkError, "two states"),
        (lambda b: b.merge_states("wet", "no"), NetworkError, "a list of states"),
        (lambda b: b.remove_variable(["rain", 3]), BntkError, "3"),
    ],
)
def test_each_error_says_what_is_wrong(edit, error, message):
    with pytest.raises(error, match=message):
        edit(bntk.datasets.sprinkler())


def test_tables_that_would_be_too_large_are_refused_before_they_are_made():
    big = [Variable(f"x{i}", range(200)) for i in range(4)]
    bn = BayesianNetwork.from_cpts([CPT.uniform(v) for v in big])
    bn = bn.add_arc("x0", "x3").add_arc("x1", "x3")
    with pytest.raises(TooLargeError):
        bn.add_arc("x2", "x3")
