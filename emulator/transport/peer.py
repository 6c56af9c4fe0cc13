"""A node's end of the connection: one DEALER socket, authenticated by the node's secret.

libzmq reconnects by itself. The peer listens to the events of libzmq, because an answer that was
due on the last connection never comes on the next one.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeAlias

import zmq

from ..core import wire
from ..core.wire.messages import Message
from ..core.zmtp import Form, Heartbeat
from ..errors import WireError
from ..vectors import Buffer
from ..world.emulated_clock import UNDILATED, EmulatedClock
from .secrets import KeyPair, Secret, Token
from .sockets import UP, events, listen, prepare

LONGEST_TTL = 65_535
"""Milliseconds. libzmq 4.3.5 keeps 16 bits of a longer time to live, and so hangs up too soon."""


Garble: TypeAlias = Callable[[Sequence[Buffer]], Sequence[Buffer]]


def as_they_are(frames: Sequence[Buffer]) -> Sequence[Buffer]:
    """Return `frames`, without flipped bits."""
    return frames


class Peer:
    """Speaks to the server at `address` for the node of `secret`. Reconnects by itself.

    `connected`: whether a connection stands. `lost`: whether a new connection has replaced the
    connection that lost the last sent message or its answer. `garbled`: whether the last message
    received had flipped bits, and was dropped.
    """

    def __init__(
        self,
        address: str,
        secret: Secret,
        heartbeat: Heartbeat,
        *,
        checked: bool = False,
        garble: Garble = as_they_are,
        clock: EmulatedClock = UNDILATED,
    ) -> None:
        """`checked`: whether every message has a checksum.

        `garble` is given the frames of each message, sent or received, and may flip bits. Time-outs
        and the heartbeat are in seconds of `clock`.
        """
        self.clock = clock
        self.connected = self.lost = self.garbled = False
        self.breaks = 0
        """Connections that broke so far."""
        self._broken = False  # whether a connection broke after the last message was sent
        self._address = address
        self.form = Form(isinstance(secret, KeyPair), checked)
        self._garble = garble
        self._arrived: deque[list[zmq.Frame]] = deque()  # messages saved by `_forget`
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.RECONNECT_IVL, round(clock.real(100)))
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, round(clock.real(2000)))
        prepare(self._socket)
        _beat(self._socket, heartbeat, clock)
        _prove(self._socket, secret)
        self._events = listen(self._socket, UP | zmq.EVENT_DISCONNECTED)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._poller.register(self._events, zmq.POLLIN)
        self._interrupt: tuple[int, Callable[[], None]] | None = None
        self._socket.connect(address)

    def interrupt(self, descriptor: int, call: Callable[[], None]) -> None:
        """Let `receive` call `call` as soon as `descriptor` can be read."""
        self._interrupt = descriptor, call
        self._poller.register(descriptor, zmq.POLLIN)

    def register(self, poller: zmq.Poller) -> None:
        """Let `poller` wake up when `receive` has something to do."""
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._events, zmq.POLLIN)

    def send(self, message: Message) -> None:
        """Queue `message`. The message is lost if the queue is full, after a long disconnection."""
        self.look()
        self.put([message])

    def put(self, messages: Iterable[Message]) -> None:
        """Queue `messages` as `send` does, without a look at the connection in between."""
        self._broken = self.lost = False
        for message in messages:
            try:
                self._socket.send_multipart(self._packed(message), copy=True, flags=zmq.DONTWAIT)
            except zmq.Again:
                return

    def receive(self, timeout: float | None) -> Message | None:
        """Return the next message; None after `timeout` seconds, or as soon as `lost` is set.

        A `timeout` of None waits without an end.
        """
        self.garbled = False
        arrived = self._next(timeout)
        if arrived is None:
            return None
        try:
            frames: Sequence[Buffer] = [frame.buffer for frame in arrived]
            if self.form.checked:
                frames = wire.opened(self._garble(frames))
            return wire.unpack(frames)
        except WireError:
            self.garbled = self.form.checked
            return None  # an honest server sends no such message: treat it as silence

    def size(self, message: Message) -> int:
        """Return the size of `message` on the wire in bytes."""
        return wire.size(message, self.form)

    def _packed(self, message: Message) -> Sequence[Buffer]:
        frames = wire.pack(message)
        return self._garble(wire.sealed(frames)) if self.form.checked else frames

    def _next(self, timeout: float | None) -> list[zmq.Frame] | None:
        until = math.inf if timeout is None else self.clock.now() + timeout
        while not self._arrived:
            left = self.clock.real(until - self.clock.now())
            ready = dict(
                self._poller.poll(None if left == math.inf else max(0, round(left * 1000)))
            )
            if self._interrupt and self._interrupt[0] in ready:
                self._interrupt[1]()
            if self._socket in ready:  # messages first: they arrived before the connection broke
                return self._socket.recv_multipart(copy=False)
            self.look()
            if self.lost or not ready:
                return None
        return self._arrived.popleft()

    def look(self) -> None:
        """Bring `connected`, `lost` and `breaks` up to date with the socket's events."""
        broke = False
        for event, _ in events(self._events):
            up = event == UP
            # a failed attempt to reconnect is also reported as a disconnection: it breaks nothing
            broke = not up and (broke or self.connected)
            self._broken |= broke
            self.connected = up
        if broke:
            self.breaks += 1
            self._forget()
        self.lost = self.connected and self._broken

    def _forget(self) -> None:
        """Drop the messages that libzmq holds for the next connection; keep the received ones.

        The node asks again on the next connection. A question that libzmq still held would be
        answered too, with a second model.
        """
        while self._socket.poll(0):
            self._arrived.append(self._socket.recv_multipart(copy=False))
        self._socket.disconnect(self._address)
        self._socket.connect(self._address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._context.destroy(linger=0)

    def flush(self, seconds: float) -> None:
        """Close after the queued messages have left, or after `seconds`."""
        self._context.destroy(linger=round(self.clock.real(seconds) * 1000))


def _beat(socket: "zmq.Socket[bytes]", heartbeat: Heartbeat, clock: EmulatedClock) -> None:
    """Ping the server, and tell the server after how much silence to give up this connection."""
    milliseconds = round(clock.real(heartbeat.timeout) * 1000)
    socket.setsockopt(zmq.HEARTBEAT_IVL, round(clock.real(heartbeat.interval) * 1000))
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, milliseconds)
    socket.setsockopt(zmq.HEARTBEAT_TTL, milliseconds if milliseconds <= LONGEST_TTL else 0)
    # the kernel retries a connection ever more rarely: begin anew, or a mended cut lasts on
    socket.setsockopt(zmq.CONNECT_TIMEOUT, milliseconds // 2)


def _prove(socket: "zmq.Socket[bytes]", secret: Secret) -> None:
    """Make `socket` authenticate itself with `secret`."""
    match secret:
        case Token(name, token):
            socket.setsockopt(zmq.PLAIN_USERNAME, name.encode())
            socket.setsockopt(zmq.PLAIN_PASSWORD, token.encode())
        case KeyPair(public, private, server):
            socket.setsockopt(zmq.CURVE_PUBLICKEY, public.encode())
            socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())
            socket.setsockopt(zmq.CURVE_SERVERKEY, server.encode())
