"""Finished cells of an evaluation in a folder: one small JSON file each, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from bntk import _checking
from bntk.io.files import write_text

#: Changes when what is written does.
FORMAT = 1
_KEYS = {"values", "fit_seconds", "predict_seconds", "n_train", "n_test"}


def folder_of(path: str | os.PathLike[str]) -> Path:
    """The folder of a cache, made if it is not there."""
    folder = _checking.path("cache", path).absolute()  # processes may have another working directory
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cache={str(path)!r} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def read_cell(path: Path) -> dict[str, Any] | None:
    """What is kept of a cell; None if nothing, or nothing that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT or not found.keys() >= _KEYS:
            return None
        found["values"] = {name: float(value) for name, value in found["values"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(found)


def write_cell(path: Path, record: dict[str, Any]) -> None:
    """Keep a cell; numbers are written to their last digit, and those that are not finite as texts."""
    values = {name: value if math.isfinite(value) else str(value) for name, value in record["values"].items()}
    write_text(path, json.dumps({"format": FORMAT, **record, "values": values}, allow_nan=False))
