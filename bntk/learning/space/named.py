"""Spaces of the usual networks and classifiers: which structures a search may return.

For classifiers the nodes are the features, in the order given, and then the class variable or variables;
:meth:`Space.reorder` changes that. No arc leads from a feature into a class, except in :func:`general`. More
constraints are added by ``space.restrict(...)`` or ``space & other``.

Semi-naive Bayes (features joined into groups that are fully dependent within and independent of each other given the
class; Pazzani 1996) is not here: bringing a third feature into a group of two adds two arcs at once, so no chain of
legal structures with one arc changed at a time leads there. It needs a search of its own whose steps are joining and
leaving out; any structure of it is legal in :func:`ban` or, with features left out, in :func:`augmented` with a ``dag``
shape and discarding class arcs.

References
----------
- C. Chow, C. Liu. Approximating discrete probability distributions with dependence trees. IEEE Transactions on
  Information Theory 14, 1968.
- M. Minsky. Steps toward artificial intelligence. Proceedings of the IRE 49, 1961.
- P. Langley, S. Sage. Induction of selective Bayesian classifiers. UAI 1994.
- N. Friedman, D. Geiger, M. Goldszmidt. Bayesian network classifiers. Machine Learning 29, 1997.
- M. Sahami. Learning limited dependence Bayesian classifiers. KDD 1996.
- E. Keogh, M. Pazzani. Learning the structure of augmented Bayesian classifiers. International Journal on
  Artificial Intelligence Tools 11, 2002.
- M. Mach, M. Mráz. Quality measures for Bayesian network classifier design.
- G. Webb, J. Boughton, Z. Wang. Not so naive Bayes: aggregating one-dependence estimators. Machine Learning 58,
  2005.
- L. van der Gaag, P. de Waal. Multi-dimensional Bayesian network classifiers. PGM 2006.
- C. Bielza, G. Li, P. Larrañaga. Multi-dimensional classification with Bayesian networks. International Journal
  of Approximate Reasoning 52, 2011.
- G. Rebane, J. Pearl. The recovery of causal poly-trees from statistical data. UAI 1987.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bntk import _checking
from bntk.errors import SpaceError
from bntk.graph.undirected import checked_nodes, unknown_node
from bntk.learning.space import Group, Link, Space

__all__ = [
    "augmented",
    "ban",
    "dag",
    "fan",
    "forest",
    "general",
    "kdb",
    "mdbnc",
    "multi_naive_bayes",
    "multi_one_dependence",
    "multi_tan",
    "naive_bayes",
    "polytree",
    "selective_naive_bayes",
    "sfan",
    "sfand",
    "spode",
    "stan",
    "stand",
    "tan",
    "tree",
]

# Networks without a class


def dag(nodes: Iterable[str], **constraints: Any) -> Space:
    """Any directed acyclic graph.

    Parameters
    ----------
    nodes : iterable of str
        Names of the variables.
    **constraints
        Those of :class:`bntk.Space`: ``required``, ``forbidden``, ``tiers``, ``max_parents``, ``arc_weights``.

    Examples
    --------
    >>> dag(["rain", "sprinkler", "wet"], forbidden=[("wet", "rain")], max_parents=2)
    <Space of 3 nodes: forbidden wet -> rain>
    """
    return Space(nodes, **constraints)


def general(
    nodes: Iterable[str], target: str, max_parents: int | Mapping[str, int] | None = None, **constraints: Any
) -> Space:
    """Any directed acyclic graph; the class may have parents and children (Friedman et al. 1997).

    Parameters
    ----------
    nodes : iterable of str
        Names of all variables, the class included.
    target : str
        Name of the class variable.
    max_parents : int or mapping of node to int, optional
        The largest number of parents.
    **constraints
        Those of :class:`bntk.Space`: ``required``, ``forbidden``, ``tiers``, ``arc_weights``.
    """
    names = checked_nodes(nodes)
    if not isinstance(target, str) or target not in names:
        raise unknown_node(target, names, " (the class)")
    return Space(names, max_parents=max_parents, **constraints)


def tree(nodes: Iterable[str], root: str | None = None) -> Space:
    """Trees: every node but one root has exactly one parent (Chow and Liu 1968).

    Parameters
    ----------
    nodes : iterable of str
        Names of the variables.
    root : str, optional
        The node without a parent; by default any.

    Examples
    --------
    >>> print(tree(["A", "B", "C"], root="B").start())
    A <- B -> C
    """
    names = checked_nodes(nodes)
    return Space(names, groups=[Group(names, "tree", root=root)])


def forest(nodes: Iterable[str]) -> Space:
    """Forests: every node has at most one parent.

    Parameters
    ----------
    nodes : iterable of str
        Names of the variables.
    """
    names = checked_nodes(nodes)
    return Space(names, groups=[Group(names, "forest")])


def polytree(nodes: Iterable[str], max_parents: int | Mapping[str, int] | None = None) -> Space:
    """Polytrees: no cycles even when directions are ignored, so that at most one path joins two nodes.

    (Rebane and Pearl 1987.)

    Parameters
    ----------
    nodes : iterable of str
        Names of the variables.
    max_parents : int or mapping of node to int, optional
        The largest number of parents.
    """
    names = checked_nodes(nodes)
    return Space(names, groups=[Group(names, "polytree")], max_parents=max_parents)


# Classifiers with one class


def augmented(
    features: Iterable[str],
    target: str,
    shape: str = "dag",
    class_arcs: str = "all",
    *,
    k: int | None = None,
    root: str | None = None,
    max_parents: int | None = None,
) -> Space:
    """Augmented naive Bayes: a class without parents, arcs from it to features, and a shape among the features.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    shape : {"empty", "tree", "forest", "star", "polytree", "kdb", "dag"}
        Shape of the subgraph among the features.
    class_arcs : {"all", "optional", "discard"}
        ``"all"``: every feature is a child of the class. ``"optional"``: any of them may be. ``"discard"``: a feature
        that is not a child of the class has no arcs at all.
    k : int, optional
        For the shape ``"kdb"``: the largest number of features that are parents of a feature.
    root : str, optional
        For the shapes ``"tree"`` and ``"star"``: the feature without a feature as parent; by default any.
    max_parents : int, optional
        The largest number of parents of a feature, the class included.

    Examples
    --------
    >>> augmented(["x1", "x2", "x3"], "y", "polytree", "optional")
    <Space of 4 nodes: polytree over x1, x2, x3; optional arcs from y to x1, x2, x3>
    """
    names, (target,) = _checked(features, [target])
    groups, links = [Group(names, shape, k=k, root=root)], [Link((target,), names, class_arcs)]
    if max_parents is None and class_arcs != "none":  # a link into a group cannot contradict its shape
        return Space._of_rules((*names, target), groups, links)
    return Space((*names, target), groups=groups, links=links, max_parents=max_parents)


def naive_bayes(features: Iterable[str], target: str) -> Space:
    """Naive Bayes: the class is the parent of every feature, and there are no other arcs (Minsky 1961).

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.

    Examples
    --------
    >>> naive_bayes(["x1", "x2"], "y").start().arcs
    (('y', 'x1'), ('y', 'x2'))
    """
    return augmented(features, target, "empty")


def selective_naive_bayes(features: Iterable[str], target: str) -> Space:
    """Selective naive Bayes: the class is the parent of some features, and there are no other arcs.

    (Langley and Sage 1994.)

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    """
    return augmented(features, target, "empty", "optional")


def tan(features: Iterable[str], target: str, root: str | None = None) -> Space:
    """TAN: the class is the parent of every feature, and the features form a tree (Friedman et al. 1997).

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    root : str, optional
        The feature without a feature as parent; by default any.

    Examples
    --------
    >>> dag = tan(["x1", "x2", "x3"], "y", root="x2").start()
    >>> dag.parents("x1"), dag.parents("x2"), dag.parents("x3")
    (('x2', 'y'), ('y',), ('x2', 'y'))
    """
    return augmented(features, target, "tree", root=root)


def fan(features: Iterable[str], target: str) -> Space:
    """Forest-augmented naive Bayes: the class is the parent of every feature, and the features form a forest.

    Each feature has at most one other feature as parent. It is the space of the search TAN-HC (Keogh and Pazzani 2002).

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    """
    return augmented(features, target, "forest")


def stan(features: Iterable[str], target: str, root: str | None = None) -> Space:
    """Selective TAN: the features form a tree, and the class is the parent of some of them (Mach and Mráz).

    The structure without any class arc is legal, as the search begins with it.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    root : str, optional
        The feature without a feature as parent; by default any.
    """
    return augmented(features, target, "tree", "optional", root=root)


def stand(features: Iterable[str], target: str, root: str | None = None) -> Space:
    """Selective TAN with discarding: as :func:`stan`, but only children of the class are in the tree (Mach and Mráz).

    A feature that is not a child of the class has no arcs. The structure without any arc is legal.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    root : str, optional
        The feature without a feature as parent; by default any.
    """
    return augmented(features, target, "tree", "discard", root=root)


def sfan(features: Iterable[str], target: str) -> Space:
    """Selective FAN: the features form a forest, and the class is the parent of some of them; see :func:`stan`.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    """
    return augmented(features, target, "forest", "optional")


def sfand(features: Iterable[str], target: str) -> Space:
    """Selective FAN with discarding: children of the class form a forest, other features have no arcs.

    See :func:`stand`.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    """
    return augmented(features, target, "forest", "discard")


def ban(features: Iterable[str], target: str, max_parents: int | None = None) -> Space:
    """BAN: the class is the parent of every feature, and the features form any DAG (Friedman et al. 1997).

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    max_parents : int, optional
        The largest number of parents of a feature, the class included.
    """
    return augmented(features, target, "dag", max_parents=max_parents)


def kdb(features: Iterable[str], target: str, k: int) -> Space:
    """K-dependence classifiers: every feature has the class and at most ``k`` features as parents (Sahami 1996).

    Naive Bayes is ``k=0``, and :func:`fan` is ``k=1``.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    k : int
        The largest number of features that are parents of a feature.
    """
    return augmented(features, target, "kdb", k=k)


def spode(features: Iterable[str], target: str, superparent: str | None = None) -> Space:
    """One dependence: the class and one feature, the superparent, are parents of all others (Webb et al. 2005).

    Without a chosen ``superparent`` there is one structure for each feature.

    Parameters
    ----------
    features : iterable of str
        Names of the features.
    target : str
        Name of the class variable.
    superparent : str, optional
        The feature that is a parent of all others; by default any.

    Examples
    --------
    >>> dag = spode(["x1", "x2", "x3"], "y", superparent="x3").start()
    >>> dag.parents("x1"), dag.parents("x2"), dag.parents("x3")
    (('x3', 'y'), ('x3', 'y'), ('y',))
    """
    return augmented(features, target, "star", root=superparent)


# Classifiers with several classes


def mdbnc(
    features: Iterable[str],
    targets: Iterable[str],
    *,
    class_shape: str = "tree",
    bridge: str = "optional",
    feature_shape: str = "forest",
    max_bridge_parents: int | None = None,
    class_k: int | None = None,
    feature_k: int | None = None,
    class_root: str | None = None,
    feature_root: str | None = None,
    max_parents: int | Mapping[str, int] | None = None,
) -> Space:
    """Multi-dimensional Bayesian network classifiers: class, bridge and feature subgraphs (Bielza et al. 2011).

    The class subgraph has the arcs among the classes, the feature subgraph those among the features, and the bridge
    subgraph those from classes to features. There is no arc from a feature into a class.

    Parameters
    ----------
    features, targets : iterable of str
    class_shape, feature_shape : str
        Shapes of the class and the feature subgraph, see :class:`Group`.
    bridge : {"all", "optional", "discard", "none"}
        Mode of the arcs from classes to features, see :class:`Link`.
    max_bridge_parents : int, optional
        Largest number of classes that are parents of one feature.
    class_k, feature_k : int, optional
        ``k`` of the two shapes, where one is ``"kdb"``.
    class_root, feature_root : str, optional
        Chosen roots of the two shapes; a star of classes has its superparent class here.
    max_parents : int or mapping, optional
        Largest number of parents of any kind.

    Examples
    --------
    >>> mdbnc(["x1", "x2"], ["y1", "y2"], class_shape="dag", feature_shape="empty", max_bridge_parents=1)
    <Space of 4 nodes: DAG over y1, y2; empty graph over x1, x2;
    optional arcs from y1, y2 to x1, x2, at most 1 into each>
    """
    inputs, outputs = _checked(features, targets)
    return Space(
        (*inputs, *outputs),
        groups=[
            Group(outputs, class_shape, k=class_k, root=class_root),
            Group(inputs, feature_shape, k=feature_k, root=feature_root),
        ],
        links=[Link(outputs, inputs, bridge, max_parents=max_bridge_parents)],
        max_parents=max_parents,
    )


def multi_naive_bayes(features: Iterable[str], targets: Iterable[str], bridge: str = "optional") -> Space:
    """Multi-dimensional naive Bayes: arcs from classes to features only (van der Gaag and de Waal 2006).

    With ``bridge="all"`` every class is a parent of every feature, and there is a single structure.
    """
    return mdbnc(features, targets, class_shape="empty", bridge=bridge, feature_shape="empty")


def multi_tan(features: Iterable[str], targets: Iterable[str], bridge: str = "optional") -> Space:
    """Multi-dimensional TAN: a tree of classes, a tree of features, and a bridge (van der Gaag and de Waal 2006)."""
    return mdbnc(features, targets, class_shape="tree", bridge=bridge, feature_shape="tree")


def multi_one_dependence(features: Iterable[str], targets: Sequence[str], superparent: str) -> Space:
    """One member of the average multi-dimensional one-dependence classifier.

    One class is the parent of all other classes, any classes are parents of features, and there are no arcs among
    features (Antonucci, Corani, Mauá, Gabaglio: An ensemble of Bayesian networks for multilabel classification, IJCAI
    2013).
    """
    superparent = _checking.text("superparent", superparent, "one of the targets", SpaceError)
    return mdbnc(features, targets, class_shape="star", feature_shape="empty", class_root=superparent)


def _checked(features: Iterable[str], targets: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the features and of the class variables; none may be both."""
    inputs = tuple(_checking.several("features", features, "names", SpaceError))
    outputs = tuple(_checking.several("targets", targets, "names", SpaceError))
    for name in (*inputs, *outputs):
        if not isinstance(name, str) or not name.strip():
            raise SpaceError(f"a variable is named by a string that is not blank; got {_checking.shown(name)}")
    both = [name for name in outputs if name in {*inputs}]
    if both:
        raise SpaceError(f"a variable is either a feature or a class, not both: {', '.join(map(repr, both))}")
    return inputs, outputs
