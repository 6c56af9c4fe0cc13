"""Paths of several rated links in one direction: bottlenecks, a network's links, the server's link.

The shares are max-min fair over paths (Bertsekas & Gallager, 1992, section 6.5.2): each flow has
the most that leaves no smaller flow less. Progressive filling finds them: the link with the least
equal share limits its flows to this share, or the flow with the least own rate of that link has its
own rate; the rest of each link is shared by the others. A bottleneck is a path of one link, with
the server's link behind it.

Most events change few shares, so only the links are filled anew that the event may concern. A link
with rate to spare, before and after the event, limits no flow: its flows keep their shares, unless
another link changes them. An event at a bottleneck whose server's link has rate to spare thus costs
as much as that bottleneck has classes of flows, however many bottlenecks there are.
"""

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Protocol

from ....world.links.offered_traffic import LEAST_LEFT
from ..clock import Heap
from .server_link import Flow, FlowClass, ServerLink

_FULL = 1 - 1e-9
"""Share of its rate from which a link counts as full. Loads are kept as sums of differences, so the
margin is far above their rounding; a link that counts as full without need costs time only."""


class Heedless(Protocol):
    """A stream that heeds no flow; hashable by identity."""

    lacks_room: bool
    """Whether a link passes less than the stream offers to it."""

    def refresh(self) -> None:
        """Offer to all links anew what the stream offers."""


class RatedLink:
    """A link in one direction that paths may share."""

    __slots__ = ("_taken", "flows", "full", "load", "paths", "rate", "whole")

    def __init__(self, rate: float) -> None:
        """`rate` is in bits of frames a second, above zero, and may be infinite."""
        self.rate = self.whole = rate
        """The rate that flows share, and with it what streams take that heed nobody."""
        self._taken: dict[Heedless, float] = {}
        self.paths: list[LinkPath] = []
        """All paths over the link, in the order in which they were made."""
        self.flows = 0
        """Number of flows."""
        self.load = 0.0
        """Sum of the rates of the flows."""
        self.full = False
        """Whether the link may limit a flow."""

    def settle(self) -> None:
        """Count the load anew, after all paths have taken their rates."""
        self.load = sum(path.load for path in self.paths)
        self.full = self.load > self.rate * _FULL

    def change(self, clock: Heap, rate: float) -> None:
        """Give the link another whole `rate`, above zero."""
        if rate != self.whole:
            self.whole = rate
            for stream in tuple(self._taken):
                stream.refresh()
            self._leave_rest(clock)

    def take(self, clock: Heap, stream: "Heedless", offered: float) -> float:
        """Let `stream` pass what it offers, as far as other such streams leave room; return the
        rate that passes. Streams that lacked room take what this one has released."""
        had = self._taken.get(stream, 0.0)
        others = sum(self._taken.values()) - had
        passes = max(0.0, min(offered, (1 - LEAST_LEFT) * self.whole - others))
        self._taken[stream] = passes
        self._leave_rest(clock)
        if passes < had:
            for other in tuple(self._taken):
                if other is not stream and other.lacks_room:
                    other.refresh()
        return passes

    def _leave_rest(self, clock: Heap) -> None:
        """Set the rate that the streams leave to flows."""
        taken = sum(self._taken.values())
        rate = max(self.whole - taken, LEAST_LEFT * self.whole) if taken else self.whole
        if rate != self.rate:
            self.rate = rate
            _share(clock, (), [self])


class LinkPath(ServerLink):
    """The flows that pass the same links, one after the other."""

    def __init__(self, clock: Heap, links: Iterable[RatedLink]) -> None:
        """Without `links` nothing but its own rate limits a flow."""
        super().__init__(clock, math.inf)
        self.links = tuple(links)
        self.load = 0.0
        """Sum of the rates of the flows, as the links count it."""
        self.own_rates: list[float] = []
        """Own rates of the classes of flows, in ascending order."""
        self.counts: list[int] = []
        """Numbers of flows of the classes."""
        self.rates: list[float] = []
        """Rates of the classes."""
        for link in self.links:
            link.paths.append(self)

    def join(self, flow: Flow, bits: float, own_rate: float) -> None:
        """Begin `flow`, as `ServerLink.join`."""
        for link in self.links:
            link.flows += 1
        super().join(flow, bits, own_rate)

    def served(self, own_rate: float) -> float:
        """Return the bits that each flow with `own_rate` has been served since the path was last
        without such flows; there must be one."""
        members = self._classes[own_rate]
        return members.served + members.rate * (self._clock.now - members.since)

    def limits(self, own_rate: float) -> bool:
        """Return whether anything limits a flow that alone could have `own_rate`."""
        return min(own_rate, *(link.rate for link in self.links), math.inf) < math.inf

    def recount(self) -> None:
        """Count the flows of the classes anew, after flows have joined or left."""
        self.own_rates = [members.own_rate for members in self._busy]
        self.counts = [len(members.flows) for members in self._busy]

    def load_of(self, rates: Sequence[float]) -> float:
        """Return the sum of the rates of the flows at these `rates` of the classes."""
        return math.fsum(map(mul, rates, self.counts))

    def take(self, rates: list[float], load: float) -> None:
        """Give the flows of each class its one of `rates`, in all `load`, and plan a look."""
        first, now = math.inf, self._clock.now
        self.rates, self.load = rates, load
        for members, rate in zip(self._busy, rates, strict=True):
            if rate != members.rate:
                members.advance(now)
                members.rate = rate
            end = members.next()
            if end < first:
                first = end
        if first < self._planned:  # as in `ServerLink._share`
            self._planned = first
            self._clock.at(first, self._look, first)

    def _take(self, members: FlowClass, flow: Flow) -> float:
        for link in self.links:
            link.flows -= 1
        return super()._take(members, flow)

    def _share(self) -> None:
        self.recount()
        _share(self._clock, [self], ())


