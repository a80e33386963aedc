"""Rows that the command reads in passes: several files, or more than should be in memory."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bntk
from bntk._memory import available
from bntk.cli.command import UsageError
from bntk.cli.inputs import check_names
from bntk.errors import DataError

if TYPE_CHECKING:
    from bntk.learning.streams import Scan

#: The share of the free memory that rows may take before they are read in passes.
SHARE = 0.25
#: Bytes that rows take while they are read, for each byte of a file of text, and for each cell of a Parquet file.
PER_BYTE, PER_CELL = 2, 8


def files_of_rows(given: Sequence[str]) -> list[str]:
    """The files that the arguments stand for: files, folders and patterns."""
    if list(given) == ["-"]:
        return ["-"]
    if "-" in given:
        raise UsageError("- is standard input, which cannot be read together with files")
    if len(given) == 1 and not Path(given[0]).is_dir() and (Path(given[0]).exists() or not _is_pattern(given[0])):
        return [given[0]]
    from bntk.learning.streams.scan import files_of

    return [str(path) for one in given for path in files_of(Path(one))]


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def is_large(files: Sequence[str]) -> bool:
    """Whether the rows of files would take more than a share of the memory that is free."""
    room = available()
    if room is None or list(files) == ["-"]:
        return False
    needed = sum(_bytes_in_memory(Path(file)) for file in files)
    return needed > SHARE * room.n_bytes and all(_can_be_streamed(Path(file)) for file in files)


def _can_be_streamed(path: Path) -> bool:
    from bntk.learning.streams.scan import format_of

    try:
        format_of(path)
    except DataError:
        return False
    return True


def _bytes_in_memory(path: Path) -> float:
    """About how many bytes the rows of a file take while they are read."""
    if not path.exists():
        return 0
    size = path.stat().st_size
    if path.suffix.lower() not in (".parquet", ".pq"):
        return PER_BYTE * size * (5 if path.suffix.lower() == ".gz" else 1)
    try:
        from pyarrow import parquet

        found = parquet.read_metadata(path)
    except Exception:  # reading it says what is wrong
        return 0
    return float(PER_CELL * found.num_rows * found.num_columns)


def streamed_rows(options: Namespace) -> Scan:
    """The rows as a scan."""
    if options.files == ["-"]:
        raise UsageError("--stream reads the rows more than once, which standard input does not allow: give a file")
    if options.encoding not in (None, "utf-8"):
        raise UsageError("--stream reads UTF-8 text; convert the files")
    sep = {"\\t": "\t", "tab": "\t"}.get(options.sep, options.sep)
    found = bntk.scan(options.files, sep=sep, missing=("", *options.na), decimal=options.decimal or ".")
    check_names(options.ignore, found.names, f"{options.data} has no column")
    kept = [name for name in found.names if name not in options.ignore]
    if not kept:
        raise DataError(f"{options.data}: --ignore leaves no columns")
    return found.select(kept) if len(kept) < len(found.names) else found


def passes_of(rows: Any) -> dict[str, int]:
    """How often the rows were read, where they were read in passes."""
    return {"passes": rows.passes} if hasattr(rows, "passes") else {}


class StreamedTraining:
    """The features and classes of rows that are read in passes; see :class:`bntk.cli.models.Training`."""

    def __init__(self, options: Namespace) -> None:
        if options.target_bins is not None or options.target_cuts is not None:
            raise UsageError("--target-bins and --target-cuts are for rows in memory; cut the target beforehand")
        self.X = streamed_rows(options)
        self.targets = list(options.target)
        check_names(self.targets, self.X.names, f"{options.data} has no column")
        self.features = [name for name in self.X.names if name not in self.targets]
        if not self.features:
            raise DataError(f"{options.data} has no columns but the target; a classifier needs features")
        self.Y: Any = self.targets if self.several else self.targets[0]

    @property
    def several(self) -> bool:
        """Whether there are several class variables."""
        return len(self.targets) > 1
