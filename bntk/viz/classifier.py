"""The picture of a classifier: that of its network, with the class in colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bntk.errors import DataError
from bntk.viz.network import plot_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_classifier(classifier: Any, given: Mapping[str, Any] | None, **options: Any) -> Axes:
    """Draw the network of a fitted classifier; see :meth:`bntk.NaiveBayes.plot`."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(classifier)
    network = getattr(classifier, "network_", None)
    if network is None:
        raise DataError(f"{type(classifier).__name__} is not a single network; {_way_out(classifier)}")
    return plot_network(network, given, **{"target": class_names(classifier), **options})


def _way_out(classifier: Any) -> str:
    """What can be drawn of a classifier without a network of its own."""
    if hasattr(classifier, "plot_members"):
        return "member(i).plot() draws the network of a member, plot_members(X) how far the members agree"
    for name in ("estimators_[0]", "estimator_"):
        if hasattr(classifier, name.partition("[")[0]):
            return f"{name}.plot() draws that of a part"
    if hasattr(classifier, "explain_rows"):
        return "bntk.viz.plot_importances draws how much each feature tells, explain_rows(X).plot() why in which rows"
    return "of those of several classes, MDBNC is one"


def class_names(classifier: Any) -> list[str]:
    """The names of the class variables, one or several."""
    several = getattr(classifier, "_class_variables", None)
    if several is None:
        one = getattr(classifier, "_class_variable", None)
        several = () if one is None else (one,)
    return [variable.name for variable in several]
