"""Bounds what a peer makes the server hold before it is a message, and notices hang-ups.

libzmq 4.3.5 bounds a frame, and counts whole messages; it bounds neither how many frames a message
has nor what they add up to, and hands over nothing before the last one has come. The kernel knows
how much has come over a connection, the router how much of it was in messages that it has read:
the rest is held by libzmq. A thread compares the two twenty times a second. Who makes libzmq hold
more than any honest node can is hung up on, and libzmq frees it all.

The bound, in bytes of the wire, is `limit` for each user at an address, on all connections from
there together. Of an ordinary message the memory holds little more than that; of one in empty
frames, which take 2 bytes on the wire and 64 in memory (PLAIN), 32 times as much. What libzmq reads
between two looks comes on top: 1 MB of empty frames at most on a machine that decodes ten million
of them in a second. What the kernel has received and libzmq has not read is thrown away.
"""

import ctypes
import fcntl
import socket
import struct
import termios
import threading
import time
from collections import defaultdict, deque
from typing import Any, NamedTuple

import zmq

from .sockets import events, listen

TICK = 0.05
"""Seconds between two looks."""

LEAK = 64.0
"""Bytes a second that belong to no message: pings are a fifth of that."""

HANDSHAKE = 1000
"""Bytes that suffice for each mechanism's handshake."""

_BYTES_RECEIVED, _LAST_DATA, _TCP_INFO = 128, 52, 136
_ESTABLISHED = 1


class Refusal(NamedTuple):
    """Why a connection was closed; `node` is an address where it could be of several nodes."""

    node: str
    reason: str


class _Connection:
    """A peer's connection: a descriptor of our own, so that it cannot become another's."""

    def __init__(self, number: int, delivered: int) -> None:
        self.socket = socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM)
        try:
            self.address = str(self.socket.getpeername()[0])
        except OSError:
            self.socket.close()
            raise
        self.closed = False
        self.held = 0.0
        self._delivered = delivered
        self._received = self._came()

    def weigh(self, delivered: int, seconds: float) -> None:
        """Bring `held` up to date; `delivered` is all that was read of this descriptor's bytes."""
        received = self._came()
        came, read = received - self._received, delivered - self._delivered
        self.held = max(0.0, self.held + came - read - LEAK * seconds)
        self._received, self._delivered = received, delivered

    def unread(self) -> int:
        """Return how many bytes the kernel keeps that libzmq has not read."""
        (number,) = struct.unpack("i", fcntl.ioctl(self.socket, termios.FIONREAD, bytes(4)))
        return int(number)

    def was_cut_off(self, patience: float) -> bool:
        """Whether libzmq closed it because of what the peer, once admitted, has said.

        For a silence of so many seconds it would have, too.
        """
        info = self._info()
        (silence,) = struct.unpack_from("I", info, _LAST_DATA)
        spoke = self._came() > HANDSHAKE and silence < 500 * patience
        return info[0] == _ESTABLISHED and spoke

    def hang_up(self) -> None:
        """Reset the connection, and throw away what libzmq has not read of it.

        Python cannot connect to no address, which is how Linux is told.
        """
        self.closed = True
        ctypes.CDLL(None).connect(self.socket.fileno(), bytes(16), 16)

    def _came(self) -> int:
        (received,) = struct.unpack_from("Q", self._info(), _BYTES_RECEIVED)
        return int(received)

    def _info(self) -> bytes:
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO)


