"""Gradients of perceptrons in plain NumPy, for tests and for machines without TensorFlow.

Layouts of `models.mlp` are supported: dense layers with ReLU in between and softmax at the end. The
results equal TensorFlow's up to float32 rounding, and do not depend on the number of cores.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout
from ...vectors import Vector
from ..models import MODELS
from .blas import one_thread
from .tensors import Array


class NumpyLearner:
    """Gradients of a perceptron. The batch size may change from call to call."""

    def __init__(self, layout: Layout) -> None:
        """Prepare for `layout`. Raises ValueError with the supported models if it is another's."""
        self._network = Perceptron(layout)

    def gradient(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[Vector, float]:
        """Return the gradient and the mean cross-entropy over the batch.

        `x` is float32 [batch, pixels] in [0, 1], `y` int32 [batch]. Raises ValueError for other
        shapes.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
            activations, logits = self._network.forward(theta, x, y)
            losses, error = cross_entropy(logits, y)
            error /= np.float32(len(y))  # the gradient of the mean, not of the sum
            return self._network.backward(theta, activations, error), float(losses.mean())

    def close(self) -> None:
        """Do nothing, as no resource is held."""


class NumpyEvaluator:
    """Evaluation of a perceptron."""

    def __init__(self, layout: Layout) -> None:
        """Prepare for `layout`, as NumpyLearner does."""
        self._network = Perceptron(layout)

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[int, float]:
        """Return the number of right answers in the batch and the sum of their losses."""
        with np.errstate(over="ignore", invalid="ignore"):
            _, logits = self._network.forward(theta, x, y)
            losses, _ = cross_entropy(logits, y)
            total = float(losses.sum())  # in f32, which overflows where training diverges
        return int(np.count_nonzero(logits.argmax(1) == y)), total

    def close(self) -> None:
        """Do nothing, as no resource is held."""


class Perceptron:
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
        self.check(theta, x, y)
        inputs: list[Array] = []
        for number in range(len(self._layers)):
            entered, x = self.layer_forward(number, theta, x)
            inputs.append(entered)
        return inputs, x

    def backward(self, theta: Vector, inputs: list[Array], error: Array) -> Vector:
        """Return the gradient of a loss, given its gradient `error` with respect to the logits."""
        gradient = np.empty(self._size, np.float32)
        for number, entered in reversed([*enumerate(inputs)]):
            error = self.layer_backward(number, theta, entered, error, gradient)
        return gradient

    def layer_forward(self, number: int, theta: Vector, x: Array) -> tuple[Array, Array]:
        """Return the input and the output of layer `number`, from 0; `x` is the output before."""
        (shape, weights), (_, bias) = self._layers[number]
        entered = np.maximum(x, 0) if number else x
        return entered, entered @ theta[weights].reshape(shape) + theta[bias]

    def layer_backward(
        self, number: int, theta: Vector, entered: Array, error: Array, gradient: Vector
    ) -> Array:
        """Write the gradient of layer `number` into the flat `gradient`.

        `error` is the loss's gradient with respect to the layer's output. Return it for the layer
        before; `error` itself for the first layer.
        """
        (shape, weights), (_, bias) = self._layers[number]
        # written in place: the reshaped slice is a view of the flat gradient
        np.matmul(entered.T, error, out=gradient[weights].reshape(shape))
        gradient[bias] = error.sum(0)
        if not number:
            return error
        # ReLU passes the gradient where its output is positive
        passed: Array = (error @ theta[weights].reshape(shape).T) * (entered > 0)
        return passed

    def check(self, theta: Vector, x: Array, y: Array) -> None:
        """Raise ValueError unless `theta`, `x` and `y` fit the layout."""
        if theta.shape != (self._size,):
            raise ValueError(f"theta has shape {theta.shape}, the model {self._size} parameters")
        pixels = self._layers[0][0][0][0]
        if x.shape != (len(y), pixels):
            raise ValueError(f"x has shape {x.shape}, not {(len(y), pixels)}")
        check_labels(y, self._classes)


def check_labels(y: Array, classes: int) -> None:
    """Raise ValueError unless the labels `y` are from 0 to `classes` - 1."""
    # a negative label would silently index from the end
    if y.min(initial=0) < 0 or y.max(initial=0) >= classes:
        raise ValueError(f"a label is not below {classes}")


def cross_entropy(logits: Array, y: Array) -> tuple[Array, Array]:
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
