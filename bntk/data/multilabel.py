"""Multi-label data files: Mulan's (ARFF, and XML that names the labels) and MEKA's (``-C`` in the header)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from bntk import _checking
from bntk._memory import says_what_to_do
from bntk.data.arff import ArffData, read_arff
from bntk.data.text_files import read_bytes
from bntk.errors import DataError, ParseError

if TYPE_CHECKING:
    import pandas as pd

_COUNT = re.compile(r"-C\s+(-?[0-9]{1,9})(?![0-9.])")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
#: Weka writes the filters that changed the columns behind the relation's name.
_COLUMNS_CHANGED = re.compile(r"weka\.filters\.\w+\.attribute\.")
_MOST_NUMBERS = 1 << 31  # distinct numbers of a column: any


@says_what_to_do("read it on a machine with more memory, or take fewer rows")
def read_multilabel(
    arff: str | os.PathLike[str],
    xml: str | os.PathLike[str] | None = None,
    n_labels: int | None = None,
    max_unpacked: float | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the features and the labels of a Mulan or MEKA file.

    Parameters
    ----------
    arff : path
        Dense or sparse ARFF, gzipped or not.
    xml : path, optional
        Mulan's file that names the labels, in their order. Of nested labels all are taken, parents first.
    n_labels : int, optional
        For a file without XML: the first ``n_labels`` attributes are the labels, or the last ones where it is
        negative. By default the number after MEKA's ``-C`` in the relation name.
    max_unpacked : float, optional
        How many bytes a gzipped or sparse file may become before it is refused; see :func:`bntk.read_table`.

    Returns
    -------
    X : pandas.DataFrame
        Numeric attributes as floats, all others as categories with the declared states.
    Y : pandas.DataFrame
        One column per label: whole numbers where all its states are (floats with NaN where some are missing),
        otherwise categories.

    Examples
    --------
    >>> import bntk, pathlib, tempfile
    >>> text = "@relation 'films: -C 2'\\n@attribute drama {0,1}\\n@attribute war {0,1}\\n@attribute minutes numeric\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "films.arff")
    ...     _ = path.write_text(text + "@data\\n1,0,95\\n1,1,123\\n")
    ...     X, Y = bntk.read_multilabel(path)
    >>> X
       minutes
    0     95.0
    1    123.0
    >>> Y
       drama  war
    0      1    0
    1      1    1
    """
    import pandas as pd

    if xml is not None and n_labels is not None:
        raise ValueError("give xml= or n_labels=, not both: each determines which attributes are labels")
    path = _checking.path("arff", arff)
    n_labels = _checking.optional_whole_number("n_labels", n_labels)
    data = read_arff(path, most=_MOST_NUMBERS, max_unpacked=max_unpacked)
    names = [attribute.name for attribute in data.attributes]
    labels = _counted(data, n_labels, path) if xml is None else _named(names, _checking.path("xml", xml), path)
    chosen = set(labels)
    features = [i for i in range(len(names)) if i not in chosen]
    if not features:
        raise DataError(f"{path}: all {len(names)} attributes are labels, so that there are no features")
    X = pd.DataFrame({names[i]: _feature(data, i) for i in features})
    return X, pd.DataFrame({names[i]: _label(data, i, path) for i in labels})


# -------------------------------------------------------------------- which attributes are labels


def _named(names: Sequence[str], xml: Path, arff: Path) -> list[int]:
    """The positions of the labels that an XML file names."""
    at = {name: i for i, name in enumerate(names)}
    labels = _label_names(xml)
    lacking = [label for label in labels if label not in at]
    if lacking:
        raise DataError(f"{xml}: the label {lacking[0]!r} is no attribute of {arff}")
    return [at[label] for label in labels]


def _label_names(path: Path) -> list[str]:
    """The names of the ``<label name="...">`` elements; a document type, where entities come from, is refused."""
    source, names = str(path), dict[str, None]()
    parser = expat.ParserCreate(namespace_separator=" ")

    def fail(message: str) -> ParseError:
        return ParseError(message, source=source, line=parser.CurrentLineNumber)

    def refuse(*_: Any) -> None:
        raise fail("a document type is not allowed in a list of labels; remove <!DOCTYPE ...>")

    def start(element: str, attributes: dict[str, str]) -> None:
        if element.rpartition(" ")[2] != "label":
            return
        name = attributes.get("name")
        if not name:
            raise fail("a <label> without a name")
        if name in names:
            raise fail(f"the label {name!r} is named twice")
        names[name] = None

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    try:
        parser.Parse(read_bytes(path, way_out="unpack it yourself").tobytes(), True)
    except expat.ExpatError as error:
        raise ParseError(f"not XML: {expat.ErrorString(error.code)}", source=source, line=error.lineno) from error
    if not names:
        raise ParseError("there is no <label name=...> in it", source=source)
    return list(names)


def _counted(data: ArffData, n_labels: int | None, path: Path) -> list[int]:
    """The first attributes, or the last ones where the number is negative."""
    n = len(data.attributes)
    if n_labels is None:
        count = _COUNT.search(data.relation)
        if count is None:
            raise DataError(f"{path}: which attributes are labels? its relation has no '-C n'; give xml= or n_labels=")
        if _COLUMNS_CHANGED.search(data.relation, count.end()):
            raise DataError(
                f"{path}: its attributes were changed by a filter after '{count[0]}' was written, so that this may not "
                "hold any more; give xml= or n_labels="
            )
        n_labels = int(count[1])
    if not 1 <= abs(n_labels) < n:
        raise DataError(f"{path}: n_labels is {n_labels}, of {n} attributes; it must be 1 to {n - 1}")
    return list(range(n_labels)) if n_labels > 0 else list(range(n + n_labels, n))


# -------------------------------------------------------------------- columns


def _feature(data: ArffData, position: int) -> Any:
    return data.numbers(position) if data.attributes[position].kind == "numeric" else _categories(data, position)


def _label(data: ArffData, position: int, path: Path) -> Any:
    """The column of a label: whole numbers where all its states are."""
    column = data.columns[position]
    *states, _ = column.labels
    if not all(state.is_integer() if isinstance(state, float) else _WHOLE.fullmatch(str(state)) for state in states):
        if data.attributes[position].kind == "numeric":
            raise DataError(f"{path}: the label {column.name!r} holds numbers that are not whole, so it is no label")
        return _categories(data, position)
    if (column.codes == len(states)).any():
        return np.array([*map(float, states), np.nan])[column.codes]  # type: ignore[arg-type]
    return np.array([*map(int, states)], dtype=np.int64)[column.codes]  # type: ignore[arg-type]


def _categories(data: ArffData, position: int) -> pd.Categorical:
    import pandas as pd

    column = data.columns[position]
    *states, _ = column.labels
    codes = column.codes.astype(np.int64)
    codes[codes == len(states)] = -1
    return pd.Categorical.from_codes(codes, categories=pd.Index(states))
