"""Where batches come from: Parquet and CSV files, Arrow datasets, DuckDB, polars, and functions that give frames.

A source gives its rows again in each pass. Each batch has a place, which errors name.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bntk.data.coding import check_column_names, lacking_columns, without_index
from bntk.data.columns import Texts
from bntk.data.summaries import partition_columns
from bntk.errors import DataError, ParseError

#: Cells of a batch, and the fewest and most rows of one.
CELLS, FEWEST, MOST = 1 << 23, 1 << 12, 1 << 18


class Batch(NamedTuple):
    """Some rows, and where they are from."""

    data: Any
    place: str
    n_rows: int


class Source(ABC):
    """Rows that can be read again and again.

    Attributes
    ----------
    names : tuple of str
        The columns.
    n_rows : int, optional
        How many rows there are, where that is known without reading them.
    is_checked : bool
        Whether :meth:`state` tells that the rows are others than before.
    """

    names: tuple[str, ...]
    n_rows: int | None = None
    is_checked = False

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows of some columns, batch by batch."""

    def state(self) -> Any:
        """Something that differs when the rows have changed."""
        return None

    @abstractmethod
    def __repr__(self) -> str: ...


def arrow() -> Any:
    """The package pyarrow; an error that says how to install it where it is not there."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError('reading this in batches needs pyarrow: pip install "bntk[arrow]"') from error
    return pyarrow


def batch_rows(n_columns: int) -> int:
    """How many rows of so many columns are read at a time."""
    return min(MOST, max(FEWEST, CELLS // max(1, n_columns)))


class Files(Source):
    """Files with the same columns.

    Parameters
    ----------
    paths : sequence of Path
    """

    is_checked = True

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)

    def state(self) -> Any:
        """Sizes and times of the files."""
        found = []
        for path in self.paths:
            try:
                status = os.stat(path)
            except OSError as error:
                raise DataError(f"{path}: the file cannot be read: {error.strerror}") from error
            found.append((str(path), status.st_size, status.st_mtime_ns))
        return found

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more files" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def _same_columns(self, path: Path, names: Sequence[str]) -> None:
        lacking = [name for name in self.names if name not in names]
        if lacking:
            raise DataError(f"{path}: {lacking_columns(lacking, names)} ({self.paths[0]} has them)")


class ParquetFiles(Files):
    """Parquet files, read by row group."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__(paths)
        pa = arrow()
        schema = self._read_schema(self.paths[0])
        kept = {*without_index(schema.names)}
        self._schema = pa.schema([field for field in schema if field.name in kept])
        self.names = tuple(self._schema.names)
        check_column_names(self.names)
        self._texts = [field.name for field in self._schema if _is_text(pa, field.type)]
        self.n_rows = 0
        for path in self.paths:
            with self._opened(path) as file:
                self._check(path, file.schema_arrow)
                self.n_rows += file.metadata.num_rows

    def _read_schema(self, path: Path) -> Any:
        with self._opened(path) as file:
            return file.schema_arrow

    @contextmanager
    def _opened(self, path: Path, **options: Any) -> Iterator[Any]:
        pa = arrow()
        from pyarrow import parquet

        try:
            file = parquet.ParquetFile(path, **options)
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ParseError(f"not a Parquet file that can be read: {error}", source=str(path)) from error
        with file:
            yield file

    def _check(self, path: Path, schema: Any) -> None:
        """Refuse a file that lacks a column, or has one of another kind."""
        self._same_columns(path, schema.names)
        pa = arrow()
        for field in self._schema:
            mine, theirs = _kind(pa, field.type), _kind(pa, schema.field(field.name).type)
            if mine != theirs and "nothing" not in (mine, theirs):
                raise DataError(
                    f"{path}: column {field.name!r} holds {theirs} ({schema.field(field.name).type}), but in "
                    f"{self.paths[0]} {mine} ({field.type}); convert one of the files"
                )

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Batches within row groups, the columns of text with dictionaries."""
        texts = [name for name in self._texts if name in columns]
        for path in self.paths:
            with self._opened(path, read_dictionary=texts, pre_buffer=True, page_checksum_verification=True) as file:
                self._check(path, file.schema_arrow)
                for group in range(file.num_row_groups):
                    yield from self._group(path, file, group, columns, {*texts})

    def _group(self, path: Path, file: Any, group: int, columns: Sequence[str], texts: set[str]) -> Iterator[Batch]:
        pa = arrow()
        place, found = f"{path}, row group {group}", 0
        expected = file.metadata.row_group(group).num_rows
        try:
            most = batch_rows(len(columns))
            if expected <= most:  # a group is read a little faster at once
                parts = iter([file.read_row_group(group, list(columns))])
            else:
                parts = file.iter_batches(most, [group], list(columns))
            for batch in parts:
                found += batch.num_rows
                given = partition_columns(batch)
                abbreviated = {name: Texts(column) if name in texts else column for name, column in given.items()}
                yield Batch(abbreviated, place, batch.num_rows)
        except (pa.ArrowException, OSError, IndexError, UnicodeDecodeError) as error:
            raise ParseError(f"row group {group} cannot be read: {error}", source=str(path)) from error
        if columns and found != expected:
            raise ParseError(f"row group {group} has {found:,} rows instead of {expected:,}", source=str(path))


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _kind(pa: Any, kind: Any) -> str:
    """What a column holds, in words; columns of the same kind can be put one below the other."""
    types = pa.types
    if types.is_dictionary(kind):
        return _kind(pa, kind.value_type)
    if types.is_null(kind):
        return "nothing"
    if types.is_boolean(kind):
        return "truth values"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind) or "string_view" in str(kind):
        return "text"
    return "dates or times" if types.is_temporal(kind) else str(kind)


class Dataset(Source):
    """A dataset of pyarrow, with its partitions and filter."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.names = tuple(without_index(dataset.schema.names))
        check_column_names(self.names)

    def state(self) -> Any:
        """Sizes and times of its files, where it has some that are here."""
        found = []
        for path in getattr(self.dataset, "files", []):
            if os.path.exists(path):
                status = os.stat(path)
                found.append((path, status.st_size, status.st_mtime_ns))
        return found

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Batches of fragments, in order."""
        pa = arrow()
        scanner = self.dataset.scanner(
            columns=list(columns), batch_size=batch_rows(len(columns)), batch_readahead=2, fragment_readahead=1
        )
        place = "the dataset"
        try:
            for tagged in scanner.scan_batches():
                place = str(getattr(tagged.fragment, "path", "") or "the dataset")
                yield Batch(tagged.record_batch, place, tagged.record_batch.num_rows)
        except (pa.ArrowException, OSError, IndexError, UnicodeDecodeError) as error:
            raise ParseError(f"the dataset cannot be read: {error}", source=place) from error

    def __repr__(self) -> str:
        return f"{type(self.dataset).__name__} of pyarrow"


class DuckDB(Source):
    """A relation of DuckDB."""

    def __init__(self, relation: Any) -> None:
        arrow()
        self.relation = relation
        self.names = tuple(relation.columns)
        check_column_names(self.names)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The result of the relation, computed anew."""
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = self.relation.project(quoted)
        give = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_record_batch
        try:
            for number, batch in enumerate(give(batch_rows(len(columns)))):
                yield Batch(batch, f"batch {number} of the DuckDB relation", batch.num_rows)
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb", "pyarrow"):
                raise
            raise DataError(f"DuckDB cannot compute the relation: {error}") from error

    def __repr__(self) -> str:
        return "a DuckDB relation"


