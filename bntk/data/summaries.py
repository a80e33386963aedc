"""What columns hold, without their rows: mergeable summaries, from which states and cut points are found.

A partition of the rows (a data frame, an Arrow table or record batch) is summarised by :func:`summarise_partition`, and
summaries are added by :func:`add_summaries`, in any order and grouping: a column of labels has its distinct labels and
how many rows have each; a column of numbers has its distinct numbers, up to 65,536 of them, and for each how many rows
have it, by the class where one is named. So states, the rule for numbers and cut points are exactly those of the rows.

A column of more than 65,536 distinct numbers has its numbers joined to so many buckets at most: numbers whose 64 bits,
in the order of the numbers, begin with the same ones. The number of bits is the largest that so many buckets allow,
which depends on the set of numbers alone, not on their order or partition; where s bits are left out, a bucket of
floats is at most 2^-(52 - s) of its numbers wide. Each bucket keeps its least and largest number, and cuts lie between
two buckets. So a cut has at most the rows of one bucket more, or less, on its left than the exact one; the share of the
largest bucket is :attr:`NumberSummary.error`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bntk.data.arrow_cells import check_codes, chunks_of, is_arrow
from bntk.data.coding import MOST_STATES, CodedColumn, check_column_names, is_instant, lacking_columns, too_many_states
from bntk.data.columns import Texts, check_same_length, code_column, columns_of, n_rows_of, numbers_of
from bntk.data.label_types import guess_kind, typed_labels
from bntk.data.variable import State, is_missing, plain_state
from bntk.data.weights import checked_weights
from bntk.errors import DataError

Floats = NDArray[np.float64]

#: Distinct numbers of a column that are told apart; more are joined to at most as many buckets.
MOST_NUMBERS = 65_536
#: Hashes of labels that are kept to estimate how many distinct ones there are, where they are too many for states.
MOST_HASHES = 4096

_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class LabelSummary:
    """The distinct labels of a column, and how much weight the rows of each have.

    Attributes
    ----------
    name : str
    labels : list
        Those of the first partition first; empty when there are too many for states, see ``hashes``.
    weights : ndarray of shape (n_labels,)
    declared : bool
        The labels are the states, in this order (categories, a dictionary), whether used or not.
    ordered : bool
    known : float
        The weight of the rows that have a value.
    n_known : int
        How many these are.
    hashes : ndarray of uint64, optional
        The least hashes of the labels, where these are more than a variable may have states.
    instants : bool
        Whether all labels are dates or times.
    seen : ndarray of bool
        Which labels occur in a row, of whatever weight.
    example : label, optional
    """

    name: str
    labels: list[State]
    weights: Floats
    declared: bool = False
    ordered: bool = False
    known: float = 0.0
    n_known: int = 0
    hashes: NDArray[np.uint64] | None = None
    instants: bool = False
    seen: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    example: State = None

    @property
    def has_value(self) -> bool:
        """Whether some row has a value."""
        return self.hashes is not None or bool(self.seen.any())

    @property
    def n_distinct(self) -> float:
        """How many distinct labels occur; an estimate, within a few per cent, when they are too many for states."""
        if self.hashes is None:
            return float(np.count_nonzero(self.seen))
        if len(self.hashes) < MOST_HASHES:
            return float(len(self.hashes))
        return (MOST_HASHES - 1) / (float(self.hashes[-1]) / 2.0**64)

    def coded(self, positive: bool = False) -> CodedColumn:
        """A column with one row for each label, whether ``positive`` weight is asked for or not."""
        kept = self.weights > 0 if positive else self.seen
        codes = np.flatnonzero(kept).astype(np.int64)
        return CodedColumn(self.name, self.labels, codes, self.declared, self.ordered)


@dataclass(frozen=True)
class NumberSummary:
    """The distinct numbers of a column, or buckets of them, and how much weight the rows of each have.

    Attributes
    ----------
    name : str
    whole : bool
        The column is of a type of whole numbers.
    shift : int
        How many of the 64 bits of a number are left out; 0 when all distinct numbers are told apart.
    keys : ndarray of uint64
        The bits of each bucket, ascending.
    low, high : ndarray
        The least and the largest number of each bucket; whole numbers are int64.
    places, classes, weights : ndarray
        The weight of the rows of a bucket and a class; the class -1 is a missing one, or none is named.
    n_missing : float
        The weight of the rows without a number.
    lossy : bool
        Whether some whole number is none that a float can be.
    decimal : bool
        The column holds numbers of the type Decimal.
    """

    name: str
    whole: bool
    shift: int
    keys: NDArray[np.uint64]
    low: NDArray[Any]
    high: NDArray[Any]
    places: NDArray[np.int64]
    classes: NDArray[np.int64]
    weights: Floats
    n_missing: float = 0.0
    lossy: bool = False
    decimal: bool = False

    @property
    def has_value(self) -> bool:
        """Whether some row has a number."""
        return bool(len(self.keys))

    @cached_property
    def totals(self) -> Floats:
        """The weight of the rows of each bucket."""
        return np.bincount(self.places, self.weights, minlength=len(self.keys)).astype(np.float64, copy=False)

    @property
    def known(self) -> float:
        """The weight of the rows that have a number."""
        return float(self.weights.sum())

    @property
    def error(self) -> float:
        """The share of the rows by which a cut may be off: that of the largest bucket of different numbers."""
        joined = self.totals[self.low < self.high]
        return float(joined.max(initial=0.0)) / max(self.known, 1e-300)

    def states(self) -> list[State]:
        """The distinct numbers, as states."""
        found: list[State] = self.low.tolist()
        if self.decimal:
            return [Decimal(int(number)) if number % 1 == 0 else Decimal(repr(number)) for number in self.low.tolist()]
        return found


@dataclass(frozen=True)
class TextColumn(CodedColumn):
    """A column of a text file as it is written; of which type it is shows when all of it has been read."""

    decimal: str = "."


@dataclass(frozen=True)
class TextSummary:
    """A column of a text file: its distinct texts, and its numbers as long as all texts are numbers.

    Attributes
    ----------
    labels : LabelSummary
        Of the texts.
    numbers : NumberSummary or None
    kinds : frozenset of types
        The types that the texts of the partitions had.
    decimal : str
    """

    labels: LabelSummary
    numbers: NumberSummary | None
    kinds: frozenset[type]
    decimal: str = "."

    def settled(self) -> LabelSummary | NumberSummary:
        """The column as it is read, by the type of all its labels."""
        name = self.labels.name
        if self.labels.hashes is not None:
            return self.labels if self.numbers is None else self.numbers
        kind = text_kind(self.labels.labels, self.decimal)
        if self.labels.labels and kind in (int, float) and self.numbers is not None:
            return self.numbers
        typed = typed_labels(name, self.labels.labels, (), kind, self.decimal)  # type: ignore[arg-type]
        place: dict[State, int] = {}
        at = np.array([place.setdefault(label, len(place)) for label in typed], dtype=np.int64)
        weights, seen = np.zeros(len(place)), np.zeros(len(place), dtype=bool)
        np.add.at(weights, at, self.labels.weights)
        np.logical_or.at(seen, at, self.labels.seen)
        return replace(self.labels, labels=[*place], weights=weights, seen=seen, example=next(iter(place), None))


def text_kind(texts: Sequence[Any], decimal: str) -> type:
    """The type of texts, as a CSV file is read."""
    written = [text.replace(",", ".") if decimal == "," and "." not in text else text for text in texts]
    return guess_kind(written)


ColumnSummary = LabelSummary | NumberSummary | TextSummary


@dataclass(frozen=True)
class Summary:
    """What columns hold; made by :func:`summarise_partition`, added by :func:`add_summaries`.

    Attributes
    ----------
    columns : dict of str to LabelSummary or NumberSummary
    n_rows : int
    total_weight : float
        The sum of the weights; the number of rows when there are none.
    n_positive : int
        The rows of a positive weight.
    target : str, optional
        The column by whose labels numbers are summarised.
    classes : list
        Its labels; the codes in ``NumberSummary.classes`` are their positions.
    weighted : bool
    """

    columns: dict[str, ColumnSummary]
    n_rows: int
    total_weight: float
    n_positive: int
    target: str | None = None
    classes: tuple[State, ...] = ()
    weighted: bool = False

    def settled(self) -> Summary:
        """The same with columns of text files as what they hold."""
        columns: dict[str, ColumnSummary] = {
            name: c.settled() if isinstance(c, TextSummary) else c for name, c in self.columns.items()
        }
        return replace(self, columns=columns)

    def __repr__(self) -> str:
        n = len(self.columns)
        return f"Summary: {self.n_rows:,} rows x {n} column{'' if n == 1 else 's'}"


# -------------------------------------------------------------------- a partition to a summary


def summarise_partition(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    target: str | None = None,
    weights: str | None = None,
    table_states: bool = False,
) -> Summary:
    """A partition to a summary of its columns: the first pass over rows that are elsewhere.

    Parameters
    ----------
    data : data frame (pandas, polars, pyarrow table or record batch), mapping of columns, or Table
        Some of the rows.
    columns : sequence of str, optional
        The columns to summarise; all but that of the weights by default.
    target : str, optional
        A column of classes: numbers are summarised by the class, for cuts where it changes.
    weights : str, optional
        The column of the weights of rows.
    table_states : bool
        Whether numbers are taken as labels, each a state.

    Returns
    -------
    Summary
        It can be pickled.

    Examples
    --------
    >>> import pandas as pd
    >>> one = summarise_partition(pd.DataFrame({"size": [3, 3, 12], "kind": ["b", "a", None]}))
    >>> other = summarise_partition(pd.DataFrame({"size": [4], "kind": ["c"]}))
    >>> both = add_summaries(one, other)
    >>> both, both.columns["size"].states(), both.columns["kind"].labels
    (Summary: 4 rows x 2 columns, [3, 4, 12], ['b', 'a', 'c'])
    """
    given = partition_columns(data)
    for column in given.values():
        check_codes(column)
    own = row_weights(given, weights)
    names = [name for name in given if name != weights] if columns is None else list(columns)
    lacking = [name for name in names if name not in given]
    if lacking:
        raise lacking_columns(lacking, list(given))
    pairs = [(name, given[name]) for name in names]
    check_same_length(pairs[:1], pairs[1:])
    n_rows = n_rows_of(pairs[0][1]) if pairs else 0
    by_class, labels = _class_codes(given[target], target) if target is not None else (None, [])
    found = {name: _summarise(name, column, own, by_class, table_states) for name, column in pairs}
    total, positive = (n_rows, n_rows) if own is None else (float(own.sum()), int(np.count_nonzero(own)))
    return Summary(found, n_rows, total, positive, target, tuple(labels), own is not None)


def partition_columns(data: Any) -> dict[str, Any]:
    """The columns of a partition by name; a record batch of Arrow will do."""
    if hasattr(data, "schema") and hasattr(data, "columns") and type(data).__module__.startswith("pyarrow"):
        names = [str(name) for name in data.schema.names]
        check_column_names(names)
        return dict(zip(names, map(_chunked, data.columns), strict=True))
    if isinstance(data, np.ndarray):
        raise DataError("a numpy array has no column names; give a data frame, an Arrow table or a mapping of columns")
    return dict(columns_of(data))


def _chunked(column: Any) -> Any:
    """A column of Arrow in chunks, as tables have it; that of a record batch is one chunk."""
    if hasattr(column, "chunks"):
        return column
    import pyarrow as pa

    return pa.chunked_array([column])


def row_weights(columns: Mapping[str, Any], weights: str | None) -> Floats | None:
    """The weights of the rows of a partition, checked."""
    if weights is None:
        return None
    if weights not in columns:
        raise lacking_columns([weights], list(columns))
    column = columns[weights]
    own = _numbers_of_texts(column) if isinstance(column, TextColumn) else numbers_of(column)
    if own is None:
        raise DataError(f"the column of weights {weights!r} does not hold numbers")
    return checked_weights(own, len(own), f"weights (column {weights!r})")


def _numbers_of_texts(column: TextColumn) -> Floats | None:
    """A column of a text file as floats; None where one is no number."""
    texts = [text for text in column.labels if text is not None]
    if text_kind(texts, column.decimal) not in (int, float):
        return None
    values = iter(typed_labels(column.name, texts, (), float, column.decimal))  # type: ignore[arg-type]
    labels = [np.nan if text is None else next(values) for text in column.labels]
    return np.array([*labels, np.nan], dtype=np.float64)[column.codes]


def _summarise(
    name: str, column: Any, weights: Floats | None, classes: NDArray[np.int64] | None, as_labels: bool
) -> ColumnSummary:
    if isinstance(column, TextColumn):
        return _summarise_texts(column, weights, classes)
    if weights is None and is_arrow(column) and (quick := _summarise_arrow(name, column, classes, as_labels)):
        return quick
    numbers = None if as_labels or isinstance(column, CodedColumn) else _typed_numbers(name, column)
    if numbers is None:
        return _summarise_labels(code_column(name, column), weights)
    found = _summarise_numbers(name, *numbers, weights, classes)
    return replace(found, decimal=True) if _is_decimal(column) else found


def _is_decimal(column: Any) -> bool:
    """Whether a column of Arrow or polars is of a decimal type."""
    kind = getattr(column, "type", None) or getattr(column, "dtype", None)
    return str(kind).lower().startswith("decimal")


def _summarise_arrow(
    name: str, column: Any, classes: NDArray[np.int64] | None, as_labels: bool
) -> LabelSummary | NumberSummary | None:
    """A column of Arrow with a dictionary or with whole numbers in a narrow range; None for any other."""
    chunks = chunks_of(column)
    if not chunks:
        return None
    if all(cells.dictionary is not None for cells in chunks):
        if len(chunks) > 1:
            return None
        labels = chunks[0].dictionary.to_pylist()
        counts = chunks[0].counts(0, len(labels))
        native = column.column if isinstance(column, Texts) else column
        declared = not isinstance(column, Texts)
        coded = CodedColumn(name, labels, np.zeros(0, np.int64), declared, declared and bool(native.type.ordered))
        return _label_summary(coded, counts, counts.astype(np.float64))
    if as_labels or classes is not None:
        return None
    extents = [cells.extent() for cells in chunks]
    low = min((low for low, high in extents if low <= high), default=0)
    high = max((high for low, high in extents if low <= high), default=-1)
    if high - low >= MOST_NUMBERS:
        return None
    counts = sum((cells.counts(low, high - low + 1) for cells in chunks), np.zeros(high - low + 1, dtype=np.int64))
    used = np.flatnonzero(counts)
    values = used + np.int64(low)
    n_missing = sum(len(cells.indices) for cells in chunks) - int(counts.sum())
    return NumberSummary(
        name, True, 0, keys_of(values), values, values, np.arange(len(used)), np.full(len(used), -1, dtype=np.int64),
        counts[used].astype(np.float64), float(n_missing), _is_lossy(values),
    )  # fmt: skip


def _is_lossy(ordered: NDArray[np.int64]) -> bool:
    """Whether some whole number, of ascending ones, is none that a float can be."""
    if not len(ordered) or max(abs(int(ordered[0])), abs(int(ordered[-1]))) <= 2**53:
        return False
    return any(int(float(value)) != value for value in ordered.tolist())


def _summarise_texts(column: TextColumn, weights: Floats | None, classes: NDArray[np.int64] | None) -> TextSummary:
    labels = _summarise_labels(column, weights)
    texts = [text for text in column.labels if text is not None]
    kind = text_kind(texts, column.decimal)
    numbers = None
    if kind in (int, float):
        typed = typed_labels(column.name, texts, (), kind, column.decimal)  # type: ignore[arg-type]
        there = iter(typed)
        of_labels = [0 if text is None else next(there) for text in column.labels]
        values = np.array([*of_labels, 0], dtype=np.int64 if kind is int else np.float64)[column.codes]
        missing = np.array([*(text is None for text in column.labels), True])[column.codes]
        numbers = _summarise_numbers(column.name, values, missing if missing.any() else None, weights, classes)
    return TextSummary(labels, numbers, frozenset([kind]) if texts else frozenset(), column.decimal)


def _add_texts(one: TextSummary, other: TextSummary, recode: NDArray[np.int64]) -> TextSummary:
    numbers = None
    if one.numbers is not None and other.numbers is not None:
        numbers = _add_numbers(one.numbers, replace(other.numbers, classes=recode[other.numbers.classes]))
    return TextSummary(_add_labels(one.labels, other.labels), numbers, one.kinds | other.kinds, one.decimal)


def _summarise_labels(column: CodedColumn, weights: Floats | None) -> LabelSummary:
    codes, n = column.codes, len(column.labels)
    shown = np.where(codes < 0, n, codes) if codes.dtype.kind == "i" else codes
    counts = np.bincount(shown, minlength=n + 1)[:n]
    sums = counts.astype(np.float64) if weights is None else np.bincount(shown, weights, minlength=n + 1)[:n]
    return _label_summary(column, counts, sums.astype(np.float64, copy=False))


def _label_summary(column: CodedColumn, counts: NDArray[np.int64], sums: Floats) -> LabelSummary:
    """The summary of labels of which each occurs so many times."""
    place: dict[State, int] = {}
    own: list[float] = []
    seen: list[bool] = []
    n_known = 0
    for label, weight, count in zip(column.labels, sums.tolist(), counts.tolist(), strict=True):
        if (count == 0 and not column.declared) or is_missing(label):
            continue
        plain = plain_state(label)
        at = place.setdefault(plain, len(place))
        if at == len(own):
            own.append(0.0)
            seen.append(False)
        own[at] += weight
        seen[at] |= count > 0
        n_known += count
    found = LabelSummary(
        column.name, [*place], np.array(own, dtype=np.float64), column.declared, column.ordered, float(sum(own)),
        n_known, None, _are_instants(place), np.array(seen, dtype=bool), next(iter(place), None),
    )  # fmt: skip
    return _with_hashes(found) if len(place) > MOST_STATES else found


def _are_instants(labels: Iterable[State]) -> bool:
    return all(map(is_instant, labels))


def _with_hashes(found: LabelSummary) -> LabelSummary:
    """The summary of a column with too many labels for states: how many there are is estimated."""
    if found.hashes is not None:
        return found
    hashes = _least_hashes([label for label, seen in zip(found.labels, found.seen.tolist(), strict=True) if seen])
    return replace(found, labels=[], weights=np.zeros(0), seen=np.zeros(0, dtype=bool), hashes=hashes)


def _least_hashes(labels: Sequence[State]) -> NDArray[np.uint64]:
    import pandas as pd

    texts = np.array([repr(label) for label in labels], dtype=object)
    hashed = pd.util.hash_array(texts, categorize=False) if len(texts) else np.zeros(0, dtype=np.uint64)
    return np.unique(hashed)[:MOST_HASHES]


def _class_codes(column: Any, name: str) -> tuple[NDArray[np.int64], list[State]]:
    """The class of each row, -1 for a missing one, and the labels."""
    coded = code_column(name, column)
    place: dict[State, int] = {}
    lookup = np.full(len(coded.labels) + 1, -1, dtype=np.int64)
    used = np.unique(coded.codes).tolist()
    for code in used:
        if code >= 0 and code < len(coded.labels) and not is_missing(coded.labels[code]):
            lookup[code] = place.setdefault(plain_state(coded.labels[code]), len(place))
    if len(place) > MOST_STATES:
        raise too_many_states(name, next(iter(place)))
    return lookup[coded.codes.astype(np.int64)], [*place]


# -------------------------------------------------------------------- numbers


def _typed_numbers(name: str, column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None] | None:
    """The numbers of a column, int64 where its type is of whole ones, and where they are missing; None for labels."""
    whole = _whole_numbers(name, column)
    if whole is not None:
        return whole
    numbers = numbers_of(column)
    if numbers is None:
        return None
    missing = np.isnan(numbers)
    return numbers, missing if missing.any() else None


def _whole_numbers(name: str, column: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None] | None:
    if isinstance(column, Texts):
        return None
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa

        if not pa.types.is_integer(column.type):
            return None
        missing = np.asarray(column.is_null()) if column.null_count else None
        values = np.asarray(column.fill_null(0) if column.null_count else column)
    elif library == "polars":
        if not column.dtype.is_integer():
            return None
        missing = column.is_null().to_numpy() if column.null_count() else None
        values = column.fill_null(0).to_numpy()
    else:
        dtype = getattr(column, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if dtype is None or kind == "O":
            return _whole_objects(column)
        if kind not in ("i", "u") or not hasattr(column, "shape"):
            return None
        if isinstance(dtype, np.dtype):
            values, missing = np.asarray(column), None
        else:  # Int64 and the like
            absent = column.isna().to_numpy()
            values = column.to_numpy(dtype=np.uint64 if kind == "u" else np.int64, na_value=0)
            missing = absent if absent.any() else None
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise DataError(
            f"column {name!r} holds whole numbers beyond 2**63, such as {values.max()}, which are not told apart in "
            "passes: subtract a number from all of them, or give them as text"
        )
    return values.astype(np.int64, copy=False), missing


def _whole_objects(column: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None] | None:
    """Cells of plain Python that are all whole numbers, or missing."""
    import pandas as pd

    if not hasattr(column, "__len__") or pd.api.types.infer_dtype(column, skipna=True) != "integer":
        return None
    values = [None if is_missing(value) else int(value) for value in column]
    if any(value is not None and abs(value) >= 2**63 for value in values):
        return None
    missing = np.array([value is None for value in values], dtype=bool)
    whole = np.array([0 if value is None else value for value in values], dtype=np.int64)
    return whole, missing if missing.any() else None


def keys_of(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Numbers as 64 bits whose order is that of the numbers.

    >>> keys = keys_of(np.array([-np.inf, -2.5, -0.0, 0.0, 1e-300, 7.0]))
    >>> bool((keys[1:] >= keys[:-1]).all()), int((keys[1:] == keys[:-1]).sum())
    (True, 1)
    """
    if values.dtype == np.int64:
        return np.asarray(values.view(np.uint64) ^ _SIGN)
    bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _summarise_numbers(
    name: str, values: NDArray[Any], missing: NDArray[np.bool_] | None, weights: Floats | None,
    classes: NDArray[np.int64] | None,
) -> NumberSummary:  # fmt: skip
    import pandas as pd

    n_missing, whole = 0.0, values.dtype == np.int64
    if missing is not None:
        n_missing = float(np.count_nonzero(missing) if weights is None else weights[missing].sum())
        there = ~missing
        values, weights = values[there], None if weights is None else weights[there]
        classes = None if classes is None else classes[there]
    if not whole:
        values = values + 0.0
    numbers, distinct = pd.factorize(values)
    order = np.argsort(distinct, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    ordered = distinct[order]
    n_classes = 1 if classes is None else int(classes.max(initial=-1)) + 2  # -1 is one of them
    entry = ranks[numbers] * n_classes + (0 if classes is None else classes + 1)
    size = len(ordered) * n_classes
    sums = np.bincount(entry, weights, minlength=size).astype(np.float64)
    used = np.flatnonzero(np.bincount(entry, minlength=size)) if n_classes > 1 else np.arange(size)
    lossy = bool(whole) and _is_lossy(ordered)
    found = NumberSummary(
        name, bool(whole), 0, keys_of(ordered), ordered, ordered, used // n_classes, used % n_classes - 1, sums[used],
        n_missing, lossy,
    )  # fmt: skip
    return _joined(found)


def _joined(found: NumberSummary) -> NumberSummary:
    """The summary with so many bits left out that its buckets are not too many."""
    if len(found.keys) <= MOST_NUMBERS:
        return found
    parting = _bit_lengths(found.keys[1:] ^ found.keys[:-1])  # neighbours are apart while fewer bits are left out
    n_parted = np.cumsum(np.bincount(parting, minlength=65)[::-1])[::-1]  # by the least number of bits that parts them
    shift = int(np.argmax(n_parted[1:] < MOST_NUMBERS)) + found.shift
    return _at_shift(found, shift)


def _bit_lengths(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of the highest bit of each number, from 1; 0 of zero.

    >>> _bit_lengths(np.array([0, 1, 255, 2**63 + 1, 2**64 - 1], dtype=np.uint64)).tolist()
    [0, 1, 8, 64, 64]
    """
    high, low = (numbers >> np.uint64(32)).astype(np.float64), (numbers & np.uint64(2**32 - 1)).astype(np.float64)
    return np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1]).astype(np.int64)


def _at_shift(found: NumberSummary, shift: int) -> NumberSummary:
    """The buckets joined to those with more bits left out."""
    if shift == found.shift:
        return found
    coarse = found.keys >> np.uint64(shift - found.shift)
    starts = np.flatnonzero(np.concatenate(([True], coarse[1:] != coarse[:-1])))
    place = np.cumsum(np.concatenate(([0], (coarse[1:] != coarse[:-1]).astype(np.int64))))
    ends = np.append(starts[1:], len(coarse)) - 1
    places, classes, weights = _entries(place[found.places], found.classes, found.weights)
    return replace(
        found, shift=shift, keys=coarse[starts], low=found.low[starts], high=found.high[ends], places=places,
        classes=classes, weights=weights,
    )  # fmt: skip


def _entries(
    places: NDArray[np.int64], classes: NDArray[np.int64], weights: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Entries of the same bucket and class joined, in order."""
    radix = int(classes.max(initial=-1)) + 2
    ids, inverse = np.unique(places * radix + classes + 1, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights, minlength=len(ids)).astype(np.float64, copy=False)
    return ids // radix, ids % radix - 1, sums


# -------------------------------------------------------------------- adding


def add_summaries(one: Summary, other: Summary) -> Summary:
    """The summary of the rows of both.

    Parameters
    ----------
    one, other : Summary
        Of the same columns. The order matters only for categories that differ between partitions: those of ``one`` come
        first.

    Examples
    --------
    >>> both = add_summaries(summarise_partition({"a": [1.5, 2.5]}), summarise_partition({"a": [1.5, None]}))
    >>> both.columns["a"].states(), both.columns["a"].totals, both.columns["a"].n_missing
    ([1.5, 2.5], array([2., 1.]), 1.0)
    """
    if list(one.columns) != list(other.columns) or one.target != other.target:
        differing = sorted({*one.columns} ^ {*other.columns}) or [*other.columns][:8]
        raise DataError(f"summaries of different columns cannot be added; they differ in {differing}")
    place = {label: k for k, label in enumerate(one.classes)}
    recode = np.array([*[place.setdefault(label, len(place)) for label in other.classes], -1], dtype=np.int64)
    columns = {
        name: _add(own, other.columns[name], recode) for name, own in one.columns.items()
    }  # the last place of recode is that of a missing class
    return Summary(
        columns, one.n_rows + other.n_rows, one.total_weight + other.total_weight, one.n_positive + other.n_positive,
        one.target, tuple(place), one.weighted or other.weighted,
    )  # fmt: skip


def _add(one: ColumnSummary, other: ColumnSummary, recode: NDArray[np.int64]) -> ColumnSummary:
    if isinstance(one, NumberSummary) and isinstance(other, NumberSummary):
        return _add_numbers(one, replace(other, classes=recode[other.classes]))
    if isinstance(one, LabelSummary) and isinstance(other, LabelSummary):
        return _add_labels(one, other)
    if isinstance(one, TextSummary) and isinstance(other, TextSummary):
        return _add_texts(one, other, recode)
    if isinstance(one, TextSummary) or isinstance(other, TextSummary):
        raise DataError(f"column {one_name(one)!r} is of a text file in some partitions only")
    if not other.has_value:  # nothing but missing cells, which have no type in some libraries
        return one if isinstance(one, LabelSummary) else replace(one, n_missing=one.n_missing)
    if not one.has_value:
        return replace(other, classes=recode[other.classes]) if isinstance(other, NumberSummary) else other
    raise DataError(
        f"column {one.name!r} holds numbers in some partitions and labels in others, such as "
        f"{_example(one)!r} and {_example(other)!r}; convert it to one type"
    )


def one_name(summary: ColumnSummary) -> str:
    """The name of the column."""
    return summary.labels.name if isinstance(summary, TextSummary) else summary.name


def _example(summary: LabelSummary | NumberSummary) -> State:
    return summary.example if isinstance(summary, LabelSummary) else plain_state(summary.low[0])


def _add_labels(one: LabelSummary, other: LabelSummary) -> LabelSummary:
    sums = {
        "known": one.known + other.known,
        "n_known": one.n_known + other.n_known,
        "instants": one.instants and other.instants,
    }
    if one.hashes is not None or other.hashes is not None:
        one, other = _with_hashes(one), _with_hashes(other)
        hashes = np.unique(np.concatenate([one.hashes, other.hashes]))[:MOST_HASHES]
        return replace(one, hashes=hashes, declared=False, ordered=False, **sums)  # type: ignore[arg-type]
    if one.labels == other.labels:
        return replace(one, weights=one.weights + other.weights, seen=one.seen | other.seen, **sums)  # type: ignore[arg-type]
    place = {label: k for k, label in enumerate(one.labels)}
    at = np.array([place.setdefault(label, len(place)) for label in other.labels], dtype=np.int64)
    weights, seen = np.zeros(len(place)), np.zeros(len(place), dtype=bool)
    weights[: len(one.labels)], seen[: len(one.labels)] = one.weights, one.seen
    weights[at] += other.weights
    seen[at] |= other.seen
    declared = (one.declared or not one.labels) and (other.declared or not other.labels)
    found = replace(
        one, labels=[*place], weights=weights, seen=seen, declared=declared,
        ordered=declared and (one.ordered or other.ordered), example=one.example if one.labels else other.example,
        **sums,  # type: ignore[arg-type]
    )  # fmt: skip
    return _with_hashes(found) if len(place) > MOST_STATES else found


def _add_numbers(one: NumberSummary, other: NumberSummary) -> NumberSummary:
    if one.whole != other.whole:
        one, other = _as_floats(one), _as_floats(other)
    shift = max(one.shift, other.shift)
    one, other = _at_shift(one, shift), _at_shift(other, shift)
    keys = np.union1d(one.keys, other.keys)
    mine, theirs = np.searchsorted(keys, one.keys), np.searchsorted(keys, other.keys)
    low, high = np.empty(len(keys), dtype=one.low.dtype), np.empty(len(keys), dtype=one.low.dtype)
    low[theirs], high[theirs] = other.low, other.high
    shared = np.isin(one.keys, other.keys, assume_unique=True)
    low[mine] = np.where(shared, np.minimum(one.low, low[mine]), one.low)
    high[mine] = np.where(shared, np.maximum(one.high, high[mine]), one.high)
    places, classes, weights = _entries(
        np.concatenate([mine[one.places], theirs[other.places]]),
        np.concatenate([one.classes, other.classes]),
        np.concatenate([one.weights, other.weights]),
    )
    both = NumberSummary(
        one.name, one.whole, shift, keys, low, high, places, classes, weights, one.n_missing + other.n_missing,
        one.lossy or other.lossy, one.decimal or other.decimal,
    )  # fmt: skip
    return _joined(both)


def _as_floats(found: NumberSummary) -> NumberSummary:
    """Whole numbers as floats, as in a column where one cell is missing."""
    if not found.whole:
        return found
    low, high = found.low.astype(np.float64), found.high.astype(np.float64)
    if found.shift:  # buckets of whole numbers are no buckets of floats: each is one number at its upper end
        low = high
    keys, first = np.unique(keys_of(high), return_index=True)
    place = np.searchsorted(keys, keys_of(high))
    places, classes, weights = _entries(place[found.places], found.classes, found.weights)
    return _joined(
        replace(
            found,
            whole=False,
            shift=0,
            keys=keys,
            low=low[first],
            high=high[first],
            places=places,
            classes=classes,
            weights=weights,
        )
    )
