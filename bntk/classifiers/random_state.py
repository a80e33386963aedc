"""The parameter ``random_state`` of classifiers, with scikit-learn's name and values."""

from __future__ import annotations

import numpy as np

from bntk._checking import is_whole, wrong

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """The seed of whatever is drawn: the number itself, 0 for None, or a number drawn from a generator.

    Results are the same in every run unless told otherwise, so None is a fixed seed here.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if not is_whole(random_state) or random_state < 0:
        raise wrong("random_state", "a whole number from 0, None or a generator of numpy", random_state)
    return int(random_state)
