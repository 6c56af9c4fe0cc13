"""The connections between the shard that leads and those that follow, over Unix sockets.

The sockets are in a folder that only the containers of the shards have: whoever can open one may
speak. A socket of the leader has one follower, so orders and news keep their order.
"""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zmq

from ..core.sharding.shard_orders import (
    EndRun,
    News,
    Order,
    Report,
    Result,
    decode_order,
    decode_report,
    encode,
)


def _socket(context: "zmq.Context[Any]") -> "zmq.Socket[Any]":
    """Return a socket without a bound: a full queue on both sides would stop both shards."""
    socket: zmq.Socket[Any] = context.socket(zmq.DEALER)
    for option in (zmq.SNDHWM, zmq.RCVHWM):
        socket.setsockopt(option, 0)
    return socket


def _address(folder: Path, shard: int) -> str:
    return f"ipc://{folder / str(shard)}"


class LeaderLinks:
    """The connections of the leader with the shards 1, 2, … of `count`."""

    def __init__(self, folder: Path, count: int) -> None:
        self._context: zmq.Context[Any] = zmq.Context()
        self.sockets: dict[int, zmq.Socket[Any]] = {}
        self._news: deque[tuple[int, News]] = deque()
        for shard in range(1, count):
            self.sockets[shard] = _socket(self._context)
            self.sockets[shard].bind(_address(folder, shard))

    def tell(self, shard: int, order: Order) -> None:
        """Send `order` to `shard`."""
        self.sockets[shard].send(encode(order))

    def result(self, shard: int) -> Result:
        """Wait for the result of the order of `shard` that was sent last; keep news before it."""
        while True:
            report = decode_report(self.sockets[shard].recv())
            if isinstance(report, Result):
                return report
            self._news.append((shard, report))

    def news(self) -> Iterator[tuple[int, News]]:
        """Yield the news that have come, each with the shard."""
        while self._news:
            yield self._news.popleft()
        for shard, socket in self.sockets.items():
            while socket.poll(0):
                report = decode_report(socket.recv())
                if isinstance(report, Result):
                    raise TypeError(f"shard {shard} answers without an order: {report}")
                yield shard, report

    def end(self) -> None:
        """Tell all followers that the run is over."""
        for shard in self.sockets:
            self.tell(shard, EndRun())

    def close(self) -> None:
        """Close once the last orders have left, or after two seconds."""
        self._context.destroy(linger=2000)


class FollowerLink:
    """The connection of the follower `shard` with the leader."""

    def __init__(self, folder: Path, shard: int) -> None:
        self._context: zmq.Context[Any] = zmq.Context()
        self.socket = _socket(self._context)
        self.socket.connect(_address(folder, shard))

    def tell(self, report: Report) -> None:
        """Send `report` to the leader."""
        self.socket.send(encode(report))

    def order(self) -> Order | None:
        """Return the next order; None if none has come."""
        return decode_order(self.socket.recv()) if self.socket.poll(0) else None

    def close(self) -> None:
        """Close at once."""
        self._context.destroy(linger=0)
