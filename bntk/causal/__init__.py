"""Causal questions on a known structure: adjustment, identification, and the formulas of effects."""

from bntk.causal.adjustment import AdjustmentCheck, OptimalAdjustmentSet
from bntk.causal.counterfactuals import Counterfactual
from bntk.causal.estimation import (
    RowProbabilities,
    adjustment_formula,
    estimate_effect,
    estimate_path_effect,
)
from bntk.causal.formula import (
    EffectTable,
    Expression,
    Formula,
    Fraction,
    Probabilities,
    Probability,
    Product,
    Sum,
)
from bntk.causal.identification import CForest, Hedge
from bntk.causal.possible import PossibleEffects, possible_effects, possible_parents
from bntk.causal.questions import Question
from bntk.causal.results import Effect, EmptyStratum

__all__ = [
    "AdjustmentCheck",
    "CForest",
    "Counterfactual",
    "Effect",
    "EffectTable",
    "EmptyStratum",
    "Expression",
    "Formula",
    "Fraction",
    "Hedge",
    "OptimalAdjustmentSet",
    "PossibleEffects",
    "Probabilities",
    "Probability",
    "Product",
    "Question",
    "RowProbabilities",
    "Sum",
    "adjustment_formula",
    "estimate_effect",
    "estimate_path_effect",
    "possible_effects",
    "possible_parents",
]
