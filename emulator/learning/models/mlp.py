"""Multi-layer perceptrons: dense layers with ReLU in between."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...layout import Layout
from .base import Draw, Model
from .layers import dense, glorot_uniform
from .task import Task


def mlp(name: str, task: Task, hidden: Sequence[int], draw: Draw = glorot_uniform) -> Model:
    """Return a perceptron on images with a ReLU layer for each size in `hidden`.

    Without a size the model is softmax regression. `draw` draws the initial weights.
    """
    widths = [math.prod(task.shape), *hidden, task.classes]
    variables = [v for layer, (a, b) in enumerate(pairwise(widths)) for v in dense(layer, a, b)]
    return Model(name, task, Layout(tuple(variables)), draw, _logits, tuple(hidden))


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    *hidden, (weights, bias) = zip(variables[::2], variables[1::2], strict=True)
    for inner, offset in hidden:
        x = tf.nn.relu(tf.matmul(x, inner) + offset)
    return tf.matmul(x, weights) + bias