def _share(clock: Heap, changed: Sequence[LinkPath], links: Iterable[RatedLink]) -> None:
    """Set the rates of all flows, after flows of `changed` paths or rates of `links` have changed.

    Fills as few links as the change may concern, then looks whether it concerns more.
    """
    concerned = dict.fromkeys(links)  # a dict for its order: equal runs plan equal events
    for path in changed:
        concerned |= dict.fromkeys(link for link in path.links if link.full)
        if path.counts and path.links:
            concerned[min(path.links, key=lambda link: link.rate / link.flows)] = None
    while True:
        paths = _paths_of(concerned, changed)
        filled = _filled(concerned, paths)
        loads = {path: path.load_of(rates) for path, rates in filled.items()}
        others = _changes_beside(concerned, loads)
        more = {link: None for link, load in others.items() if _may_limit(link, load)}
        if not more:
            break
        concerned |= more
    for link, load in others.items():
        link.load = load if link.flows else 0.0
    for path, rates in filled.items():
        if path in changed or rates != path.rates:
            path.take(rates, loads[path])
    for link in concerned:
        link.settle()


def _paths_of(links: dict[RatedLink, None], changed: Iterable[LinkPath]) -> dict[LinkPath, None]:
    """Return the `changed` paths and those with flows over `links`.

    Adds to `links` the full links of these paths, and so on: they will mostly be full after the
    event, too, so this spares rounds of `_share`.
    """
    paths, waiting = dict.fromkeys(changed), list(links)
    while waiting:
        for path in waiting.pop().paths:
            if path.counts and path not in paths:
                paths[path] = None
                for link in path.links:
                    if link.full and link not in links:
                        links[link] = None
                        waiting.append(link)
    return paths


def _changes_beside(
    links: Mapping[RatedLink, None], loads: Mapping[LinkPath, float]
) -> dict[RatedLink, float]:
    """Return the loads of the links beside `links` that change when paths have `loads`."""
    changed: dict[RatedLink, float] = {}
    for path, load in loads.items():
        if load != path.load:
            for link in path.links:
                if link not in links:
                    changed[link] = changed.get(link, link.load) + load - path.load
    return changed


def _may_limit(link: RatedLink, load: float) -> bool:
    """Return whether `link` limits a flow before or after it has `load`."""
    return link.full or load > link.rate * _FULL


class _Filling:
    """A link while it is filled: the rate left, the number of flows without a rate yet, and the
    classes on the link, the slowest last."""

    __slots__ = ("flows", "left", "queue")

    def __init__(self, link: RatedLink) -> None:
        self.left, self.flows = link.rate, link.flows
        busy = [path for path in link.paths if path.counts]
        # the place decides between equal own rates: no two paths are compared
        self.queue = [
            (own, place, index, path)
            for place, path in enumerate(busy)
            for index, own in enumerate(path.own_rates)
        ]
        if len(busy) > 1:
            self.queue.sort(reverse=True)
        else:
            self.queue.reverse()


def _filled(links: Iterable[RatedLink], paths: Iterable[LinkPath]) -> dict[LinkPath, list[float]]:
    """Return the max-min rates of the classes of `paths`, which `links` alone limit.

    `paths` has all that cross a link of `links`.
    """
    rates = {path: list(path.own_rates) for path in paths}
    unfixed = {path: [True] * len(path.counts) for path in paths}
    filling = {link: _Filling(link) for link in links}
    heap = [
        (each.left / each.flows, order, each)
        for order, each in enumerate(filling.values())
        if each.flows
    ]
    heapq.heapify(heap)
    while heap:
        known, order, least = heapq.heappop(heap)
        if not least.flows:
            continue
        share = least.left / least.flows
        # shares only grow while flows of other links are fixed: one that did has to wait its turn
        if share > known:
            heapq.heappush(heap, (share, order, least))
            continue
        while least.flows:
            own, _, index, path = least.queue.pop()
            if not unfixed[path][index]:
                continue
            share = least.left / least.flows
            rate = own if own < share else share
            rates[path][index], unfixed[path][index] = rate, False
            count = path.counts[index]
            for link in path.links:
                if (other := filling.get(link)) is not None:
                    other.left -= rate * count
                    other.flows -= count
            if own < share:  # the others' share has grown; else it is as it was, and the least
                break
        if least.flows:
            heapq.heappush(heap, (least.left / least.flows, order, least))
    return rates
