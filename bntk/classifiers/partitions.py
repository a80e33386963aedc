"""Predictions for Dask data frames: lazy, a partition at a time, with the index of the rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from bntk.data.dask_frames import by_partition, is_dask_frame

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


def also_lazily(method: Callable[Concatenate[C, Any, P], R]) -> Callable[Concatenate[C, Any, P], R]:
    """For methods that predict: of a Dask data frame they give a Dask Series or DataFrame, which computes nothing yet.

    A result of one column has the name of the class; one of several has the classes as names of its columns.
    """

    @functools.wraps(method)
    def predicting(self: C, X: Any, *arguments: P.args, **named: P.kwargs) -> R:
        if not is_dask_frame(X):
            return method(self, X, *arguments, **named)
        check_is_fitted(self)
        validate_data(self, X._meta, skip_check_array=True, reset=False)
        meta = _labelled(self, X._meta, None)
        if method.__name__ != "predict":
            meta = _labelled(self, X._meta, np.empty((0, len(self.classes_))))  # type: ignore[attr-defined]
        call = functools.partial(_predict, method.__name__, arguments, named)
        return by_partition(call, self, X, meta)

    return predicting


def _predict(name: str, arguments: tuple[Any, ...], named: dict[str, Any], classifier: Any, partition: Any) -> Any:
    return _labelled(classifier, partition, getattr(classifier, name)(partition, *arguments, **named))


def _labelled(classifier: Any, partition: Any, predicted: Any) -> Any:
    """Predictions with the index of the rows; ``None`` stands for the labels of no rows."""
    import pandas as pd

    index, classes = partition.index, classifier.classes_
    if predicted is None or predicted.ndim == 1:
        labels = classes[:0] if predicted is None else predicted
        return pd.Series(labels, index=index, name=classifier.target_name_, dtype=pd.Series(classes).dtype)
    return pd.DataFrame(predicted, index=index, columns=pd.Index(classes, name=classifier.target_name_))
