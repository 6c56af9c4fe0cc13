"""The server's end of the connections: one ROUTER socket that admits the nodes of an allow-list.

A reply goes to the newest connection on which the authenticated node has spoken. Names that peers
give their connections are refused: with them a peer could take over another's connection.
"""

import ctypes
import math
import secrets
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import zmq
from zmq.auth.thread import ThreadAuthenticator

from ..core import wire
from ..core.wire.messages import Request
from ..core.zmtp import Form, Heartbeat, framed
from ..errors import WireError
from ..vectors import Buffer
from ..world.emulated_clock import UNDILATED, EmulatedClock, WorkPace
from .relayed_nodes import RelayedNodes
from .secrets import AllowList, Guests, Keys
from .sockets import prepare
from .watch import Watch

DOMAIN = "emulate"


class Admission:
    """Tells libzmq whether a peer may connect, from a thread that runs until `stop`.

    It asks the allow-list, through ZeroMQ's authentication protocol (ZAP).
    """

    def __init__(self, context: "zmq.Context[Any]", guests: AllowList) -> None:
        self._guests = guests
        self._guard = ThreadAuthenticator(context)
        self._guard.start()
        match guests:
            case Guests(tokens):
                self.names = {name: name for name in tokens}
                self._open = dict(tokens)
                self._guard.configure_plain(domain=DOMAIN, passwords=self._open)
            case Keys(_, names):
                self.names = dict(names)
                self._open = dict(names)
                self._guard.configure_curve_callback(domain=DOMAIN, credentials_provider=self)

    def require(self, socket: "zmq.Socket[Any]") -> None:
        """Make `socket` authenticate every peer. Call it before the socket binds."""
        socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        match self._guests:
            case Guests():
                socket.setsockopt(zmq.PLAIN_SERVER, 1)
            case Keys(private, _):
                socket.setsockopt(zmq.CURVE_SERVER, 1)
                socket.setsockopt(zmq.CURVE_SECRETKEY, private.encode())

    def sender(self, frame: zmq.Frame) -> str:
        """Return the name of the node that sent `frame`; empty if the node is unknown.

        The name comes from the metadata that ZeroMQ adds after authentication. A peer cannot forge
        the metadata.
        """
        try:
            return self.names.get(str(frame.get("User-Id")), "")
        except zmq.ZMQError:
            return ""

    def expel(self, node: str) -> None:
        """Refuse new connections of `node`; open connections stay."""
        for user in [user for user, name in self.names.items() if name == node]:
            self._open.pop(user, None)

    def callback(self, domain: str, key: bytes) -> bool:
        """Return whether the owner of the public `key` (Z85) may connect. Called by pyzmq."""
        return key.decode() in self._open

    def stop(self) -> None:
        self._guard.stop()


ANSWERS = 4
"""Models that may wait for one node. An honest node asks for one."""

STALE = 8
"""Connections from one address allowed beyond one for each node: dead ones, not yet noticed."""

MANY = 64
"""Frames of a message above which its sender is expelled. An honest message has fewer."""

NUMBERED = 5
"""Bytes of libzmq's id of a connection without a name: a zero byte and a 32-bit number."""

LONGEST_IDLE = 32_767
"""Seconds. Linux refuses a larger value, and libzmq then accepts no connection at all."""


class Received(NamedTuple):
    """A message from the authenticated `node`, or the `error` for which a message was refused.

    Without both, the message came over a connection that the node has replaced, and is dropped.
    """

    node: str
    message: Any
    error: str = ""
    asked: bool = False
    """Whether the refused message had flipped bits, and may have been a question."""


