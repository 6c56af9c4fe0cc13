"""Token bucket that shapes a rate in the box: without tbf, behind duplication, or with a limit.

The bucket and the queue have the sizes that `tc` gives to tbf. A frame that finds the queue full is
dropped, as in a modem: unlike tbf, the queue is not on the sender's host, and the sender infers the
drop from the silence.
"""

import math
from collections import deque

from ...units import Rate
from ...world.links.link import Side
from .. import tc
from ..backend import Backend
from ..playable_link import FASTEST
from .tap import wire_bytes

Left = tuple[float, int, bytes, bool]
"""Time of leaving, number of frames, the frame or superpacket, and whether it overtakes others."""
WHOLE = 8 * tc.SUPERPACKET / tc.SLACK
"""Rate in bits per second from which superpackets need not be cut into frames: they take less time
than a busy host's timer may be late."""


def needs_bucket(side: Side) -> bool:
    """Return whether the box shapes the rate of `side` even where the kernel has tbf.

    A duplicate passes the rate behind the box; tbf counts bytes, and a limit counts packets.
    """
    return side.duplicate > 0 or side.limit is not None


def box_shapes(side: Side, backend: Backend) -> bool:
    """Return whether the box shapes the rate of a `side` that passes it."""
    return side.rate is not None and (backend.rate != "tbf" or needs_bucket(side))


class TokenBucket:
    """Queue that frames leave in order, at the rate of a side."""

    def __init__(self, side: Side) -> None:
        self._queue: deque[tuple[float, int, int, bytes, bool]] = deque()
        self.waiting = 0
        """Bytes of all frames in the queue, on the wire and with the overhead of each."""
        self.sent = 0
        """Bytes, counted alike, of all frames that have left the queue."""
        self._used = -math.inf  # time until which the rate is used up
        self.change(side)

    def change(self, side: Side) -> None:
        """Send at the rate of `side` from here on; frames in the queue stay.

        Without a rate the frames in the queue leave at once. A limit counts packets instead of
        bytes, and is not the bucket's.
        """
        rate = side.rate or Rate(FASTEST)
        self._pace = 8 / rate  # seconds per byte
        rated = Side(rate) if side.rate is None else side
        self._saved, room = tc.usual_burst(rated) * self._pace, tc.usual_queue(rated)
        self._room = room if side.limit is None else math.inf
        self._overhead = side.overhead

    def __len__(self) -> int:
        return len(self._queue)

    def frames(self) -> int:
        """Return the number of frames in the queue."""
        return sum(number for _, _, number, _, _ in self._queue)

    def add(self, frame: bytes, now: float, number: int, *, ahead: bool) -> bool:
        """Queue `number` frames, a superpacket if several, which came at time `now`.

        `ahead`: whether it overtakes others later. Return False if the queue has no room.
        """
        size = wire_bytes(frame)
        if self._overhead:
            size += number * self._overhead
        if not self._queue:
            # an idle link saves tokens for a burst, so that its first frame leaves at once
            self._used = max(self._used, now - self._saved)
        elif self.waiting + size > self._room:
            return False
        self._queue.append((now, size, number, frame, ahead))
        self.waiting += size
        return True

    def deadline(self) -> float | None:
        """Return the time at which the next frame leaves; None for an empty queue."""
        if not self._queue:
            return None
        came, size, *_ = self._queue[0]
        # after its last bit at the link's pace; saved tokens let it leave at once, not earlier
        return max(came, self._used + size * self._pace)

    def leave(self) -> Left:
        """Take the next frame from the queue."""
        came, size, number, frame, ahead = self._queue.popleft()
        self.waiting -= size
        self.sent += size
        # a box that is late does not lower the rate: the time is the link's, not the host's
        self._used += size * self._pace
        return max(came, self._used), number, frame, ahead
