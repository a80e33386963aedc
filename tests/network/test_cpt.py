import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bntk
from bntk import CPT, Variable
from bntk.errors import NetworkError, NormalisationWarning, TooLargeError, UnknownNameError

A = Variable("a", ["no", "yes"])
B = Variable("b", [1, 2, 3])
C = Variable("c", ["x", "y"])


@st.composite
def cpts(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    parents = [Variable(f"p{i}", range(rng.integers(1, 4))) for i in range(draw(st.integers(0, 3)))]
    child = Variable("child", ["u", "v", "w"][: draw(st.integers(1, 3))])
    values = rng.dirichlet(np.ones(child.n_states), size=[p.n_states for p in parents] or None)
    return CPT(child, values, parents)


def nested(cpt: CPT, index: tuple[int, ...] = ()):
    variable = cpt.family[len(index)]
    codes = reversed(range(variable.n_states))  # the order of the keys must not matter
    if variable is cpt.child:
        return {variable.states[k]: cpt.values[(*index, k)] for k in codes}
    return {variable.states[k]: nested(cpt, (*index, k)) for k in codes}


@given(cpts(), st.randoms(use_true_random=False))
def test_arrays_dicts_and_shuffled_frames_say_the_same(cpt, random):
    assert CPT.from_dict(cpt.child, nested(cpt), cpt.parents) == cpt
    frame = cpt.to_frame().sample(frac=1, random_state=random.randrange(2**31))
    columns = random.sample(list(frame.columns), frame.shape[1])
    assert CPT.from_frame(cpt.child, frame[columns], cpt.parents) == cpt
    assert CPT(cpt.child, cpt.matrix, cpt.parents) == cpt or not cpt.parents


@given(cpts(), st.randoms(use_true_random=False))
def test_reordering_parents_keeps_every_probability(cpt, random):
    names = [p.name for p in cpt.parents]
    other = cpt.reorder(random.sample(names, len(names)))
    for index in np.ndindex(*cpt.values.shape):
        states = {v.name: v.states[k] for v, k in zip(cpt.family, index, strict=True)}
        assert other.probability(states.pop("child"), states) == cpt.values[index]
    assert other.reorder(names) == cpt


def test_frames_take_labels_of_another_type():
    frame = pd.DataFrame({"p": [0.25, 0.75], "b": ["2", "1"]})
    two = Variable("b", [1, 2])
    assert CPT.from_frame(two, frame).values.tolist() == [0.75, 0.25]


def test_rows_nearly_one_are_normalised_with_one_message():
    with pytest.warns(NormalisationWarning, match=r"P\(b \| a\)") as caught:
        cpt = CPT(B, [[0.3333, 0.3333, 0.3333], [0.5, 0.5, 0.0005]], [A])
    assert len(caught) == 1
    np.testing.assert_allclose(cpt.values.sum(-1), 1, rtol=1e-15)
    np.testing.assert_allclose(cpt.values[0], 1 / 3)


def test_printed_rounding_is_normalised_silently_and_exact_rows_are_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(CPT(B, [0.3333333, 0.3333333, 0.3333333]).values, 1 / 3, rtol=1e-15)
    row = [0.25, 0.25, 0.5 - 1e-12]
    assert CPT(B, row).values.tolist() == row


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.5, 0.01], "sums to 1.01"),
        ([0.5, 0.6, -0.1], "-0.1"),
        ([np.nan, 0.5, 0.5], "nan"),
        ([np.inf, 0.0, 0.0], "inf"),
        ([0.0, 0.0, 0.0], "sums to 0"),
    ],
)
def test_a_bad_row_is_refused_by_name(row, message):
    with pytest.raises(NetworkError, match=r"P\(b \| a='yes'\)") as error:
        CPT(B, [[0.2, 0.3, 0.5], row], [A])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("values", "parents", "message"),
    [
        ([[0.5], [0.5]], [], r"shape \(2, 1\), expected \(2,\)"),
        (np.ones((3, 2)) / 2, [A], r"expected \(2, 2\)"),
        (np.ones((2, 2, 2)) / 2, [A, B], r"expected \(2, 3, 2\) \(a 2, b 3, c 2\), or \(6, 2\)"),
        ([["x", "y"]], [], "must be numbers"),
        ([0.5, 0.5], [C], "'c' is there twice"),
        ([0.5, 0.5], ["a"], "Variable objects"),
    ],
)
def test_wrong_shapes_and_families_are_refused(values, parents, message):
    with pytest.raises(NetworkError, match=message):
        CPT(C, values, parents)


