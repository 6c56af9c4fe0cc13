"""Losses of an own model, and the outputs that they take.

A loss is cross-entropy, squared error, or a function of the user.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..plugins.python_file import Reference
from .keras_request import UntrainableError
from .tensorflow_network import Losses, cross_entropies, squared_errors


def losses_of(loss: str) -> Losses:
    """Return the losses by the word or the reference `loss`. Raises PythonFileError."""
    if loss == "mse":
        return squared_errors
    if loss == "crossentropy":
        return cross_entropies
    reference = Reference.read(loss, "/")
    function = reference.load()

    def own(outputs: Any, y: Any) -> Any:
        with reference.blamed():
            loss = tf.reduce_mean(tf.cast(function(y, outputs), tf.float32))
        return tf.fill(tf.shape(y), loss)  # a function may return one loss for all answers

    return own


def logits_of(loss: str, model: Any) -> Callable[[Any], Any]:
    """Return a function from the outputs of `model` to those that `loss` takes.

    Cross-entropy takes logits, also of a model that ends with softmax. Raises UntrainableError for
    another activation.
    """
    if loss != "crossentropy":
        return _unchanged
    last = _last(model)
    activation = getattr(getattr(last, "activation", None), "__name__", "linear")
    if activation == "softmax" or isinstance(last, tf.keras.layers.Softmax):
        return _before_softmax
    if activation != "linear":
        raise UntrainableError(
            f"its last layer {last.name!r} ends with {activation!r}: crossentropy takes outputs "
            "without an activation, or with softmax"
        )
    return _unchanged


def _last(model: Any) -> Any:
    """Return the layer that computes the output of `model`."""
    layer = model.layers[-1]
    return _last(layer) if isinstance(layer, tf.keras.Model) else layer


def _unchanged(outputs: Any) -> Any:
    return outputs


def _before_softmax(outputs: Any) -> Any:
    """Return the logits of which `outputs` are the probabilities; a probability rounds to 0."""
    while outputs.op.type in ("Identity", "Cast"):
        outputs = outputs.op.inputs[0]
    if outputs.op.type == "Softmax":
        return outputs.op.inputs[0]
    return tf.math.log(tf.maximum(outputs, 1e-7))
