"""Cross-validation of one or several estimators on the same splits."""

from __future__ import annotations

import os
from typing import Any

from bntk import _checking
from bntk._progress import progress_bar
from bntk.evaluation.cache import folder_of
from bntk.evaluation.plan import Plan, check_errors, named_estimators
from bntk.evaluation.result import CrossValidation

__all__ = ["CrossValidation", "cross_validate"]


def cross_validate(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    repeats: int = 1,
    scoring: Any = None,
    relearn: str = "all",
    unlabelled: str = "error",
    groups: Any = None,
    errors: str = "raise",
    n_jobs: int | None = None,
    progress: bool = False,
    cache: str | os.PathLike[str] | None = None,
    random_state: int = 0,
) -> CrossValidation:
    """Cross-validate one or several estimators on the same splits.

    In each split every estimator is cloned, fitted to the training rows and measured on the test rows. The result does
    not depend on ``n_jobs``.

    Parameters
    ----------
    estimators : estimator, or mapping of name to estimator
        Classifiers of this package or of scikit-learn, pipelines too; for several class variables, such as
        :class:`bntk.MDBNC`.
    X : data frame, Table, mapping of columns, or array of shape (n_rows, n_features)
        The features, as the estimators take them.
    y : array_like of shape (n_rows,); for several class variables a data frame or array of shape (n_rows, n_targets)
        The labels.
    cv : int, float, "holdout", splitter or iterable
        A number of stratified folds: those of scikit-learn's ``RepeatedStratifiedKFold``, for several class variables
        of :class:`MultilabelStratifiedKFold`. ``"holdout"``: a stratified split into 70 % training and 30 % test
        rows; another share of test rows is given as a number between 0 and 1. Or any splitter of scikit-learn, or
        pairs of training rows and test rows.
    repeats : int
        How many times folds or hold-out are drawn.
    scoring : str, callable, or sequence or mapping of these, optional
        What is measured. Names of :func:`measures`, with underscores or hyphens; ``"all"`` for all of them that apply;
        names of scikit-learn's scorers; or callables ``scorer(estimator, X, y)``. A mapping gives names of your own.
        By default accuracy and log loss; for several class variables global and mean accuracy.
    relearn : {"all", "parameters"}
        What is learned in each split. With ``"parameters"``, the structure of a network is learned once, from all
        rows, and only its parameters are fitted in each split, as in R's bnclassify with ``dag = FALSE``. This is
        quick, but the estimate is optimistic, since test rows have influenced the structure. Cut points
        of numbers count as parameters. The structures of naive Bayes and of averaged one-dependence estimators do not
        depend on the rows. Estimators without a structure are refused.
    unlabelled : {"error", "drop", "train"}
        What happens to rows without a label: an error, which names the first; they are left out; or they are
        training rows of every split, for estimators that learn from them. They are never test rows.
    groups : array_like, optional
        Passed to the splitter.
    errors : {"raise", "record"}
        Whether an estimator that fails in a split is an error, which names both, or is recorded in ``failures``, with
        NaN in ``frame``.
    n_jobs : int, optional
        The number of processes (joblib); None is 1, and -1 is all cores.
    progress : bool
        Whether to show a progress bar.
    cache : path, optional
        A folder in which each finished cell, an estimator in a split, is kept as a JSON file, so that a run that was
        stopped continues where it was. A cell is known by the data, the estimator and its parameters, the split, the
        measures and the version of bntk; if one of these changes, it is computed again.
    random_state : int
        Seed of the splits.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> import bntk
    >>> rows = bntk.datasets.asia().sample(500, seed=1).to_pandas()
    >>> X, y = rows.drop(columns="dysp"), rows["dysp"]
    >>> result = bntk.evaluation.cross_validate({"nb": bntk.NaiveBayes(), "tan": bntk.TAN()}, X, y, cv=5)
    >>> result
    CrossValidation: 2 estimators, 5 folds, 400 training and 100 test rows
         accuracy         log_loss
    nb   0.8580 +- 0.0136 0.4288 +- 0.0151
    tan  0.8600 +- 0.0122 0.4052 +- 0.0122
    >>> result.difference("tan", "nb", "log_loss")
    corrected t: difference -0.0235 +- 0.0282, p = 0.451 (5 pairs)
    >>> result.frame.columns.tolist()
    ['estimator', 'repeat', 'fold', 'accuracy', 'log_loss', 'fit_seconds', 'predict_seconds', 'n_train', 'n_test']
    """
    plan = Plan.make(
        named_estimators(estimators), X, y, cv, repeats, scoring, relearn, unlabelled, groups, random_state
    )
    check_errors(errors)
    n_jobs = _checking.jobs(n_jobs)
    folder = None if cache is None else folder_of(cache)
    with progress_bar(_checking.flag("progress", progress), total=plan.n_cells, unit="fit", leave=False) as bar:
        return plan.run(folder, n_jobs, errors, bar)
