from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from references import shared

from bntk.datasets import balance_scale, car, car_model, monks, nursery, nursery_model, tic_tac_toe


def uci(name: str) -> pd.DataFrame:
    return pd.read_csv(shared(f"data/uci/{name}.csv.gz"), dtype=str)


def rows_of(X: pd.DataFrame, y: pd.Series) -> list[tuple[str, ...]]:
    return list(X.assign(**{"class": y}).astype(str).itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("made", "name"),
    [(car, "car"), (nursery, "nursery"), (balance_scale, "balance-scale")],
    ids=["car", "nursery", "balance-scale"],
)
def test_all_rows_are_those_of_the_repository_in_its_order(made, name: str) -> None:
    theirs, (X, y) = uci(name), made()
    assert [*X.columns, y.name] == list(theirs.columns)
    assert rows_of(X, y) == list(theirs.itertuples(index=False, name=None))


def test_final_boards_are_those_of_the_repository() -> None:
    theirs, (X, y) = uci("tic-tac-toe"), tic_tac_toe()
    assert list(X.columns) == list(theirs.columns)[:-1]
    assert sorted(rows_of(X, y)) == sorted(theirs.itertuples(index=False, name=None))


def test_final_boards_are_those_that_playing_on_reaches() -> None:
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    ends = set()

    def play(board: str, player: str) -> None:
        won = any(board[a] == board[b] == board[c] != "b" for a, b, c in lines)
        if won or "b" not in board:
            ends.add((*board, "positive" if won and player == "o" else "negative"))
            return
        for square in range(9):
            if board[square] == "b":
                play(board[:square] + player + board[square + 1 :], "o" if player == "x" else "x")

    play("b" * 9, "x")
    assert set(rows_of(*tic_tac_toe())) == ends


def concept(X: pd.DataFrame, y: pd.Series, orders: list[list[str]]) -> dict[tuple[str, ...], str]:
    """The class of each robot, its states written as their places in the orders."""
    codes = [[str(order.index(state)) for state in X[name]] for name, order in zip(X.columns, orders)]
    return dict(zip(zip(*codes), y.astype(str)))


# The problems 1 and 3 are coded there by the alphabet, the second as the paper numbers them.
ALPHABET = [
    ["octagon", "round", "square"],
    ["octagon", "round", "square"],
    ["no", "yes"],
    ["balloon", "flag", "sword"],
    ["blue", "green", "red", "yellow"],
    ["no", "yes"],
]
NUMBERED = [["-", *states] for states in (["round", "square", "octagon"],) * 2] + [
    ["-", "yes", "no"],
    ["-", "sword", "balloon", "flag"],
    ["-", "red", "yellow", "green", "blue"],
    ["-", "yes", "no"],
]


@pytest.mark.parametrize(("problem", "orders", "wrong"), [(1, ALPHABET, 0), (2, NUMBERED, 0), (3, ALPHABET, 6)])
def test_monks_say_what_the_repository_says_but_for_the_noise_of_the_third(problem, orders, wrong) -> None:
    ours = concept(*monks(problem), orders)
    theirs = list(uci(f"monk{problem}").itertuples(index=False, name=None))
    assert len(ours) == 432
    assert {row[:-1] for row in theirs} == set(ours)
    assert sum(ours[row[:-1]] != row[-1] for row in theirs) == wrong


@pytest.mark.parametrize(("model", "rows"), [(car_model, car), (nursery_model, nursery)])
def test_the_model_gives_each_row_its_class_for_certain(model, rows) -> None:
    X, y = rows()
    belief = model().posterior(X, "class")
    np.testing.assert_allclose(belief.max(axis=1), 1)
    assert belief.idxmax(axis=1).tolist() == y.tolist()


def test_the_model_of_cars_gives_frequencies_of_the_rows() -> None:
    X, y = car()
    model = car_model()
    for safety, buying in product(X["safety"].cat.categories, X["buying"].cat.categories):
        chosen = (X["safety"] == safety) & (X["buying"] == buying)
        belief = model.query("class", {"safety": safety, "buying": buying})
        for state, share in y[chosen].value_counts(normalize=True).items():
            assert belief[state] == pytest.approx(share, abs=1e-12)


def test_the_balance_tips_to_the_larger_moment() -> None:
    X, y = balance_scale()
    left, at_left, right, at_right = (X[name].astype(int) for name in X)
    assert ((left * at_left > right * at_right) == (y == "L")).all()
    assert ((left * at_left == right * at_right) == (y == "B")).all()


def test_there_are_three_monks_problems() -> None:
    with pytest.raises(ValueError, match="problem must be a whole number from 1 to 3, not 4"):
        monks(4)
