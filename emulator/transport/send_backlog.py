"""Bytes that libzmq holds for nodes that do not read, where a model may travel in many messages."""

from collections import defaultdict, deque

import zmq

MANY = 1024
"""Connections with a queue above which the queues of ended connections are dropped."""


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
        self._most = MANY  # queues at which `_forget_idle` looks at all of them

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
        """Drop the queues without a message that waits, once there are many.

        libzmq drops the messages for a connection that has come to an end, so they count as
        written. Twice the queues that are left have to come before the next look: O(1) a message.
        """
        if len(self._queues) <= self._most:
            return
        for route, queue in [*self._queues.items()]:
            if all(tracker.done for tracker, _ in queue):
                del self._queues[route]
        self._most = max(MANY, 2 * len(self._queues))
