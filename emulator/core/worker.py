"""A worker's story: fetch the model, compute a gradient, push it, again.

No socket and no clock. The story yields a wish and is sent back what came of it, so a
container and the simulator tell the very same one.
"""

from collections.abc import Generator
from itertools import count
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..codecs.base import Encoder
from ..vectors import NotFinite, Vector
from .messages import Begin, Bye, Diverged, Hello, Message, ModelReply, Pull, Update


class Tell(NamedTuple):
    """Send `message` to the server and go on. Nothing comes back."""

    message: Message


class Await(NamedTuple):
    """Wait for the server's next message; None if it is time to ask again.

    That is after `patience` seconds on one connection, or as soon as a connection has replaced the
    one on which the question or its answer was lost.
    """

    patience: float


class Begun(NamedTuple):
    """Know that the run's time counts from `zero` on the server's clock. Nothing comes back."""

    zero: float


class Compute(NamedTuple):
    """Find the gradient at `theta` on the next mini-batch; a `Computed` comes back."""

    theta: Vector


class Computed(NamedTuple):
    gradient: Vector
    loss: float
    seconds: float
    """How long it took."""


class Evaluate(NamedTuple):
    """Measure the model on the test set; `(accuracy, loss)` comes back."""

    theta: Vector


T = TypeVar("T")
Wish: TypeAlias = Tell | Await | Begun | Compute | Evaluate
Story: TypeAlias = Generator[Wish, Any, T]


class Over(Exception):
    """The server said bye."""


def worker(
    node: str, incarnation: int, encoder: Encoder, parameters: int, patience: float
) -> Story[None]:
    """Train a model of so many parameters until the server says bye.

    `patience` is how long an answer may take, in seconds.
    """
    try:
        yield from hello(node, incarnation, patience)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket))
            # no story of its own: where a million devices wait, that would be a third of the memory
            while not settled(model := (yield Await(patience)), ticket, parameters):
                pass
            if model is not None:
                yield Tell((yield from _work(node, model, encoder)))
                del model  # or each device that waits for the next one would hold on to it
    except Over:
        return


def _work(node: str, model: ModelReply, encoder: Encoder) -> Story[Message]:
    computed: Computed = yield Compute(model.theta)
    try:
        frames = encoder.encode(computed.gradient)
    except NotFinite:
        return Diverged(node, model.version)
    return Update(node, model.version, computed.loss, computed.seconds, frames)


def tickets(incarnation: int) -> "count[int]":
    """Numbers that no earlier incarnation has used, so an answer to it cannot pass for ours."""
    return count(incarnation << 32)


def hello(node: str, incarnation: int, patience: float) -> Story[None]:
    """Say hello until the run begins; the server gathers its members first, so it may take long."""
    while True:
        yield Tell(Hello(node, incarnation))
        while (answer := _unless_over((yield Await(patience)))) is not None:
            if isinstance(answer, Begin):  # else it is meant for an earlier incarnation
                yield Begun(answer.zero)
                return


def settled(answer: Message | None, ticket: int, parameters: int) -> bool:
    """Whether a pull is done with: by the model, or by None, as nothing came in time.

    What answers an earlier question does not count; nor what has not the model's size: it would
    be computed on.
    """
    if isinstance(answer, ModelReply):
        return answer.ticket == ticket and answer.theta.size == parameters
    return _unless_over(answer) is None


def _unless_over(answer: Message | None) -> Message | None:
    if isinstance(answer, Bye):
        raise Over
    return answer
