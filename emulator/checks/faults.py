"""Checks of faults: faults without effect, faults that take too much, and runs without an end."""

import math
from collections.abc import Iterator
from itertools import chain

from ..runs.conductor import certain_crash
from ..scenario import Device, Scenario
from ..scenario.reading.document import place
from ..scenario.timeline.compiled import outages, presses
from ..units import Bytes, Fraction, Seconds
from ..world.faults import Scheduled
from ..world.faults.availability import Availability
from ..world.faults.churn import Churn
from ..world.faults.corrupt import Corrupt
from ..world.faults.energy import Energy
from ..world.faults.occurrences import Once, Repeated
from ..world.laws import Fixed, Law, Uniform
from ..world.verbs import row
from .finding import Finding, refusal, warning

KEPT = 48 << 20
"""Bytes of a device's memory that no fault takes: the supervisor's, which outlives the worker, and
the page cache of its program, without which it ends a fault seconds late."""


def endless_crashes(scenario: Scenario) -> list[Finding]:
    """Refuse a scenario that makes no update and meets no stop condition.

    A device that draws a crash in each iteration sends no update. The run of such devices only goes
    on while they boot again: after a crash for good it fails by itself.
    """
    if scenario.stop.time is not None:
        return []
    boots = False
    for device in scenario.nodes:
        crash = certain_crash(device.hazards)
        if crash is None:
            return []
        boots = boots or crash["lasts"] is not None
    if not boots:
        return []
    why = (
        "every device crashes in each iteration (per_iteration: 100%), so no update ever "
        "arrives, and the run would never end: give stop.time, or a smaller chance"
    )
    return [refusal("devices", why)]


def scarce_memory(scenario: Scenario) -> Iterator[Finding]:
    """Refuse a fault of memory pressure that takes more than a device can give, once a group."""
    if not presses(scenario):
        return  # no need to compile the timeline, which may be long
    devices = {device.name: device for device in scenario.nodes}
    most: dict[str, tuple[float, Device]] = {}
    for share, device in chain(_dated(scenario, devices), _drawn(scenario)):
        if share > most.get(device.group, (0.0, device))[0]:
            most[device.group] = share, device
    for share, device in most.values():
        limit = 1 - KEPT / device.memory
        if share > limit:
            yield refusal(
                _pressing(scenario, device.name, share),
                f"{device.name}: memory takes {Fraction(share)} of {Bytes(device.memory)}: "
                f"of that, {Bytes(KEPT)} are kept for the device's supervisor: write "
                f"{math.floor(100 * limit)}% at most, or raise the memory of its profile",
            )


def _pressing(scenario: Scenario, device: str, share: float) -> str:
    """Return the place of the fault that takes `share` of the memory of `device`."""
    found = (
        place(entry.place)
        for entry in scenario.targets_of_faults.entries()
        if float(getattr(entry.fault, "takes", -1)) == share and device in entry.names
    )
    return next(found, "faults")


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


def faults_in_vain(scenario: Scenario) -> list[Finding]:
    """Return a warning for each fault of `scenario` that can never happen or changes nothing."""
    return [
        warning(place(entry.place), reason)
        for entry in scenario.targets_of_faults.entries()
        if (reason := _why(entry.fault, scenario.stop.time))
    ]


def _why(fault: Scheduled, end: Seconds | None) -> str:
    """Return the reason for which `fault` is in vain in a run of `end` seconds, or no text."""
    if end is not None and (begin := _earliest(fault)) >= end:
        return f"begins at {Seconds(begin)} or later, and the run ends at stop.time, {end}"
    match fault:
        case _ if fault.per_iteration is not None and not fault.per_iteration:
            return "never happens: per_iteration is 0%"
        case _ if fault.lasts == Fixed(Seconds(0)):
            return "ends as it begins: lasts is 0s"
        case Corrupt(messages=0):
            return "flips no bits: messages is 0%"
        case Churn(off=off) if off == Fixed(Seconds(0)):
            return "the device is back as it goes away: off is 0s"
        case Energy() if not (fault.idle or fault.core or fault.sent or fault.received):
            return "draws nothing from the battery: give idle, core, sent or received"
        case Availability(start=Seconds() as start, trace=traces) if start > _longest(traces):
            return (
                f"start is {start}, and no trace is longer than {Seconds(_longest(traces))}: the "
                "traces begin anew until then"
            )
    return ""


def _earliest(fault: Scheduled) -> float:
    """Return the earliest second at which `fault` may begin, as far as its keys tell."""
    match fault.occurrences:
        case Once(at=at):
            return _least(at)
        case Repeated(every=every, window=(begin, _)):
            return begin + _least(every)
    return 0.0


def _least(law: Law) -> float:
    """Return a bound below which `law` draws nothing."""
    match law:
        case Fixed(fixed):
            return float(fixed)
        case Uniform((least, _)):
            return float(least)
    return 0.0


def _longest(traces: tuple[str, ...]) -> float:
    """Return the seconds of the longest of `traces`, whose last steps are their ends."""
    return max(float(text.rpartition(" ")[2]) for text in traces)
