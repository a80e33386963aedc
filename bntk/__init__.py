"""bntk: a Bayesian network toolkit.

Names are imported when they are first used, so ``import bntk`` costs next to nothing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

__version__ = "0.1.0.dev0"

# Public name -> where it is ("module:attribute", or a module). Classifiers are found in their package.
_LAZY = {
    "Variable": "bntk.data.variable:Variable",
    "Table": "bntk.data.table:Table",
    "read_table": "bntk.data.readers:read_table",
    "read_multilabel": "bntk.data.multilabel:read_multilabel",
    "DAG": "bntk.graph.dag:DAG",
    "CPT": "bntk.cpt:CPT",
    "BayesianNetwork": "bntk.network:BayesianNetwork",
    "NoisyMax": "bntk.noisy:NoisyMax",
    "NoisyOr": "bntk.noisy:NoisyOr",
    "causal": "bntk.causal",
    "classifiers": "bntk.classifiers",
    "Discretizer": "bntk.data.discretizer:Discretizer",
    "cuts": "bntk.data.cuts",
    "fit": "bntk.learning.parameters:fit",
    "fit_em": "bntk.learning.em:fit_em",
    "structural_em": "bntk.learning.structural_em:structural_em",
    "learn": "bntk.learning.learn:learn",
    "learn_structure": "bntk.learning.learn:learn_structure",
    "independence": "bntk.learning.independence:independence",
    "IndependenceTest": "bntk.learning.independence:IndependenceTest",
    "MarkovBlanketSelector": "bntk.classifiers.selection:MarkovBlanketSelector",
    "compare_structures": "bntk.inference.comparison:compare_structures",
    "bootstrap_strengths": "bntk.learning.search.bootstrap:bootstrap_strengths",
    "load": "bntk.io:load",
    "scan": "bntk.learning.streams:scan",
    "n_threads": "bntk._threads:n_threads",
    "set_threads": "bntk._threads:set_threads",
    "datasets": "bntk.datasets",
    "errors": "bntk.errors",
    "evaluation": "bntk.evaluation",
    "explore": "bntk.explore",
    "graph": "bntk.graph",
    "inference": "bntk.inference",
    "io": "bntk.io",
    "learning": "bntk.learning",
    "priors": "bntk.learning.priors",
    "score": "bntk.learning.scores:score",
    "arc_strength": "bntk.learning.scores:arc_strength",
    "scores": "bntk.learning.scores",
    "Space": "bntk.learning.space:Space",
    "Group": "bntk.learning.space:Group",
    "Link": "bntk.learning.space:Link",
    "spaces": "bntk.learning.space.named",
    "search": "bntk.learning.search",
    "viz": "bntk.viz",
}

if _TYPE_CHECKING:  # for editors and type checkers; what is not here works all the same
    from bntk import causal as causal
    from bntk import classifiers as classifiers
    from bntk import datasets as datasets
    from bntk import errors as errors
    from bntk import evaluation as evaluation
    from bntk import explore as explore
    from bntk import graph as graph
    from bntk import inference as inference
    from bntk import io as io
    from bntk import learning as learning
    from bntk import viz as viz
    from bntk._threads import n_threads as n_threads
    from bntk._threads import set_threads as set_threads
    from bntk.classifiers.augmented import BAN as BAN
    from bntk.classifiers.augmented import FAN as FAN
    from bntk.classifiers.augmented import TAN as TAN
    from bntk.classifiers.averaged import A2DE as A2DE
    from bntk.classifiers.averaged import AODE as AODE
    from bntk.classifiers.composed.chains import BayesianChain as BayesianChain
    from bntk.classifiers.composed.chains import CircularChain as CircularChain
    from bntk.classifiers.composed.chains import ClassifierChain as ClassifierChain
    from bntk.classifiers.composed.ensembles import ChainEnsemble as ChainEnsemble
    from bntk.classifiers.composed.transform import BinaryRelevance as BinaryRelevance
    from bntk.classifiers.composed.transform import LabelPowerset as LabelPowerset
    from bntk.classifiers.dependence import KDB as KDB
    from bntk.classifiers.dependence import SPODE as SPODE
    from bntk.classifiers.dependence import SelectiveKDB as SelectiveKDB
    from bntk.classifiers.ensemble import EnsembleKDB as EnsembleKDB
    from bntk.classifiers.general import BayesNetClassifier as BayesNetClassifier
    from bntk.classifiers.multidim.amode import AMODE as AMODE
    from bntk.classifiers.multidim.networks import MDBNC as MDBNC
    from bntk.classifiers.naive import NaiveBayes as NaiveBayes
    from bntk.classifiers.rmcv import RMCV as RMCV
    from bntk.classifiers.selection import MarkovBlanketSelector as MarkovBlanketSelector
    from bntk.classifiers.seminaive import SemiNaiveBayes as SemiNaiveBayes
    from bntk.classifiers.stan import STAN as STAN
    from bntk.classifiers.stan import STAND as STAND
    from bntk.classifiers.weighted import AWNB as AWNB
    from bntk.classifiers.weighted import MANB as MANB
    from bntk.classifiers.weighted import WANBIA as WANBIA
    from bntk.cpt import CPT as CPT
    from bntk.data import cuts as cuts
    from bntk.data.discretizer import Discretizer as Discretizer
    from bntk.data.multilabel import read_multilabel as read_multilabel
    from bntk.data.readers import read_table as read_table
    from bntk.data.table import Table as Table
    from bntk.data.variable import Variable as Variable
    from bntk.graph.dag import DAG as DAG
    from bntk.inference.comparison import compare_structures as compare_structures
    from bntk.io import load as load
    from bntk.learning import priors as priors
    from bntk.learning import scores as scores
    from bntk.learning import search as search
    from bntk.learning.em import fit_em as fit_em
    from bntk.learning.independence import IndependenceTest as IndependenceTest
    from bntk.learning.independence import independence as independence
    from bntk.learning.learn import learn as learn
    from bntk.learning.learn import learn_structure as learn_structure
    from bntk.learning.parameters import fit as fit
    from bntk.learning.scores import arc_strength as arc_strength
    from bntk.learning.scores import score as score
    from bntk.learning.search.bootstrap import bootstrap_strengths as bootstrap_strengths
    from bntk.learning.space import Group as Group
    from bntk.learning.space import Link as Link
    from bntk.learning.space import Space as Space
    from bntk.learning.space import named as spaces  # noqa: F401
    from bntk.learning.streams import scan as scan
    from bntk.learning.structural_em import structural_em as structural_em
    from bntk.network import BayesianNetwork as BayesianNetwork
    from bntk.noisy import NoisyMax as NoisyMax
    from bntk.noisy import NoisyOr as NoisyOr


def _places() -> dict[str, str]:
    """Where each public name lives."""
    from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS

    found = {**CLASSIFIERS.classes, **MULTI_CLASSIFIERS.classes}
    return {**_LAZY, **{name: f"{place.module}:{name}" for name, place in found.items()}}


def __getattr__(name: str) -> object:
    import importlib

    if name == "__all__":
        return [*_places(), "__version__"]
    place = _LAZY.get(name) or (None if name.startswith("_") else _places().get(name))
    if place is None:
        raise AttributeError(f"module 'bntk' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    value = importlib.import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_places(), "__version__"])
