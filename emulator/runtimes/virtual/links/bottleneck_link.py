"""Bottlenecks in one direction: the rates that several devices share before the server's link.

The shares are max-min fair over paths of a bottleneck and the server's link (Bertsekas & Gallager,
1992, section 6.5.2): each flow has the most that leaves no smaller flow less. On a tree this takes
two steps. A bottleneck on its own gives each of its flows an equal share, or the flow's own rate if
that is less. The server's link then shares its rate among all flows, and gives none more than its
bottleneck does. If the server's link has rate for all, one bottleneck alone changes at an event.
"""

import math

from ..clock import Heap
from .server_link import ServerLink


class BottleneckLink(ServerLink):
    """The rate of a bottleneck, shared between the flows of its members."""

    def __init__(self, clock: Heap, rate: float, server: "ServerShare") -> None:
        """`rate` is in bits of frames a second; infinite for the devices behind no bottleneck."""
        super().__init__(clock, rate)
        self._server = server
        self.wanted: list[tuple[float, int]] = []
        """Rates that the bottleneck alone would give, each with its number of flows."""
        self.demand = 0.0
        """Sum of the wanted rates."""
        server.bottlenecks.append(self)

    def _share(self) -> None:
        left, flows, self.wanted = self._rate, self._flows, []
        for members in self._busy:  # as in `ServerLink._share`
            rate = min(members.own_rate, left / flows)
            self.wanted.append((rate, len(members.flows)))
            left -= rate * len(members.flows)
            flows -= len(members.flows)
        self.demand = sum(rate * count for rate, count in self.wanted)
        self._server.share(self)

    def limits(self, own_rate: float) -> bool:
        """Return whether anything limits a flow that alone could have `own_rate`."""
        return min(own_rate, self._rate, self._server.rate) < math.inf

    def take(self, level: float) -> None:
        """Give each flow the wanted rate, or `level` if that is less, and plan a look."""
        first = math.inf
        for members, (wanted, _) in zip(self._busy, self.wanted, strict=True):
            rate = min(wanted, level)
            if rate != members.rate:
                members.advance(self._clock.now)
                members.rate = rate
            first = min(first, members.next())
        if first < self._planned:  # as in `ServerLink._share`
            self._planned = first
            self._clock.at(first, self._look, first)


class ServerShare:
    """The server's link behind the bottlenecks."""

    def __init__(self, rate: float) -> None:
        """`rate` is in bits of frames a second, and may be infinite."""
        self.rate = rate
        self.bottlenecks: list[BottleneckLink] = []
        """All bottlenecks, in the order in which they were made."""
        self._level = math.inf  # rate of each flow that the server's link limits

    def share(self, changed: BottleneckLink) -> None:
        """Set the rates of all flows, after the wanted rates of `changed` have changed."""
        level = self._filled() if self.rate < math.inf else math.inf
        # at an equal level the flows behind all other bottlenecks keep their rates
        if level == self._level:
            changed.take(level)
            return
        self._level = level
        for bottleneck in self.bottlenecks:
            bottleneck.take(level)

    def _filled(self) -> float:
        """Return the rate of the flows that the server's link limits; infinite without any."""
        if sum(bottleneck.demand for bottleneck in self.bottlenecks) <= self.rate:
            return math.inf
        wanted = sorted(pair for bottleneck in self.bottlenecks for pair in bottleneck.wanted)
        left, flows = self.rate, sum(count for _, count in wanted)
        # water-filling: flows that want less than an equal share have all they want, and leave the
        # rest to the others; the first that wants more sets the level of all after it
        for rate, count in wanted:
            if rate >= left / flows:
                return left / flows
            left -= rate * count
            flows -= count
        return math.inf  # the demand exceeds the rate by a rounding error