class Router:
    """Receives the messages of the admitted nodes, and sends them the server's replies.

    `allowed`: bytes that may wait of one node, those of the longest message.
    """

    def __init__(
        self,
        address: str,
        guests: AllowList,
        heartbeat: Heartbeat,
        largest: int,
        pieces: int = 1,
        *,
        checked: bool = False,
        cut: bool = False,
        clock: EmulatedClock = UNDILATED,
    ) -> None:
        """Listen at `address`, for example `tcp://*:5555`.

        `largest`: bytes of the largest frame; libzmq refuses a larger one before it allocates
        memory. A message may be twice as long: an index and a value of each parameter. `pieces`:
        messages in which a model may travel. `checked`: whether every message has a checksum.
        `cut`: whether devices send activations, which are questions with arrays. Time-outs and the
        heartbeat are in seconds of `clock`.
        """
        self.clock, self.pace = clock, WorkPace.of_thread(clock)
        self._context = zmq.Context()
        self._admission = Admission(self._context, guests)
        self._routes: dict[str, bytes] = {}  # from node to its newest connection that has spoken
        self._relays = RelayedNodes(guests.relays if isinstance(guests, Keys) else {})
        _number_from_anywhere()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._socket.setsockopt(zmq.MAXMSGSIZE, largest)
        self._socket.setsockopt(zmq.BACKLOG, 1024)
        prepare(self._socket)
        # libzmq hears of room in a queue when half of the queue has been read
        most = self._relays.most  # nodes behind one connection
        room = most * (ANSWERS if pieces == 1 else 2 * (pieces + ANSWERS))
        self._socket.setsockopt(zmq.SNDHWM, room)
        self._backlog = SendBacklog(most * ANSWERS * largest) if pieces > 1 else None
        # no bound here, see `_probe`: the watch bounds the messages that wait
        self._socket.setsockopt(zmq.RCVHWM, 0)
        _probe(self._socket, heartbeat, clock)
        self._admission.require(self._socket)
        self.form = Form(isinstance(guests, Keys), checked)
        self._longest_question = wire.PARTS if cut else 1
        self.allowed = 2 * largest * most
        most = len(self._admission.names) + STALE
        silence = clock.real(heartbeat.timeout)
        self._watch = Watch(self._socket, silence, largest=largest, limit=self.allowed, most=most)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._socket.bind(address)

    def wake_for(self, socket: "zmq.Socket[Any]") -> None:
        """Let `poll` end as soon as `socket` can be read, too."""
        self._poller.register(socket, zmq.POLLIN)

    @property
    def address(self) -> str:
        """Return the address on which the socket listens, with the port that a wildcard got."""
        return self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def poll(self, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds for a message; return whether `receive` has a result.

        None waits without an end. A refusal that the watch reports meanwhile does not end the wait.
        """
        wait = None if timeout is None else max(0, round(self.clock.real(timeout) * 1000))
        return bool(self._watch.refusals or self._poller.poll(wait) or self._watch.refusals)

    def register(self, poller: zmq.Poller) -> None:
        """Let `poller` wake up for messages. Refusals of the watch wait for the next wake-up."""
        poller.register(self._socket, zmq.POLLIN)

    def receive(self) -> Received | None:
        """Return the next message or refusal; None if nothing has arrived."""
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
        asked = False
        try:
            if number > MANY:
                raise WireError(self._expel(identity, node, number))
            if not self._is_newest(node, identity.bytes):
                return Received(node, None)
            if self._relays.speaks(node):
                node = self._relays.sender(node, frames.pop(0).bytes if frames else b"")
                self._routes[node] = identity.bytes
            inner: Sequence[Buffer] = [part.buffer for part in frames]
            if self.form.checked:
                asked = len(inner) <= self._longest_question + 1  # no flipped bit adds a frame
                inner = wire.opened(inner)
            message: Request = wire.unpack(inner)  # type: ignore[assignment]
            if getattr(message, "node", node) != node:
                raise WireError(f"{node} speaks for {message.node!r}")
        except WireError as error:
            return Received(node, None, str(error), asked and str(error) == wire.MISMATCH)
        return Received(node, message)

    def _is_newest(self, node: str, connection: bytes) -> bool:
        """Make `connection` the route to `node`; return False if the node has a newer connection.

        A message that was under way on an older, dead connection may arrive after a message on the
        newer one. Raises WireError if the peer has named its connection.
        """
        if len(connection) != NUMBERED or connection[0]:
            raise WireError(f"{node} calls its connection {connection!r}; it must not be named")
        known = self._routes.get(node)
        if known is not None and known != connection:
            ahead = int.from_bytes(connection[1:], "big") - int.from_bytes(known[1:], "big")
            if ahead % 2**32 >= 2**31:  # older: libzmq counts connections modulo 2**32
                return False
        self._routes[node] = connection
        return True

    def _parts(self, first: zmq.Frame, node: str) -> tuple[list[zmq.Frame], int]:
        """Read the rest of the message after the frame `first`; return all parts, and how many.

        Parts beyond the longest honest message are read and dropped.
        """
        parts: list[zmq.Frame] = []
        more, number, size = first.more, 0, 0
        while more:
            part = self._socket.recv(copy=False)
            more, number = part.more, number + 1
            size += framed(len(part), self.form)
            if number <= wire.PARTS + 1 + self.form.checked + self._relays.speaks(node):
                parts.append(part)
        self._watch.heard(first, node, size)
        return parts, number

    def _expel(self, first: zmq.Frame, node: str, number: int) -> str:
        """Shut out `node` for a message of `number` frames; return the reason.

        The server would spend its time on reading and dropping such messages.
        """
        self._admission.expel(node)
        self._watch.hang_up(first)
        return f"a message of {number} frames: hung up, and let in no more"

    def send(self, node: str, message: Any) -> bool:
        """Queue `message` without copying its arrays; return False if `node` is out of reach."""
        route = self._routes.get(node)
        if route is None:
            return False
        relayed = self._relays.knows(node)
        packed = wire.pack(self._relays.spared(route, message) if relayed else message)
        frames = [route, *(wire.sealed(packed) if self.form.checked else packed)]
        if relayed:
            frames.insert(1, node.encode())
        if self._backlog and self._backlog.full(route):
            return False
        tracked = self._backlog is not None
        try:
            tracker = self._socket.send_multipart(
                frames, flags=zmq.DONTWAIT, copy=False, track=tracked
            )
        except zmq.Again:  # the node's queue is full
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return False
        if relayed:
            self._relays.sent(route, message)
        if self._backlog and tracker:
            self._backlog.add(route, tracker, sum(map(len, frames)))
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self, linger: float = 0.0) -> None:
        """Close after the queued messages have left, or after `linger` seconds."""
        milliseconds = round(self.clock.real(linger) * 1000)
        self._watch.stop()
        self._socket.close(linger=milliseconds)
        self._admission.stop()
        self._context.destroy(linger=milliseconds)


def _number_from_anywhere() -> None:
    """Make the next ROUTER number its connections from a start that no peer can guess.

    libzmq 4.3.5 draws the start with an unseeded `rand`, so every process has the same. It aborts
    the process if a peer has given its connection the name of the next number.
    """
    ctypes.CDLL(None).srand(secrets.randbits(32))


def _probe(socket: "zmq.Socket[Any]", heartbeat: Heartbeat, clock: EmulatedClock) -> None:
    """Make the kernel detect silent peers: nodes ping, and the server only answers.

    libzmq 4.3.5 aborts the process (`!_io_error`) if it has to send or answer a ping on a
    connection that broke while libzmq read nothing from it. It stops reading when the receive queue
    is full, so the queue has no bound here, and when another connection takes over the name, so
    names are refused.
    """
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    silence, interval = clock.real(heartbeat.timeout), clock.real(heartbeat.interval)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, min(math.ceil(silence), LONGEST_IDLE))
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, min(math.ceil(interval), LONGEST_IDLE))
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 3)


MANY_QUEUES = 1024
"""Connections with a queue above which the queues of ended connections are dropped."""


class SendBacklog:
    """The large messages queued for each connection, until libzmq has written them.

    libzmq bounds the number of messages for a connection. That number must let all pieces of a
    model pass, and each message may be a whole model, so the sum of their sizes is bounded here.
    Frames below pyzmq's `copy_threshold` of 64 KiB are copied, and count as written at once.
    """

    def __init__(self, limit: int) -> None:
        """Let `limit` bytes wait for each connection."""
        self._limit = limit
        self._queues: defaultdict[bytes, deque[tuple[zmq.MessageTracker, int]]] = defaultdict(deque)
        self._most = MANY_QUEUES  # queues at which `_forget_idle` looks at all of them

    def full(self, route: bytes) -> bool:
        """Return whether no more messages may be queued for the connection `route`."""
        queue = self._queues[route]
        while queue and queue[0][0].done:
            queue.popleft()
        return sum(size for _, size in queue) >= self._limit

    def add(self, route: bytes, tracker: zmq.MessageTracker, size: int) -> None:
        """Note that a message of `size` bytes was queued for the connection `route`."""
        self._queues[route].append((tracker, size))
        self._forget_idle()

    def _forget_idle(self) -> None:
        """Drop the queues without a message that waits, once there are many.

        libzmq drops the messages for a connection that has come to an end, so they count as
        written. Twice the queues that are left have to come before the next look: O(1) a message.
        """
        if len(self._queues) <= self._most:
            return
        for route, queue in [*self._queues.items()]:
            if all(tracker.done for tracker, _ in queue):
                del self._queues[route]
        self._most = max(MANY_QUEUES, 2 * len(self._queues))
