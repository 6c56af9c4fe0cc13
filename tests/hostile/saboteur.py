"""A hostile device of the run that has a valid secret, and breaks the framing."""

from collections import Counter
from contextlib import suppress

from emulator.transport.secrets import Token
from tests.fakes.node.raw_peer import RawPeer

from .messages import KINDS, HostileMessages, drawn
from .streams import stream


class Saboteur:
    """Sends hostile bytes behind a valid handshake, over a new connection for each attack."""

    def __init__(self, address: str, source: str, secret: Token, messages: HostileMessages) -> None:
        """Connect to `address` from the address `source`, with `secret`."""
        self._address, self._source, self._secret = address, source, secret
        self._messages = messages
        self.sent: Counter[str] = Counter()
        self.connections = 0

    def attack(self) -> int:
        """Send a stream over a new connection; return the number of its messages."""
        dice = self._messages.dice
        kind = dice.choice(KINDS)
        messages = drawn(self._messages, kind)
        sent = stream(kind, messages, dice)
        # the server may hang up at any byte
        with suppress(OSError), RawPeer(self._address, self._secret, self._source) as peer:
            self.connections += 1
            self.sent[kind] += len(messages)
            peer.send(sent)
            if dice.random() < 0.5:
                peer.reset()
            return len(messages)
        return 0

    def close(self) -> None:
        """Return at once: no connection outlasts an attack."""
