"""Export of a model's graphs: gradient, evaluation, and the layers apart from each other.

`python -m emulator.learning.learners.tensorflow.graph_export MODEL FOLDER` fills the folder for a
model of the zoo.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from ... import models
from ...models.own_model import UntrainableError
from ..graph import ABOUT, EVALUATION, GRADIENT
from ..stages import LAYERS, STAGES
from .networks import TFNetwork, examples, zoo_network
from .staged_export import Staged, staged


def export(network: TFNetwork, folder: Path) -> Staged | str:
    """Write the graphs of `network`, and the names of their operations, into `folder`.

    The first two graphs take theta [parameters] float32, x [batch, inputs] float32 and y, int32
    [batch] or [batch, length] for texts, float32 [batch, targets] for a regression, with any batch
    size. The graph of the gradient of a network with noise takes noise [2] int64, too. The third
    graph takes the parameters of each layer in place of theta. Return the stages of the third, or
    the reason why there is none.
    """
    about: dict[str, Any] = {"model": network.name, "tensorflow": tf.__version__}
    about["layout"] = network.layout.plain()
    for file, outputs in ((GRADIENT, gradient), (EVALUATION, evaluation)):
        frozen = _freeze(network, outputs)
        (folder / file).write_bytes(frozen.graph.as_graph_def().SerializeToString())
        names = [tensor.op.name for tensor in frozen.inputs]
        about["inputs"], noise = names[:3], names[3:]
        about |= {"noise": noise[0]} if noise else {}
        about[outputs.__name__] = [tensor.op.name for tensor in frozen.outputs]
    (folder / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
    if network.unstaged:
        return network.unstaged
    try:
        layers = staged(network)
    except ValueError as error:  # operations of several layers cannot be told apart
        return str(error)
    (folder / LAYERS).write_bytes(layers.graph)
    (folder / STAGES).write_text(json.dumps(layers.plain(), indent=1), encoding="utf-8")
    return layers


def gradient(network: TFNetwork, theta: Any, x: Any, y: Any, *noise: Any) -> Sequence[Any]:
    """Return the gradient, flat as `theta`, and the mean loss of an answer."""
    variables = _cut(network, theta)
    loss = network.loss(variables, x, y, *noise)
    # derived by the variables, not by theta: each slice's gradient would be padded to theta's size
    parts = tf.gradients(loss, variables)
    for variable, part in zip(network.layout.variables, parts, strict=True):
        if part is None:
            raise UntrainableError(
                f"the loss has no gradient by {variable.name!r}: an operation on the way, as "
                "stop_gradient or a cast to whole numbers, has none"
            )
    return tf.concat([tf.reshape(part, [-1]) for part in parts], 0), loss


def evaluation(network: TFNetwork, theta: Any, x: Any, y: Any) -> Sequence[Any]:
    """Return the number of right answers, or the sum of the absolute errors of a regression; and
    the sum of the answers' losses."""
    outputs = network.evaluated(_cut(network, theta), x)
    if network.task.regression:
        score = tf.reduce_sum(tf.abs(outputs - y))
    else:
        right = tf.equal(tf.argmax(outputs, -1, output_type=tf.int32), y)
        score = tf.reduce_sum(tf.cast(right, tf.int32))
    return score, tf.reduce_sum(network.losses(outputs, y))


def _cut(network: TFNetwork, theta: Any) -> list[Any]:
    """Return the variables of `network` as slices of `theta`, in their shapes."""
    return [tf.reshape(theta[part], variable.shape) for variable, part in network.layout]


def _freeze(network: TFNetwork, outputs: Callable[..., Sequence[Any]]) -> Any:
    """Return `outputs` as a concrete function of theta, x, y and noise, for any batch size."""
    given = [tf.TensorSpec(*spec) for spec in examples(network)]
    if outputs is evaluation:
        given = given[:2]
    signature = (tf.TensorSpec([network.layout.size], tf.float32, "theta"), *given)
    function = tf.function(lambda *inputs: outputs(network, *inputs), autograph=False)
    return convert_variables_to_constants_v2(function.get_concrete_function(*signature))


if __name__ == "__main__":
    export(zoo_network(models.find(sys.argv[1])), Path(sys.argv[2]))
