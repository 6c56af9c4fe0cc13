"""Gradients of perceptrons in plain NumPy, for tests and for machines that have no TensorFlow.

It knows only what a layout says: dense layers with ReLU between them and a softmax at the end, as
`models.mlp` makes them. Its numbers are TensorFlow's but for the rounding of float32, and the
same bits on one core or many.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout
from ..models import MODELS
from ..vectors import Vector
from .blas import one_thread
from .tensors import Array


class NumpyLearner:
    """Gradients of one perceptron. The batch size may change from call to call."""

    def __init__(self, layout: Layout) -> None:
        """A ValueError names the models that it can do, if this is the layout of another one."""
        self._network = _Perceptron(layout)

    def gradient(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[Vector, float]:
        """The gradient and the mean cross-entropy over the batch, `x` [batch, pixels] in [0, 1]."""
        with np.errstate(over="ignore", invalid="ignore"):  # who encodes it refuses what came of it
            activations, logits = self._network.forward(theta, x, y)
            losses, error = _cross_entropy(logits, y)
            error /= np.float32(len(y))
            return self._network.backward(theta, activations, error), float(losses.mean())

    def close(self) -> None:
        """Nothing is held; those who close what they no longer need may."""


class NumpyEvaluator:
    """Right answers of one perceptron."""

    def __init__(self, layout: Layout) -> None:
        """As NumpyLearner's."""
        self._network = _Perceptron(layout)

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[int, float]:
        """How many of the batch are right, and the sum of their losses."""
        with np.errstate(over="ignore", invalid="ignore"):
            _, logits = self._network.forward(theta, x, y)
            losses, _ = _cross_entropy(logits, y)
        return int(np.count_nonzero(logits.argmax(1) == y)), float(losses.sum())

    def close(self) -> None:
        """As NumpyLearner's."""


class _Perceptron:
    """The two passes through a layout's dense layers."""

    def __init__(self, layout: Layout) -> None:
        if why := refusal(layout):
            raise ValueError(why)
        one_thread()
        parts = [(variable.shape, at) for variable, at in layout]
        self._layers = list(zip(parts[::2], parts[1::2], strict=True))
        self._size, self._classes = layout.size, layout.variables[-1].size

    def forward(self, theta: Vector, x: Array, y: Array) -> tuple[list[Array], Array]:
        """What goes into each layer, and the logits. A ValueError says what does not fit."""
        self._check(theta, x, y)
        inputs: list[Array] = []
        for (shape, weights), (_, bias) in self._layers:
            inputs.append(np.maximum(x, 0) if inputs else x)
            x = inputs[-1] @ theta[weights].reshape(shape) + theta[bias]
        return inputs, x

    def backward(self, theta: Vector, inputs: list[Array], error: Array) -> Vector:
        """The gradient of a loss whose gradient with respect to the logits is `error`."""
        gradient = np.empty(self._size, np.float32)
        layers = list(zip(self._layers, inputs, strict=True))
        for number, (((shape, weights), (_, bias)), entered) in reversed([*enumerate(layers)]):
            np.matmul(entered.T, error, out=gradient[weights].reshape(shape))
            gradient[bias] = error.sum(0)
            if number:
                error = (error @ theta[weights].reshape(shape).T) * (entered > 0)
        return gradient

    def _check(self, theta: Vector, x: Array, y: Array) -> None:
        if theta.shape != (self._size,):
            raise ValueError(f"theta has shape {theta.shape}, the model {self._size} parameters")
        pixels = self._layers[0][0][0][0]
        if x.shape != (len(y), pixels):
            raise ValueError(f"x has shape {x.shape}, not {(len(y), pixels)}")
        if y.min(initial=0) < 0 or y.max(initial=0) >= self._classes:  # NumPy counts from the end
            raise ValueError(f"a label is not below {self._classes}")


def _cross_entropy(logits: Array, y: Array) -> tuple[Array, Array]:
    """Each example's loss, and the gradient of their sum with respect to the logits."""
    rows = np.arange(len(y))
    logits = logits - logits.max(1, keepdims=True)  # the largest becomes 0: none overflows
    powers = np.exp(logits)
    sums = powers.sum(1, keepdims=True)
    losses = np.log(sums[:, 0]) - logits[rows, y]
    softmax = powers / sums
    softmax[rows, y] -= 1
    return losses, softmax


def refusal(layout: Layout) -> str:
    """Return why NumPy cannot learn a model of this `layout`; nothing if it can."""
    if _is_perceptron(layout):
        return ""
    known = [name for name, model in MODELS.items() if _is_perceptron(model.layout)]
    return (
        f"NumPy learns perceptrons only, {' or '.join(known)}: take one of them, or "
        "TensorFlow as the learner"
    )


def _is_perceptron(layout: Layout) -> bool:
    kinds = [variable.kind for variable in layout.variables]
    if not kinds or kinds != ["dense", "bias"] * (len(kinds) // 2):
        return False
    shapes = [variable.shape for variable in layout.variables]
    weights, biases = shapes[::2], shapes[1::2]
    if any(len(shape) != 2 for shape in weights):
        return False
    chained = all(a[1] == b[0] for a, b in pairwise(weights))
    return chained and all(bias == (shape[1],) for shape, bias in zip(weights, biases, strict=True))
