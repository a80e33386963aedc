"""Classifiers whose structure can be found by steps that are judged by how well they predict: wrappers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bntk._checking import Check
from bntk.classifiers.base import NetworkClassifier
from bntk.classifiers.parameters import PARAMETERS, optional
from bntk.learning.scores import Score
from bntk.learning.search import Search


@dataclass(kw_only=True, eq=False, repr=False)
class StepwiseClassifier(NetworkClassifier):
    """A classifier with searches of its own, and the score that suits each of them.

    Parameters
    ----------
    criterion : str or Score, optional
        The score that the structure maximises. By default :class:`~bntk.scores.Accuracy` in ten stratified folds for
        searches that go by steps, with the classifier's ``prior`` where that is a number, and its ``random_state``.
    search : str or Search
        A search by name or as an object.
    epsilon : float
        For searches that go by steps: a step must improve the score by at least this much.
    """

    criterion: str | Score | None = None
    search: str | Search = "auto"
    epsilon: float = 0.01

    _checks: ClassVar[Mapping[str, Check]] = {"criterion": optional(PARAMETERS["criterion"])}
