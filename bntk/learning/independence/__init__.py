"""Tests of conditional independence on rows: one by :func:`bntk.independence`, many by searches."""

from bntk.learning.independence.single import Independence, independence
from bntk.learning.independence.tests import FORMS, IndependenceTest, IndependenceTester, as_test

__all__ = ["FORMS", "Independence", "IndependenceTest", "IndependenceTester", "as_test", "independence"]
