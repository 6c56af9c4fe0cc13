"""Learning on a device: its shard, its exported graph, and the batch that is next."""

from pathlib import Path

from ..datasets import shard
from ..vectors import Vector
from .batches import Batches
from .graph import GraphEvaluator, GraphLearner
from .local_steps import descend, draw, per_epoch
from .local_training import LocalTraining

CHUNK = 100
"""Test examples evaluated at once: larger chunks take as long and more memory."""

FEW = 32
"""Examples that TensorFlow's graph is prepared with, at most: a device that has no memory for its
batch says hello all the same, and the run goes on without it."""

_ONE = LocalTraining(rate=1.0)
"""One step, in whose gradient the rate has no part."""


class DeviceLearner:
    """A Learner: gradients of the exported model on mini-batches of the shard."""

    def __init__(
        self, graph: Path, data: Path, *, batch_size: int, stream: str, local: LocalTraining = _ONE
    ) -> None:
        """Both folders are only read. `stream` names the draws that order the batches; `local` says
        how many of them a gradient is the sum of. Takes as long as a gradient or several: what
        TensorFlow prepares in its first one is ready then."""
        self._examples, self._local = shard.read(data), local
        self._batches = Batches(self._examples, batch_size, stream)
        self._graph = GraphLearner(graph)
        self._graph.prepare(*self._examples.batch(slice(min(batch_size, FEW))))

    @property
    def per_epoch(self) -> int:
        """Updates in one pass over the shard, at least one."""
        return per_epoch(self._batches, self._local)

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        batches = map(self._examples.batch, draw(self._batches, self._local))
        return descend(self._graph.gradient, weights, batches, self._local.rate)


class DeviceEvaluator:
    """An Evaluator: the exported model's accuracy and loss over the whole shard."""

    def __init__(self, graph: Path, data: Path) -> None:
        self._examples = shard.read(data)
        self._graph = GraphEvaluator(graph)

    def evaluate(self, weights: Vector) -> tuple[float, float]:
        right, loss = 0, 0.0
        for start in range(0, len(self._examples), CHUNK):
            x, y = self._examples.batch(slice(start, start + CHUNK))
            part = self._graph.evaluate(weights, x, y)
            right, loss = right + part[0], loss + part[1]
        answers = self._examples.answers
        return right / answers, loss / answers
