"""Does a value have the type that an annotation names? What an annotation leaves open, any value has."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

_NUMBERS: dict[Any, tuple[type, ...]] = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
}


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value has a type.

    Examples
    --------
    >>> conforms((1, 2), tuple[int, ...]), conforms([1, "x"], list[int]), conforms(True, int)
    (True, False, False)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in arguments)
    if origin is Literal:
        return any(type(value) is type(option) and value == option for option in arguments)
    if hint is None or hint is type(None):
        return value is None
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and (hint is bool or not isinstance(value, (bool, np.bool_)))
    if origin is None:
        checkable = isinstance(hint, type) and (not getattr(hint, "_is_protocol", False) or _is_runtime(hint))
        return isinstance(value, hint) if checkable else True
    return _conforms_inside(value, origin, arguments)


def _is_runtime(protocol: Any) -> bool:
    return bool(getattr(protocol, "_is_runtime_protocol", False))


def _conforms_inside(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    """For a container with types for what it holds."""
    if origin is np.ndarray:
        (scalar,) = get_args(arguments[1]) or (Any,)
        return isinstance(value, np.ndarray) and (scalar is Any or np.issubdtype(value.dtype, scalar))
    if not isinstance(origin, type):
        return True
    if not isinstance(value, origin) or isinstance(value, str):
        return False
    inside: Any = value
    if origin is tuple and arguments[-1:] != (...,):
        return len(inside) == len(arguments) and all(map(conforms, inside, arguments))
    if issubclass(origin, Mapping):
        key, item = arguments
        return all(conforms(k, key) and conforms(v, item) for k, v in inside.items())
    if issubclass(origin, (Sequence, frozenset)):
        return all(conforms(item, arguments[0]) for item in inside)
    return True


def is_plain(hint: Any) -> bool:
    """Whether only text, numbers, truth values and None have the type, which every file can hold."""
    if get_origin(hint) in (Union, types.UnionType):
        return all(map(is_plain, get_args(hint)))
    return hint in (*_NUMBERS, str, None, type(None)) or get_origin(hint) is Literal
