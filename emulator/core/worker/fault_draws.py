"""Faults that a device draws itself, once an iteration: a schedule cannot date them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ... import chance
from ...world.faults import Hazard
from ...world.verbs import Action


class DrawnFault(NamedTuple):
    """A fault that strikes in this iteration."""

    begin: Action
    end: Action
    """Not done if the fault lasts for good."""
    lasts: float | None
    """Seconds from the begin to the end; None: for good."""


class FaultDraws:
    """Draws the faults of one incarnation of a device."""

    def __init__(
        self, hazards: Sequence[Mapping[str, Any]], seed: int, device: str, incarnation: int
    ) -> None:
        """`hazards`: the device's faults, as `Device.hazards` holds them. `seed` is the run's."""
        self._hazard = Hazard(hazards, chance.hazard(seed, device, incarnation))
        self._device = device

    def draw(self) -> DrawnFault | None:
        """Draw whether a fault strikes. Call it once an iteration, before the gradient."""
        struck = self._hazard.strike()
        if struck is None:
            return None
        begin = Action(struck.begin, self._device, struck.kind, struck.setting)
        return DrawnFault(begin, Action(struck.end, self._device, struck.kind), struck.lasts)
