"""A node's end of the wire: one DEALER socket that proves who it is.

libzmq connects anew by itself. The peer listens to its events, because an answer that was due on
the last connection never comes on the next one.
"""

import math
import time
from collections import deque
from types import TracebackType
from typing import Self

import zmq

from ..core import wire
from ..core.heartbeat import Heartbeat
from ..core.messages import Message
from ..errors import WireError
from .secrets import KeyPair, Secret, Token
from .sockets import UP, events, listen, prepare

LONGEST_TTL = 65_535
"""Milliseconds. Whoever hears of more (libzmq 4.3.5) keeps 16 bits of it, and hangs up too soon."""


class Peer:
    """Speaks to the server at `address` for the node of `secret`. Reconnects by itself.

    `connected` says whether there is a connection, and `lost` whether the last message that was
    sent, or its answer, went down with a connection that has been replaced since.
    """

    def __init__(self, address: str, secret: Secret, heartbeat: Heartbeat) -> None:
        self.connected = self.lost = False
        self._broken = False  # since the last message was sent, its connection was
        self._address = address
        self._arrived: deque[list[zmq.Frame]] = deque()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.RECONNECT_IVL, 100)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 2000)
        prepare(self._socket)
        _beat(self._socket, heartbeat)
        _prove(self._socket, secret)
        self._events = listen(self._socket, UP | zmq.EVENT_DISCONNECTED)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._events, zmq.POLLIN)
        self._socket.connect(address)

    def send(self, message: Message) -> None:
        """Queue it; if the queue is full (the server is long out of reach) it is lost."""
        self._look()
        self._broken = self.lost = False
        try:
            self._socket.send_multipart(wire.pack(message), copy=True, flags=zmq.DONTWAIT)
        except zmq.Again:
            return

    def receive(self, timeout: float | None) -> Message | None:
        """Return the next message; None if none comes within `timeout` seconds, or it is lost."""
        frames = self._next(timeout)
        if frames is None:
            return None
        try:
            return wire.unpack([frame.buffer for frame in frames])
        except WireError:
            return None  # the server does not lie; treat it as silence

    def _next(self, timeout: float | None) -> list[zmq.Frame] | None:
        until = math.inf if timeout is None else time.monotonic() + timeout
        while not self._arrived:
            left = until - time.monotonic()
            ready = dict(
                self._poller.poll(None if left == math.inf else max(0, round(left * 1000)))
            )
            if self._socket in ready:  # what has arrived comes before what happened since
                return self._socket.recv_multipart(copy=False)
            self._look()
            if self.lost or not ready:
                return None
        return self._arrived.popleft()

    def _look(self) -> None:
        """Learn what has become of the connection."""
        broke = False
        for event, _ in events(self._events):
            up = event == UP
            broke = not up and (broke or self.connected)  # not where a new one failed to come up
            self._broken |= broke
            self.connected = up
        if broke:
            self._forget()
        self.lost = self.connected and self._broken

    def _forget(self) -> None:
        """Drop what libzmq holds for the next connection: whoever waits for its answer asks anew.

        Else both questions would be answered, with a model each. What has arrived is kept.
        """
        while self._socket.poll(0):
            self._arrived.append(self._socket.recv_multipart(copy=False))
        self._socket.disconnect(self._address)
        self._socket.connect(self._address)

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
    # the kernel's tries to connect become rare: begin again, or a long cut outlasts its end
    socket.setsockopt(zmq.CONNECT_TIMEOUT, milliseconds // 2)


def _prove(socket: "zmq.Socket[bytes]", secret: Secret) -> None:
    match secret:
        case Token(name, token):
            socket.setsockopt(zmq.PLAIN_USERNAME, name.encode())
            socket.setsockopt(zmq.PLAIN_PASSWORD, token.encode())
        case KeyPair(public, private, server):
            socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
            socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())
            socket.setsockopt(zmq.CURVE_SERVERKEY, server.encode())
