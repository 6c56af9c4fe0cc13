"""What is to happen, in the order of virtual time.

A heap of a million events is slow not for its twenty levels but for where they lie: no cache holds
them. So only the next few thousand events are a heap. Those after them are spread by time over
buckets that nobody sorts until it is their turn: a ladder queue (Tang, Goh & Thng, 2005), of which
the last bucket of the lowest rung takes all that is later still.
"""

import heapq
import math
from collections.abc import Callable
from typing import Any, TypeAlias

MOST = 1 << 13
"""Events that are kept as a heap; of more, the later ones are spread over buckets."""
SHARE = 1 << 10
"""Events for each bucket, in the mean."""

_Event: TypeAlias = tuple[float, int, Callable[..., None], tuple[Any, ...]]


class Heap:
    """A clock that jumps from event to event. Ties run as they were planned, so a run repeats."""

    def __init__(self) -> None:
        self.now = 0.0
        self.halted = False
        """Set it, and nothing that is planned will happen any more."""
        self.planned = 0
        """How many calls so far."""
        self._near: list[_Event] = []
        self._most = MOST
        self._rungs: list[_Rung] = []  # each lies within the bucket where the one before it stands

    def at(self, when: float, call: Callable[..., None], *arguments: Any) -> None:
        """Plan a call for `when`; one that lies in the past runs next."""
        self.planned += 1
        event = (when, self.planned, call, arguments)
        for rung in self._rungs:
            bucket = (when - rung.first) / rung.width
            if bucket >= rung.next:
                rung.buckets[int(min(bucket, rung.last))].append(event)
                return
        heapq.heappush(self._near, event)
        if len(self._near) > self._most:
            self._spread()

    def run(self, until: float, most: int) -> bool:
        """Run up to `most` events; whether all up to `until` have run, which it then is."""
        near, pop = self._near, heapq.heappop
        while (near or self._advance()) and near[0][0] <= until and not self.halted:
            if not most:
                return False
            most -= 1
            when, _, call, arguments = pop(near)
            if when > self.now:
                self.now = when
            call(*arguments)
        if until < math.inf and not self.halted:
            self.now = max(self.now, until)
        return True

    def _advance(self) -> bool:
        """Go on to the next bucket that holds anything; whether there is one."""
        while self._rungs:
            rung = self._rungs[-1]
            found = rung.buckets[rung.next]
            rung.buckets[rung.next] = []
            rung.next += 1
            if rung.next > rung.last:
                self._rungs.pop()
            if found:
                self._near[:] = found
                heapq.heapify(self._near)
                self._most = MOST
                if len(found) > MOST:
                    self._spread()
                return True
        return False

    def _spread(self) -> None:
        """Make a rung of what is near, if its times differ enough."""
        near = self._near
        first, last = near[0][0], max(near)[0]
        count = len(near) // SHARE
        width = (last - first) / count
        if not first < first + width < math.inf:
            self._most = 2 * len(near)  # not to look at each of them again with every new one
            return
        rung = _Rung(first, width, count)
        for event in near:
            rung.buckets[int(min((event[0] - first) / width, rung.last))].append(event)
        near.clear()
        self._rungs.append(rung)
        self._advance()


class _Rung:
    """Buckets of equal width in time."""

    __slots__ = ("buckets", "first", "last", "next", "width")

    def __init__(self, first: float, width: float, count: int) -> None:
        self.first, self.width = first, width
        self.buckets: list[list[_Event]] = [[] for _ in range(count)]
        self.last = count - 1
        self.next = 0  # the bucket to come; those before it are being played, or were
