"""Protocols of learning for a node: flat float32 vectors in, flat float32 vectors out."""

from typing import Protocol

from ..vectors import Vector


class Learner(Protocol):
    """Learner of a device, with a data shard and an order of mini-batches."""

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        """Return the mean gradient and the mean loss of an answer over the next mini-batch.

        With several local steps: the sum of their gradients, and the mean of their losses.
        """


class Evaluator(Protocol):
    """Measures a model on a test set."""

    def evaluate(self, weights: Vector) -> tuple[float, float]:
        """Return the share of right answers and the mean loss of an answer over the whole test
        set."""
