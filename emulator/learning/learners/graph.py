"""Sessions of a model's exported graphs: for gradients, and for evaluation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout
from ...vectors import Vector
from .tensors import Array
from .tf_session import LoadedGraph, PartialRun

GRADIENT, EVALUATION, ABOUT = "gradient.pb", "evaluation.pb", "graph.json"
"""Files of an exported model: two graphs, and the names of their operations."""

QUIET = np.zeros(2, np.int64)
"""Seed of the noise of a batch that has none of its own."""


class GraphLearner:
    """Gradients of a model, on a single thread. The batch size may change from call to call."""

    def __init__(self, folder: Path) -> None:
        self._graph = _Graph(folder, GRADIENT, "gradient")

    def gradient(self, theta: Vector, *batch: NDArray[Any]) -> tuple[Vector, float]:
        """Return the gradient and an answer's mean loss over the `batch` of `Batches`.

        Without noise in the batch a noisy model has the same noise again. The gradient is a view of
        TensorFlow's memory, which is not written again.
        """
        gradient, loss = self._graph.run(theta, *batch)
        return gradient, float(loss)

    def prepare(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Run a batch, as TensorFlow prepares its graph in the first run."""
        self._graph.run(np.zeros(self._graph.size, np.float32), x, y)

    def close(self) -> None:
        """Free TensorFlow's memory."""
        self._graph.close()


class GraphEvaluator:
    """Evaluation of a model's test answers, on a single thread, without noise."""

    def __init__(self, folder: Path) -> None:
        self._graph = _Graph(folder, EVALUATION, "evaluation")

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[float, float]:
        """Return the number of right answers in the batch, or the sum of the absolute errors of a
        regression; and the sum of the losses."""
        score, loss = self._graph.run(theta, x, y)
        return float(score), float(loss)

    def close(self) -> None:
        """Free TensorFlow's memory."""
        self._graph.close()


def read_layout(folder: Path) -> Layout:
    """Return the layout of the model that was exported to `folder`."""
    return Layout.read(_about(folder)["layout"])


class _Graph:
    """A graph in a session of its own, with the size of the model."""

    def __init__(self, folder: Path, file: str, outputs: str) -> None:
        about = _about(folder)
        self.size = Layout.read(about["layout"]).size
        noise = [about["noise"]] if "noise" in about and file == GRADIENT else []
        self._arrays = len(about["inputs"]) - 1, len(about["inputs"]) - 1 + len(noise)
        self._graph = LoadedGraph((folder / file).read_bytes())
        self._all = PartialRun(self._graph, [*about["inputs"], *noise], about[outputs])
        self.close = self._graph.close

    def run(self, theta: Vector, *batch: Array) -> list[Array]:
        """Return the graph's outputs.

        Raises ValueError if `theta` has the wrong size, or `batch` another number of arrays.
        """
        # TensorFlow does not check placeholders' shapes: it would use the head of a longer vector
        if theta.shape != (self.size,):
            raise ValueError(f"theta has shape {theta.shape}, the model {self.size} parameters")
        if len(batch) not in self._arrays:
            raise ValueError(f"a mini-batch of {len(batch)} arrays, the graph takes {self._arrays}")
        # a quiet model has no input for noise
        inputs = zip(self._all.given, (theta, *batch, QUIET), strict=False)
        tensors = {name: self._graph.feed(name, value) for name, value in inputs}
        return [*self._all.arrays(tensors).values()]


def _about(folder: Path) -> dict[str, Any]:
    """Return the description beside the graphs: layout, and names of inputs and outputs."""
    about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
    return about
