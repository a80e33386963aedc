"""Data sets of the UCI repository that follow from a rule over all configurations of the features.

They are computed from the rule, without a file: the rows are those of the repository (tic-tac-toe and the monks'
problems in another order).

References
----------
M. Bohanec and V. Rajkovic (1990). Expert system for decision making. Sistemica 1, 145-157. The hierarchies of ``car``
and ``nursery``; their tables were read off the repository's rows, which follow them without exception.

S. B. Thrun and others (1991). The MONK's problems: a performance comparison of different learning algorithms. Technical
report CS-91-197, Carnegie Mellon University.

R. S. Siegler (1976). Three aspects of cognitive development. Cognitive Psychology 8, 481-520. The balance scale.

C. J. Matheus and L. A. Rendell (1989). Constructive induction on decision trees. IJCAI, 645-650. Tic-tac-toe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._checking import whole_number
from bntk.cpt import CPT
from bntk.data.variable import Variable
from bntk.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas as pd

    Rows = tuple[pd.DataFrame, pd.Series]


def car() -> Rows:
    """Car evaluation: how acceptable a car is by its price and its technique; 1,728 rows, 6 features, 4 classes.

    Returns
    -------
    X : pandas.DataFrame
        Ordered categories; every configuration once.
    y : pandas.Series
        ``class``: unacc < acc < good < vgood.

    See Also
    --------
    car_model : the hierarchy behind the rows, as a network.

    Examples
    --------
    >>> X, y = car()
    >>> X.shape, y.value_counts().to_dict()
    ((1728, 6), {'unacc': 1210, 'acc': 384, 'good': 69, 'vgood': 65})
    """
    return _decided(car_model())


def car_model() -> BayesianNetwork:
    """The decision model of :func:`car`: every feature equally likely, all else a function of its parents.

    ``price`` sums up buying price and upkeep, ``comfort`` doors, persons and boot, ``tech`` comfort and safety. The
    class depends on price and tech only, so its exact posterior given any features is that of the data set.

    Examples
    --------
    >>> car_model().query("class", {"safety": "high", "buying": "low"}).values.round(3)
    array([0.361, 0.229, 0.139, 0.271])
    """
    features = [
        Variable("buying", ("vhigh", "high", "med", "low"), ordered=True),
        Variable("maint", ("vhigh", "high", "med", "low"), ordered=True),
        Variable("doors", ("2", "3", "4", "5more"), ordered=True),
        Variable("persons", ("2", "4", "more"), ordered=True),
        Variable("lug_boot", ("small", "med", "big"), ordered=True),
        Variable("safety", ("low", "med", "high"), ordered=True),
    ]
    buying, maint, doors, persons, lug_boot, safety = features
    price = Variable("price", ("vhigh", "high", "med", "low"), ordered=True)
    comfort = Variable("comfort", ("poor", "fair", "good"), ordered=True)
    tech = Variable("tech", ("poor", "fair", "good", "excellent"), ordered=True)
    verdict = Variable("class", ("unacc", "acc", "good", "vgood"), ordered=True)
    roomy = [
        [[0, 0, 0], [1, 1, 2], [0, 1, 2]],
        [[0, 0, 0], [1, 1, 2], [1, 2, 2]],
        [[0, 0, 0], [1, 2, 2], [1, 2, 2]],
        [[0, 0, 0], [1, 2, 2], [1, 2, 2]],
    ]
    return BayesianNetwork.from_cpts(
        [
            *map(CPT.uniform, features),
            _function(price, [[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 2, 3], [1, 2, 3, 3]], buying, maint),
            _function(comfort, roomy, doors, persons, lug_boot),
            _function(tech, [[0, 0, 0], [0, 1, 2], [0, 2, 3]], comfort, safety),
            _function(verdict, [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 3], [0, 1, 2, 3]], price, tech),
        ]
    )


def nursery() -> Rows:
    """Applications for a nursery school, ranked by a decision model: 12,960 rows, 8 features, 5 classes.

    Returns
    -------
    X : pandas.DataFrame
        Ordered categories; every configuration once.
    y : pandas.Series
        ``class``: not_recom < recommend < very_recom < priority < spec_prior; two rows are ``recommend``.

    See Also
    --------
    nursery_model : the hierarchy behind the rows, as a network.

    Examples
    --------
    >>> X, y = nursery()
    >>> X.shape, y.value_counts(sort=False).tolist()
    ((12960, 8), [4320, 2, 328, 4266, 4044])
    """
    return _decided(nursery_model())


def nursery_model() -> BayesianNetwork:
    """The decision model of :func:`nursery`: every feature equally likely, all else a function of its parents.

    Examples
    --------
    >>> nursery_model().dag.parents("class")
    ('employ', 'struct_finan', 'soc_health')
    """
    features = [
        Variable("parents", ("usual", "pretentious", "great_pret"), ordered=True),
        Variable("has_nurs", ("proper", "less_proper", "improper", "critical", "very_crit"), ordered=True),
        Variable("form", ("complete", "completed", "incomplete", "foster"), ordered=True),
        Variable("children", ("1", "2", "3", "more"), ordered=True),
        Variable("housing", ("convenient", "less_conv", "critical"), ordered=True),
        Variable("finance", ("convenient", "inconv"), ordered=True),
        Variable("social", ("nonprob", "slightly_prob", "problematic"), ordered=True),
        Variable("health", ("recommended", "priority", "not_recom"), ordered=True),
    ]
    parents, has_nurs, form, children, housing, finance, social, health = features
    employ = Variable("employ", ("fine", "fair", "poor", "bad"), ordered=True)
    structure, means, struct_finan, soc_health = (
        Variable(name, ("fine", "fair", "poor"), ordered=True)
        for name in ("structure", "means", "struct_finan", "soc_health")
    )
    verdict = Variable("class", ("not_recom", "recommend", "very_recom", "priority", "spec_prior"), ordered=True)
    ranks = [
        [[1, 3, 0], [2, 3, 0], [3, 3, 0]],
        [[2, 3, 0], [2, 3, 0], [3, 3, 0]],
        [[3, 3, 0], [3, 3, 0], [3, 4, 0]],
        [[3, 3, 0], [3, 4, 0], [4, 4, 0]],
    ]
    return BayesianNetwork.from_cpts(
        [
            *map(CPT.uniform, features),
            _function(employ, [[0, 1, 1, 2, 3], [1, 1, 2, 3, 3], [2, 2, 3, 3, 3]], parents, has_nurs),
            _function(structure, [[0, 1, 2, 2], [1, 1, 2, 2], [1, 2, 2, 2], [2, 2, 2, 2]], form, children),
            _function(means, [[0, 1], [1, 1], [2, 2]], housing, finance),
            _function(struct_finan, [[0, 1, 1], [1, 1, 2], [1, 2, 2]], structure, means),
            _function(soc_health, [[0, 1, 2], [0, 1, 2], [1, 1, 2]], social, health),
            _function(verdict, ranks, employ, struct_finan, soc_health),
        ]
    )


def balance_scale() -> Rows:
    """The balance scale: 625 rows, the weights and distances on both sides, and whether it tips to L, B or R.

    The side with the larger product of weight and distance goes down; with equal products it stays balanced.

    Examples
    --------
    >>> X, y = balance_scale()
    >>> X.shape, y.value_counts().to_dict()
    ((625, 4), {'L': 288, 'R': 288, 'B': 49})
    """
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    features = [Variable(name, range(1, 6), ordered=True) for name in names]
    sides = Variable("class", ("L", "B", "R"), ordered=True)

    def tips(left: int, at_left: int, right: int, at_right: int) -> str:
        pull = right * at_right - left * at_left
        return "B" if pull == 0 else "R" if pull > 0 else "L"

    return _ruled(features, sides, tips)


def monks(problem: int = 1) -> Rows:
    """The monks' problems: 432 robots of six features and one of three concepts, without noise.

    Parameters
    ----------
    problem : {1, 2, 3}
        1: head and body have the same shape, or the jacket is red. 2: exactly two features have their first state.
        3: a green jacket and a sword, or a jacket that is not blue and a body that is no octagon.

    Examples
    --------
    >>> [int(monks(problem)[1].sum()) for problem in (1, 2, 3)]
    [216, 142, 228]
    """
    shapes = ("round", "square", "octagon")
    features = [
        Variable("head_shape", shapes),
        Variable("body_shape", shapes),
        Variable("is_smiling", ("yes", "no")),
        Variable("holding", ("sword", "balloon", "flag")),
        Variable("jacket_color", ("red", "yellow", "green", "blue")),
        Variable("has_tie", ("yes", "no")),
    ]
    firsts = tuple(feature.states[0] for feature in features)

    def concept(*robot: str) -> int:
        head, body, _, holding, jacket, _ = robot
        if problem == 1:
            return int(head == body or jacket == "red")
        if problem == 2:
            return int(sum(state == first for state, first in zip(robot, firsts)) == 2)
        return int((jacket == "green" and holding == "sword") or (jacket != "blue" and body != "octagon"))

    whole_number("problem", problem, 1, 3)
    X, y = _ruled(features, Variable("class", (0, 1)), concept)
    return X, y.astype(int)


def tic_tac_toe() -> Rows:
    """Tic-tac-toe: all 958 boards at the end of a game that x began, and whether x has won.

    Examples
    --------
    >>> X, y = tic_tac_toe()
    >>> X.shape, y.value_counts().to_dict()
    ((958, 9), {'positive': 626, 'negative': 332})
    """
    squares = [f"{row}-{column}-square" for row, column in product(("top", "middle", "bottom"), _COLUMNS)]
    features = [Variable(name, ("x", "o", "b")) for name in squares]
    boards = [board for board in product("xob", repeat=9) if _is_final(board)]
    verdicts = ["positive" if _wins(board, "x") else "negative" for board in boards]
    return _framed(features, Variable("class", ("negative", "positive")), boards, verdicts)


_COLUMNS = ("left", "middle", "right")
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def _wins(board: Sequence[str], player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in _LINES)


def _is_final(board: Sequence[str]) -> bool:
    """Won by the player who moved last, or full and won by nobody."""
    moves = {player: board.count(player) for player in "xo"}
    x, o = _wins(board, "x"), _wins(board, "o")
    if x or o:
        return x != o and moves["x"] - moves["o"] == (1 if x else 0)
    return moves == {"x": 5, "o": 4}


def _function(child: Variable, codes: Any, *parents: Variable) -> CPT:
    """The table of a variable that is a function of its parents, from the codes of its states."""
    return CPT(child, np.eye(child.n_states)[np.array(codes)], parents)


def _decided(model: BayesianNetwork) -> Rows:
    """Every configuration of the roots, and the class that the functions below them give."""
    position = {name: i for i, name in enumerate(model.names)}
    roots = [cpt.child for cpt in model.cpts if not cpt.parents]
    codes = dict(zip(range(len(roots)), np.indices([v.n_states for v in roots]).reshape(len(roots), -1)))
    for i, cpt in enumerate(model.cpts):
        if cpt.parents:
            codes[i] = cpt.values.argmax(-1)[tuple(codes[position[p.name]] for p in cpt.parents)]
    features = [[v.states[c] for c in codes[i]] for i, v in enumerate(roots)]
    verdict = model.variable("class")
    return _framed(roots, verdict, list(zip(*features)), [verdict.states[c] for c in codes[position["class"]]])


def _ruled(features: Sequence[Variable], target: Variable, rule: Callable[..., Any]) -> Rows:
    """Every configuration of the features, with the class that the rule gives."""
    rows = list(product(*(feature.states for feature in features)))
    return _framed(features, target, rows, [rule(*row) for row in rows])


def _framed(features: Sequence[Variable], target: Variable, rows: Sequence[Any], verdicts: Sequence[Any]) -> Rows:
    import pandas as pd

    def categories(variable: Variable, values: Sequence[Any]) -> pd.Categorical:
        return pd.Categorical(values, categories=list(variable.states), ordered=variable.ordered)

    columns = {v.name: categories(v, column) for v, column in zip(features, zip(*rows))}
    return pd.DataFrame(columns), pd.Series(categories(target, verdicts), name=target.name)
