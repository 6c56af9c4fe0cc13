"""The two parts of a perceptron that is cut behind a layer, in plain NumPy.

The results are those of `NumpyLearner` to the bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout
from ...vectors import Vector
from .base import Slopes
from .numpy import Perceptron, check_labels, cross_entropy, refusal
from .tensors import Array


class KeptInputs(NamedTuple):
    """Values of an iteration on a device, from the forward to the backward pass."""

    weights: Vector
    """Parameters of the device's layers; the caller does not write them meanwhile."""
    inputs: list[Array]
    """Input of every layer."""
    activations: Array
    """Activations [batch, units] at the cut."""


class NumpyDevice:
    """A DeviceNetwork: the layers of a perceptron before a cut."""

    def __init__(self, layout: Layout, layer: int) -> None:
        """Prepare for the layers up to `layer` of a perceptron with the `layout`.

        Raises ValueError for other layouts, and if there is no such cut.
        """
        before, _ = _parts(layout, layer)
        self._network, self._units = Perceptron(before), before.variables[-1].size
        self._classes = layout.variables[-1].size

    def forward(self, weights: Vector, x: NDArray[np.float32]) -> tuple[Vector, KeptInputs]:
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
            inputs, outputs = self._network.forward(weights, x, np.zeros(len(x), np.int32))
            activations = np.maximum(outputs, 0)  # ReLU belongs to the layer before the cut
        return activations.ravel(), KeptInputs(weights, inputs, activations)

    def backward(self, kept: KeptInputs, slopes: Vector) -> Vector:
        error = _rows(slopes, len(kept.activations), self._units)
        with np.errstate(over="ignore", invalid="ignore"):
            error = error * (kept.activations > 0)
            return self._network.backward(kept.weights, kept.inputs, error)

    def gradient(self, weights: Vector, x: NDArray[np.float32], slopes: Vector) -> Vector:
        return self.backward(self.forward(weights, x)[1], slopes)

    def loss(self, logits: Vector, y: NDArray[np.int32]) -> tuple[float, Vector]:
        check_labels(y, self._classes)
        with np.errstate(over="ignore", invalid="ignore"):
            return _mean_loss(_rows(logits, len(y), self._classes), y)


class NumpyServer:
    """A ServerPart: the layers of a perceptron behind a cut."""

    def __init__(self, layout: Layout, layer: int) -> None:
        """Prepare for the layers behind `layer` of a perceptron with the `layout`.

        Raises ValueError for other layouts, and if there is no such cut.
        """
        before, behind = _parts(layout, layer)
        self._network, self._units = Perceptron(behind), before.variables[-1].size
        self._classes = layout.variables[-1].size
        self._first = behind.variables[0].shape, behind.bounds[0]

    def slopes(
        self, weights: Vector, activations: Vector, rows: int, labels: NDArray[np.int32]
    ) -> Slopes:
        if labels.shape != (rows,):
            raise ValueError(f"{rows} examples have {rows} labels, not {labels.size}")
        with np.errstate(over="ignore", invalid="ignore"):
            inputs, logits = self._forward(weights, activations, rows, labels)
            loss, error = _mean_loss(logits, labels)
            return Slopes(loss, *self._backward(weights, inputs, error.reshape(logits.shape)))

    def logits(self, weights: Vector, activations: Vector, rows: int) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._forward(weights, activations, rows)[1].ravel()

    def slopes_of(
        self, weights: Vector, activations: Vector, rows: int, logit_gradient: Vector
    ) -> tuple[Vector, Vector]:
        error = _rows(logit_gradient, rows, self._classes)
        with np.errstate(over="ignore", invalid="ignore"):
            inputs, _ = self._forward(weights, activations, rows)
            return self._backward(weights, inputs, error)

    def _forward(
        self, weights: Vector, activations: Vector, rows: int, labels: Array | None = None
    ) -> tuple[list[Array], Array]:
        """Return the input of every layer, and the logits."""
        x = _rows(activations, rows, self._units)
        return self._network.forward(weights, x, np.zeros(rows, int) if labels is None else labels)

    def _backward(
        self, weights: Vector, inputs: list[Array], error: Array
    ) -> tuple[Vector, Vector]:
        """Return the gradients by the activations and by the parameters, both flat."""
        gradient = np.empty_like(weights)
        for number, entered in reversed([*enumerate(inputs)]):
            error = self._network.layer_backward(number, weights, entered, error, gradient)
        # `error` is by the output of the first layer; the network ends there, as no other needs it
        shape, (start, stop) = self._first
        return (error @ weights[start:stop].reshape(shape).T).ravel(), gradient


def _parts(layout: Layout, layer: int) -> tuple[Layout, Layout]:
    """Return the layouts before and behind a cut behind `layer`. Raises ValueError."""
    if reason := refusal(layout):
        raise ValueError(reason)
    last = len(layout.layers)
    if not 1 <= layer < last:
        raise ValueError(f"no cut behind layer {layer}: take a layer from 1 to {last - 1}")
    return layout.part((1, layer)), layout.part((layer + 1, last))


def _rows(flat: Vector, rows: int, size: int) -> Array:
    """Return `flat` as `rows` rows of `size` floats. Raises ValueError if it has others."""
    if rows < 1 or flat.shape != (rows * size,):
        raise ValueError(f"{rows} examples have {rows * size} floats, not {flat.shape}")
    return flat.reshape(rows, size)


def _mean_loss(logits: Array, y: Array) -> tuple[float, Vector]:
    """Return the mean loss, and its gradient by the `logits`, flat."""
    losses, error = cross_entropy(logits, y)
    error /= np.float32(len(y))  # the gradient of the mean, not of the sum
    return float(losses.mean()), error.ravel()
