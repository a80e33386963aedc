"""JSON text: read into plain values with one ParseError for anything else, and written so that UTF-8 can hold it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from bntk.errors import ParseError


def read_json(text: str, source: str) -> dict[str, Any]:
    """The object that a text holds."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ParseError(f"not JSON: {error.msg}", source=source, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:  # a number with thousands of digits; brackets in brackets in ...
        raise ParseError(f"not JSON that can be read: {error}", source=source, line=1, column=1) from None
    if not isinstance(data, dict):
        raise ParseError(f"the file must be an object {{...}}, not {shown(data)}", source=source, line=1, column=1)
    return data


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def json_text(value: Any) -> str:
    """A plain value as JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half of a surrogate pair is no UTF-8; JSON can write it by its number.
    return text if text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text) else json.dumps(value)


def shown(value: Any) -> str:
    """A value in a message."""
    text = repr(value) if not isinstance(value, (list, dict)) else "a list" if isinstance(value, list) else "an object"
    return text if len(text) <= 60 else text[:57] + "..."
