"""Gradients of perceptrons in plain NumPy, for tests and for machines without TensorFlow.

Layouts of `models.mlp` are supported: dense layers with ReLU in between and softmax at the end. The
results equal TensorFlow's up to float32 rounding, and do not depend on the number of cores.
"""

import ctypes
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Segment
from ...vectors import Vector
from ..models import MODELS
from .base import Slopes
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


class NumpyStages:
    """A StagedNetwork: a perceptron with a segment for each layer, or its layers before a cut.

    The results are those of `NumpyLearner` to the bit.
    """

    def __init__(self, layout: Layout, cut: int | None = None) -> None:
        """Prepare the layers of a perceptron up to `cut`; None prepares all layers, one by one.

        Raises ValueError for other layouts, and if there is no such cut.
        """
        self.layout = layout if cut is None else _parts(layout, cut)[0]
        self._network, self._cut = Perceptron(self.layout), cut
        layers = range(1, len(self.layout.layers) + 1)
        self._segments: list[Segment] = [(1, cut)] if cut else [(n, n) for n in layers]
        self._classes = layout.variables[-1].size
        self._theta = np.zeros(self.layout.size, np.float32)
        self._y: Array = np.empty(0, np.int32)
        self._next = 0  # number of the pass that may run; forwards, then backwards
        self.loss = math.nan

    def begin(self, *batch: NDArray[Any]) -> None:
        x, y = batch
        self._network.check(self._theta, x, np.zeros_like(y) if self._cut else y)
        self._x, self._y, self.loss, self._next = x, y, math.nan, 1
        self._entered: list[Array] = []  # inputs of the layers that ran forwards and not backwards
        self._gradient = np.empty(self.layout.size, np.float32)  # new: the old one was handed out

    def forward(self, number: int, weights: Vector) -> Vector | None:
        segment = self._segments[number - 1]
        place = self.layout.place(segment)
        if weights.shape != (place.stop - place.start,):
            raise ValueError(f"{place.stop - place.start} parameters belong to {segment}")
        self._follow(number)
        self._theta[place] = weights
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
            for layer in range(segment[0] - 1, segment[1]):
                entered, self._x = self._network.layer_forward(layer, self._theta, self._x)
                self._entered.append(entered)
            if self._cut:
                self._x = np.maximum(self._x, 0)  # ReLU belongs to the layer before the cut
                return self._x.ravel()
            if segment[1] == len(self.layout.layers):
                self.loss, error = _mean_loss(self._x, self._y)
                self._error = error.reshape(self._x.shape)
        return None

    def backward(self, number: int, slopes: Vector | None = None) -> Vector:
        segment, count = self._segments[number - 1], len(self._segments)
        if self._cut and self._next == count + 1:
            if slopes is None:
                raise ValueError("the gradient by the activations is missing")
            error = _rows(slopes, len(self._y), self._x.shape[1])
            self._error = error * (self._x > 0)
        self._follow(2 * count + 1 - number)
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in range(segment[1] - 1, segment[0] - 2, -1):
                self._error = self._network.layer_backward(
                    layer, self._theta, self._entered.pop(), self._error, self._gradient
                )
        return self._gradient[self.layout.place(segment)]

    def loss_at(self, logits: Vector) -> tuple[float, Vector]:
        check_labels(self._y, self._classes)
        with np.errstate(over="ignore", invalid="ignore"):
            return _mean_loss(_rows(logits, len(self._y), self._classes), self._y)

    def _follow(self, number: int) -> None:
        """Let pass `number` run. Raises ValueError unless it is the next one."""
        if number != self._next:
            passes = 2 * len(self._segments)
            raise ValueError(f"pass {number} of {passes} cannot follow {self._next - 1}")
        self._next += 1


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


MAPS = Path("/proc/self/maps")

_SETTERS = (  # spellings of NumPy's wheels, then of distributions
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


@cache
def one_thread() -> None:
    """Limit OpenBLAS to one thread in this process, whatever the environment and the cores.

    More threads change the last bits of products. They would gain little at the size of a
    mini-batch, where gradients of several devices are computed side by side anyway.
    Another BLAS library is not affected; NumPy's wheels contain OpenBLAS.
    """
    for path in _libraries():
        opened = ctypes.CDLL(path)  # already loaded: this returns the same library
        for name in _SETTERS:
            if hasattr(opened, name):
                getattr(opened, name)(ctypes.c_int(1))


def _libraries() -> list[str]:
    """Return the paths of the OpenBLAS libraries that this process has loaded."""
    try:
        lines = MAPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    paths = {line.partition("/")[1] + line.partition("/")[2] for line in lines}
    return sorted(path for path in paths if "openblas" in Path(path).name)
