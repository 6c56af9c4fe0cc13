"""Cost of cutting a model, and the error of activations in float16, on one core.

`python -m tests.benchmarks.parts.cut_parts mnist-cnn [LAYER] [STEPS]`
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from emulator.core.cut.activation_values import ActivationCoding
from emulator.learning import datasets, models
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner
from emulator.learning.learners.staged_graph import ServerGraph, StagedGraph

SIZES, REPEATS = (32, 256), 60
BATCHES, BATCH, RATE = 20, 32, np.float32(0.05)
"""Mini-batches whose gradients are compared; their size, and the rate of the steps before."""


class Parts:
    """A whole model, and its two parts."""

    def __init__(self, name: str, layer: int | None) -> None:
        self.model, folder = models.find(name), exported(name)
        self.layer = layer or self.model.before_dense()
        self.whole = GraphLearner(folder)
        self.device = StagedGraph(folder, self.layer)
        self.server = ServerGraph(folder, self.layer)
        self.theta, self.data = self.model.initial(0), datasets.load("mnist")
        self.half = ActivationCoding("f16")

    def batches(self, size: int) -> Batches:
        return Batches(self.data.train, size, "cut_parts")

    def cost(self, size: int) -> dict[str, float]:
        """Return the least milliseconds of a processor of each pass."""
        x, y = next(self.batches(size))
        before, behind = np.split(self.theta, [self.device.layout.size])
        took: dict[str, list[float]] = {}
        for _ in range(REPEATS):
            timed(took, "whole", lambda: self.whole.gradient(self.theta, x, y))
            activations = timed(took, "forward", lambda: self.forward(before, x, y))
            answer = timed(
                took, "server", partial(self.server.slopes, behind, activations, size, y)
            )
            timed(took, "backward", partial(self.device.backward, 1, answer.activations))
        return {name: round(min(times), 2) for name, times in took.items()}

    def forward(self, before: Any, x: Any, y: Any) -> Any:
        self.device.begin(x, y)
        return self.device.forward(1, before)

    def errors(self) -> dict[str, dict[str, float]]:
        """Return the relative errors of float16: the medians and the largest of some batches."""
        batches = self.batches(BATCH)
        found = np.array([self._error(*next(batches)) for _ in range(BATCHES)])
        rows = {"median": np.median(found, 0), "largest": found.max(0)}
        names = ("device", "server", "loss")
        return {
            row: {n: float(f"{value:.1e}") for n, value in zip(names, values, strict=True)}
            for row, values in rows.items()
        }

    def train(self, steps: int) -> None:
        batches = self.batches(BATCH)
        for _ in range(steps):
            self.theta = self.theta - RATE * self.whole.gradient(self.theta, *next(batches))[0]

    def _error(self, x: Any, y: Any) -> tuple[float, float, float]:
        """Return the errors of the gradients of the device's and the server's part, and the
        loss."""
        before, behind = np.split(self.theta, [self.device.layout.size])
        activations = self.forward(before, x, y)
        exact = self.server.slopes(behind, activations, len(x), y)
        sent = self.half.decode(self.half.encode(activations))
        rounded = self.server.slopes(behind, sent, len(x), y)
        frame = self.half.encode_gradient(rounded.activations, len(x))
        back = self.half.decode_gradient(frame, len(x))
        gradient = self.device.backward(1, back)
        self.forward(before, x, y)  # once more: a backward pass ends an iteration
        return (
            apart(gradient, self.device.backward(1, exact.activations)),
            apart(rounded.parameters, exact.parameters),
            abs(rounded.loss / exact.loss - 1),
        )


def timed(took: dict[str, list[float]], name: str, work: Callable[[], Any]) -> Any:
    began = time.process_time()
    result = work()
    took.setdefault(name, []).append(1e3 * (time.process_time() - began))
    return result


def apart(one: Any, other: Any) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def measure(name: str, layer: int | None, steps: int) -> dict[str, Any]:
    """Return the costs by size of the mini-batch, and the errors before and after `steps`."""
    parts = Parts(name, layer)
    result: dict[str, Any] = {"layer": parts.layer, "ms": {n: parts.cost(n) for n in SIZES}}
    result["f16"] = {0: parts.errors()}
    parts.train(steps)
    result["f16"][steps] = parts.errors()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="name of a model for MNIST")
    parser.add_argument("layer", nargs="?", type=int, help="cut (default: before the dense layers)")
    parser.add_argument("steps", nargs="?", type=int, default=200, help="steps of the training")
    asked = parser.parse_args()
    print(json.dumps(measure(asked.model, asked.layer, asked.steps), indent=1))


if __name__ == "__main__":
    main()
