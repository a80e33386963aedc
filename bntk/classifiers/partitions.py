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
        meta = _labelled(method.__name__, self, X._meta, _of_no_rows(method.__name__, self))
        call = functools.partial(_predict, method.__name__, arguments, named)
        return by_partition(call, self, X, meta)

    return predicting


def _predict(name: str, arguments: tuple[Any, ...], named: dict[str, Any], classifier: Any, partition: Any) -> Any:
    return _labelled(name, classifier, partition, getattr(classifier, name)(partition, *arguments, **named))


def _of_no_rows(name: str, classifier: Any) -> Any:
    """What a method gives for no rows: labels, a number for each row, or one for each class."""
    classes = classifier.classes_
    if name == "predict":
        return classes[:0]
    return np.empty(0 if name == "decision_function" and len(classes) == 2 else (0, len(classes)))


def _labelled(name: str, classifier: Any, partition: Any, predicted: Any) -> Any:
    """Predictions with the index of the rows."""
    import pandas as pd

    index, classes = partition.index, classifier.classes_
    if predicted.ndim == 1:
        dtype = pd.Series(classes).dtype if name == "predict" else predicted.dtype
        return pd.Series(predicted, index=index, name=classifier.target_name_, dtype=dtype)
    return pd.DataFrame(predicted, index=index, columns=pd.Index(classes, name=classifier.target_name_))
