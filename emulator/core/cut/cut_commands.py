"""Commands of a worker whose model is cut: the passes of the device's part, and the loss."""

from typing import Generic, NamedTuple, TypeAlias, TypeVar

from ...vectors import Vector
from ..wire.messages import ActivationGradient, Logits

ReplyT = TypeVar("ReplyT")


class Activate(NamedTuple, Generic[ReplyT]):
    """Command: compute the activations of the next mini-batch at the device's part in `reply`.

    The result is an `Activated`, or the runtime's handle on one, as the worker's coder takes it.
    """

    reply: ReplyT


class ActivationsBack(NamedTuple):
    """Command: compute the gradient of the device's part from the gradient by its activations.

    The result is a `Computed` with the loss of `answer`. Its seconds are those of all passes of the
    iteration at the device, without waiting.
    """

    answer: ActivationGradient


class LossAt(NamedTuple):
    """Command: compute the loss of the mini-batch at the logits of `answer`.

    Only where labels stay on the device. The result is a `LossGradient`.
    """

    answer: Logits


class LossGradient(NamedTuple):
    """Result of `LossAt`."""

    loss: float
    """Mean loss of an answer over the device's mini-batch."""
    gradient: Vector
    """Gradient of the mean loss by the logits."""


CutCommand: TypeAlias = Activate[ReplyT] | ActivationsBack | LossAt
