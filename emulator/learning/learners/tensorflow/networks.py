"""Networks: the parts of a model from which its graphs are made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import tensorflow as tf

from ....layout import Layout
from ...models import Model
from ...models.task import Task

Losses: TypeAlias = Callable[[Any, Any], Any]
"""Maps outputs and labels to the loss of each answer."""

Spec: TypeAlias = tuple[list[int | None], Any, str]
"""Shape, type and name of an input of a graph."""


@dataclass(frozen=True)
class TFNetwork:
    """A model in TensorFlow's operations."""

    name: str
    layout: Layout
    task: Task
    trained: Callable[..., tuple[Any, Sequence[Any]]]
    """Maps variables, x and noise, if it is noisy, to outputs and the losses of regularizers."""
    evaluated: Callable[[Sequence[Any], Any], Any]
    """Maps variables and x to outputs, without noise."""
    losses: Losses
    noisy: bool = False
    """Whether training draws random numbers."""
    unstaged: str = ""
    """Reason why the layers cannot run apart from each other; empty if they may."""

    def loss(self, variables: Sequence[Any], x: Any, y: Any, *noise: Any) -> Any:
        """Return the mean loss of an answer in training, with the losses of regularizers."""
        outputs, penalties = self.trained(variables, x, *noise)
        loss = tf.reduce_mean(self.losses(outputs, y))
        return tf.add_n([loss, *penalties]) if penalties else loss


def zoo_network(model: Model) -> TFNetwork:
    """Return the network of a `model` of the zoo."""
    logits = partial(model.logits, tf)
    return TFNetwork(
        model.name,
        model.layout,
        model.task,
        lambda variables, x: (logits(variables, x), ()),
        logits,
        cross_entropies,
    )


def cross_entropies(logits: Any, y: Any) -> Any:
    """Return the cross-entropy of each answer."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)


def squared_errors(outputs: Any, y: Any) -> Any:
    """Return the squared error of each answer."""
    return tf.math.squared_difference(outputs, y)


def examples(network: TFNetwork) -> list[Spec]:
    """Return the inputs x, y and noise of a graph of `network`; noise only if it is noisy."""
    task = network.task
    kind = tf.float32 if task.regression else tf.int32
    given: list[Spec] = [
        ([None, task.values], tf.float32, "x"),
        ([None, *task.answers], kind, "y"),
    ]
    return [*given, ([2], tf.int64, "noise")] if network.noisy else given
