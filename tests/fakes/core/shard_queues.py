"""The messages between a device and the shards of a server: in order with each, else by chance."""

from collections import deque
from random import Random
from typing import Any

from emulator.core.sharding.server_shards import ServerShards


class ShardQueues:
    """A queue of messages for, or from, each shard; used as a single deque."""

    def __init__(self, shards: ServerShards, dice: Random, *, out: bool) -> None:
        """`out`: whether the device sends. Items that go out are pairs of message and shard."""
        self._shards, self._dice, self._out = shards, dice, out
        self._queues: list[deque[Any]] = [deque() for _ in shards.segments]

    def append(self, message: Any) -> None:
        if self._out:
            for shard in self._shards.receivers(message):
                self._queues[shard].append((message, shard))
        else:
            self._queues[self._shards.sender(message)].append(message)

    def popleft(self) -> Any:
        """Return the first message of a queue drawn by chance."""
        return self._drawn().popleft()

    def pop(self) -> Any:
        """Lose the last message of a queue drawn by chance."""
        return self._drawn().pop()

    def clear(self) -> None:
        for queue in self._queues:
            queue.clear()

    def __bool__(self) -> bool:
        return any(self._queues)

    def _drawn(self) -> "deque[Any]":
        return self._dice.choice([queue for queue in self._queues if queue])
