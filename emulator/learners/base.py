"""What a node asks of learning: flat float32 vectors in, flat float32 vectors out."""

from typing import Protocol

from ..codecs.base import Vector


class Learner(Protocol):
    """A device's own: it knows its data and which mini-batch comes next."""

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        """The mean gradient and the mean loss over the next mini-batch."""


class Evaluator(Protocol):
    def evaluate(self, weights: Vector) -> tuple[float, float]:
        """The accuracy, as a fraction, and the mean loss over the whole test set."""
