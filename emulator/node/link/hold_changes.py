"""Changes of the delays that parts add to received messages, as faults change links."""

from collections.abc import Mapping
from typing import Any

from ...shaping.hold import Hold
from ...world.links.reshaping import VERB
from ...world.verbs import Setting
from ..config import Delay
from ..orders import HOLD, PartOrders

HOLDS_LOOK = 0.05
"""Seconds between two looks of the server for changes."""


class OwnHold:
    """Keeps the hold of a device's received messages as the supervisor orders."""

    def __init__(self, hold: Hold[Any], own: Delay, orders: PartOrders) -> None:
        """`own`: the delay of `hold` without a fault."""
        self._hold, self._own, self._orders = hold, own, orders
        self._setting: Setting | None = None

    def look(self) -> None:
        """Take the orders that have come, before a message is held."""
        setting = self._orders.settings().get(VERB)
        if setting is not self._setting:
            self._setting = setting
            _change(self._hold, self._own if setting is None else Delay(**setting))


class DevicesHolds:
    """Keeps the holds of the devices' messages at the server; a chore of its driver."""

    def __init__(self, holds: Mapping[str, Hold[Any]], orders: PartOrders) -> None:
        self._holds, self._orders, self._due = holds, orders, 0.0
        self._known: dict[str, Any] = {}

    def deadline(self) -> float | None:
        return self._due

    def tick(self, now: float) -> None:
        if now < self._due:
            return
        self._due = now + HOLDS_LOOK
        for node, delay in self._orders.settings().get(HOLD, {}).items():
            if self._known.get(node) != delay and node in self._holds:
                self._known[node] = delay
                _change(self._holds[node], Delay(**delay))


def _change(hold: Hold[Any], delay: Delay) -> None:
    hold.change(delay.delay, delay.jitter, setup=delay.setup, pace=delay.pace)
