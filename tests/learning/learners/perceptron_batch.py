"""A small perceptron, and random batches for any."""

import math

import numpy as np

from emulator.learning.models import Model
from emulator.learning.models.mlp import mlp
from emulator.learning.models.task import Task

SMALL = mlp("small", Task("images", (2, 3), classes=3), hidden=(5, 4))


def batch(model: Model, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng, classes = np.random.default_rng(seed), model.layout.variables[-1].size
    x = rng.random((size, math.prod(model.task.shape)), dtype=np.float32)
    return x, rng.integers(0, classes, size).astype(np.int32)
