"""Model `mnist-vgg`: a VGG network for small images, of 11 layers; 397,114 parameters.

The pattern is that of Simonyan & Zisserman (2015): convolutions of 3×3 with ReLU, and the maximum
of each 2×2 square before the number of filters doubles. Nine convolutions of 16 to 128 filters are
followed by dense layers of 128 and 10 units. Initial weights as He et al. (2015), so that the
network trains without batch normalization.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ...layout import Layout
from .base import Model
from .layers import conv, dense, he_normal
from .task import Task

BLOCKS = ((16, 16), (32, 32), (64, 64, 64), (128, 128))
"""Filters of the convolutions between two poolings."""
_FILTERS = (1, *(filters for block in BLOCKS for filters in block))
_PIXELS = 2 * 2
"""Pixels of an image after the last pooling: 28, 14, 7, 4, then 2 in height and width."""


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    pairs = iter(zip(variables[::2], variables[1::2], strict=True))
    x = tf.reshape(x, [-1, 28, 28, 1])
    for block in BLOCKS:
        for _ in block:
            weights, bias = next(pairs)
            x = tf.nn.conv2d(x, weights, strides=1, padding="SAME")
            x = tf.nn.relu(tf.nn.bias_add(x, bias))
        x = tf.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME")
    (hidden, offset), (weights, bias) = pairs
    x = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, _PIXELS * _FILTERS[-1]]), hidden) + offset)
    return tf.matmul(x, weights) + bias


def _crossings() -> Iterator[int]:
    """Yield the outputs of each convolution; the last one of a block is halved by pooling."""
    side = 28
    for block in BLOCKS:
        for layer, filters in enumerate(block, 1):
            side = -(-side // 2) if layer == len(block) else side
            yield side * side * filters


MNIST_VGG = Model(
    "mnist-vgg",
    Task("images", (28, 28), classes=10),
    Layout(
        (
            *(v for n, ends in enumerate(pairwise(_FILTERS)) for v in conv(n, 3, *ends)),
            *dense(len(_FILTERS) - 1, _PIXELS * _FILTERS[-1], 128),
            *dense(len(_FILTERS), 128, 10),
        )
    ),
    he_normal,
    _logits,
    crossings=(*_crossings(), 128),
)
