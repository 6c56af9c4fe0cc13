"""Hostile peers without a valid secret."""

import socket
from collections import Counter, deque
from contextlib import suppress

from .messages import KINDS, HostileMessages, drawn
from .streams import refused_greeting, stream

LINGERING = 6
"""Connections of a peer that stay open at once; an answer has the time of as many attacks."""
GREETING = 64
"""Bytes of a server's greeting, which any peer is sent."""


class Outsider:
    """A peer that is not admitted, with a new connection for each attack."""

    def __init__(self, address: str, source: str, messages: HostileMessages) -> None:
        """Connect to `address` from the address `source`."""
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self._address, self._source = (host, int(port)), source
        self._messages = messages
        self._open: deque[socket.socket] = deque()
        self.sent: Counter[str] = Counter()
        self.connections = self.answers = 0
        """Connections made, and those on which the server said more than a refusal."""

    def attack(self) -> int:
        """Send a greeting and messages over a new connection; return how many messages."""
        dice = self._messages.dice
        kind = dice.choice(KINDS)
        messages = drawn(self._messages, kind)
        peer = socket.create_connection(self._address, 2.0, (self._source, 0))
        self.connections += 1
        self.sent[kind] += len(messages)
        with suppress(OSError):  # the server may hang up meanwhile
            peer.sendall(refused_greeting(dice) + stream(kind, messages, dice))
        self._open.append(peer)
        if len(self._open) > LINGERING:
            self._end(self._open.popleft())
        return len(messages)

    def _end(self, peer: socket.socket) -> None:
        """Close `peer`, and count it if it was answered."""
        self.answers += answered(_heard(peer))
        peer.close()

    def close(self) -> None:
        while self._open:
            self._end(self._open.popleft())


def _heard(peer: socket.socket) -> bytes:
    """Return the bytes that have come for `peer`, and are waiting."""
    peer.setblocking(False)
    heard = b""
    with suppress(OSError):  # no more has come, or the server has reset the connection
        while part := peer.recv(1 << 16):
            heard += part
    return heard


def answered(heard: bytes) -> bool:
    """Return whether `heard`, all bytes from a server, are more than a greeting and a refusal."""
    rest = heard[GREETING:]
    return bool(rest) and not rest[2:].startswith(b"\x05ERROR")
