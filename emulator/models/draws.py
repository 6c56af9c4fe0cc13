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
    """Weights that keep a signal's variance from layer to layer; biases zero (Glorot, 2010)."""
    if variable.kind == "bias":
        return np.zeros(variable.shape)
    *window, inputs, outputs = variable.shape  # a filter's window, in which each is met that often
    bound = math.sqrt(6 / (math.prod(window) * (inputs + outputs)))
    return rng.uniform(-bound, bound, size=variable.shape)
