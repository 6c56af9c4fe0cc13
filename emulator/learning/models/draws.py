"""Distributions of initial weights."""

import math

import numpy as np
from numpy.typing import NDArray

from ...layout import Variable


def truncated_normal(
    sigma: float, size: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return normal values with deviation `sigma`, truncated at 2 `sigma`.

    Values beyond are drawn again.
    """
    values = rng.normal(size=size)
    while (beyond := np.abs(values) > 2).any():
        values[beyond] = rng.normal(size=np.count_nonzero(beyond))
    return sigma * values


def zeros(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return zeros, from which a convex model learns; `rng` draws nothing."""
    return np.zeros(variable.shape)


def glorot_uniform(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return weights that keep a signal's variance from layer to layer (Glorot & Bengio, 2010).

    Biases are zero.
    """
    if variable.kind == "bias":
        return np.zeros(variable.shape)
    # every input of a filter occurs once for each pixel of its window, so fans grow with it
    *window, inputs, outputs = variable.shape
    bound = math.sqrt(6 / (math.prod(window) * (inputs + outputs)))
    return rng.uniform(-bound, bound, size=variable.shape)


def he_normal(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return weights that keep a signal's size through layers with ReLU (He et al., 2015).

    Biases are zero.
    """
    if variable.kind == "bias":
        return np.zeros(variable.shape)
    entering = math.prod(variable.shape[:-1])
    return rng.normal(0, math.sqrt(2 / entering), size=variable.shape)
