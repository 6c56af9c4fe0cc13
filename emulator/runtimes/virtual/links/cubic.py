"""How a congestion window opens again after a time-out: Linux's CUBIC (RFC 9438).

A new connection's slow start has no end, and `Tcp.ramp` knows how it goes. A time-out cuts the
window to one segment and ends slow start at 0.7 of the window that it struck (RFC 5681, RFC 9438
section 4.6), which are seven segments for a message that is sent into a cut. From there CUBIC grows
slowly at first: along the convex half of its cubic, since a time-out makes it forget the window
that it had, and not slower than Reno would (sections 4.3, 4.5, 4.8). It takes seconds, however fast
the link is. A pause afterwards stops the cubic's clock, and slow start may open the window again up
to three quarters of its former width, but no further.
"""

from dataclasses import dataclass

from .tcp import RESTART, SEGMENT

_BETA = 0.7
"""Share of the window at which slow start ends after a loss (RFC 9438, section 4.6)."""
_LEAST_THRESHOLD = 2 * SEGMENT
_KEPT = 0.75
"""Share of the window up to which slow start opens it again after a pause, in Linux."""
_SCALE = 0.4 * SEGMENT
"""C of RFC 9438, in bytes a second cubed."""
_RENO = 3 * (1 - _BETA) / (1 + _BETA) * SEGMENT
"""Bytes that the window gains in a round trip at least (RFC 9438, section 4.3)."""
_SLOWEST, _FASTEST = 0.05, 0.5
"""Of the window, gained in a round trip at least and at most; Linux's own bounds."""


@dataclass(frozen=True, slots=True)
class Regrowth:
    """How far a connection has got since a time-out. Windows are bytes of messages."""

    threshold: float
    """The window at which slow start ends."""
    origin: float = 0.0
    """The window at which the cubic began; 0 if slow start still lasts."""
    seconds: float = 0.0
    """Of the cubic's growth, pauses left out."""

    @classmethod
    def after(cls, window: float) -> "Regrowth":
        """Return the state after a time-out that struck at `window`."""
        return cls(max(_LEAST_THRESHOLD, _BETA * window))

    def begun(self, window: float) -> "Regrowth":
        """Return the state when another message begins, the last one having ended at `window`."""
        return Regrowth(max(self.threshold, _KEPT * window), self.origin, self.seconds)

    def ramp(
        self, size: float, pace: float, rtt: float, window: float
    ) -> tuple[float, float, "Regrowth | None"]:
        """Return the idle seconds of the link, the window then, and the state then.

        `size` bytes of a message are sent from `window` on, each takes the link `pace` seconds.
        The state is None once a window lasts a round trip: the link is not idle any more, and the
        connection like any other.
        """
        idle, left, state = 0.0, size, self
        while window < left:
            gap = rtt - window * pace
            if gap <= 0:
                return idle, window, None
            idle += gap
            left -= window
            window, state = state._next(window, rtt)
        return idle, window, state

    def widened(self, window: float, seconds: float, pace: float, rtt: float) -> float:
        """Return the window after `seconds` of sending from `window` on."""
        state = self
        while seconds >= rtt > window * pace:
            seconds -= rtt
            window, state = state._next(window, rtt)
        return window

    def _next(self, window: float, rtt: float) -> tuple[float, "Regrowth"]:
        """Return window and state a round trip later, all of `window` having been acknowledged."""
        widened = min(2 * window, max(self.threshold, window))
        # each byte acknowledged widens the window by another until it is at the threshold; the
        # acknowledgements that are left are CUBIC's
        acknowledged = window - (widened - window)
        if not acknowledged:
            return widened, self
        origin = self.origin or widened
        seconds = self.seconds + rtt * acknowledged / window
        reno = _RENO * seconds / rtt
        target = origin + max(_SCALE * seconds**3, reno)
        gained = min(_FASTEST, max(_SLOWEST, target / widened - 1))  # for each byte
        return widened + acknowledged * gained, Regrowth(self.threshold, origin, seconds)


def recover(
    size: float, pace: float, rtt: float, window: float
) -> tuple[float, float, Regrowth | None]:
    """Return what `Regrowth.ramp` does, after a time-out that struck at `window`.

    The first segment is the one that was lost. If more is to be sent than was under way, the next
    two are new ones, to find out whether the time-out was spurious (F-RTO, RFC 5682): slow start
    waits for their acknowledgements.
    """
    idle = 0.0
    if size > window:
        probes = 2 * SEGMENT
        idle = max(0.0, rtt - probes * pace)
        size -= probes
    more, window, state = Regrowth.after(window).ramp(size, pace, rtt, RESTART)
    return idle + more, window, state
