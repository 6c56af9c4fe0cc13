"""Export of a model's graphs: gradient, evaluation, and the layers apart from each other.

`python -m emulator.learners.tensorflow MODEL FOLDER` fills the folder.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from .. import models
from ..models import Model
from .graph import ABOUT, EVALUATION, GRADIENT
from .layered_graph import LAYERS, STAGES
from .tensorflow_stages import staged


def export(model: Model, folder: Path) -> None:
    """Write the graphs of `model`, and the names of their operations, into `folder`.

    The first two graphs take theta [parameters] float32, x [batch, inputs] float32 and y [batch]
    int32, or [batch, length] int32 for texts, with any batch size. The third takes the parameters
    of each layer in place of theta.
    """
    about: dict[str, Any] = {"model": model.name, "tensorflow": tf.__version__}
    about["layout"] = model.layout.plain()
    for file, outputs in ((GRADIENT, gradient), (EVALUATION, evaluation)):
        frozen = _freeze(model, outputs)
        (folder / file).write_bytes(frozen.graph.as_graph_def().SerializeToString())
        about["inputs"] = [tensor.op.name for tensor in frozen.inputs]
        about[outputs.__name__] = [tensor.op.name for tensor in frozen.outputs]
    (folder / ABOUT).write_text(json.dumps(about, indent=1))
    layers = staged(model, _losses)
    (folder / LAYERS).write_bytes(layers.graph)
    (folder / STAGES).write_text(json.dumps(layers.plain(), indent=1))


def gradient(model: Model, theta: Any, x: Any, y: Any) -> Sequence[Any]:
    """Return the gradient, flat as `theta`, and the mean cross-entropy of an answer."""
    variables = _cut(model, theta)
    loss = tf.reduce_mean(_losses(model.logits(tf, variables, x), y))
    # derived by the variables, not by theta: each slice's gradient would be padded to theta's size
    parts = tf.gradients(loss, variables)
    return tf.concat([tf.reshape(part, [-1]) for part in parts], 0), loss


def evaluation(model: Model, theta: Any, x: Any, y: Any) -> Sequence[Any]:
    """Return the number of right answers and the sum of their cross-entropies."""
    logits = model.logits(tf, _cut(model, theta), x)
    right = tf.equal(tf.argmax(logits, -1, output_type=tf.int32), y)
    return tf.reduce_sum(tf.cast(right, tf.int32)), tf.reduce_sum(_losses(logits, y))


def _cut(model: Model, theta: Any) -> list[Any]:
    """Return the variables of `model` as slices of `theta`, in their shapes."""
    return [tf.reshape(theta[part], variable.shape) for variable, part in model.layout]


def _losses(logits: Any, y: Any) -> Any:
    """Return the cross-entropy of each answer."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)


def _freeze(model: Model, outputs: Callable[..., Sequence[Any]]) -> Any:
    """Return `outputs` as a concrete function of theta, x and y, for any batch size."""
    signature = (
        tf.TensorSpec([model.layout.size], tf.float32, "theta"),
        tf.TensorSpec([None, math.prod(model.task.shape)], tf.float32, "x"),
        tf.TensorSpec([None, *model.task.answers], tf.int32, "y"),
    )
    function = tf.function(lambda *inputs: outputs(model, *inputs))
    return convert_variables_to_constants_v2(function.get_concrete_function(*signature))


if __name__ == "__main__":
    export(models.find(sys.argv[1]), Path(sys.argv[2]))
