"""Data of any kind as a counter: the one door through which learning takes its data."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bntk.data.coding import lacking_columns
from bntk.data.table import as_table
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.learning.counts.base import Counter
from bntk.learning.counts.memory import TableCounter


def as_counter(
    data: Any,
    *,
    variables: Sequence[Variable] | None = None,
    weights: ArrayLike | None = None,
    only: Collection[str] | None = None,
    require_rows: bool = False,
) -> Counter:
    """A counter of data of any kind.

    Parameters
    ----------
    data : Table, data frame, mapping of columns, or Counter
        A counter is returned as it is.
    variables : sequence of Variable, optional
        Declared states, where the data may not show all of them.
    weights : array_like, optional
        One non-negative number per row.
    only : collection of str, optional
        The columns that are needed; others are not read.
    require_rows : bool
        Refuse data without rows.

    Examples
    --------
    >>> as_counter({"rain": ["no", "yes", "no"]}, weights=[1, 2, 1]).tables([["rain"]])
    [array([2., 2.])]
    """
    if isinstance(data, Counter):
        if weights is not None or variables is not None:
            raise DataError("a Counter has its weights and variables already; give them where it is made")
        counter = data
    else:
        table = as_table(data, variables=variables, only=only, require_rows=require_rows)
        counter = TableCounter(table, None if weights is None else np.asarray(weights))
    absent = [name for name in only or () if name not in counter._positions]
    if absent:
        raise lacking_columns(absent, counter.names)
    return counter
