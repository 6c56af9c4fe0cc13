"""The refusal of scenarios in which every device crashes and boots again in every iteration."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ScenarioError
from ..scenario import Scenario
from ..world import verbs


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
