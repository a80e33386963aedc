"""The base of all searches, and their results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from bntk import _checking
from bntk.graph.dag import DAG
from bntk.graph.equivalence import PDAG
from bntk.learning.scores.base import Evaluator

if TYPE_CHECKING:
    import pandas as pd

    from bntk.learning.space import Space

#: What an interrupted search gives.
BEST_STRUCTURE = "the best structure so far"


#: Checks of options that several searches have: how long, from how many starts, with how many parents.
STEPS = partial(_checking.optional_whole_number, least=0, most=_checking.MOST)
COUNT = partial(_checking.whole_number, least=0, most=_checking.MOST)
POSITIVE = partial(_checking.whole_number, least=1, most=_checking.MOST)
OPTIONS: dict[str, _checking.Check] = {
    "max_iter": STEPS,
    "max_parents": STEPS,
    "time_budget": partial(_checking.optional_number, least=0),
    "restarts": COUNT,
    "perturb": COUNT,
    "tolerance": partial(_checking.number, least=0),
    "epsilon": partial(_checking.number, least=0),
    "tabu": COUNT,
    "max_tabu": COUNT,
    "both_directions": _checking.flag,
}


def check_options(search: object, **checks: _checking.Check) -> None:
    """Check the options of a search: those of :data:`OPTIONS` that it has, and its own."""
    _checking.fields(search, {name: OPTIONS[name] for name in vars(search) if name in OPTIONS} | checks)


@dataclass(frozen=True)
class Step:
    """One accepted step of a search: what was done, and the score and the seconds elapsed after it."""

    what: str
    score: float
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """The structure that a search found, and how.

    Attributes
    ----------
    dag : DAG
        The structure.
    score : float
        Its score.
    search : str
        The search with its options.
    exact : bool
        True when no legal structure scores higher.
    interrupted : bool
        True when the search was stopped from outside, by time or by hand, before it ended by itself.
    gap : float or None
        Of exact searches: how much higher than ``score`` the best legal structure can score, at the most; 0 when the
        search has ended. None where nothing is known.
    n_evaluated : int
        Number of families (or structures) that were evaluated.
    seconds : float
        Running time.
    trace : tuple of Step
        The accepted steps, in order.
    pdag : PDAG or None
        Of searches by tests and over equivalence classes: what was found, with edges where the direction is open.
    separating_sets : dict of (str, str) to tuple of str
        Of searches by tests: for pairs of variables without an arc, in the order of the columns, the variables given
        which they were found independent.
    """

    dag: DAG
    score: float
    search: str
    exact: bool = False
    interrupted: bool = False
    n_evaluated: int = 0
    seconds: float = 0.0
    trace: tuple[Step, ...] = field(default=(), repr=False)
    pdag: PDAG | None = field(default=None, repr=False)
    separating_sets: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)
    gap: float | None = None

    def trace_frame(self) -> pd.DataFrame:
        """The trace as a data frame with the columns ``what``, ``score`` and ``seconds``."""
        import pandas as pd

        columns: dict[str, list[Any]] = {
            name: [getattr(s, name) for s in self.trace] for name in ("what", "score", "seconds")
        }
        return pd.DataFrame(columns)

    def plot(self, **options: Any) -> Any:
        """Draw the score after each step; the options are those of :func:`bntk.viz.plot_search`.

        Returns matplotlib Axes.
        """
        from bntk.viz.curves import plot_search

        return plot_search(self, **options)


class Search(ABC):
    """The base of all searches. The options are fields of a search; it holds no state of a run."""

    #: How users name it; a search without a name is given as an object.
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    #: Whether the score decides what is found; of a search by tests, it only says what that is worth.
    uses_score: ClassVar[bool] = True

    @abstractmethod
    def run(
        self, evaluator: Evaluator, space: Space, *, start: DAG | None = None, seed: int = 0, progress: bool = False
    ) -> SearchResult:
        """Search; the same seed gives the same result.

        Ctrl-C ends the search, which returns the best structure so far, with a warning; but not in a loop over searches
        or fits, nor the second time, where it raises ``KeyboardInterrupt``.

        Parameters
        ----------
        evaluator : Evaluator
            Over the same nodes as the space, in the same order.
        space : Space
        start : DAG, optional
            Where to begin; by default the smallest legal structure.
        seed : int
        progress : bool
            Show a progress bar.
        """
