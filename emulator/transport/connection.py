"""A peer's connection as the kernel sees it. libzmq itself tells little about a connection."""

import ctypes
import fcntl
import socket
import struct
import termios

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
