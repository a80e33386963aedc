"""How the members of an ensemble agree: the probability of a class that each gives to each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bntk._checking import class_place, instance
from bntk.viz import style
from bntk.viz.axes import Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bntk.classifiers.ensemble import EnsembleKDB

#: More rows than these cannot be told apart in a picture.
MOST_ROWS = 200
#: The shares of members that the two bands show.
BANDS = ((0.05, 0.95), (0.25, 0.75))


def plot_members(
    classifier: EnsembleKDB,
    X: Any,
    of: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
    figsize: tuple[float, float] | None = None,
    font_size: float | None = None,
) -> Axes:
    """Draw how the members of an ensemble agree about a class.

    Rows are side by side, by rising probability. Of the members' probabilities, the bands show the middle half and the
    middle nine tenths, by weight; the line is the probability that the ensemble gives.

    Parameters
    ----------
    classifier : EnsembleKDB
        Fitted.
    X : data
        Rows; of more than 200, every second, third ... is drawn.
    of : label, optional
        The class; by default the last of ``classes_``.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    title : str, optional
        The title of the picture.
    figsize : (float, float), optional
        Width and height of the new figure in inches; by default what the picture needs.
    font_size : float, optional
        Size of the text in points, 10 by default; a new figure without ``figsize`` grows with it.

    Returns
    -------
    matplotlib Axes
    """
    from sklearn.utils.validation import check_is_fitted

    from bntk.classifiers.ensemble import EnsembleKDB

    place = Place(ax, title, figsize, font_size)
    check_is_fitted(instance("classifier", classifier, EnsembleKDB))
    classes = classifier.classes_.tolist()
    k = len(classes) - 1 if of is None else class_place(of, classes)
    proba, members = classifier.predict_proba(X)[:, k], classifier.member_proba(X)[:, :, k]
    order = np.argsort(proba, kind="stable")
    order = order[:: -(-len(order) // MOST_ROWS)]
    proba, members = proba[order], members[:, order]
    ax = place.axes(6.4, 3.6)
    places = np.arange(len(order))
    for (low, high), alpha in zip(BANDS, (0.25, 0.45), strict=True):
        least, most = (weighted_quantiles(members, classifier.weights_, share) for share in (low, high))
        label = f"middle {high - low:.0%} of the members"
        ax.fill_between(places, least, most, color=style.BAR, alpha=alpha, linewidth=0, step="mid", label=label)
    ax.plot(places, proba, color=style.CYCLE[1], linewidth=1.6, drawstyle="steps-mid", label="the ensemble")
    ax.set_xlim(-0.5, len(order) - 0.5)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("rows, by rising probability")
    ax.set_ylabel(f"P({classifier.target_name_} = {classes[k]})", parse_math=False)
    ax.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return place.finish(ax)


def weighted_quantiles(values: Any, weights: Any, share: float) -> Any:
    """For each column, the least value such that the rows with it or less have this share of the weight.

    >>> weighted_quantiles(np.array([[0.1], [0.5], [0.9]]), np.array([0.2, 0.5, 0.3]), 0.5)
    array([0.5])
    """
    order = np.argsort(values, axis=0, kind="stable")
    below = np.cumsum(weights[order], axis=0)
    place = np.argmax(below >= share * below[-1] - 1e-12, axis=0)
    return np.take_along_axis(values, np.take_along_axis(order, place[None], axis=0), axis=0)[0]
