"""One direction of the server's access link, shared fairly by all that passes.

Fair is max-min (Bertsekas & Gallager, 1992, section 6.5.2): all flows get the same share, but for
those whose own link gives less; what these leave goes to the others. All flows of one rate are
alike at any moment, so they are kept as a class that knows how much each member has been
served since it opened. A flow is done when that has grown by its size, however often the share has
changed: an event costs O(rates that differ + log flows), not O(flows).
"""

import heapq
import math
from typing import Protocol

from ..clock.heap import Heap


class Flow(Protocol):
    """Something on its way; hashable by identity."""

    def through(self) -> None:
        """Its last bit has passed."""


class _Class:
    """The flows of one rate."""

    __slots__ = ("flows", "queue", "rate", "served", "since", "top")

    def __init__(self, top: float) -> None:
        self.top = top
        self.rate = 0.0  # of each member
        self.served = 0.0  # bits to each member since the class was last empty
        self.since = 0.0  # when `served` was so much
        self.flows: dict[Flow, float] = {}  # what `served` will be when it is done
        self.queue: list[tuple[float, int, Flow]] = []

    def advance(self, now: float) -> None:
        self.served += self.rate * (now - self.since)
        self.since = now

    def next(self) -> float:
        """When the first of its flows will be done at this rate; there must be one."""
        flows, queue = self.flows, self.queue
        while flows.get(queue[0][2]) != queue[0][0]:
            heapq.heappop(queue)  # it has left
        left = queue[0][0] - self.served
        return self.since + left / self.rate if left > 0 else self.since


class ServerLink:
    """`rate` in bits of frames a second."""

    def __init__(self, heap: Heap, rate: float) -> None:
        self._heap, self._rate = heap, rate
        self._classes: dict[float, _Class] = {}
        self._busy: list[_Class] = []  # those that have flows, the slowest first
        self._flows = 0
        self._joined = 0
        self._planned = math.inf  # the earliest event in the heap that is ours

    def join(self, flow: Flow, bits: float, top: float) -> None:
        """A flow of so many bits begins; alone it could go at `top` (math.inf: at any rate)."""
        now, of = self._heap.now, self._classes.get(top)
        if of is None:
            of = self._classes[top] = _Class(top)
        if of.flows:
            of.advance(now)
        else:
            of.served, of.since = 0.0, now
            of.queue.clear()
            self._busy = sorted([*self._busy, of], key=_top)
        end = of.served + bits
        of.flows[flow] = end
        self._flows += 1
        self._joined += 1
        heapq.heappush(of.queue, (end, self._joined, flow))
        self._share()

    def leave(self, flow: Flow, top: float) -> float:
        """Take a flow out before it is done; the bits that it still had to send."""
        left = self.left(flow, top)
        self._take(self._classes[top], flow)
        self._share()
        return left

    def left(self, flow: Flow, top: float) -> float:
        """The bits that a flow still has to send."""
        of = self._classes[top]
        served = of.served + of.rate * (self._heap.now - of.since)
        return max(0.0, of.flows[flow] - served)

    def _take(self, of: _Class, flow: Flow) -> float:
        end = of.flows.pop(flow)
        self._flows -= 1
        if not of.flows:
            self._busy = [one for one in self._busy if one is not of]
        return end

    def _share(self) -> None:
        """Give every class its rate, and plan the next end."""
        now, left, flows, first = self._heap.now, self._rate, self._flows, math.inf
        for of in self._busy:
            share = left / flows
            rate = of.top if of.top < share else share
            if rate != of.rate:
                of.advance(now)
                of.rate = rate
            left -= rate * len(of.flows)
            flows -= len(of.flows)
            end = of.next()
            if end < first:
                first = end
        if first < self._planned:
            self._planned = first
            self._heap.at(first, self._look, first)

    def _look(self, planned: float) -> None:
        """End what is due; where all have been slowed since, nothing is, and it plans anew."""
        if planned != self._planned:
            return
        self._planned = math.inf
        now = self._heap.now
        ended: list[Flow] = []
        for of in self._busy:
            while of.flows and of.next() <= now:
                flow = of.queue[0][2]
                of.advance(now)
                of.served = max(of.served, self._take(of, flow))  # whatever was rounded
                ended.append(flow)
        self._share()
        for flow in ended:
            flow.through()


def _top(of: _Class) -> float:
    return of.top
