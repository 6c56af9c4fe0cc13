"""What will be done to the world and when, known before the run begins.

Everything a file can date is here: aimed faults, and recurring ones drawn from the seed.
Faults of one kind that overlap on a node are one: killed twice, it is down until the later
end. Kinds do not know of each other: a device that boots while it is cut off is still cut off,
which is for the runtime to see to.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import NamedTuple, get_args

from .. import chance
from ..errors import ScenarioError
from ..faults import Interval, Scheduled
from ..world.verbs import Action, Verb
from .devices import Device
from .model import Scenario

HORIZON = 24 * 3600.0
"""Seconds for which recurring faults are drawn when `stop.time` sets no end."""

_ORDER = {verb: number for number, verb in enumerate(get_args(Verb))}


@dataclass(frozen=True)
class Timed:
    """An action and its time, in emulated seconds since every device said hello."""

    at: float
    action: Action


class Struck(NamedTuple):
    """One node, under one kind of fault, from when to when; `end` is infinite for good."""

    node: str
    fault: Scheduled
    begin: float
    end: float


def timeline(scenario: Scenario) -> list[Timed]:
    """The schedule, in order; the same for the same scenario, whatever else has been drawn.

    Raises ScenarioError if a profile makes a device fail beyond all measure.
    """
    order = {device.name: number for number, device in enumerate(scenario.nodes)}
    timed = list(chain.from_iterable(map(_actions, outages(scenario))))
    timed = [one for one in timed if one.at < horizon(scenario)]
    return sorted(timed, key=lambda one: (one.at, order[one.action.node], _ORDER[one.action.verb]))


def outages(scenario: Scenario) -> list[Struck]:
    """When each node is struck by what, in the order of beginnings, overlaps joined."""
    struck: dict[tuple[str, str], list[Struck]] = defaultdict(list)
    for one in chain(_aimed(scenario), _recurring(scenario)):
        struck[one.node, one.fault.kind].append(one)
    order = {device.name: number for number, device in enumerate(scenario.nodes)}
    joined = chain.from_iterable(map(_joined, struck.values()))
    within = [one for one in joined if one.begin < horizon(scenario)]
    return sorted(within, key=lambda one: (one.begin, order[one.node], one.fault.kind))


def horizon(scenario: Scenario) -> float:
    """Seconds after which nothing is planned any more."""
    return HORIZON if scenario.stop.time is None else float(scenario.stop.time)


def lines(timed: Iterable[Timed]) -> str:
    """As `timeline.jsonl` has it, one action a line."""
    return "".join(
        json.dumps(
            {
                "at": one.at,
                "verb": one.action.verb,
                "node": one.action.node,
                "fault": one.action.fault,
            }
        )
        + "\n"
        for one in timed
    )


def _aimed(scenario: Scenario) -> Iterator[Struck]:
    members = {group.name: group.names for group in scenario.devices}
    for fault in scenario.faults:
        for name in fault.nodes:
            for node in members.get(name, (name,)):
                yield _struck(node, fault, fault.interval())


def _recurring(scenario: Scenario) -> Iterator[Struck]:
    for device in scenario.nodes:
        yield from _drawn(scenario, device)


def _drawn(scenario: Scenario, device: Device) -> Iterator[Struck]:
    for profile in device.failures:
        for index, fault in enumerate(profile.faults):
            # named by what it is for, so that no other device or profile shifts its draws
            rng = Random(chance.faults(scenario.seed, device.name, profile.name, index))
            try:
                for interval in fault.intervals(rng, horizon(scenario)):
                    yield _struck(device.name, fault, interval)
            except ValueError as error:
                raise ScenarioError(
                    f"{device.name}: failures: {profile.name}: faults[{index}]: {error}"
                ) from error


def _struck(node: str, fault: Scheduled, interval: Interval) -> Struck:
    # to the microsecond: a schedule is read by people, and compared by byte
    return Struck(node, fault, round(interval.begin, 6), round(interval.end, 6))


def _joined(struck: Sequence[Struck]) -> list[Struck]:
    """The same times under the fault, in the fewest intervals; all of one node and kind."""
    joined: list[Struck] = []
    for one in sorted(struck, key=lambda one: (one.begin, one.end)):
        if joined and one.begin <= joined[-1].end:
            last = joined.pop()
            one = last._replace(end=max(last.end, one.end))
        joined.append(one)
    return joined


def _actions(struck: Struck) -> Iterator[Timed]:
    yield Timed(struck.begin, struck.fault.begin(struck.node))
    if struck.end < math.inf:
        yield Timed(struck.end, struck.fault.end(struck.node))