def test_incomplete_dicts_and_frames_are_refused_by_name():
    with pytest.raises(NetworkError, match=r"\[2, 3\] of 'b'"):
        CPT.from_dict(C, {1: [0.5, 0.5]}, [B])
    with pytest.raises(NetworkError, match=r"P\(c \| a='no'\): 3 numbers"):
        CPT.from_dict(C, {"no": [0.5, 0.4, 0.1], "yes": [1, 0]}, [A])
    with pytest.raises(UnknownNameError, match="no state 'maybe'"):
        CPT.from_dict(C, {"no": [0.5, 0.5], "maybe": [1, 0]}, [A])
    frame = CPT(C, [[0.5, 0.5], [0.1, 0.9]], [A]).to_frame()
    with pytest.raises(NetworkError, match=r"0 rows for a='yes', c='y'"):
        CPT.from_frame(C, frame[:-1], [A])
    with pytest.raises(NetworkError, match=r"2 rows for a='no', c='x'"):
        CPT.from_frame(C, pd.concat([frame, frame[:1]]), [A])
    with pytest.raises(NetworkError, match=r"lacks \['a'\]"):
        CPT.from_frame(C, frame.drop(columns="a"), [A])
    with pytest.raises(NetworkError, match=r"\['extra'\] too many"):
        CPT.from_frame(C, frame.assign(extra=1), [A])


def test_a_huge_table_is_refused_with_its_numbers_before_it_is_allocated():
    parents = [Variable(f"p{i}", range(10)) for i in range(40)]
    with pytest.raises(TooLargeError, match=r"20,000,000,000,000,000,000"):
        CPT.uniform(A, parents[:19])
    with pytest.raises(TooLargeError, match="over the limit of 134,217,728"):
        CPT.uniform(A, parents)
    with pytest.raises(TooLargeError):
        bntk.NoisyOr(A, {Variable(f"q{i}", [0, 1]): 0.5 for i in range(64)}).to_cpt()


def test_a_table_is_immutable_and_pickles():
    cpt = CPT(C, [[0.5, 0.5], [0.1, 0.9]], [A], counts=[[5, 5], [1, 9]])
    again = pickle.loads(pickle.dumps(cpt))
    assert again == cpt
    assert again.counts.tolist() == [[5, 5], [1, 9]]
    with pytest.raises(ValueError):
        cpt.values[0, 0] = 1
    with pytest.raises(AttributeError):
        cpt.child = A
    with pytest.raises(NetworkError, match="counts have shape"):
        CPT(C, [0.5, 0.5], counts=[1, 2, 3])


def test_the_caller_s_array_is_neither_kept_nor_changed():
    values = np.array([0.2500001, 0.75])
    cpt = CPT(C, values)
    assert values[0] == 0.2500001
    values[0] = 9
    assert cpt.values[0] < 1


def test_text_and_html_show_names_and_states():
    cpt = CPT(C, [[0.5, 0.5], [0.1, 0.9]], [Variable("a<b", ["no", "yes"])])
    assert repr(cpt).splitlines()[0] == "P(c | a<b)"
    assert "a&lt;b" in cpt._repr_html_()
    many = CPT.uniform(C, [Variable("p", range(100))])
    assert repr(many).endswith("... 84 more rows")


def test_printing_shows_the_numbers():
    sprinkler = bntk.datasets.sprinkler()
    table, answer = sprinkler.cpt("rain"), sprinkler.query("rain", {"wet": "yes"})
    for shown in (str(table), str(answer), f"{answer}"):
        assert shown.count("\n") >= 2
    assert str(table) == repr(table)
    assert str(answer) == repr(answer)
    assert f"{answer['yes']:.4f}" in str(answer)
    assert (table.heading, answer.heading) == (str(table).splitlines()[0], str(answer).splitlines()[0])


def test_a_variable_named_p_keeps_its_column_in_frames():
    p, child = bntk.Variable("p", ["u", "v"]), bntk.Variable("c", ["x", "y"])
    cpt = bntk.CPT(child, [[0.25, 0.75], [0.5, 0.5]], [p])
    frame = cpt.to_frame()
    assert frame.columns.tolist() == ["p", "c", "p_"]
    assert bntk.CPT.from_frame(child, frame, [p]) == cpt
    bn = bntk.BayesianNetwork(bntk.DAG(["p", "c"], [("p", "c")]), [bntk.CPT(p, [0.5, 0.5]), cpt])
    assert bn.query(["p", "c"]).to_frame().columns.tolist() == ["p", "c", "p_"]


@pytest.mark.parametrize("states", [[(1, 2), (3, 4)], [((),), ((1, 2),)], [("a", "b"), ("a", "c")]], ids=str)
def test_states_that_are_tuples_stay_what_they_are_in_all_views(states):
    a, b = bntk.Variable("a", states), bntk.Variable("b", ["x", "y"])
    dag = bntk.DAG(["a", "b"], [("a", "b")])
    bn = bntk.BayesianNetwork(dag, [bntk.CPT(a, [0.25, 0.75]), bntk.CPT(b, [[0.5, 0.5], [0.125, 0.875]], [a])])
    assert bn.to_frame()["state"].tolist() == [*states, "x", "y", "x", "y"]
    assert bn.cpt("b").to_frame()["a"].tolist() == [s for s in states for _ in range(2)]
    assert bn.query("a").to_series().index.tolist() == states
    assert bn.query(["a", "b"]).to_frame()["a"].tolist() == [s for s in states for _ in range(2)]
    assert bn.query(["a", "b"]).to_series().tolist() == [0.125, 0.125, 0.09375, 0.65625]
    assert bn.posterior({"b": ["x", "y"]}, "a").columns.tolist() == states
    assert bn.sample(20, seed=1).to_pandas()["a"].isin(states).all()
