"""One direction of a link in the box, without descriptors and clock: frames in, frames out.

    frame ── fates ── [token bucket: rate] ── delay line ── frame

A bucket lies behind the fates, as in netem: a duplicate passes the rate, and a lost frame does not.
So the box shapes the rate of a side with duplicates, even if the kernel has tbf. Only IPv4 meets
the fates, for example loss: other protocols are delayed in order, and ARP passes at once, as a lost
or late request for an address would silence a device for a second.
"""

import math
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ...world.links.link import Side
from .. import tc
from .delay_line import DelayLine, Held
from .fates import DrawsFor, FateCounts, Fates
from .tap import ARP, IPV4, KIND, Form, frames
from .token_bucket import WHOLE, TokenBucket, needs_bucket

MOST_ROOM = 256 << 20
"""Most bytes that a direction may have under way, whatever its link."""
UNRATED_ROOM = 64 << 20
"""Bytes that a direction without a rate may have under way: the windows of several sockets."""


@dataclass
class Passage:
    """Counts of the frames of a direction, and sums over frames or superpackets that arrived."""

    packets: int = 0
    """Frames that came, ARP aside."""
    bytes: int = 0
    delivered: int = 0
    """Frames that left the box."""
    dropped: int = 0
    """Frames dropped for want of room, or refused by the network behind the box."""
    fates: FateCounts = field(default_factory=FateCounts)
    reads: int = 0
    """Frames or superpackets that arrived, over which the sums run."""
    delay: float = 0.0
    """Sum of the delays in seconds, from the rate's end to the far TAP."""
    squares: float = 0.0
    """Sum of the squares of the delays' deviations from the delay asked for."""
    late: float = 0.0
    """Sum of the times by which the frames left after their due times."""
    latest: float = 0.0


COUNTS = ("packets", "bytes", "delivered", "dropped")
"""Counts of a passage that a report states as they are."""


