"""The server's access link, in one direction, shared fairly between flows.

The shares are max-min fair (Bertsekas & Gallager, 1992, section 6.5.2): all flows get the same
share, except for flows to which their own link gives less; the rate that these leave is shared by
the others.

All flows with the same own rate get the same share at any moment, so they are kept as one class. A
class knows how many bits each of its members has been served since the class was last empty, and a
flow is done when that number has grown by the flow's size, no matter how often the share changed.
So an event costs O(classes + log flows), not O(flows).
"""

import heapq
import math
from typing import Protocol

from ..clock import Heap


class Flow(Protocol):
    """A message on the server's link; hashable by identity."""

    def through(self) -> None:
        """Go on after the last bit has passed."""


class FlowClass:
    """The flows with the same own rate."""

    __slots__ = ("flows", "own_rate", "queue", "rate", "served", "since")

    def __init__(self, own_rate: float) -> None:
        self.own_rate = own_rate  # bits a second that each flow could have alone
        self.rate = 0.0  # bits a second that each flow has
        self.served = 0.0  # bits served to each member, from when the class was last empty
        self.since = 0.0  # the time at which `served` was right
        self.flows: dict[Flow, float] = {}  # the value of `served` at which each flow is done
        # The same as a heap of (value, ticket, flow). A flow that leaves stays in the heap until it
        # comes first: to search for it would take O(flows). Tickets decide between equal values.
        self.queue: list[tuple[float, int, Flow]] = []

    def advance(self, now: float) -> None:
        """Bring `served` up to `now`; needed before `rate` or `flows` change."""
        self.served += self.rate * (now - self.since)
        self.since = now

    def next(self) -> float:
        """Return when the first flow will be done at the present rate; there must be a flow."""
        flows, queue = self.flows, self.queue
        while flows.get(queue[0][2]) != queue[0][0]:
            heapq.heappop(queue)  # the flow has left; if it came back, it did so with another value
        left = queue[0][0] - self.served
        return self.since + left / self.rate if left > 0 else self.since


class ServerLink:
    """Shares the link's rate between flows, and calls `through` at a flow's end."""

    def __init__(self, clock: Heap, rate: float) -> None:
        """`rate` is in bits of frames a second."""
        self._clock, self._rate = clock, rate
        self._classes: dict[float, FlowClass] = {}  # by own rate; kept when empty
        self._busy: list[
            FlowClass
        ] = []  # the classes that have flows, in ascending order of own rate
        self._flows = 0  # the number of flows in all classes
        self._joined = 0  # tickets given out
        self._planned = math.inf  # time of the earliest look that is planned

    def join(self, flow: Flow, bits: float, own_rate: float) -> None:
        """Begin `flow` of `bits` bits. Alone it could have the rate `own_rate` or math.inf."""
        now, members = self._clock.now, self._classes.get(own_rate)
        if members is None:
            members = self._classes[own_rate] = FlowClass(own_rate)
        if members.flows:
            members.advance(now)
        else:
            # counting from zero again keeps `served` small, and with it its rounding errors
            members.served, members.since = 0.0, now
            members.queue.clear()
            self._busy = sorted([*self._busy, members], key=_own_rate)
        end = members.served + bits
        # a value of `served`, no time: it stays right whatever happens to the shares
        members.flows[flow] = end
        self._flows += 1
        self._joined += 1
        heapq.heappush(members.queue, (end, self._joined, flow))
        self._share()

    def leave(self, flow: Flow, own_rate: float) -> float:
        """Take out `flow` before the end; return the bits left to send."""
        left = self.left(flow, own_rate)
        self._take(self._classes[own_rate], flow)
        self._share()
        return left

    def left(self, flow: Flow, own_rate: float) -> float:
        """Return the bits of `flow` left to send."""
        members = self._classes[own_rate]
        served = members.served + members.rate * (self._clock.now - members.since)
        return max(0.0, members.flows[flow] - served)

    def rate_of(self, own_rate: float) -> float:
        """Return the rate of a flow that alone could have `own_rate`; such a flow must be here."""
        return self._classes[own_rate].rate

    def _take(self, members: FlowClass, flow: Flow) -> float:
        """Remove `flow`; return the value of `served` at the end of the flow."""
        end = members.flows.pop(flow)
        self._flows -= 1
        if not members.flows:
            self._busy = [other for other in self._busy if other is not members]
        return end

    def _share(self) -> None:
        """Set the rate of every class, and plan a look at the next end of a flow.

        In ascending order of own rate, each class gets an equal share of the rate that is left, or
        its own rate if that is less; so slower classes leave more to the classes after them.
        """
        now, left, flows, first = self._clock.now, self._rate, self._flows, math.inf
        for members in self._busy:
            share = left / flows
            rate = members.own_rate if members.own_rate < share else share
            # `served` grows linearly while the rate stays, so only a new rate needs it up to date
            if rate != members.rate:
                members.advance(now)
                members.rate = rate
            left -= rate * len(members.flows)
            flows -= len(members.flows)
            end = members.next()
            if end < first:
                first = end
        # A look that comes too early plans another, so only an earlier end needs an event of its
        # own. A new event at every change of the shares would fill the heap.
        if first < self._planned:
            self._planned = first
            self._clock.at(first, self._look, first)

    def _look(self, planned: float) -> None:
        """End every flow due now; if flows were slowed down since, perhaps none is. Look again."""
        if planned != self._planned:  # an earlier look has replaced this one
            return
        self._planned = math.inf
        now = self._clock.now
        ended: list[Flow] = []
        for members in self._busy:
            while members.flows and members.next() <= now:
                flow = members.queue[0][2]
                members.advance(now)
                # rounding may leave `served` just below the flow's end
                members.served = max(members.served, self._take(members, flow))
                ended.append(flow)
        self._share()
        # last: a flow that is through may begin the next message, which joins at once
        for flow in ended:
            flow.through()


def _own_rate(members: FlowClass) -> float:
    return members.own_rate
