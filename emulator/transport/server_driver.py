"""Runs the parameter server on a socket and the real clock."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..core.chores import Chore
from ..core.messages import Message
from ..core.server import ParameterServer, Replies
from ..shaping.hold import Hold
from .router import Router

BATCH = 64
"""Messages that the server takes before it looks at its clock again."""


def serve(
    server: ParameterServer,
    router: Router,
    *,
    holds: Mapping[str, Hold[Message]] | None = None,
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


def _timeout(
    server: ParameterServer, held: Mapping[str, Hold[Message]], chores: tuple[Chore, ...]
) -> float:
    times = [server.deadline(), *(hold.deadline() for hold in held.values())]
    times += [chore.deadline() for chore in chores]
    due = min((at for at in times if at is not None), default=float("inf"))
    # a signal may have come just before the poll: look up twice a second
    return min(0.5, max(0.0, due - time.monotonic()))


def _receive(server: ParameterServer, router: Router, held: Mapping[str, Hold[Message]]) -> bool:
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
