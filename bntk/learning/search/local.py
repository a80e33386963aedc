"""Searches by tests around one variable: from data of any kind to what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bntk import _checking
from bntk.data.numbers import Reading
from bntk.errors import UnknownNameError, did_you_mean
from bntk.learning.counts import Counter, as_counter
from bntk.learning.independence.tests import IndependenceTester, as_test
from bntk.learning.search.by_tests import Asking, SearchByTests
from bntk.learning.space import named as spaces

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = ("variables", "weights", "numeric", "n_bins", "identifiers")


def asking_about(search: SearchByTests, data: Any, target: str, options: Mapping[str, Any]) -> tuple[Asking, int]:
    """What a search asks of some data, and the position of a variable in it."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(
                f"there is no option {name!r}{did_you_mean(name, _OPTIONS)}; there are {', '.join(_OPTIONS)}"
            )
    rest = {"identifiers": "drop", **options}
    reading = Reading(**{name: rest.pop(name) for name in ("numeric", "n_bins", "identifiers") if name in rest})
    counter = data if isinstance(data, Counter) else as_counter(data, require_rows=True, reading=reading, **rest)
    target = _checking.text("target", target, "the name of a variable")
    if target not in counter.names:
        hint = did_you_mean(target, counter.names) or '; identifiers="keep" keeps columns that identify rows'
        raise UnknownNameError(f"there is no variable {target!r}{hint}; there are {', '.join(counter.names[:20])}")
    space = spaces.dag(counter.names)
    asking = Asking(IndependenceTester(counter, as_test(search.test)), space, search.alpha, search.max_given, False)
    return asking, counter.names.index(target)
