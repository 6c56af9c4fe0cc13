"""Variables of common layers, weights first and the bias last, and draws of their first values."""

import math

import numpy as np
from numpy.typing import NDArray

from ...layout import Variable


def conv(layer: int, size: int, channels: int, filters: int) -> tuple[Variable, Variable]:
    """Return the variables of a convolution with `filters` windows of `size` × `size` pixels."""
    name = f"conv{layer}"
    return (
        Variable(f"{name}/weights", (size, size, channels, filters), "conv", layer),
        Variable(f"{name}/bias", (filters,), "bias", layer),
    )


def dense(layer: int, inputs: int, outputs: int) -> tuple[Variable, Variable]:
    """Return the variables of a dense layer: weights [inputs, outputs] and bias [outputs]."""
    name = f"dense{layer}"
    return (
        Variable(f"{name}/weights", (inputs, outputs), "dense", layer),
        Variable(f"{name}/bias", (outputs,), "bias", layer),
    )


def lstm(layer: int, inputs: int, units: int) -> tuple[Variable, Variable, Variable]:
    """Return the variables of an LSTM layer: input weights, recurrent weights, bias.

    The four gates stand side by side in the last dimension, 4 · `units`.
    """
    name = f"lstm{layer}"
    return (
        Variable(f"{name}/weights", (inputs, 4 * units), "recurrent", layer),
        Variable(f"{name}/recurrent", (units, 4 * units), "recurrent", layer),
        Variable(f"{name}/bias", (4 * units,), "bias", layer),
    )


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