class Direction:
    """Frames of one direction of a link, from their arrival at the box until they leave it."""

    def __init__(self, side: Side, draws: DrawsFor, *, rates: bool) -> None:
        """`rates`: whether the box shapes each rate, as the kernel has no tbf."""
        self.passage = Passage()
        self._rates, self._draws = rates, cache(draws)
        self._bucket: TokenBucket | None = None
        self._line = DelayLine(side, self._draws("jitter"))
        self._fates: Fates | None = None
        self._fated: tuple[Any, ...] = ()
        self.change(side, 0.0)

    def change(self, side: Side, now: float) -> None:
        """Treat frames as `side` says from time `now` on; frames under way stay."""
        self._advance(now)
        self._line.change(side)
        self.nominal = float(side.delay)
        self._room, self._limit = room(side), side.limit or math.inf
        self._set_fates(side)
        self._set_rate(side)
        self._plain = self._fates is None and self._bucket is None and side.limit is None

    def _set_fates(self, side: Side) -> None:
        """Draw the fates of `side` from here on; a burst of losses lasts if the keys are equal."""
        drawn = side.loss, side.loss_model, side.duplicate, side.corrupt, side.reorder
        fated = (*drawn, side.gap)
        if fated != self._fated:
            self._fates = Fates(side, self._draws, self.passage.fates) if any(drawn) else None
            self._fated = fated

    def _set_rate(self, side: Side) -> None:
        """Send at the rate of `side` from here on, if it is the box that shapes it."""
        shaped = self._shapes(side) and side.rate is not None
        if self._bucket is not None:
            # a plain side: what waits leaves at once, and is charged for no overhead
            self._bucket.change(side if shaped else Side())
        elif shaped:
            self._bucket = TokenBucket(side)

    def _shapes(self, side: Side) -> bool:
        """Return whether the box shapes the rate of `side`."""
        return self._rates or needs_bucket(side)

    def form(self, side: Side) -> Form:
        """Return the form in which the kernel hands over the frames of a link as `side`."""
        if side.corrupt:
            return "finished"
        slow = self._shapes(side) and side.rate is not None and side.rate < WHOLE
        return "single" if side.drawn or slow else "superpackets"

    def take(self, frame: bytes, now: float) -> bool:
        """Take a `frame` that came at time `now`; return False if it passes the box at once."""
        if frame[KIND] == ARP:
            return False
        passage, number = self.passage, frames(frame) if frame[1] else 1
        passage.packets += number
        passage.bytes += len(frame)
        if self._plain:  # most frames of most links: these lines are the cost of the box
            if self._line.bytes + len(frame) > self._room:
                passage.dropped += number
            else:
                self._line.add(frame, now, number)
            return True
        if self._fates is None or frame[KIND] != IPV4:
            self._enter(frame, now, number, ahead=False)
        else:
            for copy, ahead in self._fates.of(frame, number):
                self._enter(copy, now, number, ahead=ahead)
        self._advance(now)
        return True

    def _enter(self, frame: bytes, now: float, number: int, *, ahead: bool) -> None:
        """Queue a frame for the rate, or hold it where the box shapes none."""
        if self._bucket is None:
            self._hold(frame, now, number, ahead=ahead)
        elif self._is_full() or not self._bucket.add(frame, now, number, ahead=ahead):
            self.passage.dropped += number

    def _is_full(self) -> bool:
        """Return whether waiting packets and packets under way have reached the limit.

        Where packets are limited, each frame is single.
        """
        waiting = len(self._bucket) if self._bucket is not None else 0
        return len(self._line) + waiting >= self._limit

    def _hold(self, frame: bytes, now: float, number: int, *, ahead: bool) -> None:
        """Put a frame, whose last bit has left at `now`, in the delay line if there is room."""
        if ahead:
            self._line.add_ahead(frame, now, number)
        elif self._line.bytes + len(frame) > self._room or self._is_full():
            self.passage.dropped += number
        else:
            self._line.add(frame, now, number)

    def _advance(self, now: float) -> None:
        """Move the frames that have left the bucket by `now` to the delay line."""
        bucket = self._bucket
        while bucket is not None and (at := bucket.deadline()) is not None and at <= now:
            left, number, frame, ahead = bucket.leave()
            self._hold(frame, left, number, ahead=ahead)

    def in_order(self) -> bool:
        """Return whether no new frame moves the deadline, while there is one."""
        return self._fates is None

    def deadline(self) -> float | None:
        """Return the time at which there is something to do; None if nothing is under way.

        A frame in the bucket waits for the frames ahead of it in the line, which are due first.
        """
        due = self._line.deadline()
        if due is None and self._bucket is not None:
            return self._bucket.deadline()
        return due

    def release(self, now: float) -> list[Held]:
        """Remove the frames that are due at the time `now`, and return them."""
        if self._bucket is not None:
            self._advance(now)
        return self._line.release(now)

    def note(self, late: float, delay: float) -> None:
        """Add lateness and delay, both in seconds, of a frame or superpacket that has left."""
        passage = self.passage
        passage.reads += 1
        passage.late += late
        if late > passage.latest:
            passage.latest = late
        passage.delay += delay
        passage.squares += (delay - self.nominal) ** 2

    def held(self) -> int:
        """Return the number of frames under way."""
        queued = self._bucket.frames() if self._bucket is not None else 0
        return self._line.frames() + queued

    def report(self, now: float) -> dict[str, Any]:
        """Return the counts at time `now`, and mean, deviation and lateness of the delay in
        seconds; `sent` and `waiting` are the bytes of the rate that the box shapes."""
        self._advance(now)
        passage, bucket = self.passage, self._bucket
        counts = {name: getattr(passage, name) for name in COUNTS} | asdict(passage.fates)
        reads = max(1, passage.reads)
        mean = passage.delay / reads
        variance = passage.squares / reads - (mean - self.nominal) ** 2
        rated = {} if bucket is None else {"sent": bucket.sent, "waiting": bucket.waiting}
        return counts | {
            **rated,
            "held": self.held(),
            "delay": round(mean, 7),
            "delay_sd": round(math.sqrt(max(0.0, variance)), 7),
            "late": round(passage.late / reads, 7),
            "latest": round(passage.latest, 7),
        }


def room(side: Side) -> int:
    """Return the bytes that a direction may have under way, its rate's queue aside."""
    if side.limit is not None:
        return MOST_ROOM
    if side.rate is None:
        return UNRATED_ROOM
    under_way = side.rate / 8 * (side.delay + 4 * side.jitter)
    # a busy host's frames come in bursts, as long as a bottleneck's queue
    burst = tc.usual_queue(side) + tc.usual_burst(side) + tc.SUPERPACKET
    return min(MOST_ROOM, round(under_way) + burst)
