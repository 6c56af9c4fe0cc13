"""The resolved world as tables: what `emulate check` prints, and its JSON."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from ..link import Link, Side
from ..units import Bytes, Fraction, Share
from .devices import Device
from .model import Scenario
from .timeline import Struck, outages


@dataclass(frozen=True)
class DeviceRow:
    """One device, its quantities as people write them."""

    name: str
    profile: str
    cpu: str
    memory: str
    up: str
    down: str
    failures: str


@dataclass(frozen=True)
class FaultRow:
    """One planned failure, in seconds from the start; `until` is None if it is for good."""

    at: float
    until: float | None
    node: str
    fault: str


@dataclass(frozen=True)
class HazardRow:
    """A failure that the device draws by iteration, so that no time can be given."""

    node: str
    fault: str
    per_iteration: str


@dataclass(frozen=True)
class World:
    """All that a scenario comes to."""

    name: str
    algorithm: str
    devices: tuple[DeviceRow, ...]
    server: str
    faults: tuple[FaultRow, ...]
    hazards: tuple[HazardRow, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def world(scenario: Scenario) -> World:
    return World(
        name=scenario.name,
        algorithm=scenario.training.described,
        devices=tuple(map(_device, scenario.nodes)),
        server=_link(scenario.server.link),
        faults=tuple(map(_fault, outages(scenario))),
        hazards=tuple(row for device in scenario.nodes for row in _hazards(device)),
    )


def describe(side: Side) -> str:
    """A side of a link in one line, as `1mbit 25ms ±3ms 0.1% loss`; `unshaped` if it is."""
    parts = [
        "" if side.rate is None else str(side.rate),
        str(side.delay) if side.delay else "",
        f"±{side.jitter}" if side.jitter else "",
        f"{side.loss} loss" if side.loss else "",
    ]
    return " ".join(filter(None, parts)) or "unshaped"


def _link(link: Link) -> str:
    return f"up {describe(link.up)}, down {describe(link.down)}" if link.shaped else "unshaped"


def _device(device: Device) -> DeviceRow:
    return DeviceRow(
        name=device.name,
        profile=device.profile or "",
        cpu="no quota" if device.cpu is None else str(Share(device.cpu)),
        memory=str(Bytes(device.memory)),
        up=describe(device.link.up),
        down=describe(device.link.down),
        failures=", ".join(profile.name for profile in device.failures),
    )


def _fault(struck: Struck) -> FaultRow:
    until = None if struck.end == math.inf else struck.end
    return FaultRow(struck.begin, until, struck.node, struck.fault.kind)


def _hazards(device: Device) -> tuple[HazardRow, ...]:
    return tuple(
        HazardRow(device.name, one["kind"], str(Fraction(one["per_iteration"])))
        for one in device.hazards
    )
