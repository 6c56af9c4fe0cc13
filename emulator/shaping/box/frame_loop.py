"""The loop of the box: waits for frames, due times and requests, and serves each in its time.

The time-out of epoll has a grain of a millisecond, so the loop waits with `select` on the epoll
descriptor, to the microsecond.
"""

import heapq
import math
import select
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count

from .carried_link import CarriedLink, Lane, LinkGoneError

READS = (1, 3, 12, 48)
"""Most frames read from a lane each time that it has some, in a round: few at first, as a read that
finds nothing costs time; and not more, so that a busy link lets others have their turn."""
PULSE = 5e-3
"""Longest time in seconds between two looks for frames while links carry some: only so can a box
that got no core be told from a box without frames."""
STALL = PULSE + 2e-3
"""Time between two looks from which frames count as late that wait at the second one. None of them
tells when it came, so each counts as the oldest."""
RECENT = 1.0
"""Seconds since the last frame for which links count as carrying some."""
OTHERS_A_ROUND = 4
"""Most requests served in a round, however many wait: frames go first."""


class FrameLoop:
    """Lanes by descriptor and by due time, and handlers of other descriptors."""

    def __init__(self, clock: Callable[[], float], gone: Callable[[CarriedLink], None]) -> None:
        """`gone` is called with a link whose network is gone."""
        self._clock, self._gone = clock, gone
        self.tick = 0.0
        """Shortest time in seconds between the beginnings of two rounds."""
        self._epoll = select.epoll()
        self._lanes: dict[int, tuple[CarriedLink, Lane]] = {}  # by the descriptor they read
        self._handlers: dict[int, Callable[[], None]] = {}
        self._due: list[tuple[float, int, CarriedLink, Lane]] = []
        self._order = count()  # so that the heap compares no lanes
        self._began = 0.0
        self._looked = clock()
        """Time of the last look for frames."""
        self._carried = -math.inf
        """Time of the last frame."""

    def watch(self, descriptor: int, handler: Callable[[], None]) -> None:
        """Call `handler` whenever `descriptor` can be read."""
        self._epoll.register(descriptor, select.EPOLLIN)
        self._handlers[descriptor] = handler

    def forget(self, descriptor: int) -> None:
        """Undo `watch`; call it before the descriptor is closed."""
        del self._handlers[descriptor]
        self._epoll.unregister(descriptor)

    def carry(self, link: CarriedLink) -> None:
        """Carry the frames of `link` from here on. Raises OSError, and then carries none."""
        with ExitStack() as undo:
            for lane in link.lanes:
                self._epoll.register(lane.source, select.EPOLLIN)
                undo.callback(self._epoll.unregister, lane.source)
            self.watch(link.watch, lambda: self._look_after(link))
            undo.pop_all()
        for lane in link.lanes:
            self._lanes[lane.source] = link, lane

    def _look_after(self, link: CarriedLink) -> None:
        if link.is_gone():
            self._gone(link)

    def drop(self, link: CarriedLink) -> None:
        """Carry no more frames of `link`; call it before the link is closed."""
        self.forget(link.watch)
        for lane in link.lanes:
            del self._lanes[lane.source]
            self._epoll.unregister(lane.source)
            lane.due = None

    def reschedule(self, link: CarriedLink) -> None:
        """Find the due times of `link` anew, after a change."""
        for lane in link.lanes:
            lane.due = None
            self._schedule(link, lane)

    def _schedule(self, link: CarriedLink, lane: Lane) -> None:
        if lane.due is not None and lane.direction.in_order():
            return
        due = lane.direction.deadline()
        if due is not None and (lane.due is None or due < lane.due):  # a frame may overtake others
            # the entry of a later due time stays in the heap: `_drain` knows it by `lane.due`
            lane.due = due
            heapq.heappush(self._due, (due, next(self._order), link, lane))

    def round(self, until: float) -> None:
        """Wait at most until the time `until` for frames, due times and requests; serve them."""
        self._wait(until)
        self._began = self._clock()
        ready = [descriptor for descriptor, _ in self._epoll.poll(0)]
        others = [descriptor for descriptor in ready if descriptor in self._handlers]
        self._read(ready)
        self._drain()
        # after the frames; asked for once more, as a handler may have dropped another's link
        for descriptor in others[:OTHERS_A_ROUND]:
            if (handler := self._handlers.get(descriptor)) is not None:
                handler()

    def _read(self, ready: list[int]) -> None:
        """Read the frames that wait, first those of the descriptors `ready`."""
        lanes, gap = self._lanes, self._began - self._looked
        waited = gap if gap > STALL and self._pulses() else 0.0
        for most in READS:
            served = [entry for descriptor in ready if (entry := lanes.get(descriptor)) is not None]
            for link, lane in served:
                self._serve(link, lane, most, waited)
            if not served:
                break
            self._carried = self._began
            ready = [descriptor for descriptor, _ in self._epoll.poll(0)]
        self._looked = self._clock()

    def _wait(self, until: float) -> None:
        now = self._clock()
        if (pause := self._began + self.tick - now) > 0:
            time.sleep(pause)  # frames that come meanwhile share a round
            now = self._clock()
        if self._due:
            until = min(until, self._due[0][0])
        if self._pulses():
            until = min(until, now + PULSE)
        select.select([self._epoll], [], [], max(0.0, until - now))

    def _pulses(self) -> bool:
        """Return whether links carry frames, by the last look: `_wait` and the `_read` after it
        must agree, as a gap without a pulse tells nothing."""
        return self._looked - self._carried < RECENT

    def _drain(self) -> None:
        """Write the due frames of all lanes."""
        now, due = self._clock(), self._due
        while due and due[0][0] <= now:
            at, _, link, lane = heapq.heappop(due)
            if lane.due == at:  # else the link has changed or gone since
                lane.due = None
                self._serve(link, lane)

    def _serve(self, link: CarriedLink, lane: Lane, most: int = 0, waited: float = 0.0) -> None:
        """Read at most `most` frames of a lane; with 0 write the frames that are due.

        `waited`: seconds for which the box may have left them waiting, if it got no core.
        """
        try:
            if most:
                lane.fill(most, waited)
            else:
                lane.drain()
        except LinkGoneError:
            if self._lanes.get(lane.source) == (link, lane):
                self._gone(link)
            return
        self._schedule(link, lane)

    def close(self) -> None:
        """Close the epoll descriptor."""
        self._epoll.close()
