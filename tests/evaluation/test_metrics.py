"""Measures for several class variables: equal to scikit-learn's where it has them, and to their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as reference

from bntk.errors import DataError
from bntk.evaluation.metrics import f1, global_accuracy, jaccard, mean_accuracy


def pairs_of(states):
    shapes = st.tuples(st.integers(1, 12), st.integers(2, 4))
    return shapes.flatmap(lambda s: st.tuples(*(arrays(np.int64, s, elements=st.integers(0, states - 1)),) * 2))


@given(pairs_of(2))
def test_labels_that_are_there_or_not_are_measured_as_by_scikit_learn(pair):
    true, predicted = pair
    assert mean_accuracy(true, predicted) == pytest.approx(1 - reference.hamming_loss(true, predicted))
    assert global_accuracy(true, predicted) == pytest.approx(reference.accuracy_score(true, predicted))
    for average in ("micro", "macro"):
        theirs = reference.f1_score(true, predicted, average=average, zero_division=0)
        assert f1(true, predicted, average=average) == pytest.approx(theirs)
    for empty in (0.0, 1.0):
        theirs = reference.jaccard_score(true, predicted, average="samples", zero_division=empty)
        assert jaccard(true, predicted, empty=empty) == pytest.approx(theirs)


@given(pairs_of(4))
def test_every_state_counts_for_itself(pair):
    true, predicted = pair
    one_by_one = [
        reference.f1_score(t, p, average=None, labels=np.union1d(t, p))
        for t, p in zip(true.T, predicted.T, strict=True)
    ]
    assert f1(true, predicted, absent=None) == pytest.approx(np.concatenate(one_by_one).mean())
    assert f1(true, predicted, average="micro", absent=None) == pytest.approx((true == predicted).mean())
    m = true.shape[1]
    same = (true == predicted).sum(axis=1)
    assert jaccard(true, predicted, absent=None) == pytest.approx(np.mean(same / (2 * m - same)))


@given(pairs_of(3))
def test_names_of_labels_do_not_matter(pair):
    true, predicted = pair
    names = np.array(["no", "yes", "perhaps"])
    for measure in (mean_accuracy, global_accuracy):
        assert measure(names[true], names[predicted]) == measure(true, predicted)
    for measure in (jaccard, f1):
        assert measure(names[true], names[predicted], absent="no") == pytest.approx(measure(true, predicted))


def test_frames_and_arrays_measure_the_same():
    true, predicted = np.array([[0, 1], [1, 1], [1, 0]]), np.array([[0, 1], [0, 1], [1, 1]])
    as_frames = [pd.DataFrame(Y, columns=["a", "b"]) for Y in (true, predicted)]
    for measure in (mean_accuracy, global_accuracy, jaccard, f1):
        assert measure(*as_frames) == measure(true, predicted) == measure(as_frames[0], predicted)
    assert mean_accuracy(true.astype(bool), predicted) == mean_accuracy(true, predicted)


def test_what_cannot_be_measured_is_refused():
    Y = np.array([[0, 1], [1, 1]])
    with pytest.raises(DataError, match="2 rows and 2 class variables, but Y_pred has 1 and 2"):
        mean_accuracy(Y, Y[:1])
    with pytest.raises(DataError, match=r"\['a', 'b'\], but Y_pred has \['b', 'a'\]"):
        f1(pd.DataFrame(Y, columns=["a", "b"]), pd.DataFrame(Y, columns=["b", "a"]))
    with pytest.raises(ValueError, match="label of 'y0' in row 1 is missing"):
        jaccard([[0, 1], [None, 1]], Y)
    with pytest.raises(ValueError, match="average must be"):
        f1(Y, Y, average="weighted")
