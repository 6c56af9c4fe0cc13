"""The connections between the shard that leads and those that follow, over Unix sockets.

The sockets are in a folder that only the containers of the shards have: whoever can open one may
speak. A socket of the leader has one follower, so orders and reports keep their order. A message
that is lost with a process is said again, see `shard_channels`.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import zmq

from ..core.sharding.server_shards import LEADER
from ..core.sharding.shard_channels import (
    LeaderChannel,
    NumberedNews,
    NumberedResult,
    Told,
    decode_told,
)
from ..core.sharding.shard_orders import EndRun, Order

LOOK = 0.2
"""Seconds between two questions for a follower that has not said its presence."""


def _socket(context: "zmq.Context[Any]") -> "zmq.Socket[Any]":
    """Return a socket without a bound: a full queue on both sides would stop both shards."""
    socket: zmq.Socket[Any] = context.socket(zmq.DEALER)
    for option in (zmq.SNDHWM, zmq.RCVHWM):
        socket.setsockopt(option, 0)
    return socket


def _say(socket: "zmq.Socket[Any]", messages: Iterable[bytes]) -> None:
    """Send `messages`, unless nobody is connected: those that matter are said again."""
    with suppress(zmq.Again):
        for message in messages:
            socket.send(message, zmq.DONTWAIT)


def _address(folder: Path, shard: int) -> str:
    return f"ipc://{folder / str(shard)}"


class LeaderLinks:
    """The connections of the leader with the shards that follow.

    A report that has come is said again by its follower until it is `took`.
    """

    def __init__(self, sockets: Mapping[int, Any], close: Callable[[], None]) -> None:
        """Use `sockets`, one for each follower by its number, up to the call of `close`."""
        self.sockets, self._close = sockets, close
        life = time.monotonic_ns()
        self._channels = {shard: LeaderChannel(shard, life) for shard in sockets}
        self._news: deque[tuple[int, NumberedNews]] = deque()
        self._results: dict[int, deque[NumberedResult]] = {shard: deque() for shard in sockets}
        self._ask_at = dict.fromkeys(sockets, 0.0)

    @classmethod
    def bound(cls, folder: Path, count: int) -> Self:
        """Listen to the shards 1, 2, … of `count`, at sockets in `folder`."""
        context: zmq.Context[Any] = zmq.Context()
        sockets = {shard: _socket(context) for shard in range(LEADER + 1, count)}
        for shard, socket in sockets.items():
            socket.bind(_address(folder, shard))
        return cls(sockets, lambda: context.destroy(linger=2000))

    def tell(self, shard: int, order: Order) -> None:
        """Send `order` to `shard`, at once or as soon as the shard is there."""
        message = self._channels[shard].tell(order)
        if self._channels[shard].present:
            _say(self.sockets[shard], [message])

    def result(self, shard: int) -> NumberedResult:
        """Wait for the result of the order of `shard` that was sent last; keep news before it.

        Raises LostByDisk if the shards cannot go on together.
        """
        while not self._results[shard]:
            self._receive(shard, LOOK)
        return self._results[shard].popleft()

    def waiting(self) -> bool:
        """Return whether there are news. Raises LostByDisk as `result`."""
        for shard in self._channels:
            while self._receive(shard, 0):
                pass
        return bool(self._news)

    def news(self) -> Iterable[tuple[int, NumberedNews]]:
        """Yield the news that have come until now, each with the shard."""
        self.waiting()
        for _ in range(len(self._news)):
            yield self._news.popleft()

    def returned(self) -> list[int]:
        """Return the shards that have begun, or come back, since the last call."""
        back = [shard for shard, channel in self._channels.items() if channel.returned]
        for shard in back:
            self._channels[shard].returned = False
        return back

    def settle(self) -> None:
        """Take that the leader has made all orders of its earlier lives again. Raises LostByDisk
        if a follower knows more."""
        for channel in self._channels.values():
            channel.settle()

    def took(self, shard: int, report: NumberedNews | NumberedResult) -> None:
        """Take that `report` of `shard` need not be said again."""
        self._channels[shard].took(report)

    def replayed(self, shard: int, report: NumberedNews | NumberedResult) -> None:
        """Take a `report` of `shard` that an earlier life of the leader has taken."""
        self._channels[shard].replayed(report)

    def state(self) -> dict[str, Any]:
        """Return the state, as of a Stateful: what was said, and what was taken."""
        return {str(shard): channel.state() for shard, channel in self._channels.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from `state`, as a Stateful."""
        for shard, channel in self._channels.items():
            channel.restore(state[str(shard)])

    def _receive(self, shard: int, timeout: float) -> bool:
        """Take a message of `shard` within `timeout` seconds; return whether one came."""
        socket, channel = self.sockets[shard], self._channels[shard]
        if not channel.present and time.monotonic() >= self._ask_at[shard]:
            self._ask_at[shard] = time.monotonic() + LOOK
            _say(socket, [channel.ask()])
        if not socket.poll(timeout * 1000):
            return False
        answers, report = channel.hear(socket.recv())
        _say(socket, answers)
        if isinstance(report, NumberedResult):
            self._results[shard].append(report)
        elif report is not None:
            self._news.append((shard, report))
        return True

    def end(self) -> None:
        """Tell all followers that the run is over."""
        for shard in self.sockets:
            self.tell(shard, EndRun())

    def close(self) -> None:
        """Close once the last orders have left, or after two seconds."""
        self._close()


class FollowerLink:
    """The connection of a follower with the leader."""

    def __init__(self, socket: Any, close: Callable[[], None]) -> None:
        """Use `socket` up to the call of `close`."""
        self.socket, self._close = socket, close

    @classmethod
    def connected(cls, folder: Path, shard: int) -> Self:
        """Connect the follower `shard` by its socket in `folder`."""
        context: zmq.Context[Any] = zmq.Context()
        socket = _socket(context)
        socket.connect(_address(folder, shard))
        return cls(socket, lambda: context.destroy(linger=0))

    def say(self, messages: Iterable[bytes]) -> None:
        """Send `messages` to the leader, at once or as soon as it is there."""
        _say(self.socket, messages)

    def told(self) -> Told | None:
        """Return the next message of the leader; None if none has come."""
        return decode_told(self.socket.recv()) if self.socket.poll(0) else None

    def close(self) -> None:
        """Close at once."""
        self._close()
