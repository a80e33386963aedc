"""Naive Bayes: the features are independent of each other given the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from bntk._threads import n_threads, pieces_for, run_parallel, spans
from bntk.classifiers import sparse
from bntk.classifiers.base import NetworkClassifier
from bntk.classifiers.features import Features, Rows
from bntk.data.table import Table
from bntk.data.variable import Variable
from bntk.errors import DataError
from bntk.graph.dag import DAG
from bntk.learning.counts import TableCounter
from bntk.learning.parameters import fit
from bntk.learning.priors import Prior
from bntk.learning.search import SearchResult
from bntk.learning.space import Space
from bntk.learning.space import named as spaces
from bntk.network import BayesianNetwork

Floats = NDArray[np.float64]

#: Rows whose scores are in the cache together.
ROWS_AT_ONCE = 4096


@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayes(NetworkClassifier):
    """Naive Bayes: the class is the only parent of every feature (Minsky 1961).

    With ``numeric="gaussian"`` it is Gaussian naive Bayes, with ``"kde"`` the flexible naive Bayes of John and Langley
    (1995), with ``"bernoulli"`` and ``"multinomial"`` the two event models for words in documents; a mapping chooses
    one for each column. With ``"bernoulli"`` and ``"multinomial"`` for all columns, X may be a sparse matrix of scipy.
    A missing value is ignored, which is the same as summing it out.

    Notes
    -----
    ``prior`` smooths the class probabilities as well. So ``NaiveBayes(numeric="gaussian", prior="mle")`` gives the
    probabilities of scikit-learn's ``GaussianNB``; its ``MultinomialNB`` and ``BernoulliNB`` smooth the features alone,
    which is ``prior=alpha`` with the relative frequencies of the classes as ``class_prior``. The bandwidth of ``"kde"``
    is explained in ``bntk.classifiers.kde``.

    Examples
    --------
    >>> import bntk, pandas as pd
    >>> X = pd.DataFrame({"outlook": ["sunny", "sunny", "rain", "rain"], "wind": ["no", "yes", "no", "yes"]})
    >>> nb = bntk.NaiveBayes().fit(X, ["play", "stay", "stay", "stay"])
    >>> nb.predict(X)
    array(['play', 'stay', 'stay', 'stay'], dtype='<U4')
    >>> nb.predict_proba(X.iloc[:1]).round(3)
    array([[0.632, 0.368]])

    Numbers and states together:

    >>> X["degrees"] = [29.0, 24.0, 16.0, 18.0]
    >>> bntk.NaiveBayes(numeric="gaussian").fit(X, ["play", "play", "stay", "stay"]).predict(X)
    array(['play', 'play', 'stay', 'stay'], dtype='<U4')

    Missing labels, and none at all:

    >>> bntk.NaiveBayes(numeric="gaussian").fit(X, ["play", None, "stay", None]).predict(X)
    array(['play', 'play', 'stay', 'stay'], dtype=object)
    >>> len(set(bntk.NaiveBayes(numeric="gaussian", n_classes=2).fit(X, None).predict(X)))
    2
    """

    name = "nb"
    _in_passes: ClassVar[bool | str] = True
    #: Whether it takes sparse rows, of counts or of what is present.
    _for_sparse: ClassVar[bool] = True
    prior: Prior | str | float = 0.5

    def _space(self, features: tuple[str, ...], target: str) -> Space:
        return spaces.naive_bayes(features, target)

    def _find_structure(self, counter: TableCounter) -> SearchResult:
        dag = DAG._trusted(counter.names, _naive_parents(counter.variables))  # the only structure in the space
        return SearchResult(dag, float("nan"), "given structure")

    def _learn(self, counter: TableCounter) -> None:
        self.search_ = self._find_structure(counter)
        # A missing cell of a leaf says nothing about its table: the available rows give what EM would.
        self._hold(fit(self.search_.dag, counter, self._prior, missing="available"))

    # ---------------------------------------------------------------- sparse rows

    @property
    def _takes_sparse(self) -> bool:
        return self._for_sparse and isinstance(self.numeric, str) and self.numeric in sparse.WAYS

    def _checked_sparse(self, X: Any, reset: bool) -> Any:
        if not self._takes_sparse:
            return super()._checked_sparse(X, reset)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, reset=reset)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X

    def _learn_features(self, X: Any, codes: NDArray[Any], weights: Floats | None) -> tuple[Features, Rows]:
        if not issparse(X):
            return super()._learn_features(X, codes, weights)
        features = sparse.sparse_features(X, str(self.numeric))
        return features, sparse.sparse_rows(X, features)

    def _rows(self, X: Any) -> Rows:
        return sparse.sparse_rows(X, self.features_) if issparse(X) else super()._rows(X)

    def _learn_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        if not issparse(rows.numbers):
            return super()._learn_rows(rows, codes, weights)
        if codes.max(initial=0) >= len(self.classes_):
            raise DataError(
                "X is sparse, and some rows have no label: EM needs all cells; give X.toarray(), or leave out"
            )
        if self.features_.continuous:
            return super()._learn_rows(rows, codes, weights)
        self._learn(self._presences(rows, codes, weights))  # type: ignore[arg-type]
        self.densities_ = ()
        return None

    def _add_rows(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> None:
        if issparse(rows.numbers) and not self.features_.continuous:
            self._add(self._presences(rows, codes, weights))  # type: ignore[arg-type]
        else:
            super()._add_rows(rows, codes, weights)

    def _presences(self, rows: Rows, codes: NDArray[np.int64], weights: Floats | None) -> sparse.PresenceCounter:
        return sparse.PresenceCounter(rows.numbers, codes, (*self.features_.variables, self._class_variable), weights)

    def _row_scores(self, rows: Rows) -> Floats:
        if issparse(rows.numbers) and not self.features_.continuous:
            return self._log_tables().scores_of_present(rows.numbers)
        return self._row_scores_with(rows, 0.0)

    def _row_scores_with(self, rows: Rows, more: Floats | float) -> Floats:
        """The log joint of rows that are not sparse, with further terms of each row and class."""
        added = self._log_densities(rows) + more
        if rows.places is None:
            return np.asarray(self._log_scores(rows.table) + added)
        return self._between_intervals(rows, added)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        # As scikit-learn has it for its own classifiers of counts: numbers around 0, which its checks give, are none.
        tags.input_tags.positive_only = isinstance(self.numeric, str) and self.numeric == "multinomial"
        tags.classifier_tags.poor_score = self._takes_sparse
        return tags

    def _restore(self) -> None:
        super()._restore()
        if self.network_.dag.parent_indices != _naive_parents(self.network_.variables):
            raise DataError("the network is not naive: the class must be the only parent of every feature")

    def _log_tables(self) -> LogTables:
        """The terms that features add to the log scores."""
        return log_tables(self.network_)

    def _log_scores(self, table: Table) -> Floats:
        return self._log_tables().scores(table.codes)


def _naive_parents(variables: Sequence[Variable]) -> tuple[tuple[int, ...], ...]:
    """The class, which is last, is the parent of all features but those with a single state."""
    target = len(variables) - 1
    return (*((target,) if v.n_states > 1 else () for v in variables[:-1]), ())


class LogTables(NamedTuple):
    """log P(class), and log P(feature | class) of all features in the form that the kernels read."""

    log_prior: Floats
    tables: Floats
    starts: NDArray[np.int64]

    def scores(self, codes: NDArray[Any]) -> Floats:
        """log P(class) plus the terms of all features in each row, shape (n_rows, n_classes)."""
        from bntk.classifiers.naive_kernels import add_log_terms

        out = np.repeat(self.log_prior[:, None], codes.shape[1], axis=1)
        pieces = spans(codes.shape[1], -(-codes.shape[1] // ROWS_AT_ONCE))
        run_parallel(lambda span: add_log_terms(codes, self.tables, self.starts, *span, out), pieces)
        return out.T

    def scores_of_present(self, present: Any) -> Floats:
        """The same for features with two states, from a sparse matrix with a one where a feature has the second."""
        absent, there, _ = np.moveaxis(self.tables.reshape(present.shape[1], len(self.log_prior), 3), -1, 0)
        never = np.isneginf(absent), np.isneginf(there)
        finite = [np.where(wrong, 0.0, table) for wrong, table in zip(never, (absent, there), strict=True)]
        scores = self.log_prior + finite[0].sum(axis=0) + present @ (finite[1] - finite[0])
        if any(wrong.any() for wrong in never):
            lacking, impossible = (wrong.astype(np.float64) for wrong in never)
            scores[lacking.sum(axis=0) + present @ (impossible - lacking) > 0] = -np.inf
        return np.asarray(scores)

    def sums(self, codes: NDArray[Any], factors: Floats) -> Floats:
        """For each feature the sum over rows and classes of its terms times ``factors``, shape (n_rows, n_classes)."""
        from bntk.classifiers.naive_kernels import sum_log_terms

        out, by_class = np.zeros(len(codes)), np.ascontiguousarray(factors.T)
        pieces = spans(len(out), pieces_for(factors.size * len(out), n_threads()))
        run_parallel(lambda span: sum_log_terms(codes, self.tables, self.starts, by_class, *span, out), pieces)
        return out

    def weighted(self, weights: Floats) -> LogTables:
        """The terms of each feature times its weight."""
        return self._replace(tables=self.tables * np.repeat(weights, np.diff(self.starts)))


def log_tables(network: BayesianNetwork) -> LogTables:
    """The log tables of a naive Bayes network, whose class comes last; made once for each network."""
    if "naive" not in network._cache:
        *features, target = network.cpts
        nothing = np.zeros((target.child.n_states, 1))  # what a missing cell adds
        with np.errstate(divide="ignore"):
            shapes = [(len(nothing), cpt.child.n_states) for cpt in features]  # a constant feature has no parent
            tables = [np.broadcast_to(cpt.values, shape) for cpt, shape in zip(features, shapes, strict=True)]
            logs = [np.hstack([np.log(table), nothing]).ravel() for table in tables]
            log_prior = np.log(target.values)
        starts = np.cumsum([0, *(len(table) for table in logs)], dtype=np.int64)
        network._cache["naive"] = LogTables(log_prior, np.concatenate([*logs, []]), starts)
    found: LogTables = network._cache["naive"]
    return found
