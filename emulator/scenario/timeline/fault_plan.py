"""The plan of a scenario's faults as data: compiled faults, and faults that devices draw."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from ... import chance
from ...world import laws
from ...world.battery import BatteryConstants
from ...world.faults.availability import Availability, parted
from ...world.roles import SERVER
from ..model import Scenario
from .compiled import Outage, horizon, outages

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
    struck = (
        (node, entry.fault, entry.list_name, entry.index)
        for entry in scenario.targets_of_faults.entries()
        if isinstance(entry.fault, Availability)
        for node in entry.names
    )
    for node, fault, profile, index in struck:
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


@dataclass(frozen=True)
class PlannedFault:
    """A planned fault of `node`, in emulated seconds."""

    at: float
    until: float | None
    """None for a permanent fault."""
    node: str
    fault: str
    """Kind of the fault."""
    setting: Mapping[str, Any] | None = None
    """The strength of a fault whose verb has a setting."""

    def lasts(self, end: float) -> float:
        """Return the seconds of the fault before `end`."""
        return max(0.0, min(end, math.inf if self.until is None else self.until) - self.at)


@dataclass(frozen=True)
class ExpectedFault:
    """A fault without a planned time: the devices in `nodes` draw the fault in every iteration."""

    nodes: tuple[str, ...]
    fault: str
    per_iteration: float
    """Probability, from 0 to 1, that an iteration ends with the fault."""
    lasts: float | None
    """Mean duration in seconds; None for good."""

    @property
    def iterations(self) -> float:
        """Mean number of iterations of a device between two of these faults."""
        return math.inf if not self.per_iteration else 1 / self.per_iteration


@dataclass(frozen=True)
class BatteryRow:
    """A battery of every device in `nodes`, empty at a time that depends on the device's work."""

    nodes: tuple[str, ...]
    capacity: float
    """Joules of the full battery."""
    idles: float | None
    """Seconds for which the battery feeds a device that only idles and is never charged; None
    without idle power."""
    charged: float
    """Joules that a day of charging brings at most."""


@dataclass(frozen=True)
class KindSum:
    """Sums over the planned faults of a kind."""

    fault: str
    faults: int
    devices: int
    """Number of devices that are struck; 0 for a fault of the server, which is none."""
    seconds: float
    """Sum of the durations before the plan's end."""


@dataclass(frozen=True)
class FaultPlan:
    """The faults of a scenario, compiled from its seed."""

    name: str
    seed: int
    end: float
    """Emulated second at which the plan ends."""
    devices: tuple[str, ...]
    faults: tuple[PlannedFault, ...]
    expected: tuple[ExpectedFault, ...]
    batteries: tuple[BatteryRow, ...] = ()
    availability: tuple[AvailabilityRow, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The devices, after the server and the links of the network that a fault strikes."""
        devices = frozenset(self.devices)
        struck = dict.fromkeys(fault.node for fault in self.faults if fault.node not in devices)
        return (*sorted(struck, key=lambda node: node != SERVER), *self.devices)

    @property
    def kinds(self) -> tuple[KindSum, ...]:
        """Sums for every kind of planned fault, in the order of the first fault of a kind."""
        own: dict[str, list[PlannedFault]] = defaultdict(list)
        for fault in self.faults:
            own[fault.fault].append(fault)
        return tuple(
            KindSum(
                kind,
                len(faults),
                len({fault.node for fault in faults} - {SERVER}),
                sum(fault.lasts(self.end) for fault in faults),
            )
            for kind, faults in own.items()
        )

    def before(self, end: float) -> "FaultPlan":
        """Return the plan up to `end` seconds."""
        faults = tuple(fault for fault in self.faults if fault.at < end)
        return replace(self, end=end, faults=faults)

    def plain(self) -> dict[str, Any]:
        """Return the plan as JSON types, times in seconds."""
        expected = [
            {**asdict(fault), "nodes": list(fault.nodes), "iterations": _finite(fault.iterations)}
            for fault in self.expected
        ]
        batteries = [{**asdict(row), "nodes": list(row.nodes)} for row in self.batteries]
        traces = [asdict(row) for row in self.availability]
        return {
            "name": self.name,
            "seed": self.seed,
            "end": self.end,
            "devices": list(self.devices),
            "kinds": [asdict(kind) for kind in self.kinds],
            "faults": [_plain(fault) for fault in self.faults],
            "expected": expected,
            **({"batteries": batteries} if batteries else {}),
            **({"availability": traces} if traces else {}),
        }


def fault_plan(scenario: Scenario) -> FaultPlan:
    """Return the plan of the faults of `scenario`.

    Raises ScenarioError if a device fails more than 10,000 times by one entry.
    """
    return FaultPlan(
        scenario.name,
        scenario.seed,
        horizon(scenario),
        tuple(device.name for device in scenario.nodes),
        tuple(map(_planned, outages(scenario))),
        tuple(_expected(scenario)),
        tuple(_batteries(scenario)),
        availability_rows(scenario),
    )


def _planned(outage: Outage) -> PlannedFault:
    until = None if outage.end == math.inf else outage.end
    action = outage.begins
    return PlannedFault(outage.begin, until, outage.node, outage.fault.kind, action.setting)


def _expected(scenario: Scenario) -> Iterable[ExpectedFault]:
    """Yield a row for every entry of `scenario` that devices draw in their iterations."""
    nodes: dict[int, list[str]] = defaultdict(list)
    hazards: dict[int, dict[str, Any]] = {}
    for device in scenario.nodes:
        for hazard in device.hazards:  # devices with the same entry share the mapping
            nodes[id(hazard)].append(device.name)
            hazards[id(hazard)] = hazard
    for key, hazard in hazards.items():
        lasts = hazard["lasts"]
        mean = None if lasts is None else laws.read(lasts).mean
        chance = float(hazard["per_iteration"])
        yield ExpectedFault(tuple(nodes[key]), hazard["kind"], chance, mean)


def _batteries(scenario: Scenario) -> Iterable[BatteryRow]:
    """Yield a row for every entry of `scenario` that gives devices a battery."""
    nodes: dict[int, list[str]] = defaultdict(list)
    batteries: dict[int, dict[str, Any]] = {}
    for device in scenario.nodes:
        if battery := scenario.batteries.get(device.name):
            nodes[id(battery)].append(device.name)
            batteries[id(battery)] = battery
    for key, battery in batteries.items():
        constants = BatteryConstants.read(battery)
        held = constants.starts * constants.capacity
        idles = held / constants.idle if constants.idle > 0 else None
        charged = sum(
            ((span.end - span.begin) % constants.day or constants.day) * span.watts
            for span in constants.charging
        )
        yield BatteryRow(tuple(nodes[key]), constants.capacity, idles, charged)


def _plain(fault: PlannedFault) -> dict[str, Any]:
    plain = {"at": fault.at, "until": fault.until, "node": fault.node, "fault": fault.fault}
    return plain if fault.setting is None else {**plain, "setting": dict(fault.setting)}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
