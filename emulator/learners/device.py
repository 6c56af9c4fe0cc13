"""Learning on a device: its shard, its exported graph, and the batch that is next."""

from pathlib import Path

from ..codecs.base import Vector
from ..datasets import shard
from .batches import Batches
from .graph import GraphEvaluator, GraphLearner

CHUNK = 100
"""Test examples evaluated at once: larger chunks take as long and more memory."""


class DeviceLearner:
    """A Learner: gradients of the exported model on mini-batches of the shard."""

    def __init__(self, graph: Path, data: Path, *, batch_size: int, stream: str) -> None:
        """Both folders are only read. `stream` names the draws that order the batches."""
        self._batches = Batches(shard.read(data), batch_size, stream)
        self._graph = GraphLearner(graph)

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        return self._graph.gradient(weights, *next(self._batches))


class DeviceEvaluator:
    """An Evaluator: the exported model's accuracy and loss over the whole shard."""

    def __init__(self, graph: Path, data: Path) -> None:
        self._examples = shard.read(data)
        self._graph = GraphEvaluator(graph)

    def evaluate(self, weights: Vector) -> tuple[float, float]:
        right, loss, total = 0, 0.0, len(self._examples)
        for start in range(0, total, CHUNK):
            x, y = self._examples.batch(slice(start, start + CHUNK))
            part = self._graph.evaluate(weights, x, y)
            right, loss = right + part[0], loss + part[1]
        return right / total, loss / total
