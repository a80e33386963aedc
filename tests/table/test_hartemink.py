"""Hartemink's discretisation: against his definition by brute force, and bnlearn's first cuts as R defines them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

import bntk
from bntk.data.cuts import code_columns, cut_codes, frequency_cuts, hartemink_cuts, width_cuts

NAN = np.nan


def information(x: np.ndarray, y: np.ndarray) -> float:
    """The mutual information of two columns of codes, in the rows where neither is negative."""
    known = (x >= 0) & (y >= 0)
    return float(mutual_info_score(x[known], y[known])) if known.any() else 0.0


def by_definition(columns: list[np.ndarray], others: list[np.ndarray], n_bins: int) -> list[np.ndarray]:
    """The codes that are left when, in turns, the two neighbouring states of each column are united whose union leaves
    the largest sum of mutual information with all others, the first of several; missing cells are negative.
    """
    columns = [column.copy() for column in columns]
    sizes = [column.max() + 1 for column in columns]
    while max(sizes) > n_bins:
        for i, column in enumerate(columns):
            if sizes[i] > n_bins:
                united = [column - (column > a) for a in range(sizes[i] - 1)]
                beside = [*columns[:i], *columns[i + 1 :], *others]
                left = [sum(information(x, y) for y in beside) for x in united]
                best = next(a for a, sum_of in enumerate(left) if sum_of > max(left) - 1e-10)
                columns[i], sizes[i] = united[best], sizes[i] - 1
    return columns


def coded(columns: list[np.ndarray], cuts: list[np.ndarray]) -> list[np.ndarray]:
    found = code_columns(columns, cuts).astype(int)
    return [np.where(np.isnan(x), -1, codes) for x, codes in zip(columns, found, strict=True)]


def rows(seed: int, n_rows: int = 120, missing: float = 0.0) -> list[np.ndarray]:
    """Columns that depend on one another, some of them with repeated values."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    columns = [x, np.round(x**2, 1), rng.normal(size=n_rows) + (x > 1), rng.exponential(size=n_rows)]
    for column in columns:
        column[rng.random(n_rows) < missing] = NAN
    return columns


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("method", ["frequency", "width"])
@pytest.mark.parametrize("seed", range(4))
def test_merges_are_those_of_the_definition(seed, method, missing):
    columns = rows(seed, missing=missing)
    labels = np.random.default_rng(seed).integers(0, 3, 120)
    first = {"frequency": frequency_cuts, "width": width_cuts}[method]
    start = coded(columns, [first(column, 9) for column in columns])
    for others, table in [([], None), ([labels], bntk.Table.from_columns({"label": labels}))]:
        cuts = hartemink_cuts(columns, 3, initial_bins=9, initial_method=method, others=table)
        expected = by_definition(start, others, 3)
        for own, codes in zip(coded(columns, cuts), expected, strict=True):
            assert own.tolist() == codes.tolist()


def test_of_equally_good_merges_the_first_is_taken():
    x = np.arange(8.0)
    cuts = hartemink_cuts([x, x], 2, initial_bins=4)
    # Four intervals of two rows, equally informative: those below are united first, in x and then in y.
    assert by_definition(coded([x, x], [np.array([1.5, 3.5, 5.5])] * 2), [], 2)[0].tolist() == [0] * 4 + [1] * 4
    assert [own.tolist() for own in cuts] == [[3.5], [3.5]]


@pytest.mark.parametrize("n_intervals", [6, 20])
def test_where_the_rows_divide_evenly_the_first_intervals_are_between_the_quantiles_of_r(n_intervals):
    column = np.random.default_rng(0).normal(size=20 * n_intervals)
    quantiles = np.quantile(column, np.arange(1, n_intervals) / n_intervals)  # type 7, R's default and bnlearn's
    by_quantiles = np.searchsorted(quantiles, column)
    assert cut_codes(column, frequency_cuts(column, n_intervals)).tolist() == by_quantiles.tolist()


def test_a_threshold_that_matters_to_another_column_is_kept():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=2000)
    y = np.where(x > 0.85, rng.normal(5, 1, 2000), rng.normal(0, 1, 2000))
    (cuts_x, cuts_y) = hartemink_cuts([x, y], 2, initial_bins=20)
    assert cuts_x[0] == pytest.approx(0.85, abs=0.02)
    assert 1.5 < cuts_y[0] < 4


def test_a_weight_is_a_number_of_rows_and_neither_order_nor_threads_matter():
    columns, weights = rows(3, missing=0.1), np.arange(120) % 3
    expected = [own.tolist() for own in hartemink_cuts([np.repeat(x, weights) for x in columns], 3, initial_bins=10)]
    order = np.random.default_rng(0).permutation(120)
    for threads in (1, 3):
        bntk.set_threads(threads)
        weighted = hartemink_cuts(columns, 3, weights, initial_bins=10)
        shuffled = hartemink_cuts([x[order] for x in columns], 3, weights[order], initial_bins=10)
        bntk.set_threads(None)
        assert [own.tolist() for own in weighted] == [own.tolist() for own in shuffled] == expected


