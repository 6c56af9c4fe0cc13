"""Least squares on made-up data: a learner for tests and link studies, without TensorFlow."""

import numpy as np

from emulator.chance import stream
from emulator.layout import Layout, Variable
from emulator.vectors import Vector


class Line:
    """Looks for one truth that all lines of the same size share; `name` decides the data drawn."""

    def __init__(self, name: str, size: int = 1000, batch_size: int = 64) -> None:
        self.layout = Layout((Variable("line/weights", (size,), "dense", 0),))
        self._truth = stream(f"line/{size}").normal(size=size).astype(np.float32)
        self._rng = stream(name)
        self._batch_size = batch_size

    def initial(self, seed: int) -> Vector:
        """Zeros, whatever the seed: least squares has one valley."""
        return np.zeros(self.layout.size, np.float32)

    def gradient(self, weights: Vector) -> tuple[Vector, float]:
        shape = (self._batch_size, self.layout.size)
        x = self._rng.standard_normal(shape, dtype=np.float32)
        error = x @ (weights - self._truth)
        return x.T @ error / np.float32(self._batch_size), float(np.mean(error**2) / 2)
