"""Cut points: against the paper's formula by brute force, pandas, scikit-learn, and Weka's figures."""

from __future__ import annotations

import csv
import math
import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from references import shared
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import bntk
from bntk.data import cuts as discretize
from bntk.data.cuts import (
    code_columns,
    cut_codes,
    frequency_cuts,
    interval_cuts,
    interval_names,
    joint_cuts,
    learn_cuts,
    mdl_cuts,
    width_cuts,
)

INF, NAN = math.inf, math.nan
numbers = st.floats(allow_nan=False)
Rows = tuple[np.ndarray, np.ndarray]


# -------------------------------------------------------------------- entropy and description length


def entropy(classes: np.ndarray) -> float:
    shares = np.unique(classes, return_counts=True)[1] / len(classes)
    return float(-(shares * np.log2(shares)).sum())


def cuts_by_the_paper(values: np.ndarray, classes: np.ndarray) -> list[float]:
    """Fayyad and Irani (1993), sections 3 and 4: try every cut, keep the best if the criterion says so, recur."""
    distinct = np.unique(values)
    candidates = []
    for cut in (distinct[1:] + distinct[:-1]) / 2:
        left, right = classes[values <= cut], classes[values > cut]
        remaining = (len(left) * entropy(left) + len(right) * entropy(right)) / len(values)
        candidates.append((remaining, cut, left, right))
    if not candidates:
        return []
    least = min(candidate[0] for candidate in candidates)
    remaining, cut, left, right = next(c for c in candidates if c[0] < least + 1e-11)  # the lowest of the best
    gain = entropy(classes) - remaining
    k, k1, k2 = (len(np.unique(part)) for part in (classes, left, right))
    delta = math.log2(3**k - 2) - (k * entropy(classes) - k1 * entropy(left) - k2 * entropy(right))
    excess = gain - (math.log2(len(values) - 1) + delta) / len(values)
    if excess <= 0:
        return []
    below, above = values <= cut, values > cut
    return [*cuts_by_the_paper(values[below], left), cut, *cuts_by_the_paper(values[above], right)]


@st.composite
def labelled_numbers(draw: Any, max_rows: int = 60) -> Rows:
    """Few distinct numbers, whose class is mostly that of the stretch in which they lie."""
    n_classes = draw(st.integers(1, 4))
    levels = draw(st.lists(st.integers(-20, 20), min_size=1, max_size=20, unique=True))
    stretch = draw(st.integers(1, 6))
    some_class = st.integers(0, n_classes - 1)
    by_stretch = draw(st.lists(some_class, min_size=41, max_size=41))
    rows = draw(st.lists(st.tuples(st.sampled_from(levels), st.integers(0, 9), some_class), max_size=max_rows))
    values = [level / 2 for level, _, _ in rows]
    classes = [by_stretch[(level + 20) // stretch] if luck else noise for level, luck, noise in rows]
    return np.array(values, dtype=float), np.array(classes, dtype=np.int64)


@given(labelled_numbers())
def test_mdl_cuts_are_those_of_the_paper(rows: Rows) -> None:
    assert mdl_cuts(*rows).tolist() == cuts_by_the_paper(*rows)


def smooth_rows(seed: int, n: int = 300, n_classes: int = 3) -> Rows:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, n_classes, n)
    return rng.normal(2.5 * classes, 1.0), classes


@pytest.mark.parametrize("seed", range(8))
def test_mdl_cuts_are_those_of_the_paper_where_there_are_several(seed: int) -> None:
    values, classes = smooth_rows(seed)
    cuts = mdl_cuts(values, classes)
    assert len(cuts) >= 2
    assert cuts.tolist() == cuts_by_the_paper(values, classes)


@given(labelled_numbers(), st.data())
def test_a_weight_is_a_number_of_rows(rows: Rows, data: st.DataObject) -> None:
    values, classes = rows
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(values), max_size=len(values))), dtype=int)
    repeated = np.repeat(values, weights)
    assert np.array_equal(mdl_cuts(values, classes, weights), mdl_cuts(repeated, np.repeat(classes, weights)))
    assert np.array_equal(width_cuts(values, 4, weights), width_cuts(repeated, 4))
    assert np.array_equal(frequency_cuts(values, 4, weights), frequency_cuts(repeated, 4))


