"""Time-outs of waiting nodes. Answers nearly always come in time, so a time-out must be cheap.

Time is cut into slots, each with a list of waiters. When a slot begins, its list is read once:
waiters that were answered are struck off, waiters that have begun to wait anew move to a later
list, and only those that will really time out within the slot get an event of their own.
"""

from typing import Protocol

from .clock import Heap

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
    """Keeps a waiter on a single list, however often the waiter begins to wait: O(1) per wait."""

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
