"""A queue that several devices share between their own links and the server's link."""

from dataclasses import dataclass, field, replace

from ...units import Rate, Seconds
from .link import ETHERNET, FRAME, Link, Side


@dataclass(frozen=True)
class SharedSide:
    """A direction of a bottleneck: a queue for the packets of all members."""

    rate: Rate | None = None
    """Rate that the members share, of Ethernet frames, as `tc` counts. Default: unlimited."""
    delay: Seconds = Seconds(0)
    """Propagation delay, one-way, beside those of the member's link and of the server's link."""

    def then(self, other: "SharedSide") -> "SharedSide":
        """Return both directions one after the other: the lower rate, and the whole delay."""
        rates = [rate for rate in (self.rate, other.rate) if rate is not None]
        delay = round(self.delay + other.delay, 9)  # as people would add them, to the nanosecond
        return SharedSide(min(rates, default=None), Seconds(delay))


@dataclass(frozen=True)
class SharedLink:
    """Both directions of a bottleneck: `up` from the members to the server, `down` to them."""

    up: SharedSide = field(default_factory=SharedSide)
    down: SharedSide = field(default_factory=SharedSide)

    def then(self, other: "SharedLink") -> "SharedLink":
        """Return the two one after the other, as packets of a device pass both."""
        return SharedLink(self.up.then(other.up), self.down.then(other.down))

    def lengthen(self, link: Link) -> Link:
        """Return the `link` of a member with the bottleneck's delays added.

        Every packet of the member has both delays, and none changes which packets queue.
        """
        up, down = _later(link.up, self.up.delay), _later(link.down, self.down.delay)
        return link if (up, down) == (link.up, link.down) else Link(up, down)

    def alone(self, link: Link) -> Link:
        """Return the `link` of a member as its transfers find it while the other members rest."""
        # the shared queue knows no overhead of a member's link, and the copies of `duplicate` are
        # made by the member: they have passed the queue upwards, and come after it downwards
        up = _slower(link.up, self.up, (ETHERNET + link.up.overhead) / ETHERNET)
        down = _slower(link.down, self.down, link.down.frame / FRAME)
        return self.lengthen(Link(up, down))


def _slower(side: Side, shared: SharedSide, dear: float) -> Side:
    """Return `side` with the rate of `shared`, if less; each byte there is `dear` bytes here."""
    most = None if shared.rate is None else Rate(shared.rate * dear)
    rates = [rate for rate in (side.rate, most) if rate is not None]
    return replace(side, rate=min(rates, default=None))


def _later(side: Side, delay: Seconds) -> Side:
    return replace(side, delay=Seconds(side.delay + delay)) if delay else side
