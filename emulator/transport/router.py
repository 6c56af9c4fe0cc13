"""The server's end of the wire: one ROUTER socket that admits only those on its list.

A reply goes to the connection on which the allow-list's user of that name has spoken, never by a
name that a peer gives its connection: the socket numbers connections, and takes nobody over.
"""

import ctypes
import math
import secrets
from types import TracebackType
from typing import Any, NamedTuple, Self

import zmq

from ..core import wire
from ..core.heartbeat import Heartbeat
from ..core.messages import Request
from ..errors import WireError
from .admission import Admission
from .secrets import AllowList, Keys
from .sockets import prepare
from .watch import Watch

ANSWERS = 4
"""Messages that may wait for one node. Each may be a model, and an honest node waits for one."""

STALE = 8
"""Connections that a node may have beside one for each name on the list: dead ones of its own."""

MANY = 64
"""Frames of a message beyond which its sender is expelled. No honest message has so many."""

NUMBERED = 5
"""Bytes of the id that libzmq gives a connection without a name: a zero, and a number of four."""

LONGEST_IDLE = 32_767
"""Seconds. Linux takes no more, and with an option refused libzmq lets nobody in."""


class Received(NamedTuple):
    """A message from `node`, whom the allow-list vouches for; or why it was refused.

    With neither it came over a connection that the node has since replaced, and is lost with that.
    """

    node: str
    message: Any
    error: str = ""


class Router:
    """Listens at `address`.

    `largest` bounds a frame, in bytes, before it is allocated. A message may be twice as long: an
    index and a value of each parameter.
    """

    def __init__(self, address: str, guests: AllowList, heartbeat: Heartbeat, largest: int) -> None:
        self._context = zmq.Context()
        self._admission = Admission(self._context, guests)
        self._routes: dict[str, bytes] = {}  # node to its newest connection that has spoken
        _number_from_anywhere()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, largest)
        self._socket.setsockopt(zmq.BACKLOG, 1024)
        prepare(self._socket)
        self._socket.setsockopt(zmq.SNDHWM, ANSWERS)
        self._socket.setsockopt(zmq.RCVHWM, 0)  # the watch bounds what waits: see `_probe`
        _probe(self._socket, heartbeat)
        self._admission.require(self._socket)
        self._encrypted = isinstance(guests, Keys)
        most = len(self._admission.names) + STALE
        self._watch = Watch(
            self._socket, heartbeat.timeout, largest=largest, limit=2 * largest, most=most
        )
        self._socket.bind(address)

    @property
    def address(self) -> str:
        """Where it listens, with the port that a wildcard got."""
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def poll(self, timeout: float | None) -> bool:
        """Wait for a message for up to `timeout` seconds; a refusal without one does not end it."""
        wait = None if timeout is None else max(0, round(timeout * 1000))
        return bool(self._watch.refusals or self._socket.poll(wait) or self._watch.refusals)

    def receive(self) -> Received | None:
        """The next message that has arrived; None if there is none."""
        if self._watch.refusals:
            node, reason = self._watch.refusals.popleft()
            return Received(node, None, reason)
        try:
            identity = self._socket.recv(zmq.DONTWAIT, copy=False)
        except zmq.Again:
            self._watch.drained()
            return None
        node = self._admission.sender(identity)
        frames, number = self._parts(identity, node)
        try:
            if number > MANY:
                raise WireError(self._expel(identity, node, number))
            if not self._is_newest(node, identity.bytes):
                return Received(node, None)
            message: Request = wire.unpack([part.buffer for part in frames])  # type: ignore[assignment]
            if getattr(message, "node", node) != node:
                raise WireError(f"{node} speaks for {message.node!r}")
        except WireError as error:
            return Received(node, None, str(error))
        return Received(node, message)

    def _is_newest(self, node: str, connection: bytes) -> bool:
        """Remember `connection` as the route to `node`, unless the node has a newer one.

        What was under way on an older one may come in late, and that one is dead. Raises WireError.
        """
        if len(connection) != NUMBERED or connection[0]:
            raise WireError(f"{node} calls its connection {connection!r}; it must not be named")
        known = self._routes.get(node)
        if known is not None and known != connection:
            ahead = int.from_bytes(connection[1:], "big") - int.from_bytes(known[1:], "big")
            if ahead % 2**32 >= 2**31:  # numbers wrap around
                return False
        self._routes[node] = connection
        return True

    def _parts(self, first: zmq.Frame, node: str) -> tuple[list[zmq.Frame], int]:
        """Read one message to its end, keeping no more frames than any message has; count them."""
        parts: list[zmq.Frame] = []
        more, number, size = first.more, 0, 0
        while more:
            part = self._socket.recv(copy=False)
            more, number = part.more, number + 1
            size += wire.framed(len(part), encrypted=self._encrypted)
            if number <= wire.PARTS + 1:
                parts.append(part)
        self._watch.heard(first, node, size)
        return parts, number

    def _expel(self, first: zmq.Frame, node: str, number: int) -> str:
        """Be rid of a node whose messages take long to read only to be thrown away."""
        self._admission.expel(node)
        self._watch.hang_up(first)
        return f"a message of {number} frames: hung up, and let in no more"

    def send(self, node: str, message: Any) -> bool:
        """Queue it without copying its arrays; False if the node is out of reach."""
        route = self._routes.get(node)
        if route is None:
            return False
        frames = [route, *wire.pack(message)]
        try:
            self._socket.send_multipart(frames, flags=zmq.DONTWAIT, copy=False)
        except zmq.Again:  # its queue is full
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self, linger: float = 0.0) -> None:
        """Close; what is queued may leave for up to `linger` seconds."""
        self._watch.stop()
        self._socket.close(linger=round(linger * 1000))
        self._admission.stop()
        self._context.destroy(linger=round(linger * 1000))


def _number_from_anywhere() -> None:
    """Let the next ROUTER number its connections from a start that no peer can know.

    libzmq 4.3.5 draws it with `rand`, which it does not seed: each process would have the same, and
    libzmq aborts the process where a peer has named its connection as the next one is numbered.
    """
    ctypes.CDLL(None).srand(secrets.randbits(32))


def _probe(socket: "zmq.Socket[Any]", heartbeat: Heartbeat) -> None:
    """Have the kernel look after who is silent; nodes ping, the server only answers.

    libzmq 4.3.5 aborts the process (`!_io_error`) where it has to ping, or to answer a ping, on a
    connection that broke while it took nothing from it: because the queue was full, which it never
    is here, or because another connection took over.
    """
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, min(math.ceil(heartbeat.timeout), LONGEST_IDLE))
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, math.ceil(heartbeat.interval))
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)
