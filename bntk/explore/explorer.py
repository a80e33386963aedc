"""Making pages of networks and classifiers: what is asked for is checked, and what is too large refused, first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bntk import _checking
from bntk._warnings import warn
from bntk.data.numbers import listed
from bntk.errors import ColumnWarning, DataError, NetworkError, TooLargeError
from bntk.explore.case import Case, case_of
from bntk.explore.html import html_of
from bntk.explore.limits import MAX_ENTRIES, SUFFIXES
from bntk.explore.model import model_of
from bntk.explore.view import ExplorerView
from bntk.inference.evidence import read_findings
from bntk.inference.exact.program import compile_network
from bntk.network import BayesianNetwork, a_network


class Page(NamedTuple):
    """What a page shows."""

    network: BayesianNetwork
    target: int | None
    case: Case
    title: str | None

    def html(self, case: Case | None = None) -> str:
        """The text of the file, with the findings to begin with."""
        title = self.title or f"Bayesian network of {len(self.network.names)} variables"
        return html_of(model_of(self.network, self.target, self.case if case is None else case, self.title), title)


def explore(
    network: BayesianNetwork,
    path: str | os.PathLike[str] | None = None,
    *,
    target: str | None = None,
    given: Mapping[str, Any] | None = None,
    soft: Mapping[str, Any] | None = None,
    title: str | None = None,
    max_entries: int | None = None,
) -> ExplorerView | Path:
    """The explorer of a network, see :meth:`bntk.BayesianNetwork.explore`.

    Parameters
    ----------
    network : BayesianNetwork
    path : str or path, optional
    target : str, optional
    given, soft : mapping, optional
    title : str, optional
    max_entries : int, optional

    Returns
    -------
    ExplorerView, or the path that was written

    Examples
    --------
    >>> import bntk
    >>> bntk.explore.explore(bntk.datasets.asia(), given={"xray": "yes"})
    Explorer of 8 variables, given xray='yes'
    """
    target_number = None if target is None else a_network(network).dag.index(_checking.text("target", target))
    case = case_of(a_network(network), read_findings(network, given, soft))
    if title is not None:
        _checking.text("title", title)
    file = None if path is None else _checked_path(path)
    _refuse_too_large(network, max_entries)
    page = Page(network, target_number, case, title)
    if file is None:
        return ExplorerView(page)
    from bntk.io.files import write_text

    write_text(file, page.html())
    return file


def explore_classifier(classifier: Any, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> Any:
    """The explorer of a classifier that is one network; see :meth:`bntk.NaiveBayes.explore`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier)
    network, target = network_of(classifier)
    if options.get("target") is None:
        options = {**options, "target": target}
    return explore(network, path, **options)


def network_of(classifier: Any) -> tuple[BayesianNetwork, str]:
    """The network of a classifier whose predictions are its posteriors, but for interpolation, and its class."""
    kind, network = type(classifier).__name__, getattr(classifier, "network_", None)
    if network is None:
        raise DataError(
            f"{kind} is not a single network, and cannot be explored; those that have a network_ can: NaiveBayes, "
            "TAN, FAN, KDB, BAN, STAN, BayesNetClassifier, MDBNC and their relatives"
        )
    why = other_than_network(classifier)
    if why:
        raise DataError(
            f"the predictions of this {kind} are not those of its network: {why}. network_.explore() explores the "
            "network by itself"
        )
    _tell_of_intervals(kind, classifier)
    several = getattr(classifier, "_class_variables", None)
    return network, classifier._class_variable.name if several is None else several[0].name


def other_than_network(classifier: Any) -> str | None:
    """Why predictions are not posteriors of the network; None if they are."""
    features: Any = getattr(classifier, "features_", None)
    if "members_" in vars(classifier):
        return "they are the mean of several models; numeric='mdl' makes one"
    if getattr(features, "continuous", None):
        return f"{', '.join(list(features.continuous)[:5])} have densities; numeric='mdl' cuts them into intervals"
    if not getattr(classifier, "_is_additive", True):
        return "it is weighted"
    return None


def _tell_of_intervals(kind: str, classifier: Any) -> None:
    """A page knows intervals of numbers, between which a classifier may interpolate."""
    interpolated = [*getattr(getattr(classifier, "features_", None), "centres", ())]
    if interpolated:
        warn(
            lambda names: (
                f"this {kind} interpolates between the intervals of {listed([*map(repr, names)])}; the page takes a "
                "number as its interval, so that its posteriors are those of predict_proba at the centres of intervals "
                "only (numeric='mdl' or 'frequency' does not interpolate)"
            ),
            ColumnWarning,
            interpolated,
        )


def _checked_path(path: str | os.PathLike[str]) -> Path:
    found = _checking.path("path", path)
    if found.suffix.lower() not in SUFFIXES:
        raise DataError(f"{found}: the explorer writes .html, not {found.suffix!r}; give a path such as 'network.html'")
    return found


def _refuse_too_large(network: BayesianNetwork, max_entries: int | None) -> None:
    if not network.names:
        raise NetworkError("the network has no variables: there is nothing to explore")
    limit = MAX_ENTRIES if max_entries is None else _checking.limit("max_entries", max_entries)
    plan = compile_network(network).plan
    if plan.total_entries > limit:
        names = ", ".join(plan.largest_clique[:6]) + (", ..." if len(plan.largest_clique) > 6 else "")
        raise TooLargeError(
            f"too large for a page: the cliques have {plan.total_entries:,} entries together, and a page may run "
            f"through {limit:,}; the largest has {plan.largest_entries:,} ({names}). Ways out: explore a part of the "
            "network, or raise the limit (max_entries), which makes the page slow; bn.query and bn.marginals answer "
            "in Python"
        )
