"""Devices with a crash and a boot in every iteration: such a device never sends an update.

A scenario of such devices alone is refused. A run ends once all other devices are gone for good.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ScenarioError
from ..scenario import Scenario
from ..scenario.timeline import verbs_of_faults
from ..world import verbs

_NAMED = 5
"""Largest number of devices that a reason names."""


def never_ends(scenario: Scenario) -> ScenarioError | None:
    """Return the error of a scenario that makes no update and meets no stop condition, or None.

    A device that draws a crash in each iteration sends no update. The run of such devices only goes
    on while they boot again: after a crash for good it fails by itself.
    """
    if scenario.stop.time is not None:
        return None
    boots = False
    for device in scenario.nodes:
        crash = _certain(device.hazards)
        if crash is None:
            return None
        boots = boots or crash["lasts"] is not None
    if not boots:
        return None
    return ScenarioError(
        "devices: every device crashes in each iteration (per_iteration: 100%), so no update ever "
        "arrives, and the run would never end: give stop.time, or a smaller chance"
    )


def idle_devices(scenario: Scenario) -> list[str]:
    """Return the names of the devices that crash in each iteration, and boot again for ever.

    With a `stop.time` the run ends anyway, and the list is empty.
    """
    if scenario.stop.time is not None:
        return []
    crashes = ((device.name, _certain(device.hazards)) for device in scenario.nodes)
    return [name for name, crash in crashes if crash is not None and crash["lasts"] is not None]


def none_left(scenario: Scenario, idle: Sequence[str]) -> str:
    """Return why a run of `scenario` ends that has no device left, in words.

    `idle` has the names of the devices that crash in each iteration.
    """
    ways = "down, cut off or paused" if "pause" in verbs_of_faults(scenario) else "down or cut off"
    reason = f"every device is {ways} for good"
    if not idle:
        return reason
    more = f" and {len(idle) - _NAMED} more" if len(idle) > _NAMED else ""
    return f"{reason}, or crashes in each iteration: {', '.join(idle[:_NAMED])}{more}"


def _certain(hazards: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
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
