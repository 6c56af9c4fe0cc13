"""Run a story, or the server, on sockets and the real clock."""

import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..core.chores import Chore
from ..core.messages import Message, ModelReply, Patch, Pull
from ..core.server import ParameterServer, Replies
from ..core.worker import Await, Begun, Compute, Computed, Evaluate, NodeCoroutine, Tell
from ..errors import WireError
from ..learners.base import Evaluator, Learner
from ..pulls import HeldModel
from ..shaping.hold import Hold
from ..units import Seconds
from ..vectors import Vector
from .peer import Peer
from .router import Router

Held: TypeAlias = Hold[Message]

BATCH = 64
"""Messages that the server takes before it looks at its clock again."""

OFFLINE = 0.5
"""Seconds after which a peer that has no connection is asked again whether it has."""


@dataclass
class Inbox:
    """What the server sends, held back as long as the link would have taken."""

    peer: Peer
    hold: Held | None
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


def tell(
    story: NodeCoroutine[ModelReply],
    peer: Peer,
    *,
    hold: Held | None = None,
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


def serve(
    server: ParameterServer,
    router: Router,
    *,
    holds: Mapping[str, Held] | None = None,
    chores: tuple[Chore, ...] = (),
    canceled: Callable[[], str] = lambda: "",
) -> None:
    """Answer until the server is over. `canceled` gives a reason to end at once, or ''."""
    held = holds or {}
    while not server.over:
        router.poll(_timeout(server, held, chores))
        for _ in range(BATCH):
            if not _receive(server, router, held):
                break
        for node, hold in held.items():
            for message in hold.release(time.monotonic()):
                _take(server, router, node, message)
        _send(server, router, server.tick(time.monotonic()))
        for chore in chores:
            chore.tick(time.monotonic())
        if reason := canceled():
            _send(server, router, server.end(reason, time.monotonic()))


def _timeout(server: ParameterServer, held: Mapping[str, Held], chores: tuple[Chore, ...]) -> float:
    times = [server.deadline(), *(hold.deadline() for hold in held.values())]
    times += [chore.deadline() for chore in chores]
    due = min((at for at in times if at is not None), default=float("inf"))
    # a signal may have come just before the poll: look up twice a second
    return min(0.5, max(0.0, due - time.monotonic()))


def _receive(server: ParameterServer, router: Router, held: Mapping[str, Held]) -> bool:
    received = router.receive()
    if received is None:
        return False
    node, message, error = received
    now = time.monotonic()
    if error:
        server.refuse(node, error, now)
    elif message is None:
        pass
    elif node in held:
        held[node].take(message, now)
    else:
        _take(server, router, node, message)
    return True


def _take(server: ParameterServer, router: Router, node: str, message: Any) -> None:
    _send(server, router, server.handle(node, message, time.monotonic()))


def _send(server: ParameterServer, router: Router, replies: Replies) -> None:
    for node, reply in replies:
        if not router.send(node, reply):
            server.unsent(node, reply, time.monotonic())


def holding(delay: float, jitter: float, stream: str) -> Held | None:
    """A hold for a link's delay, or None where there is nothing to hold."""
    return Hold(Seconds(delay), Seconds(jitter), random.Random(stream)) if delay else None
