"""Hostile peers without a valid secret."""

import socket
from collections import Counter, deque
from contextlib import suppress

from .messages import KINDS, HostileMessages, drawn
from .streams import refused_greeting, stream

LINGERING = 6
"""Connections of a peer that stay open at once."""


class Outsider:
    """A peer that is not admitted, with a new connection for each attack."""

    def __init__(self, address: str, source: str, messages: HostileMessages) -> None:
        """Connect to `address` from the address `source`."""
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self._address, self._source = (host, int(port)), source
        self._messages = messages
        self._open: deque[socket.socket] = deque()
        self.sent: Counter[str] = Counter()
        self.connections = 0

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
        if dice.random() < 0.8 or len(self._open) > LINGERING:
            self._open.popleft().close()
        return len(messages)

    def close(self) -> None:
        for peer in self._open:
            peer.close()
