"""Discretisation: cut points are learned from some rows and applied to any.

A cut is a number, and a value equal to it lies on its left. A column with c cuts has c + 1 states, in the order of
the numbers; NaN stays missing, and infinite values lie in the outer states. Weights are counts: a row of weight 2 is
the row twice, a row of weight 0 is not there.

Methods:

- ``"mdl"``: supervised, by the classes. The cut with the least class entropy, the lowest of several, is accepted by the
  criterion of minimum description length, and both sides are cut likewise (Fayyad and Irani, *Multi-interval
  discretization of continuous-valued attributes for classification learning*, IJCAI 1993). The cuts are those of Weka's
  supervised Discretize filter.
- ``"width"``: intervals of the same width over the finite values.
- ``"frequency"``: about as many rows in each interval.
- ``"hartemink"``: many intervals at first, of which neighbours are merged so that the columns keep as much mutual
  information with one another as possible (Hartemink, *Principled computational methods for the validation and
  discovery of genetic regulatory networks*, PhD thesis, MIT 2001). The merges are those of bnlearn's
  ``discretize(method="hartemink")``.

:class:`bntk.Discretizer` does this for data frames and in scikit-learn pipelines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bntk import _checking, _memory
from bntk._arrays import read_only
from bntk._threads import run_parallel, spans
from bntk.data.cut_kernels import SUM_BITS, code_kernel, count_with_later, mdl_kernel, merge_kernel, n_log_n_table
from bntk.data.intervals import cuts_of_names, interval_names
from bntk.data.weights import checked_weights
from bntk.errors import DataError

if TYPE_CHECKING:
    from bntk.data.table import Table

METHODS = ("mdl", "width", "frequency")
#: Those that look at one column at a time, and at nothing else.
MARGINAL = ("frequency", "width")
#: More intervals of a column are taken for a mistake.
MOST_BINS = 1_000_000

# Up to this total weight, n log n of all counts is worked out beforehand.
_LARGEST_TABLE = 1 << 22
# Cells that a thread cuts at a time; for fewer, handing them over takes longer than cutting them.
_CELLS_AT_LEAST = 1 << 16
_NO_WEIGHTS = np.empty(0)

__all__ = [
    "checked_cuts",
    "code_columns",
    "cut_codes",
    "frequency_cuts",
    "hartemink_cuts",
    "interval_cuts",
    "interval_names",
    "joint_cuts",
    "learn_cuts",
    "mdl_cuts",
    "width_cuts",
]

R = TypeVar("R")


# -------------------------------------------------------------------- one column


def mdl_cuts(values: Any, classes: Any, weights: Any = None, n_classes: int | None = None) -> np.ndarray:
    """Cut points of one column by class entropy and minimum description length (Fayyad and Irani 1993).

    A set of N rows with class entropy H and k classes is cut where the gain ``H - (N1 H1 + N2 H2) / N`` is largest, at
    the middle between two values, if ``gain > (log2(N - 1) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)) / N``.

    Parameters
    ----------
    values : array of numbers
        The column, NaN where missing.
    classes : array of labels, or of codes when ``n_classes`` is given
        The class of each row. Rows whose class is missing are left out.
    weights : array of numbers, optional
        How often each row counts.
    n_classes : int, optional
        The number of classes, if ``classes`` holds codes 0 ... n_classes - 1; other codes are missing.

    Returns
    -------
    ndarray
        The cut points, increasing; empty when no cut is accepted.

    Examples
    --------
    >>> from bntk.data.cuts import mdl_cuts
    >>> mdl_cuts([1, 2, 3, 4, 5, 6, 7, 8], ["a", "a", "a", "a", "b", "b", "b", "b"])
    array([4.5])
    """
    return learn_cuts([values], "mdl", classes, weights, n_classes=n_classes)[0]


def width_cuts(values: Any, n_bins: int = 10, weights: Any = None) -> np.ndarray:
    """Cut points of intervals of the same width between the smallest and the largest finite value.

    Parameters
    ----------
    values : array of numbers
        The column, NaN where missing.
    n_bins : int
        The number of intervals.
    weights : array of numbers, optional
        How often each row counts.

    Examples
    --------
    >>> from bntk.data.cuts import width_cuts
    >>> width_cuts([0, 1, 1, 8, float("inf")], n_bins=4)
    array([2., 4., 6.])
    """
    return learn_cuts([values], "width", weights=weights, n_bins=n_bins)[0]


def frequency_cuts(values: Any, n_bins: int = 10, weights: Any = None) -> np.ndarray:
    """Cut points of intervals with about the same number of rows.

    Equal values are never separated: each of the ``n_bins - 1`` cuts lies between the two values where the number of
    rows on its left is nearest to its share, the lower of two; where cuts coincide, there are fewer of them.

    Parameters
    ----------
    values : array of numbers
        The column, NaN where missing.
    n_bins : int
        The largest number of intervals.
    weights : array of numbers, optional
        How often each row counts.

    Examples
    --------
    >>> from bntk.data.cuts import frequency_cuts
    >>> frequency_cuts([1, 2, 3, 4, 5, 6], n_bins=3)
    array([2.5, 4.5])
    >>> frequency_cuts([0, 0, 0, 0, 5, 6], n_bins=3)
    array([2.5])
    """
    return learn_cuts([values], "frequency", weights=weights, n_bins=n_bins)[0]


def cut_codes(values: Any, cuts: Any) -> np.ndarray:
    """The interval of each value: the number of cuts below it, or ``len(cuts) + 1`` when it is missing.

    Parameters
    ----------
    values : array of numbers
        The column, NaN where missing.
    cuts : array of numbers
        The cut points, increasing.

    Examples
    --------
    >>> from bntk.data.cuts import cut_codes
    >>> cut_codes([2, 2.5, 3, float("nan"), float("inf")], [2.5, 4])
    array([0, 0, 1, 3, 2], dtype=uint8)
    """
    return code_columns([values], [cuts])[0]


# -------------------------------------------------------------------- names


def interval_cuts(names: Iterable[Any]) -> np.ndarray:
    """The cut points of intervals by the numbers in their names.

    The numbers may be rounded, see :func:`interval_names`; a :class:`bntk.Variable` that was made from cut points keeps
    the exact ones.

    Parameters
    ----------
    names : iterable of str
        The names of the intervals, in order.

    Examples
    --------
    >>> from bntk.data.cuts import interval_cuts
    >>> interval_cuts(["<= 2.5", "(2.5, 4]", "> 4"])
    array([2.5, 4. ])
    """
    names = [str(name) for name in _checking.several("names", names, error=DataError)]
    cuts = () if names == ["all"] else cuts_of_names(names)
    if cuts is None:
        raise DataError(f"{names} are not the names of intervals, such as ['<= 2.5', '(2.5, 4]', '> 4']")
    return np.array(cuts, dtype=np.float64)


# -------------------------------------------------------------------- many columns


def learn_cuts(
    columns: Sequence[Any],
    method: str = "mdl",
    classes: Any = None,
    weights: Any = None,
    n_bins: int = 10,
    n_classes: int | None = None,
) -> list[np.ndarray]:
    """The cuts of several columns, side by side over the threads in use.

    Parameters
    ----------
    columns : sequence of arrays of numbers, NaN for missing
    method : {"mdl", "width", "frequency"}
        See :mod:`bntk.data.cuts`.
    classes : array of labels, or of codes when ``n_classes`` is given
        The class of each row; only for ``"mdl"``.
    n_bins : int
        The number of intervals for ``"width"`` and ``"frequency"``.
    weights : array of numbers, optional
        How often each row counts.
    n_classes : int, optional
        The number of classes, if ``classes`` holds codes.

    Examples
    --------
    >>> from bntk.data.cuts import learn_cuts
    >>> learn_cuts([[1, 2, 3, 4], [0, 0, 1, 9]], "width", n_bins=2)
    [array([2.5]), array([4.5])]
    """
    _checking.one_of("method", method, METHODS)
    n_bins = _checking.whole_number("n_bins", n_bins, 1, MOST_BINS)
    columns = _all_numbers(columns)
    n_rows = _common_length(columns)
    weights = _NO_WEIGHTS if weights is None else checked_weights(weights, n_rows)
    if method == "mdl":
        return _mdl(columns, *_class_codes(classes, n_classes, n_rows), weights)
    rows = slice(None) if not weights.size or (weights > 0).all() else np.flatnonzero(weights)
    weights = weights[rows]
    if method == "width":
        return _each(lambda column: _width(column[rows], n_bins), columns)
    return _each(lambda column: _frequency(column[rows], weights, n_bins), columns)


def joint_cuts(columns: Sequence[Any], classes: Any, n_classes: Sequence[int], weights: Any = None) -> list[np.ndarray]:
    """The MDL cuts of several columns for several class variables: each column has the cuts for all of them.

    Parameters
    ----------
    columns : sequence of arrays of numbers, NaN for missing
    classes : array of shape (n_class_variables, n_rows)
        Codes; a row without a label has one that is negative, or ``n_classes`` and above.
    n_classes : sequence of int
        The number of classes of each class variable.
    weights : array, optional
        One number per row.

    Examples
    --------
    >>> from bntk.data.cuts import joint_cuts
    >>> joint_cuts([range(60)], [[0] * 20 + [1] * 40, [0] * 40 + [1] * 20], [2, 2])
    [array([19.5, 39.5])]
    """
    columns = _all_numbers(columns)
    n_rows = _common_length(columns)
    weights = _NO_WEIGHTS if weights is None else checked_weights(weights, n_rows)
    logs = _logs(float(weights.sum()) if weights.size else float(n_rows), weights)
    some = [
        _MdlCutter(*_class_codes(codes, card, n_rows), weights, *logs)
        for codes, card in zip(*_paired(classes, n_classes), strict=True)
    ]

    def cuts(column: np.ndarray) -> np.ndarray:
        order = _sorted_rows(column)
        return np.unique(np.concatenate([np.empty(0), *(cutter.cuts(column, order) for cutter in some)]))

    return _each(cuts, columns, n_rows * len(columns) * len(some))


def hartemink_cuts(
    columns: Sequence[Any],
    n_bins: int = 3,
    weights: Any = None,
    initial_bins: int | None = None,
    initial_method: str = "frequency",
    others: Table | None = None,
) -> list[np.ndarray]:
    """The cuts of several columns that keep what these say about one another (Hartemink 2001).

    Each column is cut into many intervals at first. Then one column after the other has two neighbouring intervals
    merged, those that leave the largest sum of mutual information with all other columns, and so on in turns, until
    each has ``n_bins`` intervals. The mutual information with a column is that in the rows which are complete in both;
    of several merges that are equally good, the lowest is taken. That is bnlearn's
    ``discretize(method="hartemink", breaks=, ibreaks=, idisc=)``, apart from where the first cuts are exactly.

    Parameters
    ----------
    columns : sequence of arrays of numbers, NaN for missing
    n_bins : int
        The number of intervals.
    weights : array of numbers, optional
        How often each row counts.
    initial_bins : int, optional
        The number of intervals at first (where values repeat, there may be fewer); by default four times ``n_bins``.
    initial_method : {"frequency", "width"}
        How the first intervals are made.
    others : Table, optional
        Variables with states, in the same rows: they count in the mutual information, and stay as they are.

    Examples
    --------
    >>> from bntk.data.cuts import hartemink_cuts
    >>> x = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> hartemink_cuts([x, [0, 0, 0, 0, 0, 0, 0, 5, 5, 5]], n_bins=2, initial_bins=10)
    [array([6.5]), array([2.5])]
    """
    n_bins = _checking.whole_number("n_bins", n_bins, 1, MOST_BINS)
    if initial_bins is None:
        initial_bins = min(4 * n_bins, MOST_BINS)
    initial_bins = _checking.whole_number("initial_bins", initial_bins, n_bins, MOST_BINS)
    _checking.one_of("initial_method", initial_method, MARGINAL)
    columns = _all_numbers(columns)
    n_rows = _common_length(columns)
    if others is not None and not hasattr(others, "codes"):
        raise _checking.wrong("others", "a Table of the same rows, or None", others)
    if others is not None and others.n_rows != n_rows:
        raise DataError(
            f"others has {others.n_rows:,} rows, but the columns have {n_rows:,}; they must be the same rows"
        )
    weights = _NO_WEIGHTS if weights is None else checked_weights(weights, n_rows)
    cuts = learn_cuts(columns, initial_method, weights=weights if weights.size else None, n_bins=initial_bins)
    if all(len(own) < n_bins for own in cuts):
        return cuts
    beside = [] if others is None else list(others.codes)
    if len(columns) + len(beside) < 2:
        raise DataError(
            'the method "hartemink" merges intervals by what they say about other columns, and there is no other '
            '(n_features=1); "frequency" and "width" look at one column'
        )
    counts, cards, starts = _counted_together(columns, cuts, weights, beside, [] if others is None else others.cards)
    scale_of = float(weights.sum()) if weights.size else float(n_rows)
    merged = np.empty(len(columns), dtype=np.int64)
    table, scale = _logs(scale_of, weights)
    while (cards[: len(columns)] > n_bins).any():
        merge_kernel(counts, cards, starts, n_bins, table, scale, merged)
        cuts = [np.delete(own, at) if at >= 0 else own for own, at in zip(cuts, merged.tolist(), strict=True)]
    return cuts


def _counted_together(
    columns: list[np.ndarray], cuts: list[np.ndarray], weights: np.ndarray, beside: list[np.ndarray], cards: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each interval of a column occurs with each state of every other variable, as ``merge_kernel`` has it;
    the numbers of states; and where the states of a variable begin."""
    numbers = np.array([*(len(own) + 1 for own in cuts), *cards], dtype=np.int64)
    starts = np.cumsum(numbers) - numbers
    n_cut = len(columns)
    shape = (n_cut, int(numbers[:n_cut].max()), int(numbers.sum()))
    _memory.require(
        8 * math.prod(shape), f"counting the intervals of {n_cut} columns together",
        "take fewer intervals at first (initial_bins=), or fewer columns",
    )  # fmt: skip
    coded = code_columns(columns, cuts)
    codes = np.ascontiguousarray(np.vstack([coded, *beside])) if beside else coded
    counts = np.zeros(shape)
    run_parallel(lambda i: count_with_later(codes, numbers, starts, weights, i, counts[i]), range(n_cut))
    for i in range(n_cut):
        for j in range(i):
            own, other = (slice(starts[k], starts[k] + numbers[k]) for k in (i, j))
            counts[i, : numbers[i], other] = counts[j, : numbers[j], own].T
    return counts, numbers, starts


