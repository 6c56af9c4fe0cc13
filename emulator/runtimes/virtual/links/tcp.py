"""TCP on an otherwise exact link: its waiting times, and the share of the rate left unused.

The model is Linux with CUBIC (RFC 9438), the kernel's default; `Reno` and `bbr.py` hold the
differences of the other congestion controls:

* ten segments at first (RFC 6928), twice as many a round trip later (slow start, RFC 5681), and
  again from ten after a pause;
* a time-out of 200 ms and a round trip, doubled each time (RFC 6298), followed by slow growth
  (`cubic.py`: RFC 5681, RFC 5682, RFC 9438);
* less than the link's rate where packets get lost (Padhye et al., 1998);
* no faster than acknowledgements come back over a slow opposite direction, or over a bottleneck
  that others use, too (`shared_rates.py`);
* silent for many time-outs after a burst of losses as long as a window (`burst_losses.py`);
* from the shaper, not TCP: an idle link lets the content of its bucket through at once.

All functions here are pure: the caller keeps congestion windows and times.

Not modelled:

* connecting;
* the queue at a bottleneck, and losses when it overflows;
* the buckets of the server's link and of bottlenecks, 2 ms of their rates;
* single losses: only their mean cost is, so a short message never has the luck or the misfortune of
  a real one, and the first megabyte of a real connection, which no loss has slowed yet, is faster;
* the loss of packets under way when a cut begins, which TCP sends again; the answer to the first
  probe (RFC 8985), which ends a cut of less than two round trips a round trip sooner;
* packets that overtake others, and the queue's `limit`;
* spurious time-outs; lost acknowledgements;
* socket buffers, which matter from about 3 MiB under way;
* messages close behind one another: here each has the whole window.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from ....shaping.tc import burst
from ....world.links.link import ETHERNET, FRAME, Side
from ....world.links.loss_models import Chain
from .burst_losses import LEAST_TIMEOUT as _LEAST_TIMEOUT
from .burst_losses import tries
from .cubic import INITIAL, SEGMENT, Regrown, Regrowth, recover

ACK = 66 / (2 * SEGMENT)
"""Bytes of frames that flow back for each byte of a message: an acknowledgement of 66 bytes for
every second segment."""

MOST_ACKS = 8 * 66 * 1024 / 1.2
"""Bits a second of the acknowledgements of a fast message. Linux hands down segments together, a
1024th of a second of its pacing rate of 1.2 times the rate, and acknowledges these at once."""
_STALL = 0.02
"""Seconds beyond two round trips; see `Tcp.limit`."""
_TRICKLE = 1.0
"""Bits a second that even a link with total loss delivers: so times stay finite."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """TCP on a group's links, in a direction.

    Windows and sizes are in bytes of messages, rates in bits of frames a second.
    """

    rtt: float
    """Seconds of a round trip over idle links."""
    loss: float
    """Share of frames lost in this direction, on either side."""
    events: float
    """Losses per frame to which TCP reacts: a burst of lost frames counts once."""
    pace: float
    """Seconds for each byte on the slower side; 0 if neither side is rated."""
    bucket: float
    """Bits that the device's side lets through at once after a long idle time."""
    refill: float
    """Bits a second at which the bucket fills."""
    chains: tuple[Chain, ...] = ()
    """Chains of the loss models of both sides, whose bursts may silence the sender."""

    @classmethod
    def of(cls, there: Side, back: Side, beyond: Side, beyond_back: Side) -> "Tcp":
        """Return the model for a direction between a device and the server.

        `there` is the device's side in this direction, `beyond` the server's; `back` and
        `beyond_back` are the sides of the opposite direction.
        """
        rates = [side.net_rate for side in (there, beyond) if side.rate is not None]
        return cls(
            rtt=there.delay + back.delay + beyond.delay + beyond_back.delay,
            loss=1 - (1 - there.lost) * (1 - beyond.lost),
            events=1 - (1 - there.loss_events) * (1 - beyond.loss_events),
            pace=8 * FRAME / min(rates) if rates else 0.0,
            bucket=8.0 * burst(there.rate) if there.rate is not None else 0.0,
            refill=there.net_rate if there.rate is not None else 0.0,
            chains=tuple(side.loss_model.chain for side in (there, beyond) if side.loss_model),
        )

    def limit(self, rate: float) -> float:
        """Return the long-run rate under this loss, on a link of `rate`, which may be infinite.

        The square root law (Mathis et al., 1997), with the stalls added by higher loss (Padhye et
        al., 1998, the approximation; b = 1, because Linux counts acknowledged bytes, not
        acknowledgements). Padhye's stall is a time-out of 200 ms or more. Linux mostly ends the
        silence earlier, with a probe after two round trips (RFC 8985): measured, 2 RTT + 20 ms. On
        long paths with little loss CUBIC is faster than that law (RFC 9438).
        """
        p = self.events
        if not p:
            return rate
        rtt = max(self.rtt, ETHERNET * 8 / rate)  # a frame's time on the link is a part of it
        frames = self._frames(p, rtt)
        return max(_TRICKLE, min(rate * (1 - self.loss), ETHERNET * 8 * frames))

    def window(self, window: float, idle: float) -> float:
        """Return the window after a pause of `idle` seconds: halved at every time-out."""
        if window <= INITIAL:
            return window
        felt = self._felt(window)
        # TCP counts the pause from when it handed the last segment down, before that segment waited
        # for the link
        halvings = int((idle + felt - self.rtt) / (_LEAST_TIMEOUT + felt))
        return max(INITIAL, window * 0.5**halvings)

    def ramp(self, size: float, rate: float, window: float) -> tuple[float, float]:
        """Return the seconds that the link idles while `size` bytes are sent, and the window then.

        In each round trip TCP sends one window, then waits for acknowledgements; the next window is
        twice as wide. Once a window takes as long as a round trip the link is never idle. Soon
        after, growth ends, as TCP feels packets wait (HyStart: Ha & Rhee, 2011).
        """
        pace, rtt = 8 * FRAME / rate, self.rtt
        idle, left, sent = 0.0, size, window  # `sent`: bytes in this round trip
        while sent < left:  # the last window needs no wait after it
            gap = rtt - sent * pace
            if gap <= 0:
                break
            idle += gap
            left -= sent
            sent += sent
        # a message that leaves most of the window unused does not widen it
        if size < window / 2:
            return idle, window
        # HyStart: twice the bytes under way that fill the link, but no less than twice INITIAL
        widest = 2 * max(INITIAL, rtt / pace if pace else math.inf)
        return idle, max(window, min(window + size, widest))

    def widened(self, window: float, seconds: float) -> float:
        """Return the window after `seconds` of slow start from `window` on.

        Growth ends with a window of a whole round trip: then the link is not idle any more.
        """
        while seconds >= self.rtt > window * self.pace:
            seconds -= self.rtt
            window += window
        return window

    def credit(self, idle: float) -> float:
        """Return the bits free to pass at once after `idle` seconds, pauses in a ramp included."""
        return min(self.bucket, idle * self.refill)

    def resumed(self, since: float, until: float) -> float:
        """Return the time of TCP's first try after a cut from `since` to `until`.

        TCP tries with a probe after two round trips (RFC 8985), then after time-outs that double.
        """
        felt = self._felt(INITIAL)
        return next(at for attempt in tries(felt) if (at := since + attempt) >= until)

    def recover(self, size: float, pace: float, window: float) -> Regrown:
        """Return the seconds that the link idles for `size` bytes after a time-out at `window`.

        Each byte takes `pace` seconds on the link. The window and the state that the connection
        then has follow.
        """
        return recover(size, pace, self.rtt, window)

    def regrowth(self, window: float) -> Regrowth | None:
        """Return the state after a time-out at `window`; None if the control keeps none."""
        return Regrowth.after(window)

    def _frames(self, events: float, rtt: float) -> float:
        """Return the full frames a second that TCP sends under `events` losses per frame."""
        cubic = 1.054 * (rtt / events) ** 0.75 / rtt if rtt else 0.0
        return max(reno_frames(events, rtt), cubic)

    def _felt(self, window: float) -> float:
        """Return the round trip in seconds, as measured by TCP behind `window` queued bytes."""
        return max(self.rtt, window * self.pace)


