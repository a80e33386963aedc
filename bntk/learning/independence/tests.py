"""Tests of conditional independence by name, and how many of them are made at one reading of the rows.

Notation: N_xyz rows have x, y and the given variables z in these states; sums over an index are written with a dot.

References
----------
A. Agresti (2013). Categorical Data Analysis, 3rd edition. Wiley.

J. Hausser and K. Strimmer (2009). Entropy inference and the James-Stein estimator, with application to nonlinear gene
association networks. Journal of Machine Learning Research 10, 1469-1484.

B. Phipson and G. K. Smyth (2010). Permutation p-values should never be zero: calculating exact p-values when
permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology 9(1), 39.

J. Besag and P. Clifford (1991). Sequential Monte Carlo p-values. Biometrika 78, 301-304.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bntk import _checking
from bntk._kernels import Allowance
from bntk._threads import run_parallel, spans
from bntk.cpt import MAX_TABLE_ENTRIES
from bntk.errors import ArgumentError, DataError, did_you_mean
from bntk.learning.counts import Counter
from bntk.learning.independence import kernels, plane_kernels
from bntk.learning.independence.separating import Pairs, Separating, upper_tail

#: A question: positions of x and y, x the smaller, and those of the given variables, ascending.
Question = tuple[int, int, tuple[int, ...]]
#: What users may give instead of a test: x, y and the given variables by name, to a p-value.
Oracle = Callable[[str, str, tuple[str, ...]], float]
Floats = NDArray[np.float64]

# Tables are counted in batches of about so many entries (32 MB).
_BATCH_ENTRIES = 1 << 22
# Dense tables up to this size are always cheaper than finding the configurations that were seen.
_ALWAYS_DENSE = 1 << 12
# Tests that are made without planes before their kernel is compiled.
_planes_allowance = Allowance(plane_kernels.separate_pairs.kernel)
# Statistics that kernels compute from bit planes.
_BY_PLANES = (kernels.G2, kernels.X2)
# Tests from which a second thread pays.
_WORTH_A_THREAD = 64


class _Form(NamedTuple):
    """What a name stands for: the statistic, and where its p-value comes from."""

    statistic: int
    adjusted: bool = False
    permuted: bool = False
    sequential: bool = False
    words: str = ""


FORMS: dict[str, _Form] = {
    "mi": _Form(kernels.G2, words="likelihood ratio (G2)"),
    "mi-adf": _Form(kernels.G2, adjusted=True, words="likelihood ratio (G2), adjusted degrees of freedom"),
    "x2": _Form(kernels.X2, words="Pearson's X2"),
    "x2-adf": _Form(kernels.X2, adjusted=True, words="Pearson's X2, adjusted degrees of freedom"),
    "mi-sh": _Form(kernels.SHRUNK, words="likelihood ratio (G2) of shrunk probabilities"),
    "mc-mi": _Form(kernels.G2, permuted=True, words="likelihood ratio (G2), permutations"),
    "smc-mi": _Form(kernels.G2, permuted=True, sequential=True, words="likelihood ratio (G2), sequential permutations"),
    "mc-x2": _Form(kernels.X2, permuted=True, words="Pearson's X2, permutations"),
    "bdeu": _Form(kernels.BAYES, words="log Bayes factor of BDeu"),
}


@dataclass(frozen=True, kw_only=True)
class IndependenceTest:
    """A test of conditional independence with its options.

    Parameters
    ----------
    name : str
        As R's bnlearn has them: ``"mi"`` (the likelihood ratio G2), ``"x2"`` (Pearson's), both also with ``-adf``
        (degrees of freedom adjusted for margins that are zero), ``"mi-sh"`` (G2 of probabilities shrunk towards the
        uniform distribution); by permutations ``"mc-mi"``, ``"mc-x2"`` and ``"smc-mi"`` (which stops when the p-value
        is surely above ``alpha``); and ``"bdeu"`` (Bayes factor).
    n_permutations : int
        The permutations that are drawn for each test; the smallest p-value is 1 / (n_permutations + 1).
    alpha : float
        Up to which p-value ``"smc-mi"`` goes on.
    ess : float
        The equivalent sample size of ``"bdeu"``.
    seed : int
        Of the permutations. Each test has its own stream, so that its p-value depends neither on other tests nor on the
        order of the columns.
    fewest_rows : float
        Rows for each cell of the table that ``"mi-adf"`` and ``"x2-adf"`` need: with fewer, the statistic is 0 and the
        p-value 1, as in bnlearn. With 0 every table is tested, as by pgmpy and causal-learn.

    Examples
    --------
    >>> IndependenceTest(name="mc-mi", n_permutations=999)
    IndependenceTest(name='mc-mi', n_permutations=999, alpha=0.05, ess=1.0, seed=0, fewest_rows=5.0)
    """

    name: str = "mi"
    n_permutations: int = 5000
    alpha: float = 0.05
    ess: float = 1.0
    seed: int = 0
    fewest_rows: float = 5.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in FORMS:
            raise ArgumentError(
                f"test={_checking.shown(self.name)} is not known{did_you_mean(self.name, FORMS)}; the choices are "
                f"{', '.join(FORMS)}, or a function of x, y and the given names that returns a p-value"
            )
        _checking.whole_number("n_permutations", self.n_permutations, least=1, most=10**9)
        _checking.number("alpha", self.alpha, 0, 1)
        _checking.number("ess", self.ess, 0, above=True)
        _checking.whole_number("seed", self.seed, least=0)
        _checking.number("fewest_rows", self.fewest_rows, 0)

    @property
    def form(self) -> _Form:
        """What the name stands for."""
        return FORMS[self.name]


def as_test(test: Any) -> IndependenceTest | Oracle:
    """A test by name, with its options, or a function that answers in its place."""
    if isinstance(test, IndependenceTest) or (callable(test) and not isinstance(test, type)):
        return test
    return IndependenceTest(name=test)


class Answer(NamedTuple):
    """The result of a test; NaN where it has no statistic or degrees of freedom."""

    statistic: float
    df: float
    p_value: float

    def is_stronger_than(self, other: Answer) -> bool:
        """Whether this p-value is smaller; of equal ones, whether the logarithm of a chi-squared p-value is."""
        if self.p_value != other.p_value or self.p_value == 1:
            return self.p_value < other.p_value
        return log_tail(self.statistic, self.df) < log_tail(other.statistic, other.df)


class Answers(NamedTuple):
    """The results of a batch of tests.

    Those by permutations have the degrees of freedom that statistics are compared by; their p-values do not.
    """

    statistic: Floats
    df: Floats
    p_value: Floats

    def single(self) -> Iterator[Answer]:
        """One after the other."""
        return map(Answer, self.statistic.tolist(), self.df.tolist(), self.p_value.tolist())


def log_tail(statistic: float, df: float) -> float:
    """About the logarithm of a p-value that is too small for a float.

    For large s the tail of a chi-squared distribution with d degrees of freedom is about
    exp(-s / 2) (s / 2)^(d / 2 - 1) / Gamma(d / 2).
    """
    half = 1e-300 if math.isnan(statistic) else max(statistic, 1e-300) / 2
    shape = df / 2 if df > 0 else 1.0
    return -half + (shape - 1) * math.log(half) - math.lgamma(shape)


class IndependenceTester:
    """Tests of independence on the rows of a counter, in batches, each made once.

    Parameters
    ----------
    counter : Counter
    test : str, IndependenceTest or callable

    Attributes
    ----------
    n_tests : int
        Tests made so far.

    Examples
    --------
    >>> import bntk
    >>> from bntk.learning.counts import as_counter
    >>> rows = bntk.datasets.asia().sample(1000, seed=0)
    >>> tester = IndependenceTester(as_counter(rows), "mi")
    >>> answers = tester.ask([(1, 3, ()), (0, 1, (3,))])
    >>> answers.df
    array([1., 2.])
    """

    def __init__(self, counter: Counter, test: Any = "mi") -> None:
        self.counter, self.test = counter, as_test(test)
        if counter.directed and isinstance(self.test, IndependenceTest):
            raise DataError(
                "tests of independence do not know of variables that were set by an experiment (intervened=): use a "
                "score that is a sum over families with hc, tabu, order or exact, or leave out intervened"
            )
        self.cards = counter.cards
        self.n_tests = 0
        self._known: dict[Question, Iterable[float]] = {}
        self._limit = max(4 * counter.n_rows, _ALWAYS_DENSE)
        if isinstance(self.test, IndependenceTest) and self.test.form.permuted and counter.weighted:
            raise DataError(f"{self.test.name} permutes rows, which cannot have weights; take 'mi' or 'x2'")

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The answers to a batch of questions, those that are new from as few readings of the rows as memory allows."""
        if isinstance(self.test, IndependenceTest) and self.test.form.permuted:
            questions = [self._by_name(question) for question in questions]
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        if new:
            self.n_tests += len(new)
            if isinstance(self.test, IndependenceTest):
                self._count(new)
            else:
                self._consult(new)
        known = chain.from_iterable(map(self._known.__getitem__, questions))
        return Answers(*np.fromiter(known, np.float64, 3 * len(questions)).reshape(-1, 3).T)

    def p_values(self, questions: Sequence[Question]) -> Floats:
        """The p-values alone."""
        return self.ask(questions).p_value

    def _by_name(self, question: Question) -> Question:
        """A question with its variables in the order of their names, which draws do not depend on columns in."""
        (x, y, given), name = question, self.counter.names.__getitem__
        first, second = sorted((x, y), key=name)
        return first, second, tuple(sorted(given, key=name))

    def _consult(self, questions: Sequence[Question]) -> None:
        """Ask the function that stands in for a test."""
        names = self.counter.names
        for x, y, given in questions:
            p = self.test(names[x], names[y], tuple(names[v] for v in given))  # type: ignore[operator]
            if isinstance(p, (bool, np.bool_)):  # "is independent"
                p = float(p)
            if not _checking.is_number(p) or not 0 <= p <= 1:
                raise ArgumentError(
                    f"test must return a p-value from 0 to 1, or True for independent; for {names[x]!r} and "
                    f"{names[y]!r} it returned {_checking.shown(p)}"
                )
            self._known[x, y, given] = (math.nan, math.nan, float(p))

    def _count(self, questions: list[Question]) -> None:
        """Count, and compute what is not a matter of permutations."""
        questions = self._by_planes(questions)
        marginal = [question for question in questions if not question[2]]
        if 4 * len(marginal) > len(self.cards) * (len(self.cards) - 1) and sum(self.cards) ** 2 < 2 * _BATCH_ENTRIES:
            self.counter.pairs()  # which are counted faster all at once, and remembered
        dense: list[Question] = []
        sparse: list[Question] = []
        for question in questions:
            (dense if self._size(question) <= self._limit else sparse).append(question)
        for batch in self._batches(dense):
            flat, plan = self.counter.flat_tables((), [(*given, x, y) for x, y, given in batch])
            self._finish(batch, flat, plan.offsets[:-1], [math.prod(shape[:-2]) for shape in plan.shapes])
        for x, y, given in sparse:
            table = self._seen_strata(x, y, given)
            zero, m = np.zeros(1, dtype=np.int64), table.size // (self.cards[x] * self.cards[y])
            self._finish([(x, y, given)], table, zero, [m])

    def separating(self, pairs: Pairs) -> Separating | None:
        """The search for what separates some pairs, by planes; None where the rows or the test have to do without."""
        test = self.test
        if not isinstance(test, IndependenceTest) or test.form.permuted or test.form.statistic not in _BY_PLANES:
            return None
        planes = self.counter.planes
        fewest = float(test.fewest_rows) if test.form.adjusted else -1.0
        return None if planes is None else Separating(planes, self.counter.n_rows, pairs, test.form.statistic, fewest)

    def _by_planes(self, questions: list[Question]) -> list[Question]:
        """Answer what planes can; the questions that are left."""
        enough = 4 * self.n_tests >= len(self.cards)  # that the planes of all variables are worth making
        if not enough or not _planes_allowance.pays(len(questions) * (50 + self.counter.n_rows / 40)):
            return questions
        quick = self.separating(Pairs.of_sets(*zip(*questions, strict=True)))
        if quick is None:
            return questions
        quick.test_once()
        left = quick.too_large
        p = upper_tail(quick.statistic, quick.df)
        self._known.update(zip(questions, np.column_stack((quick.statistic, quick.df, p)).tolist(), strict=True))
        return [questions[place] for place in np.flatnonzero(left)]  # whose answers will be replaced

    def _size(self, question: Question) -> int:
        x, y, given = question
        return self.cards[x] * self.cards[y] * math.prod([self.cards[v] for v in given])

    def _batches(self, questions: list[Question]) -> Iterator[list[Question]]:
        batch: list[Question] = []
        entries = 0
        for question in questions:
            size = self._size(question)
            if batch and entries + size > _BATCH_ENTRIES:
                yield batch
                batch, entries = [], 0
            batch.append(question)
            entries += size
        if batch:
            yield batch

    def _seen_strata(self, x: int, y: int, given: tuple[int, ...]) -> NDArray[Any]:
        """The table of a test with many strata: only those that were seen."""
        rx, ry = self.cards[x], self.cards[y]
        (compact,) = self.counter.compact([(*given, x, y)], max_entries=MAX_TABLE_ENTRIES)
        if compact.configurations is None:
            return compact.counts.ravel()
        codes = compact.configurations
        changes = (codes[1:, :-1] != codes[:-1, :-1]).any(axis=1)
        stratum = np.concatenate(([0], np.cumsum(changes)))
        table = np.zeros((int(stratum[-1]) + 1, rx, ry), dtype=compact.counts.dtype)
        table[stratum, codes[:, -1]] = compact.counts
        return table.ravel()

    def _finish(self, batch: list[Question], flat: NDArray[Any], offsets: NDArray[Any], strata: list[int]) -> None:
        """Statistics, degrees of freedom and p-values of tables that have been counted."""
        assert isinstance(self.test, IndependenceTest)
        form, n = self.test.form, len(batch)
        rx = np.array([self.cards[x] for x, _, _ in batch], dtype=np.int64)
        ry = np.array([self.cards[y] for _, y, _ in batch], dtype=np.int64)
        q = np.array([float(min(math.prod([self.cards[v] for v in z]), 10**300)) for _, _, z in batch])
        m = np.array(strata, dtype=np.int64)
        found, adjusted, totals = np.zeros((3, n))

        def compute(span: tuple[int, int]) -> None:
            a = slice(*span)
            kernels.statistics(
                flat, offsets[a], m[a], rx[a], ry[a], q[a], form.statistic, float(self.test.ess),  # type: ignore[union-attr]
                found[a], adjusted[a], totals[a],
            )  # fmt: skip

        run_parallel(compute, spans(n, 1 if n < _WORTH_A_THREAD else 8))
        if form.permuted:
            df = (rx - 1) * (ry - 1) * q
            p = self._permute(batch, flat, offsets, m, rx, ry, found)
        elif form.statistic == kernels.BAYES:
            df, p = np.full(n, math.nan), _posterior(found)
        else:
            if form.adjusted:
                df = adjusted
                found[totals < self.test.fewest_rows * rx * ry * q] = 0.0
            else:
                df = (rx - 1) * (ry - 1) * q
            p = upper_tail(found, df)
        for question, *answer in zip(batch, found.tolist(), df.tolist(), p.tolist(), strict=True):
            self._known[question] = tuple(answer)

    def _permute(
        self, batch: list[Question], flat: NDArray[Any], offsets: NDArray[Any], m: Any, rx: Any, ry: Any, found: Floats
    ) -> Floats:
        """The share of permutations that reach the statistic, the table itself among them."""
        assert isinstance(self.test, IndependenceTest)
        test, pearson = self.test, self.test.form.statistic == kernels.X2
        draws = test.n_permutations
        # So many exceedances make the p-value larger than alpha whatever the other draws are.
        enough = math.floor(test.alpha * (draws + 1)) if test.form.sequential else draws + 1

        def compute(t: int) -> float:
            x, y, given = batch[t]
            hashes = [crc32(self.counter.names[v].encode()) for v in (x, y, *given)]
            words = np.random.SeedSequence([test.seed, *hashes]).generate_state(1, np.uint64)
            begin = int(offsets[t])
            table = flat[begin : begin + int(m[t] * rx[t] * ry[t])]
            reached, done = kernels.permuted_exceedances(
                table, m[t], rx[t], ry[t], pearson, found[t], words, draws, max(1, enough)
            )
            least = (reached + 1) / (draws + 1)  # what the p-value would be at the least after all draws
            return least if done == draws else max(least, reached / done)

        return np.array(run_parallel(compute, range(len(batch))))


def _posterior(log_factor: Floats) -> Floats:
    """The probability of independence by the log Bayes factor against it, when both are equally likely before."""
    return np.exp(-np.logaddexp(0.0, log_factor))
