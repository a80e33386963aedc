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

__all__ = [
    "EffectTable",
    "Expression",
    "Formula",
    "Fraction",
    "Probabilities",
    "Probability",
    "Product",
    "Sum",
]
