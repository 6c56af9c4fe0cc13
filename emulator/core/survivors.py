"""The devices of a run that the server may still hear from.

A device is gone for good once it is off or severed with no fault's end to come, or once its
process or container has ended and nothing will boot it. A run without any other device can
apply no update any more, so it ends.
"""

import math
from collections.abc import Iterable

from ..world import verbs
from ..world.verbs import Action, FaultCounts

SETTLE = 1.0
"""Seconds that a run goes on after its last device: messages that have left still arrive."""

NONE_LEFT = "every device is down or cut off for good"


class Survivors:
    """Counts the devices that are gone for good. Each costs memory only once a fault is planned."""

    def __init__(self, devices: int, schedule: Iterable[tuple[float, Action]]) -> None:
        """`schedule`: the run's compiled actions with their times, in order of time."""
        self._devices = devices
        self._gone: set[str] = set()
        self._for_good: dict[str, float] = {}  # from when the schedule holds a node for ever
        self._last_boot: dict[str, float] = {}
        self._read(schedule)

    def _read(self, schedule: Iterable[tuple[float, Action]]) -> None:
        counts: dict[str, FaultCounts] = {}
        for at, action in schedule:
            node = action.node
            held = counts.setdefault(node, FaultCounts())
            held.changes(action.verb)
            if verbs.row(action.verb).ends_process and not action.begins:
                self._last_boot[node] = at
            if held.silenced:
                self._for_good.setdefault(node, at)
            else:
                self._for_good.pop(node, None)

    @property
    def none(self) -> bool:
        """Whether every device is gone for good."""
        return len(self._gone) >= self._devices

    def performed(self, node: str, planned: float) -> None:
        """The action that the schedule has for `node` at `planned` has been done."""
        if planned >= self._for_good.get(node, math.inf):
            self._gone.add(node)

    def ended(self, node: str, at: float) -> None:
        """The worker of `node` has ended unasked; only a planned boot begins another."""
        if at >= self._last_boot.get(node, -math.inf):
            self._gone.add(node)

    def lost(self, node: str) -> None:
        """`node` has drawn a fault without an end, or its container has ended."""
        self._gone.add(node)