def test_fewer_numbers_than_intervals_are_left_as_they_are():
    x = np.array([0.0, 0, 1, 1, 0, 1] * 5)
    y = np.arange(30.0)
    constant, empty = np.full(30, 7.0), np.full(30, NAN)
    cuts = hartemink_cuts([x, y, constant, empty], 3, initial_bins=6)
    assert [len(own) for own in cuts] == [1, 2, 0, 0]
    assert cuts[0].tolist() == [0.5]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hartemink_cuts([np.arange(9.0)], 2), "there is no other"),
        (lambda: hartemink_cuts([[1, 2], [3, 4]], 0), "n_bins must be a whole number from 1"),
        (lambda: hartemink_cuts([[1, 2], [3, 4]], 5, initial_bins=4), "initial_bins must be a whole number from 5"),
        (
            lambda: hartemink_cuts([[1, 2], [3, 4]], initial_method="mdl"),
            "initial_method must be 'frequency' or 'width'",
        ),
        (lambda: hartemink_cuts([[1, 2]], others=bntk.Table.from_columns({"a": [1]})), "others has 1 rows.* have 2"),
        (lambda: bntk.Discretizer("hartemink", 5, initial_bins=2).fit(np.eye(3)), "initial_bins must be"),
        (lambda: bntk.learn({"x": np.arange(40.0)}, numeric="hartemink"), "there is no other"),
        (lambda: bntk.MDBNC(numeric="hartemink").fit(np.eye(20), np.eye(20)), "is for one class variable"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -------------------------------------------------------------------- where users meet it


@pytest.fixture
def frame() -> pd.DataFrame:
    x, y, z, _ = rows(5, 400)
    kind = np.where(x > 0.8, "high", "low")
    return pd.DataFrame({"x": x, "kind": kind, "y": y, "z": z, "row": [f"row {i}" for i in range(400)]})


def test_the_discretizer_looks_at_labels_and_given_cuts_but_not_at_identifiers(frame):
    found = bntk.Discretizer("hartemink", 3, cuts={"z": [0.5]}, initial_bins=12).fit(frame)
    others = bntk.Table.from_columns({"kind": frame["kind"], "z": cut_codes(frame["z"], [0.5])})
    expected = hartemink_cuts([frame["x"], frame["y"]], 3, initial_bins=12, others=others)
    assert [found.cuts_[name].tolist() for name in ("x", "y")] == [own.tolist() for own in expected]
    alone = hartemink_cuts([frame["x"], frame["y"]], 3, initial_bins=12)
    assert [own.tolist() for own in alone] != [own.tolist() for own in expected]
    assert found.transform(frame)["row"].equals(frame["row"])


def test_an_array_gives_the_cuts_of_a_frame_with_the_same_numbers(frame):
    numbers = frame[["x", "y", "z"]]
    by_name = bntk.Discretizer("hartemink", 4, initial_method="width").fit(numbers).cuts_
    by_place = bntk.Discretizer("hartemink", 4, initial_method="width").fit(numbers.to_numpy()).cuts_
    assert [own.tolist() for own in by_name.values()] == [own.tolist() for own in by_place.values()]


def test_learning_from_a_frame_cuts_as_the_discretizer_does(frame):
    with pytest.warns(bntk.errors.ColumnWarning, match="'row' identifies rows"):
        learned = bntk.learn(frame, numeric="hartemink", n_bins=3)
    by_discretizer = bntk.Discretizer("hartemink", 3).fit(frame)
    assert {v.name: v for v in learned.variables if v.name in "xyz"} == {v.name: v for v in by_discretizer.variables_}
    structure = "x -> y; z; kind"
    cuts = by_discretizer.cuts_
    fitted = bntk.fit(structure, frame.drop(columns="row"), numeric="hartemink", n_bins=3)
    assert fitted == bntk.fit(structure, frame.drop(columns="row"), numeric=cuts)


def test_classifiers_count_the_class_as_one_more_variable(frame):
    X, y = frame[["x", "y", "z"]], frame["kind"]
    found = bntk.NaiveBayes(numeric="hartemink", n_bins=3).fit(X, y).features_.cuts
    expected = hartemink_cuts([X[name] for name in X], 3, others=bntk.Table.from_columns({"kind": y}))
    assert [own.tolist() for own in found.values()] == [own.tolist() for own in expected]


def test_a_few_whole_numbers_stay_states(frame):
    frame = frame[["x", "y"]].assign(count=np.arange(400) % 4)
    fitted = bntk.fit("x; y; count", frame, numeric="hartemink", n_bins=3)
    assert fitted.variable("count").states == (0, 1, 2, 3)


def test_rows_in_passes_say_what_to_choose(frame, tmp_path):
    frame[["x", "y"]].to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(bntk.errors.DataError, match="looks at whole rows.*'frequency'"):
        bntk.learn(bntk.scan(tmp_path / "rows.csv"), numeric="hartemink")


def test_the_command_cuts_as_python_does(frame, tmp_path):
    from bntk.cli import main

    source, target = tmp_path / "rows.csv", tmp_path / "cut.csv"
    frame.to_csv(source, index=False)
    options = ["--method", "hartemink", "--bins", "3", "--initial-bins", "15", "-o", str(target)]
    assert main(["discretize", str(source), *options]) == 0
    expected = bntk.Discretizer("hartemink", 3, initial_bins=15).fit_transform(frame)
    assert pd.read_csv(target)["x"].tolist() == expected["x"].astype(str).tolist()
    for wrong in (["--method", "width", "--initial-bins", "9"], ["--method", "hartemink", "--initial-bins", "3"]):
        assert main(["discretize", str(source), *wrong]) == 2
