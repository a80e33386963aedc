"""The terms of a score for one family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bntk import _checking
from bntk.data.numbers import Reading
from bntk.errors import ArgumentError
from bntk.learning.counts import as_counter
from bntk.learning.scores.base import by_name
from bntk.learning.scores.decomposable import DecomposableScore


@dataclass(frozen=True)
class ScoreTerms:
    """The terms of a score for one family; ``total = fit - penalty``.

    Attributes
    ----------
    score : DecomposableScore
    child : str
    parents : tuple of str
    fit : float
        Log-likelihood, or log marginal likelihood.
    penalty : float
        What is subtracted for the size of the family; zero for marginal likelihoods.
    total : float
    n_parameters : int
        Free parameters, (r - 1) q.
    configurations, configurations_seen : int
        Parent configurations that exist, and those with rows.
    rows, rows_used : float
        Rows (or their weight), and those that are complete in the family.
    """

    score: DecomposableScore
    child: str
    parents: tuple[str, ...]
    fit: float
    penalty: float
    total: float
    n_parameters: int
    configurations: int
    configurations_seen: int
    rows: float
    rows_used: float

    def __repr__(self) -> str:
        given = f" given {', '.join(self.parents)}" if self.parents else ""
        lines = [
            f"{self.score!r} of {self.child}{given}",
            f"  fit             {self.fit:16.6f}",
            f"  penalty         {-self.penalty:16.6f}",
            f"  total           {self.total:16.6f}",
            f"  parameters      {self.n_parameters:16,}",
            f"  configurations  {self.configurations_seen:16,} of {self.configurations:,} seen",
            f"  rows used       {self.rows_used:16,.15g} of {self.rows:,.15g}",
        ]
        return "\n".join(lines)


def explain(
    score: DecomposableScore | str, data: Any, child: str, parents: str | Iterable[str] = (), *, intervened: Any = None
) -> ScoreTerms:
    """The terms of a score for one family.

    Parameters
    ----------
    score : DecomposableScore or str
    data : Table, data frame, mapping of columns, or Counter
        Columns of numbers in a data frame are read as :func:`bntk.learn` reads them; a Table is taken as it is.
    child : str
    parents : str or iterable of str
        One parent, or several.
    intervened : optional
        Which variables were set by an experiment in which rows; see :func:`bntk.fit`.

    Examples
    --------
    >>> explain("bic", {"rain": [0, 0, 1, 1], "wet": [0, 1, 1, 1]}, "wet", ["rain"])
    BIC(missing='available') of wet given rain
      fit                    -1.386294
      penalty                -1.386294
      total                  -2.772589
      parameters                     2
      configurations                 2 of 2 seen
      rows used                      4 of 4
    """
    rule = by_name(score)
    if not isinstance(rule, DecomposableScore):
        raise ArgumentError(f"only scores that are sums over families can be explained by family, not {rule!r}")
    chosen = tuple(_checking.names("parents", parents, "names of variables"))
    for name in (child, *chosen):
        _checking.text("child and each of parents", name, "the name of a variable")
    counter = as_counter(data, intervened=intervened, only=[*chosen, child], reading=Reading())
    (table,) = counter.compact([(*chosen, child)])
    n = counter.total_weight
    fit, penalty = rule.terms(table.counts, float(table.q), n)
    return ScoreTerms(
        rule, child, chosen, fit, penalty, fit - penalty,
        n_parameters=(table.counts.shape[1] - 1) * table.q,
        configurations=table.q,
        configurations_seen=int((table.counts.sum(axis=1) > 0).sum()),
        rows=float(n),
        rows_used=float(table.counts.sum()),
    )  # fmt: skip
