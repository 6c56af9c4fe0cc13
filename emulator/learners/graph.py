"""A model's exported graphs at work: one finds gradients, the other counts right answers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout
from ..vectors import Vector
from .tensors import Array
from .tf_session import TFSession

GRADIENT, EVALUATION, ABOUT = "gradient.pb", "evaluation.pb", "graph.json"
"""The files of an exported model; the last says what the graphs' operations are called."""


class GraphLearner:
    """Gradients of one model, on one thread. The batch size may change from call to call."""

    def __init__(self, folder: Path) -> None:
        self._graph = _Graph(folder, GRADIENT, "gradient")

    def gradient(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[Vector, float]:
        """The gradient and an answer's mean cross-entropy; `x`, `y` as `Examples.batch` has them.

        The gradient is a view of TensorFlow's memory that nothing will write to again.
        """
        gradient, loss = self._graph.run(theta, x, y)
        return gradient, float(loss)

    def prepare(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Have TensorFlow prepare its graph for such a batch, or the first gradient would wait."""
        self._graph.run(np.zeros(self._graph.size, np.float32), x, y)

    def close(self) -> None:
        self._graph.close()


class GraphEvaluator:
    """Right answers of one model, on one thread."""

    def __init__(self, folder: Path) -> None:
        self._graph = _Graph(folder, EVALUATION, "evaluation")

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[int, float]:
        """How many of the batch's answers are right, and the sum of their losses."""
        correct, loss = self._graph.run(theta, x, y)
        return int(correct), float(loss)

    def close(self) -> None:
        self._graph.close()


def read_layout(folder: Path) -> Layout:
    """The layout of the model that was exported to the folder."""
    return Layout.read(_about(folder)["layout"])


class _Graph:
    def __init__(self, folder: Path, file: str, outputs: str) -> None:
        about = _about(folder)
        self.size = Layout.read(about["layout"]).size
        self._session = TFSession((folder / file).read_bytes(), about["inputs"], about[outputs])
        self.close = self._session.close

    def run(self, theta: Vector, x: Array, y: Array) -> list[Array]:
        # TensorFlow holds no placeholder to its shape, and would take the head of a longer one
        if theta.shape != (self.size,):
            raise ValueError(f"theta has shape {theta.shape}, the model {self.size} parameters")
        return self._session.run(theta, x, y)


def _about(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
    return about
