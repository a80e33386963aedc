"""The outputs of the command: tables or JSON to standard output, notes to standard error, files in one step."""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from bntk._warnings import causes_of
from bntk.cli.options import in_options
from bntk.errors import BntkWarning, DataError, MissingValuesWarning, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

#: Suffixes of files of rows that can be written; ``.gz`` may follow those of text.
ROW_SUFFIXES = (".csv", ".tsv", ".parquet")
PICTURES = (".png", ".svg", ".pdf")


def one_line(text: str) -> str:
    """The text with every run of blanks and line ends as one blank."""
    return " ".join(text.split())


# ---- notes and progress on standard error ------------------------------------------------------------------------


def note(text: str) -> None:
    """Write a note to standard error, as warnings of the library are written."""
    warnings.warn(text, BntkWarning, stacklevel=2)


@contextlib.contextmanager
def showing_notes(options: Namespace, about: str = "") -> Iterator[None]:
    """Show every warning once for each cause, as one line in words of the command; none when quiet.

    ``about`` is the file that they are about, where there are several.
    """
    told: set[Any] = set()

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        causes = {(category, cause) for cause in causes_of(message)}
        is_missing = issubclass(category, MissingValuesWarning)
        text = _about_missing_values(options) if is_missing else in_options(one_line(str(message)), vars(options))
        if text and not causes <= told and text not in told:
            print(f"bntk: note: {about}{': ' if about else ''}{text}", file=sys.stderr)
        told.update(causes, [text])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if options.quiet else "always")
        for meant_for_programmers in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", meant_for_programmers)
        warnings.showwarning = show
        yield


_FAVOUR = "some values are missing, and scores favour parents that have some"


def _about_missing_values(options: Namespace) -> str:
    """What the library says of scores and missing values, in words of options; nothing to who has chosen one."""
    if options.missing is not None:
        return ""
    if options.command == "bootstrap":
        return f"{_FAVOUR}; --missing drop (complete rows only) avoids that, --missing available takes it"
    ways = "--missing state (missing is one more state) avoids that"
    if not options.target:
        ways = "--missing em (slower) or --missing drop (complete rows only) avoids that, --missing available takes it"
    return f"{_FAVOUR}; {ways}"


def shows_progress(options: Namespace) -> bool:
    """Whether somebody is there to look at a progress bar."""
    return not options.quiet and sys.stderr.isatty()


# ---- results on standard output ----------------------------------------------------------------------------------


def emit(options: Namespace, document: dict[str, Any], text: Callable[[], str]) -> None:
    """Print a result: the document as JSON with ``--json``, else the text."""
    write_out((json_text(document) if options.json else text()) + "\n")


#: How errors name it.
STANDARD_OUTPUT = "standard output"


def write_out(text: str = "") -> None:
    """Write to standard output, up to the last character; an error names it."""
    from bntk.io.files import naming

    with naming(STANDARD_OUTPUT):
        sys.stdout.write(text)
        sys.stdout.flush()


def json_text(document: Any) -> str:
    """JSON with numbers to the last digit; NaN and infinities, which it cannot write, become null."""
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, bool, int)) else str(value)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows in columns; those of numbers to the right."""
    texts = [[cell(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in texts)]) for i, name in enumerate(header)]
    right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, texts)])


def facts(pairs: Sequence[tuple[str, Any]]) -> str:
    """Names and values, one per line; those without a value are left out."""
    shown = [(name, cell(value)) for name, value in pairs if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in shown)


def cell(value: Any) -> str:
    """A value for people: four digits behind the point, thousands with commas."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}"
    return str(value)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def shortened(items: Sequence[Any], most: int = 8) -> str:
    """A list of things, cut off when it is long."""
    more = len(items) - most
    return ", ".join(str(item) for item in items[:most]) + (f", ... ({more:,} more)" if more > 0 else "")


# ---- files -------------------------------------------------------------------------------------------------------


def check_can_be_written(path: str | None, suffixes: Sequence[str] = (), *, packed: bool = False) -> None:
    """Refuse a path that cannot be written before any work is done; ``packed`` allows ``.gz``."""
    if path is None or path == "-":
        return
    target = Path(path)
    if not target.parent.is_dir():
        raise DataError(f"{path}: there is no folder {str(target.parent)!r}; make it first")
    if target.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file")
    suffix = suffix_of(path) if packed else target.suffix.lower()
    if suffixes and suffix not in suffixes:
        raise DataError(
            f"{path}: cannot write the suffix {suffix!r}; the choices are {', '.join(suffixes)}"
            + did_you_mean(suffix, suffixes)
        )


def suffix_of(path: str) -> str:
    """The suffix, or the one before ``.gz``."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]


def write_rows(frame: pd.DataFrame, path: str | None) -> None:
    """Rows to a file, whole or not at all, or as CSV to standard output."""
    if path is None or path == "-":
        write_out(frame.to_csv(index=False, lineterminator="\n"))
        return
    if suffix_of(path) == ".parquet":
        packed = io.BytesIO()
        frame.to_parquet(packed)
        write_file(path, packed.getvalue())
        return
    separator = "\t" if suffix_of(path) == ".tsv" else ","
    write_file(path, frame.to_csv(index=False, sep=separator, lineterminator="\n").encode())


def write_file(path: str, content: bytes) -> None:
    """A file in one step; what was there before is replaced."""
    from bntk.io.files import write_bytes

    write_bytes(path, content)
