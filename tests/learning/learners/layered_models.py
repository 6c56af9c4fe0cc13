"""Models whose layers are computed apart, with random batches and examples."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.layout import Layout, Variable
from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.learning.models import Model
from emulator.learning.models.layers import glorot_uniform
from emulator.learning.models.task import Task

DIGITS = models.find("digits-mlp")


def batch(model: Model, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, model.task.classes, (size, *model.task.answers)).astype(np.int32)
    if model.task.inputs == "texts":
        return rng.integers(0, model.task.classes, y.shape).astype(np.float32), y
    return rng.random((size, math.prod(model.task.shape)), dtype=np.float32), y


def examples(model: Model, count: int) -> Examples:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 17, (count, *model.task.shape), np.uint8)
    return Examples(images, rng.integers(0, 10, count, np.uint8), 16)


def knotted(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    """Four layers: the output and the weights of the first layer go into all later layers."""
    first, bias, second, third, last = variables
    entered = tf.nn.relu(tf.matmul(x, first) + bias)
    middle = tf.tanh(tf.matmul(entered, second)) + entered
    later = tf.tanh(tf.matmul(middle, third)) + entered + middle
    again = tf.matmul(later * tf.reduce_mean(x, 1, keepdims=True), first, transpose_b=True)
    return tf.matmul(tf.concat([later, entered, again], 1), last)


KNOTTED = Model(
    "knotted",
    Task("images", (3, 3), classes=4),
    Layout(
        (
            Variable("first", (9, 5), "dense", 0),
            Variable("bias", (5,), "bias", 0),
            Variable("second", (5, 5), "dense", 1),
            Variable("third", (5, 5), "dense", 2),
            Variable("last", (19, 4), "dense", 3),
        )
    ),
    glorot_uniform,
    knotted,
)