class Polars(Source):
    """A lazy frame of polars."""

    def __init__(self, frame: Any) -> None:
        import polars as pl

        self.frame = frame.with_columns(pl.selectors.categorical().cast(pl.String))  # categories are not declared
        self.names = tuple(frame.collect_schema().names())

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The result of the frame, computed anew."""
        size, chosen = batch_rows(len(columns)), self.frame.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            import warnings

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # polars calls it unstable
                frames = iter(chosen.collect_batches(chunk_size=size))
        else:
            frames = self._slices(chosen, size)
        for number, frame in enumerate(frames):
            yield Batch(frame, f"batch {number} of the LazyFrame", frame.height)

    @staticmethod
    def _slices(chosen: Any, size: int) -> Iterator[Any]:
        start = 0
        while True:
            frame = chosen.slice(start, size).collect()
            if not frame.height:
                return
            yield frame
            start += size

    def __repr__(self) -> str:
        return "a LazyFrame of polars"


class Frames(Source):
    """A function that gives an iterator of data frames anew."""

    def __init__(self, give: Callable[[], Any]) -> None:
        self.give = give
        first = next(self._frames(), None)
        if first is None:
            raise DataError("the function gives no data frame; it must give an iterator of one or more, anew each time")
        self.names = tuple(partition_columns(first))
        check_column_names(self.names)

    def _frames(self) -> Iterator[Any]:
        found = self.give()
        if not hasattr(found, "__iter__") or isinstance(found, (str, dict)) or hasattr(found, "columns"):
            raise DataError(
                "the function must give an iterator of data frames, such as lambda: iter(frames), not "
                f"{type(found).__name__}"
            )
        return iter(found)

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The frames, cut where they are long."""
        for number, frame in enumerate(self._frames()):
            place = f"data frame {number}"
            given = partition_columns(frame)
            lacking = [name for name in self.names if name not in given]
            if lacking:
                raise DataError(f"{place}: {lacking_columns(lacking, list(given))}")
            chosen = {name: given[name] for name in columns}
            first = next(iter(chosen.values()), ())
            yield Batch(chosen, place, len(getattr(first, "codes", first)))

    def __repr__(self) -> str:
        return "data frames of a function"
