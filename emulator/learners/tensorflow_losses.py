"""Losses of an own model: cross-entropy, squared error, or a function of the user."""

from typing import Any

import tensorflow as tf

from ..models.task import Task
from ..plugins.python_file import Reference
from .keras_request import UntrainableError
from .tensorflow_network import Losses, cross_entropies, squared_errors


def losses_of(loss: str, model: Any, task: Task) -> Losses:
    """Return the losses by the word or the reference `loss`. Raises UntrainableError."""
    if loss == "mse":
        return squared_errors
    if loss == "crossentropy":
        return _cross_entropies_of(model)
    reference = Reference.read(loss, "/")
    function = reference.load()

    def own(outputs: Any, y: Any) -> Any:
        with reference.blamed():
            loss = tf.reduce_mean(tf.cast(function(y, outputs), tf.float32))
        return tf.fill(tf.shape(y), loss)  # a function may return one loss for all answers

    return own


def _cross_entropies_of(model: Any) -> Losses:
    """Return the cross-entropy of logits, or of probabilities if the model ends with softmax."""
    activation = getattr(getattr(_last(model), "activation", None), "__name__", "linear")
    if isinstance(_last(model), tf.keras.layers.Softmax):
        activation = "softmax"
    if activation == "softmax":
        return _cross_entropies_of_probabilities
    if activation != "linear":
        raise UntrainableError(
            f"its last layer {_last(model).name!r} ends with {activation!r}: crossentropy takes "
            "outputs without an activation, or with softmax"
        )
    return cross_entropies


def _last(model: Any) -> Any:
    """Return the layer that computes the output of `model`."""
    layer = model.layers[-1]
    return _last(layer) if isinstance(layer, tf.keras.Model) else layer


def _cross_entropies_of_probabilities(outputs: Any, y: Any) -> Any:
    """Return the cross-entropy of each answer of a model that ends with softmax."""
    while outputs.op.type in ("Identity", "Cast"):
        outputs = outputs.op.inputs[0]
    if outputs.op.type == "Softmax":  # of its logits, since a probability rounds to 0
        return cross_entropies(outputs.op.inputs[0], y)
    return tf.keras.losses.sparse_categorical_crossentropy(y, outputs)
