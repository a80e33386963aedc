"""The order of classes, for measures of how far a prediction is from the truth.

The order is the one that was declared (a list of labels, an ordered categorical column, a :class:`Variable` that is
ordered), else that of numbers. Two classes need no order, since there is only one distance between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.coding import CodedColumn, declared_order
from bntk.data.columns import code_column
from bntk.data.table import Table
from bntk.data.variable import State, Variable, format_states
from bntk.errors import DataError


def positions_in_order(states: Sequence[State], ordered: bool) -> NDArray[np.intp] | None:
    """The positions of some states from the lowest to the highest; None where they have no order.

    Examples
    --------
    >>> positions_in_order(["low", "medium", "high"], ordered=True).tolist()
    [0, 1, 2]
    >>> positions_in_order([3, 10, 1], ordered=False).tolist()
    [2, 0, 1]
    >>> positions_in_order(["low", "medium", "high"], ordered=False) is None
    True
    """
    if ordered or len(states) <= 2:
        return np.arange(len(states))
    if all(isinstance(state, Real) for state in states):
        return np.argsort(np.array(states, dtype=np.float64), kind="stable")
    return None


def class_order(variable: Variable, what: str) -> NDArray[np.intp]:
    """The positions of the states of a class variable, from the lowest class to the highest.

    Parameters
    ----------
    variable : Variable
        The class variable; with more than two states, they must be ordered or numbers.
    what : str
        What needs the order, for the message if there is none.

    Examples
    --------
    >>> class_order(Variable("harm", ["none", "slight", "fatal"], ordered=True), "MAE").tolist()
    [0, 1, 2]
    """
    order = positions_in_order(variable.states, variable.ordered)
    if order is None:
        raise DataError(
            f"{what} needs ordered classes, but the {variable.n_states} states of {variable.name!r} have no order: "
            f"{format_states(variable.states)}; declare it, the lowest class first: a pandas column with ordered "
            f"categories, a polars Enum or Variable({variable.name!r}, [...], ordered=True); or use numbers"
        )
    return order


def label_column(name: str, y: Any) -> CodedColumn:
    """Labels of any kind, coded: a list, an array, a series, or a :class:`Table` of one column."""
    if not isinstance(y, Table):
        return code_column(name, y)
    if len(y.names) != 1:
        raise DataError(f"{name} must be one column of labels, but the table has {list(y.names)}: select one of them")
    return y.coded_columns()[0][1]


def common_order(y_true: CodedColumn, y_pred: CodedColumn) -> list[State] | None:
    """The order that true or predicted labels declare; None where neither does, and refused if they differ."""
    true, predicted = declared_order(y_true), declared_order(y_pred)
    if true is not None and predicted is not None and true != predicted:
        raise DataError(
            f"y_true has the ordered categories {format_states(true)}, but y_pred has {format_states(predicted)}"
        )
    return predicted if true is None else true
