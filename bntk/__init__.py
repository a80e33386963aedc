"""bntk: a Bayesian network toolkit.

Names are imported when they are first used, so ``import bntk`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Public name -> where it lives ("module:attribute", or a module alone).
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
    **{
        name: f"bntk.classifiers:{name}"
        for name in (
            "A2DE",
            "AMODE",
            "AODE",
            "AWNB",
            "MANB",
            "MDBNC",
            "WANBIA",
            "NaiveBayes",
            "TAN",
            "FAN",
            "BAN",
            "BayesNetClassifier",
            "KDB",
            "SelectiveKDB",
            "SPODE",
            "STAN",
            "STAND",
            "SemiNaiveBayes",
            "BayesianChain",
            "BinaryRelevance",
            "ChainEnsemble",
            "CircularChain",
            "ClassifierChain",
            "LabelPowerset",
        )
    },
    "classifiers": "bntk.classifiers",
    "Discretizer": "bntk.data.discretizer:Discretizer",
    "cuts": "bntk.data.cuts",
    "fit": "bntk.learning.parameters:fit",
    "fit_em": "bntk.learning.em:fit_em",
    "structural_em": "bntk.learning.structural_em:structural_em",
    "learn": "bntk.learning.learn:learn",
    "learn_structure": "bntk.learning.learn:learn_structure",
    "bootstrap_strengths": "bntk.learning.search.bootstrap:bootstrap_strengths",
    "load": "bntk.io:load",
    "n_threads": "bntk._threads:n_threads",
    "set_threads": "bntk._threads:set_threads",
    "datasets": "bntk.datasets",
    "errors": "bntk.errors",
    "evaluation": "bntk.evaluation",
    "graph": "bntk.graph",
    "inference": "bntk.inference",
    "io": "bntk.io",
    "learning": "bntk.learning",
    "priors": "bntk.learning.priors",
    "score": "bntk.learning.scores:score",
    "scores": "bntk.learning.scores",
    "Space": "bntk.learning.space:Space",
    "Group": "bntk.learning.space:Group",
    "Link": "bntk.learning.space:Link",
    "spaces": "bntk.learning.space.named",
    "search": "bntk.learning.search",
    "viz": "bntk.viz",
}

__all__ = [*_LAZY, "__version__"]

if TYPE_CHECKING:
    from bntk import classifiers as classifiers
    from bntk import datasets as datasets
    from bntk import errors as errors
    from bntk import evaluation as evaluation
    from bntk import graph as graph
    from bntk import inference as inference
    from bntk import io as io
    from bntk import learning as learning
    from bntk import viz as viz
    from bntk._threads import n_threads as n_threads
    from bntk._threads import set_threads as set_threads
    from bntk.classifiers import A2DE as A2DE
    from bntk.classifiers import AMODE as AMODE
    from bntk.classifiers import AODE as AODE
    from bntk.classifiers import AWNB as AWNB
    from bntk.classifiers import BAN as BAN
    from bntk.classifiers import FAN as FAN
    from bntk.classifiers import KDB as KDB
    from bntk.classifiers import MANB as MANB
    from bntk.classifiers import MDBNC as MDBNC
    from bntk.classifiers import SPODE as SPODE
    from bntk.classifiers import STAN as STAN
    from bntk.classifiers import STAND as STAND
    from bntk.classifiers import TAN as TAN
    from bntk.classifiers import WANBIA as WANBIA
    from bntk.classifiers import BayesianChain as BayesianChain
    from bntk.classifiers import BayesNetClassifier as BayesNetClassifier
    from bntk.classifiers import BinaryRelevance as BinaryRelevance
    from bntk.classifiers import ChainEnsemble as ChainEnsemble
    from bntk.classifiers import CircularChain as CircularChain
    from bntk.classifiers import ClassifierChain as ClassifierChain
    from bntk.classifiers import LabelPowerset as LabelPowerset
    from bntk.classifiers import NaiveBayes as NaiveBayes
    from bntk.classifiers import SelectiveKDB as SelectiveKDB
    from bntk.classifiers import SemiNaiveBayes as SemiNaiveBayes
    from bntk.cpt import CPT as CPT
    from bntk.data import cuts as cuts
    from bntk.data.discretizer import Discretizer as Discretizer
    from bntk.data.multilabel import read_multilabel as read_multilabel
    from bntk.data.readers import read_table as read_table
    from bntk.data.table import Table as Table
    from bntk.data.variable import Variable as Variable
    from bntk.graph.dag import DAG as DAG
    from bntk.io import load as load
    from bntk.learning import priors as priors
    from bntk.learning import scores as scores
    from bntk.learning import search as search
    from bntk.learning.em import fit_em as fit_em
    from bntk.learning.learn import learn as learn
    from bntk.learning.learn import learn_structure as learn_structure
    from bntk.learning.parameters import fit as fit
    from bntk.learning.scores import score as score
    from bntk.learning.search.bootstrap import bootstrap_strengths as bootstrap_strengths
    from bntk.learning.space import Group as Group
    from bntk.learning.space import Link as Link
    from bntk.learning.space import Space as Space
    from bntk.learning.space import named as spaces  # noqa: F401
    from bntk.learning.structural_em import structural_em as structural_em
    from bntk.network import BayesianNetwork as BayesianNetwork
    from bntk.noisy import NoisyMax as NoisyMax
    from bntk.noisy import NoisyOr as NoisyOr


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'bntk' has no attribute {name!r}")
    module, _, attribute = _LAZY[name].partition(":")
    value = importlib.import_module(module)
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