@given(labelled_numbers())
def test_counts_without_a_table_of_logarithms_give_the_same_cuts(rows: Rows) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discretize, "_LARGEST_TABLE", -1)
        without = mdl_cuts(*rows)
    assert np.array_equal(without, mdl_cuts(*rows))


def test_fractional_weights_follow_the_formula() -> None:
    # Ten rows of a on the left and ten of b on the right, thinned: N = 20 w, gain = 1 bit, k1 = k2 = 1, and the
    # criterion 1 > (log2(N - 1) + log2(7) - 2) / N is met from N = 3.1 on.
    values, classes = np.arange(20.0), np.repeat([0, 1], 10)
    assert mdl_cuts(values, classes, np.full(20, 0.16)).tolist() == [9.5]
    assert mdl_cuts(values, classes, np.full(20, 0.02)).tolist() == []


@given(labelled_numbers(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(rows: Rows, random: Any) -> None:
    values, classes = rows
    order = list(range(len(values)))
    random.shuffle(order)
    names = np.array(random.sample(["d", "c", "b", "a"], 4))
    assert np.array_equal(mdl_cuts(values[order], names[classes[order]]), mdl_cuts(values, classes))


@given(labelled_numbers())
def test_a_rising_function_of_the_numbers_leaves_the_bins_as_they_were(rows: Rows) -> None:
    values, classes = rows
    for rising in (np.exp, lambda x: x**3 + 7, np.arctan):
        moved = rising(values)
        assert np.array_equal(cut_codes(moved, mdl_cuts(moved, classes)), cut_codes(values, mdl_cuts(values, classes)))
        moved_cuts, cuts = frequency_cuts(moved, 5), frequency_cuts(values, 5)
        assert np.array_equal(cut_codes(moved, moved_cuts), cut_codes(values, cuts))


@pytest.mark.parametrize(
    ("counts", "cuts"),
    [
        ([[9, 0], [4, 2], [0, 8], [0, 8], [4, 2], [9, 0]], [0.5, 1.5, 3.5]),  # a mirror image of itself
        ([[0, 10], [1, 3], [12, 2], [12, 2], [1, 3], [0, 10]], [0.5, 3.5]),
        ([[24, 12], [12, 24], [0, 12]], [0.5]),  # other counts, the same entropy: 6 log2 6 = 6 + 2 (3 log2 3)
        ([[3, 18], [9, 6], [12, 0]], [0.5]),
        ([[0, 21], [7, 21], [14, 7]], [0.5]),
    ],
)
def test_of_equally_good_cuts_the_lowest_is_taken(counts: list[list[int]], cuts: list[float]) -> None:
    values = np.repeat(np.arange(len(counts) * 2) // 2, np.ravel(counts))
    classes = np.repeat(np.arange(len(counts) * 2) % 2, np.ravel(counts))
    assert mdl_cuts(values, classes).tolist() == cuts_by_the_paper(values, classes) == cuts
    assert mdl_cuts(values, 1 - classes, n_classes=2).tolist() == cuts


def test_neighbouring_floats_are_told_apart() -> None:
    for low in (1.0, np.nextafter(1.0, 2.0), -1.0, 5e-324, 0.0):
        column = np.repeat([low, np.nextafter(low, INF)], 10)
        for cuts in (mdl_cuts(column, np.repeat([0, 1], 10)), frequency_cuts(column, 2)):
            assert cut_codes(column, cuts).tolist() == [0] * 10 + [1] * 10


def test_rows_without_a_value_or_a_class_do_not_count() -> None:
    values, classes = smooth_rows(1)
    more_values = np.concatenate([values, [NAN, 0.5, NAN]])
    for unknown in (3, 200):
        more = np.concatenate([classes, [0, unknown, unknown]])
        assert np.array_equal(mdl_cuts(more_values, more, n_classes=3), mdl_cuts(values, classes))
    labels = pd.Series([*map(str, classes), "0", None, None])
    assert np.array_equal(mdl_cuts(more_values, labels), mdl_cuts(values, classes))


def test_numbers_that_tell_nothing_about_the_class_have_no_cut() -> None:
    rng = np.random.default_rng(0)
    assert mdl_cuts(rng.normal(size=500), rng.integers(0, 3, 500)).size == 0
    assert mdl_cuts([1, 2, 3], [0, 0, 0]).size == mdl_cuts([5, 5, 5], [0, 1, 0]).size == mdl_cuts([], []).size == 0
    assert mdl_cuts([NAN, NAN], ["a", "b"]).size == mdl_cuts([1, 2], [None, None]).size == 0


def test_many_classes_do_not_overflow() -> None:
    classes = np.repeat(np.arange(1000), 20)
    assert mdl_cuts(classes.astype(float), classes).size == 999


# -------------------------------------------------------------------- width and frequency


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(1, 12))
def test_width_is_that_of_scikit_learn(values: list[float], n_bins: int) -> None:
    assume(max(values) - min(values) > 1e-3)
    edges = (
        KBinsDiscretizer(n_bins, strategy="uniform", encode="ordinal").fit(np.array([values]).T) if n_bins > 1 else None
    )
    expected = edges.bin_edges_[0][1:-1] if edges else []
    assert np.allclose(width_cuts(values, n_bins), expected, rtol=1e-14, atol=0)


def test_width_is_that_of_pandas() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    bins = pd.cut(values, 7, labels=False)
    assert np.array_equal(cut_codes(values, width_cuts(values, 7)), bins)


@pytest.mark.parametrize("n_bins", [2, 3, 5, 10])
def test_frequency_is_that_of_pandas_and_scikit_learn_where_the_rows_divide_evenly(n_bins: int) -> None:
    values = np.random.default_rng(n_bins).normal(size=30 * n_bins)
    bins = cut_codes(values, frequency_cuts(values, n_bins))
    assert np.array_equal(bins, pd.qcut(values, n_bins, labels=False))
    linear = {"quantile_method": "linear"} if "quantile_method" in KBinsDiscretizer().get_params() else {}
    kbins = KBinsDiscretizer(n_bins, strategy="quantile", encode="ordinal", **linear)
    assert np.array_equal(bins, kbins.fit_transform(values[:, None])[:, 0])


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(1, 8))
def test_each_frequency_cut_is_where_the_rows_on_its_left_are_nearest_to_their_share(
    values: list[int], n_bins: int
) -> None:
    column = np.array(values)
    distinct = np.unique(column)
    left = {(a + b) / 2: int((column <= a).sum()) for a, b in pairwise(distinct)}
    shares = [len(values) * k for k in range(1, n_bins)]
    expected = (
        {min(left, key=lambda cut: (abs(n_bins * left[cut] - share), cut)) for share in shares} if left else set()
    )
    assert frequency_cuts(values, n_bins).tolist() == sorted(expected)


# -------------------------------------------------------------------- bins and names


@given(
    st.lists(numbers.filter(lambda x: x != INF), max_size=300, unique=True),
    st.lists(st.floats(), max_size=30),
    st.sampled_from([None, np.uint16, np.uint32]),
)
def test_a_bin_is_the_number_of_cuts_below(cuts: list[float], values: list[float], dtype: Any) -> None:
    cuts = sorted(cuts)
    column = np.array([*values, *cuts], dtype=float)
    expected = [len(cuts) + 1 if math.isnan(x) else sum(cut < x for cut in cuts) for x in column.tolist()]
    codes = code_columns([column, -column], [cuts, []], dtype)
    assert codes[0].tolist() == expected
    assert codes.dtype == (dtype or np.min_scalar_type(len(cuts) + 1))
    assert codes[1].tolist() == [1 if math.isnan(x) else 0 for x in column]


@given(st.lists(numbers, max_size=30), st.integers(1, 6), st.data())
def test_infinite_and_huge_and_tiny_numbers_are_binned_like_others(
    values: list[float], n_bins: int, data: st.DataObject
) -> None:
    classes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values))), dtype=int)
    ranks = np.unique(values, return_inverse=True)[1]
    for numbers_cuts, rank_cuts in (
        (mdl_cuts(values, classes), mdl_cuts(ranks, classes)),
        (frequency_cuts(values, n_bins), frequency_cuts(ranks, n_bins)),
    ):
        assert np.array_equal(cut_codes(values, numbers_cuts), cut_codes(ranks, rank_cuts))
    finite = [x for x in values if math.isfinite(x)]
    assert np.array_equal(width_cuts(values, n_bins), width_cuts(finite, n_bins))
    codes = cut_codes([*values, -INF, INF], width_cuts(values, n_bins))
    assert codes[-2] == 0
    assert codes[-1] == len(width_cuts(values, n_bins)) == codes.max()


