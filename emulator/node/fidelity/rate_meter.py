"""The rate that a link achieves while packets wait for it. Pure: readings come in, sums go out.

A link is busy between two looks if packets wait at both, and at each look between them. Looks are
so close that a sender's pause would be seen. Only stretches of many frames count: the bytes of a
stretch are known to a frame.
"""

from dataclasses import dataclass

from .queue_counters import Queue

FRAME_BITS = 8 * 1514
FRAMES = 100
"""Least length of a stretch, in frames."""
SHORTEST = 0.2
"""Least length of a stretch, in seconds. At any rate, a bucket is at most 2 % of such a stretch."""
CLOSEST = 0.02
"""Least time between two looks, in seconds."""
LOOK_FRAMES = 4
"""Time between two looks in frames, on a slow link."""
IDLE = 1.0
"""Seconds between two looks at a link for which nothing waits."""
PAUSE = 4.0
"""Seconds from one series of close looks to the next."""
SERIES, STRETCHES = 1.0, 3.0
"""Least length of a series, in seconds, and in shortest stretches."""


@dataclass
class Busy:
    """Sums over the stretches in which a link was busy."""

    seconds: float = 0.0
    bits: float = 0.0
    """Bits of Ethernet frames that left the queue."""
    requested: float = 0.0
    """Bits that the requested rate would have let out."""


class RateMeter:
    """The achieved rate of a direction."""

    def __init__(self) -> None:
        self._busy = Busy()
        self._first: tuple[float, int] | None = None
        """Time and bytes at the begin of the stretch; None while nothing waits."""
        self._last: tuple[float, int] = 0.0, 0
        self._rate = 0.0
        self._series = 0.0
        """When the series of close looks ends."""
        self._rested = 0.0
        """When the next series may begin."""
        self.due = 0.0
        """Time of the next look."""

    def look(self, now: float, queue: Queue | None, rate: float | None) -> None:
        """Take the counters of the link's `queue` at the time `now`, in seconds.

        `rate`: the requested rate in bits a second. None for either: the link has no rate now.
        """
        if queue is None or not rate:
            self._end_stretch()
            self.due = now + IDLE
            return
        if rate != self._rate or not queue.waiting or queue.sent < self._last[1]:
            self._end_stretch()
        self._rate = rate
        if queue.waiting:
            self._last = now, queue.sent
            self._first = self._first or self._last
        self.due = now + self._until_next(now, bool(queue.waiting))

    def _until_next(self, now: float, waits: bool) -> float:
        shortest = max(SHORTEST, FRAMES * FRAME_BITS / self._rate)
        if waits and now >= self._rested:
            self._series = now + max(SERIES, STRETCHES * shortest)
            self._rested = self._series + PAUSE
        if now < self._series:
            return max(CLOSEST, LOOK_FRAMES * FRAME_BITS / self._rate)
        self._end_stretch()
        return IDLE

    def _end_stretch(self) -> None:
        first, self._first = self._first, None
        if first is None:
            return
        seconds, sent = self._last[0] - first[0], self._last[1] - first[1]
        if seconds >= max(SHORTEST, FRAMES * FRAME_BITS / self._rate) * 0.999:
            self._busy.seconds += seconds
            self._busy.bits += 8 * sent
            self._busy.requested += seconds * self._rate

    def take(self) -> Busy:
        """Return the sums since the last call."""
        taken, self._busy = self._busy, Busy()
        return taken
