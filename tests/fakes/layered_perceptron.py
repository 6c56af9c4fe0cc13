"""A perceptron in NumPy that computes layer by layer, for tests without TensorFlow."""

import math

import numpy as np
from numpy.typing import NDArray

from emulator.layout import Layout
from emulator.learning.learners.numpy import Perceptron, cross_entropy
from emulator.learning.learners.tensors import Array
from emulator.vectors import Vector


class LayeredPerceptron:
    """Single layers of a perceptron: a `LayeredNetwork`."""

    def __init__(self, layout: Layout) -> None:
        """Prepare for `layout`, as NumpyLearner does."""
        self._network, self.layout = Perceptron(layout), layout
        self._theta = np.zeros(layout.size, np.float32)
        self.loss = math.nan

    def begin(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Begin an iteration over a batch, as of `NumpyLearner.gradient`."""
        self._network.check(self._theta, x, y)
        self._x, self._y, self.loss = x, y, math.nan
        self._entered: list[Array] = []  # inputs of the layers that ran forward and not backward
        self._error: Array | None = None  # gradient of the last of these layers' outputs
        self._gradient = np.empty(self.layout.size, np.float32)  # new: the old one was handed out

    def forward(self, layer: int, weights: Vector) -> None:
        """Compute the forward pass of `layer`. Raises ValueError unless it is the next layer."""
        if layer != len(self._entered) + 1 or self._error is not None:
            raise ValueError(f"the forward pass of layer {layer} cannot follow")
        self._theta[self.layout.layers[layer - 1]] = weights
        with np.errstate(over="ignore", invalid="ignore"):
            entered, self._x = self._network.layer_forward(layer - 1, self._theta, self._x)
            self._entered.append(entered)
            if layer == len(self.layout.layers):
                losses, self._error = cross_entropy(self._x, self._y)
                self._error /= np.float32(len(self._y))
                self.loss = float(losses.mean())

    def backward(self, layer: int) -> Vector:
        """Return the gradient of `layer`. Raises ValueError unless it is the next layer."""
        if layer != len(self._entered) or self._error is None:
            raise ValueError(f"the backward pass of layer {layer} cannot follow")
        with np.errstate(over="ignore", invalid="ignore"):
            self._error = self._network.layer_backward(
                layer - 1, self._theta, self._entered.pop(), self._error, self._gradient
            )
        return self._gradient[self.layout.layers[layer - 1]]
