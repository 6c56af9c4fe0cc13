"""Devices with a crash and a boot in every iteration: such a device never sends an update.

A run ends once all other devices are gone for good.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import first_of
from ..scenario import Scenario
from ..scenario.timeline.compiled import verbs_of_faults
from ..world import verbs

_NAMED = 5
"""Largest number of devices that a reason names."""


def idle_devices(scenario: Scenario) -> list[str]:
    """Return the names of the devices that crash in each iteration, and boot again for ever.

    With a `stop.time` the run ends anyway, and the list is empty.
    """
    if scenario.stop.time is not None:
        return []
    crashes = ((device.name, certain_crash(device.hazards)) for device in scenario.nodes)
    return [name for name, crash in crashes if crash is not None and crash["lasts"] is not None]


def none_left(scenario: Scenario, idle: Sequence[str]) -> str:
    """Return why a run of `scenario` ends that has no device left, in words.

    `idle` has the names of the devices that crash in each iteration.
    """
    ways = "down, cut off or paused" if "pause" in verbs_of_faults(scenario) else "down or cut off"
    reason = f"every device is {ways} for good"
    if not idle:
        return reason
    return f"{reason}, or crashes in each iteration: {first_of(idle, _NAMED)}"


def certain_crash(hazards: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the first of `hazards` that strikes for sure before an iteration is finished.

    The first fault that strikes counts, so a pause before it may save an iteration.
    """
    for hazard in hazards:
        if not verbs.row(hazard["begin"]).ends_process:
            if hazard["per_iteration"] > 0:
                return None
        elif hazard["per_iteration"] >= 1:
            return hazard
    return None
