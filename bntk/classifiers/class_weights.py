"""Weights of classes, as scikit-learn's ``class_weight``: they multiply the weights of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk.data.variable import State, format_states, plain_states
from bntk.data.weights import checked_weights
from bntk.errors import ArgumentError, did_you_mean

Floats = NDArray[np.float64]


def check_class_weight(name: str, value: Any) -> None:
    """Refuse what cannot be weights of classes."""
    expected = "None, 'balanced', or a mapping of each class to a number above 0"
    if isinstance(value, Mapping):
        for label, weight in value.items():
            _checking.number(f"{name} of {label!r}", weight, 0, above=True)
    elif value is not None and not (isinstance(value, str) and value == "balanced"):
        raise _checking.wrong(name, expected, value)


def with_class_weight(
    given: str | Mapping[Any, float] | None,
    labels: Sequence[State],
    codes: NDArray[Any],
    weights: Floats | None,
    classes: Sequence[State] = (),
) -> Floats | None:
    """The weights of rows times those of their classes.

    Balanced weights give all classes the same sum, and leave the sum over all rows as it was. In them a row of weight 2
    is two rows. A row without a label, whose code is the number of labels, keeps its weight.

    Parameters
    ----------
    given : "balanced", mapping or None
    labels : sequence
        The labels that occur.
    codes : ndarray of int
        The place of each row's label among them.
    weights : ndarray, optional
        The weights of rows so far.
    classes : sequence
        Further classes, which do not occur in these rows.

    Examples
    --------
    >>> with_class_weight("balanced", ["no", "yes"], np.array([0, 0, 0, 1]), None).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    >>> with_class_weight({"yes": 5}, ["no", "yes"], np.array([0, 1]), np.array([1.0, 0.5])).tolist()
    [1.0, 2.5]
    """
    if given is None:
        return weights
    if not len(labels):
        raise ArgumentError("class_weight is for rows that have a class, and none has one; leave it out")
    if isinstance(given, str):
        totals = np.bincount(codes, weights, len(labels) + 1)[: len(labels)]
        factors = [
            totals.sum() / (np.count_nonzero(totals) * total) if total > 0 else 1.0  # a class of rows of weight 0
            for total in totals.tolist()
        ]
    else:
        _refuse_unknown(given, [*dict.fromkeys([*labels, *classes])])
        factors = [given.get(label, 1.0) for label in labels]
    product = np.append(factors, 1.0)[codes] * (1.0 if weights is None else weights)
    return checked_weights(product, len(codes), "sample_weight times class_weight")


def _refuse_unknown(given: Mapping[Any, float], classes: Sequence[State]) -> None:
    """Refuse a weight for what is no class, unless all classes have one.

    A part of the rows, as a fold, may lack a class that is named; a class that is misspelled is then another one
    without a weight.
    """
    known = {*classes}
    unknown = [label for label in given if label not in known]
    if unknown and any(label not in given for label in classes):
        raise ArgumentError(
            f"class_weight has a weight for {_checking.shown(unknown[0])}, which is no class"
            f"{did_you_mean(unknown[0], classes)}; the classes are {format_states(plain_states(classes))}"
        )


def refuse_balanced(class_weight: Any) -> None:
    """Refuse balanced weights where rows come in parts."""
    if isinstance(class_weight, str):
        raise ArgumentError(
            "class_weight='balanced' needs all rows, and partial_fit sees a part of them: give the weights by class, "
            "class_weight={...}, as sklearn.utils.class_weight.compute_class_weight finds them"
        )
