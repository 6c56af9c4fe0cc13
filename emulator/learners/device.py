"""Learning on a device: its shard, its exported graph, and the batch that is next."""

from pathlib import Path

from ..datasets import shard
from ..vectors import Vector
from .batches import Batches
from .graph import GraphEvaluator, GraphLearner
from .local_steps import descend, draw
from .local_training import LocalTraining

CHUNK = 100
"""Test examples evaluated at once: larger chunks take as long and more memory."""

FEW = 32
"""Examples that TensorFlow's graph is prepared with, at most: a device that has no memory for its
batch says hello all the same, and the run goes on without it."""

_ONE = LocalTraining(rate=1.0)
"""One step, in whose gradient the rate has no part."""


class DeviceLearner:
    """A Learner: gradients of the exported model on mini-batches of the device's shard."""

    def __init__(self, graph: Path, batches: Batches, local: LocalTraining = _ONE) -> None:
        """Load the exported model from the folder `graph`.

        A gradient is the sum over as many of the `batches` as `local` says. Loading takes as long
        as one gradient or several: TensorFlow prepares itself in its first one, which comes here.
        """
        self._batches, self._local = batches, local
        self._graph = GraphLearner(graph)
        self._graph.prepare(*batches.examples.batch(slice(min(batches.size, FEW))))

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        batches = map(self._batches.examples.batch, draw(self._batches, self._local))
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
