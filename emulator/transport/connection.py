"""A peer's connection as the kernel sees it, beside libzmq, which tells little about it."""

import ctypes
import fcntl
import socket
import struct
import termios

VISIBLE = hasattr(socket, "TCP_INFO")
"""Whether this kernel tells what has come over a connection."""

LEAK = 64.0
"""Bytes a second that belong to no message: pings are a fifth of that."""

HANDSHAKE = 1000
"""Bytes that suffice for each mechanism's handshake."""

_BYTES_RECEIVED, _LAST_DATA, _TCP_INFO = 128, 52, 136
_ESTABLISHED = 1


class Connection:
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
