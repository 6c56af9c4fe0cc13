"""Model `mnist-cnn`: the small CNN of AdaComp's experiments; 421,642 parameters.

Hardy et al. (2017): two convolutions of 3×3, then dense layers of 128 and 10 units. The sizes and
initial weights are those of the authors' published code.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Variable
from .base import Model
from .layers import conv, dense, truncated_normal
from .task import Task


def _draw(variable: Variable, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw weights from a truncated normal distribution with deviation 0.1; biases are 0.1."""
    if variable.kind == "bias":
        return np.full(variable.shape, 0.1)
    return truncated_normal(0.1, variable.shape, rng)


def _convolve(tf: Any, x: Any, weights: Any, bias: Any) -> Any:
    """Apply a convolution of equal size, ReLU, then the maximum of each 2×2 square."""
    x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights, strides=1, padding="SAME"), bias))
    return tf.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME")


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    conv0, bias0, conv1, bias1, dense2, bias2, dense3, bias3 = variables
    x = _convolve(tf, tf.reshape(x, [-1, 28, 28, 1]), conv0, bias0)
    x = _convolve(tf, x, conv1, bias1)
    x = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 7 * 7 * 64]), dense2) + bias2)
    return tf.matmul(x, dense3) + bias3


MNIST_CNN = Model(
    "mnist-cnn",
    Task("images", (28, 28), classes=10),
    Layout(
        (*conv(0, 3, 1, 32), *conv(1, 3, 32, 64), *dense(2, 7 * 7 * 64, 128), *dense(3, 128, 10))
    ),
    _draw,
    _logits,
    crossings=(14 * 14 * 32, 7 * 7 * 64, 128),
)