def code_columns(columns: Sequence[Any], cuts: Sequence[Any], out_dtype: Any = None) -> np.ndarray:
    """The intervals of several columns, as :func:`cut_codes` gives them.

    Parameters
    ----------
    columns : sequence of arrays of numbers, NaN for missing
    cuts : sequence of arrays, one for each column
    out_dtype : unsigned integer type, optional
        The type of the codes; by default the smallest that fits.

    Returns
    -------
    ndarray of shape (n_columns, n_rows)

    Examples
    --------
    >>> from bntk.data.cuts import code_columns
    >>> code_columns([[1, 5], [7, float("nan")]], [[2], []])
    array([[0, 1],
           [0, 1]], dtype=uint8)
    """
    columns = _all_numbers(columns)
    ends = [checked_cuts(column_cuts) for column_cuts in _checking.several("cuts", cuts, "cut points", DataError)]
    if len(columns) != len(ends):
        raise DataError(f"there are {len(columns)} columns, but cuts for {len(ends)}; each column needs its own")
    smallest = np.min_scalar_type(max((len(e) for e in ends), default=0) + 1)
    try:
        dtype = smallest if out_dtype is None else np.dtype(out_dtype)
    except TypeError:
        raise _checking.wrong("out_dtype", "an unsigned integer type", out_dtype) from None
    if dtype.kind != "u" or dtype.itemsize < smallest.itemsize:
        raise ValueError(f"the codes need the type {smallest} or a larger unsigned one, not {dtype}")
    codes = np.empty((len(columns), _common_length(columns)), dtype=dtype)
    _each(lambda parts: code_kernel(*parts), list(zip(columns, ends, codes, strict=True)), codes.size)
    return codes


