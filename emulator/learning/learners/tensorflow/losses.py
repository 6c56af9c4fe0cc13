"""Losses of an own model, and the outputs that they take.

A loss is cross-entropy, squared error, or a function of the user.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .... import chance
from ....errors import PythonFileError
from ....plugins.python_file import Reference
from ...models.own_model import UntrainableError
from ...models.task import Task
from .keras_task import only
from .networks import Losses, cross_entropies, squared_errors


def losses_of(loss: str) -> Losses:
    """Return the losses by the word or the reference `loss`. Raises PythonFileError."""
    if loss == "mse":
        return squared_errors
    if loss == "crossentropy":
        return cross_entropies
    reference = Reference.read(loss, "/")
    function = reference.load()

    def own(outputs: Any, y: Any) -> Any:
        loss = tf.reduce_mean(tf.cast(_computed(reference, function, y, outputs), tf.float32))
        return tf.fill(tf.shape(y), loss)  # a function may return one loss for all answers

    return own


def _computed(reference: Reference, function: Any, y: Any, outputs: Any) -> Any:
    """Return the tensor that the user's loss returns. Raises PythonFileError with a line."""
    try:
        with reference.blamed():
            given = function(y, outputs)
            loss = tf.convert_to_tensor(given)
    except PythonFileError as error:
        (mistake,) = error.mistakes
        if mistake["line"] is not None:
            raise
        # as of a function that takes other arguments, or returns nothing
        raise PythonFileError(reference.file, reference.begin(), mistake["message"]) from error
    if not (loss.dtype.is_floating or loss.dtype.is_integer):
        said = (
            f"{reference.name}() returns {loss.dtype.name}: a loss for each example, or one for "
            "all, was expected"
        )
        raise PythonFileError(reference.file, reference.begin(), said)
    return loss


def logits_of(loss: str, model: Any, task: Task) -> Callable[[Any], Any]:
    """Return a function from the outputs of `model` to those that `loss` takes.

    Cross-entropy takes logits, also of a model that ends with softmax in any way: the outputs for
    made-up examples tell. Raises UntrainableError for another activation.
    """
    if loss != "crossentropy":
        return _unchanged
    last, activation = _end(model)
    if _probabilities(model, task):
        return _before_softmax
    if activation != "linear":
        raise UntrainableError(
            f"its last layer {last!r} ends with {activation!r}: crossentropy takes outputs "
            "without an activation, or with softmax"
        )
    return _linear


def _end(model: Any) -> tuple[str, str]:
    """Return the name of the layer that computes the output of `model`, and its activation."""
    layer = model.outputs[0]._keras_history.operation
    if isinstance(layer, tf.keras.Model) and getattr(layer, "outputs", None):
        return _end(layer)
    return layer.name, getattr(getattr(layer, "activation", None), "__name__", "linear")


def _probabilities(model: Any, task: Task) -> bool:
    """Return whether the outputs of `model` are from 0 up and add up to 1."""
    rng = chance.stream(chance.made_up_examples())
    ids = task.vocabulary or (task.classes if task.inputs == "texts" else 2)
    shape = (2, *model.inputs[0].shape[1:])
    tokens = task.inputs in ("texts", "tokens")
    x = rng.integers(0, ids, shape) if tokens else rng.random(shape, np.float32)
    outputs = np.asarray(only(model(tf.cast(x, model.inputs[0].dtype), training=False)), np.float32)
    rounding = 1e-2 if model.outputs[0].dtype in ("float16", "bfloat16") else 1e-4
    return bool((outputs >= 0).all() and np.allclose(outputs.sum(-1), 1, rtol=0, atol=rounding))


def _unchanged(outputs: Any) -> Any:
    return outputs


_ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus")
"""Operations that make no logits; a layer of the user's own does not name its activation."""


def _linear(outputs: Any) -> Any:
    """Return `outputs`. Raises UntrainableError for those of an activation."""
    made = _made_by(outputs).op.type
    if made in _ACTIVATIONS:
        raise UntrainableError(
            f"its output is made by {made}: crossentropy takes outputs without an activation, or "
            "with softmax"
        )
    return outputs


def _before_softmax(outputs: Any) -> Any:
    """Return the logits of which `outputs` are the probabilities; a probability rounds to 0."""
    last = _made_by(outputs)
    if last.op.type == "Softmax":
        return last.op.inputs[0]
    return tf.math.log(tf.maximum(outputs, 1e-7))


def _made_by(outputs: Any) -> Any:
    """Return the tensor that was passed on or cast to `outputs`."""
    while outputs.op.type in ("Identity", "Cast"):
        outputs = outputs.op.inputs[0]
    return outputs
