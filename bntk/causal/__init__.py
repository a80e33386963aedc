"""Causal questions on a known structure: adjustment, identification, and the formulas of effects."""

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
    "CForest",
    "EffectTable",
    "Expression",
    "Formula",
    "Fraction",
    "Hedge",
    "Probabilities",
    "Probability",
    "Product",
    "Sum",
]
