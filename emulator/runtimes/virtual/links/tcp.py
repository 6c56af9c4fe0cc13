"""What TCP makes of a link that is otherwise exact: how long it waits, and what it leaves unused.

The habits are those of Linux with CUBIC (RFC 9438), its default, in the terms of those who
described them: ten segments to begin with (RFC 6928), twice as many a round trip later (slow start,
RFC 5681), anew after a pause; a time-out of 200 ms and a round trip, doubled each time (RFC
6298), and the slow growth that follows one (`cubic.py`: RFC 5681, RFC 5682, RFC 9438); less than
the link's rate where packets get lost (Padhye et al., 1998). And the shaper's: an idle link lets
its bucket's content through at once. All of it are functions of numbers that the caller keeps, the
congestion window and times: nothing here changes.

Not modelled: connecting; what share each of two connections on a link gets; the queue at a
bottleneck and what is lost when it overflows; losses one by one, only what they cost on
average, so that a short message never has the luck or the misfortune that a real one has; the
memory that single losses leave in a window (the first megabyte of a connection is faster); the
loss of what is under way when a cut begins, which TCP sends again; the first probe's answer (RFC
8985), which ends a cut of less than two round trips a round trip sooner; spurious time-outs; lost
acknowledgements; socket buffers, which matter from about 3 MiB under way; other congestion
controls: BBR (Cardwell et al., 2016) hardly slows down for loss, and does not open anew after
a pause; messages close behind one another, each of which has the whole window here.
"""

import math
from dataclasses import dataclass

from ....shaping.tc import ETHERNET, burst
from ....world.link import FRAME, Side

SEGMENT = 1448.0
"""Bytes of a message in a full frame."""
INITIAL = 10 * SEGMENT
"""The window of a connection that is new or has rested (RFC 6928)."""
RESTART = SEGMENT
"""The window after a time-out (RFC 5681)."""
ACK = 66 / (2 * SEGMENT)
"""Bytes of frames that flow back for each byte: every other segment is acknowledged."""

_LEAST_TIMEOUT = 0.2
_LONGEST_TIMEOUT = 120.0
_STALL = 0.02
"""Seconds beyond two round trips; see `Tcp.limit`."""
_TRICKLE = 1.0
"""Bits a second, even of a link that loses all: times stay finite."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """One direction of all connections over links alike.

    Windows are bytes of messages, as sizes are; rates are bits of frames a second.
    """

    rtt: float
    """Seconds there and back, with nothing waiting."""
    loss: float
    """Share of frames that either side loses in this direction."""
    pace: float
    """Seconds that each byte takes on the slower side; 0 if neither is rated."""
    bucket: float
    """Bits that the device's side lets through at once when it has been idle."""
    refill: float
    """Bits a second at which the bucket fills."""

    @classmethod
    def of(cls, there: Side, back: Side, beyond: Side, beyond_back: Side) -> "Tcp":
        """`there`: this direction at the device, `back` the other; beyond: at the server."""
        rates = [float(side.rate) for side in (there, beyond) if side.rate is not None]
        return cls(
            rtt=there.delay + back.delay + beyond.delay + beyond_back.delay,
            loss=1 - (1 - there.loss) * (1 - beyond.loss),
            pace=8 * FRAME / min(rates) if rates else 0.0,
            bucket=8.0 * burst(there.rate) if there.rate is not None else 0.0,
            refill=float(there.rate or 0.0),
        )

    @property
    def rto(self) -> float:
        """Seconds until TCP first sends again what was not acknowledged (RFC 6298)."""
        return _LEAST_TIMEOUT + self._felt(INITIAL)

    def limit(self, rate: float) -> float:
        """What loss leaves of `rate`, which may be infinite, in the long run.

        The square root law (Mathis et al., 1997) with the stalls that come on top at higher loss
        (Padhye et al., 1998, the approximation; b = 1, as Linux counts what is acknowledged, not
        acknowledgements). Where they have a time-out of 200 ms or more, a probe after two round
        trips mostly ends the silence by now (RFC 8985): as measured, 2 RTT + 20 ms. On long paths
        with little loss CUBIC does better than they had it (RFC 9438).
        """
        p = self.loss
        if not p:
            return rate
        rtt = max(self.rtt, ETHERNET * 8 / rate)
        stall = min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p * p) * (2 * rtt + _STALL)
        padhye = 1 / (rtt * math.sqrt(2 * p / 3) + stall)
        cubic = 1.054 * (rtt / p) ** 0.75 / rtt if rtt else 0.0
        return max(_TRICKLE, min(rate * (1 - p), ETHERNET * 8 * max(padhye, cubic)))

    def window(self, window: float, idle: float) -> float:
        """What is left of it when nothing was sent for `idle` seconds: half for each time-out."""
        if window <= INITIAL:
            return window
        felt = self._felt(window)
        # the last of it was sent before it had to wait for the link
        halvings = int((idle + felt - self.rtt) / (_LEAST_TIMEOUT + felt))
        return max(INITIAL, window * 0.5**halvings)

    def ramp(self, size: float, rate: float, window: float) -> tuple[float, float]:
        """Seconds for which the link idles since TCP waits for acknowledgements; the window then.

        In each round trip a window is sent, the next one is twice as long, until it is as long
        as the round trip is: from then on the link is never idle. Growth ends soon after that, when
        TCP feels packets wait (HyStart: Ha & Rhee, 2011), and needs messages that fill it.
        """
        pace, rtt = 8 * FRAME / rate, self.rtt
        idle, left, at = 0.0, size, window
        while at < left:
            gap = rtt - at * pace
            if gap <= 0:
                break
            idle += gap
            left -= at
            at += at
        if size < window / 2:
            return idle, window
        top = 2 * max(INITIAL, rtt / pace if pace else math.inf)
        return idle, max(window, min(window + size, top))

    def widened(self, window: float, seconds: float) -> float:
        """Return the window after `seconds` of slow start from `window` on.

        It grows until it lasts a round trip, and the link is not idle any more.
        """
        while seconds >= self.rtt > window * self.pace:
            seconds -= self.rtt
            window += window
        return window

    def credit(self, idle: float) -> float:
        """Bits that pass at once after `idle` seconds, those within a ramp counted, too."""
        return min(self.bucket, idle * self.refill)

    def resumed(self, since: float, until: float) -> float:
        """When TCP tries again of its own, if all got lost from `since` until `until`.

        First a probe after two round trips (RFC 8985), then after a time-out that doubles.
        """
        felt = self._felt(INITIAL)
        at, timeout = since + 2 * felt, _LEAST_TIMEOUT + felt
        while at < until:
            at += timeout
            timeout = min(2 * timeout, _LONGEST_TIMEOUT)
        return at

    def _felt(self, window: float) -> float:
        """The round trip as TCP measures it, behind a window of its own that waits for the link."""
        return max(self.rtt, window * self.pace)
