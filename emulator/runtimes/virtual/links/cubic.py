"""The congestion window's growth after a time-out: Linux's CUBIC (RFC 9438).

The slow start of a new connection has no upper end; `Tcp.ramp` computes it. A time-out cuts the
window to one segment and ends slow start at 0.7 of the former window (RFC 5681, RFC 9438 section
4.6): at seven segments for a message that is sent into a cut. From there CUBIC grows slowly at
first, along the convex half of the cubic, because a time-out makes CUBIC forget the former window;
but never more slowly than Reno (sections 4.3, 4.5, 4.8). Growth takes seconds, however fast the
link. A pause afterwards stops the cubic's clock; then slow start may open the window up to three
quarters of the former width, and no further.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

# sizes of windows that all congestion controls share, in bytes of messages
SEGMENT = 1448.0
"""Bytes of a message in a full frame."""
INITIAL = 10 * SEGMENT
"""The window of a connection that is new or has rested (RFC 6928)."""
RESTART = SEGMENT
"""The window after a time-out (RFC 5681)."""


_BETA = 0.7
"""Share of the window that is left after a loss (RFC 9438, section 4.6)."""
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
    """A connection's state since a time-out. Windows are in bytes of messages."""

    left: ClassVar[float] = _BETA
    """Share of the window at which slow start ends after a loss."""

    threshold: float
    """The window at which slow start ends."""
    origin: float = 0.0
    """The window at which the cubic began; 0 if slow start still lasts."""
    seconds: float = 0.0
    """Duration of the cubic's growth so far, without pauses."""

    @classmethod
    def after(cls, window: float) -> Self:
        """Return the state after a time-out at `window`."""
        return cls(max(_LEAST_THRESHOLD, cls.left * window))

    def begun(self, window: float) -> Self:
        """Return the state for the next message, after a message has ended at `window`."""
        return replace(self, threshold=max(self.threshold, _KEPT * window))

    def ramp(
        self, size: float, pace: float, rtt: float, window: float
    ) -> tuple[float, float, "Regrowth | None"]:
        """Return the seconds that the link idles for `size` bytes, and window and state then.

        The first window is `window`; each byte takes `pace` seconds on the link. The state is None
        once a window lasts a round trip: then the link does not idle any more, and the connection
        is like a new one.
        """
        idle, left, state = 0.0, size, self
        # a turn is a round trip: the window leaves, then the link idles until acknowledgements come
        while window < left:
            gap = rtt - window * pace  # the rest of the round trip, spent waiting
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
        """Return window and state a round trip later, with all of `window` acknowledged."""
        widened = min(2 * window, max(self.threshold, window))
        # slow start: each acknowledged byte widens the window by a byte, up to the threshold; the
        # remaining acknowledgements are CUBIC's
        acknowledged = window - (widened - window)
        if not acknowledged:
            return widened, self
        return self._avoid(widened, acknowledged, window, rtt)

    def _avoid(
        self, widened: float, acknowledged: float, window: float, rtt: float
    ) -> tuple[float, "Regrowth"]:
        """Return window and state after the part of a round trip that follows slow start.

        Slow start has `widened` the round trip's `window`; `acknowledged` bytes are left.
        """
        origin = self.origin or widened  # the cubic begins where slow start ends
        # the cubic's clock runs for the part of the round trip behind slow start
        seconds = self.seconds + rtt * acknowledged / window
        # Reno's window grows by the round trip, the cubic by the second: short paths follow Reno
        reno = _RENO * seconds / rtt
        target = origin + max(_SCALE * seconds**3, reno)  # the window that CUBIC aims at
        gained = min(_FASTEST, max(_SLOWEST, target / widened - 1))  # for each acknowledged byte
        return widened + acknowledged * gained, Regrowth(self.threshold, origin, seconds)


Regrown: TypeAlias = tuple[float, float, Regrowth | None]
"""Seconds for which the link idles during a message, and the window and the state then."""


def recover(
    size: float,
    pace: float,
    rtt: float,
    window: float,
    kind: type[Regrowth] = Regrowth,
) -> Regrown:
    """Return the results of `Regrowth.ramp` for `size` bytes after a time-out at `window`.

    TCP first repeats the lost segment. If more bytes are to be sent than were under way, two new
    segments follow, to find out whether the time-out was spurious (F-RTO, RFC 5682); slow start
    waits for their acknowledgements.
    """
    idle = 0.0
    if size > window:
        probes = 2 * SEGMENT
        idle = max(0.0, rtt - probes * pace)
        size -= probes
    more, window, state = kind.after(window).ramp(size, pace, rtt, RESTART)
    return idle + more, window, state
