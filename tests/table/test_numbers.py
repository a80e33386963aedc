"""One rule for columns of numbers, in learning, in classifiers and in the command."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bntk
from bntk.cli.entry import main
from bntk.data.numbers import MOST_WHOLE, Reading, has_few_whole
from bntk.errors import ColumnWarning, DataError

RNG = np.random.default_rng(0)
N = 300
COLUMNS = {
    "codes": RNG.integers(0, 4, N),
    "ten": np.arange(N) % 10,
    "eleven": np.arange(N) % 11,
    "halves": RNG.integers(0, 4, N) / 2,
    "measure": RNG.normal(size=N).round(3),
    "weight": RNG.integers(10_000, 90_000, N),
    "label": RNG.choice(["a", "b"], N),
    "truth": RNG.random(N) < 0.5,
}
AS_THEY_ARE = {"codes", "ten", "label", "truth"}
FRAME = pd.DataFrame(COLUMNS)
Y = np.where(FRAME["measure"] + RNG.normal(size=N) > 0, "high", "low")


def learned(frame, **options) -> bntk.BayesianNetwork:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        return bntk.learn(frame, "bic", search="hc", **options)


def states_of_command(path, *words) -> dict[str, list]:
    assert main(["learn", str(path), "--search", "hc", "-o", str(path.with_suffix(".json")), "--quiet", *words]) == 0
    return {v.name: list(v.states) for v in bntk.load(path.with_suffix(".json")).variables}


def test_few_whole_numbers_are_states_and_others_are_cut_everywhere(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    bn = learned(FRAME)
    by_learn = {v.name: list(v.states) for v in bn.variables}
    classifier = bntk.TAN().fit(FRAME, Y)
    for name in FRAME.columns:
        (of_classifier,) = [v for v in classifier.features_.variables if v.name == name]
        if name in AS_THEY_ARE:
            assert by_learn[name] == list(of_classifier.states) == sorted(FRAME[name].unique().tolist())
        else:
            assert bn.variable(name).cuts is not None
            assert len(by_learn[name]) <= 5
            assert of_classifier.cuts is not None
    assert states_of_command(tmp_path / "rows.csv") == by_learn


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(COLUMNS), COLUMNS], ids=["pandas", "polars", "dict"])
def test_the_rule_does_not_depend_on_the_kind_of_data(frame):
    assert learned(frame).variables == learned(FRAME).variables


@given(st.lists(st.integers(-2, 14) | st.none(), min_size=1, max_size=40))
def test_few_is_at_most_ten_and_at_most_half_the_rows_or_counted_on_from_0_or_1(values):
    present = [v for v in values if v is not None]
    different = {*present}
    counted = len(different) <= 2 or different in ({*range(len(different))}, {*range(1, len(different) + 1)})
    few = len(different) <= MOST_WHOLE and (2 * len(different) <= len(present) or counted)
    assert has_few_whole(np.array([np.nan if v is None else v for v in values])) == (bool(present) and few)


@pytest.mark.parametrize("value", [0.5, np.inf, -np.inf])
def test_numbers_that_are_not_whole_are_cut(value):
    assert not has_few_whole(np.array([1.0, 2, 1, 2, value, value]))


def test_what_the_rule_cuts_is_named_in_one_warning_and_what_was_asked_for_is_not():
    with pytest.warns(ColumnWarning, match=r"'measure' \(\d+ different numbers\).*numeric=") as caught:
        bntk.learn(FRAME, search="hc")
    assert len(caught) == 1
    assert "'ten'" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bntk.learn(FRAME, search="hc", numeric="frequency", n_bins=3)
        bntk.TAN().fit(FRAME, Y)


@pytest.mark.parametrize(
    ("numeric", "expected"),
    [
        ("category", {"measure": FRAME["measure"].nunique(), "ten": 10}),
        ("width", {"measure": 4, "ten": 4}),
        ("bernoulli", {"measure": 2, "ten": 2}),
        ({"measure": [0.0], "ten": "frequency"}, {"measure": 2, "ten": 4, "codes": 4}),
    ],
    ids=str,
)
def test_numeric_chooses_another_way(numeric, expected):
    bn = learned(FRAME[["measure", "ten", "codes"]].head(200), numeric=numeric, n_bins=4)
    found = {v.name: v.n_states for v in bn.variables}
    if numeric == "category":
        expected = {**expected, "measure": FRAME["measure"].head(200).nunique()}
    assert {name: found[name] for name in expected} == expected


def test_what_needs_a_class_is_refused_without_one():
    with pytest.raises(ValueError, match="'mdl' .column 'codes'. is for rows with a class; the choices are auto"):
        bntk.learn(FRAME, numeric="mdl")
    with pytest.raises(ValueError, match="numeric='thirds'"):
        bntk.learn(FRAME, numeric="thirds")
    with pytest.raises(DataError, match="'label', which does not hold numbers"):
        bntk.learn(FRAME, numeric={"label": "width"})
    with pytest.raises(DataError, match="'colour', which the data has not"):
        bntk.learn(FRAME, numeric={"colour": "width"})


def test_all_functions_that_learn_from_a_frame_read_it_alike():
    frame, ways = FRAME[["measure", "ten", "label"]], {"numeric": "width", "n_bins": 3}
    bn = bntk.learn(frame, "bic", **ways)
    assert bntk.score(bn.dag, frame, "bic", **ways) == pytest.approx(bn.report.score, abs=1e-9)
    assert sum(bntk.scores.score_by_node(bn.dag, frame, "bic", **ways).values()) == pytest.approx(bn.report.score)
    assert bntk.fit(bn.dag, frame, **ways).variables == bn.variables
    assert bntk.fit(bn.dag, frame, missing="em", **ways).variables == bn.variables
    assert bntk.structural_em(frame, "bic", **ways).variables == bn.variables
    assert bntk.bootstrap_strengths(frame, "bic", n=2, **ways).nodes == bn.names


def test_frequencies_are_weighted_and_weights_are_repetition():
    frame, weights = FRAME[["measure", "label"]], RNG.integers(1, 4, N)
    assert learned(frame, weights=weights).variables == learned(frame.loc[frame.index.repeat(weights)]).variables


def test_declared_variables_are_taken_as_they_are():
    cut = bntk.Variable.of_intervals("measure", [-1.0, 1.0])
    declared = [cut, bntk.Variable("label", ["a", "b"])]
    assert learned(FRAME[["measure", "label"]], variables=declared).variable("measure") == cut
    bn = bntk.fit_em("measure -> label", FRAME, variables=[cut])
    assert bn.variable("measure") == cut


def test_a_table_is_left_alone_but_many_numbers_are_named():
    table = bntk.Table.from_frame(FRAME[["ten", "eleven", "label"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bntk.learn(table).variables == table.variables
        assert bntk.fit("label -> eleven", table).variable("eleven") == table.variable("eleven")
    assert bntk.learn(table, numeric="width", n_bins=2).variable("eleven").n_states == 2
    many = bntk.Table.from_frame(FRAME[["weight", "label"]])
    with pytest.warns(ColumnWarning, match=r"'weight' \(\d+ numbers\)"):
        bntk.learn(many)


def test_identifiers_dates_and_empty_columns_are_left_out_of_a_network_that_is_learned():
    messy = FRAME[["label", "codes"]].assign(
        id=[f"row {i}" for i in range(N)],
        day=pd.date_range("2024-01-01", periods=N),
        none=np.nan,
        nothing=pd.Series([None] * N, dtype=object),
    )
    for learn in (bntk.learn, bntk.structural_em, lambda data: bntk.bootstrap_strengths(data, n=1)):
        with pytest.warns(ColumnWarning, match="'id' identifies rows: 300 states in 300 rows"):
            found = learn(messy)
        assert (found.nodes if hasattr(found, "nodes") else found.names) == ("label", "codes")
    kept = bntk.learn(messy.drop(columns=["none", "nothing", "day"]), search="hc", identifiers="keep")
    assert kept.names == ("label", "codes", "id")
    space = bntk.Space(["label", "id"])  # names what is wanted
    assert bntk.learn(messy, space=space, search="hc").names == ("label", "id")
    with pytest.raises(DataError, match="'none' has no states: every cell is missing"):
        bntk.fit("label -> none", messy)
    with pytest.raises(ValueError, match="identifiers must be 'drop' or 'keep'"):
        bntk.learn(messy, identifiers="guess")


# ---- numbers that floats, or Python, cannot tell apart ---------------------------------------------------------------


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"])
def test_whole_numbers_beyond_floats_are_kept_apart_or_refused_by_name(container):
    big = 2**60
    few = container({"big": big + np.arange(40) % 4})
    y = np.where(np.arange(40) % 4 < 2, "p", "q")
    nb = bntk.NaiveBayes().fit(few, y)
    assert nb.features_.variables[0].states == (big, big + 1, big + 2, big + 3)
    assert nb.score(few, y) == 1
    many = container({"big": big + np.arange(40)})
    for fit in (
        lambda: bntk.NaiveBayes().fit(many, y),
        lambda: bntk.NaiveBayes(numeric="mdl").fit(few, y),
        lambda: bntk.NaiveBayes(numeric="gaussian").fit(few, y),
        lambda: bntk.learn(many),
        lambda: bntk.MDBNC().fit(many, np.column_stack([y, y])),
    ):
        with pytest.raises(DataError, match=r"'big' holds whole numbers beyond 2\*\*53"):
            fit()
    assert learned(many, numeric="category").variable("big").n_states == 40
    exact = container({"big": 2**53 * np.arange(1, 41)})  # each is a float of its own
    assert bntk.NaiveBayes().fit(exact, y).features_.variables[0].cuts is not None


@pytest.mark.parametrize("pair", [(1, True), (0, False), (1.0, True)])
def test_one_and_true_in_a_column_are_refused_by_name(pair):
    values = [*pair, "x", *pair]
    for data in ({"a": values}, pd.DataFrame({"a": values}, dtype=object)):
        with pytest.raises(DataError, match=f"'a' holds both {pair[1]} and {int(pair[1])}"):
            bntk.learn(data)
        with pytest.raises(DataError, match=f"'a' holds both {pair[1]} and {int(pair[1])}"):
            bntk.NaiveBayes().fit(data, list("pqpqp"))
    with pytest.raises(DataError, match=f"holds both {pair[1]} and {int(pair[1])}"):
        bntk.NaiveBayes().fit({"a": list("uvuv")}, [*pair, *pair])


def test_either_alone_is_fine():
    table = bntk.Table.from_columns({"a": [1, 0, "x", None], "b": [True, False, None, "x"], "c": [1, 1.0, 2, 0]})
    assert [list(v.states) for v in table.variables] == [[0, 1, "x"], [False, True, "x"], [0, 1, 2]]


def test_too_many_floats_for_a_table_name_the_ways_out():
    with pytest.raises(DataError, match=r"bntk\.Discretizer.*bntk\.learn"):
        bntk.Table.from_columns({"a": np.arange(400) / 7})


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "classes"),
    [
        (["--target-cuts", "40000,60000"], ["<= 40000", "(40000, 60000]", "> 60000"]),
        (["--target-bins", "2"], None),
    ],
    ids=["cuts", "bins"],
)
def test_a_target_of_numbers_can_be_cut(tmp_path, capsys, words, classes):
    path, model = tmp_path / "rows.csv", tmp_path / "model.json"
    FRAME.to_csv(path, index=False)
    assert main(["learn", str(path), "--target", "weight", *words, "-o", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["targets"]["weight"]
    assert found == classes if classes else len(found) == 2
    assert main(["predict", str(model), str(path), "-o", str(tmp_path / "out.csv")]) == 0
    assert "of 300 labels are right" in capsys.readouterr().err  # the truth is a number
    assert main(["evaluate", str(path), "--target", "weight", *words, "--model", "nb", "--folds", "2"]) == 0
    if classes is None:
        sizes = pd.cut(FRAME["weight"], [-np.inf, float(found[0].removeprefix("<= ")), np.inf]).value_counts()
        assert abs(sizes.iloc[0] - sizes.iloc[1]) <= 2


def test_a_target_of_fractions_is_refused_with_the_ways_out(tmp_path, capsys):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    assert main(["learn", str(tmp_path / "rows.csv"), "--target", "measure"]) == 1
    assert "--target-bins 3" in capsys.readouterr().err
    assert main(["learn", str(tmp_path / "rows.csv"), "--target", "label", "--target-bins", "2"]) == 2
    assert "is for numbers" in capsys.readouterr().err


def test_numeric_and_bins_of_the_command_are_those_of_python(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    expected = {v.name: list(v.states) for v in learned(FRAME, numeric="width", n_bins=3).variables}
    assert states_of_command(tmp_path / "rows.csv", "--numeric", "width", "--bins", "3") == expected


def test_a_reading_joins_labels_and_cuts_in_the_order_of_the_columns():
    table = Reading("width", 2).table([("m", [1.5, 2.5, 9.0]), ("a", ["u", "v", None]), ("n", [3.0, None, 1.0])])
    assert table.names == ("m", "a", "n")
    assert table.codes.tolist() == [[0, 0, 1], [0, 1, 2], [1, 2, 0]]
