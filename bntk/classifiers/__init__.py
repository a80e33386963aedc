"""Bayesian network classifiers: scikit-learn estimators, each a space, a score and a search of the core.

The classes in the modules of this package, of ``composed`` and of ``multidim`` that declare a ``name`` are its
classifiers; nothing else lists them.
"""

from typing import TYPE_CHECKING, Any

from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS
from bntk.classifiers import explain as explain
from bntk.classifiers.base import BayesClassifier, NetworkClassifier

globals().update(CLASSIFIERS.load() | MULTI_CLASSIFIERS.load())

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Whatever is declared."""


__all__ = [*CLASSIFIERS.classes, *MULTI_CLASSIFIERS.classes, "BayesClassifier", "NetworkClassifier"]