def checked_cuts(cuts: Any, where: str = "the cuts") -> np.ndarray:
    """Cuts as an array of increasing floats; what cannot be a cut is an error."""
    ends = _checking.numbers(where, cuts, error=DataError)
    if ends.ndim != 1:
        raise DataError(f"{where} must be a list of numbers, not {cuts!r}")
    if np.isnan(ends).any() or (ends == np.inf).any():
        raise DataError(f"{where} must be numbers that some value can exceed, not NaN or infinity: {ends.tolist()}")
    if (ends[1:] <= ends[:-1]).any():
        raise DataError(f"{where} must increase, without repetitions: {ends.tolist()}")
    return ends + 0.0  # -0.0 and 0.0 are one cut and have one name


def _each(work: Callable[[Any], R], columns: Sequence[Any], n_cells: int | None = None) -> list[R]:
    """Do some work for each column, over the threads in use; several columns at a time where there are few rows."""
    n_cells = len(columns) * len(columns[0]) if n_cells is None and columns else n_cells or 0
    pieces = spans(len(columns), max(1, n_cells // _CELLS_AT_LEAST))
    parts = run_parallel(lambda span: [work(column) for column in columns[slice(*span)]], pieces)
    return [found for part in parts for found in part]


# -------------------------------------------------------------------- the methods


def _mdl(columns: list[np.ndarray], classes: np.ndarray, n_classes: int, weights: np.ndarray) -> list[np.ndarray]:
    counts = (classes >= 0) & (classes < n_classes)
    total = float(weights[counts].sum()) if weights.size else float(np.count_nonzero(counts))
    cutter = _MdlCutter(classes, n_classes, weights, *_logs(total, weights))
    return _each(lambda column: cutter.cuts(column, _sorted_rows(column)), columns)


class _MdlCutter:
    """The MDL method for one class variable; rows without a class are ignored."""

    def __init__(
        self, classes: np.ndarray, n_classes: int, weights: np.ndarray, table: np.ndarray, scale: float
    ) -> None:
        self.classes, self.n_classes, self.weights = np.ascontiguousarray(classes), n_classes, weights
        self.table, self.scale = table, scale
        self.counts = (classes >= 0) & (classes < n_classes)
        if weights.size:
            self.counts &= weights > 0
        self.all_count = bool(self.counts.all())

    def cuts(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The cuts of a column whose rows are in this order."""
        rows = order if self.all_count else order[self.counts[order]]
        found = mdl_kernel(values, rows, self.classes, self.weights, self.n_classes, self.table, self.scale)
        return np.sort(between(*found))


def _logs(total: float, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """n log n for all n up to the weight of all rows, if these are whole numbers and few enough, and its scale."""
    scale = 2.0 ** (SUM_BITS - math.ceil(math.log2(total * math.log2(total + 2) + 2)))
    tabulated = total <= _LARGEST_TABLE and not (weights % 1).any()
    return n_log_n_table(int(total), scale) if tabulated else np.empty(0, dtype=np.int64), scale


def _sorted_rows(values: np.ndarray) -> np.ndarray:
    """The rows by ascending values, without those that have none."""
    return np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]  # NaN comes last


def _width(values: np.ndarray, n_bins: int) -> np.ndarray:
    finite = values[np.isfinite(values)]
    if not finite.size or finite.min() == finite.max():
        return np.empty(0)
    low, high = finite.min(), finite.max()
    with np.errstate(over="ignore"):
        halved = np.isinf(high - low)  # the width of all that floats can be is no float
        ends = 2 * np.linspace(low / 2, high / 2, n_bins + 1) if halved else np.linspace(low, high, n_bins + 1)
    cuts = np.unique(ends[1:-1] + 0.0)
    return cuts[cuts < high]  # so close to one another that a cut was rounded to the largest value


def _frequency(values: np.ndarray, weights: np.ndarray, n_bins: int) -> np.ndarray:
    present = ~np.isnan(values)
    if weights.size:
        order = np.argsort(values)[: np.count_nonzero(present)]
        ordered, below = values[order], np.cumsum(weights[order])
    else:
        ordered = np.sort(values[present])
        below = np.arange(1.0, ordered.size + 1)
    last = np.flatnonzero(ordered[1:] > ordered[:-1])  # the last row of each value but the largest
    if not last.size:
        return np.empty(0)
    shares = below[-1] * np.arange(1, n_bins)
    rows_left = below[last] * n_bins
    above = np.clip(np.searchsorted(rows_left, shares), 1, last.size - 1) if last.size > 1 else 0 * shares.astype(int)
    under = np.maximum(above - 1, 0)
    nearest = np.where(shares - rows_left[under] <= rows_left[above] - shares, under, above)
    chosen = last[np.unique(nearest)]
    return between(ordered[chosen], ordered[chosen + 1])


def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Cuts with ``low`` on their left and ``high`` on their right: the middle wherever there is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = low + high
        middle = np.where(np.isinf(total), low / 2 + high / 2, total / 2)
    middle = np.where((low == -np.inf) & (high == np.inf), 0.0, middle)
    return np.where((low <= middle) & (middle < high), middle, low) + 0.0


# -------------------------------------------------------------------- the door


def _all_numbers(columns: Sequence[Any]) -> list[np.ndarray]:
    given = _checking.several("columns", columns, "columns of numbers", DataError)
    return [_numbers(column, position) for position, column in enumerate(given)]


def _numbers(column: Any, position: int) -> np.ndarray:
    try:
        values = np.asarray(column, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise DataError(f"column {position} holds values that are not numbers") from None
    if values.ndim != 1:
        raise DataError(f"column {position} must have one dimension, not the shape {values.shape}")
    return read_only(values)


def _common_length(columns: Sequence[np.ndarray]) -> int:
    for position, column in enumerate(columns):
        if len(column) != len(columns[0]):
            raise DataError(
                f"column 0 has {len(columns[0]):,} rows, but column {position} has {len(column):,}; all columns need "
                "the same number"
            )
    return len(columns[0]) if columns else 0


def _paired(classes: Any, n_classes: Any) -> tuple[list[Any], list[int]]:
    codes = _checking.several("classes", classes, "codes for each class variable", DataError)
    cards = _checking.several("n_classes", n_classes, "numbers of classes", DataError)
    if len(codes) != len(cards):
        raise DataError(f"classes has {len(codes)} rows, but n_classes {len(cards)} numbers; each row needs its own")
    return codes, cards


def _class_codes(classes: Any, n_classes: int | None, n_rows: int) -> tuple[np.ndarray, int]:
    if classes is None:
        raise DataError('the method "mdl" needs the classes of the rows; "width" and "frequency" do without')
    if n_classes is None:
        import pandas as pd

        try:
            own = isinstance(classes, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
            given = classes if own else np.asarray(classes)
            if not given.ndim:
                raise TypeError
            codes, labels = pd.factorize(given)
        except (TypeError, ValueError):
            raise _checking.wrong("classes", "labels, one for each row", classes, DataError) from None
        n_classes = len(labels)
    else:
        n_classes = _checking.whole_number("n_classes", n_classes, 1, MOST_BINS)
        codes = np.asarray(classes)
        if codes.dtype.kind not in "iu":
            raise DataError(f"with n_classes, the classes must be codes from 0, not of the type {codes.dtype}")
    if codes.shape != (n_rows,):
        raise DataError(f"there must be one class for each of the {n_rows:,} rows; got the shape {codes.shape}")
    return codes.astype(np.int32), n_classes
