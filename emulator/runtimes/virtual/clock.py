"""The clock of virtual time: planned calls, run in the order of their times, and time-outs.

A binary heap of a million events is slow not because of its twenty levels but because they are
scattered in memory, beyond every cache. So only the next few thousand events are kept in order.
Later events are spread by time over buckets, unsorted until their turn: a ladder queue (Tang, Goh &
Thng, 2005) in which the last bucket of the lowest rung takes all later events, too. A bucket is
sorted at its turn: to pop from a sorted list takes O(1), and a bucket whose events have equal
times, as those of a fleet that starts, is in order already. Only events that are planned for the
time of the bucket that is being played are in a heap.
"""

import heapq
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

LARGEST_HEAP = 1 << 13
"""The most events in the heap, and in a bucket that is sorted, unless their times are equal; if
there are more, they are spread over buckets."""
BUCKET = 1 << 10
"""Mean number of events in a new bucket."""

_Event: TypeAlias = tuple[float, int, Callable[..., None], tuple[Any, ...]]
"""Time, ticket, function, arguments. Tickets differ, so functions are never compared."""


class Heap:
    """A clock. It jumps from event to event; ties run in the order of planning, so runs repeat."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds; never decreases."""
        self.halted = False
        """Set to true to run no planned event any more."""
        self.planned = 0
        """Number of events planned so far: the last ticket."""
        # All events earlier than those on the rungs: a heap, and a list in descending order.
        self._near: list[_Event] = []
        self._sorted: list[_Event] = []
        # The highest rung comes first. Each rung lies within one bucket of the rung before it, the
        # bucket before that rung's `next`.
        self._rungs: list[_Rung] = []

    def at(self, when: float, call: Callable[..., None], *arguments: Any) -> None:
        """Plan `call(*arguments)` for the time `when`; a time in the past runs next.

        O(rungs) for an event that falls into a bucket, O(log LARGEST_HEAP) for one in the heap.
        """
        self.planned += 1
        event = (when, self.planned, call, arguments)
        # the highest rung reaches furthest, and most events are far ahead: it is asked first
        for rung in self._rungs:
            bucket = (when - rung.first) / rung.width
            # a bucket before `next` is being played: such an event belongs to a lower rung
            if bucket >= rung.next:
                rung.buckets[int(min(bucket, rung.last))].append(event)
                return
        # earlier than all buckets left: among the events that are being played
        heapq.heappush(self._near, event)
        # the pushes between two spreads pay for a pass over both lists: O(1) each, amortised
        if len(self._near) > LARGEST_HEAP and len(self._near) > len(self._sorted):
            self._spread()

    def run(self, until: float, most: int) -> bool:
        """Run up to `most` events; return whether no event up to `until` is left.

        If they have, the clock stands at `until`, unless that is infinite.
        """
        # local names: each event passes these lines
        near, ordered, pop = self._near, self._sorted, heapq.heappop
        while (ordered or near or self._advance()) and not self.halted:
            if not ordered and len(near) > LARGEST_HEAP:
                self._spread()
            first = not near or (ordered and ordered[-1] < near[0])
            if (ordered[-1] if first else near[0])[0] > until:
                break
            # the caller has other work between two calls, and goes on from here
            if not most:
                return False
            most -= 1
            when, _, call, arguments = ordered.pop() if first else pop(near)
            if when > self.now:
                self.now = when
            call(*arguments)
        if until < math.inf and not self.halted:
            self.now = max(self.now, until)
        return True

    def _advance(self) -> bool:
        """Sort the next bucket with events; return whether a bucket had any."""
        while self._rungs:
            rung = self._rungs[-1]
            events = rung.buckets[rung.next]
            rung.buckets[rung.next] = []
            rung.next += 1
            # its last bucket is about to be played, and takes no event any more
            if rung.next > rung.last:
                self._rungs.pop()
            if events:
                self._sorted[:] = events  # in place: `run` holds on to this list
                if len(events) > LARGEST_HEAP:
                    self._spread()
                else:
                    self._sorted.sort(reverse=True)
                return True
        return False

    def _spread(self) -> None:
        """Move all near events to the buckets of a new rung, if their times differ enough."""
        near = [*self._sorted, *self._near]
        self._near.clear()
        first, last = min(near)[0], max(near)[0]
        count = len(near) // BUCKET
        width = (last - first) / count
        if not first < first + width < math.inf:
            # all at one time, or one of them never: sorted they are as good as on a rung
            near.sort(reverse=True)
            self._sorted[:] = near
            return
        rung = _Rung(first, width, count)
        for event in near:
            rung.buckets[int(min((event[0] - first) / width, rung.last))].append(event)
        self._sorted.clear()
        self._rungs.append(rung)
        self._advance()


class _Rung:
    """Buckets of equal width in time. Bucket i holds `first` + [i, i + 1) * `width`."""

    __slots__ = ("buckets", "first", "last", "next", "width")

    def __init__(self, first: float, width: float, count: int) -> None:
        self.first, self.width = first, width
        self.buckets: list[list[_Event]] = [[] for _ in range(count)]
        self.last = count - 1  # index of the last bucket, which takes all later events, too
        self.next = 0  # index of the next bucket to play; those before it have been emptied


SLOT = 1.0
"""Length of a slot in seconds."""


class Waiter(Protocol):
    """A node with a time-out."""

    until: float | None
    """The time at which it stops waiting; None: it does not wait."""
    listed: bool
    """Whether the waiter is on a list; changed by `Alarms` only."""

    def give_up(self, until: float) -> None:
        """Stop waiting: the time is `until`. Void if `self.until` has changed."""


class Alarms:
    """Keeps a waiter on a single list, however often the waiter begins to wait: O(1) per wait.

    Answers nearly always come in time, so a time-out must be cheap. Time is cut into slots, each
    with a list of waiters. When a slot begins, its list is read once: waiters that were answered
    are struck off, waiters that have begun to wait anew move to a later list, and only those that
    will really time out within the slot get an event of their own.
    """

    def __init__(self, clock: Heap) -> None:
        self._clock = clock
        self._slots: dict[int, list[Waiter]] = {}  # by number: a slot begins at its number * SLOT

    def set(self, waiter: Waiter, until: float) -> None:
        """Have `waiter` give up at `until`, no earlier than any time set for this waiter before.

        As times only grow, the list that the waiter is on already comes up early enough.
        """
        waiter.until = until
        if not waiter.listed:
            waiter.listed = True
            self._list(waiter, until)

    def _list(self, waiter: Waiter, until: float) -> None:
        slot = int(until / SLOT)
        waiters = self._slots.get(slot)
        if waiters is None:
            waiters = self._slots[slot] = []
            self._clock.at(slot * SLOT, self._begin, slot)
        waiters.append(waiter)

    def _begin(self, slot: int) -> None:
        """Begin `slot`: read the list of waiters."""
        for waiter in self._slots.pop(slot):
            until = waiter.until
            if until is None:  # answered
                waiter.listed = False
            elif int(until / SLOT) > slot:  # answered, and waiting for another message
                self._list(waiter, until)
            else:
                waiter.listed = False
                self._clock.at(until, waiter.give_up, until)
