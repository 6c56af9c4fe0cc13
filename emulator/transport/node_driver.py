"""Runs the coroutine of a worker or the evaluator on a DEALER socket and the monotonic clock."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import wire
from ..core.messages import Message, ModelReply, Patch, Pull
from ..core.worker import Await, Begun, Compute, Computed, Evaluate, NodeCoroutine, Tell
from ..errors import WireError
from ..learners.base import Evaluator, Learner
from ..pulls import HeldModel
from ..shaping.hold import Hold
from ..vectors import Vector
from .peer import Peer

OFFLINE = 0.5
"""Seconds between two looks for a connection while there is none."""


@dataclass
class Inbox:
    """Messages from the server, held back as long as the emulated link would have taken."""

    peer: Peer
    hold: Hold[Message] | None
    """None: messages are delivered as they arrive."""
    due: deque[Message] = field(default_factory=deque)
    """Messages that the hold has released."""
    looked: float = field(default_factory=time.monotonic)
    """Last time at which no message had arrived."""

    def next(self, timeout: float) -> Message | None:
        """Return the next message; None if the node has to ask again.

        A node asks again if a new connection has replaced the connection that lost the question or
        its answer, and if one connection has brought no answer for `timeout` seconds.
        """
        until: float | None = None  # end of the time-out; None while there is no connection
        while True:
            now = time.monotonic()
            if self.hold:
                self._collect(self.hold)
                self.due.extend(self.hold.release(now))
            if self.due:
                return self.due.popleft()
            # a message that is held may be the answer
            if self.peer.lost and self._release_time() is None:
                return None
            if not self.peer.connected:
                until = None
            elif until is None:
                until = now + timeout
            elif now >= until:
                return None
            message = self.peer.receive(self._wait(until, now))
            if message is None:
                continue
            if self.hold is None:
                return message
            self.hold.take(message, time.monotonic(), self._size(message))

    def _collect(self, hold: Hold[Message]) -> None:
        """Give `hold` the messages that have arrived while the node was computing."""
        now = time.monotonic()
        while (message := self.peer.receive(0.0)) is not None:
            hold.take(message, now, self._size(message), self.looked)
        self.looked = now

    def _size(self, message: Message) -> int:
        """Return the size of `message` on the wire, in bytes."""
        return wire.size(message, encrypted=self.peer.encrypted)

    def _wait(self, until: float | None, now: float) -> float:
        """Return the seconds that the peer may wait for a message."""
        wait = OFFLINE if until is None else until - now
        release = self._release_time()
        return wait if release is None else min(wait, release - now)

    def _release_time(self) -> float | None:
        """Return the time at which the next held message is due; None if no message is held."""
        return self.hold.deadline() if self.hold else None


def run(
    coroutine: NodeCoroutine[ModelReply],
    peer: Peer,
    *,
    hold: Hold[Message] | None = None,
    learner: Learner | None = None,
    evaluator: Evaluator | None = None,
    held_model: HeldModel | None = None,
    begun: Callable[[float], None] = lambda zero: None,
    before_gradient: Callable[[], None] = lambda: None,
) -> None:
    """Run `coroutine` to its end: carry out each command and send back the result.

    `hold` delays messages from the server. `held_model` keeps the model if pulls are patches or
    carry coded values. `begun` is called with the run's zero. `before_gradient` is called before
    each gradient, and need not return.
    """
    inbox = Inbox(peer, hold)
    result: Any = None
    try:
        while True:
            command = coroutine.send(result)
            result = None
            match command:
                case Tell(message):
                    if isinstance(message, Pull) and held_model:
                        message = replace(message, held=held_model.version)
                    peer.send(message)
                case Await(timeout):
                    result = inbox.next(timeout)
                    if isinstance(result, ModelReply | Patch) and held_model:
                        result = _decoded(result, held_model)
                case Begun(zero):
                    begun(zero)
                case Compute(reply) if learner:
                    before_gradient()
                    result = _compute(learner, reply.theta)
                case Evaluate(theta) if evaluator:
                    result = evaluator.evaluate(theta)
                case _:
                    raise TypeError(f"this node cannot carry out {command}")
    except StopIteration:
        return


def _decoded(reply: ModelReply | Patch, held_model: HeldModel) -> ModelReply | None:
    """Return `reply` with the whole model, and keep the model in `held_model`.

    A reply that does not decode, or patches another version, returns None and empties `held_model`:
    the node asks again and gets the whole model.
    """
    try:
        if isinstance(reply, ModelReply):
            theta = held_model.store(reply.version, reply.theta)
        else:
            theta = held_model.decode(reply.version, reply.frames, reply.base)
    except WireError:
        held_model.forget()
        return None
    return ModelReply(reply.ticket, reply.version, theta)


def _compute(learner: Learner, theta: Vector) -> Computed[Vector]:
    began = time.monotonic()
    gradient, loss = learner.gradient(theta)
    return Computed(gradient, loss, time.monotonic() - began)
