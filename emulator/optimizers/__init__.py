"""Optimizers: how the server steps along a gradient.

To add an optimizer: write a file, name the class here, and add a row to the tests' table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from .adam import Adam
from .base import Descent, Modulated, Optimizer
from .momentum import Momentum
from .sgd import SGD
from .sign import Sign

AnyOptimizer: TypeAlias = SGD | Momentum | Adam | Sign

FAMILY = Family("optimizers", AnyOptimizer, Optimizer)


def make(description: Mapping[str, Any]) -> AnyOptimizer:
    """Build the optimizer described by `plain`."""
    optimizer: AnyOptimizer = FAMILY.make(description)
    return optimizer


__all__ = [
    "FAMILY",
    "SGD",
    "Adam",
    "AnyOptimizer",
    "Descent",
    "Modulated",
    "Momentum",
    "Optimizer",
    "Sign",
    "make",
    "plain",
]
