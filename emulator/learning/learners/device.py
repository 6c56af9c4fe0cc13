"""Learning on a device: a shard of data, an exported graph, and the order of batches."""

import time
from pathlib import Path

from ...vectors import Vector
from ..datasets import shard
from .base import Evaluation, evaluation
from .batches import Batches, descend, draw
from .graph import GraphEvaluator, GraphLearner
from .local_training import LocalTraining
from .staged_graph import ServerGraph, StagedGraph
from .staged_learner import Clock, StagedLearner

CHUNK = 100
"""Test examples evaluated at once: larger chunks take as long and use more memory."""

FEW = 32
"""Most examples of the warm-up batch, so that a device without memory for its full batch can still
report ready; the run goes on without it later."""

_ONE = LocalTraining(rate=1.0)
"""One step; its gradient does not depend on the rate."""


class DeviceLearner:
    """A Learner: gradients of the exported model on mini-batches of the shard."""

    def __init__(self, graph: Path, batches: Batches, local: LocalTraining = _ONE) -> None:
        """Load the graph in the folder `graph`, and run a warm-up batch from `batches`.

        `local` gives the number of batches for a summed gradient. Takes as long as a few gradients,
        as TensorFlow prepares its graph in the first one.
        """
        self._batches, self._local = batches, local
        self._graph = GraphLearner(graph)
        self._graph.prepare(*batches.examples.batch(slice(min(batches.size, FEW))))

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        examples = self._batches.examples
        batches = (drawn.batch(examples) for drawn in draw(self._batches, self._local))
        return descend(self._graph.gradient, weights, batches, self._local.rate)


def staged_learner(
    graph: Path, batches: Batches, cut: int | None = None, clock: Clock = time.perf_counter
) -> StagedLearner:
    """Return a LayeredLearner of the model exported to `graph`, with seconds from `clock`.

    With `cut`, return a DevicePart with the layers up to `cut`; raise ValueError with the reason if
    the model cannot be cut there. A warm-up batch has run. The learner draws the mini-batches that
    a DeviceLearner would draw from `batches`; the two may take turns.
    """
    network = StagedGraph(graph, cut)
    network.prepare(*batches.examples.batch(slice(min(batches.size, FEW))))
    return StagedLearner(network, batches, clock)


def server_part(graph: Path, layer: int) -> ServerGraph:
    """Return a ServerPart of the model exported to `graph`, with the layers behind `layer`.

    The learner runs a warm-up pass. Raises ValueError with the reason if the model cannot be cut
    behind `layer`.
    """
    network = ServerGraph(graph, layer)
    network.prepare(FEW)
    return network


class DeviceEvaluator:
    """An Evaluator: accuracy and loss of the exported model over the whole shard."""

    def __init__(self, graph: Path, data: Path) -> None:
        self._examples = shard.read(data)
        self._graph = GraphEvaluator(graph)

    def evaluate(self, weights: Vector) -> Evaluation:
        score, loss = 0.0, 0.0
        for start in range(0, len(self._examples), CHUNK):
            x, y = self._examples.batch(slice(start, start + CHUNK))
            part = self._graph.evaluate(weights, x, y)
            score, loss = score + part[0], loss + part[1]
        return evaluation(score, loss, self._examples.labels)
