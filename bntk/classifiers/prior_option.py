"""What the parameter ``prior`` of a classifier asks for: a Dirichlet prior, and perhaps tables that lean on others."""

from __future__ import annotations

from bntk.learning.priors import Backoff, Prior, as_prior


def backoff_of(prior: Prior | Backoff | str | float) -> Backoff | None:
    """How tables with features as parents lean on simpler ones; None if they do not."""
    if isinstance(prior, str) and prior == "backoff":
        return Backoff()
    return prior if isinstance(prior, Backoff) else None


def dirichlet_of(prior: Prior | Backoff | str | float) -> Prior:
    """The Dirichlet prior of tables that have no feature as a parent."""
    backoff = backoff_of(prior)
    return as_prior(prior if backoff is None else backoff.alpha)  # type: ignore[arg-type]
