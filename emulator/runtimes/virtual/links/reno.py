"""TCP with Reno's congestion control (RFC 5681), where it differs from CUBIC.

Slow start and the halvings of the window in a pause are the same. A loss halves the window, and
then each round trip widens it by a segment: so the long-run rate follows the square root law alone
(Mathis et al., 1997; Padhye et al., 1998), and growth after a time-out is linear from half of the
former window on.

Not modelled, beside the list in `tcp.py`: Linux's Reno has no HyStart, so a long message widens the
window until the queue at the bottleneck overflows.
"""

from dataclasses import dataclass
from typing import ClassVar

from .cubic import Regrown, Regrowth, recover
from .tcp import Tcp, reno_frames
from .windows import SEGMENT


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
    """Reno on a group's links, in a direction."""

    def recover(self, size: float, pace: float, window: float) -> Regrown:
        """Return idle seconds, window and state of `size` bytes after a time-out at `window`."""
        return recover(size, pace, self.rtt, window, LinearRegrowth)

    def regrowth(self, window: float) -> Regrowth:
        """Return the state after a time-out at `window`."""
        return LinearRegrowth.after(window)

    def _frames(self, events: float, rtt: float) -> float:
        return reno_frames(events, rtt)
