"""Multi-layer perceptrons: dense layers with ReLU in between."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..layout import Layout
from .base import Model
from .draws import glorot_uniform
from .layers import dense
from .task import Task


def mlp(name: str, task: Task, hidden: Sequence[int]) -> Model:
    """Return a perceptron on images with a ReLU layer for each size in `hidden`."""
    widths = [math.prod(task.shape), *hidden, task.classes]
    variables = [v for layer, (a, b) in enumerate(pairwise(widths)) for v in dense(layer, a, b)]
    return Model(name, task, Layout(tuple(variables)), glorot_uniform, _logits, tuple(hidden))


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    *hidden, (weights, bias) = zip(variables[::2], variables[1::2], strict=True)
    for inner, offset in hidden:
        x = tf.nn.relu(tf.matmul(x, inner) + offset)
    return tf.matmul(x, weights) + bias
