"""A node's end of the wire: one DEALER socket that proves who it is."""

from types import TracebackType
from typing import Self

import zmq

from ..core import wire
from ..core.messages import Message
from ..errors import WireError
from .heartbeat import Heartbeat
from .secrets import KeyPair, Secret, Token
from .sockets import prepare

LONGEST_TTL = 65_535
"""Milliseconds. Whoever hears of more (libzmq 4.3.5) keeps 16 bits of it, and hangs up too soon."""


class Peer:
    """Speaks to the server at `address` for the node of `secret`. Reconnects by itself."""

    def __init__(self, address: str, secret: Secret, heartbeat: Heartbeat) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 100)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        prepare(self._socket)
        _beat(self._socket, heartbeat)
        _prove(self._socket, secret)
        self._socket.connect(address)

    def send(self, message: Message) -> None:
        """Queue it; if the queue is full (the server is long out of reach) it is lost."""
        try:
            self._socket.send_multipart(wire.pack(message), copy=True, flags=zmq.DONTWAIT)
        except zmq.Again:
            return

    def receive(self, timeout: float | None) -> Message | None:
        """The next message, or None if none comes within `timeout` seconds."""
        wait = None if timeout is None else max(0, round(timeout * 1000))
        if not self._socket.poll(wait):
            return None
        frames = self._socket.recv_multipart(copy=False)
        try:
            return wire.unpack([frame.buffer for frame in frames])
        except WireError:
            return None  # the server does not lie; treat it as silence

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._context.destroy(linger=0)

    def flush(self, seconds: float) -> None:
        """Close, but let what is queued leave for up to `seconds`."""
        self._context.destroy(linger=round(seconds * 1000))


def _beat(socket: "zmq.Socket[bytes]", heartbeat: Heartbeat) -> None:
    """Ping the server, who answers, and tell it how long to wait for the next sign of life."""
    milliseconds = round(heartbeat.timeout * 1000)
    socket.setsockopt(zmq.HEARTBEAT_IVL, round(heartbeat.interval * 1000))
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, milliseconds)
    socket.setsockopt(zmq.HEARTBEAT_TTL, milliseconds if milliseconds <= LONGEST_TTL else 0)


def _prove(socket: "zmq.Socket[bytes]", secret: Secret) -> None:
    match secret:
        case Token(name, token):
            socket.setsockopt(zmq.PLAIN_USERNAME, name.encode())
            socket.setsockopt(zmq.PLAIN_PASSWORD, token.encode())
        case KeyPair(public, private, server):
            socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
            socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())
            socket.setsockopt(zmq.CURVE_SERVERKEY, server.encode())