@given(st.lists(numbers.filter(lambda x: x != INF).map(lambda x: x + 0.0), max_size=12, unique=True).map(sorted))
def test_names_are_distinct_and_near_the_cuts_and_variables_keep_them_exactly(cuts: list[float]) -> None:
    names = interval_names(cuts)
    assert len(set(names)) == len(cuts) + 1
    told = interval_cuts(names)
    assert (np.diff(told) > 0).all()
    for place, cut in enumerate(cuts):
        gaps = [abs(cut - other) for other in (*cuts[max(0, place - 1) : place], *cuts[place + 1 : place + 2])]
        nearest = min(gaps) if gaps else abs(cut)
        assert told[place] == cut or abs(told[place] - cut) <= 0.001 * nearest * (1 + 1e-9)
    variable = bntk.Variable.of_intervals("x", cuts)
    assert list(variable.cuts or ()) == cuts
    assert pickle.loads(pickle.dumps(variable)) == variable
    assert [variable.code(cut) for cut in cuts] == list(range(len(cuts)))


def test_names_have_no_digits_of_rounding_errors() -> None:
    assert interval_names([1.42, 2.2350000000000003]) == ["<= 1.42", "(1.42, 2.235]", "> 2.235"]
    assert interval_names([0.1 + 0.2]) == ["<= 0.3", "> 0.3"]
    assert interval_names([1, 1.00000001]) == ["<= 1", "(1, 1.00000001]", "> 1.00000001"]
    rng = np.random.default_rng(0)
    assert max(map(len, interval_names(np.sort(rng.normal(size=5)).tolist()))) <= 18


