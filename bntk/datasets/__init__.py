"""Example networks from the literature, generators of networks and rows, and well known data sets."""

from __future__ import annotations

from bntk.datasets.artificial import geometric_shares, make_blanket, make_imbalanced, make_ordinal
from bntk.datasets.drawn import Drawn
from bntk.datasets.missing import with_missing
from bntk.datasets.multilabel import make_multilabel
from bntk.datasets.networks import (
    asia,
    burglary,
    cancer,
    coma,
    dog,
    earthquake,
    fire,
    monty_hall,
    slippery,
    sprinkler,
    student,
    survey,
)
from bntk.datasets.openml import fetch, fetchable
from bntk.datasets.rules import balance_scale, car, car_model, monks, nursery, nursery_model, tic_tac_toe
from bntk.datasets.structures import random_dag, random_network
from bntk.errors import UnknownNameError, did_you_mean
from bntk.network import BayesianNetwork

_NETWORKS = {
    "asia": asia,
    "burglary": burglary,
    "cancer": cancer,
    "car": car_model,
    "coma": coma,
    "dog": dog,
    "earthquake": earthquake,
    "fire": fire,
    "monty_hall": monty_hall,
    "nursery": nursery_model,
    "slippery": slippery,
    "sprinkler": sprinkler,
    "student": student,
    "survey": survey,
}


def names() -> tuple[str, ...]:
    """The names of the networks that come with bntk.

    Examples
    --------
    >>> names()[:4]
    ('asia', 'burglary', 'cancer', 'car')
    """
    return tuple(_NETWORKS)


def network(name: str) -> BayesianNetwork:
    """The network of that name, one of :func:`names`.

    Parameters
    ----------
    name : str
        The name.

    Examples
    --------
    >>> network("earthquake").names
    ('burglary', 'earthquake', 'alarm', 'john_calls', 'mary_calls')
    """
    if not isinstance(name, str) or name not in _NETWORKS:
        raise UnknownNameError(
            f"there is no network {name!r} in bntk{did_you_mean(name, names())}; there are {', '.join(names())}"
        )
    return _NETWORKS[name]()


__all__ = [
    "Drawn",
    "asia",
    "balance_scale",
    "burglary",
    "cancer",
    "car",
    "car_model",
    "coma",
    "dog",
    "earthquake",
    "fetch",
    "fetchable",
    "fire",
    "geometric_shares",
    "make_blanket",
    "make_imbalanced",
    "make_multilabel",
    "make_ordinal",
    "monks",
    "monty_hall",
    "names",
    "network",
    "nursery",
    "nursery_model",
    "random_dag",
    "random_network",
    "slippery",
    "sprinkler",
    "student",
    "survey",
    "tic_tac_toe",
    "with_missing",
]
