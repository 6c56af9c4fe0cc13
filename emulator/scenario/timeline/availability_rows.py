"""Rows of `emulate check` and `plan`: a device, the name of the device's trace, and the begin in
the trace."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ... import chance
from ...world.faults import Scheduled
from ...world.faults.availability import Availability, parted
from ..model import Scenario
from .compiled import horizon

ANEW = "drawn anew each time"
"""In place of the trace of a fault with `every` that draws one for each occurrence."""


@dataclass(frozen=True)
class AvailabilityRow:
    """The trace that `node` plays."""

    node: str
    trace: str
    """Name of the trace, which is that of the device; the number of a trace that was drawn, for
    example `2 of 5`; or `ANEW`."""
    start: float | None
    """Time of the trace at which the device begins, in seconds; None: drawn anew each time."""


def availability_rows(scenario: Scenario) -> tuple[AvailabilityRow, ...]:
    """Return a row for each device and each fault `availability` that strikes the device."""
    rows = []
    for node, fault, profile, index in _struck(scenario):
        if not isinstance(fault, Availability):
            continue
        stream = chance.faults(scenario.seed, node, profile, index)
        if fault.together:
            stream = chance.common_faults(scenario.seed, profile, index)
        # an occurrence draws its times before its trace, from the same stream
        rng, player = Random(stream), None if fault.together else node
        if next(fault.intervals(rng, horizon(scenario)), None) is None:
            continue
        number, start = fault.drawn(player, rng)
        name, _ = parted(fault.trace[number])
        trace = name if name == node else f"{number + 1} of {len(fault.trace)}"
        if fault.every is None or fault.lasts is None:  # occurs once
            rows.append(AvailabilityRow(node, trace, start))
        else:
            alone = len(fault.choices(player)) == 1
            begin = None if fault.start is None else float(fault.start)
            rows.append(AvailabilityRow(node, trace if alone else ANEW, begin))
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
