"""Alarms for who waits: nearly all are answered in time, so an alarm must cost next to nothing.

Time is cut into slots. Who waits is on the list of one slot; when that begins, whoever was answered
is struck off, whoever waits for something newer moves to a later list, and only who will really
have waited long enough within the slot gets an event of its own.
"""

from typing import Protocol

from .heap import Heap

SLOT = 1.0
"""Seconds."""


class Waiter(Protocol):
    until: float | None
    """When it gives up waiting; None: it does not wait."""
    listed: bool
    """Whether it is on a list; nobody else's to change."""

    def give_up(self, until: float) -> None:
        """It is `until` now; void if the waiter does not wait any more, or for something newer."""


class Alarms:
    """A waiter is on one list at most, however often it begins to wait."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._slots: dict[int, list[Waiter]] = {}

    def set(self, waiter: Waiter, until: float) -> None:
        """Have it give up at `until`, which lies no earlier than any that was set for it before."""
        waiter.until = until
        if not waiter.listed:
            waiter.listed = True
            self._list(waiter, until)

    def _list(self, waiter: Waiter, until: float) -> None:
        slot = int(until / SLOT)
        waiters = self._slots.get(slot)
        if waiters is None:
            waiters = self._slots[slot] = []
            self._heap.at(slot * SLOT, self._begin, slot)
        waiters.append(waiter)

    def _begin(self, slot: int) -> None:
        for waiter in self._slots.pop(slot):
            until = waiter.until
            if until is None:
                waiter.listed = False
            elif int(until / SLOT) > slot:
                self._list(waiter, until)
            else:
                waiter.listed = False
                self._heap.at(until, waiter.give_up, until)
