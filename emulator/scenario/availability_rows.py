"""The availability trace that each device plays: its name or its number, and where it begins."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .. import chance
from ..faults import Scheduled
from ..faults.availability import Availability, parted
from .model import Scenario


@dataclass(frozen=True)
class AvailabilityRow:
    """The trace that `node` plays."""

    node: str
    trace: str
    """Name of the trace, which is that of the device; or the number of a trace that was drawn, for
    example `2 of 5`."""
    start: float
    """Time of the trace at which the device begins, in seconds."""


def availability_rows(scenario: Scenario) -> tuple[AvailabilityRow, ...]:
    """Return a row for each device and each fault `availability` that strikes the device."""
    rows = []
    for node, fault, profile, index in _struck(scenario):
        if not isinstance(fault, Availability):
            continue
        stream = chance.faults(scenario.seed, node, profile, index)
        if fault.together:
            stream = chance.common_faults(scenario.seed, profile, index)
        number, start = fault.drawn(None if fault.together else node, Random(stream))
        name, _ = parted(fault.trace[number])
        known = name == node
        trace = name if known else f"{number + 1} of {len(fault.trace)}"
        rows.append(AvailabilityRow(node, trace, start))
    return tuple(rows)


def _struck(scenario: Scenario) -> Iterator[tuple[str, Scheduled, str, int]]:
    """Yield device, fault, name of the failure profile and index of the entry, for every entry."""
    targets = scenario.targets_of_faults
    for index, fault in enumerate(scenario.faults):
        for node in targets.aimed(index):
            yield node, fault, "", index
    for group in scenario.devices:
        for profile in group.failures:
            for index, entry in enumerate(profile.faults):
                for node in group.names:
                    if targets.strikes(node, profile, index):
                        yield node, entry, profile.name, index
