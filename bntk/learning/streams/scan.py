"""``bntk.scan``: rows that stay where they are, as every learner takes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bntk import _checking
from bntk._progress import SHOWN, progress_bar
from bntk.data.coding import check_column_names, lacking_columns
from bntk.data.dask_frames import is_dask_frame
from bntk.data.readers import _FORMATS
from bntk.data.table import Table
from bntk.data.variable import Variable, checked_variables, names_of, natural_order
from bntk.errors import BntkError, DataError, ParseError
from bntk.learning.counts.dask_partitions import DaskPartitions
from bntk.learning.counts.partitions import Partitions
from bntk.learning.streams.reader import ahead
from bntk.learning.streams.sources import Batch, Dataset, DuckDB, Frames, ParquetFiles, Polars, Source, arrow

R = TypeVar("R")


class Scan(Partitions):
    """Rows that are read in passes, batch by batch. Made by :func:`bntk.scan`.

    Attributes
    ----------
    names : tuple of str
        The columns.
    weights : str or None
        The column of the weights of rows.
    variables : tuple of Variable or None
        The states that were given.
    passes : int
        How often the rows have been read so far.
    rows_read : int
        The rows of all passes together.
    """

    def __init__(
        self, source: Source, weights: str | None, variables: Sequence[Variable] | None, columns: Sequence[str] | None
    ) -> None:
        self.source = source
        self.weights = weights
        self.variables = None if variables is None else checked_variables(variables)
        self.passes = 0
        self.rows_read = 0
        self._state = source.state()
        self._n_rows: int | None = None
        self._names = tuple(source.names if columns is None else columns)
        wanted = [*self._names, *([] if weights is None else [weights]), *names_of(self.variables or ())]
        lacking = [name for name in wanted if name not in source.names]
        if lacking:
            raise lacking_columns(lacking, source.names)
        self.is_checked = source.is_checked

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self._names

    def select(self, columns: Iterable[str]) -> Scan:
        """The same rows with some of the columns.

        Parameters
        ----------
        columns : iterable of str
            Their names, in this order.
        """
        chosen = _checking.names("columns", columns, "names of columns", DataError)
        variables = None
        if self.variables is not None:
            by_name = {variable.name: variable for variable in self.variables}
            variables = [by_name[name] for name in chosen if name in by_name]
        return Scan(self.source, self.weights, variables, chosen)

    def reduce(self, task: Callable[[Any], R], add: Callable[[R, R], R], columns: Sequence[str], what: str) -> R:
        """One pass: the task for each batch, added; the next batches are read while one is counted."""
        self._check_unchanged()
        total: Any = None
        n_rows, begun = 0, False
        self.passes += 1
        expected = self.source.n_rows if self._n_rows is None else self._n_rows
        bar = progress_bar(
            SHOWN.get(), desc=f"pass {self.passes}, {what}", unit=" rows", total=expected, unit_scale=True
        )
        with bar:
            batches = ahead(self.source.batches(list(dict.fromkeys(columns))))
            try:
                for batch in batches:
                    if not batch.n_rows and begun:
                        continue
                    part = _done(task, batch)
                    total, begun = (add(total, part) if begun else part), True
                    n_rows += batch.n_rows
                    self.rows_read += batch.n_rows
                    bar.update(batch.n_rows)
            finally:
                batches.close()  # type: ignore[attr-defined]
        self._check_unchanged()
        if not n_rows:
            raise DataError(f"{self.source!r} has no rows; at least one is needed")
        if self._n_rows is not None and n_rows != self._n_rows:
            raise DataError(
                f"{self.source!r} had {self._n_rows:,} rows in the first pass, but {n_rows:,} in pass {self.passes}: "
                "rows must stay as they are while they are learned from"
            )
        self._n_rows = n_rows
        return total

    def _check_unchanged(self) -> None:
        state = self.source.state()
        if state == self._state:
            return
        changed = [after[0] for before, after in zip(self._state or [], state or [], strict=False) if before != after]
        where = f"{changed[0]}: the file" if changed else f"{self.source!r}"
        raise DataError(f"{where} has changed since bntk.scan: rows must stay as they are; scan it again")

    def __len__(self) -> int:
        """The number of rows, which may take a pass."""
        if self._n_rows is None:
            self._n_rows = self.source.n_rows
        if self._n_rows is None:
            self.reduce(_nothing, _first, self._names[:1], "rows")
        assert self._n_rows is not None
        return self._n_rows

    def __repr__(self) -> str:
        known = self.source.n_rows if self._n_rows is None else self._n_rows
        rows = "rows" if known is None else f"{known:,} rows"
        weighted = f", weights {self.weights!r}" if self.weights is not None else ""
        return f"Scan: {rows} x {len(self._names)} columns of {self.source!r}{weighted}, {self.passes} passes so far"


def _nothing(data: Any) -> None:
    return None


def _first(one: None, other: None) -> None:
    return None


def _done(task: Callable[[Any], R], batch: Batch) -> R:
    """The result of a task; an error about the rows names their place."""
    try:
        return task(batch.data)
    except ParseError:
        raise
    except DataError as error:
        raise DataError(f"{batch.place}: {error}") from error
    except BntkError:
        raise


def scan(
    source: Any,
    *,
    weights: str | None = None,
    variables: Iterable[Variable] | None = None,
    columns: Iterable[str] | None = None,
    sep: str | None = None,
    missing: Iterable[str] = ("",),
    decimal: str = ".",
) -> Scan:
    """Rows that stay where they are and are read in passes, for data that do not fit into memory.

    Every learner that needs only counts takes a scan where it takes a :class:`bntk.Table`, and finds the same: the
    searches for structures by a score that is a sum over families, :func:`bntk.fit`, :func:`bntk.fit_em`, and most
    classifiers, whose class is then named: ``TAN().fit(bntk.scan("rows/*.parquet"), "kind")``. One pass finds states
    and cut points, where they are not given; each batch of tables takes one more.

    Parameters
    ----------
    source : path, pattern, list of paths, pyarrow dataset, DuckDB relation, polars LazyFrame, Dask frame or callable
        A Parquet or CSV file; a folder, with all such files in it and below; a pattern such as ``"rows/*.parquet"``; or
        several files; the index without a name that pandas writes to Parquet is no column. A callable gives an iterator
        of data frames (of pandas, polars or pyarrow), the same ones each time.
    weights : str, optional
        A column of numbers: how often each row counts.
    variables : iterable of Variable, optional
        States and cut points of all columns to read; then no pass is needed to find them. A value that is none of the
        states is taken as missing, with a warning.
    columns : iterable of str, optional
        The columns, in this order; others are not read.
    sep, missing, decimal
        Of CSV files, as in :func:`bntk.read_table`.

    Returns
    -------
    Scan
        For a Dask DataFrame, which learners also take as it is, a :class:`~bntk.learning.counts.DaskPartitions`.

    Examples
    --------
    >>> import bntk, pandas as pd
    >>> rows = bntk.datasets.asia().sample(1000, seed=1).to_pandas()
    >>> frames = [rows[:400], rows[400:]]
    >>> stream = bntk.scan(lambda: iter(frames))
    >>> bn = bntk.learn(stream, "bic", search="hc")
    >>> bn.dag == bntk.learn(rows, "bic", search="hc").dag
    True
    >>> bntk.TAN().fit(stream, "dysp").dag_ == bntk.TAN().fit(rows.drop(columns="dysp"), rows["dysp"]).dag_
    True
    """
    _checking.one_of("decimal", decimal, (".", ","))
    texts = frozenset(_checking.text("each of missing", text) for text in _checking.names("missing", missing))
    chosen = None if columns is None else _checking.names("columns", columns, "names of columns", DataError)
    if chosen is not None:
        check_column_names(chosen)
    if weights is not None:
        _checking.text("weights", weights, "the name of a column")
    given = None if variables is None else checked_variables(variables)
    if is_dask_frame(source):
        return DaskPartitions(source, weights, given, chosen)  # type: ignore[return-value]
    if given is not None and chosen is None:
        chosen = list(names_of(given))
    return Scan(_source_of(source, sep, texts, decimal), weights, given, chosen)


def _source_of(source: Any, sep: str | None, missing: frozenset[str], decimal: str) -> Source:
    module = type(source).__module__.partition(".")[0]
    if isinstance(source, Scan):
        return source.source
    if isinstance(source, (str, os.PathLike)) or (isinstance(source, (list, tuple)) and source):
        return _files(source, sep, missing, decimal)
    if module == "pyarrow" and hasattr(source, "scanner"):
        return Dataset(source)
    if module in ("duckdb", "_duckdb") and hasattr(source, "project"):
        return DuckDB(source)
    if module == "polars" and type(source).__name__ == "LazyFrame":
        return Polars(source)
    if isinstance(source, Table) or hasattr(source, "columns"):
        raise DataError(f"this {type(source).__name__} is in memory already: give it to the learner as it is")
    if callable(source):
        return Frames(source)
    raise _checking.wrong(
        "source", "a file, folder, pattern or list of files, a pyarrow dataset, a DuckDB relation, a polars LazyFrame, "
        "or a callable that gives an iterator of data frames", source, DataError,
    )  # fmt: skip


# ---- files -----------------------------------------------------------------------------------------------------------


def _files(source: Any, sep: str | None, missing: frozenset[str], decimal: str) -> Source:
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    paths = [path for one in given for path in files_of(_checking.path("source", one))]
    formats = {format_of(path) for path in paths}
    if len(formats) > 1:
        raise DataError(f"the files are of several formats, {', '.join(sorted(formats))}; give those of one format")
    if formats == {"parquet"}:
        arrow()
        return ParquetFiles(paths)
    from bntk.learning.streams.csv_source import CSVFiles

    return CSVFiles(paths, sep, missing, decimal)


def files_of(path: Path) -> list[Path]:
    """The files that a path stands for: itself, those in a folder, or those that match a pattern."""
    if path.is_dir():
        found = [p for p in path.rglob("*") if p.is_file() and not _is_hidden(p, path) and _known(p)]
        what = f"the folder {str(path)!r} has no Parquet or CSV files"
    elif path.exists() or not any(sign in str(path) for sign in "*?["):
        if not path.exists():
            raise FileNotFoundError(f"there is no file {str(path)!r}")
        return [path]
    else:
        from glob import glob

        found = [Path(name) for name in glob(str(path), recursive=True) if Path(name).is_file()]
        what = f"no file matches {str(path)!r}"
    if not found:
        raise FileNotFoundError(what)
    return [Path(str(name)) for name in natural_order([str(p) for p in found])]


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part[:1] in "._" for part in path.relative_to(folder).parts)


def _known(path: Path) -> bool:
    try:
        format_of(path)
    except DataError:
        return False
    return True


def format_of(path: Path) -> str:
    """``"parquet"`` or ``"csv"``, by the suffix."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    found = _FORMATS.get(last, "")
    if found not in ("csv", "parquet"):
        raise DataError(
            f"{path}: rows are read in passes from Parquet (.parquet, .pq) and CSV (.csv, .tsv, .txt, gzipped or not); "
            "read other files with bntk.read_table"
        )
    return found
