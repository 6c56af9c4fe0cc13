"""Bytes that libzmq holds for nodes that do not read, where a model may travel in many messages."""

from collections import defaultdict, deque

import zmq


class SendBacklog:
    """The large messages queued for each connection, until libzmq has written them.

    libzmq bounds the number of messages for a connection. That number must let all pieces of a
    model pass, and each message may be a whole model, so the sum of their sizes is bounded here.
    Frames below pyzmq's `copy_threshold` of 64 KiB are copied, and count as written at once.
    """

    def __init__(self, limit: int) -> None:
        """Let `limit` bytes wait for each connection."""
        self._limit = limit
        self._queues: defaultdict[bytes, deque[tuple[zmq.MessageTracker, int]]] = defaultdict(deque)

    def full(self, route: bytes) -> bool:
        """Return whether no more messages may be queued for the connection `route`."""
        queue = self._queues[route]
        while queue and queue[0][0].done:
            queue.popleft()
        return sum(size for _, size in queue) >= self._limit

    def add(self, route: bytes, tracker: zmq.MessageTracker, size: int) -> None:
        """Note that a message of `size` bytes was queued for the connection `route`."""
        self._queues[route].append((tracker, size))
        self._forget_idle()

    def _forget_idle(self) -> None:
        """Drop the queues of connections that have come to an end, once there are many."""
        if len(self._queues) > 1024:
            for route in [route for route, queue in self._queues.items() if not queue]:
                del self._queues[route]
