"""A digest of data, estimators and functions: the same for what is the same, in any process, and else another.

Estimators are known by their class and parameters. A class or function of a package with a version is known by its name
and that version; one of the user's own by its compiled code, so that an edited one is another. What such code
calls in turn is not looked at.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from bntk.errors import DataError
from bntk.graph.dag import DAG

_DEEPEST = 60  # of objects within objects; beyond, they contain themselves


def digest(*parts: Any) -> str:
    """A text of 64 hexadecimal digits.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}), digest(1) == digest(1.0)
    (True, False)
    """
    found = hashlib.sha256()
    for part in parts:
        for token in _tokens(part, 0):
            found.update(len(token).to_bytes(8, "little") + token)
    return found.hexdigest()


def data_digest(data: Any) -> str:
    """The digest of rows: names, types and values of columns, for all kinds of data that classifiers take."""
    from bntk.data.columns import columns_of

    if isinstance(data, np.ndarray) and data.dtype != object:
        return digest(data)
    try:
        columns = columns_of(data)
    except (DataError, TypeError, ValueError, AttributeError):  # what only estimators of other packages take
        return digest(data)
    return digest([[name, _column(name, column)] for name, column in columns])


def _column(name: str, column: Any) -> list[Any]:
    """What is to be known about a column: its type, and its numbers or its labels and codes."""
    from bntk.data.coding import CodedColumn
    from bntk.data.columns import code_column

    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return [np.asarray(column)]
    coded = column if isinstance(column, CodedColumn) else code_column(name, column)
    return [str(dtype), list(coded.labels), coded.codes, coded.declared, coded.ordered]


# ---- tokens ----------------------------------------------------------------------------------------------------------


def _tokens(thing: Any, depth: int) -> Iterator[bytes]:
    """The parts of a thing as bytes, the first of which says of what kind it is."""
    if depth > _DEEPEST:
        raise DataError("something that contains itself has no digest; do without cache")
    deeper = depth + 1
    if thing is None or type(thing) in (bool, int, float, complex, str):
        yield f"{type(thing).__name__}:{thing!r}".encode("utf-8", "surrogatepass")
    elif isinstance(thing, (bytes, bytearray)):
        yield b"bytes:" + bytes(thing)
    elif isinstance(thing, (np.ndarray, np.generic)):
        yield from _array(np.asarray(thing), deeper)
    elif isinstance(thing, (list, tuple)) and type(thing).__module__ == "builtins":
        yield f"{type(thing).__name__}:{len(thing)}".encode()
        for item in thing:
            yield from _tokens(item, deeper)
    elif isinstance(thing, (set, frozenset, Mapping)):
        items = thing.items() if isinstance(thing, Mapping) else thing
        yield f"{'mapping' if isinstance(thing, Mapping) else 'set'}:{len(thing)}".encode()
        yield from sorted(digest(item).encode() for item in items)
    elif isinstance(thing, ModuleType):
        yield f"module:{thing.__name__}:{version_of(thing.__name__)}".encode()
    elif isinstance(thing, type):
        yield from _class(thing, deeper)
    elif isinstance(thing, FunctionType):
        yield from _function(thing, deeper)
    elif isinstance(thing, CodeType):
        yield from _code(thing, deeper)
    else:
        yield from _class(type(thing), deeper)
        yield from _tokens(_state(thing), deeper)


def _state(thing: Any) -> Any:
    """What an object consists of: parameters, fields, or what it would be pickled as."""
    if isinstance(thing, DAG):
        return [thing.nodes, thing.parent_indices]
    if hasattr(thing, "get_params"):
        return dict(thing.get_params(deep=False))
    if dataclasses.is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    try:
        reduced = thing.__reduce_ex__(4)
    except TypeError as error:
        raise DataError(
            f"{thing!r} has no digest ({error}), so that results cannot be kept; do without cache"
        ) from None
    if isinstance(reduced, str):
        return reduced
    return [part if part is None or isinstance(part, (tuple, dict)) or callable(part) else list(part)
            for part in reduced]  # fmt: skip


def _array(array: Any, depth: int) -> Iterator[bytes]:
    yield f"array:{array.dtype.str}:{array.shape}".encode()
    if array.dtype == object:
        yield from _tokens(array.ravel().tolist(), depth)
    else:
        yield np.ascontiguousarray(array).tobytes()


def version_of(module: str) -> str | None:
    """The version of the package that a module is in; None for modules of the user and of Python itself."""
    version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", None)
    return version if isinstance(version, str) else None


def _class(cls: type, depth: int) -> Iterator[bytes]:
    version = version_of(cls.__module__)
    yield f"class:{cls.__module__}.{cls.__qualname__}:{version}".encode()
    if version is None and cls.__module__ not in sys.stdlib_module_names:
        for name, value in sorted(vars(cls).items()):
            for function in _functions_of(value):
                yield name.encode()
                yield from _tokens(function, depth)
        for base in cls.__bases__:
            yield from _class(base, depth)


def _functions_of(value: Any) -> list[Callable[..., Any]]:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        return [f for f in (value.fget, value.fset) if isinstance(f, FunctionType)]
    return [value] if isinstance(value, FunctionType) else []


def _function(function: FunctionType, depth: int) -> Iterator[bytes]:
    version = version_of(function.__module__ or "")
    yield f"function:{function.__module__}.{function.__qualname__}:{version}".encode()
    if version is None or "<" in function.__qualname__:  # one of the user's own, or made where it is used
        yield from _code(function.__code__, depth)
        cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_own_class(cell)]
        yield from _tokens([function.__defaults__, function.__kwdefaults__, cells], depth)


def _is_own_class(cell: Any) -> bool:
    """Whether a cell is that of ``__class__``, for super(), which would lead back to the function; or is empty."""
    try:
        return isinstance(cell.cell_contents, type)
    except ValueError:
        return True


def _code(code: CodeType, depth: int) -> Iterator[bytes]:
    yield b"code:" + code.co_code
    yield repr(code.co_names).encode()
    yield from _tokens(list(code.co_consts), depth)
