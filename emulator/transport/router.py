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
from zmq.auth.thread import ThreadAuthenticator

from ..core import wire
from ..core.messages import Request
from ..errors import WireError
from .heartbeat import Heartbeat
from .secrets import AllowList, Guests, Keys
from .sockets import prepare

DOMAIN = "emulate"

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
    """Listens at `address`. `largest` bounds a frame, in bytes, before it is allocated."""

    def __init__(self, address: str, guests: AllowList, heartbeat: Heartbeat, largest: int) -> None:
        self._context = zmq.Context()
        self._guard, self._names = _admit(self._context, guests)
        self._routes: dict[str, bytes] = {}  # node to its newest connection that has spoken
        _number_from_anywhere()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, largest)
        self._socket.setsockopt(zmq.BACKLOG, 1024)
        self._socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        prepare(self._socket)
        _probe(self._socket, heartbeat)
        _require(self._socket, guests)
        self._socket.bind(address)

    @property
    def address(self) -> str:
        """Where it listens, with the port that a wildcard got."""
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def poll(self, timeout: float | None) -> bool:
        wait = None if timeout is None else max(0, round(timeout * 1000))
        return bool(self._socket.poll(wait))

    def receive(self) -> Received | None:
        """The next message that has arrived; None if there is none."""
        try:
            identity = self._socket.recv(zmq.DONTWAIT, copy=False)
        except zmq.Again:
            return None
        frames = self._parts(identity)
        node = self._names.get(_user(identity), "")
        try:
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

    def _parts(self, first: zmq.Frame) -> list[zmq.Frame]:
        """Read one message to its end, keeping no more frames than any message has."""
        parts: list[zmq.Frame] = []
        more = first.more
        while more:
            part = self._socket.recv(copy=False)
            more = part.more
            if len(parts) <= wire.PARTS:
                parts.append(part)
        return parts

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
        self._socket.close(linger=round(linger * 1000))
        self._guard.stop()
        self._context.destroy(linger=round(linger * 1000))


def _number_from_anywhere() -> None:
    """Let the next ROUTER number its connections from a start that no peer can know.

    libzmq 4.3.5 draws it with `rand`, which it does not seed: each process would have the same, and
    libzmq aborts the process where a peer has named its connection as the next one is numbered.
    """
    ctypes.CDLL(None).srand(secrets.randbits(32))


def _probe(socket: "zmq.Socket[Any]", heartbeat: Heartbeat) -> None:
    """Have the kernel look after who is silent; nodes ping, the server only answers.

    libzmq 4.3.5 aborts the process (`!_io_error`) where a heartbeat of its own falls due on a
    connection from which it takes nothing, its queue being full, and which then broke.
    """
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, min(math.ceil(heartbeat.timeout), LONGEST_IDLE))
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, math.ceil(heartbeat.interval))
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)


def _user(frame: zmq.Frame) -> str:
    """Whom the allow-list took the sender for; metadata that ZeroMQ adds, not the peer."""
    try:
        return str(frame.get("User-Id"))
    except zmq.ZMQError:
        return ""


def _admit(
    context: "zmq.Context[Any]", guests: AllowList
) -> tuple[ThreadAuthenticator, dict[str, str]]:
    """Start the ZAP handler; also return who is behind each user id that it gives."""
    guard = ThreadAuthenticator(context)
    guard.start()
    match guests:
        case Guests(tokens):
            guard.configure_plain(domain=DOMAIN, passwords=tokens)
            return guard, {name: name for name in tokens}
        case Keys(_, names):
            guard.configure_curve_callback(domain=DOMAIN, credentials_provider=_Provider(names))
            return guard, dict(names)


class _Provider:
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def callback(self, domain: str, key: bytes) -> bool:  # key comes as Z85
        return key.decode() in self._names


def _require(socket: "zmq.Socket[Any]", guests: AllowList) -> None:
    match guests:
        case Guests():
            socket.setsockopt(zmq.PLAIN_SERVER, 1)
        case Keys(private, _):
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())
