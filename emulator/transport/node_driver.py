"""Runs the coroutine of a node on a socket and the real clock."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.messages import Message, ModelReply, Patch, Pull
from ..core.worker import Await, Begun, Compute, Computed, Evaluate, NodeCoroutine, Tell
from ..errors import WireError
from ..learners.base import Evaluator, Learner
from ..pulls import HeldModel
from ..shaping.hold import Hold
from ..vectors import Vector
from .peer import Peer

OFFLINE = 0.5
"""Seconds after which a peer that has no connection is asked again whether it has."""


@dataclass
class Inbox:
    """What the server sends, held back as long as the link would have taken."""

    peer: Peer
    hold: Hold[Message] | None
    due: deque[Message] = field(default_factory=deque)

    def next(self, patience: float) -> Message | None:
        """Return the next message; None if it is time to ask again.

        That is when the question or its answer was lost with a connection and there is a new one,
        or when a connection has stood for `patience` seconds without an answer.
        """
        until: float | None = None
        while True:
            now = time.monotonic()
            if self.hold:
                self.due.extend(self.hold.release(now))
            if self.due:
                return self.due.popleft()
            if self.peer.lost and self._due() is None:  # what is held may be the answer
                return None
            if not self.peer.connected:
                until = None
            elif until is None:
                until = now + patience
            elif now >= until:
                return None
            message = self.peer.receive(self._wait(until, now))
            if message is None:
                continue
            if self.hold is None:
                return message
            self.hold.take(message, time.monotonic())

    def _wait(self, until: float | None, now: float) -> float:
        """Return how many seconds the peer may wait for a message."""
        due = self._due()
        wait = OFFLINE if until is None else until - now
        return wait if due is None else min(wait, due - now)

    def _due(self) -> float | None:
        return self.hold.deadline() if self.hold else None


def run(
    story: NodeCoroutine[ModelReply],
    peer: Peer,
    *,
    hold: Hold[Message] | None = None,
    learner: Learner | None = None,
    evaluator: Evaluator | None = None,
    holder: HeldModel | None = None,
    begun: Callable[[float], None] = lambda zero: None,
    strike: Callable[[], None] = lambda: None,
) -> None:
    """Live a node's story to its end. `strike` comes before each gradient, and may not return.

    `holder` keeps the model where it does not travel as it is.
    """
    inbox = Inbox(peer, hold)
    outcome: Any = None
    try:
        while True:
            wish = story.send(outcome)
            outcome = None
            match wish:
                case Tell(message):
                    if isinstance(message, Pull) and holder:
                        message = replace(message, held=holder.version)
                    peer.send(message)
                case Await(patience):
                    outcome = inbox.next(patience)
                    if isinstance(outcome, ModelReply | Patch) and holder:
                        outcome = _held(outcome, holder)
                case Begun(zero):
                    begun(zero)
                case Compute(reply) if learner:
                    strike()
                    outcome = _compute(learner, reply.theta)
                case Evaluate(theta) if evaluator:
                    outcome = evaluator.evaluate(theta)
                case _:
                    raise TypeError(f"this node cannot grant {wish}")
    except StopIteration:
        return


def _held(came: ModelReply | Patch, holder: HeldModel) -> ModelReply | None:
    """The model; None if it is none, or a patch to another: then it is asked for anew, whole."""
    try:
        if isinstance(came, ModelReply):
            theta = holder.store(came.version, came.theta)
        else:
            theta = holder.decode(came.version, came.frames, came.base)
    except WireError:
        holder.forget()
        return None
    return ModelReply(came.ticket, came.version, theta)


def _compute(learner: Learner, theta: Vector) -> Computed[Vector]:
    began = time.monotonic()
    gradient, loss = learner.gradient(theta)
    return Computed(gradient, loss, time.monotonic() - began)
