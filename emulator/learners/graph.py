"""A model's exported graphs at work: one finds gradients, the other counts right answers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codecs.base import Vector
from ..layout import Layout
from .session import Session

GRADIENT, EVALUATION, ABOUT = "gradient.pb", "evaluation.pb", "graph.json"
"""The files of an exported model; the last says what the graphs' operations are called."""


class GraphLearner:
    """Gradients of one model, on one thread. The batch size may change from call to call."""

    def __init__(self, folder: Path) -> None:
        self._session = _session(folder, GRADIENT, "gradient")

    def gradient(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[Vector, float]:
        """The gradient and the mean cross-entropy over the batch, `x` [batch, pixels] in [0, 1].

        The gradient is a view of TensorFlow's memory that nothing will write to again.
        """
        gradient, loss = self._session.run(theta, x, y)
        return gradient, float(loss)

    def close(self) -> None:
        self._session.close()


class GraphEvaluator:
    """Right answers of one model, on one thread."""

    def __init__(self, folder: Path) -> None:
        self._session = _session(folder, EVALUATION, "evaluation")

    def evaluate(
        self, theta: Vector, x: NDArray[np.float32], y: NDArray[np.int32]
    ) -> tuple[int, float]:
        """How many of the batch are right, and the sum of their losses."""
        correct, loss = self._session.run(theta, x, y)
        return int(correct), float(loss)

    def close(self) -> None:
        self._session.close()


def read_layout(folder: Path) -> Layout:
    """The layout of the model that was exported to the folder."""
    return Layout.read(_about(folder)["layout"])


def _session(folder: Path, graph: str, outputs: str) -> Session:
    about = _about(folder)
    return Session((folder / graph).read_bytes(), about["inputs"], about[outputs])


def _about(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / ABOUT).read_bytes())
    return about
