"""A placeholder in a loaded classifier for a parameter that the file could not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from bntk.errors import DataError
from bntk.learning.priors import Prior


class Unsaved(Prior):
    """A parameter that only fitting needs and that could not be written; ``text`` is what it looked like."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not in the file: {self.text}>"

    def pseudo_count(self, child: Any, q: int) -> NoReturn:
        """Refuse to be a prior."""
        raise DataError(f"the prior was {self.text}, which the file could not hold; more rows cannot be added to it")


def refuse_unsaved(params: Mapping[str, Any]) -> None:
    """Refuse to fit with a parameter that is lost."""
    for name, value in params.items():
        if isinstance(value, Unsaved):
            raise DataError(
                f"{name} was {value.text}, which the file could not hold; give it again before fitting: "
                f"set_params({name}=...)"
            )
