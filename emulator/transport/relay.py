"""Passes messages between the nodes of a host and the server, over one connection to the server.

A relay holds no state of the run. What it loses, with its connection or its process, is asked for
again, as after any broken connection.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import zmq

from ..core import wire
from ..core.wire.messages import Message, ModelReply
from ..errors import WireError
from ..vectors import Vector
from .peer import Peer
from .router import Router

BATCH = 64
"""Messages that a relay passes on in one direction before it looks at the other one."""
POLL = 500
"""Milliseconds after which a relay asks whether it shall end."""


class Uplink(Peer):
    """A relay's connection to the server, over which it speaks for the nodes of its host."""

    def pass_on(self, node: str, message: Message) -> None:
        """Queue the `message` of `node`. It is lost if the queue is full."""
        self.look()
        with suppress(zmq.Again):
            frames = [node.encode(), *wire.pack(message)]
            self._socket.send_multipart(frames, copy=True, flags=zmq.DONTWAIT)

    def take(self) -> tuple[str, Message] | None:
        """Return the next message, and the node that it is for; None if nothing has arrived.

        Raises WireError for a message that no server sends.
        """
        arrived = self._next(0.0)
        if arrived is None:
            return None
        name, *frames = arrived
        return name.bytes.decode(errors="replace"), wire.unpack([frame.buffer for frame in frames])


class HostModel:
    """The parameters that came last through a relay."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._theta: Vector | None = None

    def whole(self, message: Message) -> Message | None:
        """Return `message`, a model with its parameters; None if the relay lacks the parameters.

        Then the node asks again, after its time-out.
        """
        if not isinstance(message, ModelReply):
            return message
        if message.size:
            self._version, self._theta = message.version, message.theta
            return message
        if message.version != self._version or self._theta is None:
            return None
        return replace(message, theta=self._theta)


def relay(
    router: Router,
    uplink: Uplink,
    canceled: Callable[[], Any],
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Pass messages on until `canceled`. `tell` is called with a line for each refused message."""
    poller, model = zmq.Poller(), HostModel()
    router.register(poller)
    uplink.register(poller)
    while not canceled():
        poller.poll(POLL)
        uplink.look()
        for _ in range(BATCH):
            received = router.receive()
            if received is None:
                break
            if received.error:
                tell(f"refused a message of {received.node or 'a stranger'}: {received.error}")
            elif received.message is not None:
                uplink.pass_on(received.node, received.message)
        for _ in range(BATCH):
            try:
                passed = uplink.take()
            except WireError as error:
                tell(f"refused a message of the server: {error}")
                continue
            if passed is None:
                break
            node, message = passed
            if (whole := model.whole(message)) is not None:
                router.send(node, whole)
