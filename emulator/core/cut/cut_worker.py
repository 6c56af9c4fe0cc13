"""A worker's coroutine for a model that is cut between devices and server.

The device pulls the layers before the cut, computes them forwards, and sends the activations at the
cut. The server computes the later layers and answers with the gradient by the activations, with
which the device computes the gradient of its own layers. This is split learning (Gupta and Raskar,
2018), and the merged fully connected layers of Omnivore (Hadjis et al., 2016).
"""

from collections.abc import Generator
from typing import Any, NamedTuple, Protocol, TypeVar

from ...vectors import Buffer, NotFinite, Vector
from ..wire.messages import (
    ActivationGradient,
    Activations,
    Diverged,
    LogitGradient,
    Logits,
    Pull,
    Update,
)
from ..worker.worker import (
    Activate,
    ActivationsBack,
    Await,
    Computed,
    GradientEncoder,
    LossAt,
    NodeCoroutine,
    Over,
    ReplyT,
    Tell,
    hello,
    settled,
    tickets,
    unless_over,
)
from .activation_values import CodedActivations

GradientT = TypeVar("GradientT")
ActivatedT_contra = TypeVar("ActivatedT_contra", contravariant=True)


class ActivationCoder(Protocol[ActivatedT_contra]):
    """Turns results of passes into frames; `DeviceCoder` does so for arrays."""

    def activations(self, activated: ActivatedT_contra, /) -> CodedActivations:
        """Return the frames of `activated`; raise NotFinite if an activation is not finite."""

    def logit_gradient(self, gradient: Vector, /) -> Buffer:
        """Return the frame of a gradient by logits; raise NotFinite if it is not finite."""


def cut_worker(
    node: str,
    incarnation: int,
    coder: ActivationCoder[Any],
    encoder: GradientEncoder[GradientT],
    parameters: int,
    timeout: float,
    kind: type[ReplyT],
) -> NodeCoroutine[ReplyT]:
    """Train the device's part, of `parameters` parameters, until the server says bye.

    The server has `timeout` seconds for each answer; then the device pulls again, and the
    mini-batch is lost. `kind` is the class of the replies that hold models. `coder` takes the
    results of `Activate`, `encoder` the gradients that come back from `ActivationsBack`.
    """
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket))
            while not settled(model := (yield Await(timeout)), ticket, parameters, kind):
                pass
            if model is None:
                continue
            sent = _coded(node, ticket, model.version, (yield Activate(model)), coder)
            del model  # or each device that waits for its gradient would keep this one alive
            yield Tell(sent)
            if isinstance(sent, Activations):
                waits = _Sent.of(sent)
                del sent  # as the model
                if push := (yield from _backward(waits, coder, encoder, timeout)):
                    yield Tell(push)
    except Over:
        return


class _Sent(NamedTuple):
    """Activations that have left, without their values."""

    node: str
    version: int
    ticket: int
    size: int
    """Bytes of the activations, and of their gradient."""
    labels: bool

    @classmethod
    def of(cls, sent: Activations) -> "_Sent":
        size, labels = len(sent.activations), sent.labels is not None
        return cls(sent.node, sent.version, sent.ticket, size, labels)


def _coded(
    node: str, ticket: int, version: int, activated: Any, coder: ActivationCoder[Any]
) -> Activations | Diverged:
    """Return the message with the activations of a mini-batch."""
    try:
        rows, values, labels = coder.activations(activated)
    except NotFinite:
        return Diverged(node, version)
    return Activations(node, version, ticket, rows, values, labels)


def _backward(
    sent: _Sent,
    coder: ActivationCoder[Any],
    encoder: GradientEncoder[GradientT],
    timeout: float,
) -> Generator[Any, Any, Update | Diverged | None]:
    """Await the gradient by the activations `sent`; return the iteration's last message.

    Without labels at the server the loss is computed here first. None: an answer did not come, or
    came without a gradient as the server had given the device up; the device has to pull again.
    """
    if not sent.labels:
        logits = yield from _answer(Logits, sent.ticket, timeout)
        if logits is None:
            return None
        loss = yield LossAt(logits)
        try:
            gradient = coder.logit_gradient(loss.gradient)
        except NotFinite:
            return Diverged(sent.node, sent.version)
        yield Tell(LogitGradient(sent.node, sent.ticket, loss.loss, gradient))
    answer = yield from _answer(ActivationGradient, sent.ticket, timeout)
    if answer is None or len(answer.gradient) != sent.size:
        return None
    computed = yield ActivationsBack(answer)
    return _push(sent, computed, encoder)


AnswerT = TypeVar("AnswerT", ActivationGradient, Logits)


def _answer(
    kind: type[AnswerT], ticket: int, timeout: float
) -> Generator[Await, Any, AnswerT | None]:
    """Await the answer of `kind` to the activations with `ticket`; None if it did not come.

    Other messages are skipped: answers to what the device has given up.
    """
    while (answer := unless_over((yield Await(timeout)))) is not None:
        if isinstance(answer, kind) and answer.ticket == ticket:
            return answer
    return None


def _push(
    sent: _Sent, computed: Computed[GradientT], encoder: GradientEncoder[GradientT]
) -> Update | Diverged:
    """Encode a gradient; return the message for the server."""
    try:
        frames = encoder.encode(computed.gradient)
    except NotFinite:
        return Diverged(sent.node, sent.version)
    return Update(sent.node, sent.version, computed.loss, computed.seconds, frames)
