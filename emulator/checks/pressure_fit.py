"""Checks that a fault of memory pressure can take as much as the scenario says."""

import math
from collections.abc import Iterator
from itertools import chain

from ..errors import ScenarioError
from ..scenario import Device, Scenario
from ..scenario.timeline import outages
from ..units import Bytes, Fraction
from ..world.verbs import row

KEPT = 48 << 20
"""Bytes of a device's memory that no fault takes: the supervisor's, which outlives the worker, and
the page cache of its program, without which it ends a fault seconds late."""


def unavailable(scenario: Scenario) -> Iterator[ScenarioError]:
    """Yield an error for each group of devices with a fault that takes more than can be had."""
    if not _presses(scenario):
        return  # no need to compile the timeline, which may be long
    devices = {device.name: device for device in scenario.nodes}
    most: dict[str, tuple[float, Device]] = {}
    for share, device in chain(_dated(scenario, devices), _drawn(scenario)):
        if share > most.get(device.group, (0.0, device))[0]:
            most[device.group] = share, device
    for share, device in most.values():
        limit = 1 - KEPT / device.memory
        if share > limit:
            yield ScenarioError(
                f"faults: {device.name}: memory takes {Fraction(share)} of {Bytes(device.memory)}: "
                f"of that, {Bytes(KEPT)} are kept for the device's supervisor: write "
                f"{math.floor(100 * limit)}% at most, or raise the memory of its profile"
            )


def _presses(scenario: Scenario) -> bool:
    failures = (profile for group in scenario.devices for profile in group.failures)
    faults = chain(scenario.faults, *(profile.faults for profile in failures))
    return any(row(fault.begin("").verb).revives for fault in faults)


def _dated(scenario: Scenario, devices: dict[str, Device]) -> Iterator[tuple[float, Device]]:
    """Yield the share of memory of each pressure in the timeline, and the device."""
    for outage in outages(scenario):
        if row(outage.begins.verb).revives:
            yield (outage.begins.setting or {})["share"], devices[outage.node]


def _drawn(scenario: Scenario) -> Iterator[tuple[float, Device]]:
    """Yield the shares of memory that drawn pressures may take, with the device."""
    for device in scenario.nodes:
        for hazard in device.hazards:
            if row(hazard["begin"]).revives:
                yield hazard["setting"]["share"], device