class Watch(threading.Thread):
    """Looks after the connections of the `router` socket, from before it listens until `stop`."""

    def __init__(
        self, router: "zmq.Socket[Any]", patience: float, *, largest: int, limit: int, most: int
    ) -> None:
        """`patience` bounds silence, in seconds, and `largest` a frame, as libzmq was told.

        `limit` bounds what is held of a user, in bytes, and `most` connections from one address.
        """
        super().__init__(name="watch", daemon=True)
        self._router, self._patience, self._largest = router, patience, largest
        self._limit, self._most = limit, most
        self._events = listen(router, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._connections: dict[int, _Connection] = {}
        self._delivered: defaultdict[int, int] = defaultdict(int)
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._over = threading.Event()
        self.refusals: deque[Refusal] = deque()
        self.start()

    def heard(self, frame: zmq.Frame, node: str, size: int) -> None:
        """Note that `node` has sent a message of `size` bytes; the router's thread calls it."""
        self._delivered[int(frame["__fd"])] += size
        self._users[str(frame["Peer-Address"])].add(node)

    def hang_up(self, frame: zmq.Frame) -> None:
        """Close the connection that `frame` came over, for a reason that the caller gives."""
        connection = self._connections.get(int(frame["__fd"]))
        # by now its descriptor may be that of another connection, which need not be the peer's
        if connection is not None and connection.address == frame["Peer-Address"]:
            connection.hang_up()

    def stop(self) -> None:
        """End the thread, and let go of the connections."""
        if self._over.is_set():
            return
        self._over.set()
        self.join()
        self._router.disable_monitor()
        self._events.close()
        for connection in self._connections.values():
            connection.socket.close()

    def run(self) -> None:
        if not hasattr(socket, "TCP_INFO"):
            return  # only Linux tells what has come over a connection, and servers run there
        last = time.monotonic()
        while not self._over.is_set():
            if self._events.poll(round(1000 * TICK)):
                for event, number in events(self._events):
                    self._take(event, number)
            now = time.monotonic()
            if now - last >= TICK:
                self._look(now - last)
                last = now

    def _take(self, event: int, number: int) -> None:
        if event == zmq.EVENT_ACCEPTED:
            self._forget(number)
            try:
                connection = _Connection(number, self._delivered[number])
            except OSError:  # it has gone by now
                return
            self._connections[number] = connection
            self._crowd(connection.address)
        elif event == zmq.EVENT_DISCONNECTED:
            self._forget(number)

    def _forget(self, number: int) -> None:
        connection = self._connections.pop(number, None)
        if connection is None:
            return
        if not connection.closed and connection.was_cut_off(self._patience):
            reason = f"a frame of more than {self._largest} bytes, or bytes that are no frame"
            self._refuse(connection.address, reason)
        connection.socket.close()

    def _crowd(self, address: str) -> None:
        own = self._from(address)
        if len(own) > self._most:
            self._hang_up(own[0], f"more than {self._most} connections")

    def _look(self, seconds: float) -> None:
        held: defaultdict[str, float] = defaultdict(float)
        for number, connection in self._connections.items():
            if not connection.closed:
                connection.weigh(self._delivered[number], seconds)
                held[connection.address] += connection.held
        for address, total in held.items():
            allowed = self._limit * max(1, len(self._users[address]))
            if total > allowed:
                self._relieve(address, allowed)

    def _relieve(self, address: str, allowed: int) -> None:
        """Hang up on the connections from `address` that hold most, until the rest is allowed."""
        own = self._from(address)
        held = {connection: connection.held - connection.unread() for connection in own}
        total = sum(held.values())
        for connection in sorted(own, key=held.__getitem__, reverse=True):
            if total <= allowed:
                return
            total -= held[connection]
            self._hang_up(connection, f"more than {self._limit} bytes and no end of the message")

    def _from(self, address: str) -> list[_Connection]:
        """Return the connections from `address`, the oldest first."""
        own = (each for each in self._connections.values() if each.address == address)
        return [connection for connection in own if not connection.closed]

    def _hang_up(self, connection: _Connection, reason: str) -> None:
        connection.hang_up()
        self._refuse(connection.address, reason)

    def _refuse(self, address: str, reason: str) -> None:
        users = self._users[address]
        node = next(iter(users)) if len(users) == 1 else address
        self.refusals.append(Refusal(node, f"{reason}: hung up"))
