"""A device's end of the connections with the shards of a server, used as a single `Peer`."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import zmq

from ..core.sharding.server_shards import LEADER, ServerShards
from ..core.wire.messages import Message, Request
from .peer import Peer


class ShardPeers:
    """A peer for each shard. A message goes to the shards that `ServerShards.receivers` names.

    The connections are up if all are, and one that was lost is enough: the node then asks all.
    """

    def __init__(self, peers: Sequence[Peer], shards: ServerShards) -> None:
        """Take the `peers` over, in the order of the `shards`."""
        self._peers, self._shards = tuple(peers), shards
        self.clock, self.form = peers[LEADER].clock, peers[LEADER].form
        self.garbled = False
        self._interrupt: tuple[int, Callable[[], None]] | None = None
        self._poller = zmq.Poller()
        for peer in peers:
            peer.register(self._poller)

    @property
    def connected(self) -> bool:
        return all(peer.connected for peer in self._peers)

    @property
    def lost(self) -> bool:
        return any(peer.lost for peer in self._peers)

    @property
    def breaks(self) -> int:
        """Number of times that a connection to a shard broke."""
        return sum(peer.breaks for peer in self._peers)

    def interrupt(self, descriptor: int, call: Callable[[], None]) -> None:
        """Let `receive` call `call` as soon as `descriptor` can be read."""
        self._interrupt = descriptor, call
        self._poller.register(descriptor, zmq.POLLIN)

    def send(self, message: Message) -> None:
        """Queue `message` for its shards."""
        self.look()
        self.put([message])

    def put(self, messages: Iterable[Message]) -> None:
        """Queue `messages` as `send` does, without a look at the connections in between."""
        for message in messages:
            assert isinstance(message, Request)
            for shard in self._shards.receivers(message):
                self._peers[shard].put([message])

    def look(self) -> None:
        """Bring the state of the connections up to date."""
        for peer in self._peers:
            peer.look()

    def receive(self, timeout: float | None) -> Message | None:
        """Return the next message of any shard, as `Peer.receive`."""
        self.garbled = False
        until = math.inf if timeout is None else self.clock.now() + timeout
        while True:
            for peer in self._peers:
                message = peer.receive(0.0)
                self.garbled = peer.garbled
                if message is not None or self.garbled:
                    return message
            left = self.clock.real(until - self.clock.now())
            if self.lost or left <= 0:
                return None
            wait = None if left == math.inf else max(1, round(left * 1000))
            ready = dict(self._poller.poll(wait))
            if self._interrupt and self._interrupt[0] in ready:
                self._interrupt[1]()

    def size(self, message: Message) -> int:
        """Return the size of `message` on the wire in bytes."""
        return self._peers[LEADER].size(message)

    def flush(self, seconds: float) -> None:
        """Close after the queued messages have left, or after `seconds`."""
        for peer in self._peers:
            peer.flush(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        for peer in self._peers:
            peer.close()
