"""The model and the mini-batches that every peer trains, from a file of NumPy arrays.

Runs in the peers' environment, which has no part of this project.
"""

import os
from typing import Any

# before TensorFlow is imported: the kernels with which this project's devices compute
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf

VARIABLES, IMAGES, LABELS, RATE = "variable", "images", "labels", "rate"
"""Names of the arrays in the file; the variables have a number behind theirs."""


def on_one_thread() -> None:
    """Let each of TensorFlow's operations compute on one thread, as on a device."""
    tf.config.threading.set_intra_op_parallelism_threads(1)


class PeerModel:
    """The variables, mini-batches and learning rate in `file`."""

    def __init__(self, file: str) -> None:
        with np.load(file) as arrays:
            count = sum(name.startswith(VARIABLES) for name in arrays)
            self.initial = [arrays[f"{VARIABLES}{number}"] for number in range(count)]
            self.images, self.labels = arrays[IMAGES], arrays[LABELS]
            self.rate = float(arrays[RATE])

    def keras(self) -> Any:
        """Return the model as a Keras model, compiled with Keras's optimizer of plain SGD."""
        layers, shapes = tf.keras.layers, [array.shape for array in self.initial[::2]]
        model = tf.keras.Sequential([tf.keras.Input(self.images.shape[2:])])
        model.add(layers.Reshape((28, 28, 1)))
        for shape in shapes[:2]:
            model.add(layers.Conv2D(shape[-1], 3, padding="same", activation="relu"))
            model.add(layers.MaxPooling2D(padding="same"))
        model.add(layers.Flatten())
        model.add(layers.Dense(shapes[2][-1], activation="relu"))
        model.add(layers.Dense(shapes[3][-1]))
        model.set_weights(self.initial)
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.SGD(self.rate), loss)
        return model


def _convolve(x: Any, weights: Any, bias: Any) -> Any:
    x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights, strides=1, padding="SAME"), bias))
    return tf.nn.max_pool2d(x, ksize=2, strides=2, padding="SAME")


def gradients(variables: list[Any], x: Any, y: Any) -> list[Any]:
    """Return the gradients of `mnist-cnn`'s mean loss over a mini-batch, one for each variable."""
    values = [tf.convert_to_tensor(variable) for variable in variables]  # each is read once
    with tf.GradientTape() as tape:
        tape.watch(values)
        conv0, bias0, conv1, bias1, dense2, bias2, dense3, bias3 = values
        hidden = _convolve(tf.reshape(x, [-1, 28, 28, 1]), conv0, bias0)
        hidden = tf.reshape(_convolve(hidden, conv1, bias1), [-1, 7 * 7 * 64])
        hidden = tf.nn.relu(tf.matmul(hidden, dense2) + bias2)
        logits = tf.matmul(hidden, dense3) + bias3
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )
    found: list[Any] = tape.gradient(loss, values)
    return found