def reno_frames(events: float, rtt: float) -> float:
    """Return the full frames a second of a control that halves its window for each loss."""
    p = events
    stall = min(1.0, 3 * math.sqrt(3 * p / 8)) * p * (1 + 32 * p * p) * (2 * rtt + _STALL)
    return 1 / (rtt * math.sqrt(2 * p / 3) + stall)


@dataclass(frozen=True, slots=True)
class LinearRegrowth(Regrowth):
    """A connection's state since a time-out, with a growth of a segment each round trip."""

    left: ClassVar[float] = 0.5

    def _avoid(
        self, widened: float, acknowledged: float, window: float, rtt: float
    ) -> tuple[float, Regrowth]:
        return widened + SEGMENT * acknowledged / window, self


@dataclass(frozen=True, slots=True)
class Reno(Tcp):
    """Reno on a group's links, in a direction.

    Slow start and the halvings of the window in a pause are those of CUBIC. A loss halves the
    window, and then each round trip widens it by a segment: so the long-run rate follows the square
    root law alone (Mathis et al., 1997; Padhye et al., 1998), and growth after a time-out is linear
    from half of the former window on (RFC 5681).

    Not modelled: Linux's Reno has no HyStart, so a long message widens the window until the queue
    at the bottleneck overflows.
    """

    def recover(self, size: float, pace: float, window: float) -> Regrown:
        """Return idle seconds, window and state of `size` bytes after a time-out at `window`."""
        return recover(size, pace, self.rtt, window, LinearRegrowth)

    def regrowth(self, window: float) -> Regrowth:
        """Return the state after a time-out at `window`."""
        return LinearRegrowth.after(window)

    def _frames(self, events: float, rtt: float) -> float:
        return reno_frames(events, rtt)
