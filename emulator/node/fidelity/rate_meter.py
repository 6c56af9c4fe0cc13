"""The rate that a link achieves while packets wait for it. Pure: readings come in, sums go out.

A link is busy between two looks if packets wait at both. That is certain if the bytes that waited
at the first look take the requested rate until the second: then the queue cannot have been empty
meanwhile. Short stretches count only if they are certain; in a long one the looks may also be so
close and punctual that a sender's pause would be seen. A late look ends a stretch that is not
certain: a supervisor at the quota of its container looks when the worker sends. Stretches add up.
At its ends each may have a bucket's bytes too many or too few, so their number counts, too.
"""

from dataclasses import dataclass

from .queue_counters import Queue

FRAME_BITS = 8 * 1514
FRAMES, CERTAIN_FRAMES = 100, 10
"""Least length of a stretch, in frames, and of one that is certain."""
SHORTEST, CERTAIN_SHORTEST = 0.2, 0.02
"""Least length of a stretch, in seconds, and of one that is certain."""
PUNCTUAL = 1.5
"""Factor of the time between two looks beyond which a look is late."""
CLOSEST = 0.02
"""Least time between two looks, in seconds."""
LOOK_FRAMES = 3
"""Time between two looks in frames, on a slow link."""
IDLE = 1.0
"""Seconds between two looks at a link for which nothing waits."""
PAUSE = 4.0
"""Seconds from one series of close looks to the next."""
SERIES, SERIES_FRAMES = 1.0, 300
"""Least length of a series, in seconds, and in frames."""


@dataclass
class Busy:
    """Sums over the stretches in which a link was busy."""

    seconds: float = 0.0
    bits: float = 0.0
    """Bits of Ethernet frames that left the queue."""
    requested: float = 0.0
    """Bits that the requested rate would have let out."""
    stretches: int = 0


class RateMeter:
    """The achieved rate of a direction."""

    def __init__(self) -> None:
        self._busy = Busy()
        self._first: tuple[float, int] | None = None
        """Time and bytes at the begin of the stretch; None while nothing waits."""
        self._last: tuple[float, int] = 0.0, 0
        self._lasting = 0.0
        """Until when the bytes that waited at the last look take the requested rate."""
        self._certain = True
        """Whether the queue cannot have been empty in this stretch."""
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
        changed = rate != self._rate or queue.sent < self._last[1]
        certain = now <= self._lasting
        punctual = now - self._last[0] <= PUNCTUAL * (self.due - self._last[0])
        if changed or not queue.waiting or not (certain or punctual):
            self._end_stretch()
        self._rate = rate
        if queue.waiting:
            self._last, self._lasting = (now, queue.sent), now + 8 * queue.waiting / rate
            self._certain = self._first is None or (self._certain and certain)
            self._first = self._first or self._last
        self.due = now + self._until_next(now, bool(queue.waiting))

    def _until_next(self, now: float, waits: bool) -> float:
        if waits and now >= self._rested:
            self._series = now + max(SERIES, SERIES_FRAMES * FRAME_BITS / self._rate)
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
        least = max(SHORTEST, FRAMES * FRAME_BITS / self._rate)
        if self._certain:
            least = max(CERTAIN_SHORTEST, CERTAIN_FRAMES * FRAME_BITS / self._rate)
        if seconds >= least * 0.999:
            self._busy.seconds += seconds
            self._busy.bits += 8 * sent
            self._busy.requested += seconds * self._rate
            self._busy.stretches += 1

    def take(self) -> Busy:
        """Return the sums since the last call."""
        taken, self._busy = self._busy, Busy()
        return taken
