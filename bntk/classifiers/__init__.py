"""Bayesian network classifiers: scikit-learn estimators, each a space, a score and a search of the core."""

from bntk.classifiers.augmented import BAN, FAN, TAN
from bntk.classifiers.averaged import A2DE, AODE
from bntk.classifiers.base import BayesClassifier, NetworkClassifier
from bntk.classifiers.dependence import KDB, SPODE, SelectiveKDB
from bntk.classifiers.general import BayesNetClassifier
from bntk.classifiers.multidim.amode import AMODE
from bntk.classifiers.multidim.chains import BayesianChain, CircularChain, ClassifierChain
from bntk.classifiers.multidim.ensembles import ChainEnsemble
from bntk.classifiers.multidim.networks import MDBNC
from bntk.classifiers.multidim.transform import BinaryRelevance, LabelPowerset
from bntk.classifiers.naive import NaiveBayes
from bntk.classifiers.seminaive import SemiNaiveBayes
from bntk.classifiers.stan import STAN, STAND
from bntk.classifiers.weighted import AWNB, MANB, WANBIA

__all__ = [
    "A2DE",
    "AMODE",
    "AODE",
    "AWNB",
    "BAN",
    "FAN",
    "KDB",
    "MANB",
    "MDBNC",
    "SPODE",
    "STAN",
    "STAND",
    "TAN",
    "WANBIA",
    "BayesClassifier",
    "BayesNetClassifier",
    "BayesianChain",
    "BinaryRelevance",
    "ChainEnsemble",
    "CircularChain",
    "ClassifierChain",
    "LabelPowerset",
    "NaiveBayes",
    "NetworkClassifier",
    "SelectiveKDB",
    "SemiNaiveBayes",
]
