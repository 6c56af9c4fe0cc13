"""Where training begins: the usual laws of initial weights."""

import math

import numpy as np
from numpy.typing import NDArray

from ..layout import Variable


def truncated_normal(
    sigma: float, size: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    """A normal law without what lies beyond two sigma: those values are drawn again."""
    values = rng.normal(size=size)
    while (beyond := np.abs(values) > 2).any():
        values[beyond] = rng.normal(size=np.count_nonzero(beyond))
    return sigma * values


def glorot_uniform(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Weights that keep a signal's variance through dense layers; biases zero (Glorot, 2010)."""
    if variable.kind == "bias":
        return np.zeros(variable.shape)
    bound = math.sqrt(6 / sum(variable.shape))
    return rng.uniform(-bound, bound, size=variable.shape)
