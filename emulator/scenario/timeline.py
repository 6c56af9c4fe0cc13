"""The timeline: the schedule of a run's faults, compiled before the run begins.

It holds the aimed faults, and the recurring faults drawn from the seed. Faults of one kind that
overlap on a node are merged: a device killed twice is down until the later end. Faults of different
kinds stay apart: a device that boots while a partition lasts is still cut off, and the runtime
takes care of that.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import NamedTuple

from .. import chance
from ..errors import ScenarioError
from ..faults import Interval, Scheduled
from ..log.records import TimelineRecord
from ..world import verbs
from ..world.verbs import Action
from .devices import Device
from .model import Scenario

HORIZON = 24 * 3600.0
"""Emulated seconds for which recurring faults are drawn when a scenario has no `stop.time`."""


@dataclass(frozen=True)
class Timed:
    """An action with its time, in emulated seconds since every device said hello."""

    at: float
    action: Action

    @property
    def record(self) -> TimelineRecord:
        """The action as `timeline.jsonl` has it."""
        action = self.action
        return TimelineRecord(self.at, action.verb, action.node, action.fault, action.begins)


class Outage(NamedTuple):
    """A fault of a node from `begin` to `end`, in emulated seconds.

    `end` is infinite for a permanent fault.
    """

    node: str
    fault: Scheduled
    begin: float
    end: float


def timeline(scenario: Scenario) -> list[Timed]:
    """Return the actions of all dated faults of `scenario`, in order.

    The result depends on the scenario and its seed only. Raises ScenarioError if a failure profile
    makes a device fail more than 10,000 times.
    """
    end, order = horizon(scenario), _positions(scenario)
    actions = chain.from_iterable(map(_actions, outages(scenario)))
    within = (timed for timed in actions if timed.at < end)
    return sorted(
        within,
        key=lambda timed: (timed.at, order[timed.action.node], verbs.ORDER[timed.action.verb]),
    )


def ends_beyond(scenario: Scenario) -> list[Timed]:
    """Return the ends of temporary faults that come after the plan's end, in order.

    The timeline does not hold them, but a device with such a fault is not gone for good.
    """
    end = horizon(scenario)
    actions = chain.from_iterable(map(_actions, outages(scenario)))
    return sorted((timed for timed in actions if timed.at >= end), key=lambda timed: timed.at)


def outages(scenario: Scenario) -> list[Outage]:
    """Return the dated faults of `scenario`, ordered by their begin, overlaps merged."""
    by_kind: dict[tuple[str, str], list[Outage]] = defaultdict(list)
    for outage in chain(_aimed(scenario), _recurring(scenario)):
        by_kind[outage.node, outage.fault.kind].append(outage)
    end, order = horizon(scenario), _positions(scenario)
    merged = chain.from_iterable(map(_merged, by_kind.values()))
    within = [outage for outage in merged if outage.begin < end]
    return sorted(within, key=lambda outage: (outage.begin, order[outage.node], outage.fault.kind))


def horizon(scenario: Scenario) -> float:
    """Return the emulated second at which the plan ends: `stop.time`, or else `HORIZON`."""
    return HORIZON if scenario.stop.time is None else float(scenario.stop.time)


def to_jsonl(schedule: Iterable[Timed]) -> str:
    """Return `schedule` as the text of `timeline.jsonl`, with an action on every line."""
    return "".join(timed.record.line() for timed in schedule)


def _positions(scenario: Scenario) -> dict[str, int]:
    """Return the position of each device in the file, by name."""
    return {device.name: position for position, device in enumerate(scenario.nodes)}


def _aimed(scenario: Scenario) -> Iterator[Outage]:
    members = {group.name: group.names for group in scenario.devices}
    for fault in scenario.faults:
        for name in fault.nodes:
            for node in members.get(name, (name,)):
                yield _outage(node, fault, fault.interval())


def _recurring(scenario: Scenario) -> Iterator[Outage]:
    for device in scenario.nodes:
        yield from _drawn(scenario, device)


def _drawn(scenario: Scenario, device: Device) -> Iterator[Outage]:
    for profile in device.failures:
        for index, fault in enumerate(profile.faults):
            # the stream bears the names of the device and the profile, so that adding another
            # device or profile does not shift its draws
            rng = Random(chance.faults(scenario.seed, device.name, profile.name, index))
            try:
                for interval in fault.intervals(rng, horizon(scenario)):
                    yield _outage(device.name, fault, interval)
            except ValueError as error:
                raise ScenarioError(
                    f"{device.name}: failures: {profile.name}: faults[{index}]: {error}"
                ) from error


def _outage(node: str, fault: Scheduled, interval: Interval) -> Outage:
    # to the microsecond: people read the schedule, and tests compare its bytes
    return Outage(node, fault, round(interval.begin, 6), round(interval.end, 6))


def _merged(outages: Sequence[Outage]) -> list[Outage]:
    """Return the union of `outages`, which share node and kind, as the fewest intervals."""
    merged: list[Outage] = []
    for outage in sorted(outages, key=lambda outage: (outage.begin, outage.end)):
        # sorted by begin, so only the last interval can overlap the next one
        if merged and outage.begin <= merged[-1].end:
            last = merged.pop()
            outage = last._replace(end=max(last.end, outage.end))
        merged.append(outage)
    return merged


def _actions(outage: Outage) -> Iterator[Timed]:
    """Yield the action at the begin of `outage`, and the action at the end of a temporary fault."""
    yield Timed(outage.begin, outage.fault.begin(outage.node))
    if outage.end < math.inf:
        yield Timed(outage.end, outage.fault.end(outage.node))
