"""Residual networks for small images, of 20 layers.

The network is that of He et al. (2016, section 4.2, n = 3) without batch normalization: a
convolution, nine residual blocks of two convolutions with 16, 32 and 64 filters, and a dense layer
that sees all pixels, since plain SGD learns slowly from their mean. Shortcuts have no parameters:
where the image shrinks, the shortcut takes every second pixel and adds channels of zeros.

Initial weights are He's (2015). The second convolution of each block is divided by the root of the
number of blocks: batch normalization makes residual branches smaller by this order, which is why
deep residual networks train with it (De & Smith, 2020, arXiv 2002.10444).
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Variable
from .base import Model
from .layers import conv, dense, he_normal
from .task import Task

FILTERS = (16, 32, 64)
"""Filters of the three groups of blocks. The image shrinks at the begin of each later group."""
BLOCKS = 3
"""Blocks of a group."""
_ALL_BLOCKS = len(FILTERS) * BLOCKS
_LAST = 1 + 2 * _ALL_BLOCKS
"""Number of the dense layer; the first convolution is layer 0."""


def resnet(name: str, task: Task) -> Model:
    """Return the network called `name` for images of `task`, whose height and width are equal."""
    side, _, channels = (*task.shape, 1)[:3]
    return Model(
        name,
        task,
        Layout(tuple(_variables(side, channels, task.classes))),
        _draw,
        partial(_logits, image=(side, side, channels)),
        crossings=tuple(_crossings(side)),
    )


def _draw(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw He's weights, smaller at the end of each residual block; biases are zero."""
    values = he_normal(variable, rng)
    ends_block = 0 < variable.layer < _LAST and variable.layer % 2 == 0
    return values / math.sqrt(_ALL_BLOCKS) if ends_block else values


def _logits(tf: Any, variables: Sequence[Any], x: Any, image: tuple[int, int, int]) -> Any:
    first, *convolutions, last = zip(variables[::2], variables[1::2], strict=True)
    x = tf.nn.relu(_convolve(tf, tf.reshape(x, [-1, *image]), *first))
    for into, out_of in zip(convolutions[::2], convolutions[1::2], strict=True):
        added = into[0].shape[3] - into[0].shape[2]  # channels that the block adds
        stride = 2 if added else 1
        residual = _convolve(tf, tf.nn.relu(_convolve(tf, x, *into, stride)), *out_of)
        x = tf.nn.relu(residual + _shortcut(tf, x, added))
    weights, bias = last
    return tf.matmul(tf.reshape(x, [-1, weights.shape[0]]), weights) + bias


def _convolve(tf: Any, x: Any, weights: Any, bias: Any, stride: int = 1) -> Any:
    return tf.nn.bias_add(tf.nn.conv2d(x, weights, strides=stride, padding="SAME"), bias)


def _shortcut(tf: Any, x: Any, added: int) -> Any:
    """Return `x` itself; or half its height and width, with `added` channels of zeros."""
    if not added:
        return x
    return tf.pad(x[:, ::2, ::2, :], [[0, 0], [0, 0], [0, 0], [0, added]])


def _variables(side: int, channels: int, classes: int) -> Iterator[Variable]:
    yield from conv(0, 3, channels, FILTERS[0])
    channels = FILTERS[0]
    for layer in range(1, _LAST):
        filters = FILTERS[(layer - 1) // (2 * BLOCKS)]
        yield from conv(layer, 3, channels, filters)
        channels = filters
    yield from dense(_LAST, _smallest(side) ** 2 * channels, classes)


def _smallest(side: int) -> int:
    """Return the height and width of an image in the last group: a half of a half."""
    return side >> len(FILTERS) - 1


def _crossings(side: int) -> Iterator[int]:
    """Yield the activations behind each convolution.

    Inside a block the shortcut crosses too. Before the image shrinks, the smaller shortcut crosses
    beside the image, since operations without parameters belong to the layer before.
    """
    sizes = [(side >> group) ** 2 * filters for group, filters in enumerate(FILTERS)]
    for layer in range(_LAST):
        group, in_group = divmod(max(layer - 1, 0), 2 * BLOCKS)
        if layer % 2:
            yield 2 * sizes[group]
        elif in_group == 2 * BLOCKS - 1 and layer + 1 < _LAST:
            yield sizes[group] + sizes[group + 1]
        else:
            yield sizes[group]
