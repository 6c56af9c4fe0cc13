"""Bounds the memory that peers make libzmq hold, and reports connections that libzmq cuts off.

libzmq 4.3.5 bounds the size of a frame and the number of whole messages. It bounds neither the
number of frames in a message nor their sum, and delivers a message only once the last frame has
arrived. The kernel counts the bytes that arrive on a connection, and the router counts the bytes of
messages that it has read: libzmq holds the difference. A thread compares both twenty times a
second, and hangs up on a peer that makes libzmq hold more than an honest node can. libzmq then
frees the incomplete message.

The bound is `limit` bytes on the wire for each node at an address, summed over all connections from
the address, closed connections with unread messages included. An ordinary message takes little more
memory than bytes on the wire. An empty frame takes 2 bytes on the wire and 64 bytes of memory
(PLAIN), 32 times as much. Bytes that libzmq reads between two looks come on top: at most 1 MB of
empty frames on a machine that decodes ten million frames a second. Bytes that the kernel has
received and libzmq has not read are dropped.

Limit: the thread reads a peer's address from the connection's descriptor. A connection that libzmq
closes before the thread has seen the connection is not refused by name: the log has no record of
the peer.
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
"""Seconds between two comparisons."""


VISIBLE = hasattr(socket, "TCP_INFO")
"""Whether this kernel counts the bytes that have arrived on a connection. Linux does."""

LEAK = 64.0
"""Bytes a second that count as belonging to no message. Pings take a fifth of this rate."""

HANDSHAKE = 1000
"""Upper bound of the bytes of a handshake, PLAIN or CURVE."""

# offsets of tcpi_bytes_received (u64) and tcpi_last_data_recv (u32, milliseconds) in Linux's struct
# tcp_info, the bytes of it that are read, and the value of tcpi_state for an open connection
_BYTES_RECEIVED, _LAST_DATA, _TCP_INFO = 128, 52, 136
_ESTABLISHED = 1


class Connection:
    """A peer's connection, and an estimate of the bytes that libzmq holds of it.

    The connection is watched through a duplicate of its descriptor: once libzmq closes its own, the
    kernel may give that number to another connection.
    """

    def __init__(self, number: int, delivered: int) -> None:
        """Watch the connection with descriptor `number`. OSError if it is gone.

        `delivered`: bytes of messages that the router has read from connections with this
        descriptor so far.
        """
        self.socket = socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM)
        try:
            self.address = str(self.socket.getpeername()[0])
        except OSError:
            self.socket.close()
            raise
        self.closed = False
        self.held = 0.0  # bytes received in no message that the router has read
        self._delivered = delivered
        self._received = self._bytes_received()

    def weigh(self, delivered: int, seconds: float) -> None:
        """Update `held`, `seconds` after the last update.

        `delivered`: bytes of messages that the router has read by now, as for the constructor.
        """
        received = self._bytes_received()
        arrived, read = received - self._received, delivered - self._delivered
        self.held = max(0.0, self.held + arrived - read - LEAK * seconds)
        self._received, self._delivered = received, delivered

    def unread(self) -> int:
        """Return the number of received bytes that libzmq has not read from the kernel."""
        (number,) = struct.unpack("i", fcntl.ioctl(self.socket, termios.FIONREAD, bytes(4)))
        return int(number)

    def was_cut_off(self, timeout: float) -> bool:
        """Return whether libzmq closed the connection because of bytes from an admitted peer.

        libzmq also closes a connection that has been silent for `timeout` seconds, so a connection
        that has been silent for half as long returns False.
        """
        info = self._info()
        (silence,) = struct.unpack_from("I", info, _LAST_DATA)
        # `silence` is in milliseconds: 500 is half a second
        spoke = self._bytes_received() > HANDSHAKE and silence < 500 * timeout
        return info[0] == _ESTABLISHED and spoke

    def hang_up(self) -> None:
        """Reset the connection and drop the bytes that libzmq has not read from the kernel.

        Linux resets a TCP connection on connect(2) with the address family AF_UNSPEC, which
        Python's socket module cannot express.
        """
        self.closed = True
        ctypes.CDLL(None).connect(self.socket.fileno(), bytes(16), 16)

    def _bytes_received(self) -> int:
        (received,) = struct.unpack_from("Q", self._info(), _BYTES_RECEIVED)
        return int(received)

    def _info(self) -> bytes:
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO)


class Refusal(NamedTuple):
    """A closed connection and the reason.

    `node` is the address of the peer if several nodes speak from there, or none has spoken yet.
    """

    node: str
    reason: str


class Watch(threading.Thread):
    """Watches the connections of the `router` socket, from before it listens until `stop`."""

    def __init__(
        self, router: "zmq.Socket[Any]", timeout: float, *, largest: int, limit: int, most: int
    ) -> None:
        """Start the thread.

        `timeout`: seconds of silence after which libzmq closes a connection. `largest`: bytes of
        the largest frame that libzmq takes. `limit`: bytes that libzmq may hold for each node.
        `most`: connections from one address.
        """
        super().__init__(name="watch", daemon=True)
        self._router, self._timeout, self._largest = router, timeout, largest
        self._limit, self._most = limit, most
        self._events = listen(router, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._connections: dict[int, Connection] = {}  # by libzmq's descriptor
        # bytes of messages that the router has read, by libzmq's descriptor
        self._delivered: defaultdict[int, int] = defaultdict(int)
        # nodes that have spoken from an address
        self._users: defaultdict[str, set[str]] = defaultdict(set)
        # bytes still held of each closed connection, by address
        self._left: defaultdict[str, list[float]] = defaultdict(list)
        self._over = threading.Event()
        self.refusals: deque[Refusal] = deque()
        self.start()

    def heard(self, frame: zmq.Frame, node: str, size: int) -> None:
        """Count a message of `size` bytes from `node`. Called by the router's thread."""
        self._delivered[int(frame["__fd"])] += size
        self._users[str(frame["Peer-Address"])].add(node)

    def drained(self) -> None:
        """Note that no message is left to read. Called by the router's thread."""
        if self._left:
            self._left = defaultdict(list)

    def hang_up(self, frame: zmq.Frame) -> None:
        """Close the connection over which `frame` came. The caller reports the reason."""
        connection = self._connections.get(int(frame["__fd"]))
        # the descriptor may belong to another peer's connection by now
        if connection is not None and connection.address == frame["Peer-Address"]:
            connection.hang_up()

    def stop(self) -> None:
        """End the thread and close the duplicated descriptors."""
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
            return  # servers run on Linux; elsewhere the kernel has no such counts
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
            except OSError:  # closed already, see the limit in the module's docstring
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
            if connection.was_cut_off(self._timeout):
                reason = f"a frame of more than {self._largest} bytes, or bytes that are no frame"
                self._refuse(address, reason)
        if connection.held:
            self._left[address].append(connection.held)
        connection.socket.close()

    def _crowd(self, address: str) -> None:
        """Hang up on connections from `address` above the allowed number, the oldest first."""
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
        """Hang up on the connections from `address` that hold most, until the sum is allowed."""
        own, allowed = self._from(address), self._allowed(address) - sum(self._left[address])
        if sum(connection.held for connection in own) <= allowed:
            return
        # bytes that wait in the kernel take none of libzmq's memory
        held = {connection: connection.held - connection.unread() for connection in own}
        total = sum(held.values())
        for connection in sorted(own, key=held.__getitem__, reverse=True):
            if total <= allowed:
                return
            total -= held[connection]
            reason = f"more than {self._limit} bytes of a message without end, or not read yet"
            self._hang_up(connection, reason)

    def _allowed(self, address: str) -> int:
        """Return the bound, in bytes, for all connections from `address` together."""
        return self._limit * max(1, len(self._users[address]))

    def _from(self, address: str) -> list[Connection]:
        """Return the open connections from `address`, the oldest first."""
        own = (each for each in self._connections.values() if each.address == address)
        return [connection for connection in own if not connection.closed]

    def _hang_up(self, connection: Connection, reason: str) -> None:
        connection.hang_up()
        self._refuse(connection.address, reason)

    def _refuse(self, address: str, reason: str) -> None:
        users = tuple(self._users[address])
        node = users[0] if len(users) == 1 else address
        self.refusals.append(Refusal(node, f"{reason}: hung up"))
