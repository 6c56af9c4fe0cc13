"""Model `mnist-lenet`: the CNN of the residual compression's experiments; 431,080 parameters.

Chen et al. (2018) used a LeNet of this style. It is Caffe's: 20 and 50 filters of 5×5, 500 units,
and a ReLU between the dense layers only.
"""

from collections.abc import Sequence
from typing import Any

from ...layout import Layout
from .base import Model
from .layers import conv, dense, glorot_uniform
from .task import Task


def _convolve(tf: Any, x: Any, weights: Any, bias: Any) -> Any:
    """Apply a convolution without padding, then the maximum of each 2×2 square."""
    x = tf.nn.bias_add(tf.nn.conv2d(x, weights, strides=1, padding="VALID"), bias)
    return tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")


def _logits(tf: Any, variables: Sequence[Any], x: Any) -> Any:
    conv0, bias0, conv1, bias1, dense2, bias2, dense3, bias3 = variables
    x = _convolve(tf, tf.reshape(x, [-1, 28, 28, 1]), conv0, bias0)
    x = _convolve(tf, x, conv1, bias1)
    x = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 4 * 4 * 50]), dense2) + bias2)
    return tf.matmul(x, dense3) + bias3


MNIST_LENET = Model(
    "mnist-lenet",
    Task("images", (28, 28), classes=10),
    Layout(
        (*conv(0, 5, 1, 20), *conv(1, 5, 20, 50), *dense(2, 4 * 4 * 50, 500), *dense(3, 500, 10))
    ),
    glorot_uniform,
    _logits,
    crossings=(12 * 12 * 20, 4 * 4 * 50, 500),
)