def test_names_read_as_intervals() -> None:
    assert interval_names([-1, 0.1, 2.5, 1e30]) == ["<= -1", "(-1, 0.1]", "(0.1, 2.5]", "(2.5, 1e+30]", "> 1e+30"]
    assert interval_names([-0.0]) == ["<= 0", "> 0"]


@pytest.mark.parametrize(
    "names", [[], ["a"], ["<= 1", "(2, 3]", "> 3"], ["<= 1", "> 2"], ["<= x", "> x"], ["> 1", "<= 1"]]
)
def test_other_names_are_refused(names: list[str]) -> None:
    with pytest.raises(bntk.errors.DataError, match="not the names of intervals"):
        interval_cuts(names)


def test_a_network_keeps_its_intervals_in_a_file(tmp_path: Any) -> None:
    states = interval_names([0.1 + 0.2, 4])
    bntk.BayesianNetwork.from_cpts([bntk.CPT(bntk.Variable("x", states), [0.2, 0.3, 0.5])]).save(tmp_path / "x.bif")
    assert bntk.load(tmp_path / "x.bif").variables[0].cuts == (0.3, 4)
    exact = bntk.Variable.of_intervals("x", [0.1 + 0.2, 4])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(exact, [0.2, 0.3, 0.5])])
    network.save(tmp_path / "x.json")
    assert bntk.load(tmp_path / "x.json").variables == (exact,)
    assert network.probability({"x": 0.1 + 0.2}) == 0.2
    assert network.probability({"x": [-1, "7"]}) == 0.7


def test_a_network_of_intervals_takes_numbers_in_tables() -> None:
    x, y = bntk.Variable.of_intervals("x", [0.5, 2]), bntk.Variable("y", ["a", "b"])
    network = bntk.BayesianNetwork.from_cpts(
        [bntk.CPT(x, [0.2, 0.3, 0.5]), bntk.CPT(y, [[0.1, 0.9], [0.5, 0.5], [0.7, 0.3]], [x])]
    )
    for values in ([0.5, 1, 2.01, None], np.array([0.5, 1, 2.01, NAN]), pd.Series([0.5, 1, 2.01, None])):
        found = network.posterior({"x": values}, "y")["a"]
        np.testing.assert_allclose(found, [0.1, 0.5, 0.7, 0.2 * 0.1 + 0.3 * 0.5 + 0.5 * 0.7])


@pytest.mark.parametrize("cuts", [[1.0], [3, 2], [1, 1], [NAN, 2], [1, INF], [1, 2, 3, 4]])
def test_cuts_that_do_not_fit_the_states_are_refused(cuts: list[float]) -> None:
    with pytest.raises(bntk.errors.DataError, match="'x'"):
        bntk.Variable("x", ["low", "middle", "high", "highest"][: 4 if len(cuts) != 2 else 3], cuts=cuts)


# -------------------------------------------------------------------- many columns, and the door


