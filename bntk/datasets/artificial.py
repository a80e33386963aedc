"""Artificial data for classifiers, drawn from networks that are given back with the rows.

So the best that any classifier could do is known: :meth:`Drawn.bayes_accuracy`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bntk import _checking
from bntk.cpt import CPT, check_table_size
from bntk.data.variable import Variable
from bntk.datasets.drawn import MOST_STRENGTH, Drawn, check_counts, checked_seed, draw, row_seed
from bntk.datasets.logit import additive, checked_shares, cumulative_logit
from bntk.errors import DataError
from bntk.network import BayesianNetwork

CLASS = "class"


def make_blanket(
    n_rows: int = 2000,
    n_classes: int = 4,
    *,
    class_shares: ArrayLike | None = None,
    n_variables: int = 20,
    n_parents: int = 4,
    n_children: int = 3,
    n_spouses: int = 3,
    n_states: int = 3,
    strength: float = 1.5,
    seed: int = 0,
) -> Drawn:
    """Ordinal data whose class has parents, children and spouses, and many features outside its Markov blanket.

    The experiment of Halbersberg and Lerner: a network of 20 variables in which the Markov blanket of the class has 4
    parents, 3 children and 3 further parents of the children, with 2 to 9 classes, 500 to 3,000 rows, and class shares
    from balanced to very unbalanced. The paper does not give the tables. Here each is a cumulative logit model, so
    that neighbouring classes are the ones confused, and every variable has exactly the given marginal distribution.

    Parameters
    ----------
    n_rows, n_classes : int
        The number of rows, and of states of the class.
    class_shares : sequence of float, optional
        The marginal distribution of the class; equal by default.
    n_variables : int
        The number of all variables: the class, its Markov blanket and the others, each of which is the child of one
        variable that is not the class.
    n_parents, n_children, n_spouses : int
        The Markov blanket of the class. Spouses are shared out among the children in turn.
    n_states : int
        Number of states of each feature, equally likely.
    strength : float
        How much a parent raises the latent score of its child, or lowers it (the sign is random), for each standard
        deviation of equally likely states; the noise has the standard deviation 1.8.
    seed : int
        The same seed gives the same network and rows.

    Returns
    -------
    Drawn
        Unpack it as ``X, y, network``.

    References
    ----------
    D. Halbersberg and B. Lerner. Learning a Bayesian network classifier by jointly maximizing accuracy and
    information.

    Examples
    --------
    >>> X, y, truth = make_blanket(500, class_shares=[0.7, 0.2, 0.08, 0.02], seed=1)
    >>> X.shape, y.cat.categories.tolist()
    ((500, 19), [0, 1, 2, 3])
    >>> truth.dag.markov_blanket("class")
    ('parent1', 'parent2', 'parent3', 'parent4', 'child1', 'child2', 'child3', 'spouse1', 'spouse2', 'spouse3')
    >>> truth.query("class").values.round(6)
    array([0.7 , 0.2 , 0.08, 0.02])
    """
    counts = {"n_parents": n_parents, "n_children": n_children, "n_spouses": n_spouses}
    check_counts(n_variables=(n_variables, 1), **{name: (count, 0) for name, count in counts.items()})
    if n_spouses and not n_children:
        raise DataError("n_spouses are parents of children of the class: without children there are none")
    n_rest = n_variables - 1 - n_parents - n_children - n_spouses
    if n_rest < 0:
        raise DataError(f"n_variables={n_variables} is less than the class and its blanket, {n_variables - n_rest}")
    rng = np.random.default_rng(checked_seed(seed))
    net = _Growing(rng, n_states, strength)
    parents = [net.add(f"parent{i + 1}") for i in range(n_parents)]
    spouses = [net.add(f"spouse{i + 1}") for i in range(n_spouses)]
    target = net.add(CLASS, parents, _classes(n_classes), checked_shares(class_shares, n_classes, "class_shares"))
    children = [net.add(f"child{i + 1}", [target, *spouses[i::n_children]]) for i in range(n_children)]
    features = [*parents, *children, *spouses]
    for i in range(n_rest):
        above = [features[rng.integers(len(features))]] if features else []
        features.append(net.add(f"rest{i + 1}", above))
    return draw(net.network([*features, target]), CLASS, n_rows, row_seed(rng))


def geometric_shares(n_classes: int, ratio: float) -> NDArray[np.float64]:
    """Class shares that fall by a constant factor, from the largest to ``ratio`` times fewer in the smallest class.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    ratio : float
        The share of the largest class over that of the smallest.

    Examples
    --------
    >>> geometric_shares(4, 1)
    array([0.25, 0.25, 0.25, 0.25])
    >>> geometric_shares(3, 100).round(3)
    array([0.901, 0.09 , 0.009])
    """
    _checking.number("ratio, that of the largest to the smallest class,", ratio, 0, above=True)
    falling = float(ratio) ** -np.linspace(0, 1, len(_classes(n_classes)))
    return np.asarray(falling / falling.sum())


def make_ordinal(
    n_rows: int = 1000,
    n_classes: int = 5,
    n_features: int = 8,
    *,
    class_shares: ArrayLike | None = None,
    n_states: int = 4,
    n_irrelevant: int = 0,
    strength: float = 1.5,
    seed: int = 0,
) -> Drawn:
    """Ordinal data: ordered classes, and features that measure them with noise.

    The rows are drawn from a naive Bayes network of cumulative logit models.

    A wrong guess is most often a neighbour of the true class, so that mean absolute error and accuracy differ.

    Parameters
    ----------
    n_rows, n_classes, n_features : int
        The number of rows, of states of the class, and of features that depend on it.
    class_shares : sequence of float, optional
        The marginal distribution of the class; equal by default.
    n_states : int
        Number of states of each feature, equally likely.
    n_irrelevant : int
        Further features that are independent of everything.
    strength : float
        How much the class raises the latent score of a feature, or lowers it (the sign is random), for each standard
        deviation of equally likely classes; the noise has the standard deviation 1.8.
    seed : int
        The same seed gives the same network and rows.

    Returns
    -------
    Drawn
        Unpack it as ``X, y, network``.

    Examples
    --------
    >>> X, y, truth = make_ordinal(300, n_classes=4, n_irrelevant=2, seed=3)
    >>> X.shape, y.cat.ordered
    ((300, 10), True)
    """
    check_counts(n_features=(n_features, 0), n_irrelevant=(n_irrelevant, 0))
    rng = np.random.default_rng(checked_seed(seed))
    net = _Growing(rng, n_states, strength)
    target = net.add(CLASS, [], _classes(n_classes), checked_shares(class_shares, n_classes, "class_shares"))
    features = [net.add(f"x{i + 1}", [target]) for i in range(n_features)]
    features += [net.add(f"noise{i + 1}") for i in range(n_irrelevant)]
    return draw(net.network([*features, target]), CLASS, n_rows, row_seed(rng))


def make_imbalanced(
    n_rows: int = 1000,
    class_shares: ArrayLike = (0.9, 0.1),
    n_features: int = 8,
    *,
    n_states: int = 3,
    overlap: ArrayLike = 0.5,
    concentration: float = 1.0,
    seed: int = 0,
) -> Drawn:
    """Imbalanced data: classes of very different size, the smaller ones more or less similar to the largest.

    The rows are drawn from a naive Bayes network. Feature i of class c has the distribution (1 - o_c) D_ci + o_c D_mi,
    where D_ci and D_mi are drawn from a Dirichlet distribution and m is the largest class: with overlap 0 a class is as
    unlike the largest as chance makes it, with overlap 1 it cannot be told from it.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    class_shares : sequence of float
        The marginal distribution of the class.
    n_features, n_states : int
        The number of features, and of states of each.
    overlap : float, or a sequence with one per class
        o_c, from 0 to 1.
    concentration : float
        The parameter of the Dirichlet distribution; the smaller, the further apart are the classes.
    seed : int
        The same seed gives the same network and rows.

    Returns
    -------
    Drawn
        Unpack it as ``X, y, network``.

    Examples
    --------
    >>> easy = make_imbalanced(2000, [0.95, 0.04, 0.01], overlap=0.1)
    >>> hard = make_imbalanced(2000, [0.95, 0.04, 0.01], overlap=[0, 0.1, 0.9])
    >>> easy.bayes_accuracy() > hard.bayes_accuracy() > 0.95
    True
    """
    n_classes = len(_checking.several("class_shares", class_shares, "positive numbers that sum to 1", DataError))
    check_counts(n_features=(n_features, 0), n_states=(n_states, 1))
    concentration = _checking.number("concentration", concentration, 0, 1e6, above=True)
    shares = checked_shares(class_shares, n_classes, "class_shares")
    given = _checking.numbers("overlap", overlap, "a number from 0 to 1, or one for each class", DataError)
    o = np.full(n_classes, given) if given.ndim == 0 else given
    if o.shape != (n_classes,) or not ((o >= 0) & (o <= 1)).all():
        raise DataError(
            f"overlap must be a number from 0 to 1, or one for each of {n_classes} classes; got {overlap!r}"
        )
    rng = np.random.default_rng(checked_seed(seed))
    target = Variable(CLASS, range(n_classes))
    cpts = []
    for i in range(n_features):
        own = rng.dirichlet(np.full(n_states, concentration), size=n_classes)
        rows = (1 - o[:, None]) * own + o[:, None] * own[shares.argmax()]
        cpts.append(CPT(Variable(f"x{i + 1}", range(n_states)), rows, [target]))
    return draw(BayesianNetwork.from_cpts([*cpts, CPT(target, shares)]), CLASS, n_rows, row_seed(rng))


class _Growing:
    """A network that grows from the roots down, all of whose variables are ordered and have known shares.

    Parents of a variable must be independent of each other.
    """

    def __init__(self, rng: np.random.Generator, n_states: int, strength: float) -> None:
        check_counts(n_states=(n_states, 2))
        self.rng, self.strength = rng, _checking.number("strength", strength, -MOST_STRENGTH, MOST_STRENGTH)
        self.states = range(n_states)
        self.shares: dict[Variable, NDArray[np.float64]] = {}
        self.cpts: dict[Variable, CPT] = {}

    def add(
        self,
        name: str,
        parents: Sequence[Variable] = (),
        states: Sequence[int] | None = None,
        shares: NDArray[np.float64] | None = None,
    ) -> Variable:
        """A further variable, of the usual number of equally likely states where nothing else is said."""
        variable = Variable(name, self.states if states is None else states, ordered=True)
        check_table_size(variable, parents)
        own = checked_shares(None, variable.n_states, name) if shares is None else shares
        slopes = self.strength * self.rng.choice([-1.0, 1.0], len(parents))
        scores, weights = additive(parents, [self.shares[p] for p in parents], slopes)
        self.cpts[variable] = cumulative_logit(variable, own, parents, scores, weights)
        self.shares[variable] = own
        return variable

    def network(self, order: Sequence[Variable]) -> BayesianNetwork:
        """The network, with the variables in this order."""
        return BayesianNetwork.from_cpts([self.cpts[variable] for variable in order])


def _classes(n_classes: int) -> range:
    check_counts(n_classes=(n_classes, 2))
    return range(n_classes)
