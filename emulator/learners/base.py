"""What a node asks of learning: flat float32 vectors in, flat float32 vectors out."""

from typing import Protocol

from ..vectors import Vector


class Learner(Protocol):
    """A device's own: it knows its data and which mini-batch comes next."""

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        """The mean gradient and the mean loss of an answer over the next mini-batch.

        Where devices train for several, the gradients' sum and the mean of the losses.
        """


class Evaluator(Protocol):
    def evaluate(self, weights: Vector) -> tuple[float, float]:
        """The share of right answers and the mean loss of one, over the whole test set."""
