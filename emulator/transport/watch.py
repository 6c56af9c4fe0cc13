"""Bounds what peers make the server hold before it reads it, and notices hang-ups.

libzmq 4.3.5 bounds a frame, and counts whole messages; it bounds neither how many frames a message
has nor what they add up to, and hands over nothing before the last one has come. The kernel knows
how much has come over a connection, the router how much of it was in messages that it has read:
the rest is held by libzmq. A thread compares the two twenty times a second. Who makes libzmq hold
more than any honest node can is hung up on, and libzmq frees what was no whole message.

The bound, in bytes of the wire, is `limit` for each user at an address, on all connections from
there together, also on those that are gone and have left messages to be read. Of an ordinary
message the memory holds little more than that; of one in empty frames, which take 2 bytes on the
wire and 64 in memory (PLAIN), 32 times as much. What libzmq reads between two looks comes on top:
1 MB of empty frames at most on a machine that decodes ten million of them in a second. What the
kernel has received and libzmq has not read is thrown away.
"""

import threading
import time
from collections import defaultdict, deque
from typing import Any, NamedTuple

import zmq

from .connection import VISIBLE, Connection
from .sockets import events, listen

TICK = 0.05
"""Seconds between two looks."""


class Refusal(NamedTuple):
    """Why a connection was closed; `node` is an address where it could be of several nodes."""

    node: str
    reason: str


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
        self._connections: dict[int, Connection] = {}
        self._delivered: defaultdict[int, int] = defaultdict(int)
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        self._left: defaultdict[str, list[float]] = defaultdict(list)  # held of each that is gone
        self._over = threading.Event()
        self.refusals: deque[Refusal] = deque()
        self.start()

    def heard(self, frame: zmq.Frame, node: str, size: int) -> None:
        """Note that `node` has sent a message of `size` bytes; the router's thread calls it."""
        self._delivered[int(frame["__fd"])] += size
        self._users[str(frame["Peer-Address"])].add(node)

    def drained(self) -> None:
        """Note that nothing is left to read; the router's thread calls it."""
        if self._left:
            self._left = defaultdict(list)

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
        if not VISIBLE:
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
                connection = Connection(number, self._delivered[number])
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
        address = connection.address
        if not connection.closed:
            connection.weigh(self._delivered[number], 0.0)
            if connection.was_cut_off(self._patience):
                reason = f"a frame of more than {self._largest} bytes, or bytes that are no frame"
                self._refuse(address, reason)
        if connection.held:
            self._left[address].append(connection.held)
        connection.socket.close()

    def _crowd(self, address: str) -> None:
        """Have no more connections from `address` than may be, the oldest of them first to go."""
        own, left = self._from(address), self._left[address]
        if sum(left) > self._allowed(address):
            self._hang_up(own[-1], "too much is left to be read of earlier connections")
        while own and len(own) + len(left) > self._most:
            self._hang_up(own.pop(0), f"more than {self._most} connections")

    def _look(self, seconds: float) -> None:
        addresses = set()
        for number, connection in self._connections.items():
            if not connection.closed:
                connection.weigh(self._delivered[number], seconds)
                addresses.add(connection.address)
        for address in addresses:
            self._relieve(address)

    def _relieve(self, address: str) -> None:
        """Hang up on the connections from `address` that hold most, until the rest is allowed."""
        own, allowed = self._from(address), self._allowed(address) - sum(self._left[address])
        if sum(connection.held for connection in own) <= allowed:
            return
        held = {connection: connection.held - connection.unread() for connection in own}
        total = sum(held.values())
        for connection in sorted(own, key=held.__getitem__, reverse=True):
            if total <= allowed:
                return
            total -= held[connection]
            reason = f"more than {self._limit} bytes of a message without end, or not read yet"
            self._hang_up(connection, reason)

    def _allowed(self, address: str) -> int:
        return self._limit * max(1, len(self._users[address]))

    def _from(self, address: str) -> list[Connection]:
        """Return the connections from `address`, the oldest first."""
        own = (each for each in self._connections.values() if each.address == address)
        return [connection for connection in own if not connection.closed]

    def _hang_up(self, connection: Connection, reason: str) -> None:
        connection.hang_up()
        self._refuse(connection.address, reason)

    def _refuse(self, address: str, reason: str) -> None:
        users = tuple(self._users[address])
        node = users[0] if len(users) == 1 else address
        self.refusals.append(Refusal(node, f"{reason}: hung up"))
