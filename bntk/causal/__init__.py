"""Causal questions on a known structure: adjustment, identification, and the formulas of effects."""

from bntk.causal.adjustment import AdjustmentCheck, OptimalAdjustmentSet
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

__all__ = [
    "AdjustmentCheck",
    "CForest",
    "EffectTable",
    "Expression",
    "Formula",
    "Fraction",
    "Hedge",
    "OptimalAdjustmentSet",
    "Probabilities",
    "Probability",
    "Product",
    "Sum",
]