@pytest.mark.parametrize("method", ["mdl", "width", "frequency"])
def test_columns_are_cut_one_by_one_whatever_the_number_of_threads(method: str) -> None:
    columns = [smooth_rows(seed)[0] for seed in range(5)]
    classes = smooth_rows(2)[1]
    weights = np.arange(300) % 3
    expected = [learn_cuts([column], method, classes, weights)[0] for column in columns]
    for threads in (1, 3):
        bntk.set_threads(threads)
        cuts = learn_cuts(columns, method, classes, weights)
        codes = code_columns(columns, cuts)
        bntk.set_threads(None)
        assert [c.tolist() for c in cuts] == [e.tolist() for e in expected]
        assert np.array_equal(codes, [cut_codes(column, e) for column, e in zip(columns, expected, strict=True)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: learn_cuts([[1, 2]], "kmeans"), "method must be 'mdl', 'width' or 'frequency'"),
        (lambda: learn_cuts([[1, 2]], "mdl"), "needs the classes"),
        (lambda: learn_cuts([[1, 2], [1, 2, 3]], "width"), "column 1 has 3"),
        (lambda: learn_cuts([["a", "b"]], "width"), "column 0 holds values that are not numbers"),
        (lambda: learn_cuts([[[1, 2]]], "width"), "column 0 must have one dimension"),
        (lambda: width_cuts([1, 2], 0), "n_bins must be a whole number from 1"),
        (lambda: width_cuts([1, 2], 2.5), "n_bins must be a whole number from 1"),
        (lambda: mdl_cuts([1, 2], [0]), "one class for each of the 2 rows"),
        (lambda: mdl_cuts([1, 2], ["a", "b"], n_classes=2), "must be codes"),
        (lambda: mdl_cuts([1, 2], [0, 1], [1, -1]), "weight of row 1 is -1.0"),
        (lambda: mdl_cuts([1, 2], [0, 1], [NAN, 1]), "weight of row 0 is nan"),
        (lambda: mdl_cuts([1, 2], [0, 1], [1]), "one weight for each of the 2 rows"),
        (lambda: cut_codes([1, 2], [2, 1]), "must increase"),
        (lambda: cut_codes([1, 2], [1, NAN]), "not NaN or infinity"),
        (lambda: cut_codes([1, 2], ["x"]), "must be numbers"),
        (lambda: code_columns([[1, 2]], []), "1 columns, but cuts for 0"),
        (lambda: code_columns([[1]], [range(300)], np.uint8), "need the type uint16"),
    ],
)
def test_bad_input_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# -------------------------------------------------------------------- the transformer


@parametrize_with_checks(
    [
        bntk.Discretizer("mdl"),
        bntk.Discretizer("width"),
        bntk.Discretizer("frequency", 4),
        bntk.Discretizer("hartemink", 3),
    ]
)
def test_it_is_a_scikit_learn_transformer(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture
def frame() -> pd.DataFrame:
    values, classes = smooth_rows(3)
    frame = pd.DataFrame(
        {"x": values, "colour": np.array(["red", "blue"])[classes % 2], "n": classes + 1, "ok": classes > 1}
    )
    frame["count"] = pd.array([None, *range(1, len(frame))], dtype="Int64")
    return frame.set_index(np.arange(len(frame)) + 100)


def test_numeric_columns_become_ordered_categories_and_others_pass_through(frame: pd.DataFrame) -> None:
    discretizer = bntk.Discretizer("frequency", n_bins=3).fit(frame)
    states = discretizer.transform(frame)
    assert states.index.equals(frame.index)
    assert list(states.columns) == list(discretizer.get_feature_names_out()) == list(frame.columns)
    pd.testing.assert_frame_equal(states[["colour", "ok"]], frame[["colour", "ok"]])
    assert list(discretizer.cuts_) == ["x", "n", "count"]
    table = bntk.Table.from_frame(states)
    for variable in discretizer.variables_:
        assert variable.states == table.variable(variable.name).states
        assert variable.ordered
        assert list(variable.cuts or ()) == discretizer.cuts_[variable.name].tolist()
        numbers = frame[variable.name].to_numpy(dtype=float, na_value=NAN)
        assert np.array_equal(table.column(variable.name), cut_codes(numbers, discretizer.cuts_[variable.name]))


@pytest.mark.parametrize("convert", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)])
def test_other_data_frames_give_the_same_states_in_their_own_kind(frame: pd.DataFrame, convert: Any) -> None:
    classes = frame["n"].to_numpy()
    native = convert(frame)
    states = bntk.Discretizer().fit_transform(native, classes)
    assert type(states) is type(native)
    expected = bntk.Table.from_frame(bntk.Discretizer().fit_transform(frame, classes))
    found = bntk.Table.from_frame(states)
    assert [v.states for v in found.variables] == [v.states for v in expected.variables]
    assert np.array_equal(found.codes, expected.codes)


