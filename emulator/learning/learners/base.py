"""Protocols of learning for a node: flat float32 vectors in, flat float32 vectors out."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...layout import Segment
from ...vectors import Vector


class Learner(Protocol):
    """Learner of a device, with a data shard and an order of mini-batches."""

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        """Return the mean gradient and the mean loss of an answer over the next mini-batch.

        With several local steps: the sum of their gradients, and the mean of their losses.
        """


class LayeredLearner(Protocol):
    """Learner of a device that computes layer by layer, as the layers' parameters arrive."""

    def begin(self) -> None:
        """Draw the next mini-batch, and forget an iteration that did not end."""

    def forward(self, segment: Segment, weights: Vector) -> list[float]:
        """Compute the forward pass of the layers of `segment`; return the seconds of each layer.

        `weights` are the layers' parameters, flat float32. Segments come in order, from layer 1.
        """

    def backward(self, segment: Segment) -> tuple[Vector, list[float]]:
        """Return the gradient of the layers of `segment`, and the seconds of each layer.

        The seconds are ordered as the layers are: item 0 is of the segment's first layer. Segments
        come in order, from the last layer. The gradient is flat float32, equal to the
        same slice of the whole gradient.
        """

    @property
    def loss(self) -> float:
        """Mean loss of an answer over the mini-batch, known after the last forward pass."""


class Activated(NamedTuple):
    """Result of the forward pass of a device's part of a model."""

    activations: Vector
    """Tensors that cross the cut, flat, one behind the other."""
    rows: int
    """Number of examples in the mini-batch."""
    labels: NDArray[np.int32]
    """Labels of the examples, flat."""


class DevicePart(Protocol):
    """Learner of a device that holds the layers before the cut of a model."""

    def activate(self, weights: Vector) -> Activated:
        """Compute the activations of the next mini-batch; forget an iteration that did not end."""

    def backward_from(self, slopes: Vector) -> Vector:
        """Return the gradient of the device's part, flat float32.

        `slopes` is the gradient of the mean loss by the activations, in the same order.
        """

    def loss_at(self, logits: Vector) -> tuple[float, Vector]:
        """Return the mean loss over the mini-batch, and its gradient by `logits`."""


class Slopes(NamedTuple):
    """Result of a pass through the server's part of a model."""

    loss: float
    """Mean loss of an answer over the mini-batch."""
    activations: Vector
    """Gradient of the mean loss by the activations, in the order of the activations."""
    parameters: Vector
    """Gradient of the mean loss by the parameters of the server's part, flat float32."""


class ServerPart(Protocol):
    """Learner of the server that holds the layers behind the cut of a model."""

    def slopes(
        self, weights: Vector, activations: Vector, rows: int, labels: NDArray[np.int32]
    ) -> Slopes:
        """Compute loss and gradients of `rows` examples."""

    def logits(self, weights: Vector, activations: Vector, rows: int) -> Vector:
        """Return the outputs for `rows` examples, flat, row by row."""

    def slopes_of(
        self, weights: Vector, activations: Vector, rows: int, logit_gradient: Vector
    ) -> tuple[Vector, Vector]:
        """Return the gradients by the activations and by the parameters.

        `logit_gradient` is the gradient of the mean loss by the logits, computed at a device.
        """


class Evaluation(NamedTuple):
    """Result of a measurement on the whole test set."""

    accuracy: float | None
    """Share of right answers; None for a regression."""
    loss: float
    """Mean loss of an answer."""
    error: float | None = None
    """Mean absolute error of an answer of a regression; None for classes."""


def evaluation(score: float, loss: float, answers: NDArray[Any]) -> Evaluation:
    """Return the result of `answers`, of which `score` is the number of right ones, or the sum of
    the absolute errors of a regression; `loss` is the sum of their losses."""
    mean, mean_loss = score / answers.size, loss / answers.size
    if answers.dtype.kind == "f":
        return Evaluation(None, mean_loss, mean)
    return Evaluation(mean, mean_loss)


class Evaluator(Protocol):
    """Measures a model on a test set."""

    def evaluate(self, weights: Vector) -> Evaluation:
        """Return the result over the whole test set."""
