"""A fitted classifier as one file of JSON, from which it predicts again to the last bit.

A file holds the parameters of the classifier and what it has learned: what its class names in ``_state``. What can be
worked out from that is not written; ``_restore`` works it out again, and refuses parts that do not fit together. Which
classes a file may name is fixed in :mod:`.kinds`. Nothing is unpickled, imported or evaluated because a file says so.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from bntk import _checking
from bntk.classifiers.base import RowReader
from bntk.classifiers.saving.reading import Reader
from bntk.classifiers.saving.writing import Writer, numbers_of
from bntk.errors import DataError, ParseError
from bntk.io.files import write_text
from bntk.io.json_text import json_text, read_json, shown
from bntk.io.sizes import dumped

FORMAT, VERSION = "bntk classifier", 2


def dump(classifier: RowReader) -> str:
    """A fitted classifier as JSON text."""
    check_is_fitted(classifier)
    writer = Writer()
    writer.classifier(classifier)
    variables, classifiers = map(json_text, writer.variables), map(_lines, writer.classifiers)
    head = f'"format": {json_text(FORMAT)}, "version": {VERSION}'
    lists = (
        f'"{key}": [\n' + ",\n".join(texts) + "\n]"
        for key, texts in (("variables", variables), ("classifiers", classifiers))
    )
    return "{" + ",\n".join([head, *lists]) + "}\n"


def _lines(entry: dict[str, Any]) -> str:
    """The text of a classifier, one line for its parameters and one for each part of what it has learned."""
    learned = [f"  {json_text(name)}: {json_text(value)}" for name, value in entry.get("fitted", {}).items()]
    fitted = ', "fitted": {\n' + ",\n".join(learned) + "\n}" if learned else ""
    return f'{{"class": {json_text(entry["class"])}, "params": {json_text(entry["params"])}{fitted}}}'


def parse(text: str, source: str = "") -> RowReader:
    """Read a classifier from JSON text."""
    return read_classifier(read_json(text, source), source)


def read_classifier(document: dict[str, Any], source: str = "") -> RowReader:
    """Read a classifier from what the JSON text holds."""
    if document.get("format") != FORMAT:
        raise ParseError(f'expected "format": "{FORMAT}", found {shown(document.get("format"))}', source=source)
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ParseError(
            f"version {shown(version)} of the format is not known; this is version {VERSION}", source=source
        )
    return Reader(source).read(document.get("variables"), document.get("classifiers"))


def save(classifier: RowReader, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a fitted classifier to a file, ``.json`` or ``.json.gz``; see :meth:`RowReader.save`."""
    _checking.flag("force", force)
    name = os.fspath(path)
    if not name.lower().endswith((".json", ".json.gz")):
        raise DataError(f"{name}: a classifier is written as .json or .json.gz; give the file one of these endings")
    check_is_fitted(classifier)
    write_text(path, dumped(path, partial(numbers_of, classifier), partial(dump, classifier), force))