def test_only_the_training_rows_make_the_cuts() -> None:
    values, classes = smooth_rows(4)
    discretizer = bntk.Discretizer().fit(values[:200, None], classes[:200])
    assert discretizer.cuts_[0].tolist() == mdl_cuts(values[:200], classes[:200]).tolist()
    later = discretizer.transform(np.array([[-1e9], [NAN], [1e9]]))
    assert np.array_equal(later, [[0], [NAN], [len(discretizer.cuts_[0])]], equal_nan=True)


def test_cuts_and_columns_may_be_given(frame: pd.DataFrame) -> None:
    discretizer = bntk.Discretizer("width", 3, columns=["n"], cuts={"x": [0, 1]}).fit(frame)
    assert discretizer.cuts_["x"].tolist() == [0, 1]
    assert discretizer.cuts_["n"].tolist() == width_cuts(frame["n"], 3).tolist()
    assert list(discretizer.cuts_) == ["x", "n"]
    pd.testing.assert_series_equal(discretizer.transform(frame)["count"], frame["count"])
    only_given = bntk.Discretizer(columns=[], cuts={"x": [0]}).fit_transform(frame)
    assert (only_given["x"] == "<= 0").equals(frame["x"] <= 0)


def test_a_weighted_fit_is_a_fit_to_repeated_rows() -> None:
    values, classes = smooth_rows(5)
    weights = np.arange(len(values)) % 3
    repeated = bntk.Discretizer().fit(np.repeat(values, weights)[:, None], np.repeat(classes, weights))
    weighted = bntk.Discretizer().fit(values[:, None], classes, sample_weight=weights)
    assert weighted.cuts_[0].tolist() == repeated.cuts_[0].tolist()


def test_it_is_cloned_pickled_and_searched_over_in_a_pipeline() -> None:
    values, classes = smooth_rows(6)
    X = np.column_stack([values, values[::-1]])
    discretizer = bntk.Discretizer("frequency", n_bins=4)
    assert clone(discretizer).get_params() == discretizer.get_params()
    pipeline = make_pipeline(discretizer, CategoricalNB(min_categories=12))
    search = GridSearchCV(pipeline, {"discretizer__n_bins": [2, 8]}, error_score="raise").fit(X, classes)
    assert search.best_params_ == {"discretizer__n_bins": 8}
    assert search.score(X, classes) > 0.8
    fitted = search.best_estimator_[0]
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))


