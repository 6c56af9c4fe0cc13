"""A hostile device that asks for models and never reads an answer."""

from collections import Counter

import zmq

from emulator.core import wire
from emulator.core.wire.messages import Hello, Message, Pull
from emulator.transport.peer import Peer
from emulator.transport.secrets import Secret
from tests.fakes.node.durable_process import BEAT

BURST = 40
"""Pulls of an attack."""
LASTING = 200
"""Attacks over one connection, after which the device connects anew."""


class Mute:
    """A device of the run with a valid secret; its answers fill the queues between it and the
    server, which then has no room for more."""

    def __init__(self, address: str, source: str, secret: Secret, node: str) -> None:
        """Connect to `address` from the address `source`, with the `secret` of `node`."""
        self._own = address.replace("tcp://", f"tcp://{source}:0;")
        self._secret, self.node = secret, node
        self.sent: Counter[str] = Counter()
        self.connections = self._attacks = self._ticket = 0
        self._connect()

    def _connect(self) -> None:
        self._peer = Peer(self._own, self._secret, BEAT)
        self.connections += 1
        self._say(Hello(self.node, 0))

    def attack(self) -> int:
        """Send pulls without reading the answers; return the number that left."""
        self._attacks += 1
        if self._attacks % LASTING == 0:
            self._peer.close()
            self._connect()
        number = 0
        while number < BURST:
            self._ticket += 1
            if not self._say(Pull(self.node, self._ticket)):
                break
            number += 1
        self.sent["unread"] += number
        return number

    def _say(self, message: Message) -> bool:
        try:
            self._peer._socket.send_multipart(wire.pack(message), zmq.NOBLOCK)
        except zmq.Again:  # the queue to the server is full
            return False
        return True

    def close(self) -> None:
        self._peer.close()
