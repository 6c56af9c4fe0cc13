"""A hostile device of the run: it has a valid secret, and keeps to the framing."""

import time
from collections import Counter

from emulator.core import wire
from emulator.core.server.seen_pushes import SeenPushes
from emulator.core.wire.messages import Hello, Message, ModelReply, Pull
from emulator.errors import WireError
from emulator.transport.peer import Peer
from emulator.transport.secrets import Secret
from tests.fakes.node.durable_process import BEAT

from .messages import KINDS, Frames, HostileMessages

BURST = 40
"""Messages between two questions to which the insider awaits the answer."""
BURST_BYTES = 60_000
"""Bytes after which a burst ends: what the server has not read must stay under its bound."""
ANSWER = 0.1
"""Seconds until an insider asks once more."""
SILENCE = 30.0
"""Seconds without an answer after which the server counts as dead."""
FIRST_QUESTION = 1 << 40
"""Ticket that no hostile message bears."""


class Insider:
    """A device of the run, with hostile messages over one lasting connection.

    The server takes the messages of a connection in their order. So once a question behind a burst
    is answered, the server has taken all messages of the burst, and has each on record.
    """

    def __init__(
        self, address: str, source: str, secret: Secret, messages: HostileMessages, node: str
    ) -> None:
        """Connect to `address` from the address `source`, with the `secret` of `node`."""
        own = address.replace("tcp://", f"tcp://{source}:0;")
        self._peer, self._messages, self.node = Peer(own, secret, BEAT), messages, node
        self.sent: Counter[str] = Counter()
        self.questions = 0
        """Honest messages sent."""
        self.repeats = 0
        """Hostile messages that repeat a push by its number, of which a durable server has no
        record: it has taken the push before."""
        self._seen = SeenPushes()
        self._version, self._ticket = 0, FIRST_QUESTION
        self._say(Hello(node, 0))

    @property
    def breaks(self) -> int:
        """Return the number of broken connections."""
        self._peer.look()
        return self._peer.breaks

    def join(self) -> None:
        """Wait until the run has begun."""
        while self._peer.receive(None) is None:
            pass

    def attack(self) -> int:
        """Send a burst and a question; return the number of hostile messages."""
        size = number = 0
        while number < BURST and size < BURST_BYTES:
            kind = self._messages.dice.choice(KINDS)
            frames = self._messages.draw(kind, self._version)
            self.sent[kind] += 1
            self.repeats += self._repeats(frames)
            self._peer._socket.send_multipart(frames)
            size, number = size + sum(map(len, frames)), number + 1
        self._ask()
        return number

    def _repeats(self, frames: Frames) -> bool:
        """Return whether a server may take `frames` for a push that it has seen."""
        try:
            message = wire.unpack(frames)
        except WireError:
            return False
        return getattr(message, "node", None) == self.node and self._seen.repeats(message)

    def settle(self) -> None:
        """Wait for the answer to the last question. TimeoutError if the server is silent."""
        began = time.monotonic()
        due = began + ANSWER
        while time.monotonic() < began + SILENCE:
            reply = self._peer.receive(0.1)
            if isinstance(reply, ModelReply):
                self._version = reply.version
                if reply.ticket == self._ticket:
                    return
            if time.monotonic() > due:  # the queue to this device was full
                self._ask()
                due = time.monotonic() + ANSWER
        raise TimeoutError(f"{self.node} has had no answer for {SILENCE:g} s")

    def _ask(self) -> None:
        self._ticket += 1
        self._say(Hello(self.node, 1))  # it may have said goodbye
        self._say(Pull(self.node, self._ticket))

    def _say(self, message: Message) -> None:
        self._peer.send(message)
        self.questions += 1

    def close(self) -> None:
        self._peer.close()
