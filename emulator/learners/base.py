"""Protocols of learning for a node: flat float32 vectors in, flat float32 vectors out."""

from typing import Protocol

from ..layout import Segment
from ..vectors import Vector


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


class Evaluator(Protocol):
    """Measures a model on a test set."""

    def evaluate(self, weights: Vector) -> tuple[float, float]:
        """Return the share of right answers and the mean loss of an answer over the whole test
        set."""
