"""Coroutines of nodes that pull whole models, and the commands of all nodes' coroutines.

A worker pulls the model, computes a gradient, pushes it, and again; the evaluator pulls the model
now and then, and measures it. A coroutine has no socket and no clock. It yields commands and is
sent their results, so the same coroutine runs in containers and in virtual time.
"""

from collections.abc import Generator
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from ...layout import Segment
from ...vectors import Frames, NotFinite, Vector
from ..wire.messages import (
    ActivationGradient,
    Begin,
    Bye,
    Diverged,
    Hello,
    Logits,
    Message,
    ModelReply,
    Pull,
    Request,
    Score,
    Update,
)

_NUMBER_BITS = 32
"""Bits of a ticket below the incarnation."""


class PulledModel(Protocol):
    """The answer to a pull, in the form in which a runtime passes answers to nodes.

    A container passes the `ModelReply` from its socket. Virtual time passes a reply with a gradient
    handle in place of the model. The worker reads the fields below, and yields the whole reply in
    `Compute`.
    """

    @property
    def ticket(self) -> int:
        """The ticket of the answered `Pull`."""

    @property
    def version(self) -> int:
        """The model's version: the number of updates applied so far."""

    @property
    def size(self) -> int:
        """Number of parameters of the model."""


ReplyT = TypeVar("ReplyT", bound=PulledModel)
GradientT = TypeVar("GradientT")
GradientT_contra = TypeVar("GradientT_contra", contravariant=True)


class GradientEncoder(Protocol[GradientT_contra]):
    """Turns a gradient, in the same form as in `Computed`, into frames."""

    def encode(self, gradient: GradientT_contra, /) -> Frames:
        """Return frames to send; raise NotFinite if the gradient is not finite."""


class Tell(NamedTuple):
    """Command: send `message` to the server. No result."""

    message: Request


class Await(NamedTuple):
    """Command: wait for the server's next message and return the message as the result.

    The result is None, and the node asks again, after `timeout` seconds on one connection, or as
    soon as a new connection has replaced the one that lost the question or its answer.
    """

    timeout: float


class Begun(NamedTuple):
    """Command: note that the run's time counts from `zero` on the server's clock. No result."""

    zero: float


class Compute(NamedTuple, Generic[ReplyT]):
    """Command: compute the gradient of the next mini-batch at the model of `reply`.

    The result is a `Computed`.
    """

    reply: ReplyT


class Forward(NamedTuple, Generic[ReplyT]):
    """Command: compute the forward pass of the layers whose parameters `reply` brought.

    `reply` is a piece of the model. The piece with layer 1 begins the next mini-batch. No result.
    """

    reply: ReplyT


class Backward(NamedTuple):
    """Command: compute the gradient of the layers of `segment`, the last layers first.

    The result is a `Computed` with the gradient of these layers; its seconds are those of the
    iteration so far.
    """

    segment: Segment


class Computed(NamedTuple, Generic[GradientT]):
    """Result of `Compute` and of `Backward`."""

    gradient: GradientT
    """The gradient, in the form in which the worker's encoder takes it."""
    loss: float
    seconds: float
    """Duration of the computation."""


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


class Evaluate(NamedTuple):
    """Command: measure the model on the test set. The result is an Evaluation."""

    theta: Vector


Command: TypeAlias = (
    Tell
    | Await
    | Begun
    | Compute[ReplyT]
    | Forward[ReplyT]
    | Backward
    | Activate[ReplyT]
    | LossAt
    | ActivationsBack
    | Evaluate
)
NodeCoroutine: TypeAlias = Generator[Command[ReplyT], Any, None]
"""A worker's or an evaluator's whole life on one incarnation of a node."""


class Over(Exception):
    """The server said bye."""


def worker(
    node: str,
    incarnation: int,
    encoder: GradientEncoder[GradientT],
    parameters: int,
    timeout: float,
    kind: type[ReplyT],
) -> NodeCoroutine[ReplyT]:
    """Train a model of `parameters` parameters until the server says bye.

    The server has `timeout` seconds to answer. `kind` is the class of the replies that hold models;
    `encoder` takes the gradients that come back from `Compute`.
    """
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket))
            # in this generator: in one of its own, a million waiting devices need half as much more
            while not settled(model := (yield Await(timeout)), ticket, parameters, kind):
                pass
            if model is not None:
                yield Tell((yield from _work(node, model, encoder)))
                del model  # or each device that waits for the next model would keep this one alive
    except Over:
        return


def _work(
    node: str, reply: ReplyT, encoder: GradientEncoder[GradientT]
) -> Generator[Compute[ReplyT], Computed[GradientT], Update | Diverged]:
    """Compute and encode a gradient; return the message for the server."""
    computed = yield Compute(reply)
    try:
        frames = encoder.encode(computed.gradient)
    except NotFinite:
        return Diverged(node, reply.version)
    return Update(node, reply.version, computed.loss, computed.seconds, frames)


def evaluator(
    node: str, incarnation: int, parameters: int, timeout: float
) -> Generator[Tell | Await | Begun | Evaluate, Any, None]:
    """Score the versions kept by the server for evaluation, until the server says bye.

    The evaluator is the papers' Supervisor (Hardy et al., 2017). It is a node of its own, so
    measuring never holds up the server; no link of it is shaped, so it never waits behind an
    update. The model has `parameters` parameters; the server has `timeout` seconds to answer.
    """
    after = 0
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket, after))
            while not settled(model := (yield Await(timeout)), ticket, parameters, ModelReply):
                pass
            if model is not None:
                measured = yield Evaluate(model.theta)
                yield Tell(Score(node, model.version, *measured))
                after = model.version + 1
    except Over:
        return


def tickets(incarnation: int) -> "count[int]":
    """Return ticket numbers for one incarnation only, in ascending order.

    So an answer to an earlier incarnation cannot be mistaken for an answer to this incarnation.
    """
    return count(incarnation << _NUMBER_BITS)


def incarnation_of(ticket: int) -> int:
    """Return the incarnation whose `tickets` have `ticket`."""
    return ticket >> _NUMBER_BITS


def hello(
    node: str, incarnation: int, timeout: float
) -> Generator[Tell | Await | Begun, Any, None]:
    """Say hello until the run begins: the server first gathers its members, which may take long."""
    while True:
        yield Tell(Hello(node, incarnation))
        while (answer := unless_over((yield Await(timeout)))) is not None:
            if isinstance(answer, Begin):  # anything else is meant for an earlier incarnation
                yield Begun(answer.zero)
                return


def settled(
    answer: Message | PulledModel | None,
    ticket: int,
    parameters: int,
    kind: type[PulledModel],
) -> bool:
    """Return whether the pull with `ticket` needs no more waiting: a model came, or None in time.

    Answers to earlier pulls are skipped. So are models that do not have `parameters` parameters: a
    gradient would be computed on them. Raise Over if the server says bye.
    """
    if isinstance(answer, kind):
        return answer.ticket == ticket and answer.size == parameters
    return unless_over(answer) is None


AnswerT = TypeVar("AnswerT")


def unless_over(answer: AnswerT) -> AnswerT:
    """Return `answer`; raise Over if the server says bye."""
    if isinstance(answer, Bye):
        raise Over
    return answer
