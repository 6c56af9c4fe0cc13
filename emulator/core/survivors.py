"""The devices of a run from which the server may still hear.

A device is gone for good once a fault without an end silences it, once its link carries nothing any
more, or once its process or container has ended and no planned boot follows. A run without any
other device applies no more updates, so the run ends.
"""

import math
from collections.abc import Iterable, Mapping

from ..world import verbs
from ..world.powers import FaultCounts
from ..world.roles import SERVER
from ..world.verbs import Action

SETTLE = 1.0
"""Seconds that a run goes on after its last device is gone: messages under way still arrive."""

NONE_LEFT = "every device is down or cut off for good"


class Survivors:
    """Counts the devices that are gone for good; devices without faults cost no memory."""

    def __init__(
        self,
        devices: int,
        schedule: Iterable[tuple[float, Action]],
        idle: Iterable[str] = (),
        reason: str = NONE_LEFT,
        silent: Mapping[str, float] | None = None,
    ) -> None:
        """Count the devices of a run. `schedule` has its compiled actions with times, in order.

        `idle` are devices that never send an update, and count as gone. `reason` says in words why
        a run ends that has no device left. `silent` has, by device, the second from which its link
        carries nothing for good.
        """
        self._devices = devices
        self.reason = reason
        self._gone = set(idle)
        self._for_good: dict[str, float] = {}  # when the schedule silences a node for good
        self._last_boot: dict[str, float] = {}
        self._read(schedule)
        self.silent = dict(silent or {})
        """The second from which the link of a device carries nothing for good, by device."""
        for node, at in self.silent.items():
            self._for_good[node] = min(at, self._for_good.get(node, math.inf))

    def _read(self, schedule: Iterable[tuple[float, Action]]) -> None:
        """Find each node's last boot, and the time from which the schedule silences the node."""
        counts_of: dict[str, FaultCounts] = {}
        for at, action in schedule:
            node = action.node
            if node == SERVER:  # it comes back, see the fault
                continue
            counts = counts_of.setdefault(node, FaultCounts())
            counts.changes(action.verb, action.fault)
            row = verbs.row(action.verb)
            if (row.ends_process or row.revives) and not action.begins:
                self._last_boot[node] = at
            if counts.silenced:
                self._for_good.setdefault(node, at)
            else:
                self._for_good.pop(node, None)

    @property
    def doomed(self) -> bool:
        """Whether the schedule silences every device for good that is not gone yet."""
        return len(self._for_good.keys() | self._gone) >= self._devices

    @property
    def none(self) -> bool:
        """Whether every device is gone for good."""
        return len(self._gone) >= self._devices

    def performed(self, node: str, planned: float) -> None:
        """Note that the action planned for `node` at `planned` seconds has been done.

        Of a link that carries nothing from then on, no action has to be done.
        """
        if planned >= self._for_good.get(node, math.inf):
            self._gone.add(node)

    def ended(self, node: str, at: float) -> None:
        """Note that the worker of `node` ended unasked; only a planned boot starts another."""
        if at >= self._last_boot.get(node, -math.inf):
            self._gone.add(node)

    def lost(self, node: str) -> None:
        """Note the loss of `node`: a drawn fault has no end, or the container has ended."""
        self._gone.add(node)
