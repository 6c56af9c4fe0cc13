"""TCP with BBR, version 1 as in Linux (Cardwell et al., 2016), where it differs from CUBIC.

BBR estimates the bandwidth as the most that a round trip has delivered, and paces what it sends: in
start-up at 2.885 (2 / ln 2) times the estimate.

* The first two round trips carry ten segments and twenty, as in slow start, paced over a third and
  two thirds of the round trip. An estimate tells of a round trip that is over, so from the third
  round trip on a paced sender grows by less than twice: by 1.8.
* A pause leaves the window as it is. The next message is paced at 2.885 times the estimate.
* Loss does not slow BBR down while the probing gain of 1.25 makes up for it: below 20 %. Beyond,
  the rate is that of a control that halves its window.
* After a time-out the window opens from one segment to its former width, twice as wide each round
  trip.

Here the connection's window is the estimate: bytes in a round trip.

Not modelled, beside the list in `tcp.py`: the estimate forgets a rate after ten round trips, and
follows a link that has become faster by a quarter in eight round trips; every ten seconds BBR sends
next to nothing for 200 ms, to measure the round trip; the queue of start-up, which it then drains.
"""

import math
from dataclasses import dataclass

from ....world.links.link import FRAME
from .cubic import INITIAL, RESTART, Regrown, Regrowth
from .tcp import Tcp

_GAIN = 2 / math.log(2)
"""Pacing rate in start-up, in estimates of the bandwidth."""
_GROWTH = 1.8
"""Of the bytes in a round trip, from one round trip to the next, where pacing limits the sender."""
_TOLERATED = 0.2
"""Share of lost frames that a probing gain of 1.25 makes up for."""


@dataclass(frozen=True, slots=True)
class Bbr(Tcp):
    """BBR on a group's links, in a direction."""

    def limit(self, rate: float) -> float:
        """Return the long-run rate under this loss, on a link of `rate`, which may be infinite."""
        if self.loss < _TOLERATED:
            return rate * (1 - self.loss) if self.loss else rate
        return Tcp.limit(self, rate)

    def window(self, window: float, idle: float) -> float:
        """Return the window after a pause, which does not change it."""
        return window

    def ramp(self, size: float, rate: float, window: float) -> tuple[float, float]:
        """Return the seconds that the link idles while `size` bytes are sent, and the window then.

        The pace of a round trip is that of its own bytes, or of the estimate at the beginning.
        """
        pace, rtt = 8 * FRAME / rate, self.rtt
        new = window <= INITIAL  # of an old connection the window is open as far as its pace
        paced = _GAIN * max(INITIAL, window)  # bytes that leave in a round trip at this pace
        idle, left, before, sent = 0.0, size, 0.0, INITIAL if new else paced
        while sent < left:
            gap = rtt - sent * pace
            if gap <= 0:
                break
            idle += gap
            left -= sent
            before, sent = sent, sent * (2 if 2 * sent < paced else _GROWTH)
        if sent < left or not rtt:
            return idle, max(window, rtt / pace if pace else window)
        share = left / max(paced, sent)  # of the last round trip, while bytes leave
        idle += max(0.0, share * rtt - left * pace)
        # the estimate: bytes of the last round trip in which bytes left
        delivered = left + (1 - share) * before if before else left / (1 + share)
        full = rtt / pace if pace else math.inf
        return idle, max(window, min(delivered, full))

    def widened(self, window: float, seconds: float) -> float:
        """Return the window after `seconds` of start-up from `window` on."""
        while seconds >= self.rtt > window * self.pace:
            seconds -= self.rtt
            window *= _GROWTH
        return window

    def recover(self, size: float, pace: float, window: float) -> Regrown:
        """Return idle seconds of `size` bytes after a time-out at `window`, and the window then."""
        rate = 8 * FRAME / pace if pace else math.inf
        return Tcp.ramp(self, size, rate, RESTART)[0], window, None

    def regrowth(self, window: float) -> Regrowth | None:
        """Return None: the window opens again to its former width."""
        return None
