"""A message whose acknowledgements take their share of a bottleneck in the opposite direction.

TCP sends on as acknowledgements come back. A fast message has at most `MOST_ACKS` of them. If the
bottleneck has room for these, the message is through when its last bit has passed. If it has not,
TCP sends two segments at once, with an acknowledgement for each pair, and the message is through
when the last of these has passed, too.
"""

from collections.abc import Callable

from .bottleneck_link import BottleneckLink
from .tcp import MOST_ACKS


class _Part:
    """The bits of a message, or its acknowledgements, as a flow of one link."""

    def __init__(self, link: BottleneckLink, own_rate: float, done: Callable[[], None]) -> None:
        self._link, self._own_rate, self._done = link, own_rate, done
        self.passing = False

    def join(self, bits: float) -> None:
        """Begin to pass `bits`; a link that limits nothing passes them at once."""
        if self._link.limits(self._own_rate):
            self.passing = True
            self._link.join(self, bits, self._own_rate)

    def leave(self) -> None:
        """Pass no further bits."""
        if self.passing:
            self.passing = False
            self._link.leave(self, self._own_rate)

    def slowed(self) -> bool:
        """Return whether bits pass, at less than the own rate."""
        return self.passing and self._link.rate_of(self._own_rate) < self._own_rate

    def left(self) -> float:
        """Return the bits left to send."""
        return self._link.left(self, self._own_rate) if self.passing else 0.0

    def through(self) -> None:
        """Go on after the last bit has passed the link."""
        self.passing = False
        self._done()


class AcknowledgedFlow:
    """The two parts of a message on its way. All numbers of bits are those of frames."""

    def __init__(
        self,
        there: BottleneckLink,
        back: BottleneckLink,
        own_rate: float,
        share: float,
        through: Callable[[], None],
    ) -> None:
        """`there` passes the bits, `back` the acknowledgements: `share` bits for each bit.

        `own_rate` is the rate that the message could have alone. `through` is called at the end.
        """
        self._share, self._through = share, through
        self._bits = _Part(there, own_rate, self._look)
        self._acknowledgements = _Part(back, min(own_rate * share, MOST_ACKS), self._look)

    def join(self, bits: float) -> None:
        """Begin to send `bits`."""
        self._acknowledgements.join(bits * self._share)
        self._bits.join(bits)
        self._look()

    def _look(self) -> None:
        """Call `through` if the bits have passed, and no acknowledgement holds the sender up."""
        if not (self._bits.passing or self._acknowledgements.slowed()):
            # acknowledgements at their full rate hold nothing up: the rest needs no room
            self._acknowledgements.leave()
            self._through()

    def leave(self) -> float:
        """Take out both parts before the end; return the bits left to send."""
        left = self.left()
        self._bits.leave()
        self._acknowledgements.leave()
        return left

    def left(self) -> float:
        """Return the bits left to send: those that acknowledgements hold up have not passed."""
        if self._bits.passing and not self._acknowledgements.slowed():
            return self._bits.left()
        return max(self._bits.left(), self._acknowledgements.left() / self._share)
