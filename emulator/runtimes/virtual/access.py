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

from .heap import Heap


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
        self.served += self.rate * (now - self.since) if now > self.since else 0.0
        self.since = now

    def next(self) -> float:
        """When the first of its flows will be done at this rate."""
        while self.queue and self.flows.get(self.queue[0][2]) != self.queue[0][0]:
            heapq.heappop(self.queue)  # it has left
        if not self.queue:
            return math.inf
        left = self.queue[0][0] - self.served
        return self.since + max(0.0, left) / self.rate


class Access:
    """`rate` in bits of frames a second."""

    def __init__(self, heap: Heap, rate: float) -> None:
        self._heap, self._rate = heap, rate
        self._classes: dict[float, _Class] = {}
        self._joined = 0
        self._planned = math.inf  # the earliest event in the heap that is ours

    def join(self, flow: Flow, bits: float, top: float) -> None:
        """A flow of so many bits begins; alone it could go at `top` (math.inf: at any rate)."""
        of = self._classes.get(top)
        if of is None:
            of = self._classes[top] = _Class(top)
        if not of.flows:
            of.served, of.since = 0.0, self._heap.now
            of.queue.clear()
        of.advance(self._heap.now)
        end = of.served + bits
        of.flows[flow] = end
        self._joined += 1
        heapq.heappush(of.queue, (end, self._joined, flow))
        self._share()

    def leave(self, flow: Flow, top: float) -> float:
        """Take a flow out before it is done; the bits that it still had to send."""
        left = self.left(flow, top)
        del self._classes[top].flows[flow]
        self._share()
        return left

    def left(self, flow: Flow, top: float) -> float:
        """The bits that a flow still has to send."""
        of = self._classes[top]
        served = of.served + of.rate * (self._heap.now - of.since)
        return max(0.0, of.flows[flow] - served)

    def _share(self) -> None:
        """Give every class its rate, and plan the next end."""
        now, left = self._heap.now, self._rate
        busy = sorted((of for of in self._classes.values() if of.flows), key=_top)
        flows = sum(len(of.flows) for of in busy)
        for of in busy:
            rate = min(of.top, left / flows)
            if rate != of.rate:
                of.advance(now)
                of.rate = rate
            left -= rate * len(of.flows)
            flows -= len(of.flows)
        self._plan(min((of.next() for of in busy), default=math.inf))

    def _plan(self, when: float) -> None:
        if when < self._planned:
            self._planned = when
            self._heap.at(when, self._look, when)

    def _look(self, planned: float) -> None:
        """End what is due; where all have been slowed since, nothing is, and it plans anew."""
        if planned != self._planned:
            return
        self._planned = math.inf
        now = self._heap.now
        ended: list[Flow] = []
        for of in self._classes.values():
            while of.flows and of.next() <= now:
                flow = of.queue[0][2]
                of.advance(now)
                of.served = max(of.served, of.flows.pop(flow))  # to the bit, whatever was rounded
                ended.append(flow)
        self._share()
        for flow in ended:
            flow.through()


def _top(of: _Class) -> float:
    return of.top
