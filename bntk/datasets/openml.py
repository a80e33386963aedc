"""Data sets of the UCI repository, fetched from OpenML through scikit-learn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from bntk._checking import path
from bntk.errors import DataError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


class OpenMLSet(NamedTuple):
    """A data set of OpenML: its number there, and the shape that it must have."""

    data_id: int
    rows: int
    features: int
    classes: int


#: By the name at OpenML. The class is the default target there.
SETS = {
    "adult": OpenMLSet(1590, 48842, 14, 2),
    "anneal": OpenMLSet(2, 898, 38, 5),
    "audiology": OpenMLSet(7, 226, 69, 24),
    "autos": OpenMLSet(9, 205, 25, 6),
    "balance-scale": OpenMLSet(11, 625, 4, 3),
    "breast-cancer": OpenMLSet(13, 286, 9, 2),
    "breast-w": OpenMLSet(15, 699, 9, 2),
    "car": OpenMLSet(21, 1728, 6, 4),
    "cmc": OpenMLSet(23, 1473, 9, 3),
    "connect-4": OpenMLSet(40668, 67557, 42, 3),
    "credit-approval": OpenMLSet(29, 690, 15, 2),
    "credit-g": OpenMLSet(31, 1000, 20, 2),
    "dermatology": OpenMLSet(35, 366, 34, 6),
    "diabetes": OpenMLSet(37, 768, 8, 2),
    "glass": OpenMLSet(41, 214, 9, 6),
    "heart-c": OpenMLSet(49, 303, 13, 2),
    "heart-h": OpenMLSet(51, 294, 13, 2),
    "heart-statlog": OpenMLSet(53, 270, 13, 2),
    "hepatitis": OpenMLSet(55, 155, 19, 2),
    "hypothyroid": OpenMLSet(57, 3772, 29, 4),
    "ionosphere": OpenMLSet(59, 351, 34, 2),
    "iris": OpenMLSet(61, 150, 4, 3),
    "kr-vs-kp": OpenMLSet(3, 3196, 36, 2),
    "labor": OpenMLSet(4, 57, 16, 2),
    "letter": OpenMLSet(6, 20000, 16, 26),
    "lymph": OpenMLSet(10, 148, 18, 4),
    "mushroom": OpenMLSet(24, 8124, 22, 2),
    "nursery": OpenMLSet(26, 12960, 8, 5),
    "optdigits": OpenMLSet(28, 5620, 64, 10),
    "page-blocks": OpenMLSet(30, 5473, 10, 5),
    "pendigits": OpenMLSet(32, 10992, 16, 10),
    "postoperative-patient-data": OpenMLSet(34, 90, 8, 3),
    "primary-tumor": OpenMLSet(171, 339, 17, 21),
    "satimage": OpenMLSet(182, 6430, 36, 6),
    "segment": OpenMLSet(36, 2310, 19, 7),
    "sick": OpenMLSet(38, 3772, 29, 2),
    "sonar": OpenMLSet(40, 208, 60, 2),
    "soybean": OpenMLSet(42, 683, 35, 19),
    "spambase": OpenMLSet(44, 4601, 57, 2),
    "splice": OpenMLSet(46, 3190, 60, 3),
    "tae": OpenMLSet(48, 151, 5, 3),
    "tic-tac-toe": OpenMLSet(50, 958, 9, 2),
    "vehicle": OpenMLSet(54, 846, 18, 4),
    "vote": OpenMLSet(56, 435, 16, 2),
    "vowel": OpenMLSet(307, 990, 12, 11),
    "waveform-5000": OpenMLSet(60, 5000, 40, 3),
    "wdbc": OpenMLSet(1510, 569, 30, 2),
    "wine": OpenMLSet(187, 178, 13, 3),
    "zoo": OpenMLSet(62, 101, 16, 7),
}


def fetch(name: str, *, data_home: str | os.PathLike[str] | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """A data set of the UCI repository, fetched from OpenML and kept on disk.

    Parameters
    ----------
    name : str
        One of ``bntk.datasets.fetchable()``.
    data_home : path, optional
        Where the files are kept; by default where scikit-learn keeps its own, ``~/scikit_learn_data``. What is there
        is read without a connection.

    Returns
    -------
    X : pandas.DataFrame
        Nominal features as categories, with the states that the file declares; numeric ones as numbers.
    y : pandas.Series
        The class, as categories that occur.

    Examples
    --------
    >>> X, y = bntk.datasets.fetch("vote")  # doctest: +SKIP
    >>> bntk.TAN().fit(X, y)                # doctest: +SKIP
    """
    from sklearn.datasets import fetch_openml

    wanted = SETS.get(name) if isinstance(name, str) else None
    if wanted is None:
        raise UnknownNameError(
            f"there is no data set {name!r} to fetch{did_you_mean(name, fetchable())}"
            f"; there are {', '.join(fetchable())}"
        )
    try:
        X, y = fetch_openml(
            data_id=wanted.data_id, return_X_y=True, as_frame=True, parser="liac-arff", data_home=_folder(data_home)
        )
    except OSError as error:  # of which the errors of urllib are a kind
        raise DataError(
            f"{name!r} could not be fetched from openml.org ({error}); it needs a connection the first time. Fetch it "
            "where there is one with the same data_home and copy that folder, or read a file of your own with "
            "bntk.read_table"
        ) from error
    y = y.astype("category").cat.remove_unused_categories()
    found = (*X.shape, len(y.cat.categories))
    if found != wanted[1:]:
        raise DataError(
            f"data set {wanted.data_id} of OpenML is not the {name!r} expected: it has {found[0]} rows, {found[1]} "
            f"features and {found[2]} classes instead of {wanted.rows}, {wanted.features} and {wanted.classes}; "
            "use sklearn.datasets.fetch_openml to take it as it is"
        )
    return X, y


def fetchable() -> tuple[str, ...]:
    """The names that :func:`fetch` knows.

    Examples
    --------
    >>> "mushroom" in fetchable()
    True
    """
    return tuple(sorted(SETS))


def _folder(data_home: str | os.PathLike[str] | None) -> str | None:
    return None if data_home is None else str(path("data_home", data_home))
