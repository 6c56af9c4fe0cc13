"""Gradients of perceptrons in plain NumPy, for tests and for machines without TensorFlow.

Layouts of `models.mlp` are supported: dense layers with ReLU in between and softmax at the end. The
results equal TensorFlow's up to float32 rounding, and do not depend on the number of cores.
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
    """Gradients of a perceptron. The batch size may change from call to call."""

    def __init__(self, layout: Layout) -> None:
        """Prepare for `layout`. Raises ValueError with the supported models if it is another's."""
        self._network = _Perceptron(layout)

    def gradient(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[Vector, float]:
        """Return the gradient and the mean cross-entropy over the batch.

        `x` is float32 [batch, pixels] in [0, 1], `y` int32 [batch]. Raises ValueError for other
        shapes.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
            activations, logits = self._network.forward(theta, x, y)
            losses, error = _cross_entropy(logits, y)
            error /= np.float32(len(y))  # the gradient of the mean, not of the sum
            return self._network.backward(theta, activations, error), float(losses.mean())

    def close(self) -> None:
        """Do nothing, as no resource is held."""


class NumpyEvaluator:
    """Evaluation of a perceptron."""

    def __init__(self, layout: Layout) -> None:
        """Prepare for `layout`, as NumpyLearner does."""
        self._network = _Perceptron(layout)

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[int, float]:
        """Return the number of right answers in the batch and the sum of their losses."""
        with np.errstate(over="ignore", invalid="ignore"):
            _, logits = self._network.forward(theta, x, y)
            losses, _ = _cross_entropy(logits, y)
        return int(np.count_nonzero(logits.argmax(1) == y)), float(losses.sum())

    def close(self) -> None:
        """Do nothing, as no resource is held."""


class _Perceptron:
    """Forward and backward pass through the dense layers of a layout."""

    def __init__(self, layout: Layout) -> None:
        if reason := refusal(layout):
            raise ValueError(reason)
        one_thread()
        # variables alternate: weights, bias
        parts = [(variable.shape, part) for variable, part in layout]
        self._layers = list(zip(parts[::2], parts[1::2], strict=True))
        self._size, self._classes = layout.size, layout.variables[-1].size

    def forward(self, theta: Vector, x: Array, y: Array) -> tuple[list[Array], Array]:
        """Return the input of every layer, and the logits [batch, classes]. Raises ValueError."""
        self._check(theta, x, y)
        inputs: list[Array] = []
        for (shape, weights), (_, bias) in self._layers:
            inputs.append(np.maximum(x, 0) if inputs else x)
            x = inputs[-1] @ theta[weights].reshape(shape) + theta[bias]
        return inputs, x

    def backward(self, theta: Vector, inputs: list[Array], error: Array) -> Vector:
        """Return the gradient of a loss, given its gradient `error` with respect to the logits."""
        gradient = np.empty(self._size, np.float32)
        layers = list(zip(self._layers, inputs, strict=True))
        for number, (((shape, weights), (_, bias)), entered) in reversed([*enumerate(layers)]):
            # written in place: the reshaped slice is a view of the flat gradient
            np.matmul(entered.T, error, out=gradient[weights].reshape(shape))
            gradient[bias] = error.sum(0)
            if number:  # ReLU passes the gradient where its output is positive
                error = (error @ theta[weights].reshape(shape).T) * (entered > 0)
        return gradient

    def _check(self, theta: Vector, x: Array, y: Array) -> None:
        """Raise ValueError unless `theta`, `x` and `y` fit the layout."""
        if theta.shape != (self._size,):
            raise ValueError(f"theta has shape {theta.shape}, the model {self._size} parameters")
        pixels = self._layers[0][0][0][0]
        if x.shape != (len(y), pixels):
            raise ValueError(f"x has shape {x.shape}, not {(len(y), pixels)}")
        # a negative label would silently index from the end
        if y.min(initial=0) < 0 or y.max(initial=0) >= self._classes:
            raise ValueError(f"a label is not below {self._classes}")


def _cross_entropy(logits: Array, y: Array) -> tuple[Array, Array]:
    """Return each example's loss, and the gradient of their sum with respect to the logits."""
    rows = np.arange(len(y))
    logits = logits - logits.max(1, keepdims=True)  # the largest becomes 0, so exp cannot overflow
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
    """Return whether `layout` is a chain of dense layers with biases."""
    kinds = [variable.kind for variable in layout.variables]
    if not kinds or kinds != ["dense", "bias"] * (len(kinds) // 2):
        return False
    shapes = [variable.shape for variable in layout.variables]
    weights, biases = shapes[::2], shapes[1::2]
    if any(len(shape) != 2 for shape in weights):
        return False
    chained = all(a[1] == b[0] for a, b in pairwise(weights))
    return chained and all(bias == (shape[1],) for shape, bias in zip(weights, biases, strict=True))