@pytest.mark.parametrize(
    ("discretizer", "y", "message"),
    [
        (bntk.Discretizer(), None, "requires y to be passed"),
        (bntk.Discretizer(), np.linspace(0, 1, 300), "y holds numbers that are not whole"),
        (bntk.Discretizer("width", columns=["colour"]), None, "column 'colour' holds values of the type String"),
        (bntk.Discretizer("width", columns=["y"]), None, "no column 'y'"),
        (bntk.Discretizer("width", cuts={"y": [1]}), None, "no column 'y'"),
        (bntk.Discretizer("width", cuts={"x": [1, 1]}), None, "the cuts of column 'x' must increase"),
        (bntk.Discretizer("chi"), None, "method must be 'mdl', 'width', 'frequency' or 'hartemink', not 'chi'"),
    ],
)
def test_a_fit_that_cannot_be_says_why(frame: pd.DataFrame, discretizer: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discretizer.fit(frame, y)


# -------------------------------------------------------------------- Weka

# Weka's name of a set, and ours. Its class may declare states that never occur, which its smoothing counts.
WEKA = {
    "breast-w": "breast-w", "cmc": "cmc", "colic": "colic", "credit-a": "crx", "dermatology": "dermatology",
    "diabetes": "diabetes", "ecoli": "ecoli", "glass": "glass", "haberman": "haberman", "heart-c": "cleve",
    "heart-h": "heart-h", "heart-statlog": "heart-statlog", "hepatitis": "hepatitis", "ionosphere": "ionosphere",
    "iris": "iris", "labor": "labor", "page-blocks": "page-blocks", "sick": "sick", "tae": "tae", "vehicle": "vehicle",
    "wine": "wine",
}  # fmt: skip


def posterior_of_naive_bayes(
    codes: np.ndarray, cards: list[int], y: np.ndarray, K: int, test: np.ndarray
) -> np.ndarray:
    """Weka's: (n + 1) / (N + K) and (n + 1) / (n_y + r); missing cells are skipped."""
    train = ~test
    log_joint = np.tile(np.log((np.bincount(y[train], minlength=K) + 1) / (train.sum() + K)), (test.sum(), 1))
    for column, r in zip(codes, cards, strict=True):
        counts = np.zeros((K, r + 1))
        np.add.at(counts, (y[train], column[train]), 1)
        counts = counts[:, :r] + 1
        terms = np.hstack([np.log(counts / counts.sum(axis=1, keepdims=True)), np.zeros((K, 1))])
        log_joint += terms[:, column[test]].T
    joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", WEKA)
def test_naive_bayes_on_our_cuts_predicts_what_weka_does(name: str) -> None:
    folds = np.loadtxt(shared(f"oracle/weka/folds/{name}.folds.txt"), dtype=int)
    with shared("oracle/weka/results.csv").open() as lines:
        weka = next(r for r in csv.DictReader(lines) if (r["dataset"], r["classifier"]) == (name, "NaiveBayes"))
    described = pd.read_csv(shared("data/uci/ATTRIBUTES.csv.gz"), keep_default_na=False, dtype=str)
    described = described[described["dataset"] == WEKA[name]].set_index("attribute")
    data = pd.read_csv(shared(f"data/uci/{WEKA[name]}.csv.gz"), keep_default_na=False, na_values=[""], dtype=str)
    K, features, target = int(weka["classes"]), data.columns[:-1], data.columns[-1]
    kinds = described.loc[features, "type"].to_numpy()
    numeric = [data[f].to_numpy(dtype=float) for f in features[kinds == "numeric"]]
    states = {f: described.loc[f, "values"].split("|") for f in data.columns[[*(kinds == "nominal"), True]]}
    nominal = [pd.Categorical(data[f], states[f]).codes % (len(states[f]) + 1) for f in features[kinds == "nominal"]]
    y = pd.Categorical(data[target], states[target]).codes.astype(int)

    truth, posterior = [], []
    for fold in np.unique(folds):
        test = folds == fold
        cuts = learn_cuts([column[~test] for column in numeric], "mdl", y[~test], n_classes=K)
        codes = np.array([*code_columns(numeric, cuts), *nominal])
        cards = [*(len(c) + 1 for c in cuts), *(len(states[f]) for f in features[kinds == "nominal"])]
        posterior.append(posterior_of_naive_bayes(codes, cards, y, K, test))
        truth.append(y[test])
    p, labels = np.concatenate(posterior), np.concatenate(truth)
    assert 100 * np.mean(p.argmax(axis=1) == labels) == pytest.approx(float(weka["accuracy_pct"]), abs=5.1e-5)
    assert np.sqrt(np.mean((p - np.eye(K)[labels]) ** 2)) == pytest.approx(float(weka["rmse"]), abs=5.1e-6)
    log_loss = -np.mean(np.log(np.maximum(p[np.arange(len(p)), labels], 1e-15)))  # the reference has this floor
    assert log_loss == pytest.approx(float(weka["logloss"]), abs=5.1e-6)


@given(st.integers(0, 10_000), st.booleans())
def test_the_cuts_of_several_class_variables_are_those_of_each_together(seed, weighted):
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=80), rng.integers(0, 6, 80).astype(float), np.where(rng.random(80) < 0.3, np.nan, 1.5)]
    classes = np.array([columns[0] + rng.normal(size=80) > 0, columns[1] > rng.integers(0, 6, 80), columns[0] > 1]) * 1
    classes[rng.random(classes.shape) < 0.1] = 2  # no label
    weights = rng.integers(0, 3, 80).astype(float) if weighted else None
    found = joint_cuts(columns, classes, [2, 2, 2], weights)
    each = [learn_cuts(columns, "mdl", codes, weights, n_classes=2) for codes in classes]
    for cuts, some in zip(found, zip(*each, strict=True), strict=True):
        np.testing.assert_array_equal(cuts, np.unique(np.concatenate(some)))
