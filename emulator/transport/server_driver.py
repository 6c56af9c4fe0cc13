"""Runs the parameter server on a ROUTER socket and its emulated clock."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..core import wire
from ..core.server.parameter_server import Chore
from ..core.wire.messages import Again, Hello, Message, Replies
from ..shaping.hold import Hold
from ..world.emulated_clock import EmulatedClock
from .router import Router

BATCH = 64
"""Messages that the server takes before it looks at its clock again."""

MOST_HELD = 1024
"""Messages of a node that wait for the end of their set-up or delay. An update and a pull have
fewer."""

LONGEST_POLL = 0.5
"""Real seconds. A signal that comes just before the poll does not end it, so `canceled` is asked
twice a second."""


class Messenger(Protocol):
    """Brings hellos to the server by another way than the socket, such as an order."""

    def deadline(self) -> float | None:
        """Return the time of the next look; None: none comes any more."""

    def messages(self, now: float) -> Sequence[Hello]:
        """Return the hellos that have come. May be called at any time."""


class Served(Protocol):
    """A parameter server as the socket's driver sees it; `ParameterServer` documents each part."""

    @property
    def over(self) -> bool: ...

    def handle(self, node: str, message: Message, now: float) -> Replies: ...

    def refuse(self, node: str, reason: str, now: float) -> None: ...

    def hears(self, node: str) -> bool: ...

    def unsent(self, unsent: Replies, now: float) -> None: ...

    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> Replies: ...

    def end(self, reason: str, now: float) -> Replies: ...


def serve(
    server: Served,
    router: Router,
    *,
    holds: Mapping[str, Hold[Message]] | None = None,
    chores: tuple[Chore, ...] = (),
    messenger: Messenger | None = None,
    canceled: Callable[[], str] = lambda: "",
) -> None:
    """Pass messages between `router` and `server` until the run is over.

    `holds`: by node, the hold that delays the node's messages; a node without one is heard at once.
    `canceled` returns the reason to end the run now, or an empty string.
    """
    holds, clock = holds or {}, router.clock
    while not server.over:
        router.pace.rest()
        router.poll(_timeout(server, clock, holds, (*chores, *([messenger] if messenger else []))))
        router.pace.begin()
        for _ in range(BATCH):
            if not _receive(server, router, holds):
                break
        for node, hold in holds.items():
            for message in hold.release(clock.now()):
                _handle(server, router, node, message)
        for message in messenger.messages(clock.now()) if messenger else ():
            _handle(server, router, message.node, message)
        _send(server, router, server.tick(clock.now()))
        for chore in chores:
            chore.tick(clock.now())
        if reason := canceled():
            _send(server, router, server.end(reason, clock.now()))


def _timeout(
    server: Served,
    clock: EmulatedClock,
    holds: Mapping[str, Hold[Message]],
    chores: tuple[Chore | Messenger, ...],
) -> float:
    """Return the emulated seconds to the earliest deadline of all, at most `LONGEST_POLL`."""
    deadlines = [server.deadline(), *(hold.deadline() for hold in holds.values())]
    deadlines += [chore.deadline() for chore in chores]
    due = min((at for at in deadlines if at is not None), default=float("inf"))
    return min(clock.emulated(LONGEST_POLL), max(0.0, due - clock.now()))


def _receive(server: Served, router: Router, holds: Mapping[str, Hold[Message]]) -> bool:
    """Take one message from `router`; return False if no message has arrived."""
    received = router.receive()
    if received is None:
        return False
    node, message, error, asked = received
    now = router.clock.now()
    if error:
        server.refuse(node, error, now)
        if asked and server.hears(node):
            router.send(node, Again())  # or the node would wait for a time-out
    elif message is None:
        pass  # it came over a connection that the node has replaced
    elif node in holds:
        _hold(server, router, node, holds[node], message)
    else:
        _handle(server, router, node, message)
    return True


def _hold(server: Served, router: Router, node: str, hold: Hold[Message], message: Message) -> None:
    """Hold back a `message` of `node`; refuse it if more is held than an honest node sends.

    The emulated link would have stopped a node that sends too much; the real one does not.
    """
    now = router.clock.now()
    if isinstance(message, Hello):
        hold.renew(now)  # the device has booted
    if hold.is_full(MOST_HELD, router.allowed):
        server.refuse(node, f"more messages than its link carries: {type(message).__name__}", now)
    else:
        size = wire.size(message, router.form)
        hold.take(message, now, size)


def _handle(server: Served, router: Router, node: str, message: Any) -> None:
    _send(server, router, server.handle(node, message, router.clock.now()))


def _send(server: Served, router: Router, replies: Replies) -> None:
    if replies:
        router.pace.rest()  # the work for the replies is done, at the pace of the run
    unsent = [(node, reply) for node, reply in replies if not router.send(node, reply)]
    if unsent:
        server.unsent(unsent, router.clock.now())
